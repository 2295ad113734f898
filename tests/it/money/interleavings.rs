//! Random interleavings of moves, payments, notices, failures and kills. Whatever happens, the
//! ledger is right after every step; and when the processor is back, every owed movement happens
//! exactly once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use legwork::domain::{
    Action, PaymentFailure, PaymentStatus, ProcessorName, Step, TaskId, WorkerId,
};
use legwork::payments::sandbox::{Card, Paid};
use legwork::payments::{ProcessorEvent, ProcessorEventKind, Sandbox};
use legwork::store::SandboxPayment;
use legwork::usecases;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;

use crate::support::{
    Database, Developer, Engine, Flaky, InjectedFault, TestApp, path, storefront,
};

const TASKS: usize = 5;
const WORKERS: usize = 2;
const BUDGET: i64 = 2500;

#[derive(Clone, Copy, Debug)]
enum Happening {
    /// Somebody pays, or tries to, and the notice of it is on its way.
    Pay {
        task: usize,
        card: Card,
    },
    /// One of the notices arrives, perhaps not for the first time.
    EventArrives {
        which: usize,
    },
    /// The processor says once more, under another name, how a payment stands or stood.
    OldNews {
        task: usize,
        failed: bool,
    },
    Act {
        task: usize,
        action: Action,
    },
    Accept {
        task: usize,
        worker: usize,
    },
    /// Jobs run while the processor fails in this way.
    JobsRun {
        fault: InjectedFault,
    },
    TimePasses {
        seconds: u64,
    },
    PayoutAccountIsReady {
        worker: usize,
    },
}

fn happening() -> impl Strategy<Value = Happening> {
    let task = || 0..TASKS;
    let card = prop_oneof![3 => Just(Card::Good), 1 => Just(Card::Declined)];
    let fault = prop_oneof![
        4 => Just(InjectedFault::None),
        2 => Just(InjectedFault::Down),
        3 => Just(InjectedFault::AnswerLost),
        3 => Just(InjectedFault::Killed),
    ];
    let action = prop_oneof![
        2 => Just(Action::Cancel),
        4 => Just(Action::Start),
        5 => Just(Action::SubmitProof),
        3 => Just(Action::Approve),
        4 => Just(Action::Reject),
        1 => Just(Action::Release),
        1 => Just(Action::Dispute),
        1 => Just(Action::DecidePay),
        1 => Just(Action::DecideRefund),
        1 => Just(Action::Overdue),
        1 => Just(Action::LeaveUnpaid),
    ];
    prop_oneof![
        4 => (task(), card).prop_map(|(task, card)| Happening::Pay { task, card }),
        4 => (0..100usize).prop_map(|which| Happening::EventArrives { which }),
        1 => (task(), any::<bool>()).prop_map(|(task, failed)| Happening::OldNews { task, failed }),
        8 => (task(), action).prop_map(|(task, action)| Happening::Act { task, action }),
        5 => (task(), 0..WORKERS).prop_map(|(task, worker)| Happening::Accept { task, worker }),
        7 => fault.prop_map(|fault| Happening::JobsRun { fault }),
        4 => prop_oneof![Just(2), Just(121), Just(4000)]
            .prop_map(|seconds| Happening::TimePasses { seconds }),
        1 => (0..WORKERS).prop_map(|worker| Happening::PayoutAccountIsReady { worker }),
    ]
}

/// LEGWORK_TEST_CASES asks for more.
fn run(engine: Engine, cases: u32) {
    let asked = std::env::var("LEGWORK_TEST_CASES").ok();
    let cases = asked.map_or(cases, |asked| asked.parse().unwrap());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    };
    let stories = prop::collection::vec(happening(), 20..80);
    TestRunner::new(config)
        .run(&stories, |story| {
            runtime.block_on(async {
                let database = Arc::new(Database::migrated(engine));
                let mut world = World::create(&database).await;
                for happening in &story {
                    world.happen(*happening).await;
                    let differences = world.app.verify().await.differences;
                    prop_assert!(differences.is_empty(), "{happening:?}: {differences:?}");
                }
                world.recover().await;
                world.check_the_end().await
            })
        })
        .unwrap();
}

#[test]
fn the_ledger_is_right_after_every_step_on_sqlite() {
    run(Engine::Sqlite, 24);
}

#[test]
fn the_ledger_is_right_after_every_step_on_postgres() {
    run(Engine::Postgres, 10);
}

struct World {
    app: TestApp,
    processor: Flaky,
    sandbox: Sandbox,
    dev: Developer,
    tasks: Vec<Value>,
    workers: Vec<(WorkerId, String)>,
    notices: Vec<String>,
    news: usize,
}

impl World {
    async fn create(database: &Arc<Database>) -> Self {
        let (app, processor) = TestApp::start_flaky(database).await;
        let dev = app.developer().await;
        let mut tasks = Vec::new();
        for number in 0..TASKS {
            match number {
                0 => dev.charge_to("pm_card_visa").await,
                1 => dev.charge_to("pm_card_chargeDeclined").await,
                2 => drop(dev.live.delete("/v1/account/payment_method").await),
                _ => {}
            }
            let created = dev.live.post("/v1/tasks", &storefront()).await;
            tasks.push(created.expect(201));
        }
        let mut workers = Vec::new();
        for _ in 0..WORKERS {
            let worker = app.worker();
            workers.push((worker, app.open_payout_account(worker).await));
        }
        Self {
            sandbox: app.payments.sandbox.clone().unwrap(),
            app,
            processor,
            dev,
            tasks,
            workers,
            notices: Vec::new(),
            news: 0,
        }
    }

    async fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Pay { task, card } => self.pay(task, card).await,
            Happening::EventArrives { which } => self.event_arrives(which).await,
            Happening::OldNews { task, failed } => self.old_news(task, failed).await,
            Happening::Act { task, action } => {
                let task = &self.tasks[task];
                let _ = self.app.try_act(&self.dev, task, action).await;
            }
            Happening::Accept { task, worker } => {
                let worker = self.workers[worker].0;
                let (task, action) = (&self.tasks[task], Action::Accept { worker });
                let _ = self.app.try_act(&self.dev, task, action).await;
            }
            Happening::JobsRun { fault } => {
                self.processor.set(fault);
                let drained = self.processor.until_killed(self.app.jobs.drain()).await;
                drained.transpose().unwrap();
                self.processor.set(InjectedFault::None);
            }
            Happening::TimePasses { seconds } => self.app.advance(Duration::from_secs(seconds)),
            Happening::PayoutAccountIsReady { worker } => self.complete_account(worker).await,
        }
    }

    /// The payment of a task at the sandbox, once we know of it: nobody else has its secret.
    async fn payment(&self, task: usize) -> Option<SandboxPayment> {
        let task = TaskId::parse(self.tasks[task]["id"].as_str().unwrap()).unwrap();
        let read = self.app.store.read(move |tx| {
            let intent = tx.payment(task)?.and_then(|payment| payment.intent);
            intent
                .map(|intent| tx.client_secret(task, &intent))
                .transpose()
        });
        let secret = read.await.unwrap().flatten()?;
        self.sandbox.payment(&secret).await.unwrap()
    }

    async fn pay(&mut self, task: usize, card: Card) {
        let Some(payment) = self.payment(task).await else {
            return;
        };
        match self.sandbox.pay(&payment, card).await.unwrap() {
            Paid::Yes { event: notice } | Paid::Declined { event: notice, .. } => {
                self.notices.push(notice)
            }
            Paid::Already | Paid::Cancelled => {}
        }
    }

    async fn event_arrives(&self, which: usize) {
        if self.notices.is_empty() {
            return;
        }
        let notice = self.notices[which % self.notices.len()].clone();
        let now = self.app.clock.now();
        self.app
            .store
            .write(move |tx| usecases::receive_sandbox_event(tx, &notice, now))
            .await
            .unwrap();
    }

    async fn old_news(&mut self, task: usize, failed: bool) {
        let Some(payment) = self.payment(task).await else {
            return;
        };
        let (payment, status) = (payment.id, payment.status);
        let news = match status {
            _ if failed => ProcessorEventKind::PaymentFailed {
                payment,
                failure: PaymentFailure {
                    code: "card_declined".to_owned(),
                    message: "Long ago.".to_owned(),
                },
            },
            PaymentStatus::Succeeded => ProcessorEventKind::PaymentSucceeded { payment },
            PaymentStatus::Cancelled => ProcessorEventKind::PaymentCancelled { payment },
            _ => ProcessorEventKind::Other,
        };
        self.news += 1;
        let (id, now) = (format!("evt_again_{}", self.news), self.app.clock.now());
        let notice = ProcessorEvent { id, kind: news };
        self.app
            .store
            .write(move |tx| {
                usecases::receive_processor_event(tx, ProcessorName::Sandbox, &notice, now)
            })
            .await
            .unwrap();
    }

    async fn complete_account(&self, worker: usize) {
        let page = &self.workers[worker].1;
        let done = self.app.client().send("POST", page, &[], "").await;
        assert_eq!(done.status, 200);
    }

    /// The processor works again, and everybody has a payout account.
    async fn recover(&self) {
        for worker in 0..WORKERS {
            self.complete_account(worker).await;
        }
        for _ in 0..3 {
            self.app.advance(Duration::from_secs(2 * 60 * 60));
            self.app.jobs.drain().await.unwrap();
        }
    }

    async fn check_the_end(&self) -> Result<(), TestCaseError> {
        let report = self.app.verify().await;
        prop_assert!(report.is_right(), "{:?}", report.differences);
        prop_assert_eq!((report.owed, report.in_flight), (0, 0));
        let jobs = "SELECT kind || ' ' || COALESCE(last_error, '') FROM jobs";
        prop_assert_eq!(self.app.database.column(jobs).await, Vec::<String>::new());
        let moved = self.moved().await;
        for task in &self.tasks {
            self.check_task(task, &moved).await?;
        }
        Ok(())
    }

    /// What the processor has moved for each task and step; each at most once.
    async fn moved(&self) -> HashMap<(TaskId, Step), i64> {
        let mut moved = HashMap::new();
        for movement in self.app.payments.processor.movements().await.unwrap() {
            let key = (movement.task, movement.step);
            assert!(moved.insert(key, movement.cents).is_none(), "{key:?} twice");
        }
        moved
    }

    /// What must have moved for a task, by where it ended.
    async fn check_task(
        &self,
        task: &Value,
        moved: &HashMap<(TaskId, Step), i64>,
    ) -> Result<(), TestCaseError> {
        let id = TaskId::parse(task["id"].as_str().unwrap()).unwrap();
        let task = self.dev.live.get(&path(task)).await.expect(200);
        let cents = |step| moved.get(&(id, step)).copied().unwrap_or(0);
        let paid = cents(Step::Payment);
        let status = task["status"].as_str().unwrap();
        let assigned = !task["worker_id"].is_null();
        let expected = match status {
            "pending" => {
                prop_assert_eq!(paid, 0);
                (0, 0)
            }
            "completed" => (0, 2100),
            "cancelled" if assigned => (1250, 1050),
            "cancelled" | "expired" | "refunded" => (paid, 0),
            _ => (0, 0),
        };
        if !["pending", "cancelled", "expired"].contains(&status) {
            prop_assert_eq!(paid, BUDGET, "{}", status);
        }
        let out = (cents(Step::Refund), cents(Step::Transfer));
        prop_assert_eq!(out, expected, "{} of {}", status, paid);
        Ok(())
    }
}
