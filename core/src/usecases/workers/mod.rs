//! Workers: sign-in, verification, payout accounts, push subscriptions, deletion.

pub(super) mod confirm_skills;
pub(super) mod delete_worker;
pub(super) mod edit_worker;
pub(super) mod payout_account;
pub(super) mod people;
pub(super) mod sign_in_worker;
pub(super) mod subscribe_worker;
pub(super) mod verify_worker;

pub use confirm_skills::confirm_skills;
pub use delete_worker::{
    delete_worker, erase_proofs_of_worker, erase_traces_of_worker, erase_worker,
};
pub use edit_worker::edit_worker;
pub use payout_account::{
    payout_account_changed, payout_account_opened, payout_status, waits_for_payout_account,
};
pub use people::{
    change_worker_email, change_worker_password, expect_confirmed_worker, follow_clock,
    make_worker_reset_link, request_worker_confirmation, request_worker_reset,
    worker_with_password,
};
pub(super) use people::{confirm_worker, send_worker_link, set_linked_worker_password};
pub use sign_in_worker::{
    NewSession, TOKEN_LIFE, check_recent_sign_in, issue_token, sign_in_worker,
    sign_in_worker_with_passkey, sign_up_worker,
};
pub use subscribe_worker::subscribe_worker;
pub use verify_worker::{
    WorkerDecision, decide_about_worker, may_send_documents, refuse_worker, restore_worker,
    send_verification, suspend_worker, verify_worker,
};
