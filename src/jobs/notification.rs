//! Notices on their way to people: by e-mail, and into their browsers.

use std::time::Duration;

use bytes::Bytes;
use serde_json::json;

use super::{Channels, Done, Failure, Jobs};
use crate::domain::{
    Notification, NotificationId, NotificationStatus, PushSubscriptionId, Timestamp,
};
use crate::mail::{Link, Mail, MailError, Message};
use crate::outbound::{EndpointUrl, OutboundError};
use crate::push::{self, PushError, Subscription};
use crate::store::{ClaimedJob, PushSubscription, StoreError};

/// A notice that has not reached a browser after that long is old news.
const PUSH_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
const PUSH_TIME_LIMIT: Duration = Duration::from_secs(15);
/// What is shown in a small window; the rest is in the mail.
const PUSH_CHARACTERS: usize = 300;
const GONE: u16 = 410;

pub async fn mail(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let id = notice_id(&job.name.subject)?;
    let notice = jobs.store.read(move |tx| tx.notification(id)).await?;
    let Some(notice) = notice.filter(|notice| notice.status == NotificationStatus::Pending) else {
        return jobs.finish(job).await;
    };
    let (status, error) = match &jobs.channels.mailer {
        None => (NotificationStatus::Kept, None),
        Some(mailer) => match mailer.send(&mail_for(&jobs.channels, &notice)).await {
            Ok(()) => (NotificationStatus::Sent, None),
            Err(MailError::Refused(reason)) => (NotificationStatus::Failed, Some(reason)),
            Err(MailError::Unavailable(reason)) => return Err(Failure::Unavailable(reason)),
        },
    };
    jobs.record(job, move |tx, now| {
        let sent_at = (status == NotificationStatus::Sent).then_some(now);
        Ok(tx.set_notification_status(id, status, error.as_deref(), sent_at)?)
    })
    .await
}

fn mail_for(channels: &Channels, notice: &Notification) -> Mail {
    let link = notice.link.as_ref().map(|path| Link {
        label: "Open Legwork".to_owned(),
        url: format!("{}{path}", channels.public_url),
    });
    Mail {
        id: notice.id.to_string(),
        to: notice.email.clone(),
        message: Message {
            subject: notice.subject.clone(),
            paragraphs: notice.paragraphs.clone(),
            link,
        },
    }
}

pub async fn push(jobs: &Jobs, job: &ClaimedJob) -> Result<Done, Failure> {
    let malformed = || Failure::Hopeless("the subject is no notice and subscription".to_owned());
    let (notice, subscription) = job.name.subject.split_once('/').ok_or_else(malformed)?;
    let notice = notice_id(notice)?;
    let subscription = PushSubscriptionId::parse(subscription).ok_or_else(malformed)?;
    let found = jobs.store.read(move |tx| {
        Ok::<_, StoreError>((
            tx.notification(notice)?,
            tx.push_subscription(subscription)?,
        ))
    });
    let (Some(notice), Some(subscription)) = found.await? else {
        return jobs.finish(job).await;
    };
    let now = jobs.clock.now();
    if notice.created_at.plus(PUSH_LIFE) < now {
        return jobs.finish(job).await;
    }
    match show(&jobs.channels, &notice, &subscription, now).await? {
        200..=299 => jobs.finish(job).await,
        404 | GONE => {
            let id = subscription.id;
            jobs.record(job, move |tx, _| Ok(tx.drop_push_subscription(id)?))
                .await
        }
        status @ (429 | 500..=599) => Err(Failure::Unavailable(format!("it answered {status}"))),
        status => {
            tracing::warn!(job = %job.name, status, "a push service does not want a notice");
            jobs.finish(job).await
        }
    }
}

/// Hands a notice to the push service of a browser; tells its answer.
async fn show(
    channels: &Channels,
    notice: &Notification,
    subscription: &PushSubscription,
    now: Timestamp,
) -> Result<u16, Failure> {
    let Ok(url) = EndpointUrl::rule(&subscription.endpoint) else {
        return Ok(GONE);
    };
    let keys = Subscription {
        endpoint: &subscription.endpoint,
        p256dh: &subscription.p256dh,
        auth: &subscription.auth,
    };
    let text: String = notice.paragraphs.join(" ");
    let payload = json!({
        "id": notice.id.to_string(), "kind": notice.kind, "title": notice.subject,
        "body": text.chars().take(PUSH_CHARACTERS).collect::<String>(),
    });
    let (vapid, contact) = (&channels.vapid, &channels.contact);
    let payload = payload.to_string();
    let message = push::message(vapid, contact, &keys, payload.as_bytes(), PUSH_LIFE, now);
    let (headers, body) = match message {
        Ok(message) => message,
        // No browser made these keys: nobody can read there.
        Err(PushError::Keys(_) | PushError::Endpoint) => return Ok(GONE),
        Err(error) => return Err(Failure::Hopeless(error.to_string())),
    };
    let post = channels
        .outbound
        .post(&url, headers, Bytes::from(body), PUSH_TIME_LIMIT);
    match post.await {
        Ok(answer) => Ok(answer.status),
        // It leads where no push service is: as good as gone.
        Err(OutboundError::Forbidden(_)) => Ok(GONE),
        Err(fault) => Err(Failure::Unavailable(fault.to_string())),
    }
}

fn notice_id(text: &str) -> Result<NotificationId, Failure> {
    NotificationId::parse(text)
        .ok_or_else(|| Failure::Hopeless("the subject is no notice".to_owned()))
}
