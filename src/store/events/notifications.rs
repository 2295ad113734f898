//! Notices to workers and developers.

use crate::domain::{
    AccountId, Notification, NotificationId, NotificationKind, NotificationStatus, Recipient,
    Timestamp, WorkerId,
};
use crate::store::{Row, StoreError, Tx};

macro_rules! columns {
    () => {
        "id, occasion, kind, email, account_id, worker_id, subject, paragraphs, link, status, \
         error, sent_at, created_at"
    };
}

crate::store::statements! {
    ADD = concat!("INSERT INTO notices (", columns!(), ")
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT (occasion) DO NOTHING");
    ONE = concat!("SELECT ", columns!(), " FROM notices WHERE id = ?1");
    BEFORE = concat!("SELECT ", columns!(), " FROM notices WHERE id < ?1 ORDER BY id DESC LIMIT ?2");
    SET_STATUS = "UPDATE notices SET status = ?2, error = ?3, sent_at = ?4 WHERE id = ?1";
    PRUNE = "DELETE FROM notices WHERE id IN (
            SELECT id FROM notices WHERE id < ?1 ORDER BY id LIMIT ?2)";
}

impl Tx<'_> {
    /// False when this occasion has been told of already.
    pub fn add_notification(&mut self, notice: &Notification) -> Result<bool, StoreError> {
        let (account, worker) = match &notice.to {
            Recipient::Account(account) => (Some(account.to_string()), None),
            Recipient::Worker(worker) => (None, Some(worker.to_string())),
        };
        let paragraphs = serde_json::Value::from(notice.paragraphs.clone()).to_string();
        let values = [
            notice.id.to_string().into(),
            (&notice.occasion).into(),
            notice.kind.as_str().into(),
            (&notice.email).into(),
            account.into(),
            worker.into(),
            (&notice.subject).into(),
            paragraphs.into(),
            notice.link.as_ref().into(),
            notice.status.as_str().into(),
            notice.error.as_ref().into(),
            notice.sent_at.into(),
            notice.created_at.into(),
        ];
        Ok(self.execute(ADD, &values)? == 1)
    }

    pub fn notification(&mut self, id: NotificationId) -> Result<Option<Notification>, StoreError> {
        self.optional(ONE, &[id.to_string().into()], read)
    }

    /// Up to `limit` notices before the given one, newest first.
    pub fn notifications_before(
        &mut self,
        before: Option<NotificationId>,
        limit: i64,
    ) -> Result<Vec<Notification>, StoreError> {
        let before = crate::store::before(before);
        self.all(BEFORE, &[before.into(), limit.into()], read)
    }

    pub fn set_notification_status(
        &mut self,
        id: NotificationId,
        status: NotificationStatus,
        error: Option<&str>,
        sent_at: Option<Timestamp>,
    ) -> Result<(), StoreError> {
        let values = [
            id.to_string().into(),
            status.as_str().into(),
            error.into(),
            sent_at.into(),
        ];
        self.defer(SET_STATUS, &values)
    }

    /// Forgets up to `limit` notices from before that moment; tells how many.
    pub fn prune_notifications(
        &mut self,
        before: Timestamp,
        limit: i64,
    ) -> Result<u64, StoreError> {
        let first_kept = NotificationId::new(before, &[0; 10]).to_string();
        self.execute(PRUNE, &[first_kept.into(), limit.into()])
    }
}

fn read(row: &Row<'_>) -> Result<Notification, StoreError> {
    let unreadable = || StoreError::Failed("a notice is for nobody".into());
    let account: Option<String> = row.get(4)?;
    let worker: Option<String> = row.get(5)?;
    let account = account.as_deref().and_then(AccountId::parse);
    let worker = worker.as_deref().and_then(WorkerId::parse);
    let to = account.map(Recipient::Account);
    let to = to
        .or(worker.map(Recipient::Worker))
        .ok_or_else(unreadable)?;
    Ok(Notification {
        id: row.parse(0, NotificationId::parse)?,
        occasion: row.get(1)?,
        kind: row.parse(2, NotificationKind::parse)?,
        email: row.get(3)?,
        to,
        subject: row.get(6)?,
        paragraphs: row.parse(7, |text| serde_json::from_str(text).ok())?,
        link: row.get(8)?,
        status: row.parse(9, NotificationStatus::parse)?,
        error: row.get(10)?,
        sent_at: row.get(11)?,
        created_at: row.get(12)?,
    })
}
