//! What accounts asked. A row has up to a hundred requests of one key: a row for each would cost a tenth
//! of a creation.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::accounts::request_log::LoggedRequest;
use crate::domain::{ApiKeyId, LogId, Owner, Timestamp};
use crate::store::{StoreError, Tx, columns, owned_by};

/// The most requests in a row.
const MOST: usize = 100;
/// All requests of a row were answered within this time, so it is known where to look for them.
const SPAN: Duration = Duration::from_secs(10);
/// How many rows are read at first. Then more at a time: they may have one request each.
const FIRST_ROWS: i64 = 4;

columns! {
    macro page;
    table request_log;
    fn page_values<'a>(page: &'a LogPage);
    columns {
        id: page.last,
        first_id: page.first,
        account_id: page.owner.account,
        environment: page.owner.environment,
        key_id: page.key,
        failed: page.failed,
        entries: &page.entries,
    }
    row LogPage = LogPage {
        last: id,
        first: first_id,
        owner: Owner { account: account_id, environment },
        key: key_id,
        failed,
        entries,
    };
}

crate::store::statements! {
    INSERT = page!(insert);
    /// From the last request that may be in a row with the one before which they are wanted.
    BEFORE = concat!("SELECT ", page!(columns), " FROM request_log
        WHERE account_id = ?1 AND environment = ?2 AND id < ?3 AND first_id < ?4
        ORDER BY id DESC LIMIT ?5");
    FAILED = concat!("SELECT ", page!(columns), " FROM request_log
        WHERE account_id = ?1 AND environment = ?2 AND id < ?3 AND first_id < ?4 AND failed = 1
        ORDER BY id DESC LIMIT ?5");
    /// The owner is compared as an expression, which has no index: the key finds the rows.
    OF_KEY = concat!("SELECT ", page!(columns), " FROM request_log
        WHERE key_id = ?6 AND account_id || '' = ?1 AND environment || '' = ?2
            AND id < ?3 AND first_id < ?4
        ORDER BY id DESC LIMIT ?5");
    PRUNE = "DELETE FROM request_log WHERE id IN (
            SELECT id FROM request_log WHERE id < ?1 ORDER BY id LIMIT 500)";
}

/// Which requests to list.
#[derive(Clone, Copy, Debug)]
pub enum LogFilter {
    All,
    /// Those that were refused or failed.
    Failed,
    OfKey(ApiKeyId),
}

/// Requests of one key, all of which failed or none, in the order of their ids.
#[derive(Clone, Debug)]
pub struct LogPage {
    first: LogId,
    last: LogId,
    owner: Owner,
    key: ApiKeyId,
    failed: bool,
    /// An array of `Entry`.
    entries: String,
}

/// A request in a page: id, method, path, status, code, duration, request id.
#[derive(Serialize, Deserialize)]
struct Entry<'a>(
    String,
    #[serde(borrow)] Cow<'a, str>,
    #[serde(borrow)] Cow<'a, str>,
    i64,
    #[serde(borrow)] Option<Cow<'a, str>>,
    i64,
    #[serde(borrow)] Cow<'a, str>,
);

impl LogPage {
    /// What was logged, in pages.
    pub fn of(logged: &mut [LoggedRequest]) -> Result<Vec<Self>, StoreError> {
        logged.sort_unstable_by_key(|logged| (logged.key, has_failed(logged), logged.id));
        let together = |one: &LoggedRequest, other: &LoggedRequest| {
            let alike =
                |logged: &LoggedRequest| (logged.key, has_failed(logged), span_of(logged.id));
            alike(one) == alike(other)
        };
        let pages = logged
            .chunk_by(together)
            .flat_map(|alike| alike.chunks(MOST));
        pages.filter_map(Self::of_alike).collect()
    }

    fn of_alike(alike: &[LoggedRequest]) -> Option<Result<Self, StoreError>> {
        let (first, last) = (alike.first()?, alike.last()?);
        let entries: Vec<_> = alike.iter().map(Entry::of).collect();
        let page = |entries| Self {
            first: first.id,
            last: last.id,
            owner: first.owner,
            key: first.key,
            failed: has_failed(first),
            entries,
        };
        Some(
            serde_json::to_string(&entries)
                .map(page)
                .map_err(unreadable),
        )
    }

    /// Adds those of its requests that were made before that one.
    fn read(&self, before: LogId, to: &mut Vec<LoggedRequest>) -> Result<(), StoreError> {
        let entries: Vec<Entry<'_>> = serde_json::from_str(&self.entries).map_err(unreadable)?;
        for entry in entries {
            let id = LogId::parse(&entry.0).ok_or_else(|| unreadable("an id"))?;
            if id < before {
                to.push(entry.logged(id, self));
            }
        }
        Ok(())
    }
}

impl<'a> Entry<'a> {
    fn of(logged: &'a LoggedRequest) -> Self {
        Self(
            logged.id.to_string(),
            (&logged.method).into(),
            (&logged.path).into(),
            logged.status,
            logged.code.as_ref().map(Into::into),
            logged.duration_us,
            (&logged.request_id).into(),
        )
    }

    fn logged(self, id: LogId, page: &LogPage) -> LoggedRequest {
        LoggedRequest {
            id,
            owner: page.owner,
            key: page.key,
            method: self.1.into_owned(),
            path: self.2.into_owned(),
            status: self.3,
            code: self.4.map(Cow::into_owned),
            duration_us: self.5,
            request_id: self.6.into_owned(),
            created_at: id.made_at(),
        }
    }
}

fn has_failed(logged: &LoggedRequest) -> bool {
    logged.status >= 400
}

fn span_of(id: LogId) -> i64 {
    id.made_at().as_millis() / SPAN.as_millis() as i64
}

fn unreadable(error: impl std::fmt::Display) -> StoreError {
    StoreError::Failed(format!("a page of the log of requests: {error}"))
}

impl Tx<'_> {
    pub fn log_requests(&mut self, pages: &[LogPage]) -> Result<(), StoreError> {
        pages
            .iter()
            .try_for_each(|page| self.defer(INSERT, &page_values(page)))
    }

    /// Up to `limit` requests before that one, newest first.
    pub fn logged_requests(
        &mut self,
        owner: Owner,
        filter: LogFilter,
        before: Option<LogId>,
        limit: i64,
    ) -> Result<Vec<LoggedRequest>, StoreError> {
        let before = before.unwrap_or(LogId::LAST);
        let mut end = before.followed_within(SPAN);
        let (mut found, mut rows) = (Vec::new(), FIRST_ROWS);
        loop {
            let pages = self.log_pages(owner, filter, (end, before), rows)?;
            for page in &pages {
                page.read(before, &mut found)?;
            }
            found.sort_unstable_by_key(|logged| std::cmp::Reverse(logged.id));
            let more = pages.last().filter(|_| pages.len() as i64 == rows);
            // What is in none of these pages is older than all that ended later.
            let known = |last: LogId| found.partition_point(|logged| logged.id >= last);
            match more.map(|page| page.last) {
                Some(last) if (known(last) as i64) < limit => end = last,
                _ => break,
            }
            rows *= 4;
        }
        found.truncate(usize::try_from(limit).unwrap_or_default());
        Ok(found)
    }

    /// Pages that end before the first of two requests and begin before the other one.
    fn log_pages(
        &mut self,
        owner: Owner,
        filter: LogFilter,
        (end, begin): (LogId, LogId),
        rows: i64,
    ) -> Result<Vec<LogPage>, StoreError> {
        let mut values = owned_by(owner);
        values.extend([end.into(), begin.into(), rows.into()]);
        match filter {
            LogFilter::All => self.all(BEFORE, &values),
            LogFilter::Failed => self.all(FAILED, &values),
            LogFilter::OfKey(key) => {
                values.push(key.into());
                self.all(OF_KEY, &values)
            }
        }
    }

    /// Deletes a batch of requests that were made before that time; returns how many rows they were.
    pub fn prune_request_log(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[LogId::new(before, &[0; 10]).into()])
    }
}
