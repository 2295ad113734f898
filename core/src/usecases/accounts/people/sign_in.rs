//! Signs the person of an account in on the pages.

use std::time::Duration;

use crate::domain::accounts::EMAIL;
use crate::domain::{
    Account, AccountId, AccountStatus, GivenCode, Origin, Person, Secret, Session, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::people::open_session;
use crate::usecases::second_factor::passkeys::{UsedPasskey, use_passkey};
use crate::usecases::second_factor::{CodeCheck, FactorAtSignIn, factor_at_sign_in, has_factor};

/// The first claims of an address that are looked at when nothing can be confirmed.
const CLAIMS: i64 = 2;

/// The accounts that an address may mean, with the hashes of their passwords. The number does not
/// depend on what is known of the address: one that is missing is to be checked against a decoy.
///
/// Whoever has not confirmed an address cannot sign in with it. Otherwise a stranger could sign up with
/// the address, sign in, and learn from the outcome whether it was free. Without a mail server nobody
/// can confirm one, so the first claims are looked at too: whoever comes later cannot lock them out.
pub fn sign_in_candidates(
    tx: &mut Tx<'_>,
    email: &str,
    sends_mail: bool,
) -> Result<Vec<Option<(AccountId, String)>>, UseCaseError> {
    let looked_at = if sends_mail { 1 } else { CLAIMS as usize + 1 };
    let mut found = Vec::with_capacity(looked_at);
    // Nobody has what is no address. Not every database can be asked for it: PostgreSQL takes no NUL.
    if EMAIL.check(email).is_ok() {
        found.push(tx.account_by_email(email)?.map(|account| account.id));
        if !sends_mail {
            let claims = tx.first_claims_of(email, CLAIMS)?;
            found.extend(claims.into_iter().map(|account| Some(account.id)));
        }
    }
    found.resize(looked_at, None);
    let with_password = |id: Option<AccountId>| {
        let Some(id) = id else {
            return Ok(None);
        };
        Ok(tx.account_password(id)?.map(|hash| (id, hash)))
    };
    found.into_iter().map(with_password).collect()
}

/// A developer who is signed in. The token is the cookie's value, and is shown this once.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub account: Account,
    pub session: Session,
    pub token: Secret,
}

/// What became of a sign-in whose password was right.
#[derive(Clone, Debug)]
pub enum AccountSignIn {
    Done(Box<SignedIn>),
    CodeRequired,
    Refused(CodeCheck),
}

/// Opens a session for an account whose password matched the hash `checked`, if the second factor allows
/// it. The transaction must be kept whatever the outcome is.
pub fn sign_in_account(
    tx: &mut Tx<'_>,
    (id, checked): (AccountId, &str),
    code: Option<&GivenCode>,
    origin: &Origin,
    now: Timestamp,
) -> Result<AccountSignIn, UseCaseError> {
    let account = tx.account_to_change(id)?;
    let account = account.ok_or(UseCaseError::WrongPassword)?;
    // It may have been changed since it was compared.
    if tx.account_password(id)?.as_deref() != Some(checked) {
        return Err(UseCaseError::WrongPassword);
    }
    expect_active(&account)?;
    let person = Person::Account(id);
    let second_factor = match factor_at_sign_in(tx, person, code, now)? {
        FactorAtSignIn::Passes { given } => given,
        FactorAtSignIn::CodeRequired => return Ok(AccountSignIn::CodeRequired),
        FactorAtSignIn::Refused(check) => return Ok(AccountSignIn::Refused(check)),
    };
    let (mut session, token) = open_session(tx, person, origin, now)?;
    if second_factor {
        tx.mark_session(&token.hash())?;
        session.second_factor = true;
    }
    Ok(AccountSignIn::Done(Box::new(SignedIn {
        account,
        session,
        token,
    })))
}

/// How long the form of a sign-up still signs in when it is sent again.
const NEW: Duration = Duration::from_secs(10 * 60);

/// Opens the first session of an account that has just signed up. None if that was a while ago: then the form was sent
/// again, perhaps by somebody else at the same browser.
pub fn sign_in_new_account(
    tx: &mut Tx<'_>,
    id: AccountId,
    origin: &Origin,
    now: Timestamp,
) -> Result<Option<Secret>, UseCaseError> {
    let person = Person::Account(id);
    let account = tx.account_to_change(id)?;
    let account = account.ok_or(UseCaseError::AccountNotFound)?;
    let is_new = now.since(account.created_at) < NEW && account.status == AccountStatus::Active;
    if !is_new || has_factor(tx, person)? {
        return Ok(None);
    }
    let (_, token) = open_session(tx, person, origin, now)?;
    Ok(Some(token))
}

fn expect_active(account: &Account) -> Result<(), UseCaseError> {
    match account.status {
        AccountStatus::Active => Ok(()),
        AccountStatus::Suspended => Err(UseCaseError::AccountSuspended),
        AccountStatus::Deleted => Err(UseCaseError::WrongPassword),
    }
}

/// Opens a session for an account whose passkey has answered: it stands for password and second factor. None if its counter
/// went back. The transaction must be kept whatever the outcome is.
pub fn sign_in_account_with_passkey(
    tx: &mut Tx<'_>,
    used: &UsedPasskey,
    origin: &Origin,
    now: Timestamp,
) -> Result<Option<SignedIn>, UseCaseError> {
    let Person::Account(id) = used.holder else {
        return Err(UseCaseError::WrongPassword);
    };
    let account = tx.account_to_change(id)?;
    let account = account.ok_or(UseCaseError::WrongPassword)?;
    expect_active(&account)?;
    if !use_passkey(tx, used, now)? {
        return Ok(None);
    }
    let (mut session, token) = open_session(tx, used.holder, origin, now)?;
    tx.mark_session(&token.hash())?;
    session.second_factor = true;
    Ok(Some(SignedIn {
        account,
        session,
        token,
    }))
}
