//! Sentences with a place for a value.

use std::fmt::Display;

/// A sentence in which `{}` stands for a value.
#[derive(Clone, Copy, Debug)]
pub struct Pattern(&'static str);

/// A sentence about a number, which `{}` stands for.
#[derive(Clone, Copy, Debug)]
pub struct Plural {
    one: &'static str,
    many: &'static str,
}

/// A pattern without a place for its value does not compile.
pub const fn pattern(text: &'static str) -> Pattern {
    assert!(has_place(text), "a pattern has a place for its value");
    Pattern(text)
}

pub const fn plural(one: &'static str, many: &'static str) -> Plural {
    assert!(has_place(many), "a plural has a place for its number");
    Plural { one, many }
}

const fn has_place(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at + 1 < bytes.len() {
        if bytes[at] == b'{' && bytes[at + 1] == b'}' {
            return true;
        }
        at += 1;
    }
    false
}

impl Pattern {
    pub fn with(&self, value: impl Display) -> String {
        self.0.replace("{}", &value.to_string())
    }

    /// As it stands, for scripts that fill it in.
    pub const fn text(&self) -> &'static str {
        self.0
    }
}

impl Plural {
    /// By reference, as templates pass it.
    pub fn of(&self, number: &i64) -> String {
        let text = if *number == 1 { self.one } else { self.many };
        text.replace("{}", &number.to_string())
    }
}
