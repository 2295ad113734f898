//! The service, in this process, on a socket of its own, with a clock that can be set.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use legwork::ambient::Clock;
use legwork::api::{self, App, Shutdown, Timeouts, Wiring};
use legwork::domain::{AccountId, NewAccount, Tier, Timestamp};
use legwork::store::Store;
use legwork::telemetry;
use legwork::usecases::{self, OpenedAccount};

use super::{Client, Database, Developer};

#[derive(Clone)]
pub struct TestApp {
    pub address: SocketAddr,
    pub clock: Clock,
    pub store: Store,
    pub database: Arc<Database>,
    _stop: Arc<StopOnDrop>,
}

struct StopOnDrop(Shutdown);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.start();
    }
}

impl TestApp {
    /// Noon on the fifteenth: no month ends by accident.
    pub const NOON: &str = "2026-11-15T12:00:00.000Z";

    pub async fn start(database: &Arc<Database>) -> Self {
        Self::start_on(database.open().await, database).await
    }

    /// On a store that may reach the database by another way.
    pub async fn start_on(store: Store, database: &Arc<Database>) -> Self {
        Self::start_with(store, database, Timeouts::default()).await
    }

    /// A second server on the same store, which does not wait long for slow senders.
    pub async fn impatient(&self) -> Self {
        let timeouts = Timeouts {
            head: Duration::from_millis(300),
            body: Duration::from_millis(300),
            ..Timeouts::default()
        };
        Self::start_with(self.store.clone(), &self.database, timeouts).await
    }

    async fn start_with(store: Store, database: &Arc<Database>, timeouts: Timeouts) -> Self {
        let clock = Clock::set_to(Timestamp::rule(Self::NOON).unwrap());
        let app = App::new(Wiring {
            store: store.clone(),
            clock: clock.clone(),
            metrics: telemetry::start_metrics(),
            rate_limited: true,
            timeouts,
            tracer: None,
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shutdown = Shutdown::default();
        let router = api::router(&app, true);
        tokio::spawn(api::serve(listener, router, shutdown.clone(), timeouts));
        Self {
            address,
            clock,
            store,
            database: database.clone(),
            _stop: Arc::new(StopOnDrop(shutdown)),
        }
    }

    pub fn client(&self) -> Client {
        Client::new(self.address, None)
    }

    /// A developer on the growth tier, with a test key at hand.
    pub async fn developer(&self) -> Developer {
        self.developer_on(Tier::Growth).await
    }

    pub async fn developer_on(&self, tier: Tier) -> Developer {
        let id = AccountId::new(self.clock.now(), &legwork::ambient::random());
        let new = NewAccount {
            email: format!("{id}@example.com"),
            name: "Ada".to_owned(),
            company: None,
            tier,
        };
        let opened = OpenedAccount::new(&new, self.clock.now());
        let written = opened.clone();
        self.store
            .write(move |tx| usecases::create_account(tx, &written))
            .await
            .unwrap();
        Developer::new(self.address, &opened)
    }

    pub fn set_time(&self, at: &str) {
        self.clock.move_to(Timestamp::rule(at).unwrap());
    }
}
