//! On a developer's own machine: a link that signs in without a password.

use serde_json::json;

use super::sign_in::SignedIn;
use crate::domain::{
    Account, AccountStatus, Actor, LinkPurpose, Origin, Person, Secret, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::people::mail_links::hand_out_link;
use crate::usecases::people::{MadeLink, good_link, open_session, redeem_link};
use crate::usecases::second_factor::has_factor;

/// Makes a link that signs the person of an account in, once. Earlier ones are void. Only a server that nobody
/// else reaches takes it: see `pages::public::local`.
pub fn make_sign_in_link(
    tx: &mut Tx<'_>,
    account: &Account,
    by: &Actor,
    now: Timestamp,
) -> Result<MadeLink, UseCaseError> {
    expect_open(tx, account)?;
    let (person, purpose) = (Person::Account(account.id), LinkPurpose::SignIn);
    let made = hand_out_link(tx, purpose, person, &account.email, now)?;
    let (id, action) = (account.id.to_string(), "account.sign_in_link");
    audit(tx, by, action, "account", &id, json!({}), now)?;
    Ok(made)
}

/// Whom a link signs in. It stays unused.
pub fn sign_in_link(
    tx: &mut Tx<'_>,
    token: &Secret,
    now: Timestamp,
) -> Result<String, UseCaseError> {
    Ok(good_link(tx, token, &[LinkPurpose::SignIn], now)?.email)
}

/// Uses a link up, and opens a session.
pub fn sign_in_with_link(
    tx: &mut Tx<'_>,
    token: &Secret,
    origin: &Origin,
    now: Timestamp,
) -> Result<SignedIn, UseCaseError> {
    let link = redeem_link(tx, token, &[LinkPurpose::SignIn], now)?;
    let Person::Account(id) = link.person else {
        return Err(UseCaseError::LinkExpired);
    };
    let account = tx.account_to_change(id)?.ok_or(UseCaseError::LinkExpired)?;
    expect_open(tx, &account)?;
    let (session, token) = open_session(tx, link.person, origin, now)?;
    Ok(SignedIn {
        account,
        session,
        token,
    })
}

/// Whoever has a second factor signs in with it.
fn expect_open(tx: &mut Tx<'_>, account: &Account) -> Result<(), UseCaseError> {
    match account.status {
        AccountStatus::Active => {}
        AccountStatus::Suspended => return Err(UseCaseError::AccountSuspended),
        AccountStatus::Deleted => return Err(UseCaseError::AccountNotFound),
    }
    match has_factor(tx, Person::Account(account.id))? {
        false => Ok(()),
        true => Err(UseCaseError::SecondFactorRequired),
    }
}
