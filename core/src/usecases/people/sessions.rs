//! Sessions on the pages. Whoever calls these has checked the password, or whose session it is.

use crate::ambient;
use crate::domain::people::session::MAX_FOR_PERSON;
use crate::domain::{Origin, Person, Secret, Session, SessionId, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// Begins a session. The token is shown once; only its hash is kept. If the person has too many
/// sessions, the oldest ends.
pub fn open_session(
    tx: &mut Tx<'_>,
    person: Person,
    origin: &Origin,
    now: Timestamp,
) -> Result<(Session, Secret), UseCaseError> {
    let others = tx.sessions_of(person, now)?;
    if let Some(oldest) = others.get(MAX_FOR_PERSON as usize - 1) {
        tx.revoke_session(person, oldest.id)?;
    }
    let token = Secret::session(&ambient::random());
    let id = SessionId::new(now, &ambient::random());
    let session = Session::begin(id, person, origin.clone(), now);
    tx.add_session(&session, &token.hash())?;
    Ok((session, token))
}

/// The session with this token, whose use is noted.
pub fn use_session(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<Session, UseCaseError> {
    let session = tx.session_by_token(&token.hash(), now)?;
    let session = session.ok_or(UseCaseError::Unauthorized)?;
    match session.seen(now) {
        Some(seen) => {
            tx.session_seen(&seen)?;
            Ok(seen)
        }
        None => Ok(session),
    }
}

/// The password was right once more: what is dangerous is allowed for the next minutes.
pub fn password_given_again(
    tx: &mut Tx<'_>,
    session: SessionId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match tx.session_signed_in(session, now)? {
        true => Ok(()),
        // Somebody has ended it meanwhile, perhaps with a new password.
        false => Err(UseCaseError::Unauthorized),
    }
}

/// Somebody signs out. That the session has ended already is fine.
pub fn sign_out(tx: &mut Tx<'_>, person: Person, session: SessionId) -> Result<(), UseCaseError> {
    match revoke_session(tx, person, session) {
        Err(UseCaseError::SessionNotFound) => Ok(()),
        ended => ended,
    }
}

/// Ends one session that the person does not recognise.
pub fn revoke_session(
    tx: &mut Tx<'_>,
    person: Person,
    session: SessionId,
) -> Result<(), UseCaseError> {
    if tx.revoke_session(person, session)? {
        Ok(())
    } else {
        Err(UseCaseError::SessionNotFound)
    }
}

/// Ends all sessions of a person, except the one that asks, if any.
pub fn revoke_sessions(
    tx: &mut Tx<'_>,
    person: Person,
    except: Option<SessionId>,
) -> Result<(), UseCaseError> {
    Ok(tx.revoke_sessions(person, except)?)
}
