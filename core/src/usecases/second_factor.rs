//! The second factor of developers, workers and admin keys: codes of an app, and passkeys.

pub mod passkeys;

use serde_json::json;

use crate::domain::second_factor::{ADMIN_SESSION_LIFE, qr, recovery};
use crate::domain::{
    Actor, AdminKeyId, GivenCode, Person, RecoveryCodes, RequiredFactor, SecondFactor, Secret,
    Session, Timestamp, TotpSecret,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;

/// How the second factor of somebody stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactorStatus {
    pub enabled_at: Option<Timestamp>,
    pub recovery_codes_left: i64,
}

/// What somebody needs to add the factor to an app. Shown once.
#[derive(Clone, Debug)]
pub struct FactorSetup {
    pub secret: Secret,
    pub url: Secret,
    pub qr_svg: Secret,
}

impl FactorSetup {
    /// `label` tells one entry of the app from another: an e-mail address or the name of a key.
    pub fn new(secret: &TotpSecret, label: &str) -> Result<Self, StoreError> {
        let url = secret.url(label);
        let too_long = || StoreError::Failed("the QR code does not fit".into());
        Ok(Self {
            secret: Secret::presented(&secret.to_base32()),
            qr_svg: Secret::presented(&qr::svg(&url).ok_or_else(too_long)?),
            url: Secret::presented(&url),
        })
    }
}

/// What became of a code. The transaction must be kept whatever it was: it has used the code up, or
/// counted a wrong one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeCheck {
    Right,
    Wrong,
    /// Too many wrong ones. Nothing was looked at.
    BlockedUntil(Timestamp),
    /// There is no factor.
    Off,
}

pub fn second_factor_status(tx: &mut Tx<'_>, holder: Person) -> Result<FactorStatus, StoreError> {
    let enabled_at = tx.second_factor_enabled(holder)?;
    let recovery_codes_left = match enabled_at {
        Some(_) => tx.count_recovery_codes(holder)?,
        None => 0,
    };
    Ok(FactorStatus {
        enabled_at,
        recovery_codes_left,
    })
}

/// Keeps the secret of a factor until a right code turns it on. Beginning again replaces it.
pub fn begin_second_factor(
    tx: &mut Tx<'_>,
    holder: Person,
    secret: &TotpSecret,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    match tx.begin_second_factor(holder, secret, now)? {
        true => Ok(()),
        false => Err(UseCaseError::SecondFactorOn),
    }
}

/// Turns the factor on. `session` is the token of the worker or of the session in which this is done, and `given`
/// whether a factor was given in it: the app may have been begun before there was a passkey.
pub fn confirm_second_factor(
    tx: &mut Tx<'_>,
    holder: Person,
    (code, codes): (&GivenCode, &RecoveryCodes),
    (by, session, given): (&Actor, Option<&Secret>, bool),
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_factors(tx)?;
    let factor = tx.second_factor_to_change(holder)?;
    let factor = factor.ok_or(UseCaseError::SecondFactorOff)?;
    if factor.enabled_at.is_some() {
        return Err(UseCaseError::SecondFactorOn);
    }
    expect_given(tx, holder, given)?;
    let step = match code {
        GivenCode::App(code) => factor.secret.matching_step(code.expose(), now, 0),
        GivenCode::Recovery(_) => None,
    };
    let step = step.ok_or(UseCaseError::WrongCode)?;
    if !tx.enable_second_factor(holder, step, now)? {
        return Err(UseCaseError::SecondFactorOn);
    }
    tx.put_recovery_codes(holder, &codes.hashes(holder))?;
    if let Some(token) = session {
        mark(tx, holder, token)?;
    }
    recorded(tx, by, "second_factor.enabled", holder, now)
}

/// Notes that a factor was given with this token of a worker or of a session on the pages.
fn mark(tx: &mut Tx<'_>, holder: Person, token: &Secret) -> Result<(), UseCaseError> {
    let is_there = match holder {
        Person::Worker(_) => tx.mark_worker_token(&token.hash())?,
        Person::Account(_) | Person::Admin(_) => tx.mark_session(&token.hash())?,
    };
    match is_there {
        true => Ok(()),
        // Somebody has ended it meanwhile, perhaps with a new password.
        false => Err(UseCaseError::Unauthorized),
    }
}

/// How the second factor stands when somebody signs in with a right password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorAtSignIn {
    /// It passes, with a code or without a factor.
    Passes { given: bool },
    /// There is a factor, and no code was given.
    CodeRequired,
    /// The code did not pass.
    Refused(CodeCheck),
}

/// The transaction must be kept whatever it finds.
pub(in crate::usecases) fn factor_at_sign_in(
    tx: &mut Tx<'_>,
    holder: Person,
    code: Option<&GivenCode>,
    now: Timestamp,
) -> Result<FactorAtSignIn, StoreError> {
    if !has_factor(tx, holder)? {
        return Ok(FactorAtSignIn::Passes { given: false });
    }
    let Some(code) = code else {
        return Ok(FactorAtSignIn::CodeRequired);
    };
    Ok(match check_code(tx, holder, code, now)? {
        CodeCheck::Right => FactorAtSignIn::Passes { given: true },
        CodeCheck::Off => FactorAtSignIn::Passes { given: false },
        refused => FactorAtSignIn::Refused(refused),
    })
}

/// Where a factor is required of somebody, a session in which none was given opens nothing but the setup.
pub fn expect_factor(
    tx: &mut Tx<'_>,
    session: &Session,
    required: RequiredFactor,
) -> Result<(), UseCaseError> {
    if session.second_factor || !required.of(session.person) {
        return Ok(());
    }
    Err(match has_factor(tx, session.person)? {
        true => UseCaseError::SecondFactorRequired,
        false => UseCaseError::SecondFactorNotSetUp,
    })
}

/// Whether somebody signs in with more than the password or the key: with an app or with a passkey.
pub fn has_factor(tx: &mut Tx<'_>, holder: Person) -> Result<bool, StoreError> {
    Ok(tx.second_factor_enabled(holder)?.is_some() || has_passkey(tx, holder)?)
}

fn has_passkey(tx: &mut Tx<'_>, holder: Person) -> Result<bool, StoreError> {
    Ok(!tx.passkey_places(holder)?.is_empty())
}

/// Where somebody has a factor, whoever changes factors has given one in this session: the password alone, or a
/// session from before, is not enough. A first factor that is being added is waited for.
pub fn expect_given(tx: &mut Tx<'_>, holder: Person, given: bool) -> Result<(), UseCaseError> {
    hold_factors(tx)?;
    match given || !has_factor(tx, holder)? {
        true => Ok(()),
        false => Err(UseCaseError::SecondFactorRequired),
    }
}

/// Checks a code and uses it up.
pub fn check_code(
    tx: &mut Tx<'_>,
    holder: Person,
    code: &GivenCode,
    now: Timestamp,
) -> Result<CodeCheck, StoreError> {
    let factor = tx.second_factor_to_change(holder)?;
    let Some(factor) = factor.filter(|factor| factor.enabled_at.is_some()) else {
        return check_without_app(tx, holder, code);
    };
    let is_right = match code {
        GivenCode::Recovery(code) => tx.use_recovery_code(holder, &recovery::hash(holder, code))?,
        GivenCode::App(code) => match factor.wrong.blocked_until(now) {
            Some(until) => return Ok(CodeCheck::BlockedUntil(until)),
            None => is_unused(tx, holder, &factor, code, now)?,
        },
    };
    if is_right {
        return Ok(CodeCheck::Right);
    }
    tx.count_wrong_code(holder, factor.wrong.and_one(now))?;
    Ok(CodeCheck::Wrong)
}

/// Whoever has passkeys alone has recovery codes too. They are too long to be guessed, so nothing is counted.
fn check_without_app(
    tx: &mut Tx<'_>,
    holder: Person,
    code: &GivenCode,
) -> Result<CodeCheck, StoreError> {
    if !has_passkey(tx, holder)? {
        return Ok(CodeCheck::Off);
    }
    let is_right = match code {
        GivenCode::Recovery(code) => tx.use_recovery_code(holder, &recovery::hash(holder, code))?,
        GivenCode::App(_) => false,
    };
    Ok(match is_right {
        true => CodeCheck::Right,
        false => CodeCheck::Wrong,
    })
}

/// Whether the code is right now and was not used before. Then it is used.
fn is_unused(
    tx: &mut Tx<'_>,
    holder: Person,
    factor: &SecondFactor,
    code: &Secret,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let step = factor
        .secret
        .matching_step(code.expose(), now, factor.last_step);
    match step {
        Some(step) => tx.use_step(holder, step),
        None => Ok(false),
    }
}

/// Locks the end of the audit log, where every change of a factor is written: of two that are made at once, the
/// second sees what the first has made of the factors.
fn hold_factors(tx: &mut Tx<'_>) -> Result<(), UseCaseError> {
    tx.audit_head_to_change()?;
    Ok(())
}

/// Turns the app off. The caller has checked a code.
pub fn turn_off_second_factor(
    tx: &mut Tx<'_>,
    holder: Person,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_factors(tx)?;
    // Sessions and recovery codes belong to the passkeys too.
    let was_on = match has_passkey(tx, holder)? {
        true => tx.drop_app(holder)?,
        false => {
            let was_on = tx.drop_second_factor(holder)?;
            unmark(tx, holder)?;
            was_on
        }
    };
    end_admin_sessions(tx, holder)?;
    if !was_on {
        return Err(UseCaseError::SecondFactorOff);
    }
    recorded(tx, by, "second_factor.disabled", holder, now)
}

/// An operator helps somebody who has lost app, passkeys and recovery codes. False if there was no factor.
pub fn reset_second_factor(
    tx: &mut Tx<'_>,
    holder: Person,
    by: &Actor,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    hold_factors(tx)?;
    let removed = tx.drop_factors(holder)?;
    unmark(tx, holder)?;
    end_admin_sessions(tx, holder)?;
    if removed {
        recorded(tx, by, "second_factor.reset", holder, now)?;
    }
    Ok(removed)
}

/// A factor that is gone was given in no session. After it is gone: somebody who signs in with a code holds the
/// factor until the session is there.
fn unmark(tx: &mut Tx<'_>, holder: Person) -> Result<(), StoreError> {
    tx.unmark_sessions(holder)?;
    match holder {
        Person::Worker(worker) => tx.unmark_worker_tokens(worker),
        Person::Account(_) | Person::Admin(_) => Ok(()),
    }
}

/// Those of the API are opened with codes.
fn end_admin_sessions(tx: &mut Tx<'_>, holder: Person) -> Result<(), StoreError> {
    match holder {
        Person::Admin(key) => tx.end_admin_sessions_of(key),
        Person::Account(_) | Person::Worker(_) => Ok(()),
    }
}

/// Replaces the recovery codes. The caller has checked a code or a passkey.
pub fn replace_recovery_codes(
    tx: &mut Tx<'_>,
    holder: Person,
    codes: &RecoveryCodes,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    hold_factors(tx)?;
    if !has_factor(tx, holder)? {
        return Err(UseCaseError::SecondFactorOff);
    }
    tx.put_recovery_codes(holder, &codes.hashes(holder))?;
    let action = "second_factor.codes_replaced";
    recorded(tx, by, action, holder, now)
}

/// Opens a session for an admin key. The caller has checked a code. Returns when it ends.
pub fn open_admin_session(
    tx: &mut Tx<'_>,
    key: AdminKeyId,
    token: &Secret,
    now: Timestamp,
) -> Result<Timestamp, UseCaseError> {
    let (by, holder) = (Actor::admin(key), Person::Admin(key));
    // The factor may have been reset since, to end what was opened with it.
    hold_factors(tx)?;
    if !has_factor(tx, holder)? {
        return Err(UseCaseError::SecondFactorOff);
    }
    let expires_at = now.plus(ADMIN_SESSION_LIFE);
    tx.add_admin_session(&token.hash(), key, now, expires_at)?;
    recorded(tx, &by, "admin_key.signed_in", holder, now)?;
    Ok(expires_at)
}

/// Comes last in the transaction.
pub(in crate::usecases) fn recorded(
    tx: &mut Tx<'_>,
    by: &Actor,
    action: &str,
    holder: Person,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let subject = subject_of(holder);
    audit(tx, by, action, subject, &holder.id(), json!({}), now)
}

fn subject_of(holder: Person) -> &'static str {
    match holder {
        Person::Account(_) => "account",
        Person::Worker(_) => "worker",
        Person::Admin(_) => "admin_key",
    }
}
