//! What developers, workers and admins share: links by mail, and sessions.

pub(super) mod mail_links;
pub(super) mod requests;
pub(super) mod sessions;

pub use mail_links::{MadeLink, good_link, make_link, redeem_link, send_link, token_to_mail};
pub use requests::request_link;
pub use sessions::{
    open_session, password_given_again, revoke_session, revoke_sessions, sign_out, use_session,
};
