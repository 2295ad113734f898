//! Finds accounts and workers by what an operator types.

use crate::cli::Failure;
use crate::domain::{Account, AccountId, Worker, WorkerId};
use crate::store::{StoreError, Tx};

/// So many are named if an address is not enough.
const SHOWN: i64 = 10;

/// What an id or an address stands for.
pub enum Found<T> {
    None,
    One(Box<T>),
    /// Nobody has confirmed the address, and several claim it: their ids.
    Several(Vec<String>),
}

impl<T> Found<T> {
    fn claimed(mut claims: Vec<T>, id: impl Fn(&T) -> String) -> Self {
        match claims.len() {
            0 => Self::None,
            1 => Self::One(Box::new(claims.remove(0))),
            _ => Self::Several(claims.iter().map(id).collect()),
        }
    }

    /// The one, or why there is none. `what` is "account" or "worker".
    pub fn one(self, what: &str, given: &str) -> Result<T, Failure> {
        match self {
            Self::One(found) => Ok(*found),
            Self::None => Err(Failure(format!("there is no {what} {given}"))),
            Self::Several(ids) => Err(Failure(format!(
                "several {what}s claim this address and none has confirmed it; name one by its ID: {}",
                ids.join(", ")
            ))),
        }
    }
}

/// By the id, by the confirmed address, or by an address that one alone claims.
pub fn account(tx: &mut Tx<'_>, given: &str) -> Result<Found<Account>, StoreError> {
    let found = match AccountId::parse(given) {
        Some(id) => tx.account(id)?,
        None => tx.account_by_email(&given.to_lowercase())?,
    };
    Ok(match found {
        Some(account) => Found::One(Box::new(account)),
        None => {
            let claims = tx.claims_of(&given.to_lowercase(), None, SHOWN)?;
            Found::claimed(claims, |account| account.id.to_string())
        }
    })
}

/// The same for workers.
pub fn worker(tx: &mut Tx<'_>, given: &str) -> Result<Found<Worker>, StoreError> {
    let found = match WorkerId::parse(given) {
        Some(id) => tx.worker(id)?,
        None => {
            let found = tx.worker_by_email(&given.to_lowercase())?;
            found.map(|(worker, _)| worker)
        }
    };
    Ok(match found {
        Some(worker) => Found::One(Box::new(worker)),
        None => {
            let claims = tx.workers_claiming(&given.to_lowercase(), None, SHOWN)?;
            Found::claimed(claims, |worker| worker.id.to_string())
        }
    })
}
