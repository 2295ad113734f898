//! What an error of PostgreSQL means.

use tokio_postgres::error::{DbError, Severity, SqlState};

use crate::store::engine::StoreError;

/// The error with its cause, which tokio-postgres keeps in `source`.
pub fn describe(error: &tokio_postgres::Error) -> String {
    match std::error::Error::source(error) {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

pub fn no_connection() -> StoreError {
    StoreError::Unavailable("the connection to PostgreSQL is lost".into())
}

/// Whether the server itself failed a statement, and so whatever was sent after it in the same transaction. One that is
/// fatal may come from a pooler, which has lost the server and does not know what the server still does.
pub fn server_goes_on(error: &tokio_postgres::Error) -> bool {
    let severity = error.as_db_error().and_then(DbError::parsed_severity);
    severity == Some(Severity::Error)
}

/// What an error means for the caller, and whether the connection is lost.
pub fn classify(error: &tokio_postgres::Error) -> (StoreError, bool) {
    let text = describe(error);
    let Some(state) = error.code() else {
        // No SQLSTATE: the socket or the protocol failed, not the statement.
        let local = error.to_string().contains("error serializing parameter");
        return if local {
            (StoreError::Failed(text), true)
        } else {
            (StoreError::Unavailable(text), true)
        };
    };
    if *state == SqlState::T_R_SERIALIZATION_FAILURE || *state == SqlState::T_R_DEADLOCK_DETECTED {
        return (StoreError::Collision(text), false);
    }
    // The server ended the statement: we cancelled it, or it took longer than we let it.
    if *state == SqlState::QUERY_CANCELED || *state == SqlState::LOCK_NOT_AVAILABLE {
        return (StoreError::Unavailable(text), false);
    }
    // 0A000: the schema changed under a prepared statement. A new connection prepares it again.
    // 25006: the server has become a standby. A new connection looks for the primary.
    let unavailable = *state == SqlState::FEATURE_NOT_SUPPORTED
        || *state == SqlState::READ_ONLY_SQL_TRANSACTION
        || *state == SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT
        || ["08", "53", "57P", "58"]
            .iter()
            .any(|class| state.code().starts_with(class));
    if unavailable {
        (StoreError::Unavailable(text), true)
    } else {
        (StoreError::Failed(text), false)
    }
}
