//! Why a command failed, and what to do next. One line each.

use std::fmt;
use std::process::ExitCode;

use legwork_client::{Error, ErrorCode};

#[derive(Debug)]
pub enum Failed {
    /// The server refused, or something else is not as it should be: 1.
    Refused(String),
    /// What was typed cannot be done: 2.
    Usage(String),
    /// The server was not reached: 3.
    Unreachable(String),
}

impl Failed {
    pub fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
        })
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(message) | Self::Usage(message) | Self::Unreachable(message) => {
                f.write_str(message)
            }
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        match error {
            // Legwork gives its reasons. Somebody else answered, or something between us and it.
            Error::Api(refused) if refused.code.as_str().starts_with("HTTP_") => {
                Self::Unreachable(format!(
                    "the address answered {}, but not as Legwork does. Is the server running, and is its address right? See --server",
                    refused.status
                ))
            }
            Error::Api(refused) => {
                let mut message = refused.message.trim_end_matches('.').to_owned();
                let faults = refused.fields();
                if !faults.is_empty() {
                    let faults = faults
                        .iter()
                        .map(|each| format!("{} {}", each.field, each.message));
                    message = faults.collect::<Vec<_>>().join("; ");
                }
                let next = advice(&refused.code);
                Self::Refused(format!(
                    "{message}{next} ({}, request {})",
                    refused.code, refused.request_id
                ))
            }
            Error::Setup(message) => Self::Usage(message),
            error if error.is_unreachable() => Self::Unreachable(format!(
                "{error}. Is the server running, and is its address right? See --server"
            )),
            error => Self::Refused(error.to_string()),
        }
    }
}

/// What to do next, where it is not obvious.
fn advice(code: &ErrorCode) -> &'static str {
    match code {
        ErrorCode::Unauthorized => ". Run `legwork login` with a key that works",
        ErrorCode::TestModeOnly => ". Leave out --live",
        ErrorCode::RefundDiffers => ". Look at the task, then name the right amount",
        ErrorCode::MandateNotFound => ". It may do everything; `legwork mandate set` limits it",
        ErrorCode::WebhookNotConfigured => ". Set one first, or use `legwork listen`",
        _ => "",
    }
}

impl From<std::io::Error> for Failed {
    fn from(error: std::io::Error) -> Self {
        Self::Refused(error.to_string())
    }
}
