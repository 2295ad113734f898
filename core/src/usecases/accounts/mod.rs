//! Developers' accounts and their API keys.

pub(super) mod authenticate;
pub(super) mod create_account;
pub(super) mod create_api_key;
pub(super) mod delete_account;
pub(super) mod erase_account;
pub(super) mod mandates;
pub(super) mod people;
pub(super) mod revoke_api_key;
pub(super) mod set_tier;
pub(super) mod settle_rate_limits;
pub(super) mod suspend_account;

pub use authenticate::authenticate;
pub use create_account::{
    OpenedAccount, create_account, create_invited_account, create_local_account,
};
pub use create_api_key::{IssuedKey, create_api_key, create_limited_key};
pub use delete_account::delete_account;
pub use erase_account::{
    ErasedPage, TasksPage, erase_account, erase_page, erase_traces, page_to_erase,
};
pub use mandates::{
    ManagedKey, expect_allowed, expect_manageable, lift_mandate, pause_mandate, put_mandate,
    set_test_keys_manage, warn_of_limits,
};
pub use people::{
    AccountSignIn, SignedIn, change_email, change_password, expect_confirmed, invite,
    make_sign_in_link, request_confirmation, request_reset, sign_in_account,
    sign_in_account_with_passkey, sign_in_candidates, sign_in_link, sign_in_new_account,
    sign_in_with_link, sign_up,
};
pub(super) use people::{confirm_account, send_account_link, set_account_password};
pub use revoke_api_key::{Revocation, revoke_api_key};
pub use set_tier::set_tier;
pub use settle_rate_limits::settle_rate_limits;
pub use suspend_account::{
    restore_account, restore_account_with, show_posted_tasks, suspend_account, suspend_account_with,
};
