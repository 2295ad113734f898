//! Notifications to workers and developers.

use crate::domain::{
    AccountId, JobKind, Notification, NotificationId, NotificationStatus, Recipient, Timestamp,
    WorkerId,
};
use crate::store::{StoreError, Tx, Value, columns};

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
        task_id: notification.task,
        unread: notification.unread,
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
        task: task_id,
        unread,
    };
}

/// Stores a notification in a status, but only if the worker has a row, which tells the address, and is not deleted.
macro_rules! for_worker {
    ($status:literal) => {
        concat!(
            "INSERT INTO notices (",
            notification!(columns),
            ") SELECT CAST(?1 AS TEXT), CAST(?2 AS TEXT), CAST(?3 AS TEXT), COALESCE(w.claimed_email, w.email),
                NULL, w.id, CAST(?5 AS TEXT), CAST(?6 AS TEXT), CAST(?7 AS TEXT), '",
            $status,
            "', NULL, NULL, CAST(?8 AS BIGINT), CAST(?9 AS TEXT), CAST(1 AS BIGINT)
            FROM workers w WHERE w.id = ?4 AND w.status <> 'deleted' ON CONFLICT (occasion) DO NOTHING"
        )
    };
}

crate::store::statements! {
    ADD = concat!(notification!(insert), " ON CONFLICT (occasion) DO NOTHING");
    ADD_FOR_WORKER = for_worker!("pending");
    KEEP_FOR_WORKER = for_worker!("kept");
    /// Adds no job if the notification was not stored, because there was one of its occasion already. The same holds for `PUSH`.
    MAIL = "INSERT INTO jobs (kind, subject, run_at, attempts, created_at)
        SELECT CAST(?2 AS TEXT), n.id, n.created_at, 0, n.created_at FROM notices n WHERE n.id = ?1
        ON CONFLICT (kind, subject) DO NOTHING";
    /// To each browser of the worker.
    PUSH = "INSERT INTO jobs (kind, subject, run_at, attempts, created_at)
        SELECT CAST(?2 AS TEXT), n.id || '/' || s.id, n.created_at, 0, n.created_at
        FROM notices n JOIN push_subscriptions s ON s.worker_id = n.worker_id WHERE n.id = ?1
        ON CONFLICT (kind, subject) DO NOTHING";
    ONE = concat!("SELECT ", notification!(columns), " FROM notices WHERE id = ?1");
    BEFORE = concat!("SELECT ", notification!(columns), " FROM notices WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    /// Without links: whoever only claims an address must not see whether one was sent there.
    OF_WORKER_BEFORE = concat!("SELECT ", notification!(columns), " FROM notices
        WHERE worker_id = ?1 AND id < ?2 AND occasion NOT LIKE 'mail_link:%'
        ORDER BY id DESC LIMIT ?3");
    OF_WORKER = concat!("SELECT ", notification!(columns), " FROM notices
        WHERE id = ?1 AND worker_id || '' = ?2");
    COUNT_UNREAD = "SELECT COUNT(*) FROM (SELECT id FROM notices
        WHERE worker_id = ?1 AND unread = 1 AND occasion NOT LIKE 'mail_link:%'
        ORDER BY id LIMIT ?2) listed";
    MARK_READ = "UPDATE notices SET unread = 0 WHERE id = ?1";
    MARK_ALL_READ = "UPDATE notices SET unread = 0 WHERE id IN (
            SELECT id FROM notices WHERE worker_id = ?1 AND unread = 1 ORDER BY id LIMIT ?2)";
    SET_STATUS = "UPDATE notices SET status = ?2, error = ?3, sent_at = ?4 WHERE id = ?1";
    PRUNE = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE id < ?1 ORDER BY id LIMIT 500)";
}

impl Tx<'_> {
    /// False when there is a notification of this occasion already.
    pub fn add_notification(&mut self, notification: &Notification) -> Result<bool, StoreError> {
        Ok(self.execute(ADD, &notification_values(notification))? == 1)
    }

    /// Stores a notification to a worker and the jobs that send it: an e-mail, if this service sends any, and a push
    /// to each browser.
    /// Nothing, if the worker has no row or there is a notification of this occasion already. The address
    /// is that of the worker. No part of it needs an answer.
    pub fn notify_worker(
        &mut self,
        worker: WorkerId,
        notification: &Notification,
    ) -> Result<(), StoreError> {
        let id: Value<'_> = notification.id.into();
        let values = [
            id.clone(),
            (&notification.occasion).into(),
            notification.kind.into(),
            worker.into(),
            (&notification.subject).into(),
            (&notification.paragraphs).into(),
            (&notification.link).into(),
            notification.created_at.into(),
            notification.task.into(),
        ];
        // The jobs come last, so that a batch stores all of its notifications before.
        if self.keeps_mail {
            self.defer(KEEP_FOR_WORKER, &values)?;
        } else {
            self.defer(ADD_FOR_WORKER, &values)?;
            self.defer_last(MAIL, &[id.clone(), JobKind::Mail.into()])?;
        }
        self.defer_last(PUSH, &[id, JobKind::Push.into()])?;
        self.to_wake.add_job(JobKind::Mail);
        Ok(())
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

    /// Up to `limit` notifications of a worker before the given one, newest first.
    pub fn notifications_of_worker(
        &mut self,
        worker: WorkerId,
        before: Option<NotificationId>,
        limit: i64,
    ) -> Result<Vec<Notification>, StoreError> {
        let before = crate::store::before(before);
        let values = [worker.into(), before.into(), limit.into()];
        self.all(OF_WORKER_BEFORE, &values)
    }

    /// How many notifications of a worker are unread, counted up to `most`.
    pub fn count_unread(&mut self, worker: WorkerId, most: i64) -> Result<i64, StoreError> {
        let count = self.optional(COUNT_UNREAD, &[worker.into(), most.into()])?;
        Ok(count.unwrap_or(0))
    }

    /// Marks a notification of a worker as read; `None` if it is not theirs.
    pub fn mark_read(
        &mut self,
        worker: WorkerId,
        id: NotificationId,
    ) -> Result<Option<Notification>, StoreError> {
        let found: Option<Notification> =
            self.optional_locked(OF_WORKER, &[id.into(), worker.into()])?;
        let Some(notification) = found else {
            return Ok(None);
        };
        if notification.unread {
            self.change_locked(MARK_READ, &[id.into()])?;
        }
        Ok(Some(Notification {
            unread: false,
            ..notification
        }))
    }

    /// Marks the oldest `most` unread notifications of a worker as read.
    pub fn mark_all_read(&mut self, worker: WorkerId, most: i64) -> Result<(), StoreError> {
        let values = [worker.into(), most.into()];
        self.execute(MARK_ALL_READ, &values).map(drop)
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

    /// Deletes a batch of notifications from before that time; returns how many.
    pub fn prune_notifications(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        let first_kept = NotificationId::new(before, &[0; 10]);
        self.execute(PRUNE, &[first_kept.into()])
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
