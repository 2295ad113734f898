//! Opens the payment processor that the settings name.

use crate::ambient::Clock;
use crate::cli::Failure;
use crate::payments::{Payments, Sandbox, Stripe, StripeSettings};
use crate::settings::PaymentSettings;
use crate::store::Store;

pub fn open(
    settings: &PaymentSettings,
    store: &Store,
    clock: &Clock,
    public_url: &str,
) -> Result<Payments, Failure> {
    match settings {
        PaymentSettings::Sandbox => {
            let url = public_url.to_owned();
            Ok(Payments::sandbox(Sandbox::new(
                store.clone(),
                clock.clone(),
                url,
            )))
        }
        PaymentSettings::Stripe {
            key,
            webhook_secret,
            url,
        } => Stripe::new(StripeSettings {
            key: key.clone(),
            webhook_secret: webhook_secret.clone(),
            base_url: url.clone(),
            return_url: public_url.to_owned(),
        })
        .map(Payments::with)
        .map_err(Failure),
    }
}
