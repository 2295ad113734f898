//! Plain HTTP, answered with a redirect to HTTPS.

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};

/// Where requests are sent.
struct Target {
    /// The host, and the port if it is not the usual one, of the public URL.
    public: Authority,
    /// Other names of this service.
    names: Vec<String>,
}

/// Redirects every request to the same path at the public URL, or at the name that the request
/// asked for if it is one of ours. Any other name could be an attacker's. `None` if the public URL is
/// not HTTPS.
///
/// The status is 308: unlike 301, it keeps method and body, so that a POST does not become a GET.
pub fn redirect_router(public_url: &str, names: &[String]) -> Option<Router> {
    let url: Uri = public_url.parse().ok()?;
    let public = url
        .authority()
        .filter(|_| url.scheme_str() == Some("https"));
    let target = Arc::new(Target {
        public: public?.clone(),
        names: names.to_vec(),
    });
    let redirect = move |request: Request| {
        let response = target.redirect(&request);
        async move { response }
    };
    Some(Router::new().fallback(redirect))
}

impl Target {
    fn redirect(&self, request: &Request) -> Response {
        let (host, port) = (self.host(request), self.public.port());
        let port = port.map_or(String::new(), |port| format!(":{port}"));
        let path = request
            .uri()
            .path_and_query()
            .map_or("/", |path| path.as_str());
        // `OPTIONS *` has no path.
        let path = if path.starts_with('/') { path } else { "/" };
        match HeaderValue::try_from(format!("https://{host}{port}{path}")) {
            Ok(location) => {
                let location = [(header::LOCATION, location)];
                (StatusCode::PERMANENT_REDIRECT, location).into_response()
            }
            Err(_) => StatusCode::BAD_REQUEST.into_response(),
        }
    }

    /// Never what the request says, but the name of ours that it may equal.
    fn host(&self, request: &Request) -> &str {
        let asked = request.headers().get(header::HOST);
        let asked = asked.and_then(|host| Authority::try_from(host.as_bytes()).ok());
        let asked = asked.as_ref().map_or("", Authority::host);
        let mut names = self.names.iter();
        names
            .find(|name| name.eq_ignore_ascii_case(asked))
            .map_or(self.public.host(), String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;

    fn location(public: &str, target: &str, host: Option<&str>) -> String {
        let target_of_redirects = Target {
            public: public.parse().unwrap(),
            names: vec!["www.example.com".to_owned()],
        };
        let mut request = Request::builder().uri(target);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request = request.body(Body::empty()).unwrap();
        let response = target_of_redirects.redirect(&request);
        assert_eq!(response.status(), 308);
        let location = &response.headers()["location"];
        location.to_str().unwrap().to_owned()
    }

    #[test]
    fn only_names_of_ours_are_redirected_to() {
        let to = |host| location("example.com", "/a?b=c", host);
        assert_eq!(to(None), "https://example.com/a?b=c");
        assert_eq!(to(Some("evil.example")), "https://example.com/a?b=c");
        assert_eq!(
            to(Some("WWW.example.com:80")),
            "https://www.example.com/a?b=c"
        );
        let with_port = location("example.com:8443", "/", Some("www.example.com"));
        assert_eq!(with_port, "https://www.example.com:8443/");
    }

    #[test]
    fn the_target_of_a_request_cannot_leave_the_host() {
        let to = |target| location("example.com", target, Some("example.com"));
        assert_eq!(to("*"), "https://example.com/");
        assert_eq!(to("//evil.example/"), "https://example.com//evil.example/");
        assert_eq!(to("http://evil.example/x"), "https://example.com/x");
        assert_eq!(to("evil.example:443"), "https://example.com/");
    }

    #[test]
    fn plain_public_urls_are_no_target() {
        assert!(redirect_router("http://example.com", &[]).is_none());
        assert!(redirect_router("https://example.com", &[]).is_some());
    }
}
