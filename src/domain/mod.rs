//! The rules of the marketplace, pure: no I/O, no clock, no SQL, no HTTP.

mod words;

pub mod account;
pub mod admin;
pub mod api_key;
pub mod audit;
pub mod delivery;
pub mod dispute;
pub mod event;
pub mod geo;
pub mod history;
pub mod id;
pub mod job;
pub mod ledger;
pub mod moves;
pub mod notice;
pub mod payment;
pub mod pricing;
pub mod proof;
pub mod report;
pub mod rules;
pub mod task;
pub mod time;
pub mod webhook;
pub mod windows;
pub mod worker;

pub use account::{Account, AccountStatus, NewAccount, Tier};
pub use admin::{AdminKey, AdminRole, QueueItem, QueueKind, QueueStatus, VerificationFile};
pub use api_key::{ApiKey, Environment, NewApiKey, Secret};
pub use audit::{AuditEntry, AuditHead, AuditLine, BrokenChain};
pub use delivery::{Attempt, Delivery, DeliveryStatus, DueDelivery};
pub use dispute::{Decision, Dispute};
pub use event::{Event, EventType, NewEvent};
pub use history::{By, MadeMove, Maker};
pub use id::{
    AccountId, AdminKeyId, ApiKeyId, EventId, NoticeId, ProofId, PushSubscriptionId, QueueItemId,
    RequestId, TaskId, VerificationFileId, WorkerId,
};
pub use job::{JobKind, JobName, Lane};
pub use ledger::{Book, Entry, Postings, Step, Story};
pub use moves::{Action, Moved, NotAllowed};
pub use notice::{Notice, NoticeKind, NoticeStatus, Recipient};
pub use payment::{
    ChargedMethod, Payment, PaymentFailure, PaymentIntent, PaymentMethod, PaymentStatus,
    PayoutAccount, PayoutStatus, ProcessorName,
};
pub use proof::{Embedded, Proof, ProofFile, ProofStatus, Submission, SubmittedFile};
pub use rules::Fault;
pub use task::{NewTask, Owner, Status, Task, TaskEdit};
pub use time::Timestamp;
pub use webhook::WebhookSecret;
pub use windows::Windows;
pub use worker::{NewWorker, NotEligible, Worker, WorkerEdit, WorkerStatus};
