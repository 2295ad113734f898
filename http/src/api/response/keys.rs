//! A new API key, as developers and admins get it.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::domain::{Environment, NewApiKey, Timestamp};
use crate::store::StoreError;
use crate::usecases::IssuedKey;
use crate::views::{Id, examples, to_json};

/// A new key. No other response ever has the key itself.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(CreatedKey::example()))]
pub struct CreatedKey<'a> {
    #[schema(value_type = Id)]
    id: String,
    name: &'a str,
    key: &'a str,
    key_prefix: &'a str,
    environment: Environment,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
}

impl<'a> CreatedKey<'a> {
    pub fn of(key: &'a IssuedKey) -> Self {
        Self {
            id: key.record.id.to_string(),
            name: &key.record.name,
            key: key.secret.expose(),
            key_prefix: &key.record.key_prefix,
            environment: key.record.environment,
            created_at: key.record.created_at,
        }
    }

    pub fn json(key: &IssuedKey) -> Result<String, StoreError> {
        to_json(&CreatedKey::of(key))
    }

    fn example() -> Value {
        json!(CreatedKey::of(&example()))
    }
}

pub fn example() -> IssuedKey {
    let new = NewApiKey {
        name: "Nightly audit".to_owned(),
        environment: Environment::Test,
    };
    let (account, id) = (examples::account_id(), examples::key_id());
    let random = examples::secret_bytes();
    IssuedKey::new(account, &new, id, &random, examples::CREATED)
}
