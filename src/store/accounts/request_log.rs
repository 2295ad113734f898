//! What accounts asked.

use crate::domain::accounts::request_log::LoggedRequest;
use crate::domain::{ApiKeyId, LogId, Owner, Timestamp};
use crate::store::{StoreError, Tx, columns, owned_by};

columns! {
    macro logged;
    table request_log;
    fn logged_values<'a>(logged: &'a LoggedRequest);
    columns {
        id: logged.id,
        account_id: logged.owner.account,
        environment: logged.owner.environment,
        key_id: logged.key,
        method: &logged.method,
        path: &logged.path,
        status: logged.status,
        code: &logged.code,
        duration_us: logged.duration_us,
        request_id: &logged.request_id,
        created_at: logged.created_at,
    }
    row LoggedRequest = LoggedRequest {
        id,
        owner: Owner { account: account_id, environment },
        key: key_id,
        method,
        path,
        status,
        code,
        duration_us,
        request_id,
        created_at,
    };
}

crate::store::statements! {
    INSERT = logged!(insert);
    BEFORE = concat!("SELECT ", logged!(columns), " FROM request_log
        WHERE account_id = ?1 AND environment = ?2 AND id < ?3 ORDER BY id DESC LIMIT ?4");
    FAILED = concat!("SELECT ", logged!(columns), " FROM request_log
        WHERE account_id = ?1 AND environment = ?2 AND id < ?3 AND status >= 400 ORDER BY id DESC LIMIT ?4");
    /// The owner is compared as an expression, which has no index: the key finds the rows.
    OF_KEY = concat!("SELECT ", logged!(columns), " FROM request_log
        WHERE key_id = ?5 AND account_id || '' = ?1 AND environment || '' = ?2 AND id < ?3
        ORDER BY id DESC LIMIT ?4");
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

impl Tx<'_> {
    pub fn log_requests(&mut self, logged: &[LoggedRequest]) -> Result<(), StoreError> {
        logged
            .iter()
            .try_for_each(|logged| self.defer(INSERT, &logged_values(logged)))
    }

    /// Up to `limit` requests before that one, newest first.
    pub fn logged_requests(
        &mut self,
        owner: Owner,
        filter: LogFilter,
        before: Option<LogId>,
        limit: i64,
    ) -> Result<Vec<LoggedRequest>, StoreError> {
        let mut values = owned_by(owner);
        // Greater than every id.
        let before = before.map_or_else(|| "g".to_owned(), |id| id.to_string());
        values.extend([before.into(), limit.into()]);
        match filter {
            LogFilter::All => self.all(BEFORE, &values),
            LogFilter::Failed => self.all(FAILED, &values),
            LogFilter::OfKey(key) => {
                values.push(key.into());
                self.all(OF_KEY, &values)
            }
        }
    }

    /// Deletes a batch of requests that were made before that time; returns how many.
    pub fn prune_request_log(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[LogId::new(before, &[0; 10]).into()])
    }
}
