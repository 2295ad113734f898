//! The people of accounts: how they sign up, confirm their address, choose passwords and sign in.

mod address;
mod local;
mod password;
mod sign_in;
mod sign_up;

pub use address::change_email;
pub(in crate::usecases) use address::confirm_account;
pub use local::{make_sign_in_link, sign_in_link, sign_in_with_link};
pub(in crate::usecases) use password::set_account_password;
pub use password::{change_password, invite, request_reset};
pub use sign_in::{
    AccountSignIn, SignedIn, sign_in_account, sign_in_account_with_passkey, sign_in_candidates,
    sign_in_new_account,
};
pub(in crate::usecases) use sign_up::send_account_link;
pub use sign_up::{expect_confirmed, request_confirmation, sign_up};
