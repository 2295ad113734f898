//! Notifications to workers and developers.

use crate::domain::{
    AccountId, Notification, NotificationId, NotificationStatus, Recipient, Timestamp, WorkerId,
};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro notification;
    table notices;
    fn notification_values<'a>(notification: &'a Notification);
    columns {
        id: notification.id,
        occasion: &notification.occasion,
        kind: notification.kind,
        email: &notification.email,
        account_id: account(&notification.to),
        worker_id: worker(&notification.to),
        subject: &notification.subject,
        paragraphs: &notification.paragraphs,
        link: &notification.link,
        status: notification.status,
        error: &notification.error,
        sent_at: notification.sent_at,
        created_at: notification.created_at,
    }
    row Notification = Notification {
        id,
        occasion,
        kind,
        email,
        to: recipient(account_id, worker_id)?,
        subject,
        paragraphs,
        link,
        status,
        error,
        sent_at,
        created_at,
    };
}

crate::store::statements! {
    ADD = concat!(notification!(insert), " ON CONFLICT (occasion) DO NOTHING");
    ONE = concat!("SELECT ", notification!(columns), " FROM notices WHERE id = ?1");
    BEFORE = concat!("SELECT ", notification!(columns), " FROM notices WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    SET_STATUS = "UPDATE notices SET status = ?2, error = ?3, sent_at = ?4 WHERE id = ?1";
    PRUNE = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE id < ?1 ORDER BY id LIMIT ?2)";
}

impl Tx<'_> {
    /// False when there is a notification of this occasion already.
    pub fn add_notification(&mut self, notification: &Notification) -> Result<bool, StoreError> {
        Ok(self.execute(ADD, &notification_values(notification))? == 1)
    }

    pub fn notification(&mut self, id: NotificationId) -> Result<Option<Notification>, StoreError> {
        self.optional(ONE, &[id.into()])
    }

    /// Up to `limit` notifications before the given one, newest first.
    pub fn notifications_before(
        &mut self,
        before: Option<NotificationId>,
        limit: i64,
    ) -> Result<Vec<Notification>, StoreError> {
        let before = crate::store::before(before);
        self.all(BEFORE, &[before.into(), limit.into()])
    }

    pub fn set_notification_status(
        &mut self,
        id: NotificationId,
        status: NotificationStatus,
        error: Option<&str>,
        sent_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let values = [id.into(), status.into(), error.into(), sent_at.into()];
        self.defer(SET_STATUS, &values)
    }

    /// Deletes up to `limit` notifications from before that time; returns how many.
    pub fn prune_notifications(
        &mut self,
        before: Timestamp,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let first_kept = NotificationId::new(before, &[0; 10]);
        self.execute(PRUNE, &[first_kept.into(), limit.into()])
    }
}

fn account(to: &Recipient) -> Option<AccountId> {
    match to {
        Recipient::Account(id) => Some(*id),
        Recipient::Worker(_) => None,
    }
}

fn worker(to: &Recipient) -> Option<WorkerId> {
    match to {
        Recipient::Worker(id) => Some(*id),
        Recipient::Account(_) => None,
    }
}

fn recipient(
    account: Option<AccountId>,
    worker: Option<WorkerId>,
) -> Result<Recipient, StoreError> {
    let to = account.map(Recipient::Account);
    to.or(worker.map(Recipient::Worker))
        .ok_or_else(|| StoreError::Failed("a notification has no recipient".into()))
}
