//! Which of a task's metadata can be searched for.

use serde_json::{Map, Value};

/// So many keys of a task are indexed.
const MAX_KEYS: usize = 50;
pub const MAX_KEY_CHARACTERS: usize = 64;
pub const MAX_VALUE_CHARACTERS: usize = 250;

/// The keys of metadata that can be searched for, each with its value as text: texts, numbers and
/// booleans on the top level, up to a length.
pub fn searchable(metadata: &str) -> Vec<(String, String)> {
    if metadata == "{}" {
        return Vec::new();
    }
    // PostgreSQL stores no NUL.
    let fits = |text: &str, max: usize| {
        !text.contains('\0') && (text.len() <= max || text.chars().count() <= max)
    };
    let found = object(metadata).into_iter().filter_map(|(key, value)| {
        let value = text_of(&value)?;
        let fits = fits(&key, MAX_KEY_CHARACTERS) && fits(&value, MAX_VALUE_CHARACTERS);
        (fits && !key.is_empty()).then_some((key, value))
    });
    found.take(MAX_KEYS).collect()
}

/// Whether metadata has all of these keys with these values.
pub fn has_all(metadata: &str, wanted: &[(String, String)]) -> bool {
    let object = object(metadata);
    wanted
        .iter()
        .all(|(key, value)| object.get(key).and_then(text_of).as_ref() == Some(value))
}

fn object(metadata: &str) -> Map<String, Value> {
    serde_json::from_str(metadata).unwrap_or_default()
}

/// A value as it stands in a query. The number 5.0 is `5`, like the number 5 and the text "5".
fn text_of(value: &Value) -> Option<String> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(is_true) => Some(is_true.to_string()),
        Value::Number(number) => Some(match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < EXACT => {
                (float as i64).to_string()
            }
            _ => number.to_string(),
        }),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(metadata: &str) -> Vec<(String, String)> {
        searchable(metadata)
    }

    fn pair(key: &str, value: &str) -> (String, String) {
        (key.to_owned(), value.to_owned())
    }

    #[test]
    fn texts_numbers_and_booleans_can_be_searched_for() {
        assert_eq!(pairs("{}"), []);
        let metadata = r#"{"order": "4711", "count": 5, "price": 12.50, "whole": 5.0, "zero": -0.0,
            "large": 18446744073709551615, "paid": true, "none": null, "list": [1], "deep": {"a": 1}}"#;
        let expected = [
            pair("order", "4711"),
            pair("count", "5"),
            pair("price", "12.5"),
            pair("whole", "5"),
            pair("zero", "0"),
            pair("large", "18446744073709551615"),
            pair("paid", "true"),
        ];
        assert_eq!(pairs(metadata), expected);
        assert!(has_all(metadata, &expected));
        assert!(!has_all(
            metadata,
            &[pair("order", "4711"), pair("count", "6")]
        ));
        assert!(!has_all(metadata, &[pair("none", "null")]));
        assert!(has_all("{}", &[]));
    }

    #[test]
    fn what_is_indexed_is_bounded() {
        let [key, value] = [MAX_KEY_CHARACTERS, MAX_VALUE_CHARACTERS].map(|long| "ä".repeat(long));
        let just = format!(r#"{{"{key}": "{value}"}}"#);
        assert_eq!(pairs(&just), [(key.clone(), value.clone())]);
        assert_eq!(pairs(&format!(r#"{{"{key}x": "1", "": "1"}}"#)), []);
        assert_eq!(pairs(&format!(r#"{{"a": "{value}x"}}"#)), []);
        assert_eq!(pairs(r#"{"a": "\u0000", "\u0000": 1}"#), []);
        let many: Map<String, Value> = (0..60)
            .map(|key| (format!("k{key:02}"), 1.into()))
            .collect();
        let indexed = pairs(&Value::Object(many).to_string());
        assert_eq!(indexed.len(), MAX_KEYS);
        assert_eq!(indexed[49].0, "k49");
    }
}
