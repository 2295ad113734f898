//! The kinds of single values that a body has.

use super::{Fields, Presence, Source};
use crate::api::request::schema;
use crate::domain::StringEnum;
use crate::domain::geo::{self, Point};
use crate::domain::rules::{self, IntegerRule, ListRule, NumberRule};

impl Fields<'_> {
    /// One of the words of an enum.
    pub fn choice<T: StringEnum>(&mut self, name: &'static str) -> Option<T> {
        self.choice_field(name, Presence::Required)
    }

    pub fn optional_choice<T: StringEnum>(&mut self, name: &'static str) -> Option<T> {
        self.choice_field(name, Presence::Optional)
    }

    fn choice_field<T: StringEnum>(&mut self, name: &'static str, presence: Presence) -> Option<T> {
        self.refer_to::<T>();
        self.declare(name, presence, schema::reference::<T>);
        let value = self.value(name, presence)?;
        let result = match value.as_str() {
            Some(text) => T::rule(text),
            None => Err("must be a string".to_owned()),
        };
        self.keep(name, result)
    }

    /// A list of words of an enum.
    pub fn choices<T: StringEnum>(
        &mut self,
        name: &'static str,
        rule: &ListRule<T>,
    ) -> Option<Vec<T>> {
        self.list_field(name, rule, Presence::Required)
    }

    pub fn optional_choices<T: StringEnum>(
        &mut self,
        name: &'static str,
        rule: &ListRule<T>,
    ) -> Option<Vec<T>> {
        self.list_field(name, rule, Presence::Optional)
    }

    fn list_field<T: StringEnum>(
        &mut self,
        name: &'static str,
        rule: &ListRule<T>,
        presence: Presence,
    ) -> Option<Vec<T>> {
        self.refer_to::<T>();
        self.declare(name, presence, || schema::list(rule));
        let Some(items) = self.value(name, presence)?.as_array() else {
            self.error(name, "must be an array of strings");
            return None;
        };
        let errors_before = self.errors.count();
        let mut list = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            match item.as_str().map(T::rule) {
                Some(Ok(item)) => list.push(item),
                Some(Err(message)) => self.error(&format!("{name}[{index}]"), message),
                None => self.error(&format!("{name}[{index}]"), "must be a string"),
            }
        }
        if self.errors.count() > errors_before {
            return None;
        }
        self.keep(name, (rule.check)(list))
    }

    /// True or false, which may be left out.
    pub fn optional_boolean(&mut self, name: &'static str) -> Option<bool> {
        self.declare(name, Presence::Optional, schema::boolean);
        let value = self.value(name, Presence::Optional)?;
        let result = value
            .as_bool()
            .ok_or_else(|| "must be true or false".to_owned());
        self.keep(name, result)
    }

    pub fn integer(&mut self, name: &'static str, rule: &IntegerRule) -> Option<i64> {
        self.integer_field(name, rule, Presence::Required)
    }

    pub fn optional_integer(&mut self, name: &'static str, rule: &IntegerRule) -> Option<i64> {
        self.integer_field(name, rule, Presence::Optional)
    }

    fn integer_field(
        &mut self,
        name: &'static str,
        rule: &IntegerRule,
        presence: Presence,
    ) -> Option<i64> {
        self.declare(name, presence, || schema::integer(rule));
        let value = self.value(name, presence)?;
        // An integer beyond 64 bits is out of every bound, not something else than an integer.
        let integer = value
            .as_i64()
            .or_else(|| value.is_u64().then_some(i64::MAX));
        let result = match integer {
            Some(integer) => rule.check(integer),
            None => Err("must be an integer".to_owned()),
        };
        self.keep(name, result)
    }

    pub fn number(&mut self, name: &'static str, rule: &NumberRule) -> Option<f64> {
        self.number_field(name, rule, Presence::Required)
    }

    pub fn optional_number(&mut self, name: &'static str, rule: &NumberRule) -> Option<f64> {
        self.number_field(name, rule, Presence::Optional)
    }

    fn number_field(
        &mut self,
        name: &'static str,
        rule: &NumberRule,
        presence: Presence,
    ) -> Option<f64> {
        self.declare(name, presence, || schema::number(rule));
        let form = matches!(self.source, Source::Form(_));
        let value = self.value(name, presence)?;
        let number = match value.as_str() {
            Some(text) if form => rules::number(text.trim()),
            _ => value.as_f64().ok_or_else(|| "must be a number".to_owned()),
        };
        self.keep(name, number.and_then(|number| rule.check(number)))
    }

    /// Two coordinates: both or neither.
    pub fn optional_point(
        &mut self,
        latitude: &'static str,
        longitude: &'static str,
    ) -> Option<Point> {
        let errors_before = self.errors.count();
        let doc = self.doc;
        let north = self.optional_number(latitude, &geo::LATITUDE);
        self.doc = doc;
        let east = self.optional_number(longitude, &geo::LONGITUDE);
        if north.is_some() != east.is_some() && self.errors.count() == errors_before {
            let (missing, given) = match north {
                None => (latitude, longitude),
                Some(_) => (longitude, latitude),
            };
            self.refuse(missing, format!("must be given together with {given}"));
        }
        Point::from_pair(north, east)
    }
}
