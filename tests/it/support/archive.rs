//! ZIP files, as other programs read them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use super::peer;

/// The entries of an archive by name. Python and unzip must both find it right.
pub fn unzip(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let (archive, to) = (folder.path().join("a.zip"), folder.path().join("a"));
    std::fs::write(&archive, bytes).unwrap();
    let said = run(Command::new("unzip").arg("-tq").arg(&archive));
    assert!(said.contains("No errors detected"), "{said}");
    let mut python = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
    let said = run(python.args(["-m", "zipfile", "-t"]).arg(&archive));
    assert!(!said.contains("corrupted"), "{said}");
    let mut python = Command::new(peer::variable("LEGWORK_TEST_PYTHON"));
    run(python.args(["-m", "zipfile", "-e"]).args([&archive, &to]));
    let mut entries = BTreeMap::new();
    collect(&to, &to, &mut entries);
    entries
}

fn collect(root: &Path, folder: &Path, entries: &mut BTreeMap<String, Vec<u8>>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, entries);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            entries.insert(name.to_owned(), std::fs::read(&path).unwrap());
        }
    }
}

/// What a command says. It must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}
