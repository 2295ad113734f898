//! What the service does. Each use case is a plain function over one transaction.

mod accounts;
mod admin;
mod bundle_keys;
mod error;
mod events;
mod exports;
mod links;
mod money;
mod people;
mod proofs;
mod quotes;
mod second_factor;
mod secrets;
mod tasks;
mod webhooks;
mod workers;

pub use accounts::*;
pub use admin::*;
pub use bundle_keys::{bundle_signer, make_bundle_key, rotate_bundle_key};
pub use error::UseCaseError;
pub use events::*;
pub use exports::{export_gave_up, export_part_made, request_export};
pub use links::{
    Confirmation, PasswordLink, PasswordOf, confirm_email, confirmation, password_link,
    send_requested_link, set_password,
};
pub use money::*;
pub use people::*;
pub use proofs::*;
pub use quotes::*;
pub use second_factor::passkeys::{
    AddedPasskey, NewChallenge, NewPasskey, UsedPasskey, add_passkey, new_challenge,
    own_passkey_to_try, passkey_given_again, passkey_to_try, remove_passkey, take_challenge,
};
pub use second_factor::{
    CodeCheck, FactorAtSignIn, FactorSetup, FactorStatus, begin_second_factor, check_code,
    confirm_second_factor, expect_factor, expect_given, has_factor, open_admin_session,
    replace_recovery_codes, reset_second_factor, second_factor_status, turn_off_second_factor,
};
pub use secrets::{
    change_master_key, record_reset, replace_lost_page, reseal_page, seal_plain_texts,
};
pub use tasks::*;
pub use webhooks::{
    DeliveryOutcome, EndpointHealth, Recovered, endpoint_of, give_up_deliveries, put_webhook,
    record_deliveries, recover_deliveries, recover_page, redeliver, remove_webhook,
    rotate_webhook_secret,
};
pub use workers::*;
