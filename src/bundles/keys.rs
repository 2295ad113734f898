//! The published keys: what a check without the service has to trust.

use serde_json::{Value, json};

use crate::domain::Timestamp;
use crate::domain::bundles::{ALGORITHM, BundleKey};

/// As `/.well-known/legwork-keys.json` shows them.
pub fn keys_json(keys: &[BundleKey]) -> Value {
    let keys = keys.iter().map(|key| {
        json!({
            "id": key.id,
            "algorithm": ALGORITHM,
            "public_key": key.public_key,
            "pem": key.pem(),
            "created_at": key.created_at,
            "retired_at": key.retired_at,
        })
    });
    json!({ "keys": keys.collect::<Vec<_>>() })
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
    use crate::domain::bundles::BundleSigner;

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
