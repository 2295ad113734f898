//! What nearly every request begins with: who has this key, and is this task theirs?

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::domain::{Task, TaskId};
use crate::store::tasks::task;
use crate::store::{FromRow, KeyHolder, Lookup, Row, Store, StoreError};

crate::store::statements! {
    /// The holder of a key, and the task if it is the holder's own. The columns of the key are named
    /// apart from those of the task. The owner is compared as an expression, as in `ONE`.
    WITH_KEY = concat!("SELECT h.key_id, h.key_account, h.key_environment, h.tier, h.account_status,
            h.email_confirmed, h.ahead_ms, h.confined, h.permissions, h.paused, h.expires_at,
            h.review_up_to_cents, ", task!(columns), "
        FROM (SELECT k.id AS key_id, k.account_id AS key_account, k.environment AS key_environment,
                a.tier AS tier, a.status AS account_status,
                CASE WHEN a.claimed_email IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END
                    AS email_confirmed,
                CASE WHEN k.environment = 'test' THEN a.test_ahead_ms ELSE 0 END AS ahead_ms,
                CASE WHEN k.environment = 'test' AND a.test_keys_manage = 'test' THEN CAST(1 AS BIGINT) ELSE 0 END
                    AS confined,
                m.permissions AS permissions, m.paused AS paused, m.expires_at AS expires_at,
                m.review_up_to_cents AS review_up_to_cents
            FROM api_keys k JOIN accounts a ON a.id = k.account_id
                LEFT JOIN mandates m ON m.key_id = k.id AND COALESCE(m.lifted_at, -1) = -1
            WHERE k.key_hash = ?1 AND COALESCE(k.revoked_at, -1) = -1) h
        LEFT JOIN tasks ON id = ?2 AND COALESCE(account_id, '') = h.key_account
            AND COALESCE(environment, '') = h.key_environment");
}

/// The holder of a key, and a task of theirs.
pub struct KeyAndTask {
    pub holder: KeyHolder,
    pub task: Option<Arc<KeptTask>>,
}

/// Longer JSON is not kept: a task may have long texts, and JSON may need six characters for one of theirs.
const LONGEST_JSON: usize = 4_096;

/// A task as it was found. The store may give it again until it changes. Once it is written, as its owner sees it, that
/// takes its place: nobody asks for more, and both would take twice the room.
#[derive(Debug)]
pub struct KeptTask(Mutex<Form>);

#[derive(Debug)]
enum Form {
    Found(Arc<Task>),
    Written(Bytes),
}

impl KeptTask {
    pub fn new(task: Task) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Form::Found(Arc::new(task)))))
    }

    /// The task as its owner sees it, which is always written in the same way. So once is enough.
    pub fn owners_json<E>(
        &self,
        write: impl FnOnce(&Task) -> Result<String, E>,
    ) -> Result<Bytes, E> {
        let task = match &*self.form() {
            Form::Written(json) => return Ok(json.clone()),
            Form::Found(task) => task.clone(),
        };
        let written = write(&task)?;
        if written.len() > LONGEST_JSON {
            return Ok(Bytes::from(written));
        }
        // Without the room that the text had to grow.
        let written = Bytes::from(written.into_bytes().into_boxed_slice());
        *self.form() = Form::Written(written.clone());
        Ok(written)
    }

    fn form(&self) -> MutexGuard<'_, Form> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FromRow for Arc<KeptTask> {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(KeptTask::new(row.next()?))
    }
}

impl FromRow for KeyAndTask {
    fn from_row(row: &mut Row<'_>) -> Result<Self, StoreError> {
        Ok(Self {
            holder: row.next()?,
            task: row.joined()?,
        })
    }
}

impl Store {
    /// The holder of a key that is not revoked, and the task with this id if it is the holder's. SQLite keeps both, one
    /// by one: a key is asked for with many tasks. Where it takes a turn of a thread or of a connection, one statement
    /// asks for both.
    pub async fn key_and_task(
        &self,
        key_hash: String,
        id: TaskId,
    ) -> Result<Option<KeyAndTask>, StoreError> {
        let of_key = Lookup::key_holder(key_hash);
        let of_task = |holder: &KeyHolder| Lookup::task_of(holder.owner, id);
        if let Some((holder, task)) = self.engine.kept(&of_key, of_task)? {
            let task = Some(task);
            return Ok(Some(KeyAndTask { holder, task }));
        }
        let Some(found) = self.engine.find_here(&of_key) else {
            let both = of_key.and(WITH_KEY, id.into());
            return self.find(both.and_nothing_else()).await;
        };
        let Some(holder) = found? else {
            return Ok(None);
        };
        let task = self.find(of_task(&holder)).await?;
        Ok(Some(KeyAndTask { holder, task }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Owner;
    use crate::store::engine::Engine;
    use crate::store::tasks::{INSERT, task_values};
    use crate::store::{Location, Statement};
    use crate::views::examples;

    const HASH: &str = "hash";
    const ACCOUNT: Statement = Statement::new(
        "INSERT INTO accounts (id, email, name, tier, status, webhook_events, created_at, updated_at)
            VALUES (?1, 'dev@example.com', 'Dev', 'free', 'active', '[]', 0, 0)",
    );
    const KEY: Statement = Statement::new(
        "INSERT INTO api_keys (id, account_id, name, key_hash, key_prefix, environment, created_at)
            VALUES (?1, ?1, 'Key', ?2, 'lw', ?3, 0)",
    );

    /// Writes the owner of a task with a key, and the task.
    async fn fill(store: &Store, task: Task) {
        let Owner {
            account,
            environment,
        } = task.owner;
        let written = store.write(move |tx| {
            tx.execute(ACCOUNT, &[account.into()])?;
            tx.execute(KEY, &[account.into(), HASH.into(), environment.into()])?;
            tx.execute(INSERT, &task_values(&task, 1))
        });
        let written: Result<u64, StoreError> = written.await;
        assert_eq!(written.unwrap(), 1);
    }

    /// The id of the task that is found, if the key is.
    async fn found(store: &Store, hash: &str, id: TaskId) -> Option<Option<TaskId>> {
        let found = store.key_and_task(hash.to_owned(), id).await.unwrap()?;
        let task = found.task.map(|kept| match &*kept.form() {
            Form::Found(task) => task.id,
            Form::Written(_) => panic!("nobody has written it"),
        });
        Some(task)
    }

    #[tokio::test]
    async fn a_key_and_a_task_are_found_with_a_turn_and_without() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let store = Store::open(&Location::Sqlite { file }).unwrap();
        let task = examples::funded().task;
        let (id, other) = (task.id, TaskId::new(task.created_at, &[9; 10]));
        fill(&store, task).await;
        let Engine::Sqlite(engine) = &*store.engine else {
            panic!("not SQLite");
        };
        for without in [false, true] {
            let _taken = without.then(|| engine.inline_turn().unwrap());
            assert_eq!(engine.inline_turn().is_none(), without);
            assert_eq!(found(&store, HASH, id).await, Some(Some(id)));
            assert_eq!(found(&store, HASH, other).await, Some(None));
            assert_eq!(found(&store, "unknown", id).await, None);
        }
    }

    /// What is written of a kept task by a request that writes this.
    fn written(kept: &KeptTask, text: &str) -> Bytes {
        kept.owners_json(|_| Ok::<_, ()>(text.to_owned())).unwrap()
    }

    #[test]
    fn a_task_is_written_once_and_gives_its_room_to_what_was_written() {
        let kept = KeptTask::new(examples::funded().task);
        assert_eq!(kept.owners_json(|_| Err("not now")), Err("not now"));
        assert_eq!(written(&kept, "first"), "first");
        assert_eq!(written(&kept, "second"), "first");
        assert!(matches!(*kept.form(), Form::Written(_)));
    }

    #[test]
    fn long_json_is_written_each_time() {
        let kept = KeptTask::new(examples::funded().task);
        let long = "x".repeat(LONGEST_JSON + 1);
        assert_eq!(written(&kept, &long), long);
        assert_eq!(written(&kept, "second"), "second");
    }

    /// `ROW_BYTES` counts on it.
    #[test]
    fn a_task_takes_no_more_room_than_its_json() {
        assert!(size_of::<Task>() < 800, "{}", size_of::<Task>());
    }
}
