//! Whose password may be the one that somebody gives.

use crate::domain::AccountId;
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// The newest claims of an address that are looked at when nothing can be confirmed.
const CLAIMS: i64 = 2;

/// The accounts that an address may mean, with the hashes of their passwords. The number does not
/// depend on what is known of the address: one that is missing is to be checked against a decoy.
///
/// Whoever has not confirmed an address cannot sign in with it. Otherwise a stranger could sign up with
/// the address, sign in, and learn from the outcome whether it was free. Without a mail server nobody
/// can confirm one, so the newest claims are looked at too.
pub fn sign_in_candidates(
    tx: &mut Tx<'_>,
    email: &str,
    sends_mail: bool,
) -> Result<Vec<Option<(AccountId, String)>>, UseCaseError> {
    let mut found = vec![tx.account_by_email(email)?.map(|account| account.id)];
    if !sends_mail {
        let claims = tx.claims_of(email, None, CLAIMS)?;
        found.extend(claims.into_iter().map(|account| Some(account.id)));
        found.resize(CLAIMS as usize + 1, None);
    }
    let with_password = |id: Option<AccountId>| {
        let Some(id) = id else {
            return Ok(None);
        };
        Ok(tx.account_password(id)?.map(|hash| (id, hash)))
    };
    found.into_iter().map(with_password).collect()
}
