//! Reads query strings as strictly as bodies.

use std::collections::HashMap;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::api::error::ApiError;
use crate::api::request::json;
use crate::api::response::page::Page;
use crate::domain::FieldErrors;
use crate::domain::geo::{LATITUDE, LONGITUDE, Point};
use crate::domain::rules::number;
use crate::domain::tasks::Category;
use crate::domain::tasks::approval::ApprovalStatus;
use crate::domain::{
    ApiKeyId, DeliveryStatus, EventId, EventType, LogId, SearchOrder, Status, TaskId, workers,
};
use crate::store::{DeliveryFilter, EventFilter, LogFilter};
use crate::usecases::FoundCursor;

const DEFAULT_LIMIT: i64 = 20;
const MAX_LIMIT: i64 = 100;

/// For lists that take only `limit` and `offset`.
pub struct PageQuery(pub Page);

impl<S: Send + Sync> FromRequestParts<S> for PageQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let page = parameters.page();
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self(page))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub struct TaskListQuery {
    pub status: Option<Status>,
    pub page: Page,
}

impl<S: Send + Sync> FromRequestParts<S> for TaskListQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(parts.uri.query().unwrap_or_default()).map_err(ApiError::Validation)
    }
}

impl TaskListQuery {
    pub fn read(query: &str) -> Result<Self, FieldErrors> {
        let mut parameters = Parameters::of(query);
        let status = parameters.optional("status", Status::rule);
        let page = parameters.page();
        parameters.finish()?;
        Ok(Self { status, page })
    }
}

/// Which events.
pub struct EventsQuery {
    pub filter: EventFilter,
    pub cursor: Option<EventId>,
    pub limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for EventsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let filter = parameters.events();
        let (cursor, limit) = parameters.cursor(EventId::parse);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self {
            filter,
            cursor,
            limit,
        })
    }
}

/// Which approvals.
pub struct ApprovalsQuery {
    pub status: Option<ApprovalStatus>,
    pub cursor: Option<TaskId>,
    pub limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for ApprovalsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let status = parameters.optional("status", ApprovalStatus::rule);
        let (cursor, limit) = parameters.cursor(TaskId::parse);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self {
            status,
            cursor,
            limit,
        })
    }
}

/// Which requests of the log.
pub struct LogsQuery {
    pub filter: LogFilter,
    pub cursor: Option<LogId>,
    pub limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for LogsQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let failed = parameters.optional("failed", |text| match text {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err("must be true or false".to_owned()),
        });
        let key = parameters.optional("key_id", |text| {
            ApiKeyId::parse(text).ok_or_else(|| "must be the id of a key".to_owned())
        });
        let filter = match (failed, key) {
            (Some(true), Some(_)) => {
                parameters.refuse("key_id", "cannot be combined with failed".to_owned());
                LogFilter::All
            }
            (Some(true), None) => LogFilter::Failed,
            (_, Some(key)) => LogFilter::OfKey(key),
            (_, None) => LogFilter::All,
        };
        let (cursor, limit) = parameters.cursor(LogId::parse);
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self {
            filter,
            cursor,
            limit,
        })
    }
}

/// Which events to stream.
pub struct StreamQuery(pub EventFilter);

impl<S: Send + Sync> FromRequestParts<S> for StreamQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let filter = parameters.events();
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self(filter))
    }
}

/// Which deliveries.
pub struct DeliveriesQuery {
    pub filter: DeliveryFilter,
    pub page: Page,
}

impl<S: Send + Sync> FromRequestParts<S> for DeliveriesQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let filter = DeliveryFilter {
            status: parameters.optional("status", DeliveryStatus::rule),
            event_type: parameters.optional("event", EventType::rule),
        };
        let page = parameters.page();
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self { filter, page })
    }
}

/// A point, if one is given.
pub struct PointQuery(pub Option<Point>);

impl<S: Send + Sync> FromRequestParts<S> for PointQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let mut parameters = Parameters::of(parts.uri.query().unwrap_or_default());
        let point = parameters.point();
        parameters.finish().map_err(ApiError::Validation)?;
        Ok(Self(point))
    }
}

/// What a worker searches for.
pub struct AvailableQuery {
    pub center: Option<Point>,
    pub radius_km: Option<f64>,
    pub category: Option<Category>,
    pub order: SearchOrder,
    pub after: Option<FoundCursor>,
    pub limit: i64,
}

impl<S: Send + Sync> FromRequestParts<S> for AvailableQuery {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::read(parts.uri.query().unwrap_or_default()).map_err(ApiError::Validation)
    }
}

impl AvailableQuery {
    pub(super) fn read(query: &str) -> Result<Self, FieldErrors> {
        let mut parameters = Parameters::of(query);
        let center = parameters.point();
        let radius_km =
            parameters.optional("radius_km", |text| workers::RADIUS_KM.check(number(text)?));
        let category = parameters.optional("category", Category::rule);
        let order = parameters.optional("sort", SearchOrder::rule);
        let (after, limit) = parameters.cursor(cursor);
        parameters.finish()?;
        Ok(Self {
            center,
            radius_km,
            category,
            order: order.unwrap_or(SearchOrder::Distance),
            after,
            limit,
        })
    }

    /// A cursor as it stands in a URL.
    pub fn cursor_text(cursor: &FoundCursor) -> String {
        let bounty = u8::from(cursor.bounty);
        format!("{bounty}.{:016x}.{}", cursor.key.to_bits(), cursor.id)
    }
}

fn cursor(text: &str) -> Option<FoundCursor> {
    let mut parts = text.split('.');
    let (bounty, key, id) = (parts.next()?, parts.next()?, parts.next()?);
    let key = f64::from_bits(u64::from_str_radix(key, 16).ok()?);
    let well_formed = parts.next().is_none() && ["0", "1"].contains(&bounty) && key.is_finite();
    well_formed.then_some(())?;
    Some(FoundCursor {
        bounty: bounty == "1",
        key,
        id: TaskId::parse(id)?,
    })
}

pub struct Parameters {
    given: HashMap<String, String>,
    /// Those that may be given more than once.
    repeated: HashMap<String, Vec<String>>,
    errors: FieldErrors,
}

impl Parameters {
    pub fn of(query: &str) -> Self {
        Self::with_repeated(query, &[])
    }

    /// Parameters of which those with these names may be given more than once.
    pub fn with_repeated(query: &str, names: &[&str]) -> Self {
        let mut given = HashMap::new();
        let mut repeated: HashMap<String, Vec<String>> = HashMap::new();
        let mut errors = FieldErrors::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            if names.contains(&name.as_ref()) {
                let values = repeated.entry(name.into_owned()).or_default();
                values.push(value.into_owned());
            } else if given.insert(name.to_string(), value.into_owned()).is_some() {
                errors.push(|| json::join("", &name), "is given more than once");
            }
        }
        Self {
            given,
            repeated,
            errors,
        }
    }

    pub fn take_repeated(&mut self, name: &str) -> Vec<String> {
        self.repeated.remove(name).unwrap_or_default()
    }

    /// All parameters whose names begin so, in the order of their names.
    pub fn take_with_prefix(&mut self, prefix: &str) -> Vec<(String, String)> {
        let named = self.given.extract_if(|name, _| name.starts_with(prefix));
        let mut taken: Vec<_> = named.collect();
        taken.sort();
        taken
    }

    pub fn optional<T>(
        &mut self,
        name: &str,
        rule: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let value = self.given.remove(name)?;
        rule(&value)
            .map_err(|message| self.refuse(name, message))
            .ok()
    }

    pub fn required<T>(
        &mut self,
        name: &str,
        rule: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        if !self.given.contains_key(name) {
            self.refuse(name, "is required");
        }
        self.optional(name, rule)
    }

    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        self.errors.push(|| name.to_owned(), message);
    }

    /// `latitude` and `longitude`: both or neither.
    fn point(&mut self) -> Option<Point> {
        let given = |parameters: &Self, name: &str| parameters.given.contains_key(name);
        let (north, east) = (given(self, "latitude"), given(self, "longitude"));
        let latitude = self.optional("latitude", |text| LATITUDE.check(number(text)?));
        let longitude = self.optional("longitude", |text| LONGITUDE.check(number(text)?));
        match (north, east) {
            (true, false) => self.refuse("longitude", "must be given together with latitude"),
            (false, true) => self.refuse("latitude", "must be given together with longitude"),
            _ => {}
        }
        Point::from_pair(latitude, longitude)
    }

    /// `type` and `task_id`, or their aliases `event` and `task`.
    fn events(&mut self) -> EventFilter {
        let task =
            |text: &str| TaskId::parse(text).ok_or_else(|| "must be the id of a task".to_owned());
        let event_type = self.optional("type", EventType::rule);
        let task_id = self.optional("task_id", task);
        EventFilter {
            event_type: event_type.or_else(|| self.optional("event", EventType::rule)),
            task: task_id.or_else(|| self.optional("task", task)),
        }
    }

    /// The start and the length of a page.
    pub fn cursor<T>(&mut self, parse: impl FnOnce(&str) -> Option<T>) -> (Option<T>, i64) {
        let cursor = self.optional("cursor", |text| {
            parse(text).ok_or_else(|| "must be the next_cursor of a page".to_owned())
        });
        let limit = self.optional("limit", limit).unwrap_or(DEFAULT_LIMIT);
        (cursor, limit)
    }

    fn page(&mut self) -> Page {
        let limit = self.optional("limit", limit).unwrap_or(DEFAULT_LIMIT);
        let offset = self.optional("offset", whole_number).unwrap_or(0);
        Page { limit, offset }
    }

    pub fn finish(mut self) -> Result<(), FieldErrors> {
        let mut unknown: Vec<_> = self.given.into_keys().collect();
        unknown.sort();
        for name in unknown {
            let field = || json::join("", &name);
            self.errors.push(field, "is not a known parameter");
        }
        if self.errors.is_empty() {
            Ok(())
        } else {
            Err(self.errors)
        }
    }
}

fn limit(text: &str) -> Result<i64, String> {
    match whole_number(text)? {
        0 => Err("must be at least 1".to_owned()),
        limit => Ok(limit.min(MAX_LIMIT)),
    }
}

fn whole_number(text: &str) -> Result<i64, String> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err("must be a whole number".to_owned());
    }
    // Only a number beyond 64 bits fails here, and no list is that long.
    Ok(text.parse().unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(query: &str) -> Result<(i64, i64), Vec<String>> {
        TaskListQuery::read(query)
            .map(|q| (q.page.limit, q.page.offset))
            .map_err(|errors| {
                let fields = errors.kept().iter().map(|error| error.field.clone());
                fields.collect()
            })
    }

    #[test]
    fn a_page_has_defaults_and_a_largest_size() {
        assert_eq!(read(""), Ok((20, 0)));
        assert_eq!(read("limit=100&offset=7"), Ok((100, 7)));
        assert_eq!(read("limit=101"), Ok((100, 0)));
        assert_eq!(read("limit=99999999999999999999"), Ok((100, 0)));
        assert_eq!(read("offset=99999999999999999999"), Ok((20, i64::MAX)));
    }

    #[test]
    fn every_wrong_parameter_is_named() {
        assert_eq!(
            read("status=open&limit=0&offset=-1&x=1"),
            Err(vec![
                "status".into(),
                "limit".into(),
                "offset".into(),
                "x".into()
            ])
        );
        for limit in [
            "", "-1", "1.0", "1e1", "ten", "%00", "+5", " 5", "0x10", "٣",
        ] {
            assert!(read(&format!("limit={limit}")).is_err(), "{limit:?}");
        }
        assert!(read("limit=1&limit=2").is_err());
        assert!(read("status=").is_err());
    }
}
