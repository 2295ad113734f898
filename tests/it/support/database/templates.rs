//! Migrated databases for tests to copy. They are made by the program itself when the first test
//! wants one, and removed with the last database that was made.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, Weak};

use legwork::store::{Location, Store};

use super::{drop_on_server, on_server, server_url, unused_name, with_database};

pub struct Templates {
    folder: tempfile::TempDir,
    sqlite: OnceLock<PathBuf>,
    postgres: OnceLock<String>,
}

impl Templates {
    pub fn shared() -> Arc<Self> {
        static SHARED: Mutex<Weak<Templates>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap();
        shared.upgrade().unwrap_or_else(|| {
            let templates = Arc::new(Self {
                folder: tempfile::tempdir().unwrap(),
                sqlite: OnceLock::new(),
                postgres: OnceLock::new(),
            });
            *shared = Arc::downgrade(&templates);
            templates
        })
    }

    /// A file that nobody has open.
    pub fn sqlite(&self) -> &PathBuf {
        self.sqlite.get_or_init(|| {
            let file = self.folder.path().join("template.db");
            migrate(Location::Sqlite { file: file.clone() });
            // Connections that close at the same time may leave their log behind; the copy has none.
            let connection = rusqlite::Connection::open(&file).unwrap();
            let fold = "PRAGMA wal_checkpoint(TRUNCATE)";
            connection.query_row(fold, [], |_| Ok(())).unwrap();
            drop(connection);
            assert!(!file.with_extension("db-wal").exists());
            file
        })
    }

    /// The name of a database that nobody can connect to: one that is in use cannot be copied.
    pub fn postgres(&self) -> &str {
        self.postgres.get_or_init(|| {
            let name = unused_name();
            on_server(&server_url(), format!("CREATE DATABASE {name}"));
            migrate(Location::Postgres {
                url: with_database(&server_url(), &name),
                connections: 1,
            });
            let close = format!("ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false");
            on_server(&server_url(), close);
            name
        })
    }
}

impl Drop for Templates {
    fn drop(&mut self) {
        if let Some(name) = self.postgres.get() {
            drop_on_server(name);
        }
    }
}

/// In a thread of its own: the caller may be inside a runtime, and the store has one.
fn migrate(location: Location) {
    let work = move || drop(Store::open(&location).unwrap());
    std::thread::spawn(work).join().unwrap();
}
