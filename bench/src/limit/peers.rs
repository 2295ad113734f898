//! What one would write instead of Legwork: the programs in `bench/peers/`, each on a copy of the
//! server's database, so that schema, accounts and tasks are the same.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use crate::Result;
use crate::limit::Named;
use crate::load::Load;
use crate::options::CONNECTIONS;
use crate::report::Report;
use crate::test_bed::postgres::Database;
use crate::test_bed::server::Process;
use crate::test_bed::{Engine, TestBed, creation};

const GREETING: &str = "The peer listens on http://";

pub struct Peer {
    /// First, so that it stops before its database is dropped.
    process: Process,
    name: &'static str,
    keys: Vec<String>,
    _database: Option<Database>,
}

impl Peer {
    /// `None` where Node.js and its packages are not there, which the report says. Stops the
    /// server of the test bed.
    pub fn start(bed: &mut TestBed, report: &mut Report) -> Result<Option<Self>> {
        let (Some(node), Some(modules)) = (
            std::env::var_os("LEGWORK_TEST_NODE"),
            std::env::var_os("LEGWORK_TEST_PEER_MODULES"),
        ) else {
            report.note_once(
                "The programs in bench/peers/ were not measured: LEGWORK_TEST_NODE and \
                 LEGWORK_TEST_PEER_MODULES are not set. scripts/bench sets them.",
            );
            return Ok(None);
        };
        bed.stop()?;
        let mut command = Command::new(node);
        command.env("PEER_MODULES", modules);
        let (name, file, database) = match &bed.engine {
            Engine::Sqlite => {
                let copy = bed.folder.path().join("peer.db");
                remove(&copy)?;
                std::fs::copy(bed.sqlite_file(), &copy)?;
                command.env("PEER_DATABASE", copy);
                ("Fastify and better-sqlite3", "fastify-sqlite.mjs", None)
            }
            Engine::Postgres(original) => {
                let copy = original.cluster.copy_of(original, "peer")?;
                copy.run("VACUUM ANALYZE")?;
                command.env("PEER_DATABASE", &copy.url);
                ("Fastify and pg", "fastify-pg.mjs", Some(copy))
            }
        };
        command.arg(program(file));
        Ok(Some(Self {
            process: Process::start(command, GREETING)?,
            name,
            keys: bed.accounts.iter().map(|a| a.test_key.clone()).collect(),
            _database: database,
        }))
    }

    /// The server's load, in so many accounts.
    pub fn creations(&self, accounts: usize) -> Named {
        let keys = self.keys.iter().take(accounts);
        self.load(
            keys.map(|key| creation(key)).collect::<Vec<_>>().into(),
            201,
        )
    }

    pub fn gets(&self, requests: &Arc<Vec<Vec<u8>>>) -> Named {
        self.load(Arc::clone(requests), 200)
    }

    fn load(&self, requests: Arc<Vec<Vec<u8>>>, expected: u16) -> Named {
        Named {
            name: self.name,
            load: Load {
                address: self.process.address,
                connections: CONNECTIONS,
                requests,
                expected,
                pid: self.process.pid(),
            },
        }
    }
}

fn program(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("peers")
        .join(file)
}

/// With the log that SQLite keeps beside a database.
fn remove(database: &Path) -> Result<()> {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = database.as_os_str().to_owned();
        name.push(suffix);
        match std::fs::remove_file(PathBuf::from(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}
