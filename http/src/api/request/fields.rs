//! Request bodies: each is declared once, as the function that reads its fields.
//!
//! The same function reads a body and describes it. To read, [`Fields`] holds the body and collects
//! every field error, not just the first. To describe, it holds a schema and notes what the function
//! asks for. So the description cannot disagree with what is accepted.

mod objects;
mod values;

use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa::openapi::{Object, RefOr, Schema};

use crate::api::error::ApiError;
use crate::api::request::json::{self, join};
use crate::api::request::schema::{self, Narrowed};
use crate::domain::FieldErrors;
use crate::domain::rules::TextRule;

/// A request body, or the text parts of a form.
pub trait RequestBody: Sized {
    /// Reads all fields first and only then leaves with `?`, so that all errors are found.
    fn read(fields: &mut Fields<'_>) -> Option<Self>;

    /// Where fields depend on each other: the combinations that are accepted, each as a narrower
    /// description.
    fn alternatives() -> Vec<Alternative> {
        Vec::new()
    }
}

pub type Alternative = fn(Narrowed) -> Narrowed;

/// For requests that take no body: nothing, or an object without fields.
pub struct NoFields;

impl RequestBody for NoFields {
    fn read(_: &mut Fields<'_>) -> Option<Self> {
        Some(Self)
    }
}

/// Reads a body; refuses fields that it does not ask for.
pub fn read<B: RequestBody>(object: &Map<String, Value>) -> Result<B, ApiError> {
    finish(Fields::new(Source::Body(object)))
}

/// Reads the text parts of a form, in which numbers are text.
pub fn read_form<B: RequestBody>(texts: &Map<String, Value>) -> Result<B, ApiError> {
    finish(Fields::new(Source::Form(texts)))
}

fn finish<B: RequestBody>(mut fields: Fields<'_>) -> Result<B, ApiError> {
    let body = B::read(&mut fields);
    fields.refuse_unknown();
    if !fields.errors.is_empty() {
        return Err(ApiError::Validation(fields.errors));
    }
    body.ok_or_else(|| ApiError::invalid(json::BODY, "is incomplete"))
}

/// A schema, and the schemas that it refers to.
pub struct Description {
    pub object: Object,
    pub referenced: Vec<(String, RefOr<Schema>)>,
}

impl Default for Description {
    fn default() -> Self {
        Self {
            object: schema::closed_object(),
            referenced: Vec::new(),
        }
    }
}

/// What a body asks for.
pub fn describe<B: RequestBody>() -> Description {
    let mut description = Description::default();
    B::read(&mut Fields::new(Source::Description(&mut description)));
    description
}

enum Source<'a> {
    Body(&'a Map<String, Value>),
    Form(&'a Map<String, Value>),
    Description(&'a mut Description),
}

/// Whether a field must be there, and what null means.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    /// It may be left out; null is the same.
    Optional,
    /// It may be left out, but not null.
    OptionalNotNull,
}

pub struct Fields<'a> {
    path: String,
    source: Source<'a>,
    known: Vec<&'static str>,
    errors: FieldErrors,
    doc: Option<&'static str>,
    why_unknown: &'static str,
}

impl<'a> Fields<'a> {
    fn new(source: Source<'a>) -> Self {
        Self {
            path: String::new(),
            source,
            known: Vec::new(),
            errors: FieldErrors::default(),
            doc: None,
            why_unknown: "is not a known field",
        }
    }

    /// Describes the field that is asked for next.
    pub fn doc(&mut self, text: &'static str) -> &mut Self {
        self.doc = Some(text);
        self
    }

    pub fn text<T>(&mut self, name: &'static str, rule: &TextRule<T>) -> Option<T> {
        self.text_field(name, rule, Presence::Required)
    }

    pub fn optional_text<T>(&mut self, name: &'static str, rule: &TextRule<T>) -> Option<T> {
        self.text_field(name, rule, Presence::Optional)
    }

    /// Text that may be left out, but not null.
    pub fn text_if_given<T>(&mut self, name: &'static str, rule: &TextRule<T>) -> Option<T> {
        self.text_field(name, rule, Presence::OptionalNotNull)
    }

    /// Text that a null clears: none when left out, `Some(None)` when null.
    pub fn nullable_text<T>(
        &mut self,
        name: &'static str,
        rule: &TextRule<T>,
    ) -> Option<Option<T>> {
        match self.given(name) {
            Some(Value::Null) => {
                self.known.push(name);
                Some(None)
            }
            _ => self.optional_text(name, rule).map(Some),
        }
    }

    fn text_field<T>(
        &mut self,
        name: &'static str,
        rule: &TextRule<T>,
        presence: Presence,
    ) -> Option<T> {
        self.declare(name, presence, || schema::text(rule));
        let value = self.value(name, presence)?;
        let result = match value.as_str() {
            Some(text) => rule.check(text),
            None => Err("must be a string".to_owned()),
        };
        self.keep(name, result)
    }

    /// An object that is read field by field.
    pub fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        if matches!(self.source, Source::Description(_)) {
            return self.describe_object(name, read);
        }
        let Some(object) = self.value(name, Presence::Required)?.as_object() else {
            self.error(name, "must be an object");
            return None;
        };
        let mut inner = Fields::new(Source::Body(object));
        inner.path = join(&self.path, name);
        let result = read(&mut inner);
        inner.refuse_unknown();
        self.errors.append(inner.errors);
        result
    }

    fn describe_object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let doc = self.doc.take();
        let mut inner = Description::default();
        read(&mut Fields::new(Source::Description(&mut inner)));
        if let Source::Description(outer) = &mut self.source {
            outer.referenced.extend(inner.referenced);
            outer.object.required.push(name.to_owned());
            inner.object.description = doc.map(str::to_owned);
            let described = RefOr::T(Schema::Object(inner.object));
            outer.object.properties.insert(name.to_owned(), described);
        }
        None
    }

    /// A list of bodies, each of which is read by itself: one with errors does not concern the others.
    pub fn bodies<B: RequestBody + ToSchema>(
        &mut self,
        name: &'static str,
        max: usize,
    ) -> Option<Vec<Result<B, ApiError>>> {
        self.refer_to::<B>();
        if let Source::Description(description) = &mut self.source {
            description.referenced.extend(describe::<B>().referenced);
        }
        self.declare(name, Presence::Required, || schema::bodies::<B>(max));
        let Some(items) = self.value(name, Presence::Required)?.as_array() else {
            self.error(name, "must be an array of objects");
            return None;
        };
        if items.is_empty() || items.len() > max {
            self.error(name, format!("must have 1 to {max} items"));
            return None;
        }
        let not_an_object = || ApiError::invalid(json::BODY, "must be a JSON object");
        let read = |item: &Value| read(item.as_object().ok_or_else(not_an_object)?);
        Some(items.iter().map(read).collect())
    }

    /// An object that is the caller's own, taken as JSON text.
    pub fn optional_json_object(
        &mut self,
        name: &'static str,
        rule: fn(String) -> Result<String, String>,
    ) -> Option<String> {
        self.declare(name, Presence::Optional, schema::free_object);
        let value = self.value(name, Presence::Optional)?;
        let result = match value {
            Value::Object(_) => rule(value.to_string()),
            _ => Err("must be an object".to_owned()),
        };
        self.keep(name, result)
    }

    /// An error that concerns several fields, reported under one of them.
    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        if !matches!(self.source, Source::Description(_)) {
            self.error(name, message);
        }
    }

    /// Says why fields are refused that this body does not ask for.
    pub fn others(&mut self, message: &'static str) {
        self.why_unknown = message;
    }

    /// The same, if nothing else is wrong: a field that is malformed is not missing too.
    pub fn refuse_if_fine(&mut self, name: &str, message: impl Into<String>) {
        if self.errors.is_empty() {
            self.refuse(name, message);
        }
    }

    fn declare(
        &mut self,
        name: &'static str,
        presence: Presence,
        schema: impl FnOnce() -> RefOr<Schema>,
    ) {
        let doc = self.doc.take();
        if let Source::Description(description) = &mut self.source {
            let mut described = schema();
            if presence == Presence::Optional {
                described = schema::or_null(described);
            }
            if let Some(doc) = doc {
                described = schema::described(described, doc);
            }
            if presence == Presence::Required {
                description.object.required.push(name.to_owned());
            }
            let properties = &mut description.object.properties;
            properties.insert(name.to_owned(), described);
        }
    }

    fn refer_to<T: ToSchema>(&mut self) {
        if let Source::Description(description) = &mut self.source {
            let schema = (T::name().into_owned(), T::schema());
            description.referenced.push(schema);
        }
    }

    /// What the body has under this name.
    fn given(&self, name: &str) -> Option<&'a Value> {
        match &self.source {
            Source::Body(object) | Source::Form(object) => object.get(name),
            Source::Description(_) => None,
        }
    }

    /// The value to check; none when it is left out, which is an error where it is required.
    fn value(&mut self, name: &'static str, presence: Presence) -> Option<&'a Value> {
        self.known.push(name);
        let describing = matches!(self.source, Source::Description(_));
        let value = self.given(name);
        match presence {
            Presence::OptionalNotNull => value,
            Presence::Optional => value.filter(|value| !value.is_null()),
            Presence::Required => {
                let value = value.filter(|value| !value.is_null());
                if value.is_none() && !describing {
                    self.error(name, "is required");
                }
                value
            }
        }
    }

    fn keep<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        result.map_err(|message| self.error(name, message)).ok()
    }

    fn error(&mut self, name: &str, message: impl Into<String>) {
        let path = &self.path;
        self.errors.push(|| join(path, name), message);
    }

    fn refuse_unknown(&mut self) {
        let (Source::Body(object) | Source::Form(object)) = &self.source else {
            return;
        };
        for name in object.keys() {
            if !self.known.contains(&name.as_str()) {
                let path = &self.path;
                self.errors.push(|| join(path, name), self.why_unknown);
            }
        }
    }
}

/// The names of the fields that a body asks for.
pub fn names<B: RequestBody>() -> Vec<String> {
    describe::<B>().object.properties.keys().cloned().collect()
}

/// Gives request bodies their schema, which is what they read, and an example, which is left out
/// (and missed by a test) if the body refuses it.
macro_rules! request_bodies {
    ($($(#[doc = $doc:literal])* $body:ident = $example:expr;)+) => { $(
        impl utoipa::PartialSchema for $body {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let described = $crate::api::request::fields::describe::<$body>();
                let doc = concat!($($doc),*).trim();
                $crate::api::request::fields::with_example::<$body>(described, doc, $example)
            }
        }

        impl utoipa::ToSchema for $body {
            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                schemas.extend($crate::api::request::fields::describe::<$body>().referenced);
            }
        }
    )+ };
}
pub(in crate::api) use request_bodies;

pub fn with_example<B: RequestBody>(
    description: Description,
    doc: &str,
    example: Value,
) -> RefOr<Schema> {
    let accepted = example
        .as_object()
        .is_some_and(|given| read::<B>(given).is_ok());
    let example = accepted.then_some(example);
    let doc = (!doc.is_empty()).then(|| doc.to_owned());
    let mut object = description.object;
    let alternatives = B::alternatives();
    if alternatives.is_empty() {
        object.description = doc;
        object.example = example;
        return RefOr::T(Schema::Object(object));
    }
    let narrow = |alternative: Alternative| alternative(Narrowed(object.clone())).0;
    schema::one_of(alternatives.into_iter().map(narrow), doc, example)
}
