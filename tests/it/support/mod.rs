//! What every test stands on: a database, a server on a real socket, people who use it.

mod app;
pub mod archive;
pub mod authenticator;
mod database;
mod developer;
mod flaky;
mod money;
mod network;
pub mod peer;
mod process;
mod waiting;
mod worker;

pub use app::TestApp;
pub use database::{Database, Engine, server_url};
pub use developer::{Developer, GOOD_CARD, path, storefront};
pub use flaky::{Flaky, InjectedFault};
pub use money::balance;
pub use network::{
    Certificate, Client, Edge, Gate, Proxy, Received, Receiver, Reply, Response, SOON, Tls,
    endless, exchange, free_port, in_time,
};
pub use process::{Command, Server, key_in};
pub use waiting::{eventually, runtime, until};
pub use worker::{PASSWORD, Worker, browser_keys, photo, signature};

use std::sync::Arc;

/// Runs each named story on SQLite and on PostgreSQL, each on a database of its own.
macro_rules! on_both_engines {
    ($($story:ident),+ $(,)?) => { $(
        mod $story {
            #[test]
            fn on_sqlite() {
                $crate::support::tell($crate::support::Engine::Sqlite, super::$story);
            }

            #[test]
            fn on_postgres() {
                $crate::support::tell($crate::support::Engine::Postgres, super::$story);
            }
        }
    )+ };
}
pub(crate) use on_both_engines;

/// Runs each named story on SQLite alone: for programs that reach the service by HTTP, whose routes tell
/// theirs on both engines.
macro_rules! on_sqlite {
    ($($story:ident),+ $(,)?) => { $(
        mod $story {
            #[test]
            fn on_sqlite() {
                $crate::support::tell($crate::support::Engine::Sqlite, super::$story);
            }
        }
    )+ };
}
pub(crate) use on_sqlite;

/// Runs a story from start to end.
pub fn tell<F: Future<Output = ()>>(engine: Engine, story: impl FnOnce(TestApp) -> F) {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        story(app).await;
    });
}
