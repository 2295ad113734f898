//! The service, in this process, on a socket of its own, with a clock that can be set.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legwork::ambient::Clock;
use legwork::api;
use legwork::api::{
    App, ConnectionLimits, CorsRules, Dependencies, PageSettings, Serving, Timeouts,
};
use legwork::domain::{
    AccountId, Actor, CheckedSkills, MapTiles, NewAccount, RequiredFactor, StorageQuota, Tier,
    Timestamp, Windows,
};
use legwork::files::{Files, FilesLocation};
use legwork::jobs::{Channels, Jobs};
use legwork::mail::Mailer;
use legwork::outbound::{Outbound, OutboundSettings};
use legwork::pages;
use legwork::payments::sandbox::{Card, Paid};
use legwork::payments::{Payments, Sandbox};
use legwork::push::Vapid;
use legwork::scheduler::Scheduler;
use legwork::shutdown::Shutdown;
use legwork::store::Store;
use legwork::telemetry;
use legwork::usecases;
use legwork::usecases::{FourEyes, OpenedAccount};
use legwork::webhooks::Webhooks;

use super::{Client, Database, Developer, Flaky, Receiver};

#[derive(Clone)]
pub struct TestApp {
    pub address: SocketAddr,
    pub clock: Clock,
    pub store: Store,
    /// Nothing runs on its own here: a test drains the jobs when it wants them done.
    pub jobs: Jobs,
    pub payments: Payments,
    /// Nor does this: deliveries are made when a test drains them.
    pub webhooks: Webhooks,
    /// And time passes when a test lets it.
    pub scheduler: Scheduler,
    pub app: App,
    pub database: Arc<Database>,
    _stop: Arc<StopOnDrop>,
}

/// What is not as usual.
struct Unlike {
    /// Whose certificates webhooks trust.
    authority: Option<PathBuf>,
    mailer: Option<Mailer>,
    /// As if there were a mail server, although there is no mailer.
    sends_mail: bool,
    four_eyes: FourEyes,
    required_factor: RequiredFactor,
    /// Files that are kept elsewhere.
    files: Option<Files>,
    tiles: Option<MapTiles>,
    rate_limited: bool,
}

impl Default for Unlike {
    fn default() -> Self {
        Self {
            authority: None,
            mailer: None,
            sends_mail: false,
            four_eyes: FourEyes::default(),
            required_factor: RequiredFactor::Nobody,
            files: None,
            tiles: None,
            rate_limited: true,
        }
    }
}

struct StopOnDrop(Shutdown);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.start();
    }
}

/// Bytes of stored proofs, by tier. Little on the free tier, so that a test can fill it.
const STORAGE: [u64; 4] = [300_000, 1 << 40, 1 << 40, 1 << 40];

impl TestApp {
    /// Noon on the fifteenth: no month ends by accident.
    /// Long ago: a program that works on the same database is later by years, today as in ten years.
    pub const NOON: &str = "2025-11-15T12:00:00.000Z";
    /// Pages of this origin may call it.
    pub const ELSEWHERE: &str = "https://workers.example.com";

    pub async fn start(database: &Arc<Database>) -> Self {
        Self::start_on(database.open().await, database).await
    }

    /// On a store that may reach the database by another way.
    pub async fn start_on(store: Store, database: &Arc<Database>) -> Self {
        Self::start_with(store, database, Timeouts::default()).await
    }

    /// A second server on the same store, which does not wait long for anybody.
    pub async fn impatient(&self) -> Self {
        let timeouts = Timeouts {
            head: Duration::from_millis(300),
            body: Duration::from_millis(300),
            upload: Duration::from_millis(300),
            processor: Duration::from_millis(300),
            heartbeat: Duration::from_secs(3),
            ..Timeouts::default()
        };
        Self::start_with(self.store.clone(), &self.database, timeouts).await
    }

    /// With a payment processor that fails when told to.
    pub async fn start_flaky(database: &Arc<Database>) -> (Self, Flaky) {
        let mut made = None;
        let payments = |store: &Store, clock: &Clock, url: &str| {
            let (flaky, payments) = Flaky::around(sandbox(store, clock, url));
            made = Some(flaky);
            payments
        };
        let store = database.open().await;
        let app = Self::start_paid_by(store, database, Timeouts::default(), payments).await;
        (app, made.unwrap())
    }

    pub async fn start_with(store: Store, database: &Arc<Database>, timeouts: Timeouts) -> Self {
        Self::start_paid_by(store, database, timeouts, sandbox).await
    }

    /// With a payment processor of the test's choice, which is told where the server will be.
    pub async fn start_paid_by(
        store: Store,
        database: &Arc<Database>,
        timeouts: Timeouts,
        payments: impl FnOnce(&Store, &Clock, &str) -> Payments,
    ) -> Self {
        Self::start_unlike(store, database, timeouts, payments, Unlike::default()).await
    }

    /// The same service once more, where decisions above this amount need a second admin.
    pub async fn with_four_eyes(&self, cents: i64) -> Self {
        self.again(Unlike {
            four_eyes: FourEyes(Some(cents)),
            ..Unlike::default()
        })
        .await
    }

    /// Pays at the processor, past the page, which knows when a task is over. Returns the processor's event.
    pub async fn pay_past_the_page(&self, secret: &str) -> String {
        let sandbox = self.payments.sandbox.clone().unwrap();
        let bill = sandbox.payment(secret).await.unwrap().unwrap();
        match sandbox.pay(&bill, Card::Good).await.unwrap() {
            Paid::Yes { event } => event,
            other => panic!("{other:?}"),
        }
    }

    /// The same service once more, which trusts the authority of a receiver of webhooks.
    pub async fn with_receiver(&self) -> (Self, Receiver) {
        let receiver = Receiver::start().await;
        let unlike = Unlike {
            authority: Some(receiver.ca_file.clone()),
            ..Unlike::default()
        };
        (self.again(unlike).await, receiver)
    }

    /// The same service once more, with a mail server.
    pub async fn with_mail(&self, mailer: Mailer) -> Self {
        self.again(Unlike {
            mailer: Some(mailer),
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, as if there were a mail server: addresses have to be confirmed. Mails
    /// stay in the database.
    pub async fn sending_mail(&self) -> Self {
        self.again(Unlike {
            sends_mail: true,
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, where the operator requires a second factor.
    pub async fn requiring(&self, required_factor: RequiredFactor) -> Self {
        self.again(Unlike {
            required_factor,
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, for as many requests as a test can send.
    pub async fn without_rate_limits(&self) -> Self {
        self.again(Unlike {
            rate_limited: false,
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, with its files elsewhere.
    pub async fn storing_in(&self, files: Files) -> Self {
        self.again(Unlike {
            files: Some(files),
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, with pictures of other hosts: files in S3, and tiles under maps.
    pub async fn with_pictures_of(&self, files: Files, tiles: &str) -> Self {
        self.again(Unlike {
            files: Some(files),
            tiles: Some(MapTiles::rule(tiles).unwrap()),
            ..Unlike::default()
        })
        .await
    }

    /// The same service once more, but for this.
    async fn again(&self, unlike: Unlike) -> Self {
        let (store, timeouts) = (self.store.clone(), Timeouts::default());
        Self::start_unlike(store, &self.database, timeouts, sandbox, unlike).await
    }

    async fn start_unlike(
        store: Store,
        database: &Arc<Database>,
        timeouts: Timeouts,
        payments: impl FnOnce(&Store, &Clock, &str) -> Payments,
        unlike: Unlike,
    ) -> Self {
        let sends_mail = unlike.sends_mail || unlike.mailer.is_some();
        let store = store.keeping_mail(!sends_mail);
        let clock = Clock::set_to(Timestamp::RULE.check(Self::NOON).unwrap());
        let listener = legwork::api::listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let payments = payments(&store, &clock, &format!("http://{address}"));
        let outbound = Outbound::new(&OutboundSettings {
            allow: vec!["127.0.0.0/8".parse().unwrap()],
            authority: unlike.authority,
        })
        .unwrap();
        let delays = [60, 480, 3_840].map(Duration::from_secs).to_vec();
        let channels = Channels {
            mailer: unlike.mailer.clone(),
            outbound: outbound.clone(),
            vapid: Arc::new(Vapid::generate().unwrap()),
            public_url: format!("http://{address}"),
            contact: "mailto:notices@example.com".to_owned(),
        };
        let shutdown = Shutdown::default();
        let webhooks = Webhooks::new(store.clone(), clock.clone(), outbound.clone(), delays);
        let windows = Windows::default();
        let app = App::new(Dependencies {
            scheduler: Scheduler::new(store.clone(), clock.clone(), windows, webhooks.clone()),
            webhooks,
            outbound,
            push_key: channels.vapid.public_key(),
            shutdown: shutdown.clone(),
            store: store.clone(),
            clock: clock.clone(),
            payments: payments.clone(),
            files: unlike
                .files
                .unwrap_or_else(|| files(database, &format!("http://{address}"))),
            metrics: telemetry::start_metrics(),
            data: database.folder.path().to_owned(),
            rate_limited: unlike.rate_limited,
            request_log_kept: Some(Duration::from_secs(7 * 24 * 60 * 60)),
            trusted_proxies: Vec::new(),
            sandbox_banner: false,
            pages: PageSettings {
                local: true,
                tiles: unlike.tiles,
            },
            four_eyes: unlike.four_eyes,
            storage_quota: StorageQuota(STORAGE),
            sends_mail,
            required_factor: unlike.required_factor,
            checked_skills: CheckedSkills::default(),
            timeouts,
            hsts: false,
            cors: CorsRules {
                origins: vec![Self::ELSEWHERE.to_owned()],
                own_url: format!("http://{address}"),
                ..CorsRules::default()
            },
            tracer: None,
        });
        let router = pages::router(&app, true);
        let serving = Serving {
            shutdown: shutdown.clone(),
            timeouts,
            limits: ConnectionLimits::new(10_000, Vec::new()),
            tls: None,
        };
        tokio::spawn(api::serve(listener, router, serving));
        let processor = payments.processor.clone();
        Self {
            address,
            jobs: Jobs::new(
                store.clone(),
                clock.clone(),
                processor,
                app.files.clone(),
                channels,
            ),
            payments,
            webhooks: app.webhooks.clone(),
            scheduler: app.scheduler.clone(),
            app,
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
            .write(move |tx| usecases::create_account(tx, &written, &Actor::COMMAND_LINE))
            .await
            .unwrap();
        Developer::new(self.address, &opened)
    }

    /// For a test in which a program, whose clock nobody sets, works on the same database.
    pub fn set_time_to_now(&self) {
        self.clock.move_to(Clock::system().now());
    }

    pub fn set_time(&self, at: &str) {
        self.clock.move_to(Timestamp::RULE.check(at).unwrap());
    }
}

fn sandbox(store: &Store, clock: &Clock, url: &str) -> Payments {
    Payments::sandbox(Sandbox::new(store.clone(), clock.clone(), url.to_owned()))
}

fn files(database: &Database, url: &str) -> Files {
    let folder = database.folder.path();
    let location = FilesLocation::Folder(folder.join("files"));
    Files::open(&location, &folder.join("incoming"), url, [7; 32], []).unwrap()
}
