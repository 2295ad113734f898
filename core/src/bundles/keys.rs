//! The published keys: what a check without the service has to trust.

use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::domain::Timestamp;
use crate::domain::proofs::bundles::{ALGORITHM, BundleKey};

/// The keys that ever signed proof bundles, newest first, as `/.well-known/legwork-keys.json` shows them.
#[derive(Serialize, ToSchema)]
#[schema(as = BundleKeys, example = json!(PublishedKeys::example()))]
pub struct PublishedKeys {
    keys: Vec<PublishedKey>,
}

/// A key that signs or signed proof bundles.
#[derive(Serialize, ToSchema)]
#[schema(as = BundleKey)]
struct PublishedKey {
    id: String,
    #[schema(value_type = String, example = "Ed25519")]
    algorithm: &'static str,
    /// In Base64.
    public_key: String,
    /// The same, as openssl reads it.
    pem: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// Null for the key that signs now.
    #[schema(required, value_type = Option<String>, format = DateTime)]
    retired_at: Option<Timestamp>,
}

impl PublishedKeys {
    pub fn of(keys: &[BundleKey]) -> Self {
        let shown = |key: &BundleKey| PublishedKey {
            id: key.id.clone(),
            algorithm: ALGORITHM,
            public_key: key.public_key.clone(),
            pem: key.pem(),
            created_at: key.created_at,
            retired_at: key.retired_at,
        };
        Self {
            keys: keys.iter().map(shown).collect(),
        }
    }

    fn example() -> Self {
        Self::of(&[BundleKey {
            id: "9c1f2a7b3d4e5f60".to_owned(),
            public_key: "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=".to_owned(),
            created_at: Timestamp::from_millis(1_794_735_000_000),
            retired_at: None,
        }])
    }
}

pub fn keys_json(keys: &[BundleKey]) -> Value {
    json!(PublishedKeys::of(keys))
}

/// Reads what `keys_json` writes.
pub fn read_keys(text: &str) -> Result<Vec<BundleKey>, String> {
    let read: Value = serde_json::from_str(text).map_err(|e| e.to_string())?;
    let keys = read["keys"].as_array().ok_or("it has no list of keys")?;
    let key = |key: &Value| {
        let text = |name: &str| key[name].as_str().map(str::to_owned);
        Some(BundleKey {
            id: text("id")?,
            public_key: text("public_key").filter(|_| key["algorithm"] == ALGORITHM)?,
            created_at: moment(&key["created_at"])?,
            retired_at: match &key["retired_at"] {
                Value::Null => None,
                retired => Some(moment(retired)?),
            },
        })
    };
    let keys = keys.iter().map(key).collect::<Option<Vec<_>>>();
    keys.ok_or_else(|| "one of its keys is not complete".to_owned())
}

pub fn moment(text: &Value) -> Option<Timestamp> {
    let moment: jiff::Timestamp = text.as_str()?.parse().ok()?;
    Some(Timestamp::from_millis(moment.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::proofs::bundles::BundleSigner;

    #[test]
    fn keys_are_read_as_they_are_published() {
        let now = Timestamp::from_millis(1_794_744_000_000);
        let keys = [[7; 32], [8; 32]].map(|seed| BundleSigner::from_seed(&seed, now).unwrap().key);
        let mut keys = keys.to_vec();
        keys[1].retired_at = Some(now);
        assert_eq!(read_keys(&keys_json(&keys).to_string()), Ok(keys));
        for bad in ["", "{}", "{\"keys\": 1}", "{\"keys\": [{}]}"] {
            assert!(read_keys(bad).is_err(), "{bad}");
        }
    }
}
