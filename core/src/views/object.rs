//! Writes a JSON object member by member. Names are known to need no escapes, and texts nearly never
//! do, which is seen at a glance: faster than to look at each byte on its own.

use std::fmt::Display;
use std::io::Write;

use serde::Serialize;

use crate::store::StoreError;

/// What most objects fit into.
const CAPACITY: usize = 1_024;

pub struct Object {
    text: Vec<u8>,
    failure: Option<serde_json::Error>,
}

impl Object {
    pub fn new() -> Self {
        Self {
            text: Vec::with_capacity(CAPACITY),
            failure: None,
        }
    }

    pub fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        if needs_no_escapes(text) {
            self.text.push(b'"');
            self.text.extend_from_slice(text.as_bytes());
            self.text.push(b'"');
        } else {
            self.write(text);
        }
    }

    pub fn optional_text(&mut self, name: &'static str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.null(name),
        }
    }

    /// What is written as a text, and needs no escapes.
    pub fn plain(&mut self, name: &'static str, value: impl Display) {
        self.name(name);
        // Writing into memory does not fail.
        let _ = write!(self.text, "\"{value}\"");
    }

    pub fn optional_plain(&mut self, name: &'static str, value: Option<impl Display>) {
        match value {
            Some(value) => self.plain(name, value),
            None => self.null(name),
        }
    }

    pub fn value(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) {
        self.name(name);
        self.write(value);
    }

    fn null(&mut self, name: &'static str) {
        self.name(name);
        self.text.extend_from_slice(b"null");
    }

    fn name(&mut self, name: &'static str) {
        let before: &[u8] = if self.text.is_empty() { b"{\"" } else { b",\"" };
        self.text.extend_from_slice(before);
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn write(&mut self, value: &(impl Serialize + ?Sized)) {
        if let Err(error) = serde_json::to_writer(&mut self.text, value) {
            self.failure.get_or_insert(error);
        }
    }

    /// The object, which has at least one member.
    pub fn end(mut self) -> Result<String, StoreError> {
        self.text.push(b'}');
        let failed =
            |e: &dyn Display| StoreError::Failed(format!("object cannot be serialized: {e}"));
        match self.failure {
            Some(error) => Err(failed(&error)),
            None => String::from_utf8(self.text).map_err(|e| failed(&e)),
        }
    }
}

/// Looks at all bytes without a branch for each, which the compiler turns into wide instructions.
fn needs_no_escapes(text: &str) -> bool {
    let plain = |byte: u8| (byte >= 0x20) & (byte != b'"') & (byte != b'\\');
    text.bytes().fold(true, |all, byte| all & plain(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_written_as_serde_writes_them() {
        let every = (0u8..=0x7f).map(char::from).collect::<String>() + "ä€𝄞\u{2028}";
        for text in every.chars().map(String::from).chain([every.clone()]) {
            let mut object = Object::new();
            object.text("a", &text);
            let expected = serde_json::json!({ "a": text }).to_string();
            assert_eq!(object.end().unwrap(), expected);
        }
    }
}
