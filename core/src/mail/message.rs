//! The text of an e-mail, rendered as plain text and as HTML.

use askama::Template;

/// Mail clients show no more of a subject, and headers have limits.
const MAX_SUBJECT_CHARACTERS: usize = 200;

/// Subject and paragraphs may contain user input, such as the title of a task. It stays plain text
/// on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub subject: String,
    pub paragraphs: Vec<String>,
    /// The only clickable link, so it never comes from user input.
    pub link: Option<Link>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    pub label: String,
    pub url: String,
}

#[derive(Template)]
#[template(path = "mail.txt")]
struct Text<'a> {
    paragraphs: Vec<String>,
    link: Option<&'a Link>,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'a> {
    subject: String,
    paragraphs: Vec<String>,
    link: Option<&'a Link>,
}

impl Message {
    pub(super) fn subject_line(&self) -> String {
        // Mail clients would decode anything that looks like an encoded word.
        let line = one_line(&self.subject).replace("=?", "= ?");
        match line.char_indices().nth(MAX_SUBJECT_CHARACTERS) {
            Some((end, _)) => format!("{}…", &line[..end]),
            None => line,
        }
    }

    pub(super) fn text(&self) -> askama::Result<String> {
        let (paragraphs, link) = (self.lines(), self.link.as_ref());
        Text { paragraphs, link }.render()
    }

    pub(super) fn html(&self) -> askama::Result<String> {
        let html = Html {
            subject: self.subject_line(),
            paragraphs: self.lines(),
            link: self.link.as_ref(),
        };
        html.render()
    }

    fn lines(&self) -> Vec<String> {
        self.paragraphs.iter().map(|text| one_line(text)).collect()
    }
}

/// Removes line breaks and other control characters, such as marks that change the text direction,
/// so that user input cannot make the message look different.
fn one_line(text: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.replace(invisible, " ").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(subject: &str, paragraph: &str) -> Message {
        Message {
            subject: subject.to_owned(),
            paragraphs: vec!["Hello Ada,".to_owned(), paragraph.to_owned()],
            link: Some(Link {
                label: "Open the task".to_owned(),
                url: "https://legwork.example/tasks/1?a=1&b=\"2\"".to_owned(),
            }),
        }
    }

    #[test]
    fn the_text_has_every_paragraph_and_the_link() {
        let mut message = message("", "Your proof was <rejected> & more.");
        let text = message.text().unwrap();
        let expected = "Hello Ada,\n\nYour proof was <rejected> & more.\n\n\
                        Open the task:\nhttps://legwork.example/tasks/1?a=1&b=\"2\"\n\nLegwork";
        assert_eq!(text, expected);
        message.link = None;
        let text = message.text().unwrap();
        assert_eq!(
            text,
            "Hello Ada,\n\nYour proof was <rejected> & more.\n\nLegwork"
        );
    }

    #[test]
    fn what_strangers_wrote_is_text_in_html() {
        let hostile = "</title></style><script>alert(1)</script><a href='https://evil.example'>\"";
        let html = message(hostile, hostile).html().unwrap();
        for markup in ["<script", "</title></style>", "<a href='"] {
            assert!(!html.contains(markup), "{html}");
        }
        assert_eq!(html.matches("&#60;script&#62;alert(1)").count(), 3);
        assert_eq!(html.matches("<a ").count(), 1);
        let href = "href=\"https://legwork.example/tasks/1?a=1&#38;b=&#34;2&#34;\"";
        assert!(html.contains(href), "{html}");
    }

    #[test]
    fn what_strangers_wrote_stays_on_its_line() {
        let hostile = "one\r\nBcc: eve@evil.example\u{2028}\u{202e}two\u{0}\u{85}\u{7f}";
        let kept = "one  Bcc: eve@evil.example  two";
        let message = message(hostile, hostile);
        assert_eq!(message.subject_line(), kept);
        let text = message.text().unwrap();
        assert_eq!(text.lines().nth(2), Some(kept));
        assert_eq!(text.lines().nth(4), Some("Open the task:"));
    }

    #[test]
    fn a_subject_is_not_decoded_by_who_reads_it() {
        let message = message("=?utf-8?q?=0D=0A?= or not", "");
        assert_eq!(message.subject_line(), "= ?utf-8?q?=0D=0A?= or not");
    }

    #[test]
    fn a_long_subject_is_cut_between_characters() {
        assert_eq!(
            message(&"é".repeat(200), "").subject_line(),
            "é".repeat(200)
        );
        let cut = format!("{}…", "é".repeat(200));
        assert_eq!(message(&"é".repeat(201), "").subject_line(), cut);
    }
}
