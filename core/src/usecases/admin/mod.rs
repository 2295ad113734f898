//! What admins decide and read.

pub(super) mod admin_key;
pub(super) mod audit;
pub(super) mod console;
pub(super) mod decide_dispute;
pub(super) mod four_eyes;
pub(super) mod item_details;
pub(super) mod report;
pub(super) mod review_queue;
pub(super) mod same_person;
pub(super) mod unsent;
pub(super) mod view_documents;

pub use admin_key::{
    IssuedAdminKey, create_admin_key, create_admin_key_as, revoke_admin_key, revoke_admin_key_as,
};
pub use audit::{AuditReport, audit, verify_audit, verify_audit_against};
pub use console::{
    AdminSignIn, AdminVisitor, admin_key_given_again, admin_visitor, sign_in_admin,
    sign_in_admin_with_passkey,
};
pub use decide_dispute::{decide_dispute, dispute_of, find_dispute, state_side};
pub use four_eyes::{FourEyes, Outcome, proposal_about, withdraw_proposal};
pub use item_details::{ItemDetails, ItemMoney, item_details};
pub use report::month_report;
pub use review_queue::{claim_item, clear_item, note_item, release_item};
pub use same_person::flag_same_person;
pub use unsent::{Unsent, close_unsent, retry_job, retry_payout, unsent_to_close};
pub use view_documents::{Looker, view_documents, view_original};
