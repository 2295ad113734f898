//! Files that workers send in several requests.

mod breaking;
mod captures;
pub mod client;
mod holding;
mod limits;
mod peers;
mod protocol;
mod proving;
