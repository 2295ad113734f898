//! Opens an account with one live and one test key.

use serde_json::json;

use crate::ambient;
use crate::domain::accounts::api_key::hex;
use crate::domain::{
    Account, AccountId, Actor, ApiKeyId, Environment, NewAccount, NewApiKey, Timestamp,
};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::accounts::create_api_key::IssuedKey;
use crate::usecases::accounts::people::{invite, make_sign_in_link};
use crate::usecases::admin::audit;
use crate::usecases::people::MadeLink;

#[derive(Clone, Debug)]
pub struct OpenedAccount {
    pub account: Account,
    pub live_key: IssuedKey,
    pub test_key: IssuedKey,
}

impl OpenedAccount {
    pub fn new(new: &NewAccount, now: Timestamp) -> Self {
        let account = new.open(AccountId::new(now, &ambient::random()), now);
        let key = |environment: Environment| {
            let new = NewApiKey {
                name: format!("First {environment} key"),
                environment,
            };
            let id = ApiKeyId::new(now, &ambient::random());
            IssuedKey::new(account.id, &new, id, &ambient::random(), now)
        };
        Self {
            live_key: key(Environment::Live),
            test_key: key(Environment::Test),
            account,
        }
    }

    /// For somebody who only claims the address.
    pub fn claiming(new: &NewAccount, now: Timestamp) -> Self {
        let mut opened = Self::new(new, now);
        opened.account.email_confirmed = false;
        opened
    }
}

pub fn create_account(
    tx: &mut Tx<'_>,
    opened: &OpenedAccount,
    by: &Actor,
) -> Result<(), UseCaseError> {
    tx.hold_addresses(&hex(&ambient::random::<32>()))?;
    if !store_account(tx, opened)? {
        return Err(UseCaseError::EmailTaken);
    }
    audit_opening(tx, opened, by)
}

/// The same for somebody who is to choose a password: with an invitation, which is also mailed if there is a
/// mail server.
pub fn create_invited_account(
    tx: &mut Tx<'_>,
    opened: &OpenedAccount,
    by: &Actor,
) -> Result<MadeLink, UseCaseError> {
    create_account(tx, opened, by)?;
    invite(tx, &opened.account, by, opened.account.created_at)
}

/// The first account of a developer's own machine: with a link that signs in, and one to choose a password.
pub fn create_local_account(
    tx: &mut Tx<'_>,
    opened: &OpenedAccount,
    by: &Actor,
) -> Result<(MadeLink, MadeLink), UseCaseError> {
    let invited = create_invited_account(tx, opened, by)?;
    let sign_in = make_sign_in_link(tx, &opened.account, by, opened.account.created_at)?;
    Ok((sign_in, invited))
}

/// Stores an account with its keys. False when its address is taken.
pub(super) fn store_account(tx: &mut Tx<'_>, opened: &OpenedAccount) -> Result<bool, UseCaseError> {
    if !tx.insert_account(&opened.account)? {
        return Ok(false);
    }
    for key in [&opened.live_key, &opened.test_key] {
        tx.insert_api_key(&key.record, &key.secret.hash())?;
    }
    Ok(true)
}

pub(super) fn audit_opening(
    tx: &mut Tx<'_>,
    opened: &OpenedAccount,
    by: &Actor,
) -> Result<(), UseCaseError> {
    let account = &opened.account;
    let keys = [&opened.live_key, &opened.test_key];
    let details = json!({
        "tier": account.tier,
        "api_keys": keys.map(|key| key.record.id.to_string()),
    });
    let (id, now) = (account.id.to_string(), account.created_at);
    audit(tx, by, "account.created", "account", &id, details, now)
}
