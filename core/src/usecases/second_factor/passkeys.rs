//! Passkeys: makes challenges, keeps new ones, and notes their use.

use serde_json::json;

use super::{end_admin_sessions, has_factor, hold_factors, mark, subject_of, unmark};
use crate::ambient;
use crate::domain::events::notification;
use crate::domain::second_factor::passkeys::{MAX_FOR_PERSON, NewCredential, encoded};
use crate::domain::{
    Actor, Challenge, ChallengeId, ChallengePurpose, NotificationKind, Passkey, PasskeyId, Person,
    RecoveryCodes, Secret, SessionId, Timestamp,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;
use crate::usecases::people::password_given_again;

/// A challenge for a page. The text is told this once.
#[derive(Clone, Debug)]
pub struct NewChallenge {
    pub id: ChallengeId,
    pub text: String,
}

/// `holder` is who must answer it, if that is known.
pub fn new_challenge(
    tx: &mut Tx<'_>,
    purpose: ChallengePurpose,
    holder: Option<Person>,
    now: Timestamp,
) -> Result<NewChallenge, StoreError> {
    let id = ChallengeId::new(now, &ambient::random());
    let random = ambient::random();
    let challenge = Challenge::new(id, (purpose, holder), &random, now);
    tx.add_challenge(&challenge)?;
    Ok(NewChallenge {
        id,
        text: encoded(&random),
    })
}

/// Uses a challenge up. None if there is none, if it has expired, or if it was made for something else. The
/// transaction must be kept whatever it finds.
pub fn take_challenge(
    tx: &mut Tx<'_>,
    id: ChallengeId,
    purposes: &[ChallengePurpose],
    now: Timestamp,
) -> Result<Option<Challenge>, StoreError> {
    let taken = tx.take_challenge(id)?;
    Ok(taken
        .filter(|challenge| now < challenge.expires_at && purposes.contains(&challenge.purpose)))
}

/// What became of a new passkey.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddedPasskey {
    /// It is kept. As the first factor it came with the recovery codes.
    Added { with_codes: bool },
    /// Somebody has it already.
    Known,
    /// There is no place left.
    TooMany,
}

/// A new passkey, as its owner has named it.
#[derive(Clone, Debug)]
pub struct NewPasskey {
    pub credential: NewCredential,
    pub name: String,
}

/// Keeps a passkey that was checked. `session` is the token of the session in which this is done.
pub fn add_passkey(
    tx: &mut Tx<'_>,
    holder: Person,
    (new, codes): (&NewPasskey, &RecoveryCodes),
    (by, session): (&Actor, &Secret),
    now: Timestamp,
) -> Result<AddedPasskey, UseCaseError> {
    hold_factors(tx)?;
    let credential = &new.credential;
    if tx.passkey(&credential.id)?.is_some() {
        return Ok(AddedPasskey::Known);
    }
    let taken = tx.passkey_places(holder)?;
    let free = (1..=MAX_FOR_PERSON as i64).find(|place| !taken.contains(place));
    let Some(place) = free else {
        return Ok(AddedPasskey::TooMany);
    };
    let with_codes = !has_factor(tx, holder)?;
    let passkey = Passkey {
        id: PasskeyId::new(now, &ambient::random()),
        holder,
        credential_id: credential.id.clone(),
        key: credential.key.clone(),
        counter: credential.counter,
        name: new.name.clone(),
        created_at: now,
        last_used_at: None,
    };
    tx.add_passkey(&passkey, place)?;
    if with_codes {
        // An app that somebody has begun must not be confirmed behind the passkey.
        tx.drop_app(holder)?;
        tx.put_recovery_codes(holder, &codes.hashes(holder))?;
    }
    mark(tx, holder, session)?;
    tell(tx, &passkey, now)?;
    recorded(tx, by, "passkey.added", (holder, passkey.id), now)?;
    Ok(AddedPasskey::Added { with_codes })
}

/// Somebody else may have added it. Admins have no address.
fn tell(tx: &mut Tx<'_>, passkey: &Passkey, now: Timestamp) -> Result<(), UseCaseError> {
    let (kind, occasion) = (
        NotificationKind::PasskeyAdded,
        format!("passkey_added:{}", passkey.id),
    );
    match passkey.holder {
        Person::Account(id) => {
            let text = notification::passkey_added(&passkey.name, "/account/passkeys");
            notify::developer(tx, id, kind, occasion, text, now)
        }
        Person::Worker(id) => {
            let text = notification::passkey_added(&passkey.name, "/worker/me/passkeys");
            notify::worker(tx, id, kind, occasion, text, now)
        }
        Person::Admin(_) => Ok(()),
    }
}

/// Removes a passkey. With the last factor go the recovery codes, and sessions count as without one. False if the
/// holder has no such passkey.
pub fn remove_passkey(
    tx: &mut Tx<'_>,
    (holder, id): (Person, PasskeyId),
    by: &Actor,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    hold_factors(tx)?;
    if !tx.remove_passkey(holder, id)? {
        return Ok(false);
    }
    if !has_factor(tx, holder)? {
        tx.drop_second_factor(holder)?;
        unmark(tx, holder)?;
        end_admin_sessions(tx, holder)?;
    }
    recorded(tx, by, "passkey.removed", (holder, id), now)?;
    Ok(true)
}

/// A passkey whose answer was checked, but for the counter.
#[derive(Clone, Debug)]
pub struct UsedPasskey {
    pub holder: Person,
    pub credential_id: String,
    pub counter: u32,
}

/// The passkey with this credential, and the name under which attempts to sign in with it are counted: the same as for the
/// password.
pub fn passkey_to_try(
    tx: &mut Tx<'_>,
    credential_id: &str,
) -> Result<Option<(Passkey, String)>, StoreError> {
    let Some(passkey) = tx.passkey(credential_id)? else {
        return Ok(None);
    };
    let name = name_to_count(tx, passkey.holder)?;
    Ok(name.map(|name| (passkey, name)))
}

/// The passkey with this credential if it is this person's, and the name under which the attempt is counted in any case.
pub fn own_passkey_to_try(
    tx: &mut Tx<'_>,
    holder: Person,
    credential_id: &str,
) -> Result<(Option<Passkey>, String), UseCaseError> {
    let passkey = tx.passkey(credential_id)?;
    let name = name_to_count(tx, holder)?.ok_or(UseCaseError::Unauthorized)?;
    Ok((passkey.filter(|passkey| passkey.holder == holder), name))
}

fn name_to_count(tx: &mut Tx<'_>, holder: Person) -> Result<Option<String>, StoreError> {
    Ok(match holder {
        Person::Account(id) => tx.account(id)?.map(|account| account.email.to_lowercase()),
        Person::Worker(id) => tx.worker(id)?.map(|worker| worker.email.to_lowercase()),
        Person::Admin(id) => Some(id.to_string()),
    })
}

/// A passkey has answered once more in a session: what is dangerous is allowed there for the next minutes. False if its
/// counter went back. The transaction must be kept whatever it finds.
pub fn passkey_given_again(
    tx: &mut Tx<'_>,
    used: &UsedPasskey,
    session: SessionId,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let taken = use_passkey(tx, used, now)?;
    if taken {
        password_given_again(tx, session, now)?;
    }
    Ok(taken)
}

/// Notes that a passkey has answered, and what it counts. False if its counter went back, which is recorded. The
/// transaction must be kept whatever it finds.
pub(in crate::usecases) fn use_passkey(
    tx: &mut Tx<'_>,
    used: &UsedPasskey,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let passkey = tx.passkey_to_change(&used.credential_id)?;
    // It may have been removed since it was checked.
    let passkey = passkey.filter(|passkey| passkey.holder == used.holder);
    let passkey = passkey.ok_or(UseCaseError::WrongPassword)?;
    let Some(counted) = passkey.counted(used.counter) else {
        let (by, subject) = (Actor::SERVICE, (used.holder, passkey.id));
        recorded(tx, &by, "passkey.counter_went_back", subject, now)?;
        return Ok(false);
    };
    tx.passkey_used(passkey.id, counted, now)?;
    Ok(true)
}

/// Comes last in the transaction.
fn recorded(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    (holder, passkey): (Person, PasskeyId),
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let details = json!({"passkey_id": passkey.to_string()});
    let subject = subject_of(holder);
    audit(tx, by, action, subject, &holder.id(), details, now)
}
