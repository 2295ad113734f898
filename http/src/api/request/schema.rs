//! Rules of the domain as JSON Schema.

use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, SchemaFormat, SchemaType};
use utoipa::openapi::{Object, ObjectBuilder, OneOfBuilder, Ref, RefOr, Schema, Type};

use crate::domain::rules::{IntegerRule, ListRule, NumberRule, TextRule};

/// An object that takes no other fields than those it names.
pub fn closed_object() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Object)
        .additional_properties(Some(AdditionalProperties::<Schema>::FreeForm(false)))
        .build()
}

/// An object with any fields.
pub fn free_object() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Object).into()
}

pub fn text<T>(rule: &TextRule<T>) -> RefOr<Schema> {
    let format = rule
        .format
        .map(|name| SchemaFormat::Custom(name.to_owned()));
    ObjectBuilder::new()
        .schema_type(Type::String)
        .min_length((rule.min > 0).then_some(rule.min))
        .max_length(Some(rule.max))
        .pattern(rule.pattern)
        .format(format)
        .into()
}

pub fn boolean() -> RefOr<Schema> {
    ObjectBuilder::new().schema_type(Type::Boolean).into()
}

pub fn integer(rule: &IntegerRule) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .minimum(Some(rule.min))
        .maximum(Some(rule.max))
        .into()
}

pub fn number(rule: &NumberRule) -> RefOr<Schema> {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(rule.min))
        .maximum(Some(rule.max))
        .into()
}

pub fn reference<T: ToSchema>() -> RefOr<Schema> {
    Ref::from_schema_name(T::name()).into()
}

pub fn list<T: ToSchema>(rule: &ListRule<T>) -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(Ref::from_schema_name(T::name()))
        .min_items((rule.min > 0).then_some(rule.min))
        .unique_items(rule.unique)
        .into()
}

/// A list of other bodies.
pub fn bodies<B: ToSchema>(max: usize) -> RefOr<Schema> {
    ArrayBuilder::new()
        .items(Ref::from_schema_name(B::name()))
        .min_items(Some(1))
        .max_items(Some(max))
        .into()
}

/// The same, or null.
pub fn or_null(schema: RefOr<Schema>) -> RefOr<Schema> {
    let null = || SchemaType::Type(Type::Null);
    let also_null = |kind: &SchemaType| match kind {
        SchemaType::Type(kind) => SchemaType::Array(vec![kind.clone(), Type::Null]),
        other => other.clone(),
    };
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            object.schema_type = also_null(&object.schema_type);
            RefOr::T(Schema::Object(object))
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.schema_type = also_null(&array.schema_type);
            RefOr::T(Schema::Array(array))
        }
        other => OneOfBuilder::new()
            .item(ObjectBuilder::new().schema_type(null()))
            .item(other)
            .into(),
    }
}

pub fn described(schema: RefOr<Schema>, text: &str) -> RefOr<Schema> {
    match schema {
        RefOr::T(Schema::Object(mut object)) => {
            object.description = Some(text.to_owned());
            RefOr::T(Schema::Object(object))
        }
        RefOr::T(Schema::Array(mut array)) => {
            array.description = Some(text.to_owned());
            RefOr::T(Schema::Array(array))
        }
        RefOr::T(Schema::OneOf(mut one_of)) => {
            one_of.description = Some(text.to_owned());
            RefOr::T(Schema::OneOf(one_of))
        }
        RefOr::Ref(mut reference) => {
            reference.description = text.to_owned();
            RefOr::Ref(reference)
        }
        other => other,
    }
}

/// A file in a form.
pub fn file(doc: &str, max_bytes: u64) -> RefOr<Schema> {
    let format = SchemaFormat::Custom("binary".to_owned());
    ObjectBuilder::new()
        .schema_type(Type::String)
        .format(Some(format))
        .content_media_type("application/octet-stream")
        .description(Some(format!("{doc} At most {max_bytes} bytes.")))
        .into()
}

/// A description of an object that is being narrowed.
pub struct Narrowed(pub Object);

impl Narrowed {
    /// The field must be there, and not null.
    pub fn require(mut self, name: &str) -> Self {
        self.0.required.push(name.to_owned());
        self.change(name, |object| {
            if let SchemaType::Array(kinds) = &object.schema_type {
                let kinds = kinds.iter().filter(|kind| **kind != Type::Null);
                if let Some(kind) = kinds.into_iter().next() {
                    object.schema_type = SchemaType::Type(kind.clone());
                }
            }
        })
    }

    /// The field is left out, or null.
    pub fn only_null(mut self, name: &str) -> Self {
        let null = ObjectBuilder::new().schema_type(Type::Null);
        self.0.properties.insert(name.to_owned(), null.into());
        self
    }

    /// The field is one of these words.
    pub fn only(mut self, name: &str, words: &[&str]) -> Self {
        let words = ObjectBuilder::new()
            .schema_type(Type::String)
            .enum_values(Some(words.iter().copied()));
        self.0.properties.insert(name.to_owned(), words.into());
        self
    }

    fn change(mut self, name: &str, change: impl FnOnce(&mut Object)) -> Self {
        if let Some(RefOr::T(Schema::Object(object))) = self.0.properties.get_mut(name) {
            change(object);
        }
        self
    }
}

pub fn one_of(
    objects: impl IntoIterator<Item = Object>,
    doc: Option<String>,
    example: Option<Value>,
) -> RefOr<Schema> {
    let one_of = objects
        .into_iter()
        .fold(OneOfBuilder::new(), OneOfBuilder::item);
    one_of.description(doc).examples(example).into()
}
