//! E-mail that does not arrive: whether it is worth trying again.

use std::time::{Duration, Instant};

use legwork::domain::Secret;
use legwork::mail::{MailError, Mailer};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

use super::mail::{mail, mailer};
use super::peers::mail_server;
use super::tell;

#[track_caller]
fn expect_unavailable(sent: Result<(), MailError>) -> String {
    match sent {
        Err(MailError::Unavailable(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn expect_refused(sent: Result<(), MailError>) -> String {
    match sent {
        Err(MailError::Refused(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

fn door(door: &str) -> String {
    format!("localhost:{}", mail_server().port(door))
}

#[test]
fn what_the_server_refuses_for_good_is_refused() {
    tell(async {
        let mailer = mailer(&format!("smtp://{}", door("plain")));
        let reason = expect_refused(mailer.send(&mail("unknown@example.com")).await);
        assert!(reason.contains("Nobody of that name"), "{reason}");
        let reason = expect_refused(mailer.send(&mail("spam@example.com")).await);
        assert!(reason.contains("We do not want this"), "{reason}");
    });
}

#[test]
fn what_the_server_refuses_for_now_is_tried_again() {
    tell(async {
        let mailer = mailer(&format!("smtp://{}", door("plain")));
        let reason = expect_unavailable(mailer.send(&mail("later@example.com")).await);
        assert!(reason.contains("Come back later"), "{reason}");
    });
}

#[test]
fn a_sender_who_is_not_welcome_is_no_fault_of_the_mail() {
    tell(async {
        let url = Secret::presented(&format!("smtp://{}", door("plain")));
        let mailer = Mailer::open(&url, "stranger@legwork.example").unwrap();
        let reason = expect_unavailable(mailer.send(&mail("ada.stranger@example.com")).await);
        assert!(reason.contains("We do not know you"), "{reason}");
    });
}

#[test]
fn what_is_no_address_is_refused_and_reaches_no_server() {
    tell(async {
        let mailer = mailer(&format!("smtp://{}", nobody().await));
        for to in [
            "",
            "ada",
            "@example.com",
            "ada@",
            "ada@@example.com",
            "ada@exa mple.com",
            "Ada <ada@example.com>",
            "ada@example.com, eve@evil.example",
            "ada@example.com\r\nRCPT TO:<eve@evil.example>",
            "ada>\r\nRCPT TO:<eve@evil.example",
            "ada@example.com\0",
        ] {
            expect_refused(mailer.send(&mail(to)).await);
        }
    });
}

#[test]
fn an_address_that_this_server_cannot_take_is_refused() {
    tell(async {
        let mailer = mailer(&format!("smtp://{}", door("plain")));
        let reason = expect_refused(mailer.send(&mail("адa.plain@example.com")).await);
        assert!(reason.contains("ASCII"), "{reason}");
    });
}

#[test]
fn a_wrong_password_is_the_operators_to_mend() {
    tell(async {
        let (door, trust) = (door("starttls"), mail_server().trust());
        let url = format!("smtp://legwork%40example.com:hunter2@{door}?tls=required&{trust}");
        let to = "ada.wrong@example.com";
        let reason = expect_unavailable(mailer(&url).send(&mail(to)).await);
        assert!(reason.contains("535"), "{reason}");
        assert!(!reason.contains("hunter2"), "{reason}");
        assert!(mail_server().mails(to).is_empty());
    });
}

#[test]
fn nothing_is_said_to_a_server_that_cannot_prove_who_it_is() {
    tell(async {
        let (starttls, tls, trust) = (door("starttls"), door("tls"), mail_server().trust());
        let by_number = starttls.replace("localhost", "127.0.0.1");
        let to = "ada.untrusted@example.com";
        for url in [
            format!("smtp://{starttls}?tls=required"),
            format!("smtp://{starttls}?tls=opportunistic"),
            format!("smtps://{tls}"),
            // Its certificate is for another name.
            format!("smtp://{by_number}?tls=required&{trust}"),
        ] {
            let reason = expect_unavailable(mailer(&url).send(&mail(to)).await);
            assert!(reason.contains("certificate"), "{url}: {reason}");
        }
        assert!(mail_server().mails(to).is_empty());
    });
}

#[test]
fn no_mail_without_the_encryption_that_was_asked_for() {
    tell(async {
        let (door, to) = (door("plain"), "ada.unencrypted@example.com");
        let starttls = mailer(&format!("smtp://{door}?tls=required"));
        let reason = expect_unavailable(starttls.send(&mail(to)).await);
        assert!(reason.contains("STARTTLS"), "{reason}");
        let tls = mailer(&format!("smtps://{door}"));
        expect_unavailable(tls.send(&mail(to)).await);
        assert!(mail_server().mails(to).is_empty());
    });
}

/// Where somebody listened just now.
async fn nobody() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap()
}

#[test]
fn a_server_that_is_down_is_tried_again() {
    tell(async {
        let mailer = mailer(&format!("smtp://{}", nobody().await));
        let reason = expect_unavailable(mailer.send(&mail("ada@example.com")).await);
        assert!(reason.contains("refused"), "{reason}");
    });
}

/// A server that takes mails and falls silent when it hears this word.
async fn silent_after(word: &'static str) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut stream = BufReader::new(stream);
        let mut line = "a connection".to_owned();
        let mut in_message = false;
        while !line.trim_end().starts_with(word) {
            let answer = match line.trim_end() {
                "a connection" => "220 hello\r\n",
                "DATA" => "354 go on\r\n",
                "." => "250 taken\r\n",
                _ if in_message => "",
                _ => "250 fine\r\n",
            };
            in_message = answer.starts_with("354") || answer.is_empty();
            stream.write_all(answer.as_bytes()).await.unwrap();
            line.clear();
            stream.read_line(&mut line).await.unwrap();
        }
        // Holds the line until the other side hangs up.
        while stream.read_line(&mut line).await.is_ok_and(|read| read > 0) {}
    });
    address
}

#[test]
fn a_server_that_falls_silent_is_not_waited_for() {
    tell(async {
        for word in ["a connection", "EHLO", "MAIL", "RCPT", "DATA", "."] {
            let url = format!("smtp://{}", silent_after(word).await);
            let limited = mailer(&url).with_time_limit(Duration::from_millis(200));
            let start = Instant::now();
            let reason = expect_unavailable(limited.send(&mail("ada@example.com")).await);
            assert!(reason.contains("in time"), "{word}: {reason}");
            let took = start.elapsed();
            assert!(took >= Duration::from_millis(200), "{word}: {took:?}");
            assert!(took < Duration::from_secs(10), "{word}: {took:?}");
        }
    });
}

#[test]
fn a_mail_that_was_taken_is_not_sent_again_for_want_of_a_good_bye() {
    tell(async {
        let url = format!("smtp://{}", silent_after("QUIT").await);
        let limited = mailer(&url).with_time_limit(Duration::from_secs(20));
        assert_eq!(limited.send(&mail("ada@example.com")).await, Ok(()));
    });
}

#[test]
fn a_mailer_that_cannot_work_is_not_opened() {
    let from = "notices@legwork.example";
    let open = |url: &str, from: &str| {
        let opened = Mailer::open(&Secret::presented(url), from);
        opened.err().unwrap_or_else(|| panic!("{url}, {from}"))
    };
    for from in [
        "",
        "Legwork",
        "a@b.example, c@d.example",
        "Legwork <адa@b.example>",
        "a@bücher.example",
    ] {
        let reason = open("smtp://ada:hunter2@localhost", from);
        assert!(reason.starts_with("the sender"), "{reason}");
    }
    let reason = open("ftp://ada:hunter2@mail.example", from);
    assert!(!reason.contains("hunter2"), "{reason}");
    let reason = open(
        "smtps://ada:hunter2@localhost?sslrootcert=/no/such/file",
        from,
    );
    assert!(reason.contains("/no/such/file"), "{reason}");
    assert!(!reason.contains("hunter2"), "{reason}");
    let no_certificate = tempfile::NamedTempFile::new().unwrap();
    let path = no_certificate.path().display();
    let reason = open(&format!("smtps://localhost?sslrootcert={path}"), from);
    assert!(reason.contains("certificate"), "{reason}");
}
