//! Reads the forms of pages, bounded in size and time, and keeps what was entered beside what is wrong
//! with it.

use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequest, Request};
use axum::http::Extensions;
use serde_json::{Map, Value};

use crate::ambient;
use crate::api::inside::{self, Refused};
use crate::domain::accounts::api_key::hex;

const MAX_BYTES: usize = 64 * 1024;
const WITHIN: Duration = Duration::from_secs(20);
/// The field with which a form takes effect once.
const KEY: &str = "idempotency_key";

/// What somebody entered, and what is wrong with it.
#[derive(Clone, Debug, Default)]
pub struct Form {
    values: Vec<(String, String)>,
    faults: Vec<(String, String)>,
    /// What is wrong with the whole.
    pub problem: Option<String>,
    key: Option<String>,
}

impl Form {
    /// One that nobody has filled in yet. Its key is new.
    pub fn new() -> Self {
        Self {
            key: Some(hex(&ambient::random::<16>())),
            ..Self::default()
        }
    }

    /// One that begins with these values.
    pub fn with(values: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let values = values.into_iter();
        Self {
            values: values
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
            ..Self::new()
        }
    }

    /// Fills a field in, beside what it has already.
    pub fn add(&mut self, name: &str, value: String) {
        self.values.push((name.to_owned(), value));
    }

    /// The same, if there is something to fill in.
    pub fn fill(&mut self, name: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.add(name, value.to_string());
        }
    }

    /// The same form with what is wrong with another one.
    pub fn with_faults_of(mut self, other: &Self) -> Self {
        self.faults.clone_from(&other.faults);
        self.problem.clone_from(&other.problem);
        self
    }

    pub fn parse(bytes: &[u8]) -> Self {
        let values: Vec<_> = form_urlencoded::parse(bytes).into_owned().collect();
        let key = values.iter().find(|(name, _)| name == KEY);
        let key = key.map(|(_, value)| value.clone());
        let usable = |key: &String| {
            (1..=100).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        Self {
            key: key.filter(usable),
            values,
            ..Self::default()
        }
    }

    /// The Idempotency-Key that came with the form, or that it will come with.
    pub fn key(&self) -> &str {
        self.key.as_deref().unwrap_or_default()
    }

    /// The field of this name; empty when it is missing.
    pub fn get(&self, name: &str) -> &str {
        let found = self.values.iter().find(|(found, _)| found == name);
        found.map_or("", |(_, value)| value)
    }

    /// Every field that was sent, in its order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        let values = self.values.iter();
        values.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.values.iter().filter(move |(found, _)| found == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a box with this value is ticked.
    pub fn has(&self, name: &str, value: &str) -> bool {
        self.all(name).any(|found| found == value)
    }

    /// What is wrong with a field.
    pub fn fault(&self, name: &str) -> Option<&str> {
        let mut found = self.faults.iter().filter(|(found, _)| found == name);
        found.next().map(|(_, message)| message.as_str())
    }

    /// Whether anything is wrong with it.
    pub fn is_refused(&self) -> bool {
        self.problem.is_some() || !self.faults.is_empty()
    }

    /// Every field with which something is wrong, once, and what.
    pub fn wrong(&self) -> Vec<(&str, &str)> {
        let mut wrong: Vec<(&str, &str)> = Vec::new();
        for (name, message) in &self.faults {
            if !wrong.iter().any(|(known, _)| known == name) {
                wrong.push((name, message));
            }
        }
        wrong
    }

    /// What is wrong with a field of the API, as a fault of the field that people see for it.
    pub fn say_of(&mut self, api: &str, shown: &str, message: &str) {
        for (name, told) in &mut self.faults {
            if name == api {
                (*name, *told) = (shown.to_owned(), message.to_owned());
            }
        }
    }

    pub fn add_fault(&mut self, name: &str, message: impl Into<String>) {
        self.faults.push((name.to_owned(), message.into()));
    }

    /// Says what is wrong in other words: `reword` gets the field and the message.
    pub fn reword(&mut self, reword: impl Fn(&str, &str) -> String) {
        for (field, message) in &mut self.faults {
            *message = reword(field, message);
        }
    }

    /// What the API found wrong: beside the fields that the form has, and above it for the rest. `fields`
    /// are the names on the form.
    pub fn refused(mut self, refused: &Refused, fields: &[&str]) -> Self {
        let mut rest = Vec::new();
        for fault in &refused.fields {
            // `location.latitude` is `latitude` here, and `events.0` is `events`.
            let mut parts = fault.field.split(['.', '[']);
            match parts.clone().rfind(|part| fields.contains(part)) {
                Some(name) => self.add_fault(name, &fault.message),
                None => rest.push(format!(
                    "{} {}",
                    parts.next().unwrap_or_default(),
                    fault.message
                )),
            }
        }
        self.problem = match (rest.is_empty(), refused.fields.is_empty()) {
            (_, true) => Some(told(refused)),
            (false, _) => Some(rest.join("; ")),
            (true, false) => None,
        };
        // What was refused had no effect, so it may keep its key, unless that stands for something else. One that is
        // still in flight must keep it: under another key it would happen twice.
        if refused.code == "IDEMPOTENCY_MISMATCH" {
            self.key = Some(hex(&ambient::random::<16>()));
        }
        self
    }

    /// The moment of a field, as the API takes it: a browser's field has no seconds and no zone.
    pub fn moment(&self, name: &str) -> Option<String> {
        let given = self.get(name).trim();
        match given.len() {
            0 => None,
            16 => Some(format!("{given}:00Z")),
            _ => Some(given.to_owned()),
        }
    }

    /// The filled fields as the API takes texts.
    pub fn texts(&self, names: &[&str]) -> Map<String, Value> {
        let mut object = Map::new();
        for name in names {
            let value = self.get(name).trim();
            if !value.is_empty() {
                object.insert((*name).to_owned(), value.into());
            }
        }
        object
    }
}

/// `25`, `25.5`, `25.50` and, as pages show money, `$1,234.50` are dollars. The script of a new task reads them by the
/// same rule.
pub fn cents(text: &str) -> Option<i64> {
    let text = text.trim();
    let text = text.strip_prefix('$').map_or(text, str::trim_start);
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole = &ungrouped(whole)?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 12 || part.len() > 2 || !digits(whole) || !digits(part) {
        return None;
    }
    let whole: i64 = whole.parse().ok()?;
    let part: i64 = format!("{part:0<2}").parse().ok()?;
    Some(whole * 100 + part)
}

/// `1,234` without its commas. A comma anywhere else is not one of ours.
fn ungrouped(whole: &str) -> Option<String> {
    if let Some((first, rest)) = whole.split_once(',') {
        let grouped = (1..=3).contains(&first.len()) && rest.split(',').all(|part| part.len() == 3);
        return grouped.then(|| whole.replace(',', ""));
    }
    Some(whole.to_owned())
}

/// A number as the API takes it.
pub fn number(text: &str) -> Option<Value> {
    let number = text.parse::<f64>().ok();
    number
        .and_then(serde_json::Number::from_f64)
        .map(Value::Number)
}

/// The message of a refusal, as a sentence, and when to try again.
pub fn told(refused: &Refused) -> String {
    let mut text = refused.message.clone();
    if let Some(first) = text.get(..1) {
        text = format!("{}{}", first.to_uppercase(), &text[1..]);
    }
    if !text.ends_with(['.', '?', '!']) {
        text.push('.');
    }
    match refused.retry_after {
        Some(seconds) if seconds > 1 => {
            format!("{text} Try again in {}.", super::words::duration(seconds))
        }
        _ => text,
    }
}

impl<S: Send + Sync> FromRequest<S> for Form {
    type Rejection = Refused;

    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let (parts, body) = request.into_parts();
        Ok(Self::parse(&read(&parts.extensions, body).await?))
    }
}

/// The bytes of a form, if it comes in time and is not too long.
pub async fn read(request: &Extensions, body: Body) -> Result<bytes::Bytes, Refused> {
    inside::read_form(request, body, MAX_BYTES, WITHIN).await
}

/// The field of this name; empty when it is missing.
pub async fn field(request: Request, name: &str) -> Result<String, &'static str> {
    let form = Form::from_request(request, &()).await;
    let form = form.map_err(|_| "The form could not be read. Please try again.")?;
    Ok(form.get(name).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_keeps_what_was_entered() {
        let form = Form::parse(b"title=A+%3Cb%3E&skill=a&skill=b&idempotency_key=abc");
        assert_eq!(form.get("title"), "A <b>");
        assert_eq!(form.get("none"), "");
        assert!(form.has("skill", "b") && !form.has("skill", "c"));
        assert_eq!(form.key(), "abc");
        assert_eq!(form.texts(&["title", "none"]).len(), 1);
    }

    #[test]
    fn dollars_are_read_to_the_cent() {
        assert_eq!(cents("25"), Some(2_500));
        assert_eq!(cents(" $25.5 "), Some(2_550));
        assert_eq!(cents("0.05"), Some(5));
        for shown in ["1,234.50", "$1,234.50", "$ 1234.5", "1234.50"] {
            assert_eq!(cents(shown), Some(123_450), "{shown}");
        }
        assert_eq!(cents("$30"), Some(3_000));
        assert_eq!(cents("1,234,567"), Some(123_456_700));
        for wrong in [
            "",
            "-5",
            "5.001",
            "1e3",
            "five",
            "5,00",
            "9999999999999",
            "$",
            "$$5",
            "12,34.50",
            "1234,567",
            ",500",
            "1,234,",
            "5.0,0",
        ] {
            assert_eq!(cents(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_wrong_is_summed_up_by_field() {
        let mut form = Form::parse(b"budget=1");
        assert!(!form.is_refused());
        form.add_fault("budget_cents", "must be at least 500");
        form.add_fault("max_task_cents", "must not be more than the day's");
        form.add_fault("max_task_cents", "must be a number");
        form.say_of("budget_cents", "budget", "must be $5.00 or more");
        assert!(form.is_refused() && form.fault("budget_cents").is_none());
        let wrong = form.wrong();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert_eq!(wrong[0], ("budget", "must be $5.00 or more"));
    }

    #[test]
    fn a_key_is_new_for_each_form_and_no_other_text_is_one() {
        assert_ne!(Form::new().key(), Form::new().key());
        assert_eq!(Form::parse(b"idempotency_key=a%0ab").key(), "");
    }
}
