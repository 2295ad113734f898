//! Whatever comes as a body or a query is read or refused: no panic, and no more work than it has
//! bytes.

use proptest::prelude::*;
use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::request::fields::{self, Fields, RequestBody};
use crate::api::request::json;
use crate::api::request::query::{AvailableQuery, Parameters, TaskListQuery};
use crate::api::request::testing::cases;
use crate::domain::rules::{IntegerRule, ListRule, TextRule};
use crate::domain::{FieldErrors, Skill, TaskId, Timestamp};
use crate::usecases::FoundCursor;

/// A field of each kind.
struct Everything;

impl RequestBody for Everything {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        fields.text("a", &TextRule::plain(1, 200));
        fields.optional_choices::<Skill>("l", &ListRule::ANY);
        fields.integer("n", &IntegerRule { min: 0, max: 9 });
        fields.optional_json_object("m", Ok);
        fields.object("o", |inner| {
            inner.text("a", &TextRule::plain(1, 200))?;
            inner.optional_point("x", "y")
        });
        Some(Self)
    }
}

/// The answer to a faulty body is at most this long.
const MAX_ANSWER: usize = 400_000;
/// What is written out of paths on the way to it.
const MAX_WRITTEN: usize = 100 * 128 * 1_000;

fn read(body: &[u8]) -> Result<Map<String, Value>, FieldErrors> {
    let object = json::object(body)?;
    match fields::read::<Everything>(&object) {
        Err(ApiError::Validation(errors)) => Err(errors),
        _ => Ok(object),
    }
}

/// What the errors of a body cost, whatever it is: the bytes of the answer, and the bytes that were
/// copied to make its paths.
fn check_cost(body: &[u8]) -> Result<(), TestCaseError> {
    let before = json::written_bytes();
    let read = read(body);
    let written = json::written_bytes() - before;
    prop_assert!(written <= MAX_WRITTEN, "{} bytes of paths", written);
    let Err(errors) = read else { return Ok(()) };
    prop_assert!(errors.kept().len() <= FieldErrors::MAX_KEPT);
    prop_assert!(errors.count() <= body.len().max(16));
    let lengths = errors
        .kept()
        .iter()
        .map(|e| e.field.len() + e.message.len());
    let answer: usize = lengths.sum();
    prop_assert!(answer <= MAX_ANSWER, "{} bytes of answer", answer);
    Ok(())
}

/// A key that takes a place in a path: short, long, of wide characters, of escapes, or known.
fn key() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        "[alnmoxy]",
        (1_usize..2_000).prop_map(|length| "k".repeat(length)),
        (1_usize..300).prop_map(|length| "🏠".repeat(length)),
        (1_usize..300).prop_map(|length| "\\u0041".repeat(length)),
        (1_usize..300).prop_map(|length| "\\ud83c\\udfe0".repeat(length)),
    ]
}

/// A value that is small to write and may be large to read.
fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("0".to_owned()),
        Just("null".to_owned()),
        (1_usize..5_000).prop_map(|digits| "9".repeat(digits)),
        (1_usize..5_000).prop_map(|digits| format!("0.{}1", "0".repeat(digits))),
        (1_usize..5_000).prop_map(|digits| format!("1.{}", "3".repeat(digits))),
        (1_u32..400).prop_map(|exponent| format!("1e{exponent}")),
        (1_u32..99_999).prop_map(|exponent| format!("1e-{exponent}")),
        (0_usize..3_000).prop_map(|length| format!("\"{}\"", "\\u00e9".repeat(length))),
        key().prop_map(|text| format!("\"{text}\"")),
        (0_usize..3_000).prop_map(|items| format!("[{}]", vec!["0"; items].join(","))),
        (0_usize..2_000).prop_map(|items| format!("[{}]", vec!["\"x\""; items].join(","))),
    ]
}

/// Many keys at the bottom of a deep body: repeated, or each its own.
fn nasty() -> impl Strategy<Value = String> {
    let entry = (key(), scalar(), 1_usize..500, any::<bool>());
    let entries = proptest::collection::vec(entry, 0..6);
    let levels = (proptest::collection::vec(key(), 1..4), 0_usize..125);
    (levels, entries, any::<bool>()).prop_map(|((keys, depth), entries, lists)| {
        let mut body = String::new();
        for level in 0..depth {
            body.push_str(&format!("{{\"{}\":", keys[level % keys.len()]));
            if lists {
                body.push('[');
            }
        }
        body.push('{');
        let mut first = true;
        for (key, value, times, distinct) in entries {
            // A large value need not be there often.
            let times = times.min(200_000 / (key.len() + value.len() + 8) + 1);
            for number in 0..times {
                let comma = if std::mem::take(&mut first) { "" } else { "," };
                let number = if distinct {
                    number.to_string()
                } else {
                    String::new()
                };
                body.push_str(&format!("{comma}\"{key}{number}\":{value}"));
            }
        }
        body.push('}');
        let close = if lists { "]}" } else { "}" };
        body.push_str(&close.repeat(depth));
        body
    })
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 8, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            proptest::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

/// The same with the keys of every object in the other order.
fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let entries = object.iter().rev();
            Value::Object(entries.map(|(k, v)| (k.clone(), reversed(v))).collect())
        }
        Value::Array(items) => items.iter().map(reversed).collect(),
        scalar => scalar.clone(),
    }
}

fn check_query(query: &str) -> Result<(), TestCaseError> {
    if let Ok(read) = TaskListQuery::read(query) {
        prop_assert!((1..=100).contains(&read.page.limit) && read.page.offset >= 0);
    }
    if let Ok(read) = AvailableQuery::read(query) {
        prop_assert!((1..=100).contains(&read.limit));
        prop_assert!(read.after.is_none_or(|cursor| cursor.key.is_finite()));
    }
    if let Err(errors) = Parameters::of(query).finish() {
        prop_assert!(errors.kept().len() <= FieldErrors::MAX_KEPT);
        prop_assert!(errors.kept().iter().all(|error| error.field.len() <= 400));
    }
    Ok(())
}

/// Large bodies that were once dear, or could be.
#[test]
fn large_bodies_cost_no_more_than_small_ones() {
    let repeat = |text: &str, bytes: usize| text.repeat(bytes / text.len());
    let wrap = |inner: String| format!("{{{inner}\"z\":0}}");
    for bytes in [8_000, 60_000, 250_000] {
        for body in [
            wrap(repeat("\"\":0,", bytes)),
            wrap((0..bytes / 12).map(|n| format!("\"{n:06}\":0,")).collect()),
            format!("{{\"l\":[{}0]}}", repeat("0,", bytes)),
            format!("{{\"l\":[{}\"x\"]}}", repeat("\"x\",", bytes)),
            format!("{{\"n\":{}}}", repeat("9", bytes)),
            format!("{{\"n\":0.{}}}", repeat("0", bytes)),
            format!("{{\"n\":1.{}}}", repeat("7", bytes)),
            format!("{{\"n\":1e{}}}", repeat("9", bytes)),
            format!("{{\"{}\":0}}", repeat("\\u0041", bytes)),
            format!("{{\"a\":\"{}\"}}", repeat("\\n", bytes)),
            repeat("[", bytes),
            repeat("{\"a\":", bytes),
            repeat(" ", bytes),
            format!("{{\"m\":{}}}", wrap(repeat("\"a\":[],", bytes))),
        ] {
            check_cost(body.as_bytes()).unwrap();
        }
    }
}

proptest! {
    #![proptest_config(cases(128))]

    #[test]
    fn nasty_bodies_cost_no_more_than_others(body in nasty()) {
        check_cost(body.as_bytes())?;
    }

    #[test]
    fn damaged_bodies_are_refused(
        body in nasty(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut body = body.into_bytes();
        let at = at.index(body.len());
        body[at] = byte;
        check_cost(&body)?;
        check_cost(&body[..at])?;
    }

    #[test]
    fn any_bytes_are_a_body_or_not(body in proptest::collection::vec(any::<u8>(), 0..200)) {
        check_cost(&body)?;
    }

    #[test]
    fn what_is_json_is_read_as_it_was_written(value in any_value()) {
        let body = Value::Object(Map::from_iter([("v".to_owned(), value)]));
        let read = json::object(body.to_string().as_bytes());
        prop_assert_eq!(read.map(Value::Object), Ok(body.clone()));
        let other = reversed(&body);
        prop_assert_eq!(json::canonical(&other), json::canonical(&body));
    }

    #[test]
    fn any_text_is_a_query_or_not(query in any::<String>()) {
        check_query(&query)?;
    }

    #[test]
    fn any_parameters_are_read_or_refused(
        given in proptest::collection::vec(
            ("(status|limit|offset|cursor|sort|category|latitude|longitude|radius_km|[a-z%+]{0,200})",
                "([0-9.-]{0,30}|NaN|inf|1e999|posted|distance|[^&]{0,20})"), 0..150),
    ) {
        let pairs = given.iter().map(|(name, value)| format!("{name}={value}"));
        check_query(&pairs.collect::<Vec<_>>().join("&"))?;
    }

    #[test]
    fn a_cursor_is_read_as_it_was_written(
        bounty: bool, key in any::<f64>().prop_filter("finite", |key| key.is_finite()),
        millis in 0_i64..1 << 47, random: [u8; 10],
    ) {
        let id = TaskId::new(Timestamp::from_millis(millis), &random);
        let cursor = FoundCursor { bounty, key, id };
        let query = format!("cursor={}", AvailableQuery::cursor_text(&cursor));
        let read = AvailableQuery::read(&query).ok().and_then(|read| read.after);
        prop_assert_eq!(read, Some(cursor));
    }
}
