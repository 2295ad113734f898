//! docs/ARCHITECTURE.md as a test: which module may use which, no circles between files, no crowded folder.

mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use source::{SourceFile, SourceTree};

const DOCUMENT: &str = include_str!("../../../docs/ARCHITECTURE.md");

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The crates that the server is made of. Each knows the modules of those below it by the
/// same names.
fn server() -> SourceTree {
    SourceTree::read(&["core/src", "http/src", "src"].map(|folder| root().join(folder)))
}

/// What each module may use, from every table of the document with these two columns.
fn allowed() -> BTreeMap<String, BTreeSet<String>> {
    let mut allowed = BTreeMap::new();
    let mut columns = None;
    for line in DOCUMENT.lines() {
        let cells: Vec<_> = line.trim_matches('|').split('|').map(str::trim).collect();
        if !line.starts_with('|') {
            columns = None;
        } else if let Some((module, uses)) = columns {
            let (module, uses): (usize, usize) = (module, uses);
            for name in code_words(cells[module]) {
                let name = name.trim_start_matches("core/").trim_start_matches("http/");
                let name = name.trim_start_matches("src/").trim_end_matches(".rs");
                let used = code_words(cells[uses]).into_iter().collect();
                allowed.insert(name.trim_end_matches('/').to_owned(), used);
            }
        } else {
            let find = |name| cells.iter().position(|cell| *cell == name);
            columns = find("Module").zip(find("May use"));
        }
    }
    allowed
}

/// The words in back quotes.
fn code_words(cell: &str) -> Vec<String> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted
        .map(str::to_owned)
        .filter(|word| word != "---")
        .collect()
}

/// The name under which the document knows a module: as deep as it goes.
fn listed(path: &[String], allowed: &BTreeMap<String, BTreeSet<String>>) -> Option<String> {
    let names = (1..=path.len()).rev().map(|depth| path[..depth].join("/"));
    names.into_iter().find(|name| allowed.contains_key(name))
}

#[test]
fn no_module_uses_what_the_document_does_not_allow() {
    let allowed = allowed();
    let tree = server();
    let mut checked = 0;
    for file in tree.files() {
        let Some(module) = listed(&file.module, &allowed) else {
            assert!(file.module.len() < 2, "{} is not listed", file.name());
            continue;
        };
        for used in tree.used_by(file) {
            let Some(used) = listed(&tree.file(used).module, &allowed) else {
                continue;
            };
            let fine = used == module
                || used.starts_with(&format!("{module}/"))
                || allowed[&module].contains(&used)
                // What a part of a module may use, another part may not: but what the whole may
                // use, each part may.
                || used.split('/').next() != module.split('/').next()
                    && permits(&allowed, &module, &used);
            assert!(fine, "{} ({module}) uses {used}", file.name());
            checked += 1;
        }
    }
    assert!(checked > 800, "only {checked} uses found");
}

/// Whether the top-level module that a part belongs to may use what the other belongs to.
fn permits(allowed: &BTreeMap<String, BTreeSet<String>>, module: &str, used: &str) -> bool {
    let top = |name: &str| name.split('/').next().unwrap_or_default().to_owned();
    let of_top = allowed.get(&top(module));
    of_top.is_some_and(|of_top| of_top.contains(&top(used)))
}

#[test]
fn every_module_is_in_the_document() {
    let allowed = allowed();
    let tree = server();
    let modules: BTreeSet<_> = tree
        .files()
        .filter_map(|file| file.module.first().cloned())
        .collect();
    for module in &modules {
        assert!(allowed.contains_key(module), "{module} is not listed");
    }
    for listed in allowed.keys() {
        let path: Vec<_> = listed.split('/').map(str::to_owned).collect();
        let exists = tree.files().any(|file| file.module.starts_with(&path));
        assert!(exists, "{listed} is listed, but there is no such module");
    }
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let bench = SourceTree::read(&[root().join("bench/src")]);
    for (sources, tree) in [("the server", server()), ("bench/src", bench)] {
        let circles = tree.circles();
        let told: Vec<_> = circles
            .iter()
            .map(|circle| {
                let names: Vec<_> = circle.iter().map(|file| tree.file(*file).name()).collect();
                names.join(" <-> ")
            })
            .collect();
        assert!(
            circles.is_empty(),
            "circles in {sources}:\n{}",
            told.join("\n")
        );
    }
}

#[test]
fn only_the_engine_knows_which_database_it_is() {
    let tree = server();
    let speaks = |file: &SourceFile, crates: &[&str]| {
        let source = &file.text;
        crates
            .iter()
            .any(|name| source.contains(&format!("{name}::")))
    };
    for file in tree.files() {
        let engine = file.module.starts_with(&["store".into(), "engine".into()]);
        let names_driver = speaks(file, &["rusqlite", "tokio_postgres"]);
        assert!(!names_driver || engine, "{} names a driver", file.name());
        let http = ["api", "pages"].contains(&file.module.first().map_or("", String::as_str));
        let names_axum = speaks(file, &["axum"]);
        assert!(!names_axum || http, "{} speaks HTTP", file.name());
    }
}

/// The most source files that stand side by side, besides the `mod.rs` that names them.
const FILES_IN_A_FOLDER: usize = 12;

#[test]
fn no_folder_has_more_files_than_one_takes_in() {
    let mut crowded = Vec::new();
    let mut folders: Vec<_> = ["core", "http", "src", "tests", "bench/src", "client"]
        .map(|folder| root().join(folder))
        .into();
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        let mut files = 0;
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && path.file_name().is_some_and(|name| name != "mod.rs")
            {
                files += 1;
            }
        }
        seen += files;
        if files > FILES_IN_A_FOLDER {
            crowded.push(format!("{}: {files} files", folder.display()));
        }
    }
    assert!(seen > 500, "only {seen} files found");
    assert!(crowded.is_empty(), "{}", crowded.join("\n"));
}
