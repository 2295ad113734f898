//! A URL that a user wants us to call.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;
use rustls::pki_types::ServerName;

use crate::domain::rules::TextRule;

const MAX_CHARACTERS: usize = 2_000;
const SCHEME: &str = "https://";

/// An https URL without credentials. `Outbound::check` decides whether it may be called.
#[derive(Clone, PartialEq, Eq)]
pub struct EndpointUrl {
    given: String,
    url: Url,
}

impl EndpointUrl {
    pub const RULE: TextRule<Self> = TextRule {
        min: 1,
        max: MAX_CHARACTERS,
        pattern: None,
        format: Some("uri"),
        check: |rule, text| Self::parse(rule.text(text)?),
    };

    fn parse(given: String) -> Result<Self, String> {
        let start = given.get(..SCHEME.len());
        if !start.is_some_and(|start| start.eq_ignore_ascii_case(SCHEME)) {
            return Err(format!("must begin with {SCHEME}"));
        }
        // The parser would silently drop some of them, and read a backslash as a slash.
        if given.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
            return Err("must not contain spaces, backslashes or control characters".to_owned());
        }
        let url = Url::parse(&given).map_err(|e| format!("must be a URL: {e}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("must not contain a user name or password".to_owned());
        }
        let endpoint = Self { given, url };
        endpoint.can_be_sent_to()?;
        Ok(endpoint)
    }

    /// The HTTP client and TLS are stricter than the URL standard. Better to find out now than at
    /// every delivery.
    fn can_be_sent_to(&self) -> Result<(), String> {
        let name = ServerName::try_from(self.host());
        // The parser skips slashes, and would take the path for the host.
        let has_none = self.given[SCHEME.len()..].starts_with('/');
        if has_none || (self.address().is_none() && name.is_err()) {
            return Err("must have a host name or an address".to_owned());
        }
        if self.url.port() == Some(0) {
            return Err("must have a port other than 0".to_owned());
        }
        match self.url.as_str().parse::<hyper::Uri>() {
            Ok(_) => Ok(()),
            Err(_) => Err("must be a URL".to_owned()),
        }
    }

    /// The URL as given.
    pub fn as_str(&self) -> &str {
        &self.given
    }

    /// Who answers there.
    pub fn origin(&self) -> url::Origin {
        self.url.origin()
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// A name, or an address without brackets. The parser has normalized all spellings of an
    /// address: `0x7f.1` is `127.0.0.1` here.
    pub(super) fn host(&self) -> &str {
        let host = self.url.host_str().unwrap_or_default();
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// The address, if the host is one. The client does the same check, and then asks no resolver.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.host().parse().ok()
    }
}

/// Leaves out the path: the path of a push subscription is a secret.
impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndpointUrl({SCHEME}{}/...)", self.host())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        EndpointUrl::RULE.check(text).expect_err(text)
    }

    #[test]
    fn an_https_url_is_taken_and_given_back_as_it_was() {
        for text in [
            "https://hooks.example",
            "https://hooks.example/legwork?a=b&c={d}|e^f`g#there",
            "HTTPS://Hooks.Example:8443/%2e%2e/x",
            "https://hooks.example./trailing-dot",
            "https://a_b.hooks.example/",
            "https://bücher.example/größe",
            "https://8.8.8.8/",
            "https://[2606:4700::1111]:8443/",
            "https://@hooks.example/",
        ] {
            assert_eq!(EndpointUrl::RULE.check(text).unwrap().as_str(), text);
        }
    }

    #[test]
    fn only_https_is_taken() {
        for text in [
            "http://hooks.example",
            "ftp://hooks.example",
            "hooks.example",
            "//hooks.example",
            "https:hooks.example",
            "https:\\\\hooks.example",
            " https://hooks.example",
            "javascript:alert(1)",
            "é",
        ] {
            assert_eq!(fault(text), "must begin with https://", "{text}");
        }
    }

    #[test]
    fn credentials_are_refused() {
        for text in [
            "https://user@hooks.example",
            "https://user:password@hooks.example",
            "https://:password@hooks.example",
            "https://hooks.example%00@evil.example",
        ] {
            let fault = fault(text);
            assert!(!fault.contains("password@"), "{fault}");
        }
        assert_eq!(
            fault("https://user:password@hooks.example"),
            "must not contain a user name or password"
        );
    }

    #[test]
    fn what_cannot_be_called_is_refused() {
        for text in [
            "https://",
            "https:///",
            "https:///hooks.example",
            "https://hooks.example:0/",
            "https://:443/",
            "https://hooks example/",
            "https://hooks.exa\tmple/",
            "https://hooks.example/a\nb",
            "https://hooks.example/\u{2028}",
            "https://8.8.8.8\\@127.0.0.1/",
            "https://hooks.example:99999/",
            "https://[::1/",
            "https://[fe80::1%25eth0]/",
            "https://[127.0.0.1]/",
            "https://1.2.3.4.5/",
            "https://256.1.1.1/",
            "https://{host}/",
            "https://\"quoted\"/",
            "https://a..b/",
            "https://%00/",
            "https://xn--\u{fffd}/",
            &format!("https://{}.example/", "a".repeat(64)),
            &format!("https://{}/", ["a"; 130].join(".")),
        ] {
            assert!(fault(text).starts_with("must "), "{text}");
        }
        assert_eq!(fault(""), "must not be empty");
        assert_eq!(fault("https://\0"), "must not contain the NUL character");
    }

    #[test]
    fn a_url_has_at_most_2000_characters() {
        let long = |length: usize| format!("https://hooks.example/{}", "ü".repeat(length - 22));
        assert!(EndpointUrl::RULE.check(&long(2_000)).is_ok());
        assert_eq!(fault(&long(2_001)), "must be at most 2000 characters long");
    }

    #[test]
    fn all_spellings_of_an_address_are_that_address() {
        for (text, address) in [
            ("https://127.0.0.1/", "127.0.0.1"),
            ("https://127.0.0.1./", "127.0.0.1"),
            ("https://127.1/", "127.0.0.1"),
            ("https://127.0.1/", "127.0.0.1"),
            ("https://0x7f.1/", "127.0.0.1"),
            ("https://0x7F000001/", "127.0.0.1"),
            ("https://2130706433/", "127.0.0.1"),
            ("https://017700000001/", "127.0.0.1"),
            ("https://0177.1/", "127.0.0.1"),
            ("https://0177.0.0.0x1./", "127.0.0.1"),
            ("https://%31%32%37.0.0.1/", "127.0.0.1"),
            ("https://１２７.０.０.１/", "127.0.0.1"),
            ("https://①②⑦.0.0.1/", "127.0.0.1"),
            ("https://127。0。0。1/", "127.0.0.1"),
            ("https://0/", "0.0.0.0"),
            ("https://[::1]/", "::1"),
            ("https://[0:0:0:0:0:0:0:1]/", "::1"),
            ("https://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1"),
            ("https://[::ffff:7f00:1]/", "::ffff:127.0.0.1"),
            ("https://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1"),
        ] {
            let url = EndpointUrl::RULE.check(text).expect(text);
            assert_eq!(url.address(), Some(address.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_name_is_no_address() {
        for (text, host) in [
            ("https://Localhost/", "localhost"),
            ("https://localhost./", "localhost."),
            (
                "https://127.0.0.1.hooks.example/",
                "127.0.0.1.hooks.example",
            ),
            ("https://0x7f.1.example/", "0x7f.1.example"),
            ("https://bücher.example/", "xn--bcher-kva.example"),
        ] {
            let url = EndpointUrl::RULE.check(text).expect(text);
            assert_eq!((url.host(), url.address()), (host, None));
        }
    }

    #[test]
    fn a_log_does_not_hold_the_path() {
        let url = EndpointUrl::RULE
            .check("https://push.example/secret?token=secret")
            .unwrap();
        assert_eq!(format!("{url:?}"), "EndpointUrl(https://push.example/...)");
    }
}
