//! /readyz says whether this server should get requests, and what is wrong if not.

use tokio_postgres::NoTls;

use crate::support::{Engine, TestApp, on_both_engines, tell};

on_both_engines!(a_server_without_its_files_is_not_ready);

async fn a_server_without_its_files_is_not_ready(app: TestApp) {
    let folder = app.database.folder.path().join("files");
    std::fs::remove_dir(&folder).unwrap();
    let reply = app.client().get("/readyz").await;
    assert_eq!(reply.status, 503);
    assert_eq!(reply.text, "file storage does not answer\n");
    // Another server, since this one does not look again for a few seconds.
    let other = TestApp::start(&app.database).await;
    let reply = other.client().get("/readyz").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text, "ready\n");
}

/// Nothing is left behind by a check.
#[test]
fn a_check_writes_no_file() {
    tell(Engine::Sqlite, async |app: TestApp| {
        assert_eq!(app.client().get("/readyz").await.status, 200);
        for folder in ["files", "incoming"] {
            let folder = app.database.folder.path().join(folder);
            assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0);
        }
    });
}

#[test]
fn a_database_that_is_lost_is_named() {
    tell(Engine::Postgres, async |app: TestApp| {
        let url = app.database.url().unwrap();
        let (name, server) = (
            url.rsplit_once('/').unwrap().1,
            crate::support::server_url(),
        );
        let name = name.split('?').next().unwrap();
        let (client, connection) = tokio_postgres::connect(&server, NoTls).await.unwrap();
        tokio::spawn(connection);
        let gone = format!("ALTER DATABASE {name} RENAME TO {name}_gone");
        let end = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        client
            .batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"))
            .await
            .unwrap();
        client.batch_execute(&end).await.unwrap();
        client.batch_execute(&gone).await.unwrap();
        let reply = app.client().get("/readyz").await;
        let back = format!("ALTER DATABASE {name}_gone RENAME TO {name}");
        client.batch_execute(&back).await.unwrap();
        client
            .batch_execute(&format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true"))
            .await
            .unwrap();
        assert_eq!(reply.status, 503);
        assert_eq!(reply.text, "the database does not answer\n");
    });
}
