//! What a page of the reference tells, read from the description of the API.

use serde_json::Value;

use super::example;
use super::schema::{Field, alternatives, field, fields, resolved};
use super::text::{Paragraphs, paragraphs};

/// Operations that belong together.
pub struct Group {
    pub slug: String,
    pub name: String,
    pub about: String,
    pub operations: Vec<Operation>,
}

pub struct Operation {
    pub id: String,
    pub method: String,
    pub path: String,
    pub summary: String,
    pub about: Paragraphs,
    /// Who may call it.
    pub caller: &'static str,
    /// What a limited key needs for it.
    pub permission: Option<String>,
    pub parameters: Vec<Parameter>,
    pub bodies: Vec<Body>,
    pub request: String,
    pub answers: Vec<Answer>,
    pub errors: Vec<Failure>,
}

pub struct Parameter {
    pub place: String,
    pub field: Field,
}

/// A body that it takes.
pub struct Body {
    pub media: String,
    pub about: Paragraphs,
    pub fields: Vec<Field>,
}

/// What it answers when all is well.
pub struct Answer {
    pub status: String,
    pub about: Paragraphs,
    pub media: String,
    pub fields: Vec<Field>,
    pub example: String,
}

pub struct Failure {
    pub status: String,
    pub about: Paragraphs,
}

pub fn introduction(description: &Value) -> Paragraphs {
    paragraphs(text(&description["info"]["description"]))
}

pub fn groups(description: &Value) -> Vec<Group> {
    let tags = description["tags"].as_array().into_iter().flatten();
    let groups = tags.map(|tag| {
        let name = text(&tag["name"]);
        Group {
            slug: name.to_lowercase().replace(' ', "-"),
            name: name.to_owned(),
            about: text(&tag["description"]).to_owned(),
            operations: operations(description, name),
        }
    });
    groups.collect()
}

fn operations(description: &Value, tag: &str) -> Vec<Operation> {
    let paths = description["paths"].as_object().into_iter().flatten();
    let all = paths.flat_map(|(path, methods)| {
        let methods = methods.as_object().into_iter().flatten();
        methods.map(move |(method, described)| (path, method, described))
    });
    let tagged = all.filter(|(_, _, described)| described["tags"][0] == tag);
    tagged
        .map(|(path, method, described)| operation(description, (method, path), described))
        .collect()
}

fn operation(description: &Value, (method, path): (&str, &str), described: &Value) -> Operation {
    let caller = caller(&described["security"]);
    let responses = described["responses"].as_object().into_iter().flatten();
    let (good, bad): (Vec<_>, Vec<_>) = responses
        .map(|(status, response)| (status, resolved(description, response)))
        .partition(|(status, _)| status.as_str() < "400");
    Operation {
        id: text(&described["operationId"]).to_owned(),
        method: method.to_uppercase(),
        path: path.to_owned(),
        summary: text(&described["summary"]).to_owned(),
        about: paragraphs(text(&described["description"])),
        caller: caller.0,
        permission: described["x-permission"].as_str().map(str::to_owned),
        parameters: parameters(description, &described["parameters"]),
        bodies: bodies(description, &described["requestBody"]),
        request: request(description, (method, path), described),
        answers: good
            .into_iter()
            .map(|(status, response)| answer(description, status, response))
            .collect(),
        errors: bad
            .into_iter()
            .map(|(status, response)| Failure {
                status: status.clone(),
                about: paragraphs(text(&response["description"])),
            })
            .collect(),
    }
}

/// Who may call an operation, and the variable that holds their secret in examples.
fn caller(security: &Value) -> (&'static str, Option<&'static str>) {
    let needs = |scheme: &str| !security[0][scheme].is_null();
    if needs("developer_key") {
        ("an API key", Some("LEGWORK_API_KEY"))
    } else if needs("worker_token") {
        ("a worker's token", Some("LEGWORK_WORKER_TOKEN"))
    } else if needs("admin_key") {
        ("an admin key", Some("LEGWORK_ADMIN_KEY"))
    } else {
        ("nothing", None)
    }
}

fn parameters(description: &Value, all: &Value) -> Vec<Parameter> {
    let all = all.as_array().into_iter().flatten();
    let all = all.map(|parameter| {
        let parameter = resolved(description, parameter);
        let name = text(&parameter["name"]).to_owned();
        let is_required = parameter["required"] == true;
        let mut field = field(description, name, &parameter["schema"], is_required);
        if let Some(about) = parameter["description"].as_str() {
            field.about = paragraphs(about);
        }
        Parameter {
            place: text(&parameter["in"]).to_owned(),
            field,
        }
    });
    all.collect()
}

fn bodies(description: &Value, body: &Value) -> Vec<Body> {
    let contents = body["content"].as_object().into_iter().flatten();
    let bodies = contents.flat_map(|(media, content)| {
        let all = alternatives(description, &content["schema"]).into_iter();
        all.map(|schema| Body {
            media: media.clone(),
            about: paragraphs(text(&schema["description"])),
            fields: fields(description, schema),
        })
    });
    bodies.collect()
}

fn answer(description: &Value, status: &str, response: &Value) -> Answer {
    let content = response["content"].as_object();
    let content = content.and_then(|all| all.iter().next());
    let (media, example, schema) = match content {
        Some((media, content)) if media == "application/json" => {
            let example = example::of_media(description, content);
            (media.as_str(), pretty(&example), &content["schema"])
        }
        Some((media, _)) => (media.as_str(), String::new(), &Value::Null),
        None => ("", String::new(), &Value::Null),
    };
    Answer {
        status: status.to_owned(),
        about: paragraphs(text(&response["description"])),
        media: media.to_owned(),
        fields: fields(description, schema),
        example,
    }
}

/// A command that calls it.
fn request(description: &Value, (method, path): (&str, &str), described: &Value) -> String {
    let mut lines = vec![match method {
        "get" => format!("curl \"$LEGWORK_URL{path}\""),
        _ => format!("curl -X {} \"$LEGWORK_URL{path}\"", method.to_uppercase()),
    }];
    if let (_, Some(secret)) = caller(&described["security"]) {
        lines.push(format!("-H \"Authorization: Bearer ${secret}\""));
    }
    let contents = described["requestBody"]["content"].as_object();
    if let Some((media, content)) = contents.and_then(|all| all.iter().next()) {
        match media.as_str() {
            "application/json" => {
                let body = pretty(&example::of_media(description, content));
                lines.push("-H \"Content-Type: application/json\"".to_owned());
                lines.push(format!("-d '{}'", body.replace('\'', "'\\''")));
            }
            "multipart/form-data" => {
                for field in fields(description, &content["schema"]) {
                    if field.required || field.kind == "file" {
                        let file = if field.kind == "file" { "@" } else { "" };
                        lines.push(format!("-F \"{}={file}…\"", field.name));
                    }
                }
            }
            _ => {
                lines.push(format!("-H \"Content-Type: {media}\""));
                lines.push("--data-binary @file".to_owned());
            }
        }
    }
    lines.join(" \\\n  ")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
