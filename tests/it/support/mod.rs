//! What every test stands on: a database, a server on a real socket, people who use it.

mod app;
pub mod archive;
mod database;
mod developer;
mod edge;
mod flaky;
mod http;
mod money;
pub mod peer;
mod process;
mod proxy;
mod receiver;
mod templates;
mod tls;
mod waiting;
mod worker;

pub use app::TestApp;
pub use database::{Database, Engine, server_url};
pub use developer::{Developer, GOOD_CARD, path, storefront};
pub use edge::{Edge, SOON, endless, in_time};
pub use flaky::{Flaky, InjectedFault};
pub use http::{Client, Reply, exchange};
pub use money::balance;
pub use process::{Command, Server, key_in};
pub use proxy::Proxy;
pub use receiver::{Certificate, Received, Receiver, Response};
pub use tls::Tls;
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

/// Runs a story from start to end.
pub fn tell<F: Future<Output = ()>>(engine: Engine, story: impl FnOnce(TestApp) -> F) {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(engine));
        let app = TestApp::start(&database).await;
        story(app).await;
    });
}
