//! What a request or an answer may look like, made of examples in the description.

use serde_json::{Map, Value, json};

use super::schema::{alternatives, resolved};

/// How deep an example goes.
const DEEPEST: usize = 8;

pub fn of_media(description: &Value, media: &Value) -> Value {
    match &media["example"] {
        Value::Null => of_schema(description, &media["schema"], DEEPEST),
        example => example.clone(),
    }
}

fn of_schema(description: &Value, schema: &Value, deep: usize) -> Value {
    let whole = resolved(description, schema);
    if let Some(given) = given(schema).or_else(|| given(whole)) {
        return given.clone();
    }
    let Some(schema) = alternatives(description, whole).into_iter().next() else {
        return Value::Null;
    };
    if deep == 0 {
        return Value::Null;
    }
    if let Some(given) = given(schema) {
        return given.clone();
    }
    if !schema["properties"].is_null() || !schema["allOf"].is_null() {
        let mut object = Map::new();
        add_properties(description, schema, deep, &mut object);
        return Value::Object(object);
    }
    let kind = schema["type"].as_array().and_then(|all| all.first());
    match kind.unwrap_or(&schema["type"]).as_str() {
        Some("array") => json!([of_schema(description, &schema["items"], deep - 1)]),
        Some("integer" | "number") => match &schema["minimum"] {
            Value::Null => json!(1),
            least => least.clone(),
        },
        Some("boolean") => json!(true),
        Some("string") => json!(text(schema)),
        _ => json!({}),
    }
}

fn given(schema: &Value) -> Option<&Value> {
    let several = schema["examples"].as_array().and_then(|all| all.first());
    let one = Some(&schema["example"]).filter(|one| !one.is_null());
    let values = schema["enum"].as_array().and_then(|all| all.first());
    several.or(one).or(values)
}

fn add_properties(
    description: &Value,
    schema: &Value,
    deep: usize,
    object: &mut Map<String, Value>,
) {
    for part in schema["allOf"].as_array().into_iter().flatten() {
        add_properties(description, resolved(description, part), deep, object);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let value = of_schema(description, property, deep - 1);
        object.insert(name.clone(), value);
    }
}

fn text(schema: &Value) -> &str {
    match schema["format"].as_str() {
        Some("date-time") => "2026-11-20T18:00:00Z",
        Some("date") => "2026-11-20",
        Some("uri") => "https://example.com",
        _ if schema["pattern"] == "^[0-9a-f]{32}$" => "019a8574c1f07c2e9d1b3a5f60718293",
        _ => "text",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_are_given_come_first() {
        let description = json!({"components": {"schemas": {
            "Id": {"type": "string", "pattern": "^[0-9a-f]{32}$"},
            "Node": {"type": "object", "properties": {
                "id": {"$ref": "#/components/schemas/Id"},
                "name": {"type": "string", "example": "Ada"},
                "next": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/Node"}]},
            }},
        }}});
        let media = json!({"schema": {"$ref": "#/components/schemas/Node"}});
        let example = of_media(&description, &media);
        assert_eq!(example["id"], "019a8574c1f07c2e9d1b3a5f60718293");
        assert_eq!(example["next"]["name"], "Ada");
        let media = json!({"example": {"a": 1}, "schema": {"type": "object"}});
        assert_eq!(of_media(&description, &media), json!({"a": 1}));
    }
}
