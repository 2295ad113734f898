//! docs/SECURITY.md and docs/RELIABILITY.md: every promise names tests, and these exist.

use crate::docs::markdown::{code, read, table};

/// Whether a file has a test of this name: with an attribute, or named in a list of stories.
fn has_test(text: &str, name: &str) -> bool {
    let Some((before, _)) = text.split_once(&format!("fn {name}(")) else {
        return false;
    };
    let above = before.rsplit_once('\n').map_or("", |(above, _)| above);
    let mut attributes = above
        .lines()
        .rev()
        .take_while(|line| line.trim().starts_with("#[") || line.trim().starts_with("//"));
    let is_test = |line: &str| line.contains("test]") || line.contains("test(");
    let listed = [
        format!("{name},"),
        format!("!({name})"),
        format!("    {name}\n);"),
    ];
    attributes.any(is_test) || listed.iter().any(|list| before.contains(list))
}

/// The tests of a cell: a file, the names in it, another file.
fn named(cell: &str) -> Vec<(String, Vec<String>)> {
    let mut files: Vec<(String, Vec<String>)> = Vec::new();
    for word in code(cell) {
        match files.last_mut() {
            _ if word.ends_with(".rs") => files.push((word, Vec::new())),
            Some((_, names)) => names.push(word),
            None => panic!("{word} comes before its file"),
        }
    }
    files
}

/// The table of a document: the last two columns are the promise and its tests.
fn are_held(document: &str, at_least: usize) {
    let page = read(document);
    let rows = table(&page, "promises");
    assert!(rows.len() >= at_least, "{document}: {} rows", rows.len());
    for row in rows {
        let (tests, before) = row.split_last().unwrap();
        let promise = before.last().unwrap();
        let files = named(tests);
        assert!(!files.is_empty(), "{promise}");
        for (file, names) in files {
            assert!(!names.is_empty(), "{promise}: {file} names no test");
            let text = read(&file);
            for name in names {
                assert!(has_test(&text, &name), "{file} has no test {name}");
            }
        }
    }
}

#[test]
fn every_promise_is_held_by_tests_that_exist() {
    are_held("docs/SECURITY.md", 21);
}

#[test]
fn every_promise_about_failures_is_held_by_tests_that_exist() {
    are_held("docs/RELIABILITY.md", 12);
}

/// Who attacks is explained above the table.
#[test]
fn every_attacker_is_introduced() {
    let page = read("docs/SECURITY.md");
    let (introduced, _) = page.split_once("<!-- promises -->").unwrap();
    for row in table(&page, "promises") {
        let line = format!("\n| {} | ", row[0]);
        assert!(introduced.contains(&line), "{}", row[0]);
    }
}

#[test]
fn a_name_that_is_no_test_is_found() {
    let text = "#[test]\nfn good() {}\n\nfn helper() {}\n\non_both!(story,);\nasync fn story() {}\n\n\
        on_both!(alone);\n\nasync fn alone() {}\n";
    for name in ["good", "story", "alone"] {
        assert!(has_test(text, name), "{name}");
    }
    assert!(!has_test(text, "helper") && !has_test(text, "goo"));
}
