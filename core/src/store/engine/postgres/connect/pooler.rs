//! Whether a pooler is between us and PostgreSQL, which gives each transaction another connection.
//!
//! Such a pooler works if it keeps prepared statements. Otherwise statements would fail now and then,
//! so it is refused at the start.

use std::time::Duration;

use tokio::time::timeout;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use crate::store::engine::StoreError;
use crate::store::engine::postgres::connect::connector::Connector;
use crate::store::engine::postgres::connect::runtime::own_runtime;

/// The pooler may have one connection only, which is taken then.
const PATIENCE: Duration = Duration::from_secs(2);
/// Somebody else may get in between.
const LOOKS: usize = 3;

const PROCESS: &str = "SELECT pg_backend_pid()";

/// Asks on two connections, once at the start. A server that cannot be asked is taken as it is.
pub fn examine(connector: &Connector) -> Result<(), StoreError> {
    let runtime = own_runtime()?;
    let is_pooled = runtime.block_on(async {
        let first = connector.connect(None).await?;
        let Ok(second) = connector.connect(None).await else {
            return Ok(false);
        };
        let looked = is_pooled(&first.client, &second.client).await;
        first.close().await;
        second.close().await;
        looked.or_else(|error| match error.code() {
            Some(code) if forgets_statements(code) => Err(refusal()),
            _ => Ok(false),
        })
    });
    connector.set_pooled(is_pooled?);
    Ok(())
}

/// Whether one process of the server serves two connections.
async fn is_pooled(first: &Client, second: &Client) -> Result<bool, Error> {
    let prepared = first.prepare(PROCESS).await?;
    for _ in 0..LOOKS {
        let before: i32 = first.query_one(&prepared, &[]).await?.get(0);
        second.batch_execute("BEGIN").await?;
        let held = second.simple_query(PROCESS).await?;
        // While the second keeps its process, the first needs another one.
        let after = timeout(PATIENCE, first.query_one(&prepared, &[])).await;
        second.batch_execute("ROLLBACK").await?;
        let after = match after {
            Ok(row) => row?.get::<_, i32>(0),
            Err(_) => return Ok(true),
        };
        if before != after || is_process(&held, before) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_process(answer: &[SimpleQueryMessage], process: i32) -> bool {
    let process = process.to_string();
    answer.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0) == Some(process.as_str()),
        _ => false,
    })
}

/// It is not there, or that of another client is.
fn forgets_statements(code: &SqlState) -> bool {
    *code == SqlState::INVALID_SQL_STATEMENT_NAME || *code == SqlState::DUPLICATE_PSTATEMENT
}

fn refusal() -> StoreError {
    StoreError::Incompatible(
        "a pooler between Legwork and PostgreSQL gives each transaction another connection and \
         loses prepared statements: with PgBouncer 1.21 or later set max_prepared_statements = 500, \
         with an older one pool_mode = session, or connect to PostgreSQL directly"
            .to_owned(),
    )
}
