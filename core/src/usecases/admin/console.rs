//! Admins on the pages: they sign in with their key, and the session ends with it.

use crate::domain::{
    Actor, AdminKey, AdminKeyId, GivenCode, Origin, Person, Secret, Session, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::people::sessions::{open_session, password_given_again};
use crate::usecases::second_factor::passkeys::{UsedPasskey, use_passkey};
use crate::usecases::second_factor::{CodeCheck, FactorAtSignIn, factor_at_sign_in, recorded};

/// An admin who is signed in on the pages.
#[derive(Clone, Debug)]
pub struct AdminVisitor {
    pub session: Session,
    pub key: AdminKey,
}

/// What became of a sign-in with a key that is good.
#[derive(Clone, Debug)]
pub enum AdminSignIn {
    Done(Secret),
    CodeRequired,
    Refused(CodeCheck),
}

/// Whose session this is, if the key is still good. Only reads: `use_session` notes the use.
pub fn admin_visitor(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<AdminVisitor, UseCaseError> {
    let session = tx.session_by_token(&token.hash(), now)?;
    let session = session.ok_or(UseCaseError::Unauthorized)?;
    let Person::Admin(id) = session.person else {
        return Err(UseCaseError::Unauthorized);
    };
    Ok(AdminVisitor {
        session,
        key: good_key(tx, id)?,
    })
}

fn good_key(tx: &mut Tx<'_>, id: AdminKeyId) -> Result<AdminKey, UseCaseError> {
    let key = tx.admin_key(id)?.filter(|key| key.revoked_at.is_none());
    key.ok_or(UseCaseError::Unauthorized)
}

/// Opens a session for a key, if its second factor allows it. The transaction must be kept whatever the
/// outcome is.
pub fn sign_in_admin(
    tx: &mut Tx<'_>,
    key: AdminKeyId,
    code: Option<&GivenCode>,
    origin: &Origin,
    now: Timestamp,
) -> Result<AdminSignIn, UseCaseError> {
    good_key(tx, key)?;
    let holder = Person::Admin(key);
    let second_factor = match factor_at_sign_in(tx, holder, code, now)? {
        FactorAtSignIn::Passes { given } => given,
        FactorAtSignIn::CodeRequired => return Ok(AdminSignIn::CodeRequired),
        FactorAtSignIn::Refused(check) => return Ok(AdminSignIn::Refused(check)),
    };
    let (_, token) = open_session(tx, holder, origin, now)?;
    if second_factor {
        tx.mark_session(&token.hash())?;
    }
    recorded(tx, &Actor::admin(key), "admin_key.signed_in", holder, now)?;
    Ok(AdminSignIn::Done(token))
}

/// The same with a passkey: whoever answers its challenge has given the key before. None if the counter of the passkey went
/// back. The transaction must be kept whatever the outcome is.
pub fn sign_in_admin_with_passkey(
    tx: &mut Tx<'_>,
    used: &UsedPasskey,
    origin: &Origin,
    now: Timestamp,
) -> Result<Option<Secret>, UseCaseError> {
    let Person::Admin(key) = used.holder else {
        return Err(UseCaseError::WrongPassword);
    };
    good_key(tx, key)?;
    if !use_passkey(tx, used, now)? {
        return Ok(None);
    }
    let (_, token) = open_session(tx, used.holder, origin, now)?;
    tx.mark_session(&token.hash())?;
    let by = Actor::admin(key);
    recorded(tx, &by, "admin_key.signed_in", used.holder, now)?;
    Ok(Some(token))
}

/// The key was given again in a session, with a code where there is an app: what is dangerous is allowed
/// for the next minutes. Who has passkeys alone has given one in the session. The transaction must be kept whatever
/// the outcome is.
pub fn admin_key_given_again(
    tx: &mut Tx<'_>,
    session: &Session,
    code: Option<&GivenCode>,
    now: Timestamp,
) -> Result<FactorAtSignIn, UseCaseError> {
    let has_app = tx.second_factor_enabled(session.person)?.is_some();
    let found = match session.second_factor && !has_app {
        true => FactorAtSignIn::Passes { given: true },
        false => factor_at_sign_in(tx, session.person, code, now)?,
    };
    if matches!(found, FactorAtSignIn::Passes { .. }) {
        password_given_again(tx, session.id, now)?;
    }
    Ok(found)
}
