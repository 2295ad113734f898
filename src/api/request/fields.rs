//! Reads the fields of a request body and collects every fault, not just the first.

use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::request::json::join;
use crate::domain::FieldError;

pub struct Fields<'a> {
    path: String,
    object: &'a Map<String, Value>,
    known: Vec<&'static str>,
    faults: Vec<FieldError>,
}

type Rule<In, Out> = fn(In) -> Result<Out, String>;
type TextRule<Out> = fn(&str) -> Result<Out, String>;

impl<'a> Fields<'a> {
    pub fn of(object: &'a Map<String, Value>) -> Self {
        Self {
            path: String::new(),
            object,
            known: Vec::new(),
            faults: Vec::new(),
        }
    }

    /// Text that must be there.
    pub fn text<T>(&mut self, name: &'static str, rule: TextRule<T>) -> Option<T> {
        self.require(name);
        self.optional_text(name, rule)
    }

    /// Text that may be left out or null.
    pub fn optional_text<T>(&mut self, name: &'static str, rule: TextRule<T>) -> Option<T> {
        let value = self.value(name)?;
        let result = match value.as_str() {
            Some(text) => rule(text),
            None => Err("must be a string".to_owned()),
        };
        self.keep(name, result)
    }

    /// Text that a null clears: none when left out, `Some(None)` when null.
    pub fn nullable_text<T>(&mut self, name: &'static str, rule: TextRule<T>) -> Option<Option<T>> {
        self.known.push(name);
        match self.object.get(name) {
            None => None,
            Some(Value::Null) => Some(None),
            Some(_) => self.optional_text(name, rule).map(Some),
        }
    }

    /// Text that may be left out, but not null.
    pub fn text_if_given<T>(&mut self, name: &'static str, rule: TextRule<T>) -> Option<T> {
        if matches!(self.object.get(name), Some(Value::Null)) {
            self.known.push(name);
            self.fault(name, "must be a string");
            return None;
        }
        self.optional_text(name, rule)
    }

    pub fn integer<T>(&mut self, name: &'static str, rule: Rule<i64, T>) -> Option<T> {
        self.require(name);
        self.optional_integer(name, rule)
    }

    /// An integer that may be left out or null.
    pub fn optional_integer<T>(&mut self, name: &'static str, rule: Rule<i64, T>) -> Option<T> {
        let value = self.value(name)?;
        let integer = value
            .as_i64()
            .or_else(|| value.is_u64().then_some(i64::MAX));
        let result = match integer {
            Some(integer) => rule(integer),
            None => Err("must be an integer".to_owned()),
        };
        self.keep(name, result)
    }

    pub fn number<T>(&mut self, name: &'static str, rule: Rule<f64, T>) -> Option<T> {
        self.require(name);
        self.optional_number(name, rule)
    }

    /// A number that may be left out or null.
    pub fn optional_number<T>(&mut self, name: &'static str, rule: Rule<f64, T>) -> Option<T> {
        let value = self.value(name)?;
        let result = match value.as_f64() {
            Some(number) => rule(number),
            None => Err("must be a number".to_owned()),
        };
        self.keep(name, result)
    }

    /// A list of words, each with a rule, and a rule for the whole.
    pub fn optional_list<T, U>(
        &mut self,
        name: &'static str,
        item_rule: TextRule<T>,
        list_rule: Rule<Vec<T>, U>,
    ) -> Option<U> {
        let Some(items) = self.value(name)?.as_array() else {
            self.fault(name, "must be an array of strings");
            return None;
        };
        let faults_before = self.faults.len();
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.as_str().map(item_rule) {
                Some(Ok(item)) => list.push(item),
                Some(Err(message)) => self.fault(&format!("{name}[{index}]"), &message),
                None => self.fault(&format!("{name}[{index}]"), "must be a string"),
            }
        }
        if self.faults.len() > faults_before {
            return None;
        }
        self.keep(name, list_rule(list))
    }

    /// An object that is read field by field.
    pub fn object<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&mut Fields<'_>) -> Option<T>,
    ) -> Option<T> {
        self.require(name);
        let Some(object) = self.value(name)?.as_object() else {
            self.fault(name, "must be an object");
            return None;
        };
        let mut inner = Fields {
            path: join(&self.path, name),
            object,
            known: Vec::new(),
            faults: Vec::new(),
        };
        let result = read(&mut inner);
        inner.refuse_unknown();
        self.faults.append(&mut inner.faults);
        result
    }

    /// An object that is the caller's own, taken as JSON text.
    pub fn optional_json_object(
        &mut self,
        name: &'static str,
        rule: Rule<String, String>,
    ) -> Option<String> {
        let value = self.value(name)?;
        let result = match value {
            Value::Object(_) => rule(value.to_string()),
            _ => Err("must be an object".to_owned()),
        };
        self.keep(name, result)
    }

    /// A fault that concerns several fields, told of one of them.
    pub fn refuse(&mut self, name: &str, message: &str) {
        self.fault(name, message);
    }

    /// The end of the body: fields that nobody asked for are faults too.
    pub fn finish(mut self) -> Result<(), ApiError> {
        self.refuse_unknown();
        if self.faults.is_empty() {
            Ok(())
        } else {
            Err(ApiError::Validation(self.faults))
        }
    }

    fn value(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.object.get(name).filter(|value| !value.is_null())
    }

    fn require(&mut self, name: &'static str) {
        if self.value(name).is_none() {
            self.fault(name, "is required");
        }
    }

    fn keep<T>(&mut self, name: &str, result: Result<T, String>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(message) => {
                self.fault(name, &message);
                None
            }
        }
    }

    fn fault(&mut self, name: &str, message: &str) {
        let path = join(&self.path, name);
        self.faults.push(FieldError::new(path, message));
    }

    fn refuse_unknown(&mut self) {
        for name in self.object.keys() {
            if !self.known.contains(&name.as_str()) {
                let path = join(&self.path, name);
                self.faults
                    .push(FieldError::new(path, "is not a known field"));
            }
        }
    }
}
