//! Where the master key comes from, and which one is refused.

use std::os::unix::fs::PermissionsExt;

use legwork::seal::MasterKey;

use crate::support::{Command, Database, Engine, Server, TestApp, on_both_engines};

const ENGINES: [Engine; 2] = [Engine::Sqlite, Engine::Postgres];

on_both_engines!(
    a_server_with_another_key_does_not_start,
    a_setting_can_give_the_key,
);

/// The arguments for a command on the same database with another data folder.
fn elsewhere(database: &Database, folder: &std::path::Path) -> Vec<String> {
    if database.engine == Engine::Sqlite {
        std::fs::copy(database.file(), folder.join("legwork.db")).unwrap();
        let log = folder.join("legwork.db-wal");
        std::fs::copy(database.folder.path().join("legwork.db-wal"), log).unwrap();
    }
    let mut arguments = vec!["--data".to_owned(), folder.to_str().unwrap().to_owned()];
    if let Some(url) = database.url() {
        arguments.extend(["--database-url".to_owned(), url]);
    }
    arguments
}

fn command(words: &[&str], arguments: &[String]) -> Command {
    let arguments = arguments.iter().map(String::as_str);
    Command::new(&words.iter().copied().chain(arguments).collect::<Vec<_>>())
}

async fn a_server_with_another_key_does_not_start(app: TestApp) {
    app.developer().await;
    let folder = tempfile::tempdir().unwrap();
    let arguments = elsewhere(&app.database, folder.path());
    let list = || command(&["account", "list"], &arguments);
    // Without a key, none is made: it would open nothing.
    for refused in [list().fail(), command(&["serve"], &arguments).fail()] {
        for advice in ["Copy master.key", "LEGWORK_MASTER_KEY", "secrets reset"] {
            assert!(refused.contains(advice), "{refused}");
        }
        assert!(!folder.path().join("master.key").exists());
    }
    let wrong = MasterKey::new([1; 32]).to_base64();
    let refused = list().env("LEGWORK_MASTER_KEY", &wrong).fail();
    assert!(
        refused.contains("LEGWORK_MASTER_KEY does not contain"),
        "{refused}"
    );
    assert!(!refused.contains(&wrong), "{refused}");
    // Migrating needs no key.
    command(&["migrate"], &arguments).succeed();
    let doctor = command(&["doctor"], &arguments).output();
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        !doctor.status.success() && report.contains("FAIL master key"),
        "{report}"
    );
    let key = app.database.folder.path().join("master.key");
    std::fs::copy(key, folder.path().join("master.key")).unwrap();
    list().succeed();
    let report = command(&["doctor"], &arguments).succeed();
    assert!(report.contains("ok   master key: "), "{report}");
    assert!(report.contains("opens the database"), "{report}");
}

async fn a_setting_can_give_the_key(app: TestApp) {
    app.developer().await;
    let folder = tempfile::tempdir().unwrap();
    let arguments = elsewhere(&app.database, folder.path());
    let key = app.database.key_source().load().unwrap().remove(0);
    let listed = command(&["account", "list"], &arguments)
        .env("LEGWORK_MASTER_KEY", &key.to_base64())
        .succeed();
    assert!(listed.contains("@example.com"), "{listed}");
    assert!(!folder.path().join("master.key").exists());
}

#[test]
fn the_first_start_makes_a_key_for_its_owner_alone() {
    for engine in ENGINES {
        let database = Database::create(engine);
        let report = Command::new(&["doctor"]).on(&database).succeed();
        assert!(report.contains("the first start creates"), "{report}");
        drop(Server::start(&database));
        let file = database.folder.path().join("master.key");
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = std::fs::read_to_string(&file).unwrap();
        drop(Server::start(&database));
        assert_eq!(std::fs::read_to_string(&file).unwrap(), key);
    }
}

/// A command that creates the database and the key.
const CREATE: &[&str] = &["admin", "create-key", "--name", "Grace"];

#[test]
fn processes_that_start_at_once_agree_on_a_key() {
    for engine in ENGINES {
        let database = Database::create(engine);
        std::thread::scope(|scope| {
            let create = || Command::new(CREATE).on(&database).succeed();
            let runs: Vec<_> = (0..6).map(|_| scope.spawn(create)).collect();
            runs.into_iter().for_each(|run| drop(run.join().unwrap()));
        });
        assert_eq!(database.key_source().load().unwrap().len(), 1);
    }
}

#[test]
fn a_key_that_others_can_read_is_refused() {
    let database = Database::create(Engine::Sqlite);
    Command::new(CREATE).on(&database).succeed();
    let file = database.folder.path().join("master.key");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let refused = Command::new(&["account", "list"]).on(&database).fail();
    assert!(
        refused.contains("mode 644") && refused.contains("chmod 600"),
        "{refused}"
    );
    let doctor = Command::new(&["doctor"]).on(&database).output();
    let report = String::from_utf8(doctor.stdout).unwrap();
    assert!(
        !doctor.status.success() && report.contains("FAIL master key"),
        "{report}"
    );
}

#[test]
fn a_backup_does_not_contain_the_key_and_says_so() {
    let database = Database::create(Engine::Sqlite);
    Command::new(CREATE).on(&database).succeed();
    let folder = tempfile::tempdir().unwrap();
    let (file, data) = (folder.path().join("copy.db"), folder.path().join("data"));
    let (file, data) = (file.to_str().unwrap(), data.to_str().unwrap());
    let said = Command::new(&["backup", file]).on(&database).succeed();
    assert!(said.contains("The master key is not included"), "{said}");
    let key = database.key_source().load().unwrap().remove(0).to_base64();
    let copy = std::fs::read(file).unwrap();
    assert!(!String::from_utf8_lossy(&copy).contains(&key));
    let said = Command::new(&["restore", file, "--data", data]).succeed();
    assert!(said.contains("The server will not start yet"), "{said}");
    let refused = Command::new(&["account", "list", "--data", data]).fail();
    assert!(refused.contains("Copy master.key"), "{refused}");
    let copied = format!("{data}/master.key");
    std::fs::copy(database.folder.path().join("master.key"), copied).unwrap();
    Command::new(&["account", "list", "--data", data]).succeed();
}
