//! The programs that take notices.

use std::sync::OnceLock;

use serde_json::Value;

use crate::support::Client;
use crate::support::peer::{Peer, node, node_modules, python};

/// Starts web-push-testing, which is push service and browser in one.
pub fn push_service() -> Client {
    static RUNNING: OnceLock<(u16, Peer)> = OnceLock::new();
    let (port, _) = RUNNING.get_or_init(|| {
        let package = node_modules().join("web-push-testing");
        let mut peer = Peer::start(node("serve_web_push.js").arg(package));
        (peer.port(), peer)
    });
    Client::new(([127, 0, 0, 1], *port).into(), None)
}

/// The mail server of `serve_smtp.py`, which says what it has.
pub struct MailServer(&'static Value);

pub fn mail_server() -> MailServer {
    static RUNNING: OnceLock<(Value, Peer)> = OnceLock::new();
    let (ready, _) = RUNNING.get_or_init(|| {
        let mut peer = Peer::start(&mut python("serve_smtp.py"));
        let ready = serde_json::from_str(&peer.line());
        (ready.expect("what the mail server has"), peer)
    });
    MailServer(ready)
}

impl MailServer {
    pub fn port(&self, door: &str) -> u64 {
        self.0[door].as_u64().unwrap()
    }

    fn folder(&self) -> &str {
        self.0["folder"].as_str().unwrap()
    }

    /// As part of a URL: trust the authority behind its certificate.
    pub fn trust(&self) -> String {
        format!("sslrootcert={}/ca.pem", self.folder())
    }

    /// The mails that it has taken for this address, oldest first.
    pub fn mails(&self, recipient: &str) -> Vec<Value> {
        let lines = std::fs::read_to_string(format!("{}/{recipient}", self.folder()));
        let lines = lines.unwrap_or_default();
        lines
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// The only mail that it has taken for this address.
    #[track_caller]
    pub fn mail(&self, recipient: &str) -> Value {
        let mails = self.mails(recipient);
        assert_eq!(mails.len(), 1, "{mails:?}");
        mails[0].clone()
    }
}

/// What this header of a mail says. It is there once.
#[track_caller]
pub fn header<'a>(mail: &'a Value, name: &str) -> &'a str {
    let headers = mail["headers"].as_array().unwrap();
    let mut named = headers.iter().filter(|header| header[0] == name);
    let value = named.next().unwrap_or_else(|| panic!("no {name}: {mail}"));
    assert!(named.next().is_none(), "{name} twice: {mail}");
    value[1].as_str().unwrap()
}
