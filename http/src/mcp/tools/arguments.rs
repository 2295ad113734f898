//! Arguments against the schema that agents read: what is allowed is written there and nowhere else.

use rmcp::model::JsonObject;
use serde_json::Value;

/// What is wrong, all at once; none if the call can be made. Patterns are not looked at: an id of another form is the id of
/// nothing, and the API says so.
pub fn fault(tool: &str, schema: &Value, given: &JsonObject) -> Option<String> {
    let known = |name: &String| schema["properties"].get(name).is_some();
    let mut faults: Vec<String> = given
        .keys()
        .filter(|name| !known(name))
        .map(|name| format!("{name} is not an argument of {tool}"))
        .collect();
    look_at_fields("", schema, given, &mut faults);
    (!faults.is_empty()).then(|| faults.join("; "))
}

/// What is null counts as not given.
fn look_at_fields(of: &str, schema: &Value, given: &JsonObject, faults: &mut Vec<String>) {
    let required = schema["required"].as_array().into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if given.get(name).is_none_or(Value::is_null) {
            faults.push(format!("{of}{name} is required"));
        }
    }
    let fields = schema["properties"].as_object().into_iter().flatten();
    for (name, schema) in fields {
        if let Some(value) = given.get(name).filter(|value| !value.is_null()) {
            look_at(&format!("{of}{name}"), schema, value, faults);
        }
    }
}

fn look_at(name: &str, schema: &Value, value: &Value, faults: &mut Vec<String>) {
    if !fits(schema, value) {
        faults.push(format!("{name} must be {}", allowed(schema)));
    } else if let Some(fields) = value.as_object() {
        look_at_fields(&format!("{name}."), schema, fields, faults);
    } else if let (Some(values), Some(each)) = (value.as_array(), schema.get("items")) {
        for (place, value) in values.iter().enumerate() {
            look_at(&format!("{name}[{place}]"), each, value, faults);
        }
    }
}

/// Whether the value itself is allowed, whatever it holds.
fn fits(schema: &Value, value: &Value) -> bool {
    let is_of_type = match schema["type"].as_str() {
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("number") => value.is_number(),
        // 50.0 is a whole number too.
        Some("integer") => value.as_f64().is_some_and(|number| number.fract() == 0.0),
        _ => true,
    };
    let is_named = schema["enum"]
        .as_array()
        .is_none_or(|words| words.contains(value));
    let (least, most) = bounds(schema);
    let is_within = value.as_f64().is_none_or(|number| {
        least.is_none_or(|least| number >= least) && most.is_none_or(|most| number <= most)
    });
    is_of_type && is_named && is_within
}

fn bounds(schema: &Value) -> (Option<f64>, Option<f64>) {
    (schema["minimum"].as_f64(), schema["maximum"].as_f64())
}

/// In words.
fn allowed(schema: &Value) -> String {
    if let Some(words) = schema["enum"].as_array() {
        let words: Vec<_> = words.iter().filter_map(Value::as_str).collect();
        return format!("one of {}", words.join(", "));
    }
    let kind = match schema["type"].as_str().unwrap_or_default() {
        "string" => "a text",
        "boolean" => "true or false",
        "array" => return list(&schema["items"]),
        "object" => "an object",
        "integer" => "a whole number",
        _ => "a number",
    };
    match bounds(schema) {
        (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        (Some(least), None) => format!("{kind} of at least {least}"),
        (None, Some(most)) => format!("{kind} of at most {most}"),
        (None, None) => kind.to_owned(),
    }
}

fn list(each: &Value) -> String {
    match each.get("enum") {
        Some(_) => format!("a list, each {}", allowed(each)),
        None => "a list".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::tools::TOOLS;

    fn told(tool: &str, given: Value) -> Option<String> {
        let tool = TOOLS.iter().find(|known| known.name == tool).unwrap();
        tool.fault(given.as_object().unwrap())
    }

    #[test]
    fn what_the_schema_allows_is_taken() {
        for given in [
            json!({"task_id": "0"}),
            json!({"task_id": "0", "until": ["funded", "completed"], "timeout_s": 0}),
            json!({"task_id": "0", "until": [], "timeout_s": 50.0}),
            json!({"task_id": "0", "until": null, "timeout_s": null}),
        ] {
            assert_eq!(told("wait_for_task", given), None);
        }
    }

    #[test]
    fn everything_else_is_named_with_what_is_allowed() {
        let task = json!({"title": "Look", "description": "At it", "category": "nothing",
            "location": {"city": 7, "state": "NY", "latitude": 40.7}, "budget_cents": 499.5});
        let told = told("quote_task", task).unwrap();
        for part in [
            "category must be one of photography, ",
            "location.longitude is required",
            "location.city must be a text",
            "budget_cents must be a whole number of at least 500",
        ] {
            assert!(told.contains(part), "{told}");
        }
    }
}
