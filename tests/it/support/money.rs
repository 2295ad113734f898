//! Workers, payouts and the ledger, as far as they have no endpoints yet: through the use cases.

use std::time::Duration;

use legwork::ambient;
use legwork::domain::{AccountId, Action, Actor, Environment, NotAllowed, Owner, TaskId, WorkerId};
use legwork::usecases;
use legwork::usecases::{LedgerReport, UseCaseError};
use serde_json::Value;

use super::{Developer, TestApp};

impl TestApp {
    pub fn worker(&self) -> WorkerId {
        WorkerId::new(self.clock.now(), &ambient::random())
    }

    /// Opens a worker's payout account; returns the path of the page that completes it.
    pub async fn open_payout_account(&self, worker: WorkerId) -> String {
        let processor = self.payments.processor.clone();
        let id = processor.open_payout_account(worker).await.unwrap();
        let (name, now, opened) = (processor.name(), self.clock.now(), id.clone());
        self.store
            .write(move |tx| usecases::payout_account_opened(tx, worker, name, &opened, now))
            .await
            .unwrap();
        let url = processor.onboarding_url(&id).await.unwrap();
        let (_, path) = url.split_once("/onboarding/").unwrap();
        format!("/onboarding/{path}")
    }

    /// A worker who can be paid.
    pub async fn payable_worker(&self) -> WorkerId {
        let worker = self.worker();
        let page = self.open_payout_account(worker).await;
        let done = self.client().send("POST", &page, &[], "").await;
        assert_eq!(done.status, 200, "{}", done.text);
        worker
    }

    /// Moves a live task; tells the status it has then, or why it did not move.
    pub async fn try_act(
        &self,
        dev: &Developer,
        task: &Value,
        action: Action,
    ) -> Result<String, NotAllowed> {
        let owner = Owner {
            account: AccountId::parse(&dev.account_id).unwrap(),
            environment: Environment::Live,
        };
        let id = TaskId::parse(task["id"].as_str().unwrap()).unwrap();
        let clock = self.clock.clone();
        let moved = self
            .store
            .write(move |tx| {
                usecases::transition(tx, owner, id, action, Actor::SERVICE, clock.now())
            })
            .await;
        match moved {
            Ok(task) => Ok(task.status.to_string()),
            Err(UseCaseError::NotAllowed(refused)) => Err(refused),
            Err(refusal) => panic!("{refusal}"),
        }
    }

    /// Moves a live task through these actions, all of which must be allowed.
    pub async fn act(&self, dev: &Developer, task: &Value, actions: &[Action]) {
        for action in actions {
            self.try_act(dev, task, *action).await.unwrap();
        }
    }

    pub fn advance(&self, by: Duration) {
        self.clock.move_to(self.clock.now().plus(by));
    }

    pub async fn verify(&self) -> LedgerReport {
        let processor = self.payments.processor.as_ref();
        usecases::verify_ledger(&self.store, processor, self.clock.now())
            .await
            .unwrap()
    }

    /// The ledger is right, and nothing is left to be done.
    #[track_caller]
    pub fn expect_settled(report: &LedgerReport) {
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!((report.owed, report.in_flight), (0, 0));
    }
}

/// The balance of a book of the live environment.
pub fn balance(report: &LedgerReport, book: legwork::domain::LedgerAccount) -> i64 {
    let found = report
        .balances
        .iter()
        .find(|(environment, kept, _)| *environment == Environment::Live && *kept == book);
    found.unwrap().2
}
