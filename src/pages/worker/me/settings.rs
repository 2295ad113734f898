//! The settings of push messages as a form.

use serde_json::{Map, Value, json};

use crate::domain::events::push_settings::{MessageGroup, UTC_OFFSET_MINUTES};
use crate::pages::kit::form::Form;
use crate::pages::worker::models::PushSettings;

/// A form with the settings as they are. A box is ticked for what comes.
pub fn filled(settings: &PushSettings) -> Form {
    let comes = MessageGroup::ALL.iter().map(|group| group.as_str());
    let comes = comes.filter(|group| !settings.muted.iter().any(|muted| muted == group));
    let is_set = settings.quiet_from.is_some();
    let offset = is_set.then(|| settings.utc_offset_minutes.to_string());
    let values = [
        (
            "quiet_from",
            settings.quiet_from.clone().unwrap_or_default(),
        ),
        ("quiet_to", settings.quiet_to.clone().unwrap_or_default()),
        ("utc_offset_minutes", offset.unwrap_or_default()),
    ];
    Form::with(
        values
            .into_iter()
            .chain(comes.map(|group| ("groups", group.to_owned()))),
    )
}

/// The offsets to choose from, with their names: `UTC−05:00`.
pub fn offsets() -> Vec<(String, String)> {
    let all = (UTC_OFFSET_MINUTES.min..=UTC_OFFSET_MINUTES.max).step_by(15);
    // Whole and half hours, and the few places at a quarter.
    let all = all.filter(|minutes| minutes % 30 == 0 || [345, 525, 765].contains(minutes));
    let named = |minutes: i64| {
        let sign = if minutes < 0 { '−' } else { '+' };
        let size = minutes.abs();
        (
            minutes.to_string(),
            format!("UTC{sign}{:02}:{:02}", size / 60, size % 60),
        )
    };
    all.map(named).collect()
}

/// The form as the API takes it.
pub fn body(form: &Form) -> Map<String, Value> {
    let mut body = form.texts(&["quiet_from", "quiet_to"]);
    let groups = MessageGroup::ALL.iter().map(|group| group.as_str());
    let muted: Vec<_> = groups.filter(|group| !form.has("groups", group)).collect();
    body.insert("muted".to_owned(), json!(muted));
    let offset = form.get("utc_offset_minutes").trim();
    if !offset.is_empty() {
        let number = offset.parse::<i64>().map(Value::from);
        let value = number.unwrap_or_else(|_| offset.into());
        body.insert("utc_offset_minutes".to_owned(), value);
    }
    body
}
