//! Sends notifications by e-mail and Web Push.

use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::json;

use super::{Channels, Done, Failure, Jobs};
use crate::domain::job::storable;
use crate::domain::people::mail_link;
use crate::domain::{
    Notification, NotificationId, NotificationKind, NotificationStatus, PushSubscriptionId,
    Recipient, Timestamp,
};
use crate::mail::{Link, Mail, MailError, Message};
use crate::outbound::{EndpointUrl, OutboundError};
use crate::push::{self, PushError, Subscription};
use crate::store::{ClaimedJob, PushSubscription, StoreError, Tx};
use crate::usecases::{self, MadeLink, UseCaseError};

/// A notification that has not reached a browser by then is outdated.
const PUSH_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// They answer at once. One that does not keeps a place that mail could use.
const PUSH_TIME_LIMIT: Duration = Duration::from_secs(5);
/// One that fails after so long is left alone for a while.
const PUSH_SILENCE: Duration = Duration::from_secs(2);
/// When another is tried for a worker who has enough of them on their way.
const NEXT_PUSH_AFTER: Duration = Duration::from_secs(5);
/// Notifications in browsers are short. The e-mail has the full text.
const PUSH_CHARACTERS: usize = 300;
const GONE: u16 = 410;

pub async fn mail(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = notification_id(&job.name.subject)?;
    let now = jobs.clock.now();
    let letter = jobs.store.read(move |tx| letter(tx, id, now)).await?;
    let (status, error) = match (letter, &jobs.channels.mailer) {
        (Letter::None, _) => return jobs.finish(job).await,
        (Letter::Kept, _) | (_, None) => (NotificationStatus::Kept, None),
        (Letter::Late, _) => {
            let reason = "the link was no longer good when it could be sent";
            (NotificationStatus::Failed, Some(reason.to_owned()))
        }
        (Letter::Send(notification, link), Some(mailer)) => {
            let mail = mail_for(&jobs.channels, &notification, link.as_ref());
            match mailer.send(&mail).await {
                Ok(()) => (NotificationStatus::Sent, None),
                Err(MailError::Refused(reason)) => {
                    (NotificationStatus::Failed, Some(storable(&reason)))
                }
                Err(MailError::Unavailable(reason)) => return Err(Failure::Unavailable(reason)),
            }
        }
    };
    jobs.record(job, move |tx, now| {
        let sent_at = (status == NotificationStatus::Sent).then_some(now);
        Ok(tx.set_notification_status(id, status, error.as_deref(), sent_at)?)
    })
    .await
}

/// What to do with a notification.
enum Letter {
    /// There is none, or it was sent before.
    None,
    /// Its account has not confirmed the address: whoever reads the mail there may never have heard of
    /// us.
    Kept,
    /// It carries a link that is no longer good.
    Late,
    Send(Box<Notification>, Option<MadeLink>),
}

fn letter(tx: &mut Tx<'_>, id: NotificationId, now: Timestamp) -> Result<Letter, UseCaseError> {
    let notification = tx.notification(id)?;
    let Some(notification) =
        notification.filter(|notification| notification.status == NotificationStatus::Pending)
    else {
        return Ok(Letter::None);
    };
    if let Some(link) = mail_link::of_occasion(&notification.occasion) {
        let link = usecases::token_to_mail(tx, link, now)?;
        return Ok(link.map_or(Letter::Late, |link| {
            Letter::Send(Box::new(notification), Some(link))
        }));
    }
    let confirmed = match notification.to {
        Recipient::Account(id) => tx
            .account(id)?
            .is_none_or(|account| account.email_confirmed),
        Recipient::Worker(id) => tx.worker(id)?.is_none_or(|worker| worker.email_confirmed),
    };
    Ok(match confirmed {
        true => Letter::Send(Box::new(notification), None),
        false => Letter::Kept,
    })
}

/// The token of a link is in the mail, and nowhere else.
fn mail_for(channels: &Channels, notification: &Notification, made: Option<&MadeLink>) -> Mail {
    let to = |label: &str, path: &str| Link {
        label: label.to_owned(),
        url: format!("{}{path}", channels.public_url),
    };
    let link = match made {
        Some(made) => Some(to(made.link.purpose.label(), &made.path())),
        None => (notification.link.as_ref()).map(|path| to("Open Legwork", path)),
    };
    Mail {
        id: notification.id.to_string(),
        to: notification.email.clone(),
        message: Message {
            subject: notification.subject.clone(),
            paragraphs: notification.paragraphs.clone(),
            link,
        },
    }
}

pub async fn push(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let malformed = || Failure::Permanent("malformed job subject".to_owned());
    let (notification, subscription) = job.name.subject.split_once('/').ok_or_else(malformed)?;
    let notification = notification_id(notification)?;
    let subscription = PushSubscriptionId::parse(subscription).ok_or_else(malformed)?;
    let now = jobs.clock.now();
    // It may have waited for long: whoever subscribed may be signed out since.
    let found = jobs.store.read(move |tx| {
        Ok::<_, StoreError>((
            tx.notification(notification)?,
            tx.push_subscription(subscription, now)?,
        ))
    });
    let (Some(notification), Some(subscription)) = found.await? else {
        return jobs.finish(job).await;
    };
    let worker = subscription.worker;
    let settings = jobs.store.read(move |tx| tx.push_settings(worker));
    let settings: Result<_, StoreError> = settings.await;
    let settings = settings?;
    if !settings.allow(notification.kind) {
        return jobs.finish(job).await;
    }
    if let Some(recheck_after) = settings.quiet_for(now) {
        return Ok(Done::Waits {
            waits_for: None,
            recheck_after,
        });
    }
    if notification.created_at.plus(PUSH_LIFE) < now {
        return jobs.finish(job).await;
    }
    let Some(_on_its_way) = jobs.pushes.begin(worker) else {
        return Ok(Done::Waits {
            waits_for: None,
            recheck_after: NEXT_PUSH_AFTER,
        });
    };
    match send_push(jobs, &notification, &subscription, now).await? {
        200..=299 => jobs.finish(job).await,
        404 | GONE => {
            let id = subscription.id;
            jobs.record(job, move |tx, _| Ok(tx.drop_push_subscription(id)?))
                .await
        }
        status @ (429 | 500..=599) => Err(Failure::Unavailable(format!(
            "the push service answered {status}"
        ))),
        status => {
            tracing::warn!(job = %job.name, status, "the push service refused a notification");
            jobs.finish(job).await
        }
    }
}

/// Sends a notification to the push service of a browser. Returns the status code.
async fn send_push(
    jobs: &Jobs,
    notification: &Notification,
    subscription: &PushSubscription,
    now: Timestamp,
) -> Result<u16, Failure> {
    let Ok(url) = EndpointUrl::RULE.check(&subscription.endpoint) else {
        return Ok(GONE);
    };
    let channels = &jobs.channels;
    let begun = Instant::now();
    if jobs.pushes.silent.has(&url.origin(), begun) {
        let reason = "the push service did not answer a moment ago";
        return Err(Failure::Unavailable(reason.to_owned()));
    }
    let keys = Subscription {
        endpoint: &subscription.endpoint,
        p256dh: &subscription.p256dh,
        auth: &subscription.auth,
    };
    let text: String = notification.paragraphs.join(" ");
    let payload = json!({
        "id": notification.id.to_string(), "kind": notification.kind, "title": notification.subject,
        "body": text.chars().take(PUSH_CHARACTERS).collect::<String>(), "url": page_of(notification),
    });
    let (vapid, contact) = (&channels.vapid, &channels.contact);
    let payload = payload.to_string();
    let message = push::message(vapid, contact, &keys, payload.as_bytes(), PUSH_LIFE, now);
    let (headers, body) = match message {
        Ok(message) => message,
        // No browser created these keys, so no one could read the message.
        Err(PushError::Keys(_) | PushError::Endpoint) => return Ok(GONE),
        Err(error) => return Err(Failure::Permanent(error.to_string())),
    };
    let post = channels
        .outbound
        .post(&url, headers, Bytes::from(body), PUSH_TIME_LIMIT);
    match post.await {
        Ok(answer) => Ok(answer.status),
        // The URL does not lead to a push service, so the subscription is unusable.
        Err(OutboundError::Forbidden(_)) => Ok(GONE),
        Err(error) => {
            if begun.elapsed() >= PUSH_SILENCE {
                jobs.pushes.silent.add(url.origin(), Instant::now());
            }
            Err(Failure::Unavailable(error.to_string()))
        }
    }
}

/// The page of the workers' app that a click opens.
fn page_of(notification: &Notification) -> String {
    match (notification.task, notification.kind) {
        (Some(task), NotificationKind::Bounty) => format!("/worker/find/{task}"),
        (Some(task), _) => format!("/worker/tasks/{task}"),
        (None, _) => "/worker".to_owned(),
    }
}

fn notification_id(text: &str) -> Result<NotificationId, Failure> {
    NotificationId::parse(text)
        .ok_or_else(|| Failure::Permanent("malformed job subject".to_owned()))
}
