//! Accounts and workers are suspended and restored; accounts are deleted, and erased later.

mod accounts;
mod commands;
mod deletion;
pub mod erasure;
mod many;
mod workers;

use std::time::Duration;

use legwork::domain::{Account, AccountId, Actor};
use legwork::usecases;
use legwork::usecases::UseCaseError;

use crate::support::{Developer, TestApp, Worker};

pub fn id_of(dev: &Developer) -> AccountId {
    AccountId::parse(&dev.account_id).unwrap()
}

async fn suspend(app: &TestApp, account: AccountId) -> Result<Account, UseCaseError> {
    let now = app.clock.now();
    app.store
        .write(move |tx| usecases::suspend_account(tx, account, &Actor::COMMAND_LINE, now))
        .await
}

async fn restore(app: &TestApp, account: AccountId) -> Result<Account, UseCaseError> {
    let now = app.clock.now();
    app.store
        .write(move |tx| usecases::restore_account(tx, account, &Actor::COMMAND_LINE, now))
        .await
}

pub async fn delete(app: &TestApp, account: AccountId) -> Result<Account, UseCaseError> {
    let now = app.clock.now();
    app.store
        .write(move |tx| usecases::delete_account(tx, account, &Actor::COMMAND_LINE, now))
        .await
}

/// The tasks that a worker finds nearby, as they come.
async fn found(worker: &Worker) -> Vec<String> {
    let page = worker.client.get("/v1/worker/available_tasks").await;
    let page = page.expect(200);
    let tasks = page["data"].as_array().unwrap().iter();
    tasks
        .map(|task| task["id"].as_str().unwrap().to_owned())
        .collect()
}

/// The ids of a query, in order.
pub async fn ids(app: &TestApp, sql: &str) -> Vec<String> {
    let mut ids = app.database.column(sql).await;
    ids.sort();
    ids
}

pub async fn count(app: &TestApp, table: &str) -> usize {
    let count = format!("SELECT CAST(COUNT(*) AS TEXT) FROM {table}");
    app.database.column(&count).await[0].parse().unwrap()
}

/// Runs jobs until something is so, then kills whoever runs them, wherever that is, and lets the leases
/// of the killed run out.
pub async fn kill_jobs_when(app: &TestApp, reached: impl AsyncFn() -> bool) {
    let watch = async {
        while !reached().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = app.jobs.run(std::future::pending()) => {}
        () = watch => {}
    }
    app.advance(Duration::from_secs(300));
}

/// Works until nothing is left to do. The database may still be at a transaction of the killed, which
/// leaves a job behind: one look is not enough.
pub async fn finish_jobs(app: &TestApp) {
    while count(app, "jobs").await > 0 {
        app.jobs.drain().await.unwrap();
    }
}
