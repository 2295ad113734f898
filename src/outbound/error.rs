//! Why a call failed, in words for whoever gave us the URL.

use std::error::Error;
use std::io;

use rustls::CertificateError;
use rustls::CertificateError::{NotValidForName, NotValidForNameContext};

/// Nothing in it is secret, and no address other than one that stands in the URL.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// The host.
    #[error("{0} is not called: it leads to an address that is not public.")]
    Forbidden(String),
    #[error("The name of the host could not be resolved: {0}.")]
    Unresolved(String),
    #[error("There was no complete answer in time.")]
    TimedOut,
    /// Nothing was sent.
    #[error("The host could not be reached: {0}.")]
    Unreachable(String),
    /// It may have been received.
    #[error("The answer was lost: {0}.")]
    Lost(String),
}

impl From<reqwest::Error> for OutboundError {
    /// Of the errors' own words none is passed on: some name addresses.
    fn from(error: reqwest::Error) -> Self {
        if let Some(ours) = causes(&error).find_map(|cause| cause.downcast_ref::<Self>()) {
            return ours.clone();
        }
        let found = causes(&error).filter_map(reason).last();
        if !error.is_connect() {
            return Self::Lost(found.unwrap_or("the connection broke").to_owned());
        }
        let reason = match found {
            _ if error.is_timeout() => "there was no connection in time",
            found => found.unwrap_or("the connection failed"),
        };
        Self::Unreachable(reason.to_owned())
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        match error.downcast_ref::<io::Error>() {
            // One that was made from another error does not count it among its causes.
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
            "there is no way to its address"
        }
        io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::BrokenPipe
        | io::ErrorKind::UnexpectedEof => "the connection was closed too early",
        _ => return None,
    };
    Some(reason)
}

fn reason_of_tls(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidCertificate(error) => reason_of_certificate(error),
        rustls::Error::InvalidMessage(_) => "it does not speak TLS",
        rustls::Error::AlertReceived(_) => "it refused our TLS",
        rustls::Error::PeerIncompatible(_) => "it speaks no TLS that is safe enough",
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
        CertificateError::UnknownIssuer => "its certificate is not from an authority that we trust",
        _ => "its certificate is not valid",
    }
}

fn reason_of_http(error: &hyper::Error) -> Option<&'static str> {
    if error.is_parse_too_large() {
        Some("its head was too long")
    } else if error.is_parse() {
        Some("it was not HTTP")
    } else if error.is_incomplete_message() {
        Some("the connection was closed too early")
    } else {
        None
    }
}
