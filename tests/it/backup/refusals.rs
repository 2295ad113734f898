//! What is not done, and that nothing is left of it.

use std::path::Path;

use legwork::domain::accounts::api_key;
use rusqlite::Connection;

use super::{RESTORED, backup, filled, names, restore, rows, shelf};
use crate::support::{Command, Database, Engine, Server};

#[test]
fn nothing_is_replaced_by_a_backup() {
    let database = filled(10);
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    std::fs::write(&file, "precious").unwrap();
    let error = backup(&database, &file).fail();
    assert!(error.contains("backup.db: exists already"), "{error}");
    assert_eq!(std::fs::read(&file).unwrap(), b"precious");
    let dangling = shelf.path().join("link.db");
    std::os::unix::fs::symlink("nowhere", &dangling).unwrap();
    for taken in [shelf.path(), &dangling] {
        let error = backup(&database, taken).fail();
        assert!(error.contains("exists already"), "{error}");
    }
    assert_eq!(names(shelf.path()), ["backup.db", "link.db"]);
}

#[test]
fn a_backup_needs_a_database_and_a_folder() {
    let database = Database::create(Engine::Sqlite);
    let shelf = shelf();
    let error = backup(&database, &shelf.path().join("backup.db")).fail();
    assert!(error.contains("there is no database here"), "{error}");
    assert_eq!(names(database.folder.path()), [""; 0]);
    assert_eq!(names(shelf.path()), [""; 0]);
    let nowhere = shelf.path().join("missing").join("backup.db");
    let error = backup(&filled(10), &nowhere).fail();
    assert!(error.contains("missing/backup.db: No such file"), "{error}");
    Command::new(&["backup"]).on(&database).fail();
}

#[test]
fn a_damaged_database_gives_no_backup() {
    let database = filled(1_000);
    let page = {
        let connection = Connection::open(database.file()).unwrap();
        let root = "SELECT rootpage FROM sqlite_master WHERE name = 'accounts'";
        connection
            .query_row(root, [], |row| row.get::<_, u32>(0))
            .unwrap()
    };
    spoil(&database.file(), u64::from(page - 1) * 4_096);
    let shelf = shelf();
    let error = backup(&database, &shelf.path().join("backup.db")).fail();
    assert!(
        error.contains("malformed") || error.contains("damaged"),
        "{error}"
    );
    assert_eq!(names(shelf.path()), [""; 0]);
}

#[test]
fn postgres_has_tools_of_its_own() {
    let database = Database::create(Engine::Postgres);
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    let error = backup(&database, &file).fail();
    assert!(error.contains("use pg_dump"), "{error}");
    let error = restore(&file, &database).fail();
    assert!(error.contains("use pg_restore"), "{error}");
    assert_eq!(names(shelf.path()), [""; 0]);
}

#[test]
fn a_database_is_never_replaced_by_a_restore() {
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    backup(&filled(10), &file).succeed();
    let used = filled(20);
    let before = rows(&used.file());
    let error = restore(&file, &used).fail();
    assert!(error.contains("legwork.db: exists already"), "{error}");
    assert_eq!(rows(&used.file()), before);
    let server = Server::start(&used);
    let error = restore(&file, &used).fail();
    assert!(error.contains("legwork.db: exists already"), "{error}");
    // Even where somebody took the file away under the server.
    let away = shelf.path().join("away.db");
    std::fs::rename(used.file(), &away).unwrap();
    let error = restore(&file, &used).fail();
    assert!(
        error.contains("legwork.db-wal: belongs to a database"),
        "{error}"
    );
    assert!(!used.file().exists());
    std::fs::rename(&away, used.file()).unwrap();
    assert_eq!(server.terminate(), Some(0));
}

/// Overwrites a page with what no database has there.
fn spoil(file: &Path, offset: u64) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).open(file).unwrap();
    file.write_all_at(&[0xA5; 4_096], offset).unwrap();
}

#[track_caller]
fn refuses(file: &Path, expected: &str) {
    let database = Database::create(Engine::Sqlite);
    let error = restore(file, &database).fail();
    let shown = file.display().to_string();
    assert!(
        error.contains(&shown) && error.contains(expected),
        "{error}"
    );
    assert_eq!(names(database.folder.path()), [""; 0], "{error}");
}

#[test]
fn what_is_no_sound_backup_is_refused() {
    let shelf = shelf();
    let good = shelf.path().join("good.db");
    backup(&filled(1_000), &good).succeed();
    let bytes = std::fs::read(&good).unwrap();
    let bad = shelf.path().join("bad.db");
    refuses(&bad, "No such file");
    refuses(shelf.path(), "Is a directory");
    for (content, expected) in [
        (&b""[..], "not a database of legwork"),
        (b"x", "not a database of legwork"),
        (&[0; 100_000], "not a database"),
        (&[0xA5; 100_000], "not a database"),
        (&bytes[..50], "is not a usable backup"),
        (&bytes[..512], "damaged"),
        (&bytes[..bytes.len() / 2], "damaged"),
        (&bytes[..bytes.len() - 4_096], "damaged"),
        (&bytes[..bytes.len() - 1], "damaged"),
        (&[&bytes[..], b"x"].concat(), "damaged"),
    ] {
        std::fs::write(&bad, content).unwrap();
        refuses(&bad, expected);
    }
    for page in (1..bytes.len() / 4_096).step_by(9) {
        std::fs::copy(&good, &bad).unwrap();
        spoil(&bad, page as u64 * 4_096);
        refuses(&bad, "is not a usable backup");
    }
    assert_eq!(std::fs::read(&good).unwrap(), bytes);
}

#[test]
fn a_database_of_another_kind_is_refused() {
    let shelf = shelf();
    let good = shelf.path().join("good.db");
    backup(&filled(10), &good).succeed();
    for (index, (change, expected)) in [
        ("DROP TABLE migrations", "not a database of legwork"),
        ("DELETE FROM migrations", "not a database of legwork"),
        (
            "INSERT INTO migrations VALUES (999, 'future', 'x')",
            "newer legwork (step 999 \"future\"",
        ),
        (
            "UPDATE migrations SET fingerprint = 'x' WHERE version = 2",
            "differs from the one this legwork knows",
        ),
        (
            "PRAGMA foreign_keys = OFF; DELETE FROM accounts",
            "refer to rows that do not exist",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let changed = shelf.path().join(format!("{index}.db"));
        std::fs::copy(&good, &changed).unwrap();
        let connection = Connection::open(&changed).unwrap();
        connection.execute_batch(change).unwrap();
        drop(connection);
        refuses(&changed, expected);
    }
}

#[test]
fn a_database_in_use_is_no_backup() {
    let used = filled(10);
    let server = Server::start(&used);
    let database = Database::create(Engine::Sqlite);
    let error = restore(&used.file(), &database).fail();
    assert!(
        error.contains("legwork.db-wal: belongs to a database that is in use"),
        "{error}"
    );
    assert_eq!(names(database.folder.path()), [""; 0]);
    // Once it is stopped it is as good as a copy, and what other tools make is one too.
    assert_eq!(server.terminate(), Some(0));
    restore(&used.file(), &database).succeed();
    assert_eq!(rows(&database.file()), rows(&used.file()));
    assert_eq!(names(database.folder.path()), RESTORED);
}

#[test]
fn an_older_backup_is_brought_up_to_date() {
    let shelf = shelf();
    let old = shelf.path().join("old.db");
    let first = include_str!("../../../core/src/store/migrations/0001_foundation.sql");
    let connection = Connection::open(&old).unwrap();
    connection.execute_batch(first).unwrap();
    let migrations = format!(
        "CREATE TABLE migrations (version BIGINT NOT NULL PRIMARY KEY, name TEXT NOT NULL,
            fingerprint TEXT NOT NULL);
         INSERT INTO migrations VALUES (1, 'foundation', '{}');
         INSERT INTO accounts VALUES ('a', 'a@b.c', 'A', NULL, 'free', 'active', NULL, '[]', 0, 0);
         INSERT INTO task_totals VALUES ('a', 'test', 7, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);",
        api_key::hash(first)
    );
    connection.execute_batch(&migrations).unwrap();
    drop(connection);
    let database = Database::create(Engine::Sqlite);
    let said = restore(&old, &database).succeed();
    assert!(said.contains("1 accounts, 7 tasks"), "{said}");
    let report = Command::new(&["doctor"]).on(&database).succeed();
    assert!(report.contains("is reachable and up to date"), "{report}");
}
