//! A database of its own for each test.

mod templates;

use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::sync::Arc;

use legwork::ambient::{self, Clock};
use legwork::seal::{KEY_FILE, KeySource};
use legwork::store::{Location, Store, StoreError};
use templates::Templates;
use tokio_postgres::NoTls;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    Sqlite,
    Postgres,
}

/// Gone when dropped, but only when the test is over: keep it as long as its server.
pub struct Database {
    pub engine: Engine,
    pub folder: tempfile::TempDir,
    name: String,
    /// The templates stay as long as any database does.
    templates: Arc<Templates>,
}

impl Database {
    /// An empty one: whoever opens it first migrates it.
    pub fn create(engine: Engine) -> Self {
        let database = Self::new(engine);
        if engine == Engine::Postgres {
            on_server(&server_url(), format!("CREATE DATABASE {}", database.name));
        }
        database
    }

    /// An empty one on PostgreSQL with texts of another encoding than UTF-8.
    pub fn of_encoding(encoding: &str) -> Self {
        let database = Self::new(Engine::Postgres);
        let name = &database.name;
        let create =
            format!("CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0");
        on_server(&server_url(), create);
        database
    }

    /// A copy of one that the program has migrated: what a test wants that is not about migration.
    pub fn migrated(engine: Engine) -> Self {
        let database = Self::new(engine);
        match engine {
            Engine::Sqlite => {
                let template = database.templates.sqlite();
                std::fs::copy(template, database.file()).unwrap();
            }
            Engine::Postgres => {
                let (name, template) = (&database.name, database.templates.postgres());
                let copy = format!("CREATE DATABASE {name} TEMPLATE {template} STRATEGY FILE_COPY");
                on_server(&server_url(), copy);
            }
        }
        database
    }

    fn new(engine: Engine) -> Self {
        Self {
            engine,
            folder: tempfile::tempdir().unwrap(),
            name: unused_name(),
            templates: Templates::shared(),
        }
    }

    pub fn file(&self) -> PathBuf {
        self.folder.path().join("legwork.db")
    }

    /// Where PostgreSQL is, for the command line; none on SQLite.
    pub fn url(&self) -> Option<String> {
        (self.engine == Engine::Postgres).then(|| with_database(&server_url(), &self.name))
    }

    pub fn location(&self) -> Location {
        match self.url() {
            None => Location::Sqlite { file: self.file() },
            Some(url) => Location::Postgres {
                url,
                connections: 8,
            },
        }
    }

    /// With the master key in the folder, as the program does it.
    pub async fn open(&self) -> Store {
        self.open_at(self.location()).await
    }

    /// By another way to the same database.
    pub async fn open_at(&self, location: Location) -> Store {
        let opening = tokio::task::spawn_blocking(move || open_patiently(&location));
        let store = opening.await.unwrap().unwrap();
        let (source, now) = (self.key_source(), Clock::system().now());
        store.unlock(source, now).await.unwrap()
    }

    /// Copies the master key to another one, as an operator does beside the backup.
    pub fn give_key_to(&self, other: &Self) {
        let [from, to] = [self, other].map(|of| of.folder.path().join(KEY_FILE));
        std::fs::copy(from, to).unwrap();
    }

    pub fn key_source(&self) -> KeySource {
        KeySource::new(None, self.folder.path())
    }

    /// As if nothing was ever sealed under the key in the folder.
    pub fn forget_audit_start(&self) {
        let file = self.key_source().audit_start_file();
        std::fs::remove_file(file).unwrap();
    }

    /// Does to the database what the service has no command for.
    pub async fn execute(&self, sql: &str) {
        match self.url() {
            None => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                connection
                    .busy_timeout(std::time::Duration::from_secs(5))
                    .unwrap();
                connection.execute_batch(sql).unwrap();
                self.tell_readers();
            }
            Some(url) => {
                let sql = sql.to_owned();
                tokio::task::spawn_blocking(move || on_server(&url, sql))
                    .await
                    .unwrap();
            }
        }
    }

    /// Changes the marker beside the database, as everybody does who commits to it. Otherwise servers
    /// would notice what was written a few milliseconds later.
    fn tell_readers(&self) {
        let mut marker = self.file().into_os_string();
        marker.push("-commits");
        let opened = std::fs::OpenOptions::new().write(true).open(marker);
        let written = opened.and_then(|mut file| file.write_all(&legwork::ambient::random::<8>()));
        match written {
            Err(error) if error.kind() != ErrorKind::NotFound => panic!("{error}"),
            _ => {}
        }
    }

    /// Everything in one column, as text.
    pub async fn column(&self, sql: &str) -> Vec<String> {
        match self.url() {
            None => {
                let connection = rusqlite::Connection::open(self.file()).unwrap();
                let mut statement = connection.prepare(sql).unwrap();
                let rows = statement.query_map([], |row| row.get(0)).unwrap();
                rows.map(Result::unwrap).collect()
            }
            Some(url) => {
                let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
                tokio::spawn(connection);
                let rows = client.query(sql, &[]).await.unwrap();
                rows.iter().map(|row| row.get(0)).collect()
            }
        }
    }

    /// All that is stored, as text.
    pub async fn everything(&self) -> String {
        if self.engine == Engine::Sqlite {
            let mut bytes = Vec::new();
            for file in ["legwork.db", "legwork.db-wal"] {
                let file = self.folder.path().join(file);
                bytes.extend(std::fs::read(file).unwrap_or_default());
            }
            return String::from_utf8_lossy(&bytes).into_owned();
        }
        let tables = "SELECT table_name::text FROM information_schema.tables
            WHERE table_schema = current_schema()";
        let mut all = Vec::new();
        for table in self.column(tables).await {
            let rows = format!("SELECT t::text FROM {table} t");
            all.extend(self.column(&rows).await);
        }
        all.join("\n")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.engine == Engine::Postgres && !std::thread::panicking() {
            drop_on_server(&self.name);
        }
    }
}

/// All tests share one server, which may be slow to answer while many databases are made there.
fn open_patiently(location: &Location) -> Result<Store, StoreError> {
    let mut opened = Store::open(location);
    for _ in 0..3 {
        let Err(StoreError::Unavailable(_)) = opened else {
            break;
        };
        opened = Store::open(location);
    }
    opened
}

pub fn unused_name() -> String {
    let random: [u8; 8] = ambient::random();
    format!("legwork_test_{:016x}", u64::from_be_bytes(random))
}

pub fn drop_on_server(name: &str) {
    let drop = format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)");
    on_server(&server_url(), drop);
}

pub fn server_url() -> String {
    std::env::var("LEGWORK_TEST_POSTGRES_URL").unwrap_or_else(|_| {
        panic!(
            "LEGWORK_TEST_POSTGRES_URL names no PostgreSQL server: run ./test, \
             or scripts/with-postgres cargo test"
        )
    })
}

/// The URL with its database exchanged.
pub fn with_database(url: &str, name: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = base.rsplit_once('/').unwrap();
    if query.is_empty() {
        format!("{server}/{name}")
    } else {
        format!("{server}/{name}?{query}")
    }
}

pub fn on_server(url: &str, sql: String) {
    let url = url.to_owned();
    let work = move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&url, NoTls)
                .await
                .unwrap_or_else(|e| panic!("PostgreSQL cannot be reached: {e}"));
            tokio::spawn(connection);
            client.batch_execute(&sql).await.unwrap();
        });
    };
    // A thread of its own: the caller may be inside a runtime.
    std::thread::spawn(work).join().unwrap();
}
