//! What is printed: tables for people, JSON for programs, progress on standard error.

use std::io::IsTerminal;

use clap::ArgMatches;
use serde::Serialize;
use serde_json::Value;

use super::failure::Failed;
use crate::cli::{print_line, tell};

/// Whether to print JSON: when asked to, and when nobody looks.
pub fn wants_json(arguments: &ArgMatches) -> bool {
    arguments.get_flag("json") || !std::io::stdout().is_terminal()
}

/// A step that takes a while. It says so on a terminal only.
pub fn progress(text: &str) {
    if std::io::stderr().is_terminal() {
        tell(text);
    }
}

pub fn money(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    format!("{sign}${}.{:02}", cents.abs() / 100, cents.abs() % 100)
}

pub fn print_json(object: &impl Serialize) -> Result<(), Failed> {
    let text =
        serde_json::to_string_pretty(object).map_err(|error| Failed::Refused(error.to_string()))?;
    print_line(text);
    Ok(())
}

/// An object: JSON, or a line for each field.
pub fn print_object(arguments: &ArgMatches, object: &impl Serialize) -> Result<(), Failed> {
    if wants_json(arguments) {
        return print_json(object);
    }
    let lines = lines(&serde_json::to_value(object).unwrap_or_default());
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, shown) in lines {
        print_line(format!("{name:width$}  {shown}"));
    }
    Ok(())
}

/// The fields of an object that have something to show, those of objects in it after a dot.
fn lines(object: &Value) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        let mut add = |name: &str, object: &Value| {
            let inner = lines(object).into_iter();
            all.extend(inner.map(|(field, shown)| (format!("{name}.{field}"), shown)));
        };
        match value {
            Value::Object(_) => add(name, value),
            Value::Array(objects) if objects.iter().any(Value::is_object) => {
                for (index, object) in objects.iter().enumerate() {
                    add(&format!("{name}.{}", index + 1), object);
                }
            }
            value => {
                let name_of_money = name.trim_end_matches("_cents").to_owned();
                all.push((name_of_money, shown(name, value)));
            }
        }
    }
    all.retain(|(_, shown)| !shown.is_empty());
    all
}

/// A list: JSON, or a table of some columns. A dot leads into an object.
pub fn print_list(
    arguments: &ArgMatches,
    objects: &[impl Serialize],
    columns: &[&str],
) -> Result<(), Failed> {
    if wants_json(arguments) {
        return print_json(&objects);
    }
    if objects.is_empty() {
        tell("There are none.");
        return Ok(());
    }
    let rows = objects.iter().map(|object| row(object, columns));
    table(columns, &rows.collect::<Vec<_>>(), terminal_width());
    Ok(())
}

fn row(object: &impl Serialize, columns: &[&str]) -> Vec<String> {
    let value = serde_json::to_value(object).unwrap_or_default();
    let field = |column: &&str| {
        let found = column.split('.').fold(&value, |value, part| &value[part]);
        shown(column, found)
    };
    columns.iter().map(field).collect()
}

/// Money is shown as money, and nothing as nothing.
fn shown(name: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Number(cents) if name.ends_with("_cents") => {
            money(cents.as_i64().unwrap_or_default())
        }
        Value::String(time) if name.ends_with("_at") => {
            let (date, rest) = time.split_once('T').unwrap_or((time, ""));
            format!("{date} {}", rest.get(..8).unwrap_or(rest))
                .trim_end()
                .to_owned()
        }
        Value::String(text) => one_line(text),
        Value::Array(values) if values.iter().all(|value| !value.is_object()) => {
            let values: Vec<_> = values.iter().map(|value| shown("", value)).collect();
            values.join(", ")
        }
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    }
}

/// What others wrote cannot move the cursor or change colours.
pub fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// A text in so many columns: what does not fit is left out of its middle.
pub fn fitted(text: &str, width: usize) -> String {
    let (length, kept) = (text.chars().count(), width.max(9) - 1);
    if length <= width.max(9) {
        return text.to_owned();
    }
    let first = text.chars().take(kept.div_ceil(2));
    let last = text.chars().skip(length - kept / 2);
    first.chain(['…']).chain(last).collect()
}

pub fn terminal_width() -> usize {
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.parse().ok());
    told.filter(|width| *width >= 40).unwrap_or(80)
}

/// The last column takes what is left of the line.
fn table(columns: &[&str], rows: &[Vec<String>], width: usize) {
    let heading = |column: &&str| {
        let name = column.rsplit('.').next().unwrap_or(column);
        name.trim_end_matches("_cents")
            .trim_end_matches("_at")
            .replace('_', " ")
            .to_uppercase()
    };
    let headings: Vec<_> = columns.iter().map(heading).collect();
    let length = |text: &String| text.chars().count();
    let widths: Vec<usize> = (0..columns.len())
        .map(|index| {
            rows.iter()
                .chain([&headings])
                .map(|row| length(&row[index]))
                .max()
                .unwrap_or(0)
        })
        .collect();
    for row in [&headings].into_iter().chain(rows) {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let left = width.saturating_sub(line.chars().count()).max(8);
            let cell = match index + 1 == row.len() && length(cell) > left {
                true => cell.chars().take(left - 1).chain(['…']).collect(),
                false => cell.clone(),
            };
            line.push_str(&format!("{cell:<width$}  ", width = widths[index]));
        }
        print_line(line.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_in_objects_are_shown_for_people() {
        let quote = json!({"budget_cents": 2500, "mandate": {"verdict": "allowed", "reasons": [], "left": null},
            "coverage": {"workers": "1-5", "hours_to_accept": {"p50": 1.5}, "suggested_budget_cents": 3000},
            "spending_limits": [{"interval": "day", "cents": 9}]});
        let expected = [
            ("budget", "$25.00"),
            ("mandate.verdict", "allowed"),
            ("coverage.workers", "1-5"),
            ("coverage.hours_to_accept.p50", "1.5"),
            ("coverage.suggested_budget", "$30.00"),
            ("spending_limits.1.interval", "day"),
            ("spending_limits.1.cents", "9"),
        ];
        let expected = expected.map(|(name, shown)| (name.to_owned(), shown.to_owned()));
        assert_eq!(lines(&quote), expected);
    }

    #[test]
    fn values_are_shown_for_people() {
        for (name, value, expected) in [
            ("budget_cents", json!(2505), "$25.05"),
            ("left_cents", json!(-5), "-$0.05"),
            (
                "created_at",
                json!("2026-11-15T09:30:00.123Z"),
                "2026-11-15 09:30:00",
            ),
            ("title", json!("two\nlines\u{1b}[31m"), "two lines [31m"),
            ("proof_types", json!(["photo", "video"]), "photo, video"),
            ("metadata", json!({}), ""),
            ("worker_id", json!(null), ""),
        ] {
            assert_eq!(shown(name, &value), expected, "{name}");
        }
    }
}
