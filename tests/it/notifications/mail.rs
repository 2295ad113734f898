//! E-mail that arrives.

use legwork::domain::Secret;
use legwork::mail::{Link, Mail, Mailer, Message};
use serde_json::Value;

use super::peers::{header, mail_server};
use super::tell;

const FROM: &str = "Legwork Notices <notices@legwork.example>";
/// A user and a password whose characters mean something in a URL.
const LOGIN: &str = "legwork%40example.com:pass%3A%2Fw%40rd%20%C3%A9";
const ID: &str = "0123456789abcdef0123456789abcdef";

pub fn mailer(url: &str) -> Mailer {
    Mailer::open(&Secret::presented(url), FROM).unwrap()
}

/// Hands mails in without TLS, as on the same machine.
fn plain() -> Mailer {
    let port = mail_server().port("plain");
    mailer(&format!("smtp://127.0.0.1:{port}"))
}

pub fn mail(to: &str) -> Mail {
    Mail {
        id: ID.to_owned(),
        to: to.to_owned(),
        message: Message {
            subject: "Your proof was rejected".to_owned(),
            paragraphs: vec!["Hello Ada,".to_owned(), "It is too dark.".to_owned()],
            link: Some(Link {
                label: "Open the task".to_owned(),
                url: "https://legwork.example/tasks/1?a=1&b=2".to_owned(),
            }),
        },
    }
}

/// Well-formed to those who wrote the library that reads it.
#[track_caller]
fn expect_well_formed(mail: &Value) {
    assert_eq!(mail["defects"], serde_json::json!([]), "{mail}");
    assert!(mail["longest_line"].as_u64().unwrap() <= 998, "{mail}");
    assert_eq!(mail["type"], "multipart/alternative");
}

#[test]
fn a_mail_arrives_as_text_and_as_html() {
    tell(async {
        let to = "ada.both@example.com";
        plain().send(&mail(to)).await.unwrap();
        let taken = mail_server().mail(to);
        expect_well_formed(&taken);
        assert_eq!(taken["from"], "notices@legwork.example");
        assert_eq!(taken["hello"], "legwork.example");
        assert_eq!(header(&taken, "From"), FROM);
        assert_eq!(header(&taken, "To"), to);
        assert_eq!(header(&taken, "Subject"), "Your proof was rejected");
        assert_eq!(header(&taken, "Auto-Submitted"), "auto-generated");
        assert!(!header(&taken, "Date").is_empty());

        let text = "Hello Ada,\n\nIt is too dark.\n\nOpen the task:\n\
                    https://legwork.example/tasks/1?a=1&b=2\n\nLegwork";
        assert_eq!(taken["text"], text);
        let html = taken["html"].as_str().unwrap();
        assert!(html.starts_with("<!doctype html>"), "{html}");
        assert!(html.contains(">It is too dark.</p>"), "{html}");
        assert!(html.contains("tasks/1?a=1&#38;b=2\""), "{html}");
    });
}

#[test]
fn a_mail_that_is_sent_again_is_recognisable() {
    tell(async {
        let to = "ada.again@example.com";
        let (mailer, mut mail) = (plain(), mail(to));
        mailer.send(&mail).await.unwrap();
        mailer.clone().send(&mail).await.unwrap();
        mail.id = "f".repeat(32);
        mailer.send(&mail).await.unwrap();
        let taken = mail_server().mails(to);
        let ids: Vec<_> = taken
            .iter()
            .map(|mail| header(mail, "Message-ID"))
            .collect();
        let first = format!("<{ID}@legwork.example>");
        let other = format!("<{}@legwork.example>", mail.id);
        assert_eq!(ids, [&first, &first, &other]);
    });
}

#[test]
fn every_script_can_be_written() {
    tell(async {
        let to = "ada.scripts@example.com";
        let mut mail = mail(to);
        mail.message.subject = "Füße prüfen 🦶 在北京".to_owned();
        // A line of SMTP ends with a dot of its own, and has at most a thousand bytes.
        let paragraphs = [".", "Größe: 足 🦶", &"я".repeat(3_000), &"x".repeat(3_000)];
        mail.message.paragraphs = paragraphs.map(str::to_owned).to_vec();
        plain().send(&mail).await.unwrap();
        let taken = mail_server().mail(to);
        expect_well_formed(&taken);
        assert_eq!(header(&taken, "Subject"), mail.message.subject);
        let text = taken["text"].as_str().unwrap();
        assert!(text.starts_with(&paragraphs.join("\n\n")), "{text}");
        for paragraph in paragraphs {
            let html = taken["html"].as_str().unwrap();
            assert!(html.contains(&format!(">{paragraph}</p>")), "{html}");
        }
    });
}

#[test]
fn what_strangers_wrote_adds_no_header_and_no_markup() {
    tell(async {
        let to = "ada.hostile@example.com";
        let mut mail = mail(to);
        let hostile = "Dark\r\nBcc: eve@evil.example\r\n\r\n<script>alert(1)</script>\0\n.\r\nRSET";
        mail.message.subject = hostile.to_owned();
        mail.message.paragraphs = vec![hostile.to_owned()];
        mail.id = format!("{ID}>\r\nBcc: eve@evil.example\r\nX: <");
        plain().send(&mail).await.unwrap();

        let taken = mail_server().mail(to);
        expect_well_formed(&taken);
        let names: Vec<_> = taken["headers"].as_array().unwrap().iter().collect();
        let known = [
            "From",
            "To",
            "Subject",
            "Message-ID",
            "Auto-Submitted",
            "MIME-Version",
            "Date",
            "Content-Type",
        ];
        assert_eq!(names.len(), known.len(), "{taken}");
        for name in known {
            header(&taken, name);
        }
        let flat = "Dark  Bcc: eve@evil.example    <script>alert(1)</script>  .  RSET";
        assert_eq!(header(&taken, "Subject"), flat);
        assert_eq!(taken["text"].as_str().unwrap().lines().next(), Some(flat));
        let html = taken["html"].as_str().unwrap();
        assert!(!html.contains("<script"), "{html}");
        assert_eq!(mail_server().mails("eve@evil.example").len(), 0);
    });
}

#[test]
fn a_long_subject_stays_one_header() {
    tell(async {
        for (to, word) in [
            ("ada.long@example.com", "x".repeat(2_000)),
            ("ada.longer@example.com", "足".repeat(2_000)),
            ("ada.spaces@example.com", "x ".repeat(1_000)),
        ] {
            let mut mail = mail(to);
            mail.message.subject = word.clone();
            plain().send(&mail).await.unwrap();
            let taken = mail_server().mail(to);
            expect_well_formed(&taken);
            let kept: String = word.chars().take(200).collect();
            assert_eq!(header(&taken, "Subject"), format!("{kept}…"));
        }
    });
}

#[test]
fn a_line_is_encrypted_before_anything_is_said_on_it() {
    tell(async {
        let server = mail_server();
        let trust = server.trust();
        let (starttls, tls) = (server.port("starttls"), server.port("tls"));
        for (to, url) in [
            (
                "ada.starttls@example.com",
                format!("smtp://{LOGIN}@localhost:{starttls}?tls=required&{trust}"),
            ),
            (
                "ada.tls@example.com",
                format!("smtps://{LOGIN}@localhost:{tls}?{trust}"),
            ),
        ] {
            mailer(&url).send(&mail(to)).await.unwrap();
            let taken = server.mail(to);
            assert_eq!(taken["encrypted"], true);
            assert_eq!(taken["user"], "legwork@example.com");
        }
    });
}

#[test]
fn encryption_can_be_taken_where_it_is_to_be_had() {
    tell(async {
        let server = mail_server();
        for (to, door, encrypted) in [
            ("ada.offered@example.com", "starttls", true),
            ("ada.bare@example.com", "plain", false),
        ] {
            let (port, trust) = (server.port(door), server.trust());
            let url = format!("smtp://localhost:{port}?tls=opportunistic&{trust}");
            mailer(&url).send(&mail(to)).await.unwrap();
            assert_eq!(server.mail(to)["encrypted"], encrypted);
        }
    });
}

#[test]
fn a_password_is_told_on_the_same_machine_without_tls() {
    tell(async {
        let (to, port) = ("ada.password@example.com", mail_server().port("plain"));
        let url = format!("smtp://{LOGIN}@localhost:{port}");
        mailer(&url).send(&mail(to)).await.unwrap();
        assert_eq!(mail_server().mail(to)["user"], "legwork@example.com");
    });
}

#[test]
fn an_address_may_be_in_another_script() {
    tell(async {
        let server = mail_server();
        // A domain has a spelling in ASCII, which every server takes.
        plain().send(&mail("ada@bücher.example")).await.unwrap();
        let taken = server.mail("ada@xn--bcher-kva.example");
        assert_eq!(header(&taken, "To"), "ada@xn--bcher-kva.example");
        assert_eq!(taken["any_script"], false);

        let (port, trust) = (server.port("starttls"), server.trust());
        let url = format!("smtp://localhost:{port}?tls=required&{trust}");
        let to = "адa@example.com";
        mailer(&url).send(&mail(to)).await.unwrap();
        let taken = server.mail(to);
        assert_eq!(header(&taken, "To"), to);
        assert_eq!(taken["any_script"], true);
    });
}
