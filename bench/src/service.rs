//! The service in this process, and its users: developers with a payment method, and workers who
//! can be paid.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use legwork::ambient;
use legwork::ambient::Clock;
use legwork::domain::tasks::{Category, Location as Place, Priority, ProofType, Skill, TaskType};
use legwork::domain::workers::DEFAULT_RADIUS_KM;
use legwork::domain::{
    AccountStatus, Action, Actor, Environment, JobKind, JobName, NewAccount, NewTask, NewWorker,
    Owner, PaymentMethod, Secret, TaskId, Tier, Timestamp, Worker, WorkerId, WorkerStatus,
};
use legwork::payments::sandbox::OnboardingOutcome;
use legwork::payments::{Processor, Sandbox};
use legwork::store::{KeyHolder, Location, Store, StoreError};
use legwork::usecases;
use legwork::usecases::{Funding, OpenedAccount, TaskOrder, UseCaseError};

use crate::options::ACCOUNTS;
use crate::test_bed::postgres::Database;
use crate::test_bed::{DESCRIPTION, Engine, INSTRUCTIONS, TITLE, TestBed};
use crate::watch::{Watch, text};

/// The server's default.
const CONNECTIONS_TO_POSTGRES: usize = 16;
/// The sandbox's payment method that always succeeds.
const METHOD: &str = "pm_card_visa";

/// A separate database.
pub enum TestDatabase {
    Sqlite(PathBuf),
    Postgres(Database),
}

impl TestDatabase {
    /// On the engine of a test bed, beside its database.
    pub fn new(bed: &TestBed, purpose: &str) -> crate::Result<Self> {
        Ok(match &bed.engine {
            Engine::Sqlite => Self::Sqlite(bed.folder.path().join(format!("{purpose}.db"))),
            Engine::Postgres(other) => Self::Postgres(other.cluster.new_database(purpose)?),
        })
    }

    /// `None` for SQLite.
    pub fn server(&self) -> Option<&Database> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(database) => Some(database),
        }
    }

    pub fn location(&self) -> Location {
        match self {
            Self::Sqlite(file) => Location::Sqlite { file: file.clone() },
            Self::Postgres(database) => Location::Postgres {
                url: database.url.clone(),
                connections: CONNECTIONS_TO_POSTGRES,
            },
        }
    }
}

/// What the users do repeatedly.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Scenario {
    /// Creates a live task, and nothing else.
    Create,
    /// A live task from creation to payout.
    Life,
}

#[derive(Clone)]
pub struct Service {
    pub store: Store,
    pub clock: Clock,
    pub sandbox: Sandbox,
    pub watch: Arc<Watch>,
    pub users: Arc<Users>,
    task: Arc<NewTask>,
}

/// They stay when the store is closed and opened again.
#[derive(Default)]
pub struct Users {
    developers: Vec<KeyHolder>,
    workers: Vec<WorkerId>,
}

impl Service {
    pub fn open(database: &TestDatabase) -> Result<Self, StoreError> {
        // As a server without a mail server opens it.
        let store = Store::open(&database.location())?.keeping_mail(true);
        let clock = Clock::system();
        Ok(Self {
            // Links are not used here.
            sandbox: Sandbox::new(store.clone(), clock.clone(), String::new()),
            watch: Arc::new(Watch::new(store.clone())),
            users: Arc::default(),
            task: Arc::new(new_task()),
            store,
            clock,
        })
    }

    pub async fn populate(&mut self) -> Result<(), String> {
        let mut users = Users::default();
        for number in 0..ACCOUNTS {
            users.developers.push(self.new_developer(number).await?);
            users.workers.push(self.new_worker().await?);
        }
        self.users = Arc::new(users);
        Ok(())
    }

    /// A developer on the highest tier, with a default payment method.
    pub async fn new_developer(&self, number: usize) -> Result<KeyHolder, String> {
        let new = NewAccount {
            email: format!("developer-{number}@example.com"),
            name: format!("developer-{number}"),
            company: None,
            tier: Tier::Enterprise,
        };
        let opened = OpenedAccount::new(&new, self.clock.now());
        let holder = KeyHolder {
            key: opened.live_key.record.id,
            owner: Owner {
                account: opened.account.id,
                environment: Environment::Live,
            },
            tier: new.tier,
            status: AccountStatus::Active,
            email_confirmed: true,
            ahead: Duration::ZERO,
            limits: None,
            is_confined: false,
        };
        let kept = self
            .sandbox
            .attach_method(holder.owner.account, METHOD, None);
        let method = PaymentMethod {
            processor: self.sandbox.name(),
            method: kept.await.map_err(text)?,
            updated_at: self.clock.now(),
        };
        let write = self.store.write(move |tx| {
            usecases::create_account(tx, &opened, &Actor::COMMAND_LINE)?;
            Ok::<_, UseCaseError>(tx.put_payment_method(holder.owner, &method)?)
        });
        write.await.map_err(text)?;
        Ok(holder)
    }

    /// A verified worker whose payout account is complete.
    async fn new_worker(&self) -> Result<WorkerId, String> {
        let (sandbox, now) = (&self.sandbox, self.clock.now());
        let worker = WorkerId::new(now, &ambient::random());
        self.add_profile(worker, now).await?;
        let id = sandbox.open_payout_account(worker).await.map_err(text)?;
        let (name, opened) = (sandbox.name(), id.clone());
        let write = self
            .store
            .write(move |tx| usecases::payout_account_opened(tx, worker, name, &opened, now));
        write.await.map_err(text)?;
        let link = sandbox.onboarding_url(&id).await.map_err(text)?;
        let secret = link.rsplit('/').next().unwrap_or_default();
        let account = sandbox.payout_account(secret).await.map_err(text)?;
        let account = account.ok_or("the payout account cannot be completed")?;
        let completed = sandbox.complete_payout_account(&account, OnboardingOutcome::Ready);
        let event = completed.await.map_err(text)?;
        let event = event.ok_or("the payout account is not complete")?;
        let write = self
            .store
            .write(move |tx| usecases::receive_sandbox_event(tx, &event, now));
        write.await.map_err(text)?;
        Ok(worker)
    }

    async fn add_profile(&self, id: WorkerId, now: Timestamp) -> Result<(), String> {
        let new = NewWorker {
            email: format!("{id}@example.com"),
            name: "Grace".to_owned(),
            phone: None,
            skills: vec![Skill::Photography],
            home: None,
            radius_km: DEFAULT_RADIUS_KM,
        };
        let worker = Worker {
            status: WorkerStatus::Verified,
            verified_at: Some(now),
            ..Worker::sign_up(&new, id, now)
        };
        // No password has this hash.
        let write = self.store.write(move |tx| tx.insert_worker(&worker, ""));
        let inserted: Result<bool, StoreError> = write.await;
        inserted.map(drop).map_err(text)
    }

    /// A worker who has signed in. Returns the token.
    pub async fn sign_in_worker(&self) -> Result<String, String> {
        let (id, now) = (self.new_worker().await?, self.clock.now());
        let token = Secret::worker_token(&ambient::random());
        let issued = token.clone();
        let write = self
            .store
            .write(move |tx| usecases::issue_token(tx, id, &issued, now));
        write.await.map_err(text)?;
        Ok(token.expose().to_owned())
    }

    /// Different numbers select different users.
    pub async fn perform(&self, scenario: Scenario, number: usize) -> Result<(), String> {
        let Users {
            developers,
            workers,
        } = &*self.users;
        let developer = developers[number % developers.len()];
        // Not always the same pair.
        let worker = workers[(number + number / developers.len()) % workers.len()];
        let task = self.create(developer, &self.task).await?;
        match scenario {
            Scenario::Create => Ok(()),
            Scenario::Life => self.live(developer.owner, task, worker).await,
        }
    }

    pub async fn create(&self, by: KeyHolder, new: &Arc<NewTask>) -> Result<TaskId, String> {
        let now = self.clock.now();
        // What http/src/api/developer/tasks/funding.rs looks up before a live task is created.
        let look_up = self.store.read(move |tx| {
            tx.task_counts(by.owner)?;
            tx.payment_method(by.owner)
        });
        let found = look_up.await.map_err(text)?;
        let method = found.ok_or("the account has no payment method")?;
        let funding = Funding::ByMethod(method.processor, method.method);
        let id = TaskId::new(now, &ambient::random_for_id());
        let new = Arc::clone(new);
        let account = by.owner.account;
        let write = self.store.write_for(account, move |tx| {
            let order = TaskOrder {
                new: &new,
                id,
                funding: &funding,
                mandate: None,
            };
            usecases::create_task(tx, &by, &order, now)
        });
        write.await.map_err(text)?;
        Ok(id)
    }

    /// Waits for the jobs: one charges and posts the task, the other pays the worker.
    async fn live(&self, owner: Owner, task: TaskId, worker: WorkerId) -> Result<(), String> {
        self.watch.done(JobName::new(JobKind::Charge, task)).await?;
        for action in [
            Action::Accept { worker },
            Action::Start,
            Action::SubmitProof,
            Action::Approve,
        ] {
            self.act(owner, task, action).await?;
        }
        self.watch.done(JobName::new(JobKind::Transfer, task)).await
    }

    async fn act(&self, owner: Owner, task: TaskId, action: Action) -> Result<(), String> {
        let clock = self.clock.clone();
        let write = self.store.write_for(owner.account, move |tx| {
            usecases::transition(tx, owner, task, action, Actor::SERVICE, clock.now())
        });
        write.await.map(drop).map_err(text)
    }
}

/// With every field of a task, like the one that is created over HTTP.
pub fn new_task() -> NewTask {
    NewTask {
        title: TITLE.to_owned(),
        description: DESCRIPTION.to_owned(),
        instructions: Some(INSTRUCTIONS.to_owned()),
        category: Category::Photography,
        required_skills: vec![Skill::Photography],
        location: Place {
            address: Some("123 Bedford Avenue".to_owned()),
            city: "Brooklyn".to_owned(),
            state: "NY".to_owned(),
            latitude: 40.7163,
            longitude: -73.9595,
        },
        budget_cents: 2500,
        task_type: TaskType::Standard,
        priority: Priority::Urgent,
        deadline: Some(Timestamp::from_millis(7_226_625_600_000)),
        proof_types: vec![ProofType::Photo, ProofType::Video],
        metadata: r#"{"order":"A-10293","campaign":"autumn","attempt":1}"#.to_owned(),
        quoted_fee_percent: None,
    }
}
