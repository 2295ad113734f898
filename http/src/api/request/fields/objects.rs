//! Fields that are objects, or lists of objects and texts.

use serde_json::{Map, Value};
use utoipa::openapi::schema::ArrayBuilder;
use utoipa::openapi::{Object, RefOr, Schema};

use super::{Description, Fields, Presence, Source};
use crate::api::request::json::join;
use crate::api::request::schema;
use crate::domain::rules::TextRule;

impl<'a> Fields<'a> {
    /// An object that is read field by field, and may be left out.
    pub fn optional_object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        if matches!(self.source, Source::Description(_)) {
            let object = self.described_inside(read);
            let object = RefOr::T(Schema::Object(object));
            self.declare(name, Presence::Optional, || object);
            return None;
        }
        let Some(object) = self.value(name, Presence::Optional)?.as_object() else {
            self.error(name, "must be an object");
            return None;
        };
        self.inside(name, object, read)
    }

    /// A list of such objects, which may be left out.
    pub fn optional_objects<T>(
        &mut self,
        name: &'static str,
        max: usize,
        read: impl Fn(&mut Fields<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        if matches!(self.source, Source::Description(_)) {
            let object = self.described_inside(read);
            let list = ArrayBuilder::new().items(object).max_items(Some(max));
            self.declare(name, Presence::Optional, || list.into());
            return None;
        }
        let items = self.items(name, max, "must be an array of objects")?;
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let place = format!("{name}[{index}]");
            match item.as_object() {
                Some(object) => list.push(self.inside(&place, object, &read)),
                None => self.error(&place, "must be an object"),
            }
        }
        list.into_iter().collect()
    }

    /// A list of different texts, which may be left out.
    pub fn optional_texts(
        &mut self,
        name: &'static str,
        max: usize,
        rule: &TextRule,
    ) -> Option<Vec<String>> {
        self.declare(name, Presence::Optional, || {
            let list = ArrayBuilder::new().items(schema::text(rule));
            list.max_items(Some(max)).into()
        });
        let items = self.items(name, max, "must be an array of strings")?;
        let mut list: Vec<String> = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            let text = item.as_str().ok_or_else(|| "must be a string".to_owned());
            match text.and_then(|text| rule.check(text)) {
                Ok(text) if list.contains(&text) => {}
                Ok(text) => list.push(text),
                Err(message) => self.error(&format!("{name}[{index}]"), message),
            }
        }
        Some(list)
    }

    fn items(&mut self, name: &'static str, max: usize, shape: &str) -> Option<&'a [Value]> {
        let Some(items) = self.value(name, Presence::Optional)?.as_array() else {
            self.error(name, shape);
            return None;
        };
        if items.len() > max {
            self.error(name, format!("must have at most {max} items"));
            return None;
        }
        Some(items)
    }

    fn inside<T>(
        &mut self,
        place: &str,
        object: &Map<String, Value>,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut inner = Fields::new(Source::Body(object));
        inner.path = join(&self.path, place);
        let result = read(&mut inner);
        inner.refuse_unknown();
        self.errors.append(inner.errors);
        result
    }

    fn described_inside<T>(&mut self, read: impl FnOnce(&mut Fields<'_>) -> Option<T>) -> Object {
        let mut inner = Description::default();
        read(&mut Fields::new(Source::Description(&mut inner)));
        if let Source::Description(outer) = &mut self.source {
            outer.referenced.extend(inner.referenced);
        }
        inner.object
    }
}
