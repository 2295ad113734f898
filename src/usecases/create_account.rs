//! Opens an account with one live and one test key.

use super::Refusal;
use super::create_api_key::{IssuedKey, create_api_key};
use crate::ambient;
use crate::domain::{Account, AccountId, ApiKeyId, Environment, NewAccount, NewApiKey, Timestamp};
use crate::store::Tx;

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
}

pub fn create_account(tx: &mut Tx<'_>, opened: &OpenedAccount) -> Result<(), Refusal> {
    if !tx.insert_account(&opened.account)? {
        return Err(Refusal::EmailTaken);
    }
    create_api_key(tx, &opened.live_key)?;
    create_api_key(tx, &opened.test_key)
}
