//! The query of a search for tasks: filters of which some may be repeated, and one for each key of
//! metadata.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::api::error::ApiError;
use crate::api::request::query::Parameters;
use crate::domain::rules::TextRule;
use crate::domain::tasks::metadata::{MAX_KEY_CHARACTERS, MAX_VALUE_CHARACTERS};
use crate::domain::tasks::{Category, field};
use crate::domain::{FieldErrors, Status, Timestamp};
use crate::usecases::TaskSearch;

const KEY: TextRule = TextRule::plain(0, MAX_KEY_CHARACTERS);
const VALUE: TextRule = TextRule::plain(0, MAX_VALUE_CHARACTERS);
const METADATA: &str = "metadata.";
/// As OpenAPI describes it.
const DEEP_METADATA: &str = "metadata[";
/// So many keys of metadata can be looked for at once.
const MAX_KEYS: usize = 10;

/// Which tasks.
pub struct SearchQuery {
    pub search: TaskSearch,
    pub limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for SearchQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(parts.uri.query().unwrap_or_default()).map_err(ApiError::Validation)
    }
}

impl SearchQuery {
    pub fn read(query: &str) -> Result<Self, FieldErrors> {
        let mut parameters = Parameters::with_repeated(query, &["status"]);
        let words = parameters.optional("q", |text| field::SEARCH_WORDS.check(text));
        let category = parameters.optional("category", Category::rule);
        let statuses = statuses(&mut parameters);
        let created_from = parameters.optional("created_from", |text| Timestamp::RULE.check(text));
        let created_to = parameters.optional("created_to", |text| Timestamp::RULE.check(text));
        if let (Some(from), Some(to)) = (created_from, created_to)
            && to < from
        {
            parameters.refuse("created_to", "must not be before created_from");
        }
        let metadata = metadata(&mut parameters);
        let (before, limit) = parameters.cursor(number);
        parameters.finish()?;
        let words = words.unwrap_or_default().to_lowercase();
        let search = TaskSearch {
            words: words.split_whitespace().map(str::to_owned).collect(),
            category,
            statuses,
            created_from,
            created_to,
            metadata,
            before,
            limit: usize::try_from(limit).unwrap_or(0),
        };
        Ok(Self { search, limit })
    }
}

/// Several, repeated or separated by commas.
fn statuses(parameters: &mut Parameters) -> Vec<Status> {
    let mut statuses = Vec::new();
    for given in parameters.take_repeated("status") {
        for text in given.split(',') {
            match Status::rule(text) {
                Ok(status) => statuses.push(status),
                Err(message) => parameters.refuse("status", message),
            }
        }
    }
    statuses
}

fn metadata(parameters: &mut Parameters) -> Vec<(String, String)> {
    let mut wanted = Vec::new();
    let mut given = parameters.take_with_prefix(METADATA);
    given.extend(parameters.take_with_prefix(DEEP_METADATA));
    for (name, value) in given {
        let Some(key) = key_of(&name) else {
            parameters.refuse(&name, "must be metadata[key] or metadata.key");
            continue;
        };
        if wanted
            .iter()
            .any(|(known, _): &(String, String)| *known == key)
        {
            parameters.refuse(&name, "is given more than once");
            continue;
        }
        let result = match (KEY.check(&key), VALUE.check(&value)) {
            _ if key.is_empty() => Err("must name a key".to_owned()),
            (Err(message), _) => Err(format!("the key {message}")),
            (_, Err(message)) => Err(message),
            (Ok(key), Ok(value)) => Ok((key, value)),
        };
        match result {
            Ok(pair) if wanted.len() < MAX_KEYS => wanted.push(pair),
            Ok(_) => parameters.refuse(&name, format!("is one of more than {MAX_KEYS} keys")),
            Err(message) => parameters.refuse(&name, message),
        }
    }
    wanted
}

/// The key in `metadata.key` or `metadata[key]`.
fn key_of(name: &str) -> Option<String> {
    match name.strip_prefix(METADATA) {
        Some(key) => Some(key.to_owned()),
        None => {
            let key = name.strip_prefix(DEEP_METADATA)?.strip_suffix(']')?;
            Some(key.to_owned())
        }
    }
}

/// A cursor is the number of a task.
fn number(text: &str) -> Option<i64> {
    let digits = (1..=18).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(query: &str) -> Vec<String> {
        match SearchQuery::read(query) {
            Ok(_) => Vec::new(),
            Err(errors) => {
                let fields = errors.kept().iter().map(|error| error.field.clone());
                fields.collect()
            }
        }
    }

    #[test]
    fn a_search_is_read() {
        let query = "q=Bedford%20%20AVE&category=delivery&status=posted,funded&status=completed\
            &created_from=2026-11-01T00:00:00Z&created_to=2026-11-30T00:00:00Z\
            &metadata.order=4711&metadata.a.b=&limit=7&cursor=12";
        let Ok(SearchQuery { search, limit }) = SearchQuery::read(query) else {
            panic!("refused");
        };
        assert_eq!(search.words, ["bedford", "ave"]);
        assert_eq!(search.category, Some(Category::Delivery));
        let statuses = [Status::Posted, Status::Funded, Status::Completed];
        assert_eq!(search.statuses, statuses);
        assert!(search.created_from < search.created_to);
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        assert_eq!(search.metadata, [pair("a.b", ""), pair("order", "4711")]);
        assert_eq!((limit, search.before), (7, Some(12)));
        assert!(SearchQuery::read("").is_ok());
    }

    #[test]
    fn every_fault_is_named() {
        let faulty = "q=%20&category=x&status=open,posted&created_from=now&created_to=&metadata.=1\
            &limit=0&cursor=-1&x=1";
        let expected = [
            "q",
            "category",
            "status",
            "created_from",
            "created_to",
            "metadata.",
            "cursor",
            "limit",
            "x",
        ];
        assert_eq!(faults(faulty), expected);
        let backwards = "created_from=2026-11-02T00:00:00Z&created_to=2026-11-01T00:00:00Z";
        assert_eq!(faults(backwards), ["created_to"]);
        assert_eq!(faults("metadata.a=1&metadata.a=2"), ["metadata.a"]);
        assert_eq!(faults("metadata.a=1&metadata[a]=2"), ["metadata[a]"]);
        assert_eq!(faults("metadata[a=1"), ["metadata[a"]);
        assert_eq!(faults("metadata[]=1"), ["metadata[]"]);
        let deep = SearchQuery::read("metadata%5Border%5D=4711").unwrap();
        assert_eq!(
            deep.search.metadata,
            [("order".to_owned(), "4711".to_owned())]
        );
        assert_eq!(
            faults(&format!("metadata.a={}", "x".repeat(251))),
            ["metadata.a"]
        );
        let long = format!("metadata.{}", "k".repeat(65));
        assert_eq!(faults(&format!("{long}=1")), [long]);
        let many: Vec<_> = (0..11).map(|key| format!("metadata.{key}=1")).collect();
        assert_eq!(faults(&many.join("&")).len(), 1);
        for cursor in ["", "-1", "+5", "1.0", "x", "99999999999999999999"] {
            assert_eq!(faults(&format!("cursor={cursor}")), ["cursor"], "{cursor}");
        }
    }
}
