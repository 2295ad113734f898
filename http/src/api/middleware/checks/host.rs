//! Every request says once for which host it is (RFC 9112, 3.2; RFC 9113, 8.3.1). A proxy in front
//! of us could otherwise read another host than we do.

use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, Version, header};

use crate::api::error::ApiError;

const FIELD: &str = "Host";

pub fn check(request: &Request) -> Result<(), ApiError> {
    let mut sent = request.headers().get_all(header::HOST).iter();
    let (host, second) = (sent.next(), sent.next());
    if second.is_some() {
        return Err(ApiError::invalid(FIELD, "must be sent once"));
    }
    let version = request.version();
    // In HTTP/1 the target may name a host as well, but only the header must.
    let authority = request.uri().authority();
    let authority = authority.filter(|_| version == Version::HTTP_2);
    match (host, authority) {
        (None, None) if version <= Version::HTTP_10 => Ok(()),
        (None, None) => Err(ApiError::invalid(FIELD, "is required")),
        (None, Some(authority)) => named(authority),
        (Some(host), None) => named(&parsed(host)?),
        (Some(host), Some(authority)) => {
            let host = parsed(host)?;
            if !host.as_str().eq_ignore_ascii_case(authority.as_str()) {
                return Err(ApiError::invalid(FIELD, "must be the same as :authority"));
            }
            named(&host)
        }
    }
}

fn parsed(host: &HeaderValue) -> Result<Authority, ApiError> {
    Authority::try_from(host.as_bytes()).map_err(|_| malformed())
}

fn named(authority: &Authority) -> Result<(), ApiError> {
    // A comma: two headers that somebody has joined.
    if authority.host().is_empty() || authority.as_str().contains(['@', ',']) {
        return Err(malformed());
    }
    Ok(())
}

fn malformed() -> ApiError {
    ApiError::invalid(FIELD, "must be a host, with or without a port")
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn is_fine(version: Version, target: &str, hosts: &[&str]) -> bool {
        let mut request = Request::builder().version(version).uri(target);
        for host in hosts {
            request = request.header("host", *host);
        }
        check(&request.body(Body::empty()).unwrap()).is_ok()
    }

    #[test]
    fn http_1_names_one_host_in_the_header() {
        let fine = |hosts: &[&str]| is_fine(Version::HTTP_11, "/", hosts);
        for host in ["x", "a.example:8080", "127.0.0.1", "[::1]:80", "A.Example"] {
            assert!(fine(&[host]), "{host}");
        }
        for host in ["", " ", ":80", "a b", "a@b", "http://a", "a/b", "a,b", "ä"] {
            assert!(!fine(&[host]), "{host}");
        }
        assert!(!fine(&[]));
        assert!(!fine(&["x", "x"]));
        assert!(!is_fine(Version::HTTP_11, "http://x/", &[]));
        assert!(is_fine(Version::HTTP_11, "http://x/", &["x"]));
    }

    #[test]
    fn http_1_0_may_name_none() {
        assert!(is_fine(Version::HTTP_10, "/", &[]));
        assert!(is_fine(Version::HTTP_10, "/", &["x"]));
        assert!(!is_fine(Version::HTTP_10, "/", &["x", "y"]));
        assert!(!is_fine(Version::HTTP_10, "/", &[""]));
    }

    #[test]
    fn http_2_names_one_host_in_either_place() {
        let fine = |target: &str, hosts: &[&str]| is_fine(Version::HTTP_2, target, hosts);
        assert!(fine("https://x/", &[]));
        assert!(fine("/", &["x"]));
        assert!(fine("https://x/", &["X"]));
        assert!(!fine("/", &[]));
        assert!(!fine("https://x/", &["y"]));
        assert!(!fine("https://x/", &["x", "x"]));
        assert!(!fine("https://me@x/", &[]));
    }
}
