//! What somebody commits in the middle of a request. A lock in PostgreSQL stops the request there.

use std::fmt::Debug;

use futures_util::future::join_all;
use legwork::ambient;
use legwork::domain::{Actor, PasskeyId, Person, RecoveryCodes, SessionId, WorkerId};
use legwork::store::StoreError;
use legwork::usecases::{self, UseCaseError};
use serde_json::json;
use tokio_postgres::NoTls;

use crate::pages::Browser;
use crate::pages::limited_keys::LIMITED;
use crate::pages::worker::{browser_of, has, key_of};
use crate::support::{Engine, GOOD_CARD, PASSWORD, TestApp, eventually, path, tell};

/// A lock that somebody holds.
struct Held {
    holder: tokio_postgres::Client,
}

impl Held {
    async fn new(app: &TestApp, lock: &str) -> Self {
        let url = app.database.url().unwrap();
        let (holder, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        let begun = format!("BEGIN; {lock}");
        holder.batch_execute(&begun).await.unwrap();
        Self { holder }
    }

    async fn on_table(app: &TestApp, table: &str) -> Self {
        Self::new(app, &format!("LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await
    }

    /// Lets requests come as far as the lock, then commits this, and returns their answers.
    async fn during<F: Future<Output: Debug>>(
        self,
        app: &TestApp,
        change: &str,
        requests: impl IntoIterator<Item = F>,
    ) -> Vec<F::Output> {
        let requests: Vec<F> = requests.into_iter().collect();
        let waiting = [requests.len().to_string()];
        let mut answers = Box::pin(join_all(requests));
        let waits = "SELECT count(*)::text FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock'";
        let stopped = eventually("all have come to the lock", async || {
            app.database.column(waits).await == waiting
        });
        tokio::select! {
            answers = &mut answers => panic!("nothing stopped them: {answers:?}"),
            () = stopped => {}
        }
        self.holder
            .batch_execute(&format!("{change}; COMMIT"))
            .await
            .unwrap();
        answers.await
    }
}

/// A second click, which looks for the payment before the first has paid, and for the task after it.
#[test]
fn a_task_that_is_paid_for_is_not_over() {
    tell(Engine::Postgres, async |app: TestApp| {
        let (_, secret) = app.developer().await.create_payable_task().await;
        let held = Held::on_table(&app, "tasks").await;
        let paid = "UPDATE sandbox_payments SET status = 'succeeded';
            UPDATE tasks SET status = 'posted'";
        let client = app.client();
        let second = held
            .during(&app, paid, [client.pay(&secret, GOOD_CARD)])
            .await;
        let text = &second[0].text;
        assert!(
            second[0].status == 200 && text.contains("You paid"),
            "{text}"
        );
    });
}

/// Money that is held is not yet paid out, and the other way round.
#[test]
fn money_is_in_one_place() {
    tell(Engine::Postgres, async |app: TestApp| {
        let dev = app.developer().await;
        let (task, _) = dev.create_payable_task().await;
        let held = Held::on_table(&app, "payments").await;
        let paid = "UPDATE payments SET status = 'succeeded';
            UPDATE tasks SET status = 'posted', escrow_cents = 2500";
        let payment = format!("{}/payment", path(&task));
        let shown = held.during(&app, paid, [dev.live.get(&payment)]).await;
        let shown = shown.into_iter().next().unwrap().expect(200);
        let both = (&shown["status"], &shown["escrow_cents"]);
        assert_eq!(both, (&json!("requires_payment"), &json!(0)));
    });
}

#[test]
fn pausing_a_key_leaves_its_limits_alone() {
    tell(Engine::Postgres, async |app: TestApp| {
        let mut browser = Browser::signed_up(&app, "ada@example.com").await;
        let made = browser.post("/dashboard/test/keys/new", &LIMITED).await;
        assert_eq!(made.status, 200, "{}", made.text);
        let id = &app.database.column("SELECT key_id FROM mandates").await[0];
        let pause = format!("/dashboard/test/keys/{id}/pause");
        let held = Held::new(&app, "SELECT id FROM accounts FOR UPDATE").await;
        let lower = "UPDATE mandates SET max_task_cents = 3000";
        let paused = [("paused", "true")];
        let answers = held
            .during(&app, lower, [browser.post(&pause, &paused)])
            .await;
        assert_eq!(answers[0].status, 303, "{}", answers[0].text);
        let kept = "SELECT max_task_cents || ' ' || paused FROM mandates";
        assert_eq!(app.database.column(kept).await, ["3000 1"]);
    });
}

/// The same form, sent again before it was answered.
#[test]
fn nobody_was_faster_than_oneself() {
    tell(Engine::Postgres, async |app: TestApp| {
        let (dev, worker) = (app.developer().await, app.ready_worker().await);
        let task = dev.create_paid_task().await;
        let mut browsers = [
            browser_of(&app, &worker).await,
            browser_of(&app, &worker).await,
        ];
        let offer = format!("/worker/find/{}", task["id"].as_str().unwrap());
        let accept = format!("{offer}/accept");
        let key = key_of(&browsers[0].get(&offer).await.text, &accept);
        let fields = [("idempotency_key", key.as_str())];
        let held = Held::new(&app, "SELECT id FROM tasks FOR UPDATE").await;
        let [first, second] = &mut browsers;
        // One of them waits for the lock. The other is answered, and never waits.
        let both = async {
            let (one, other) = (first.post(&accept, &fields), second.post(&accept, &fields));
            let (one, other) = tokio::join!(one, other);
            if one.status == 303 {
                [one, other]
            } else {
                [other, one]
            }
        };
        let answers = held.during(&app, "SELECT 1", [both]).await;
        let [accepted, other] = &answers[0];
        let own = format!("/worker/tasks/{}", task["id"].as_str().unwrap());
        assert_eq!(accepted.header("location"), format!("{own}?done=accepted"));
        assert_eq!(other.status, 409, "{}", other.text);
        has(&other.text, &["in progress"]);
    });
}

/// Whoever sets a new password keeps out whoever knows the old one.
#[test]
fn an_old_password_confirms_nothing() {
    tell(Engine::Postgres, async |app: TestApp| {
        let worker = app.sign_up(&[]).await;
        let body = json!({"password": PASSWORD}).to_string();
        let email = json!({"password": PASSWORD, "email": "eve@example.com"}).to_string();
        let replaced = "UPDATE workers SET password_hash = 'another'";
        let held = Held::new(&app, "SELECT id FROM workers FOR UPDATE").await;
        let requests = [
            worker.client.send("DELETE", "/v1/worker", &[], body),
            worker.client.send("PUT", "/v1/worker/email", &[], email),
        ];
        for answer in held.during(&app, replaced, requests).await {
            answer.expect_error(401, "INVALID_CREDENTIALS");
        }
        worker.client.get("/v1/worker").await.expect(200);
    });
}

/// Neither does it take another address in the dashboard, where it was right a moment before.
#[test]
fn a_session_that_a_new_password_ended_changes_no_address() {
    tell(Engine::Postgres, async |app: TestApp| {
        let mut browser = Browser::signed_up(&app, "ada@example.com").await;
        let fields = [("email", "eve@example.com"), ("email_password", PASSWORD)];
        let held = Held::new(&app, "SELECT id FROM accounts FOR UPDATE").await;
        let replaced = "UPDATE accounts SET password_hash = 'another'; DELETE FROM sessions";
        let answers = held
            .during(&app, replaced, [browser.post("/account/email", &fields)])
            .await;
        assert_eq!(answers[0].status, 401, "{}", answers[0].text);
        let addresses = "SELECT COALESCE(email, '') || COALESCE(claimed_email, '') FROM accounts";
        let addresses = app.database.column(addresses).await;
        assert!(
            addresses.iter().all(|it| !it.contains("eve@")),
            "{addresses:?}"
        );
    });
}

fn passkey_of(worker: WorkerId, id: PasskeyId, place: u8) -> String {
    format!(
        "INSERT INTO passkeys (id, holder, place, credential_id, algorithm, public_key, counter, name,
            created_at)
         VALUES ('{id}', 'worker:{worker}', {place}, '{place}', 'ES256', '', 0, 'Key', 0)"
    )
}

/// Who has no factor may change factors, but not those that are there when it is their turn.
#[test]
fn a_first_factor_is_waited_for() {
    tell(Engine::Postgres, async |app: TestApp| {
        let worker = app.sign_up(&[]).await;
        let id = WorkerId::parse(&worker.id).unwrap();
        let held = Held::new(&app, "SELECT id FROM audit_head FOR UPDATE").await;
        let add = passkey_of(id, PasskeyId::new(app.clock.now(), &[1; 10]), 1);
        let given = app
            .store
            .write(move |tx| usecases::expect_given(tx, Person::Worker(id), false));
        let given = held.during(&app, &add, [given]).await;
        assert!(matches!(given[0], Err(UseCaseError::SecondFactorRequired)));
    });
}

#[test]
fn with_the_last_factor_go_the_recovery_codes() {
    tell(Engine::Postgres, async |app: TestApp| {
        let worker = app.sign_up(&[]).await;
        let id = WorkerId::parse(&worker.id).unwrap();
        let passkeys = [1, 2].map(|place| (PasskeyId::new(app.clock.now(), &[place; 10]), place));
        for (passkey, place) in passkeys {
            let add = passkey_of(id, passkey, place);
            app.database.execute(&add).await;
        }
        let code = format!("INSERT INTO recovery_codes VALUES ('worker:{id}', 'hash')");
        app.database.execute(&code).await;
        let held = Held::new(&app, "SELECT id FROM audit_head FOR UPDATE").await;
        let removed = passkeys.map(|(passkey, _)| {
            let (holder, now) = (Person::Worker(id), app.clock.now());
            app.store.write(move |tx| {
                usecases::remove_passkey(tx, (holder, passkey), &Actor::worker(id), now)
            })
        });
        for removed in held.during(&app, "SELECT 1", removed).await {
            assert!(removed.unwrap());
        }
        let left = app.database.column("SELECT code_hash FROM recovery_codes");
        assert!(left.await.is_empty());
    });
}

/// The same form, sent again before it was answered: the codes that it shows are all that there are.
#[test]
fn recovery_codes_are_replaced_one_after_the_other() {
    tell(Engine::Postgres, async |app: TestApp| {
        let worker = app.sign_up(&[]).await;
        let id = WorkerId::parse(&worker.id).unwrap();
        let add = passkey_of(id, PasskeyId::new(app.clock.now(), &[1; 10]), 1);
        app.database.execute(&add).await;
        let held = Held::new(&app, "SELECT id FROM audit_head FOR UPDATE").await;
        let replaced = [1, 2].map(|_| {
            let codes = RecoveryCodes::new(&ambient::random());
            let (holder, now) = (Person::Worker(id), app.clock.now());
            app.store.write(move |tx| {
                let by = Actor::worker(id);
                usecases::replace_recovery_codes(tx, holder, &codes, &by, now)
            })
        });
        for replaced in held.during(&app, "SELECT 1", replaced).await {
            replaced.unwrap();
        }
        let left = app.database.column("SELECT code_hash FROM recovery_codes");
        assert_eq!(left.await.len(), 10);
    });
}

#[test]
fn one_signs_out_twice() {
    tell(Engine::Postgres, async |app: TestApp| {
        let browser = Browser::signed_up(&app, "ada@example.com").await;
        let mut tabs = [Browser::of(&app), Browser::of(&app)];
        for tab in &mut tabs {
            tab.cookie.clone_from(&browser.cookie);
        }
        let held = Held::new(&app, "SELECT id FROM sessions FOR UPDATE").await;
        let both = tabs.iter_mut().map(|tab| tab.post("/sign-out", &[]));
        for answer in held.during(&app, "SELECT 1", both).await {
            assert_eq!(answer.header("location"), "/sign-in", "{}", answer.text);
        }
        // And what is confirmed with a password in a session that has ended is refused for good.
        let (ended, now) = (SessionId::new(app.clock.now(), &[1; 10]), app.clock.now());
        let confirmed = app
            .store
            .write(move |tx| usecases::password_given_again(tx, ended, now));
        assert!(matches!(confirmed.await, Err(UseCaseError::Unauthorized)));
    });
}

/// All come at the same moment to a store that has made one connection so far, and may make eight.
#[test]
fn whoever_waits_for_a_lock_waits_alone() {
    tell(Engine::Postgres, async |app: TestApp| {
        let store = app.database.open().await;
        let held = Held::new(&app, "SELECT id FROM audit_head FOR UPDATE").await;
        let all = [(); 6].map(|()| store.write(|tx| tx.audit_head_to_change().map(drop)));
        for answer in held.during(&app, "SELECT 1", all).await {
            let answer: Result<(), StoreError> = answer;
            answer.unwrap();
        }
    });
}
