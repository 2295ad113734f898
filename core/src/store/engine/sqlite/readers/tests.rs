//! What is read is what was committed, by whomever, and what is kept is bounded.

use super::*;
use crate::store::engine::sqlite::connect;
use crate::store::{KeptTable, Statement};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64};
use tempfile::TempDir;

/// The count of a key, and that of another table if it has one there.
const BOTH: Statement = Statement::new(
    "SELECT k.n + COALESCE(o.n, 0) FROM api_keys k
        LEFT JOIN mandates o ON o.name = k.name AND o.n > 0 WHERE k.name = ?1",
);
const TABLES: &[(&str, KeptTable)] = &[("k", KeptTable::ApiKeys), ("o", KeptTable::Mandates)];
const NAMES: [&str; 3] = ["a", "b", "c"];

fn lookup(name: &'static str) -> Lookup<i64> {
    Lookup::new(BOTH, vec![name.into()]).kept(TABLES)
}

struct Bed {
    readers: Readers,
    /// The writer of this process, another process, and a program that changes no marker.
    writer: Connection,
    other: (Connection, Marker),
    stranger: Connection,
    file: PathBuf,
    _folder: TempDir,
}

impl Bed {
    /// What changes no marker is looked for each time.
    fn new() -> Self {
        Self::looking_after(Duration::ZERO)
    }

    fn looking_after(max_age: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("test.db");
        let mut writer = connect(&file).unwrap();
        let prepare = "PRAGMA journal_mode = WAL;
            CREATE TABLE api_keys (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
            CREATE TABLE mandates (name TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
            INSERT INTO api_keys VALUES ('a', 0), ('b', 0), ('c', 0)";
        writer.execute_batch(prepare).unwrap();
        let mut readers = Readers::new(Marker::open(&file).unwrap());
        readers.max_age = max_age;
        readers.watch(&mut writer).unwrap();
        let open = |file: &Path| connect(file).unwrap();
        Self {
            readers,
            writer,
            other: (open(&file), Marker::open(&file).unwrap()),
            stranger: open(&file),
            file,
            _folder: folder,
        }
    }

    fn find(&self, name: &'static str) -> Option<i64> {
        let found = self.readers.find(&|| connect(&self.file), &lookup(name));
        found.unwrap()
    }

    /// Of these two, if both are kept.
    fn kept(&self, first: &'static str, second: &'static str) -> Option<(i64, i64)> {
        let connect = || connect(&self.file);
        let then = |_: &i64| lookup(second);
        self.readers.kept(&connect, &lookup(first), then)
    }

    fn is_kept(&self, name: &'static str) -> bool {
        let mut latest = self.readers.latest();
        matches!(latest.kept.look(&lookup(name)), Known::Row(_))
    }

    /// As one of the three, and as each of them does.
    fn write(&self, who: usize, sql: &str) {
        match who {
            0 => {
                self.writer.execute_batch(sql).unwrap();
                self.readers.committed(&self.writer);
            }
            1 => {
                self.other.0.execute_batch(sql).unwrap();
                self.other.1.change();
            }
            _ => self.stranger.execute_batch(sql).unwrap(),
        }
    }

    fn truth(&self, name: &str) -> Option<i64> {
        let sql = BOTH.sql();
        let truth = self.stranger.query_row(sql, [name], |row| row.get(0));
        truth.ok()
    }
}

#[test]
fn what_is_asked_again_is_kept_until_it_changes() {
    let bed = Bed::new();
    // Nobody knows yet which commits are the writer's.
    bed.find("c");
    bed.write(0, "UPDATE api_keys SET n = 1 WHERE name = 'c'");
    bed.find("a");
    assert!(!bed.is_kept("a"), "asked once");
    for name in ["a", "b", "b"] {
        bed.find(name);
    }
    assert!(bed.is_kept("a") && bed.is_kept("b"));
    bed.write(0, "UPDATE api_keys SET n = 1 WHERE name = 'a'");
    assert!(!bed.is_kept("a"), "it has changed");
    assert!(bed.is_kept("b"), "it has not");
    bed.readers.forget_changed();
    bed.readers.marker.change();
    bed.find("c");
    bed.readers.settle(&bed.writer);
    assert!(bed.is_kept("b"), "the mark was its own");
    bed.write(0, "INSERT INTO mandates VALUES ('x', 1)");
    assert!(
        !bed.is_kept("b"),
        "such a row may be the one that it did not find"
    );
}

#[test]
fn two_that_are_kept_are_found_together() {
    let bed = Bed::new();
    bed.find("c");
    bed.write(0, "UPDATE api_keys SET n = 1 WHERE name = 'a'");
    assert_eq!(bed.kept("a", "b"), None);
    bed.find("a");
    assert_eq!(bed.kept("a", "a"), None, "to look does not count as asking");
    bed.find("a");
    assert_eq!(bed.kept("a", "b"), None, "one of them is not kept");
    bed.find("b");
    bed.find("b");
    assert_eq!(bed.kept("a", "b"), Some((1, 0)));
    bed.write(0, "UPDATE api_keys SET n = 2 WHERE name = 'b'");
    assert_eq!(bed.kept("a", "b"), None, "one of them has changed");
    assert_eq!(bed.kept("a", "a"), Some((1, 1)));
    for who in [1, 2] {
        bed.find("a");
        bed.find("a");
        assert_eq!(bed.kept("a", "a"), Some((1, 1)));
        bed.write(who, "UPDATE api_keys SET n = n + 1 WHERE name = 'c'");
        assert_eq!(bed.kept("a", "a"), None, "somebody else has committed");
    }
    bed.find("a");
    bed.find("a");
    bed.readers.forget_changed();
    assert_eq!(bed.kept("a", "a"), None, "a commit is not settled");
}

#[test]
fn a_commit_hides_none_of_another_process() {
    let bed = Bed::looking_after(Duration::MAX);
    bed.find("a");
    bed.find("a");
    assert!(bed.is_kept("a"));
    let update = "UPDATE api_keys SET n = n + 1 WHERE name = 'a'";
    bed.write(1, update);
    bed.readers.committed(&bed.writer);
    assert_eq!(bed.find("a"), Some(1));
    bed.find("a");
    assert!(bed.is_kept("a"));
    bed.readers.forget_changed();
    bed.write(1, update);
    assert_eq!(bed.find("a"), Some(2), "while a commit is not settled");
    bed.readers.settle(&bed.writer);
    assert_eq!(bed.find("a"), Some(2), "when its mark is overwritten");
}

#[test]
fn what_is_kept_takes_a_bounded_place() {
    const LONG: Statement =
        Statement::new("SELECT name || hex(zeroblob(100000)) FROM api_keys k WHERE name = ?1");
    let bed = Bed::new();
    for number in 0..200 {
        bed.write(0, &format!("INSERT INTO api_keys VALUES ('{number} ', 0)"));
    }
    for name in (0..200).flat_map(|number| [format!("{number} "), format!("{number} ")]) {
        let lookup = Lookup::<String>::new(LONG, vec![name.clone().into()]);
        let lookup = lookup.kept(&[("k", KeptTable::ApiKeys)]);
        let found = bed.readers.find(&|| connect(&bed.file), &lookup).unwrap();
        assert!(found.unwrap().starts_with(&format!("{name}00")));
    }
    let bytes = bed.readers.latest().kept.bytes();
    assert!((3_000_000..15_000_000).contains(&bytes), "{bytes}");
}

proptest::proptest! {
    #[test]
    fn each_reads_what_was_committed_whoever_did(
        steps in proptest::collection::vec((0..3usize, 0..6usize, 0..3usize, 0..3usize), 1..60),
        strangers in proptest::bool::ANY,
    ) {
        let bed = Bed::looking_after(if strangers { Duration::ZERO } else { Duration::MAX });
        for (number, (who, what, which, looks)) in steps.into_iter().enumerate() {
            let who = if strangers { who } else { who % 2 };
            let (name, n) = (NAMES[which], number + 1);
            let sql = match what {
                0 => format!("UPDATE api_keys SET n = {n} WHERE name = '{name}'"),
                1 => format!("INSERT INTO mandates VALUES ('{name}', {n}) ON CONFLICT DO UPDATE SET n = {n}"),
                2 => format!("UPDATE mandates SET n = -n WHERE name = '{name}'"),
                3 => format!("DELETE FROM mandates WHERE name = '{name}'"),
                4 => format!("DELETE FROM api_keys WHERE name = '{name}'"),
                _ => format!("INSERT OR IGNORE INTO api_keys VALUES ('{name}', {n})"),
            };
            bed.write(who, &sql);
            for name in NAMES.repeat(looks) {
                if let Some(kept) = bed.kept(name, NAMES[which]) {
                    let truth = bed.truth(name).zip(bed.truth(NAMES[which]));
                    assert_eq!(Some(kept), truth, "{sql} by {who}");
                }
                assert_eq!(bed.find(name), bed.truth(name), "{sql} by {who}");
            }
        }
    }
}

#[test]
fn nobody_reads_what_was_before_an_acknowledged_commit() {
    for max_age in [Duration::ZERO, Duration::from_millis(1), Duration::MAX] {
        read_while_two_write(Bed::looking_after(max_age));
    }
}

/// This process writes one row, another process another, and two threads read both.
fn read_while_two_write(bed: Bed) {
    let acknowledged = [AtomicI64::new(0), AtomicI64::new(0)];
    let written = AtomicBool::new(false);
    let (readers, file) = (&bed.readers, &bed.file);
    let read = || {
        while !written.load(Ordering::Acquire) {
            for (name, acknowledged) in NAMES.into_iter().zip(&acknowledged) {
                let least = acknowledged.load(Ordering::Acquire);
                let connect = || connect(file);
                let kept = readers.kept(&connect, &lookup(name), |_| lookup(name));
                let found = readers.find(&connect, &lookup(name)).unwrap().unwrap();
                for found in [Some(found), kept.map(|(first, _)| first)] {
                    assert!(
                        found.is_none_or(|n| n >= least),
                        "{name}: {found:?} after {least}"
                    );
                }
            }
        }
    };
    let write = &|connection: &Connection, who: usize, committed: &dyn Fn()| {
        for n in 1..=1_000 {
            let name = NAMES[who];
            let sql = format!("UPDATE api_keys SET n = {n} WHERE name = '{name}'");
            connection.execute_batch(&sql).unwrap();
            committed();
            acknowledged[who].store(n, Ordering::Release);
        }
    };
    let (writer, (other, marker)) = (bed.writer, bed.other);
    std::thread::scope(|scope| {
        scope.spawn(read);
        scope.spawn(read);
        let marked = move || _ = marker.change();
        let other = scope.spawn(move || write(&other, 1, &marked));
        let own = scope.spawn(move || write(&writer, 0, &|| readers.committed(&writer)));
        let ended = [other.join(), own.join()];
        written.store(true, Ordering::Release);
        assert!(ended.iter().all(Result::is_ok));
    });
}
