//! Lists: one envelope for lists with an offset, one for lists with a cursor.

use std::borrow::Cow;

use serde::Serialize;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

/// Which part of a list is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub limit: i64,
    pub offset: i64,
}

/// Where the page lies in the list.
#[derive(Serialize, ToSchema)]
pub struct Meta {
    /// How many objects the list has in all.
    #[schema(example = 1)]
    total: i64,
    #[schema(example = 20)]
    limit: i64,
    #[schema(example = 0)]
    offset: i64,
}

/// A page of a list that is read by `limit` and `offset`.
#[derive(Serialize)]
pub struct OffsetList<T> {
    data: Vec<T>,
    meta: Meta,
}

impl Page {
    pub fn list<T>(self, data: Vec<T>, total: i64) -> OffsetList<T> {
        let Self { limit, offset } = self;
        let meta = Meta {
            total,
            limit,
            offset,
        };
        OffsetList { data, meta }
    }

    /// The same of a list that was read whole.
    pub fn part_of<T>(self, all: Vec<T>) -> OffsetList<T> {
        let (total, skipped) = (all.len(), usize::try_from(self.offset));
        let wanted = all.into_iter().skip(skipped.unwrap_or(usize::MAX));
        let data = wanted.take(usize::try_from(self.limit).unwrap_or(0));
        self.list(data.collect(), total as i64)
    }
}

/// Where the next page begins.
#[derive(Serialize, ToSchema)]
pub struct CursorMeta {
    #[schema(example = 20)]
    limit: i64,
    /// Pass it as `cursor` to get the next page; null on the last one.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// A page of a list that is read by `limit` and `cursor`.
#[derive(Serialize)]
pub struct CursorList<T> {
    data: Vec<T>,
    meta: CursorMeta,
}

impl CursorMeta {
    pub fn new(limit: i64, next_cursor: Option<String>) -> Self {
        Self { limit, next_cursor }
    }

    /// Cuts a list that was read one longer than the page.
    pub fn cut<T>(items: &mut Vec<T>, limit: i64, cursor: impl Fn(&T) -> String) -> Self {
        let more = items.len() as i64 > limit;
        items.truncate(limit as usize);
        let last = items.last().filter(|_| more);
        Self::new(limit, last.map(cursor))
    }

    pub fn list<T>(self, data: Vec<T>) -> CursorList<T> {
        CursorList { data, meta: self }
    }
}

/// Describes an envelope. Written by hand, because a derived schema would repeat that of its items.
fn envelope<T: ToSchema, M: ToSchema>() -> RefOr<Schema> {
    let items = Ref::from_schema_name(T::name());
    ObjectBuilder::new()
        .property("data", ArrayBuilder::new().items(items))
        .required("data")
        .property("meta", Ref::from_schema_name(M::name()))
        .required("meta")
        .into()
}

macro_rules! envelopes {
    ($($list:ident of $meta:ty, named $suffix:literal;)+) => { $(
        impl<T: ToSchema> PartialSchema for $list<T> {
            fn schema() -> RefOr<Schema> {
                envelope::<T, $meta>()
            }
        }

        impl<T: ToSchema> ToSchema for $list<T> {
            fn name() -> Cow<'static, str> {
                format!("{}{}", T::name(), $suffix).into()
            }

            fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
                schemas.push((T::name().into_owned(), T::schema()));
                schemas.push((<$meta>::name().into_owned(), <$meta>::schema()));
                T::schemas(schemas);
            }
        }
    )+ };
}

envelopes! {
    OffsetList of Meta, named "List";
    CursorList of CursorMeta, named "Page";
}
