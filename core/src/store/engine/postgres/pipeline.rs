//! Statements that are sent together, without waiting for the answer of the one before.

use futures_util::future::{FutureExt, LocalBoxFuture};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement as Prepared};

use crate::store::engine::Value;

/// One thing to send.
pub enum Step<'a> {
    Nothing,
    Text(&'a str),
    Statement(&'a Prepared, &'a [Value<'a>]),
}

#[derive(Default)]
pub struct Answer {
    pub rows: Vec<tokio_postgres::Row>,
    pub changed: u64,
}

impl<'a> Step<'a> {
    /// Whether it can be sent. What cannot is found by the client, after what comes later was sent.
    pub fn fits(&self) -> bool {
        match self {
            Self::Nothing | Self::Text(_) => true,
            Self::Statement(prepared, values) => {
                let types = prepared.params();
                let mut both = values.iter().zip(types);
                values.len() == types.len() && both.all(|(value, wanted)| value.fits(wanted))
            }
        }
    }

    /// The first poll writes the request: what is polled in order is sent in order.
    pub fn run(
        self,
        client: &'a Client,
    ) -> LocalBoxFuture<'a, Result<Answer, tokio_postgres::Error>> {
        async move {
            match self {
                Self::Nothing => Ok(Answer::default()),
                Self::Text(sql) => {
                    client.batch_execute(sql).await?;
                    Ok(Answer::default())
                }
                Self::Statement(prepared, values) if prepared.columns().is_empty() => {
                    let changed = client.execute_raw(prepared, parameters(values)).await?;
                    Ok(Answer {
                        rows: Vec::new(),
                        changed,
                    })
                }
                Self::Statement(prepared, values) => {
                    let parameters = parameters(values).collect::<Vec<_>>();
                    let rows = client.query(prepared, &parameters).await?;
                    let changed = rows.len() as u64;
                    Ok(Answer { rows, changed })
                }
            }
        }
        .boxed_local()
    }
}

fn parameters<'a>(
    values: &'a [Value<'a>],
) -> impl ExactSizeIterator<Item = &'a (dyn ToSql + Sync)> + 'a {
    values.iter().map(|value| value as &(dyn ToSql + Sync))
}
