//! Why a call failed, in terms that the owner of the URL can use.

use std::error::Error;
use std::io;

use hyper_util::client::legacy;
use rustls::CertificateError;
use rustls::CertificateError::{NotValidForName, NotValidForNameContext};

/// Contains no secrets, and no address that is not in the URL itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The host.
    #[error("{0} was not called: it resolves to an address that is not public.")]
    Forbidden(String),
    #[error("The host name could not be resolved: {0}.")]
    Unresolved(String),
    #[error("The response was not complete in time.")]
    TimedOut,
    /// Nothing was sent.
    #[error("The host could not be reached: {0}.")]
    Unreachable(String),
    /// The request may have been received.
    #[error("No response was received: {0}.")]
    Lost(String),
}

impl OutboundError {
    /// The same for a closed port, a silent one, and one that speaks something else. What is wrong
    /// with a certificate is still told: its owner needs to know, and has shown it to everybody.
    pub fn discreet(self) -> Self {
        match self {
            Self::TimedOut | Self::Lost(_) => Self::Unreachable(NO_HTTPS.to_owned()),
            Self::Unreachable(reason) if !reason.contains("certificate") => {
                Self::Unreachable(NO_HTTPS.to_owned())
            }
            error => error,
        }
    }

    pub fn connecting_took_too_long() -> Self {
        Self::Unreachable("connecting timed out".to_owned())
    }

    /// The connection was open, and was closed before the response was complete.
    pub fn is_early_close(&self) -> bool {
        matches!(self, Self::Lost(reason) if reason == CLOSED_EARLY)
    }
}

const CLOSED_EARLY: &str = "the connection was closed too early";
const NO_HTTPS: &str = "it does not answer over HTTPS";

/// Neither passes on any of the original messages: some of them name addresses.
impl From<legacy::Error> for OutboundError {
    fn from(error: legacy::Error) -> Self {
        if let Some(ours) = causes(&error).find_map(|cause| cause.downcast_ref::<Self>()) {
            return ours.clone();
        }
        if !error.is_connect() {
            return lost(&error);
        }
        let timed_out = |cause: &(dyn Error + 'static)| {
            let io = cause.downcast_ref::<io::Error>();
            io.is_some_and(|io| io.kind() == io::ErrorKind::TimedOut)
        };
        if causes(&error).any(timed_out) {
            return Self::connecting_took_too_long();
        }
        let found = causes(&error).filter_map(reason).last();
        Self::Unreachable(found.unwrap_or("the connection failed").to_owned())
    }
}

impl From<hyper::Error> for OutboundError {
    fn from(error: hyper::Error) -> Self {
        lost(&error)
    }
}

fn lost(error: &(dyn Error + 'static)) -> OutboundError {
    let found = causes(error).filter_map(reason).last();
    OutboundError::Lost(found.unwrap_or("the connection was lost").to_owned())
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>() {
            // An `io::Error` does not report its inner error as its source.
            Some(io) => io.get_ref().map(|inner| inner as _),
            None => error.source(),
        }
    })
}

fn reason(cause: &(dyn Error + 'static)) -> Option<&'static str> {
    if let Some(error) = cause.downcast_ref::<rustls::Error>() {
        return Some(reason_of_tls(error));
    }
    if let Some(error) = cause.downcast_ref::<hyper::Error>() {
        return reason_of_http(error);
    }
    let reason = match cause.downcast_ref::<io::Error>()?.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused",
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
            "its network is unreachable"
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => CLOSED_EARLY,
        _ => return None,
    };
    Some(reason)
}

fn reason_of_tls(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(error) => reason_of_certificate(error),
        rustls::Error::InvalidMessage(_) => "it does not support TLS",
        rustls::Error::AlertReceived(_) => "it refused the TLS handshake",
        rustls::Error::PeerIncompatible(_) => "it supports no secure version of TLS",
        _ => "TLS failed",
    }
}

fn reason_of_certificate(error: &CertificateError) -> &'static str {
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "its certificate has expired"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "its certificate is not valid yet"
        }
        NotValidForName | NotValidForNameContext { .. } => "its certificate is for another name",
        CertificateError::UnknownIssuer => "its certificate was not issued by a trusted authority",
        _ => "its certificate is not valid",
    }
}

fn reason_of_http(error: &hyper::Error) -> Option<&'static str> {
    if error.is_parse_too_large() {
        Some("the response headers were too large")
    } else if error.is_parse() {
        Some("the response was not HTTP")
    } else if error.is_incomplete_message() {
        Some(CLOSED_EARLY)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_discreet_error_tells_no_port_from_another() {
        let unreachable = |reason: &str| OutboundError::Unreachable(reason.to_owned());
        let told = [
            OutboundError::TimedOut,
            unreachable("connecting timed out"),
            unreachable("the connection was refused"),
            unreachable("it does not support TLS"),
            OutboundError::Lost("the response was not HTTP".to_owned()),
        ];
        for error in told {
            assert_eq!(error.discreet(), unreachable(NO_HTTPS));
        }
        let expired = unreachable("its certificate has expired");
        assert_eq!(expired.clone().discreet(), expired);
        let forbidden = OutboundError::Forbidden("hooks.example".to_owned());
        assert_eq!(forbidden.clone().discreet(), forbidden);
    }
}
