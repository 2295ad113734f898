//! How the PostgreSQL server stands, for `legwork doctor`.

use crate::domain::Timestamp;
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::postgres::{Mode, Session};
use crate::store::engine::{Statement, StoreError, Tx};

/// In PostgreSQL's own dialect, so these are not among the statements of the store.
const LIMITS: Statement = Statement::new(
    "SELECT CAST(current_setting('max_connections') AS BIGINT)
            - CAST(current_setting('superuser_reserved_connections') AS BIGINT),
        (SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)",
);
const MIGRATED: Statement = Statement::new(
    "SELECT COUNT(*) FROM pg_tables WHERE tablename = 'processes'
        AND schemaname = current_schema()",
);
const SERVERS: Statement = Statement::new("SELECT COUNT(*) FROM processes WHERE alive_until >= ?1");

#[derive(Clone, Debug)]
pub struct DatabaseServer {
    /// How many connections each of our servers may take.
    pub configured: i64,
    /// How many connections PostgreSQL takes of all but superusers.
    pub max_connections: i64,
    pub in_use: i64,
    /// How many servers of ours run on this database.
    pub servers: i64,
    /// What its clock shows.
    pub now: Timestamp,
}

impl DatabaseServer {
    /// Blocks.
    pub fn at(url: &str, connections: usize, now: Timestamp) -> Result<Self, StoreError> {
        let mut session = Session::new(Connector::new(url)?)?;
        session.open(Mode::Read, None)?;
        let mut tx = Tx::postgres(&mut session);
        let nothing = || StoreError::Failed("the server does not tell its limits".into());
        let limits: Option<(i64, i64, Timestamp)> = tx.optional(LIMITS, &[])?;
        let (max_connections, in_use, at) = limits.ok_or_else(nothing)?;
        let migrated = tx.optional::<i64>(MIGRATED, &[])? == Some(1);
        let servers = match migrated {
            true => tx.optional(SERVERS, &[now.into()])?.unwrap_or(0),
            false => 0,
        };
        Ok(Self {
            configured: i64::try_from(connections).unwrap_or(i64::MAX),
            max_connections,
            in_use,
            servers,
            now: at,
        })
    }
}
