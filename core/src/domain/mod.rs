//! The rules of the marketplace. Pure code: no I/O, no clock, no SQL, no HTTP.

mod string_enum;

pub mod accounts;
pub mod admin;
pub mod events;
pub mod exports;
pub mod geo;
pub mod id;
mod idempotency;
pub mod job;
pub mod money;
pub mod people;
pub mod proofs;
pub mod quotes;
pub mod rules;
pub mod second_factor;
pub mod sha256;
pub mod tasks;
#[cfg(test)]
pub mod testing;
pub mod time;
pub mod webhooks;
pub mod workers;

pub use accounts::api_key::{ApiKey, Environment, NewApiKey, Owner, Secret};
pub use accounts::{Account, AccountStatus, NewAccount, StorageQuota, Tier};
pub use admin::audit::{AuditEntry, AuditHead, AuditKeys, AuditLine, BrokenChain};
pub use admin::{
    AdminKey, AdminRole, Decided, Proposal, ProposalKind, QueueItem, QueueKind, QueueStatus,
    ReplacedDocument, VerificationFile,
};
pub use events::notification::{Notification, NotificationKind, NotificationStatus, Recipient};
pub use events::{Event, EventType, NewEvent};
pub use geo::map_tiles::MapTiles;
pub use id::{
    AccountId, AdminKeyId, ApiKeyId, ChallengeId, EventId, ExportId, LogId, MailLinkId,
    NotificationId, PasskeyId, ProofId, PushSubscriptionId, QueueItemId, QuoteId, RequestId,
    SessionId, TaskId, UploadId, VerificationFileId, WorkerId,
};
pub use idempotency::IDEMPOTENCY_KEPT;
pub use job::{JobKind, JobName, Lane};
pub use money::charge_dispute::{ChargeDispute, ChargeDisputeStatus, ChargeStanding};
pub use money::ledger::{Entry, LedgerAccount, OutgoingKind, Postings, Step, TaskLedger};
pub use money::payment::{
    ChargedMethod, HeldBecause, Payment, PaymentFailure, PaymentIntent, PaymentMethod,
    PaymentStatus, PayoutAccount, PayoutStatus, ProcessorName, StoredIntent,
};
pub use people::mail_link::{LinkPurpose, MailLink};
pub use people::session::{Origin, Session};
pub use people::{Person, PersonKind};
pub use proofs::uploads::upload::{NewUpload, Upload, UploadPart};
pub use proofs::{FileMetadata, Proof, ProofFile, ProofStatus, Submission, SubmittedFile};
pub use quotes::Quote;
pub use rules::{FieldError, FieldErrors};
pub use second_factor::passkeys::{
    Challenge, ChallengePurpose, GivenAssertion, GivenRegistration, Passkey, RelyingParty,
};
pub use second_factor::recovery::RecoveryCodes;
pub use second_factor::totp::TotpSecret;
pub use second_factor::{GivenCode, RequiredFactor, SecondFactor, WrongCodes};
pub use string_enum::StringEnum;
pub use tasks::dispute::{Decision, DeveloperStatement, Dispute};
pub use tasks::history::{Actor, ActorKind, HistoryEntry};
pub use tasks::moves::{Action, Moved};
pub use tasks::records::{DeveloperRecord, Outcome};
pub use tasks::windows::{Due, DueAction, Windows};
pub use tasks::{
    Category, Location, NewTask, NotAllowed, Priority, ProofType, SearchOrder, Skill, Status, Task,
    TaskEdit, TaskType,
};
pub use time::Timestamp;
pub use webhooks::WebhookSecret;
pub use webhooks::delivery::{Attempt, Delivery, DeliveryStatus, DueDelivery};
pub use workers::{
    CheckedSkills, Ineligible, NewWorker, NotEligible, Worker, WorkerEdit, WorkerStatus,
};
