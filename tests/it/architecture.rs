//! The rooms of the house, and who may look into which: docs/ARCHITECTURE.md as a test.

use std::path::{Path, PathBuf};

/// Each room with the rooms it may use.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("ambient", &["domain"]),
    ("seal", &["domain", "ambient"]),
    ("store", &["domain", "ambient", "tls"]),
    ("files", &["domain", "ambient", "tls"]),
    ("media", &["domain"]),
    ("objects", &["domain", "store"]),
    ("outbound", &["domain", "tls"]),
    ("tls", &[]),
    ("mail", &["domain"]),
    ("push", &["domain", "ambient"]),
    ("passwords", &["ambient"]),
    ("payments", &["domain", "ambient", "store", "tls"]),
    (
        "usecases",
        &["domain", "ambient", "store", "objects", "payments", "media"],
    ),
    (
        "jobs",
        &[
            "domain", "ambient", "store", "files", "payments", "usecases", "mail", "push",
            "outbound",
        ],
    ),
    (
        "webhooks",
        &["domain", "ambient", "store", "usecases", "outbound"],
    ),
    (
        "clockwork",
        &["domain", "ambient", "store", "usecases", "webhooks"],
    ),
    (
        "pages",
        &["domain", "ambient", "store", "payments", "usecases"],
    ),
    (
        "api",
        &[
            "domain",
            "ambient",
            "seal",
            "passwords",
            "store",
            "files",
            "media",
            "payments",
            "usecases",
            "pages",
            "objects",
            "outbound",
            "webhooks",
            "clockwork",
        ],
    ),
    ("settings", &["domain", "files", "store", "outbound"]),
    ("telemetry", &["settings"]),
    (
        "cli",
        &[
            "domain",
            "ambient",
            "store",
            "files",
            "payments",
            "usecases",
            "jobs",
            "api",
            "mail",
            "outbound",
            "push",
            "webhooks",
            "clockwork",
            "settings",
            "telemetry",
        ],
    ),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

fn room_of(file: &Path, src: &Path) -> String {
    let inside = file.strip_prefix(src).unwrap();
    let first = inside.components().next().unwrap().as_os_str();
    first.to_str().unwrap().trim_end_matches(".rs").to_owned()
}

/// The rooms that a source names after `crate::`.
fn used_rooms(source: &str) -> impl Iterator<Item = &str> {
    source.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn no_room_looks_where_it_may_not() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut checked = 0;
    for file in sources(&src) {
        let room = room_of(&file, &src);
        if room == "lib" || room == "main" {
            continue;
        }
        let (_, allowed) = ROOMS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("{room} is a room that docs/ARCHITECTURE.md does not know"));
        for used in used_rooms(&std::fs::read_to_string(&file).unwrap()) {
            let fine = used == room || allowed.contains(&used);
            assert!(fine, "{} uses {used}", file.display());
            checked += 1;
        }
    }
    assert!(
        checked > 80,
        "only {checked} uses found: does the test still see them?"
    );
}

#[test]
fn only_the_engine_knows_which_database_it_is() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let engine = src.join("store").join("engine");
    for file in sources(&src) {
        let source = std::fs::read_to_string(&file).unwrap();
        let names_driver = source.contains("rusqlite") || source.contains("tokio_postgres");
        assert!(
            !names_driver || file.starts_with(&engine),
            "{}",
            file.display()
        );
        let speaks_http = ["api", "pages"].map(|room| src.join(room));
        assert!(
            !source.contains("axum::") || speaks_http.iter().any(|room| file.starts_with(room)),
            "{}",
            file.display()
        );
    }
}
