//! The fields of an object that the description describes.

use serde_json::Value;

use super::text::{Paragraphs, paragraphs};

/// How deep the fields of fields are told. What is deeper is seen in the example.
const DEEPEST: usize = 3;

/// One field, or one parameter.
pub struct Field {
    /// With the names of the objects that it is in.
    pub name: String,
    /// What it may hold.
    pub kind: String,
    pub required: bool,
    pub about: Paragraphs,
    /// All that it may be.
    pub values: Vec<String>,
}

/// What a reference names, or the value itself.
pub fn resolved<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    let target = value["$ref"].as_str();
    let found = target.and_then(|path| description.pointer(path.trim_start_matches('#')));
    match found {
        Some(found) => resolved(description, found),
        None => value,
    }
}

/// The alternatives of a body, or the one that it is.
pub fn alternatives<'a>(description: &'a Value, schema: &'a Value) -> Vec<&'a Value> {
    let schema = resolved(description, schema);
    match schema["oneOf"].as_array() {
        Some(all) => {
            let all = all.iter().map(|one| resolved(description, one));
            all.filter(|one| one["type"] != "null").collect()
        }
        None => vec![schema],
    }
}

pub fn fields(description: &Value, schema: &Value) -> Vec<Field> {
    let mut fields = Vec::new();
    add_fields(description, schema, "", &mut fields);
    fields
}

fn add_fields(description: &Value, schema: &Value, within: &str, fields: &mut Vec<Field>) {
    let schema = resolved(description, schema);
    for part in schema["allOf"].as_array().into_iter().flatten() {
        add_fields(description, part, within, fields);
    }
    let required = schema["required"].as_array();
    let properties = schema["properties"].as_object();
    for (name, property) in properties.into_iter().flatten() {
        let full = format!("{within}{name}");
        let is_required = required.is_some_and(|all| all.iter().any(|one| one == name));
        fields.push(field(description, full.clone(), property, is_required));
        if within.matches('.').count() + 1 < DEEPEST {
            let (inner, mark) = inside(description, property);
            add_fields(description, inner, &format!("{full}{mark}."), fields);
        }
    }
}

/// The object that a property holds, or a list of it.
fn inside<'a>(description: &'a Value, property: &'a Value) -> (&'a Value, &'static str) {
    let schema = only(description, property);
    match is(schema, "array") {
        true => (only(description, &schema["items"]), "[]"),
        false => (schema, ""),
    }
}

/// The schema itself if it is one of several, of which the others are null.
fn only<'a>(description: &'a Value, schema: &'a Value) -> &'a Value {
    match alternatives(description, schema).as_slice() {
        [one] => one,
        _ => resolved(description, schema),
    }
}

pub fn field(description: &Value, name: String, property: &Value, required: bool) -> Field {
    let schema = only(description, property);
    let holder = match is(schema, "array") {
        true => only(description, &schema["items"]),
        false => schema,
    };
    let about = property["description"].as_str();
    let about = about.or_else(|| schema["description"].as_str());
    let values = holder["enum"].as_array().into_iter().flatten();
    Field {
        name,
        kind: kind(description, property),
        required,
        about: paragraphs(about.unwrap_or_default()),
        values: values
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    }
}

fn is(schema: &Value, kind: &str) -> bool {
    kinds(schema).any(|one| one == kind)
}

fn kinds(schema: &Value) -> impl Iterator<Item = &str> {
    let one = schema["type"].as_str();
    let several = schema["type"].as_array().into_iter().flatten();
    one.into_iter().chain(several.filter_map(Value::as_str))
}

/// In words: `list of strings, or null`, `integer, 1 to 100`.
fn kind(description: &Value, property: &Value) -> String {
    let resolved_property = resolved(description, property);
    let schema = only(description, property);
    let mut words = match is(schema, "array") {
        true => format!("list of {}s", word(only(description, &schema["items"]))),
        false => word(schema).to_owned(),
    };
    if let Some(bounds) = bounds(schema) {
        words.push_str(&format!(", {bounds}"));
    }
    let nullable = alternatives_have_null(resolved_property) || is(schema, "null");
    if nullable {
        words.push_str(", or null");
    }
    words
}

fn alternatives_have_null(schema: &Value) -> bool {
    let all = schema["oneOf"].as_array().into_iter().flatten();
    all.into_iter().any(|one| one["type"] == "null")
}

fn word(schema: &Value) -> &str {
    match schema["format"].as_str() {
        Some("date-time") => "time",
        Some("date") => "date",
        Some("uri") => "URL",
        Some("binary") => "file",
        _ => kinds(schema)
            .find(|kind| *kind != "null")
            .unwrap_or("object"),
    }
}

fn bounds(schema: &Value) -> Option<String> {
    let (least, most) = (&schema["minimum"], &schema["maximum"]);
    let (shortest, longest) = (&schema["minLength"], &schema["maxLength"]);
    match (least.is_null(), most.is_null()) {
        (false, false) => Some(format!("{least} to {most}")),
        (false, true) => Some(format!("at least {least}")),
        (true, false) => Some(format!("at most {most}")),
        _ if longest.is_null() => None,
        _ if shortest == longest => Some(format!("{longest} characters")),
        _ => Some(format!("up to {longest} characters")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_are_told_in_words() {
        let description = json!({"components": {"schemas": {
            "Kind": {"type": "string", "enum": ["a", "b"]},
            "Inner": {"type": "object", "required": ["x"], "properties": {
                "x": {"type": "number", "minimum": -1, "maximum": 1},
            }},
        }}});
        let schema = json!({"type": "object", "required": ["kind"], "properties": {
            "kind": {"$ref": "#/components/schemas/Kind"},
            "kinds": {"type": ["array", "null"], "items": {"$ref": "#/components/schemas/Kind"}},
            "inner": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Inner"}]},
            "name": {"type": "string", "minLength": 1, "maxLength": 9, "description": "A `name`."},
        }});
        let fields = fields(&description, &schema);
        let told: Vec<_> = fields
            .iter()
            .map(|field| (field.name.as_str(), field.kind.as_str(), field.required))
            .collect();
        let expected = [
            ("kind", "string", true),
            ("kinds", "list of strings, or null", false),
            ("inner", "object, or null", false),
            ("inner.x", "number, -1 to 1", true),
            ("name", "string, up to 9 characters", false),
        ];
        assert_eq!(told, expected);
        assert_eq!(fields[0].values, ["a", "b"]);
        assert_eq!(fields[1].values, ["a", "b"]);
        assert_eq!(fields[4].about.len(), 1);
    }

    #[test]
    fn what_holds_itself_ends() {
        let description = json!({"components": {"schemas": {
            "Node": {"type": "object", "properties": {
                "child": {"$ref": "#/components/schemas/Node"},
            }},
        }}});
        let node = json!({"$ref": "#/components/schemas/Node"});
        let names: Vec<_> = fields(&description, &node)
            .into_iter()
            .map(|field| field.name)
            .collect();
        assert_eq!(names, ["child", "child.child", "child.child.child"]);
    }
}
