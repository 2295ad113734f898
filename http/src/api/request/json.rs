//! Reads JSON strictly: a repeated key is an error.

use std::cell::RefCell;
use std::fmt::{self, Write as _};

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::domain::{FieldError, FieldErrors};

/// The field under which errors of the body as a whole are reported.
pub const BODY: &str = "body";

/// Reads a body that must be a JSON object. No body at all is an empty object.
pub fn object(bytes: &[u8]) -> Result<Map<String, Value>, FieldErrors> {
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    let of_body = |message: String| FieldErrors::from(vec![FieldError::new(BODY, message)]);
    let repeated = RefCell::new(FieldErrors::default());
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let seed = Strict {
        path: &Path::Root,
        repeated: &repeated,
    };
    let read = seed
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    let repeated = repeated.into_inner();
    match read {
        // What is not JSON at all says nothing about its keys, unless there were too many to go on.
        Err(_) if repeated.count() >= FieldErrors::MAX_KEPT => Err(repeated),
        Err(error) => Err(of_body(format!("is not valid JSON: {error}"))),
        Ok(_) if !repeated.is_empty() => Err(repeated),
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(of_body("must be a JSON object".to_owned())),
    }
}

/// One text for each value: keys sorted, no white space.
pub fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_canonical(value, &mut out);
    out
}

fn write_canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (key, value) in entries {
                let _ = write!(out, "{}:", Value::from(key.as_str()));
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        scalar => {
            let _ = write!(out, "{scalar}");
        }
    }
}

pub fn join(path: &str, key: &str) -> String {
    // A hostile key may be as long as the body; the path only has to be recognizable.
    let key: String = key.chars().take(100).collect();
    #[cfg(test)]
    WRITTEN.with(|written| written.set(written.get() + path.len() + key.len()));
    if path.is_empty() {
        key
    } else {
        format!("{path}.{key}")
    }
}

#[cfg(test)]
thread_local! {
    static WRITTEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many bytes of paths this thread has written.
#[cfg(test)]
pub fn written_bytes() -> usize {
    WRITTEN.with(std::cell::Cell::get)
}

/// The current place in the body. Written out only for an error.
enum Path<'a> {
    Root,
    Key(&'a Path<'a>, &'a str),
    Index(&'a Path<'a>, usize),
}

/// A longer path is cut: it only has to be recognizable.
const MAX_PATH_BYTES: usize = 500;

impl Path<'_> {
    fn written(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Key(parent, key) => {
                let parent = parent.written();
                if parent.len() > MAX_PATH_BYTES {
                    return parent;
                }
                join(&parent, key)
            }
            Self::Index(parent, index) => format!("{}[{index}]", parent.written()),
        }
    }
}

struct Strict<'a> {
    path: &'a Path<'a>,
    repeated: &'a RefCell<FieldErrors>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value).ok_or_else(|| E::custom("number out of range"))?;
        Ok(Value::Number(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict {
            path: &Path::Index(self.path, items.len()),
            repeated: self.repeated,
        })? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            let path = Path::Key(self.path, &key);
            let value = map.next_value_seed(Strict {
                path: &path,
                repeated: self.repeated,
            })?;
            if object.contains_key(&key) {
                let mut repeated = self.repeated.borrow_mut();
                repeated.push(|| path.written(), "is given more than once");
                // Enough to refuse the body: the rest is not worth reading.
                if repeated.count() >= FieldErrors::MAX_KEPT {
                    return Err(serde::de::Error::custom("too many repeated keys"));
                }
            }
            object.insert(key, value);
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn errors(text: &[u8]) -> Vec<String> {
        let errors = object(text).unwrap_err();
        let fields = errors.kept().iter().map(|error| error.field.clone());
        fields.collect()
    }

    #[test]
    fn every_repeated_key_is_named_with_its_path() {
        let text = br#"{"a":1,"a":2,"l":{"x":1,"x":1},"m":[{"k":1},{"k":1,"k":2}]}"#;
        assert_eq!(errors(text), ["a", "l.x", "m[1].k"]);
    }

    #[test]
    fn a_hostile_body_of_repeated_keys_is_refused_early_and_cheaply() {
        // 125 nested keys of 100 four-byte characters, then 42,000 repeats of an empty key.
        let key = "🏠".repeat(100);
        let open = format!("{{\"{key}\":").repeat(124);
        let repeats = "\"\":0,".repeat(42_000);
        let body = format!("{open}{{{repeats}\"\":0}}{}", "}".repeat(124));
        let errors = object(body.as_bytes()).unwrap_err();
        assert_eq!(errors.count(), FieldErrors::MAX_KEPT);
        let kept: usize = errors.kept().iter().map(|error| error.field.len()).sum();
        assert!(kept < 200_000, "{kept}");
    }

    #[test]
    fn what_is_not_an_object_is_refused() {
        let deep = "[".repeat(100_000);
        for text in [
            b"null".as_slice(),
            b"[]",
            b"1",
            b"\"a\"",
            b"{",
            b"{}x",
            b"{\"a\":}",
            b"{\"a\":1e999}",
            b"{\"a\":\"\xff\"}",
            b"{\"a\":\"\\ud800\"}",
            b"\xef\xbb\xbf{}",
            deep.as_bytes(),
        ] {
            assert_eq!(errors(text), [BODY]);
        }
    }

    #[test]
    fn numbers_keep_their_kind_and_every_digit() {
        let object = object(br#"{"a":500,"b":500.0,"c":-74.00597139999999,"d":5e2}"#).unwrap();
        assert!(object["a"].is_i64());
        assert!(object["b"].is_f64());
        assert!(object["d"].is_f64());
        assert_eq!(object["c"].as_f64(), Some(-74.005_971_399_999_99));
    }

    #[test]
    fn the_canonical_form_does_not_depend_on_order_or_spacing() {
        let one = object(br#"{"b": [1, {"y": 2, "x": null}], "a": "\u00e9"}"#).unwrap();
        let two = object("{\"a\":\"é\",\"b\":[1,{\"x\":null,\"y\":2}]}".as_bytes()).unwrap();
        assert_eq!(
            canonical(&Value::Object(one)),
            canonical(&Value::Object(two))
        );
        assert_ne!(canonical(&"[1]".into()), canonical(&vec![1].into()));
    }
}
