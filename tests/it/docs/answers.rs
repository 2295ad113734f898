//! What a document shows, held against what was really answered.

use serde_json::Value;

/// All JSON objects and arrays in an output, in order.
pub fn json_values(output: &str) -> Vec<Value> {
    let mut values = Vec::new();
    let mut rest = output;
    while let Some(start) = rest.find(['{', '[']) {
        rest = &rest[start..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                values.push(value);
                rest = &rest[stream.byte_offset()..];
            }
            _ => rest = &rest[1..],
        }
    }
    values
}

/// The JSON of a block. `...` outside of strings stands for what is left out.
pub fn shown_json(text: &str) -> Value {
    let mut json = String::new();
    let mut in_string = false;
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if in_string => {
                json.push(character);
                json.extend(characters.next());
                continue;
            }
            '"' => in_string = !in_string,
            '.' if !in_string && characters.peek() == Some(&'.') => {
                while characters.next_if_eq(&'.').is_some() {}
                let kept = json.trim_end().trim_end_matches(',').len();
                json.truncate(kept);
                continue;
            }
            _ => {}
        }
        json.push(character);
    }
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error} in\n{json}"))
}

/// Fields whose value is another one each time, or is for people and may change.
const VARYING: [&str; 3] = ["message", "duration_ms", "file_size_bytes"];

/// Where the answer is not what is shown. What is not shown does not matter.
pub fn differences(shown: &Value, real: &Value, path: &str) -> Vec<String> {
    let differs = || vec![format!("{path}: shown {shown}, answered {real}")];
    match (shown, real) {
        (Value::Object(fields), Value::Object(given)) => fields
            .iter()
            .flat_map(|(name, shown)| match given.get(name) {
                Some(real) => differences(shown, real, &format!("{path}.{name}")),
                None => vec![format!("{path}.{name} is shown, but not answered")],
            })
            .collect(),
        (Value::Array(items), Value::Array(given)) if items.len() <= given.len() => items
            .iter()
            .zip(given)
            .enumerate()
            .flat_map(|(n, (shown, real))| differences(shown, real, &format!("{path}[{n}]")))
            .collect(),
        (Value::String(text), Value::String(given)) => {
            let varies = text.contains("...") || is_varying(path);
            if varies || normalised(text) == normalised(given) {
                Vec::new()
            } else {
                differs()
            }
        }
        (Value::Number(_), Value::Number(_)) if is_varying(path) => Vec::new(),
        _ if shown == real => Vec::new(),
        _ => differs(),
    }
}

fn is_varying(path: &str) -> bool {
    let name = path.rsplit('.').next().unwrap_or_default();
    VARYING.contains(&name)
}

/// A value with ids and moments made alike.
fn normalised(text: &str) -> String {
    let bytes = text.as_bytes();
    if bytes.len() == 24 && bytes[10] == b'T' && bytes[23] == b'Z' {
        return "<time>".to_owned();
    }
    without_runs(text, 8, |c| c.is_ascii_hexdigit())
}

/// Shown lines that are not in the output, in this order. `...` stands for any lines, or for the rest
/// of a line; numbers and ids may be others.
pub fn missing_lines(shown: &str, output: &str) -> Vec<String> {
    let alike = |line: &str| {
        let line = without_runs(line, 8, |c| c.is_ascii_hexdigit());
        let line = without_runs(&line, 1, |c| c.is_ascii_digit());
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let mut real = output.lines().map(alike);
    let mut missing = Vec::new();
    for line in shown.lines().filter(|line| line.trim() != "...") {
        let wanted = alike(line);
        let found = match wanted.strip_suffix("...") {
            Some(start) => real.any(|line| line.starts_with(start)),
            None => real.any(|line| line == wanted),
        };
        if !found {
            missing.push(line.to_owned());
            break;
        }
    }
    missing
}

/// The text with every run of at least so many of these characters replaced by `#`.
fn without_runs(text: &str, at_least: usize, belongs: impl Fn(char) -> bool) -> String {
    let mut result = String::new();
    let mut run = String::new();
    for character in text.chars().chain(['\n']) {
        if belongs(character) {
            run.push(character);
            continue;
        }
        if run.len() >= at_least {
            result.push('#');
        } else {
            result.push_str(&run);
        }
        run.clear();
        result.push(character);
    }
    result.pop();
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_left_out_does_not_matter() {
        let shown = shown_json(r#"{"id": "01a1...", "list": [1, ...], "b": {...}, ...}"#);
        assert_eq!(shown, json!({"id": "01a1...", "list": [1], "b": {}}));
        let real = json!({"id": "x", "list": [1, 2], "b": {"c": 1}, "d": null});
        assert_eq!(differences(&shown, &real, ""), Vec::<String>::new());
    }

    #[test]
    fn a_missing_field_another_value_and_another_type_are_differences() {
        let real = json!({"status": "funded", "worker_id": null, "list": []});
        for shown in [
            json!({"state": "funded"}),
            json!({"status": "posted"}),
            json!({"worker_id": "01a1"}),
            json!({"status": null}),
            json!({"list": [1]}),
        ] {
            assert_eq!(differences(&shown, &real, "").len(), 1, "{shown}");
        }
    }

    #[test]
    fn lines_are_found_in_their_order() {
        let output = "3 tasks\n  live  escrow  2500\nAll is right.\n";
        assert!(missing_lines("1 tasks\n...\nAll is right.\n", output).is_empty());
        assert_eq!(missing_lines("All is right.\n9 tasks\n", output).len(), 1);
        assert_eq!(missing_lines("All is wrong.\n", output).len(), 1);
    }
}
