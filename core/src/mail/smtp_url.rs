//! The URL of the mail server: `smtp://user:password@host:port?tls=...&sslrootcert=...` or
//! `smtps://...`.

use std::net::IpAddr;

use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::{SUBMISSION_PORT, SUBMISSIONS_PORT};
use percent_encoding::percent_decode_str;
use url::Url;

const NO_URL: &str = "must be a URL such as smtp://user:password@mail.example.com:587; \
                      in a password, write # ? / @ : % as %23 %3F %2F %40 %3A %25";

/// When TLS starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Security {
    None,
    /// STARTTLS if the server offers it. An attacker on the network can hide the offer.
    Opportunistic,
    /// STARTTLS is required.
    Required,
    FromTheStart,
}

pub struct SmtpUrl {
    pub host: String,
    pub port: u16,
    pub security: Security,
    pub credentials: Option<Credentials>,
    /// A PEM file with authorities to trust in addition to the system's.
    pub ca_file: Option<String>,
}

impl SmtpUrl {
    /// Errors do not repeat the text, because it may contain a password.
    pub fn read(text: &str) -> Result<Self, String> {
        let url = Url::parse(text).map_err(|_| NO_URL)?;
        if !matches!(url.path(), "" | "/") || url.fragment().is_some() {
            return Err(NO_URL.to_owned());
        }
        let host = url.host_str().filter(|host| !host.is_empty());
        let host = host.ok_or(NO_URL)?.trim_matches(['[', ']']).to_owned();
        let (default_port, usual) = match url.scheme() {
            "smtps" => (SUBMISSIONS_PORT, Security::FromTheStart),
            "smtp" if is_this_machine(&host) => (SUBMISSION_PORT, Security::None),
            "smtp" => (SUBMISSION_PORT, Security::Required),
            _ => return Err("must begin with smtp:// or smtps://".to_owned()),
        };
        let mut read = Self {
            host,
            port: url.port().unwrap_or(default_port),
            security: usual,
            credentials: credentials(&url)?,
            ca_file: None,
        };
        for (name, value) in url.query_pairs() {
            read.set(&name, &value)?;
        }
        if read.credentials.is_some() && read.security == Security::Opportunistic {
            return Err("must not have both a password and tls=opportunistic: \
                        an attacker on the network could make us send it unencrypted"
                .to_owned());
        }
        Ok(read)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        let from_the_start = self.security == Security::FromTheStart;
        match (name, value) {
            ("tls", "none") if !from_the_start => self.security = Security::None,
            ("tls", "opportunistic") if !from_the_start => self.security = Security::Opportunistic,
            ("tls", "required") if !from_the_start => self.security = Security::Required,
            ("tls", _) => {
                return Err(
                    "tls must be required, opportunistic or none, and is for smtp:// only"
                        .to_owned(),
                );
            }
            ("sslrootcert", file) if !file.is_empty() => self.ca_file = Some(file.to_owned()),
            _ => {
                return Err(
                    "must have no parameters other than tls=... and sslrootcert=FILE".to_owned(),
                );
            }
        }
        Ok(())
    }
}

fn is_this_machine(host: &str) -> bool {
    let address: Result<IpAddr, _> = host.parse();
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| {
        address.is_loopback()
    })
}

fn credentials(url: &Url) -> Result<Option<Credentials>, String> {
    let decoded = |text| {
        let text = percent_decode_str(text).decode_utf8();
        text.map(String::from).map_err(|_| NO_URL.to_owned())
    };
    match (url.username(), url.password()) {
        ("", None) => Ok(None),
        ("", Some(_)) | (_, None) => {
            Err("must have both a user and a password, or neither".to_owned())
        }
        (user, Some(password)) => Ok(Some(Credentials::new(decoded(user)?, decoded(password)?))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SmtpUrl {
        SmtpUrl::read(text).unwrap_or_else(|reason| panic!("{text}: {reason}"))
    }

    #[test]
    fn mails_leave_the_machine_encrypted_unless_somebody_says_otherwise() {
        use Security::{FromTheStart, None, Opportunistic, Required};
        for (text, security) in [
            ("smtp://mail.example", Required),
            ("smtp://10.0.0.7", Required),
            ("smtp://[2001:db8::1]", Required),
            ("smtp://localhost.example", Required),
            ("smtp://mail.example?tls=required", Required),
            ("smtp://mail.example?tls=opportunistic", Opportunistic),
            ("smtp://mail.example/?tls=none", None),
            ("smtp://localhost", None),
            ("smtp://LOCALHOST", None),
            ("smtp://127.0.0.3", None),
            ("smtp://[::1]", None),
            ("smtp://localhost?tls=required", Required),
            ("smtps://mail.example", FromTheStart),
            ("smtps://localhost", FromTheStart),
        ] {
            assert_eq!(read(text).security, security, "{text}");
        }
    }

    #[test]
    fn a_server_has_a_host_and_a_port() {
        for (text, host, port) in [
            ("smtp://mail.example", "mail.example", 587),
            ("smtps://mail.example", "mail.example", 465),
            ("smtp://mail.example:2525", "mail.example", 2525),
            ("smtp://[::1]:25", "::1", 25),
        ] {
            let url = read(text);
            assert_eq!((url.host.as_str(), url.port), (host, port), "{text}");
        }
    }

    #[test]
    fn a_user_and_a_password_may_hold_any_character() {
        let expected = Credentials::new("ada@example".into(), "p@ss:/?#%é".into());
        for text in [
            "smtp://ada%40example:p%40ss%3A%2F%3F%23%25%C3%A9@mail.example",
            "smtps://ada%40example:p@ss:%2F%3F%23%25é@mail.example:465",
        ] {
            assert_eq!(read(text).credentials, Some(expected.clone()), "{text}");
        }
        assert_eq!(read("smtp://mail.example").credentials, None);
    }

    #[test]
    fn an_authority_of_ones_own_is_a_file() {
        let url = read("smtp://mail.example?sslrootcert=%2Fetc%2Fca.pem&tls=required");
        assert_eq!(url.ca_file.as_deref(), Some("/etc/ca.pem"));
    }

    #[test]
    fn what_is_wrong_is_told_without_the_password() {
        for text in [
            "",
            "hunter2",
            "mail.example:587",
            "smtp:hunter2",
            "smtp://",
            "smtp://ada:hunter2@",
            "smtp://ada:hunter2@mail.example:port",
            "smtp://ada:hunter2@mail.example:70000",
            "smtp://ada:hunt#er2@mail.example",
            "smtp://ada:hunter2%FF@mail.example",
            "smtp://:hunter2@mail.example",
            "smtp://ada@mail.example",
            "smtp://ada:hunter2@mail.example/hunter2",
            "smtp://mail.example#hunter2",
            "smtp://mail.example?tls=hunter2",
            "smtp://mail.example?password=hunter2",
            "smtp://mail.example?sslrootcert=",
            "smtps://mail.example?tls=none",
            "smtp://ada:hunter2@mail.example?tls=opportunistic",
            "https://ada:hunter2@mail.example",
        ] {
            let reason = SmtpUrl::read(text).err();
            let reason = reason.unwrap_or_else(|| panic!("{text} is read"));
            assert!(
                reason.starts_with("m") || reason.starts_with("tls"),
                "{reason}"
            );
            for secret in ["hunter2", "hunt", "mail.example:70000"] {
                assert!(!reason.contains(secret), "{text}: {reason}");
            }
        }
    }
}
