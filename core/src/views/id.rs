//! How ids are described.

use utoipa::openapi::{ObjectBuilder, RefOr, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Stands for an id in a schema: 32 hexadecimal digits, in lower case.
pub struct Id;

impl PartialSchema for Id {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new()
            .schema_type(Type::String)
            .pattern(Some("^[0-9a-f]{32}$"))
            .into()
    }
}

impl ToSchema for Id {}
