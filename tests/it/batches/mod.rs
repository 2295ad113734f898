//! Many transactions in one commit: what one of them does undoes or delays no other.

mod locks;
mod mandates;
mod moves;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use futures_util::future::{BoxFuture, FutureExt, join_all};
use futures_util::poll;
use legwork::ambient;
use legwork::domain::{
    AccountId, AdminKey, AdminKeyId, AdminRole, Environment, EventType, JobKind, JobName, NewEvent,
    Owner, Timestamp,
};
use legwork::store::{Location, Store, StoreError, Tx, all_statements};
use tokio::task::JoinHandle;

use crate::hanging::cluster::ask;
use crate::support::{Engine, TestApp, eventually, on_both_engines, tell};

on_both_engines!(
    one_that_is_refused_undoes_only_itself,
    one_that_panics_undoes_only_itself,
    one_that_breaks_a_rule_undoes_only_itself,
    each_sees_what_those_before_it_wrote,
    many_accounts_at_once_lose_nothing,
);

fn now() -> Timestamp {
    Timestamp::RULE.check(TestApp::NOON).unwrap()
}

async fn account(app: &TestApp) -> AccountId {
    AccountId::parse(&app.developer().await.account_id).unwrap()
}

fn live(account: AccountId) -> Owner {
    Owner {
        account,
        environment: Environment::Live,
    }
}

/// The event gets its number from the totals of the account. The first of a batch locks them.
fn add_event(tx: &mut Tx<'_>, account: AccountId) -> Result<(), StoreError> {
    let event = NewEvent {
        event_type: EventType::TaskCreated,
        task: None,
        data: "{}".to_owned(),
    };
    tx.add_event(live(account), &event, now())
}

async fn events(store: &Store, account: AccountId) -> i64 {
    let read = store.read(move |tx| tx.last_event_number(live(account)));
    read.await.unwrap()
}

/// Sends all that is kept back, too.
fn write_at_once(tx: &mut Tx<'_>, account: AccountId) -> Result<(), StoreError> {
    let job = JobName::new(JobKind::Push, account);
    tx.add_dead_job(&job, "dropped by a test", now())?;
    tx.drop_job(&job)
}

type Answer = BoxFuture<'static, Result<(), StoreError>>;

/// A transaction of an account that waits until it is let go. Whatever is queued meanwhile runs in one
/// batch after it.
struct Held {
    release: mpsc::Sender<()>,
    held: JoinHandle<Result<(), StoreError>>,
    queued: Vec<Answer>,
}

impl Held {
    async fn of(store: &Store, account: AccountId) -> Self {
        let (release, wait) = mpsc::channel();
        let (begin, begun) = tokio::sync::oneshot::channel();
        let mut begin = Some(begin);
        let store = store.clone();
        // It may run more than once, like every transaction; it waits only the first time.
        let held = tokio::spawn(async move {
            let held = store.write_for(account, move |tx| {
                if let Some(begin) = begin.take() {
                    begin.send(()).unwrap();
                    wait.recv().unwrap();
                }
                add_event(tx, account)
            });
            held.await
        });
        begun.await.unwrap();
        Self {
            release,
            held,
            queued: Vec::new(),
        }
    }

    /// Polled once, so that it is queued.
    async fn queue<F>(&mut self, store: &Store, account: AccountId, work: F)
    where
        F: FnMut(&mut Tx<'_>) -> Result<(), StoreError> + Send + 'static,
    {
        let store = store.clone();
        let mut answer = async move { store.write_for(account, work).await }.boxed();
        assert!(poll!(&mut answer).is_pending());
        self.queued.push(answer);
    }

    async fn let_go(self) -> Vec<Result<(), StoreError>> {
        self.release.send(()).unwrap();
        self.held.await.unwrap().unwrap();
        join_all(self.queued).await
    }
}

/// Runs five transactions in a batch. Those in the middle are spoilt before and after they write.
async fn five_in_a_batch(
    app: &TestApp,
    spoil: impl Fn(&mut Tx<'_>) -> Result<(), StoreError> + Send + Clone + 'static,
) {
    let account = account(app).await;
    let mut held = Held::of(&app.store, account).await;
    for number in 0..5 {
        let spoil = spoil.clone();
        let work = move |tx: &mut Tx<'_>| {
            let job = JobName::new(JobKind::Mail, format!("{account} {number}"));
            tx.add_dead_job(&job, "looked at by a test", now())?;
            if number == 1 {
                spoil(tx)?;
            }
            add_event(tx, account)?;
            write_at_once(tx, account)?;
            if number == 3 { spoil(tx) } else { Ok(()) }
        };
        held.queue(&app.store, account, work).await;
    }
    let results = held.let_go().await;
    let kept: Vec<_> = results.iter().map(Result::is_ok).collect();
    assert_eq!(kept, [true, false, true, false, true]);
    assert_eq!(events(&app.store, account).await, 1 + 3);
    let stayed = app.store.snapshot(move |tx| {
        let events = tx.events_after(live(account), 0, 100)?;
        let mut jobs = Vec::new();
        for number in 0..5 {
            let job = JobName::new(JobKind::Mail, format!("{account} {number}"));
            jobs.push(tx.job_exists(&job)?);
        }
        Ok::<_, StoreError>((events, jobs))
    });
    let (events, jobs) = stayed.await.unwrap();
    let numbers: Vec<_> = events.iter().map(|event| event.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4]);
    assert_eq!(jobs, kept);
}

async fn one_that_is_refused_undoes_only_itself(app: TestApp) {
    five_in_a_batch(&app, |_| Err(StoreError::Failed("on purpose".into()))).await;
}

async fn one_that_panics_undoes_only_itself(app: TestApp) {
    five_in_a_batch(&app, |_| panic!("on purpose")).await;
}

/// The error of a deferred write shows when it is sent, together with those of others.
async fn one_that_breaks_a_rule_undoes_only_itself(app: TestApp) {
    let twice = |tx: &mut Tx<'_>| {
        let key = AdminKey {
            id: AdminKeyId::new(now(), &ambient::random()),
            name: "twice".to_owned(),
            role: AdminRole::Viewer,
            key_prefix: "adm_".to_owned(),
            created_at: now(),
            last_used_at: None,
            revoked_at: None,
            created_by: None,
        };
        tx.insert_admin_key(&key, "one hash")?;
        tx.insert_admin_key(&key, "another hash")
    };
    five_in_a_batch(&app, twice).await;
}

/// The client finds that it does not fit. What was written before it must not be committed by what was sent after it.
#[test]
fn one_with_a_value_that_does_not_fit_undoes_only_itself() {
    const SET_CLOCK: &str = "UPDATE accounts SET test_ahead_ms = ?2 WHERE id = ?1";
    let mut statements = all_statements();
    let set_clock = statements.find(|it| it.sql() == SET_CLOCK).unwrap();
    let unfit = move |tx: &mut Tx<'_>| tx.defer(set_clock, &["nobody".into(), "a text".into()]);
    tell(Engine::Postgres, async move |app: TestApp| {
        let account = account(&app).await;
        let alone = app.store.write_for(account, move |tx: &mut Tx<'_>| {
            add_event(tx, account)?;
            unfit(tx)
        });
        assert!(matches!(alone.await, Err(StoreError::Failed(_))));
        assert_eq!(events(&app.store, account).await, 0);
        five_in_a_batch(&app, unfit).await;
    });
}

async fn each_sees_what_those_before_it_wrote(app: TestApp) {
    let account = account(&app).await;
    let mut held = Held::of(&app.store, account).await;
    let job = JobName::new(JobKind::Mail, account);
    let wanted = job.clone();
    let add = move |tx: &mut Tx<'_>| tx.add_dead_job(&wanted, "looked at by a test", now());
    held.queue(&app.store, account, add).await;
    let look = move |tx: &mut Tx<'_>| match tx.job_exists(&job)? {
        true => Ok(()),
        false => Err(StoreError::Failed("the job is not there".into())),
    };
    held.queue(&app.store, account, look).await;
    for result in held.let_go().await {
        result.unwrap();
    }
}

async fn many_accounts_at_once_lose_nothing(app: TestApp) {
    const ACCOUNTS: usize = 12;
    const EACH: usize = 40;
    let accounts = join_all((0..ACCOUNTS).map(|_| account(&app))).await;
    let writes = (0..EACH).flat_map(|_| accounts.clone()).map(|account| {
        let store = app.store.clone();
        tokio::spawn(async move {
            let write = store.write_for(account, move |tx| add_event(tx, account));
            write.await
        })
    });
    for written in join_all(writes).await {
        written.unwrap().unwrap();
    }
    for account in accounts {
        let read = app
            .store
            .snapshot(move |tx| tx.events_after(live(account), 0, 1_000));
        let numbers: Vec<_> = read.await.unwrap().iter().map(|e| e.number).collect();
        assert_eq!(numbers, (1..=EACH as i64).collect::<Vec<_>>());
    }
}

/// All rows that one transaction of PostgreSQL wrote have the same `xmin`.
async fn commits(app: &TestApp, account: AccountId) -> i64 {
    let sql =
        format!("SELECT count(DISTINCT xmin::text) FROM events WHERE account_id = '{account}'");
    let count = ask(&app.database.url().unwrap(), &sql).await;
    count.parse().unwrap()
}

/// Queues twenty behind one that is held, and returns how many commits they took.
async fn commits_of_twenty(app: &TestApp, account: AccountId) -> i64 {
    let before = commits(app, account).await;
    let mut held = Held::of(&app.store, account).await;
    for number in 0..20 {
        // One that is refused before it wrote does not break it up.
        let work = move |tx: &mut Tx<'_>| match number {
            7 => Err(StoreError::Failed("on purpose".into())),
            _ => add_event(tx, account),
        };
        held.queue(&app.store, account, work).await;
    }
    let results = held.let_go().await;
    assert_eq!(results.iter().filter(|result| result.is_err()).count(), 1);
    commits(app, account).await - before
}

#[test]
fn what_waits_shares_a_commit() {
    tell(Engine::Postgres, async |app: TestApp| {
        let account = account(&app).await;
        // On a busy machine a batch may take too long, and is ended before it has all of them.
        eventually("twenty share one commit", async || {
            commits_of_twenty(&app, account).await == 1
        })
        .await;
    });
}

#[test]
fn a_busy_account_does_not_delay_another_one() {
    const WAITING: usize = 10_000;
    // There is one connection, so everything waits for everything.
    tell(Engine::Postgres, async |app: TestApp| {
        let (busy, other) = (account(&app).await, account(&app).await);
        let url = app.database.url().unwrap();
        let connections = 1;
        let store = app
            .database
            .open_at(Location::Postgres { url, connections });
        let store = store.await;
        let mut held = Held::of(&store, busy).await;
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..WAITING {
            let ran = ran.clone();
            let count = move |_: &mut Tx<'_>| {
                ran.fetch_add(1, Ordering::Relaxed);
                Ok(())
            };
            held.queue(&store, busy, count).await;
        }
        let before = ran.clone();
        let mut first = Box::pin(store.write_for(other, move |tx| {
            add_event(tx, other)?;
            Ok::<_, StoreError>(before.load(Ordering::Relaxed))
        }));
        assert!(poll!(&mut first).is_pending());
        let held = tokio::spawn(held.let_go());
        let before = first.await.unwrap();
        assert!(before < 1_000, "{before} of {WAITING} ran first");
        held.await.unwrap();
        assert_eq!(ran.load(Ordering::Relaxed), WAITING);
    });
}

/// What happens on the server when the first event is added, and not again.
async fn happens_once(app: &TestApp, what: &str) {
    let trigger = format!(
        "CREATE SEQUENCE tries;
         CREATE FUNCTION once() RETURNS TRIGGER AS $$BEGIN
             IF nextval('tries') = 1 THEN {what}; END IF;
             RETURN NEW;
         END$$ LANGUAGE plpgsql;
         CREATE TRIGGER once BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION once()"
    );
    app.database.execute(&trigger).await;
}

/// It has told why, so everybody knows that nothing was committed, although `COMMIT` was sent with the write.
#[test]
fn a_batch_that_the_server_ended_before_its_commit_runs_again() {
    tell(Engine::Postgres, async |app: TestApp| {
        let account = account(&app).await;
        happens_once(&app, "RAISE 'no space left' USING ERRCODE = 'disk_full'").await;
        let written = app
            .store
            .write_for(account, move |tx: &mut Tx<'_>| add_event(tx, account));
        written.await.unwrap();
        assert_eq!(events(&app.store, account).await, 1);
    });
}

/// The connection ended while `COMMIT` was under way. A pooler says so, too, when the server may still commit.
#[test]
fn a_batch_that_was_ended_with_its_connection_does_not_run_again() {
    tell(Engine::Postgres, async |app: TestApp| {
        let account = account(&app).await;
        happens_once(&app, "PERFORM pg_terminate_backend(pg_backend_pid())").await;
        let add = move |tx: &mut Tx<'_>| add_event(tx, account);
        let ended = app.store.write_for(account, add).await;
        assert!(
            matches!(ended, Err(StoreError::Unavailable(_))),
            "{ended:?}"
        );
        let stored = app.database.column("SELECT COUNT(*)::text FROM events");
        assert_eq!(stored.await, ["0"]);
        eventually("there is another connection", async || {
            app.store.write_for(account, add).await.is_ok()
        })
        .await;
    });
}

#[test]
fn a_batch_whose_connection_is_lost_runs_again() {
    tell(Engine::Postgres, async |app: TestApp| {
        let account = account(&app).await;
        let mut held = Held::of(&app.store, account).await;
        let (begin, begun) = tokio::sync::oneshot::channel();
        let (release, wait) = mpsc::channel::<()>();
        let mut middle = Some((begin, wait));
        for number in 0..10 {
            let mut stop = (number == 5).then(|| middle.take().unwrap());
            let work = move |tx: &mut Tx<'_>| {
                if let Some((begin, wait)) = stop.take() {
                    begin.send(()).unwrap();
                    wait.recv().unwrap();
                }
                add_event(tx, account)?;
                // A statement after the wait: were COMMIT the next to be sent, nobody would know.
                write_at_once(tx, account)
            };
            held.queue(&app.store, account, work).await;
        }
        let held = tokio::spawn(held.let_go());
        begun.await.unwrap();
        let ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE application_name = 'legwork' AND datname = current_database()";
        let ended = ask(&app.database.url().unwrap(), ended).await;
        assert_ne!(ended, "0");
        release.send(()).unwrap();
        for result in held.await.unwrap() {
            result.unwrap();
        }
        assert_eq!(events(&app.store, account).await, 1 + 10);
    });
}
