//! What the store promises, on both engines.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;

use futures_util::future::{join_all, maybe_done};
use futures_util::poll;
use legwork::ambient;
use legwork::domain::{
    AccountId, Action, Actor, HistoryEntry, NewAccount, TaskId, Tier, Timestamp,
};
use legwork::store::{Location, Store, StoreError, StoredMove, Tx, all_statements};
use legwork::usecases;
use legwork::usecases::{OpenedAccount, UseCaseError};

use crate::support::{Database, Engine, TestApp, on_both_engines, path, tell};

on_both_engines!(
    every_statement_prepares,
    a_row_is_read_from_its_first_column_to_its_last,
    a_failing_transaction_undoes_only_itself,
    a_panic_undoes_only_itself,
    a_move_from_a_state_that_is_over_is_a_collision,
    many_writers_at_once_lose_nothing,
    opening_twice_changes_nothing,
    a_newer_database_is_refused,
    a_changed_migration_is_refused,
    servers_that_start_at_once_migrate_once,
);

async fn every_statement_prepares(app: TestApp) {
    let statements: Vec<_> = all_statements().collect();
    assert!(statements.len() > 20);
    for statement in statements {
        let checked = app.store.write(move |tx| tx.check(statement)).await;
        checked.unwrap_or_else(|error| panic!("{error}\n{}", statement.sql()));
    }
}

/// A reader that takes more or fewer columns than its statement selects is found by the first row.
async fn a_row_is_read_from_its_first_column_to_its_last(app: TestApp) {
    let sql = "SELECT id, check_value, is_current, seals_since FROM master_keys";
    let key = all_statements().find(|statement| statement.sql().starts_with(sql));
    let key = key.expect("a statement that always finds one row of four columns");
    app.store
        .read::<(), StoreError, _>(move |tx| {
            type Texts = (String, String);
            type Numbers = (i64, i64);
            assert!(tx.optional::<(Texts, Numbers)>(key, &[])?.is_some());
            assert!(tx.optional::<Texts>(key, &[]).is_err());
            assert!(tx.optional::<(Texts, Numbers, i64)>(key, &[]).is_err());
            assert!(tx.optional::<(Numbers, Texts)>(key, &[]).is_err());
            Ok(())
        })
        .await
        .unwrap();
}

/// The task is locked, so nobody else can have moved it. A mistake of ours is found all the same.
async fn a_move_from_a_state_that_is_over_is_a_collision(app: TestApp) {
    let dev = app.developer().await;
    let account = AccountId::parse(&dev.account_id).unwrap();
    let task = dev.create_live_task().await;
    let id = TaskId::parse(task["id"].as_str().unwrap()).unwrap();
    let now = app.clock.now();
    let twice = move |tx: &mut Tx<'_>| {
        let task = tx.any_task_to_change(id)?.unwrap();
        let moved = task.act(Action::Cancel, now).unwrap();
        for _ in 0..2 {
            let entry = HistoryEntry {
                from: Some(moved.from),
                to: moved.task.status,
                by: Actor::SERVICE,
                reason: None,
                created_at: now,
            };
            let made = StoredMove {
                moved: &moved,
                entry,
                events: Vec::new(),
            };
            tx.move_task(&[made])?;
        }
        Ok::<_, StoreError>(())
    };
    let alone = app.store.write(twice).await;
    let in_a_batch = app.store.write_for(account, twice).await;
    for moved in [alone, in_a_batch] {
        assert!(matches!(moved, Err(StoreError::Collision(_))), "{moved:?}");
    }
    let task = dev.live.get(&path(&task)).await.expect(200);
    assert_eq!(task["status"], "pending");
}

/// Long lists of placeholders come from `columns!`, together with their values.
#[test]
fn no_statement_numbers_ten_values_by_hand() {
    let mut folders = vec![PathBuf::from("core/src/store")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            if path.extension().is_none_or(|kind| kind != "rs") || path.ends_with("columns.rs") {
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let placeholders = code.split('?').skip(1);
            let mut numbers = placeholders.map(|rest| {
                let digits = rest.find(|c: char| !c.is_ascii_digit());
                digits.unwrap_or(rest.len())
            });
            assert!(numbers.all(|digits| digits < 2), "{}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 30);
}

#[test]
fn the_two_schemas_agree_column_by_column() {
    let schema = |engine| {
        let (send, receive) = mpsc::channel();
        tell(engine, async move |app: TestApp| {
            let columns = app.store.write(|tx| tx.schema()).await.unwrap();
            send.send(columns).unwrap();
        });
        receive.recv().unwrap()
    };
    let (sqlite, postgres) = (schema(Engine::Sqlite), schema(Engine::Postgres));
    assert!(sqlite.len() > 60);
    assert_eq!(sqlite, postgres);
}

fn somebody() -> OpenedAccount {
    let now = Timestamp::RULE.check(TestApp::NOON).unwrap();
    let id = AccountId::new(now, &ambient::random());
    let new = NewAccount {
        email: format!("{id}@example.com"),
        name: "Ada".to_owned(),
        company: None,
        tier: Tier::Free,
    };
    OpenedAccount::new(&new, now)
}

async fn exists(store: &Store, account: &OpenedAccount) -> bool {
    let id = account.account.id;
    store
        .read(move |tx| tx.account(id))
        .await
        .unwrap()
        .is_some()
}

/// Queues three transactions behind one that waits, so that SQLite commits all in one batch.
async fn three_in_a_batch(
    store: &Store,
    spoil: impl Fn() -> Result<(), UseCaseError> + Send + Sync + Clone + 'static,
) {
    let people = [somebody(), somebody(), somebody()];
    let (release, wait) = mpsc::channel::<()>();
    let (begin, begun) = tokio::sync::oneshot::channel::<()>();
    let first = tokio::spawn({
        let store = store.clone();
        // It may run more than once, like every transaction; it waits only the first time.
        let mut released = false;
        let mut begin = Some(begin);
        async move {
            let write = store.write(move |_| {
                if let Some(begin) = begin.take() {
                    begin.send(()).unwrap();
                }
                released = released || wait.recv().is_ok();
                Ok::<_, StoreError>(released)
            });
            write.await
        }
    });
    begun.await.unwrap();
    let mut writes = Vec::new();
    for (index, person) in people.iter().cloned().enumerate() {
        let spoil = spoil.clone();
        let mut write = Box::pin(maybe_done(store.write(move |tx| {
            usecases::create_account(tx, &person, &Actor::COMMAND_LINE)?;
            if index == 1 { spoil() } else { Ok(()) }
        })));
        // Polled once, so that all are queued before the first is let go. PostgreSQL runs them on
        // other connections, and may be done already.
        let _ = poll!(&mut write);
        writes.push(write);
    }
    release.send(()).unwrap();
    assert!(first.await.unwrap().unwrap());
    let mut results = Vec::new();
    for mut write in writes {
        write.as_mut().await;
        results.push(write.as_mut().take_output().unwrap());
    }
    let kept: Vec<_> = results.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false, true]);
    for (person, kept) in people.iter().zip(kept) {
        assert_eq!(exists(store, person).await, kept);
    }
}

async fn a_failing_transaction_undoes_only_itself(app: TestApp) {
    three_in_a_batch(&app.store, || Err(UseCaseError::TaskNotFound)).await;
}

async fn a_panic_undoes_only_itself(app: TestApp) {
    three_in_a_batch(&app.store, || panic!("on purpose")).await;
}

async fn many_writers_at_once_lose_nothing(app: TestApp) {
    let people: Vec<_> = (0..300).map(|_| somebody()).collect();
    let writes = people.iter().cloned().map(|person| {
        let store = app.store.clone();
        tokio::spawn(async move {
            store
                .write(move |tx| usecases::create_account(tx, &person, &Actor::COMMAND_LINE))
                .await
        })
    });
    for written in join_all(writes).await {
        written.unwrap().unwrap();
    }
    for person in &people {
        assert!(exists(&app.store, person).await);
    }
}

async fn opening_twice_changes_nothing(app: TestApp) {
    let person = somebody();
    let written = person.clone();
    let write = app
        .store
        .write(move |tx| usecases::create_account(tx, &written, &Actor::COMMAND_LINE));
    write.await.unwrap();
    let again = app.database.open().await;
    assert!(exists(&again, &person).await);
}

async fn open_again(database: &Arc<Database>) -> Result<Store, StoreError> {
    let location = database.location();
    let opening = tokio::task::spawn_blocking(move || Store::open(&location));
    opening.await.unwrap()
}

async fn a_newer_database_is_refused(app: TestApp) {
    let newer = "INSERT INTO migrations (version, name, fingerprint) VALUES (999, 'future', 'x')";
    app.database.execute(newer).await;
    let Err(error) = open_again(&app.database).await else {
        panic!("a newer database was opened");
    };
    assert!(
        error
            .to_string()
            .contains("newer legwork (step 999 \"future\""),
        "{error}"
    );
}

async fn a_changed_migration_is_refused(app: TestApp) {
    let changed = "UPDATE migrations SET fingerprint = 'x' WHERE version = 1";
    app.database.execute(changed).await;
    assert!(open_again(&app.database).await.is_err());
}

async fn servers_that_start_at_once_migrate_once(app: TestApp) {
    for _ in 0..3 {
        let database = Arc::new(Database::create(app.database.engine));
        let openings = join_all((0..6).map(|_| open_again(&database))).await;
        for store in openings {
            store.unwrap().ping().await.unwrap();
        }
    }
}

#[test]
fn tls_is_used_and_verified_where_the_url_asks_for_it() {
    let url = std::env::var("LEGWORK_TEST_POSTGRES_TLS_URL").unwrap_or_else(|_| {
        panic!("LEGWORK_TEST_POSTGRES_TLS_URL names no server that takes TLS alone: run ./test")
    });
    let open = |url: String| {
        Store::lacking_migrations(&Location::Postgres {
            url,
            connections: 1,
        })
    };
    for mode in ["require", "verify-ca", "verify-full"] {
        open(format!("{url}&sslmode={mode}")).unwrap();
    }
    // The server refuses what is not encrypted, so the above was.
    assert!(open(url.clone()).is_err());
    let (without_ca, _) = url.split_once('?').unwrap();
    let Err(error) = open(format!("{without_ca}?sslmode=require")) else {
        panic!("a certificate of an unknown authority was accepted");
    };
    assert!(error.to_string().contains("certificate"), "{error}");
    let another_name = url.replace("@localhost", "@127.0.0.1");
    assert!(open(format!("{another_name}&sslmode=require")).is_err());
}

#[tokio::test]
async fn postgresql_says_what_keeps_us_from_writing() {
    let only_reads = Database::create(Engine::Postgres);
    let read_only = "DO $$ BEGIN
        EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database());
        END $$";
    only_reads.execute(read_only).await;
    let latin = Database::of_encoding("LATIN1");
    for (database, reason) in [(only_reads, "read-only transaction"), (latin, "LATIN1")] {
        let location = database.location();
        let opening = tokio::task::spawn_blocking(move || Store::open(&location).map(drop));
        let error = opening.await.unwrap().unwrap_err().to_string();
        assert!(error.contains(reason), "{error}");
    }
}
