//! The texts of the description: paragraphs with code and links in them.

/// A piece of a paragraph.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    Text(String),
    Code(String),
    Link { text: String, to: String },
}

pub type Paragraphs = Vec<Vec<Piece>>;

pub fn paragraphs(text: &str) -> Paragraphs {
    let paragraphs = text.split("\n\n").map(str::trim);
    let paragraphs = paragraphs.filter(|paragraph| !paragraph.is_empty());
    paragraphs.map(pieces).collect()
}

/// Every second part between backticks is code.
fn pieces(paragraph: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (at, part) in paragraph.split('`').enumerate() {
        match (part, at % 2) {
            ("", _) => {}
            (code, 1) => pieces.push(Piece::Code(code.to_owned())),
            (text, _) => add_text(text, &mut pieces),
        }
    }
    pieces
}

fn add_text(text: &str, pieces: &mut Vec<Piece>) {
    let Some((before, text_of_link, to, after)) = link(text) else {
        pieces.push(Piece::Text(text.to_owned()));
        return;
    };
    if !before.is_empty() {
        pieces.push(Piece::Text(before.to_owned()));
    }
    pieces.push(Piece::Link {
        text: text_of_link.to_owned(),
        to: to.to_owned(),
    });
    if !after.is_empty() {
        add_text(after, pieces);
    }
}

/// The first `[text](https://…)`, with what is before and after it.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once('[')?;
    let (label, rest) = rest.split_once("](")?;
    let (to, after) = rest.split_once(')')?;
    to.starts_with("https://")
        .then_some((before, label, to, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.to_owned())
    }

    #[test]
    fn code_and_links_are_told_from_text() {
        let read = paragraphs("Send `a` or ([b](https://example.com/b) 1.0).\n\nThen wait.");
        let link = Piece::Link {
            text: "b".to_owned(),
            to: "https://example.com/b".to_owned(),
        };
        let first = vec![
            text("Send "),
            Piece::Code("a".to_owned()),
            text(" or ("),
            link,
            text(" 1.0)."),
        ];
        assert_eq!(read, [first, vec![text("Then wait.")]]);
    }

    #[test]
    fn what_only_looks_like_a_link_is_text() {
        for plain in ["[a](javascript:b)", "a [b] (c)", "[a](b", "a[0]"] {
            assert_eq!(paragraphs(plain), [vec![text(plain)]]);
        }
    }
}
