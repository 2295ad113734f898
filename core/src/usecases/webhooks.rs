//! A developer's webhook endpoint, and the outcome of its deliveries.

use std::time::Duration;

use serde_json::{Value, json};

use crate::ambient;
use crate::domain::events::notification;
use crate::domain::webhooks::delivery::{
    FAILING_LIMIT, MAX_OLD_SECRETS, OLD_SECRET_LIFE, next_try,
};
use crate::domain::{
    AccountId, Actor, Attempt, Delivery, DeliveryStatus, DueDelivery, Environment, EventId,
    EventType, JobKind, JobName, NotificationKind, Owner, Timestamp,
};
use crate::store::{Endpoint, FailedSpan, LastEvents, RecordedDelivery, StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::admin::audit;
use crate::usecases::events::notify;

/// Sets the endpoint. Returns the signing secret, which stays the same when the endpoint changes.
pub fn put_webhook(
    tx: &mut Tx<'_>,
    account: AccountId,
    url: &str,
    events: &[EventType],
    new_secret: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<String, UseCaseError> {
    let secret = tx.put_webhook(account, url, events, new_secret, now)?;
    // The URL may contain a secret of the developer's, so it is not logged.
    let details = json!({"events": events});
    record(tx, account, by, "webhook.set", details, now)?;
    Ok(secret)
}

fn record(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &Actor,
    action: &str,
    details: Value,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let id = account.to_string();
    audit(tx, by, action, "account", &id, details, now)
}

pub fn endpoint_of(tx: &mut Tx<'_>, account: AccountId) -> Result<Endpoint, UseCaseError> {
    tx.endpoint(account)?
        .ok_or(UseCaseError::WebhookNotConfigured)
}

pub fn remove_webhook(
    tx: &mut Tx<'_>,
    account: AccountId,
    by: &Actor,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    if drop_webhook(tx, account, now)? {
        record(tx, account, by, "webhook.removed", json!({}), now)?;
    }
    Ok(())
}

/// Returns false if there is no webhook.
pub(super) fn drop_webhook(
    tx: &mut Tx<'_>,
    account: AccountId,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    let removed = tx.remove_webhook(account, now)?;
    if removed {
        give_up_later(tx, account, now)?;
    }
    Ok(removed)
}

/// The old secrets sign for a while. None of them may stop earlier because of the next rotation, so a
/// rotation that would need room for a fourth one is refused.
pub fn rotate_webhook_secret(
    tx: &mut Tx<'_>,
    account: AccountId,
    new_secret: &str,
    by: &Actor,
    now: Timestamp,
) -> Result<Endpoint, UseCaseError> {
    let endpoint = tx
        .endpoint_to_change(account)?
        .ok_or(UseCaseError::WebhookNotConfigured)?;
    let until = endpoint.old_secrets.iter().map(|old| old.until);
    let signing: Vec<_> = until.filter(|until| *until > now).collect();
    if let (true, Some(free_at)) = (signing.len() >= MAX_OLD_SECRETS, signing.last()) {
        return Err(UseCaseError::RotatedRecently { free_at: *free_at });
    }
    tx.rotate_webhook_secret(account, new_secret, now.plus(OLD_SECRET_LIFE), now)?;
    let rotated = endpoint_of(tx, account)?;
    record(tx, account, by, "webhook.secret_rotated", json!({}), now)?;
    Ok(rotated)
}

/// Sends an event again, whatever its status.
pub fn redeliver(
    tx: &mut Tx<'_>,
    owner: Owner,
    event: Option<EventId>,
    now: Timestamp,
) -> Result<Delivery, UseCaseError> {
    let event = event.ok_or(UseCaseError::DeliveryNotFound)?;
    tx.delivery(owner, event)?
        .ok_or(UseCaseError::DeliveryNotFound)?;
    if endpoint_of(tx, owner.account)?.disabled.is_some() {
        return Err(UseCaseError::WebhookDisabled);
    }
    tx.redeliver(owner, event, now)?;
    tx.delivery(owner, event)?
        .ok_or(UseCaseError::DeliveryNotFound)
}

/// How many failed deliveries are looked at in one transaction.
const RECOVERED_AT_ONCE: i64 = 500;

/// How many deliveries a request has made due again, and whether a job goes on with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recovered {
    pub deliveries: u64,
    pub more: bool,
}

/// Sends again what has failed since a time, oldest first. There may be very many, so a job does what
/// is more than a page. While it does, further requests change nothing.
pub fn recover_deliveries(
    tx: &mut Tx<'_>,
    owner: Owner,
    since: Timestamp,
    now: Timestamp,
) -> Result<Recovered, UseCaseError> {
    if endpoint_of(tx, owner.account)?.disabled.is_some() {
        return Err(UseCaseError::WebhookDisabled);
    }
    // Of two who ask at once, the second sees the job of the first.
    tx.account_to_change(owner.account)?;
    let whose = format!("{}/{}", owner.account, owner.environment);
    if tx.has_job_about(JobKind::RecoverDeliveries, &whose)? {
        return Ok(Recovered {
            deliveries: 0,
            more: true,
        });
    }
    let asked_at = tx.after_all_failures(owner, now)?;
    let span = FailedSpan { since, asked_at };
    let (deliveries, next) = tx.recover_deliveries(owner, span, 0, RECOVERED_AT_ONCE, now)?;
    if next.is_some() {
        let (since, asked_at) = (since.as_millis(), asked_at.as_millis());
        let subject = format!("{whose}/{since}/{asked_at}");
        tx.add_job(&JobName::new(JobKind::RecoverDeliveries, subject), now)?;
    }
    Ok(Recovered {
        deliveries,
        more: next.is_some(),
    })
}

/// Does a page of what a request asked for. Returns after which number to go on.
pub fn recover_page(
    tx: &mut Tx<'_>,
    subject: &str,
    after: i64,
    now: Timestamp,
) -> Result<Option<i64>, UseCaseError> {
    let malformed = || StoreError::Failed("malformed job subject".into());
    let parts: Vec<_> = subject.split('/').collect();
    let [account, environment, since, asked_at] = parts[..] else {
        return Err(malformed().into());
    };
    let owner = Owner {
        account: AccountId::parse(account).ok_or_else(malformed)?,
        environment: Environment::parse(environment).ok_or_else(malformed)?,
    };
    let time = |text: &str| text.parse().map(Timestamp::from_millis);
    let span = FailedSpan {
        since: time(since).map_err(|_| malformed())?,
        asked_at: time(asked_at).map_err(|_| malformed())?,
    };
    // It may have been removed or disabled since.
    match tx.endpoint(owner.account)? {
        Some(endpoint) if endpoint.disabled.is_none() => {}
        _ => return Ok(None),
    }
    let (_, next) = tx.recover_deliveries(owner, span, after, RECOVERED_AT_ONCE, now)?;
    Ok(next)
}

/// A delivery and the outcome of its attempt.
#[derive(Clone, Debug)]
pub struct DeliveryOutcome {
    pub delivery: DueDelivery,
    pub attempt: Attempt,
    /// That of the endpoint that it was sent to.
    pub version: Timestamp,
}

/// How an endpoint stands after an outcome was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndpointHealth {
    Works,
    FailingSince(Timestamp),
    Disabled,
    /// Its settings were changed after this was sent, so the outcome says nothing about it.
    Unknown,
}

/// Records the outcome of deliveries to one endpoint, schedules retries, and disables the endpoint
/// if it has failed for too long. One that gets an event a week is not disabled by its first failure:
/// a delivery must have been given up.
pub fn record_deliveries(
    tx: &mut Tx<'_>,
    endpoint: &Endpoint,
    outcomes: &[DeliveryOutcome],
    delays: &[Duration],
    now: Timestamp,
) -> Result<EndpointHealth, UseCaseError> {
    // A test environment's own clock is read only if it is needed.
    let tested = |outcome: &DeliveryOutcome| outcome.delivery.environment == Environment::Test;
    let ahead = match outcomes.iter().any(tested) {
        true => tx.test_clock(endpoint.account)?,
        false => Duration::ZERO,
    };
    let mut given_up = false;
    for outcome in outcomes {
        let DeliveryOutcome {
            delivery, attempt, ..
        } = outcome;
        let at = match delivery.environment {
            Environment::Test => now.plus(ahead),
            Environment::Live => now,
        };
        let again = next_try(delivery.tries + 1, delays, ambient::random());
        let current = outcome.version == endpoint.version;
        let gone = attempt.gone() && current;
        let (status, due_at) = match (attempt.delivered(), again) {
            (true, _) => (DeliveryStatus::Delivered, None),
            (false, Some(delay)) if !gone => (DeliveryStatus::Pending, Some(now.plus(delay))),
            (false, _) => (DeliveryStatus::Failed, None),
        };
        given_up |= current && status == DeliveryStatus::Failed;
        let attempts = attempt
            .appended_to(&delivery.attempts)
            .map_err(|e| StoreError::Failed(format!("attempts of {}: {e}", delivery.event)))?;
        tx.record_delivery(
            &RecordedDelivery {
                event: delivery.event,
                status,
                due_at,
                attempts,
                status_code: attempt.status_code,
                tries: delivery.tries,
                known_characters: delivery.attempts.chars().count() as i64,
            },
            at,
        )?;
    }
    judge(tx, endpoint, outcomes, given_up, now)
}

/// Disables an endpoint that is gone or has failed for days, and notifies its owner.
fn judge(
    tx: &mut Tx<'_>,
    endpoint: &Endpoint,
    outcomes: &[DeliveryOutcome],
    given_up: bool,
    now: Timestamp,
) -> Result<EndpointHealth, UseCaseError> {
    let of_it = |outcome: &&DeliveryOutcome| outcome.version == endpoint.version;
    let counted: Vec<_> = outcomes.iter().filter(of_it).map(|o| &o.attempt).collect();
    if counted.is_empty() {
        return Ok(EndpointHealth::Unknown);
    }
    if counted.iter().any(|attempt| attempt.gone()) {
        return disable(tx, endpoint, "it answered 410 Gone", now);
    }
    if counted.iter().any(|attempt| attempt.delivered()) {
        if endpoint.failing_since.is_some() {
            tx.set_failing(endpoint, None)?;
        }
        return Ok(EndpointHealth::Works);
    }
    match endpoint.failing_since {
        None => {
            tx.set_failing(endpoint, Some(now))?;
            Ok(EndpointHealth::FailingSince(now))
        }
        Some(since) if given_up && since.plus(FAILING_LIMIT) <= now => {
            disable(tx, endpoint, "no delivery succeeded for three days", now)
        }
        Some(since) => Ok(EndpointHealth::FailingSince(since)),
    }
}

fn disable(
    tx: &mut Tx<'_>,
    endpoint: &Endpoint,
    because: &str,
    now: Timestamp,
) -> Result<EndpointHealth, UseCaseError> {
    let account = endpoint.account;
    if !tx.disable_endpoint(endpoint, because, now)? {
        return Ok(EndpointHealth::Unknown);
    }
    give_up_later(tx, account, now)?;
    let occasion = format!("webhook_disabled:{account}:{}", now.as_millis());
    let words = notification::webhook_disabled(&endpoint.url, because);
    notify::developer(
        tx,
        account,
        NotificationKind::WebhookDisabled,
        occasion,
        words,
        now,
    )?;
    Ok(EndpointHealth::Disabled)
}

/// There may be very many deliveries, so a job does it.
fn give_up_later(tx: &mut Tx<'_>, account: AccountId, now: Timestamp) -> Result<(), UseCaseError> {
    let LastEvents { live, test } = tx.last_events(account)?;
    let subject = format!("{account}/{}/{live}/{test}", now.as_millis());
    Ok(tx.add_job(&JobName::new(JobKind::GiveUpDeliveries, subject), now)?)
}

/// Gives up some of the deliveries that were created before their endpoint was removed. Returns
/// whether there may be more.
pub fn give_up_deliveries(
    tx: &mut Tx<'_>,
    subject: &str,
    now: Timestamp,
) -> Result<bool, UseCaseError> {
    const AT_ONCE: u64 = 500;
    let malformed = || StoreError::Failed("malformed job subject".into());
    let parts: Vec<_> = subject.split('/').collect();
    let account = AccountId::parse(parts[0]).ok_or_else(malformed)?;
    let number = |text: &str| text.parse().map_err(|_| malformed());
    let last = match parts[1..] {
        [_, live, test] => LastEvents {
            live: number(live)?,
            test: number(test)?,
        },
        // From before an upgrade.
        [_] => tx.last_events(account)?,
        _ => return Err(malformed().into()),
    };
    Ok(tx.give_up_deliveries(account, last, AT_ONCE as i64, now)? == AT_ONCE)
}
