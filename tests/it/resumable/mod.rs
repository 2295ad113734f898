//! Files that workers send in several requests.

mod client;
mod limits;
mod protocol;
mod proving;
