//! The test bed: a database with accounts, and the server that runs on it.

pub mod fill;
pub mod live_server;
pub mod postgres;
pub mod server;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::load::http;
use crate::load::{Load, Sample};
use crate::options::{ACCOUNTS, CONNECTIONS};
use crate::test_bed::postgres::Database;
use crate::test_bed::server::{Process, command};
use crate::{Result, progress};

pub const TITLE: &str = "Photograph the storefront of a bakery";
pub const DESCRIPTION: &str = "Take three photos from across the street, with the opening hours in \
    view. The sign must be readable and no passer-by's face may be recognizable.";
pub const INSTRUCTIONS: &str = "Ask for Dana if the shutters are down; the back door has a bell.";

pub enum Engine {
    Sqlite,
    Postgres(Database),
}

impl Engine {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sqlite => "SQLite",
            Self::Postgres(_) => "PostgreSQL",
        }
    }

    pub fn database(&self) -> Option<&Database> {
        match self {
            Self::Sqlite => None,
            Self::Postgres(database) => Some(database),
        }
    }
}

#[derive(Clone)]
pub struct Account {
    pub id: String,
    pub test_key: String,
}

/// One task in this many is still funded, the others are cancelled.
pub const ONE_FUNDED_IN: i64 = 4;

/// An account with inserted tasks.
#[derive(Clone)]
pub struct Filled {
    pub account: Account,
    pub tasks: i64,
    pub ids: &'static str,
}

#[derive(Clone)]
pub struct Accounts {
    pub large: Filled,
    pub small: Filled,
}

impl Filled {
    pub fn funded(&self) -> i64 {
        // The first is the one that the server created.
        1 + self.tasks / ONE_FUNDED_IN
    }

    pub fn id(&self, number: i64) -> String {
        format!("{}{number:016x}", self.ids)
    }
}

pub struct TestBed {
    /// First, so that the server stops before its database is dropped.
    server: Option<Process>,
    pub binary: PathBuf,
    pub folder: TempDir,
    pub engine: Engine,
    /// The accounts that the load is spread over.
    pub accounts: Vec<Account>,
    /// The account that gets many tasks, and the one that gets few.
    pub large: Account,
    pub small: Account,
    /// Their tasks, once they have been inserted.
    pub filled: Option<Accounts>,
    pub before: Before,
}

/// The server's results on a small database, to compare with later.
#[derive(Default)]
pub struct Before {
    pub create: Option<Sample>,
    pub get: Option<Sample>,
}

impl TestBed {
    /// Gives each account one task, created by the server: the template for all others.
    pub fn new(binary: &Path, engine: Engine) -> Result<Self> {
        progress::say(&format!("{}: opening accounts", engine.name()));
        let folder = tempfile::Builder::new()
            .prefix("legwork-bench-")
            .tempdir()?;
        let open =
            |name: &str| open_account(settled(binary, folder.path(), engine.database()), name);
        let accounts = (0..ACCOUNTS)
            .map(|number| open(&format!("account-{number}")))
            .collect::<Result<Vec<_>>>()?;
        let (large, small) = (open("large")?, open("small")?);
        let mut bed = Self {
            binary: binary.to_owned(),
            folder,
            engine,
            accounts,
            large,
            small,
            filled: None,
            before: Before::default(),
            server: None,
        };
        let address = bed.server()?.address;
        for account in bed.accounts.iter().chain([&bed.large, &bed.small]) {
            http::fetch_json(address, &creation(&account.test_key), 201)?;
        }
        Ok(bed)
    }

    pub fn name(&self) -> &'static str {
        self.engine.name()
    }

    /// The running server, started if necessary.
    pub fn server(&mut self) -> Result<&Process> {
        let server = match self.server.take() {
            Some(server) => server,
            None => Process::serve(settled(
                &self.binary,
                self.folder.path(),
                self.engine.database(),
            ))?,
        };
        Ok(self.server.insert(server))
    }

    /// Starts the server anew with another setting.
    pub fn restart_with(&mut self, setting: &str, value: &str) -> Result<()> {
        self.stop()?;
        let mut command = settled(&self.binary, self.folder.path(), self.engine.database());
        command.env(setting, value);
        self.server = Some(Process::serve(command)?);
        Ok(())
    }

    pub fn stop(&mut self) -> Result<()> {
        self.server.take().map_or(Ok(()), Process::stop)
    }

    pub fn load(&mut self, requests: Vec<Vec<u8>>, expected: u16) -> Result<Load> {
        let server = self.server()?;
        Ok(Load {
            pid: server.pid(),
            address: server.address,
            connections: CONNECTIONS,
            requests: Arc::new(requests),
            expected,
        })
    }

    pub fn creations(&mut self) -> Result<Load> {
        let keys = self.accounts.iter().map(|account| &account.test_key);
        let requests = keys.map(|key| creation(key)).collect();
        self.load(requests, 201)
    }

    pub fn sqlite_file(&self) -> PathBuf {
        self.folder.path().join("legwork.db")
    }
}

/// A command of the server on a database: SQLite in the folder unless there is a URL.
pub fn settled(binary: &Path, folder: &Path, database: Option<&Database>) -> Command {
    let mut command = command(binary, folder);
    if let Some(database) = database {
        command.env("LEGWORK_DATABASE_URL", &database.url);
    }
    command
}

/// On the highest tier, so that no monthly limit applies.
pub fn open_account(mut command: Command, name: &str) -> Result<Account> {
    let email = format!("{name}@example.com");
    let output = command
        .args(["account", "create", "--tier", "enterprise", "--json"])
        .args(["--email", &email, "--name", name])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let opened: Value = serde_json::from_slice(&output.stdout)?;
    let field = |name: &str| opened[name].as_str().map(str::to_owned);
    let account = field("id").zip(field("test_key"));
    let (id, test_key) = account.ok_or("the account has no id or key")?;
    Ok(Account { id, test_key })
}

/// A request with every field of a task.
pub fn creation(key: &str) -> Vec<u8> {
    let body = json!({
        "title": TITLE,
        "description": DESCRIPTION,
        "instructions": INSTRUCTIONS,
        "category": "photography",
        "required_skills": ["photography"],
        "location": {
            "address": "123 Bedford Avenue", "city": "Brooklyn", "state": "NY",
            "latitude": 40.7163, "longitude": -73.9595,
        },
        "budget_cents": 2500,
        "priority": "urgent",
        "deadline": "2199-01-01T12:00:00Z",
        "proof_types": ["photo", "video"],
        "metadata": {"order": "A-10293", "campaign": "autumn", "attempt": 1},
    });
    http::post("/v1/tasks", key, &body.to_string())
}
