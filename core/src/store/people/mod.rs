//! What people sign in with, whoever they are: links by mail, passkeys, second factors, and sessions.

pub(super) mod mail_links;
pub(super) mod passkeys;
pub(super) mod second_factors;
pub(super) mod sessions;

use crate::domain::{Person, PersonKind};
use crate::store::StoreError;

fn person(kind: PersonKind, id: String) -> Result<Person, StoreError> {
    Person::parse(kind, &id).ok_or_else(|| StoreError::Failed("malformed id of a person".into()))
}
