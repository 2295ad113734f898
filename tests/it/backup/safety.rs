//! What a backup and a restore leave behind, whatever happens to them.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use legwork::domain::Action;

use super::{RESTORED, backup, filled, names, restore, rows, shelf};
use crate::support::{Command, Database, Engine, TestApp, tell};

#[test]
fn every_row_of_every_table_comes_back() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let dev = app.developer().await;
        let worker = app.ready_worker().await;
        dev.create_task().await;
        dev.create_live_task().await;
        let cancelled = dev.create_paid_task().await;
        app.act(&dev, &cancelled, &[Action::Cancel]).await;
        let proven = dev.create_paid_task().await;
        worker.begin(&proven).await;
        let proof = worker.prove(&proven, "seed").await;
        dev.review(&proven, &proof, "approve").await.expect(200);
        app.jobs.drain().await.unwrap();
        dev.create_paid_task().await;

        let shelf = shelf();
        let file = shelf.path().join("backup.db");
        backup(&app.database, &file).succeed();
        let original = rows(&app.database.file());
        assert!(original.len() > 40);
        assert_eq!(rows(&file), original);
        let restored = Database::create(Engine::Sqlite);
        restore(&file, &restored).succeed();
        assert_eq!(rows(&restored.file()), original);
        app.database.give_key_to(&restored);
        let report = Command::new(&["doctor"]).on(&restored).succeed();
        assert!(report.contains("is reachable and up to date"), "{report}");
        assert_eq!(rows(&file), original, "the backup itself is not touched");
    });
}

#[test]
fn a_backup_is_one_file_that_others_cannot_read() {
    let database = filled(10);
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    backup(&database, &file).succeed();
    assert_eq!(names(shelf.path()), ["backup.db"]);
    let mode = |file: &Path| std::fs::metadata(file).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    let restored = Database::create(Engine::Sqlite);
    restore(&file, &restored).succeed();
    assert_eq!(mode(&restored.file()), 0o600);
    assert_eq!(names(restored.folder.path()), RESTORED);
}

#[test]
fn the_name_may_be_one_without_a_folder_or_look_like_a_uri() {
    let database = filled(10);
    let shelf = shelf();
    for name in ["backup.db", "file:backup.db?mode=memory", "a b'c\".db"] {
        let command = Command::new(&["backup", name]).on(&database);
        command.current_dir(shelf.path()).succeed();
        assert!(names(shelf.path()).contains(&name.to_owned()));
        let restored = Database::create(Engine::Sqlite);
        let command = Command::new(&["restore", name]).on(&restored);
        let said = command.current_dir(shelf.path()).succeed();
        assert!(said.contains("1 accounts, 0 tasks"), "{said}");
    }
    assert_eq!(names(shelf.path()).len(), 3);
}

/// Starts a command and kills it as soon as something is in the folder.
fn kill_when_begun(mut command: Command, folder: &Path) {
    let mut child = command.0.stdout(Stdio::null()).spawn().unwrap();
    while names(folder).is_empty() && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_killed_backup_has_no_name() {
    let database = filled(100_000);
    let (mut killed, mut finished) = (0, 0);
    while killed < 3 {
        let shelf = shelf();
        let file = shelf.path().join("backup.db");
        kill_when_begun(backup(&database, &file), shelf.path());
        if file.exists() {
            // It was faster than the kill: then it is whole.
            assert_eq!(rows(&file), rows(&database.file()));
            finished += 1;
        } else {
            killed += 1;
            // What is left does not stand in the way of another attempt.
            let left = names(shelf.path());
            assert!(
                left.iter().all(|name| name.contains(".partial")),
                "{left:?}"
            );
            backup(&database, &file).succeed();
        }
        assert!(finished < 20, "never caught in the middle");
    }
}

#[test]
fn a_killed_restore_has_no_name() {
    let database = filled(100_000);
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    backup(&database, &file).succeed();
    let (mut killed, mut finished) = (0, 0);
    while killed < 3 {
        let restored = Database::create(Engine::Sqlite);
        kill_when_begun(restore(&file, &restored), restored.folder.path());
        if restored.file().exists() {
            assert_eq!(rows(&restored.file()), rows(&file));
            finished += 1;
        } else {
            killed += 1;
            restore(&file, &restored).succeed();
        }
        assert!(finished < 20, "never caught in the middle");
    }
}

/// As if the disk had room for this many bytes.
fn with_room_for(bytes: u64, command: Command) -> Command {
    let command = command.surviving_file_size_limits().0;
    let mut limited = std::process::Command::new("prlimit");
    limited.arg(format!("--fsize={bytes}:unlimited"));
    limited.arg(command.get_program()).args(command.get_args());
    Command(limited)
}

#[test]
fn a_full_disk_is_said_and_nothing_is_left() {
    let database = filled(10_000);
    let shelf = shelf();
    let file = shelf.path().join("backup.db");
    for room in [65_536, 500_000, 2_000_000] {
        let output = with_room_for(room, backup(&database, &file)).output();
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("backup.db: cannot be written: "), "{error}");
        assert_eq!(names(shelf.path()), [""; 0], "{room}");
    }
    backup(&database, &file).succeed();
    let restored = Database::create(Engine::Sqlite);
    for room in [0, 65_536, 500_000] {
        let output = with_room_for(room, restore(&file, &restored)).output();
        assert_eq!(output.status.code(), Some(1));
        let error = String::from_utf8(output.stderr).unwrap();
        assert!(error.contains("legwork.db: File too large"), "{error}");
        assert_eq!(names(restored.folder.path()), [""; 0], "{room}");
    }
    restore(&file, &restored).succeed();
    assert_eq!(rows(&restored.file()), rows(&database.file()));
}
