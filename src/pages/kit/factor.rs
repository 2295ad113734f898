//! A second factor that waits for its first code. Whoever loads the page anew finds it as it was: the app may have the
//! secret by now, and another one would make its codes wrong.

use crate::api::inside::Refused;
use crate::domain::Person;
use crate::pages::state::Pages;
use crate::usecases::{FactorSetup, UseCaseError};

/// For whoever sends a first code that has worked already.
pub const CODES_ARE_GONE: &str = "The second factor is on. Its recovery codes were shown once: if you have not kept \
    them, make new ones with the next code of your app.";

/// How somebody stands who has begun to set one up.
pub enum Begun {
    /// Has signed in a short time ago, and sees the secret again.
    Shown(FactorSetup),
    /// Has a page open that anybody may have found: enters a code, or begins anew.
    Hidden,
}

/// What of `holder` waits for a code. `label` is the name of the entry in the app.
pub async fn begun(
    pages: &Pages,
    holder: Person,
    label: &str,
    is_recent: bool,
) -> Result<Option<Begun>, Refused> {
    let read = pages.app.store.read(move |tx| tx.second_factor(holder));
    let factor = read.await.map_err(UseCaseError::from)?;
    let Some(factor) = factor.filter(|factor| factor.enabled_at.is_none()) else {
        return Ok(None);
    };
    if !is_recent {
        return Ok(Some(Begun::Hidden));
    }
    let setup = FactorSetup::new(&factor.secret, label).map_err(UseCaseError::from)?;
    Ok(Some(Begun::Shown(setup)))
}
