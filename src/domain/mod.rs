//! The rules of the marketplace, pure: no I/O, no clock, no SQL, no HTTP.

mod words;

pub mod account;
pub mod api_key;
pub mod event;
pub mod id;
pub mod job;
pub mod ledger;
pub mod moves;
pub mod payment;
pub mod pricing;
pub mod rules;
pub mod task;
pub mod time;

pub use account::{Account, AccountStatus, NewAccount, Tier};
pub use api_key::{ApiKey, Environment, NewApiKey, Secret};
pub use event::EventType;
pub use id::{AccountId, ApiKeyId, RequestId, TaskId, WorkerId};
pub use job::{JobKind, JobName};
pub use ledger::{Book, Entry, Postings, Step, Story};
pub use moves::{Action, Moved, NotAllowed};
pub use payment::{
    ChargedMethod, Payment, PaymentFailure, PaymentIntent, PaymentMethod, PaymentStatus,
    PayoutAccount, PayoutStatus, ProcessorName,
};
pub use rules::Fault;
pub use task::{NewTask, Owner, Status, Task, TaskEdit};
pub use time::Timestamp;
