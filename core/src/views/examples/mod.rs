//! The examples of the description tell one story, a storefront in Brooklyn, in values of the
//! domain. Every type of the interface makes its example from them as it makes its answers, so an
//! example has the fields that answers have.

mod ids;
mod story;
mod values;

use serde::Serialize;
use serde_json::Value;

pub use ids::*;
pub use story::*;
pub use values::*;

/// An example that may fail to be made. It is null then, and the test of the description fails.
pub fn json<T: Serialize, E>(example: Result<T, E>) -> Value {
    let written = example.ok().map(serde_json::to_value);
    written.and_then(Result::ok).unwrap_or_default()
}
