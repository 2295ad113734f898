//! Developers with endpoints, in a database of their own.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use legwork::ambient;
use legwork::ambient::Clock;
use legwork::domain::{
    AccountStatus, Environment, Event, EventType, NewAccount, NewTask, Owner, TaskId, Tier,
    WebhookSecret,
};
use legwork::outbound::Outbound;
use legwork::store::{KeyHolder, Store};
use legwork::usecases;
use legwork::usecases::{Funding, OpenedAccount, TaskOrder, UseCaseError};
use legwork::webhooks::Webhooks;
use tokio::runtime::Runtime;

use crate::Result;
use crate::service::{TestDatabase, new_task};
use crate::watch::text;

/// The server's default.
const RETRY_SECONDS: [u64; 3] = [60, 480, 3_840];

/// An open store and its developers.
#[derive(Clone)]
pub struct Developers {
    pub store: Store,
    pub clock: Clock,
    pub keys: Arc<Vec<KeyHolder>>,
    task: Arc<NewTask>,
}

impl Developers {
    /// One developer for each URL, whose endpoint gets these events. An empty list means all
    /// events.
    pub fn create(
        runtime: &Runtime,
        database: &TestDatabase,
        urls: &[String],
        events: &'static [EventType],
    ) -> Result<Self> {
        let mut developers = Self {
            store: Store::open(&database.location())?,
            clock: Clock::system(),
            keys: Arc::default(),
            task: Arc::new(new_task()),
        };
        let open = |(number, url)| developers.open_account(number, url, events);
        let opening = urls.iter().cloned().enumerate().map(open);
        let keys = runtime.block_on(try_join_all(opening))?;
        developers.keys = Arc::new(keys);
        Ok(developers)
    }

    async fn open_account(
        &self,
        number: usize,
        url: String,
        events: &'static [EventType],
    ) -> std::result::Result<KeyHolder, String> {
        let new = NewAccount {
            email: format!("developer-{number}@example.com"),
            name: format!("developer-{number}"),
            company: None,
            tier: Tier::Enterprise,
        };
        let now = self.clock.now();
        let opened = OpenedAccount::new(&new, now);
        let key = KeyHolder {
            ahead: std::time::Duration::ZERO,
            key: opened.test_key.record.id,
            owner: Owner {
                account: opened.account.id,
                environment: Environment::Test,
            },
            tier: new.tier,
            status: AccountStatus::Active,
            email_confirmed: true,
            limits: None,
            is_confined: false,
        };
        let secret = WebhookSecret::new(&ambient::random());
        let write = self.store.write(move |tx| {
            usecases::create_account(tx, &opened, &legwork::domain::Actor::SERVICE)?;
            let (account, secret) = (key.owner.account, secret.expose());
            let by = legwork::domain::Actor::SERVICE;
            usecases::put_webhook(tx, account, &url, events, secret, &by, now)?;
            Ok::<_, UseCaseError>(key)
        });
        write.await.map_err(text)
    }

    /// Closes the database while something else uses it.
    pub fn away(
        self,
        database: &TestDatabase,
        meanwhile: impl FnOnce() -> Result<()>,
    ) -> Result<Self> {
        let Self { store, .. } = self;
        drop(store);
        meanwhile()?;
        let store = Store::open(&database.location())?;
        Ok(Self { store, ..self })
    }

    /// Creates a test task, which is funded at once: two events.
    pub async fn create_task(&self, developer: usize) -> std::result::Result<TaskId, String> {
        let (by, new) = (self.keys[developer], self.task.clone());
        let now = self.clock.now();
        let id = TaskId::new(now, &ambient::random_for_id());
        let account = by.owner.account;
        let write = self.store.write_for(account, move |tx| {
            let order = TaskOrder {
                new: &new,
                id,
                funding: &Funding::Simulated,
                mandate: None,
            };
            usecases::create_task(tx, &by, &order, now)
        });
        write.await.map_err(text)?;
        Ok(id)
    }

    /// The first events of a developer.
    pub async fn events(&self, developer: usize, limit: i64) -> Result<Vec<Event>> {
        let owner = self.keys[developer].owner;
        let read = self
            .store
            .snapshot(move |tx| tx.events_after(owner, 0, limit));
        Ok(read.await?)
    }

    /// The deliverer, as the server has it.
    pub fn webhooks(&self, outbound: Outbound) -> Webhooks {
        let delays = RETRY_SECONDS.map(Duration::from_secs).to_vec();
        Webhooks::new(self.store.clone(), self.clock.clone(), outbound, delays)
    }
}
