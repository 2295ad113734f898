//! The programs of others that verify what we send. The libraries are asked through the functions
//! that docs/guides/webhooks.md shows.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{LazyLock, Mutex};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::json;

use super::document::block;
use crate::support::peer::{self, Peer};

/// Whether PyPI's standardwebhooks takes this delivery for ours, now.
pub fn verified_by_python(secret: &str, headers: &[(String, String)], body: &[u8]) -> bool {
    static LIBRARY: LazyLock<Mutex<Peer>> = LazyLock::new(|| {
        let folder = folder("python-library");
        let code = block("python", "from standardwebhooks import");
        std::fs::write(folder.join("library.py"), code).unwrap();
        Mutex::new(Peer::start(&mut python("library.py", &folder)))
    });
    verified_by(&LIBRARY, secret, headers, body)
}

/// Whether npm's standardwebhooks takes this delivery for ours, now.
pub fn verified_by_npm(secret: &str, headers: &[(String, String)], body: &[u8]) -> bool {
    static LIBRARY: LazyLock<Mutex<Peer>> = LazyLock::new(|| {
        let folder = folder("node-library");
        let code = block("ts", "from \"standardwebhooks\"");
        compile_typescript(&folder, "library", &code);
        Mutex::new(Peer::start(&mut node("library.mjs", &folder)))
    });
    verified_by(&LIBRARY, secret, headers, body)
}

/// Anything but yes or no is a failure of the test: what we send is never malformed.
fn verified_by(
    library: &Mutex<Peer>,
    secret: &str,
    headers: &[(String, String)],
    body: &[u8],
) -> bool {
    let headers: BTreeMap<_, _> = headers.iter().cloned().collect();
    let body = BASE64_STANDARD.encode(body);
    let question = json!({"secret": secret, "headers": headers, "body": body});
    let verdict = library.lock().unwrap().ask(&question);
    verdict.as_bool().unwrap_or_else(|| panic!("{verdict}"))
}

/// A folder for code of the document, among what is built.
pub fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("webhooks")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// One of the programs in `tests/peers/webhooks/`.
pub fn program(name: &str) -> PathBuf {
    peer::script("webhooks").join(name)
}

/// Runs one of them with Python, and what is in the folder.
pub fn python(name: &str, folder: &Path) -> Command {
    let mut command = peer::python(&format!("webhooks/{name}"));
    command.arg(folder);
    command
}

/// Runs one of them with Node, and what is in the folder.
pub fn node(name: &str, folder: &Path) -> Command {
    let mut command = peer::node(&format!("webhooks/{name}"));
    command.arg(folder);
    command
}

/// Makes `<name>.mjs` in the folder, if there is nothing wrong with the types.
pub fn compile_typescript(folder: &Path, name: &str, code: &str) {
    let modules = peer::node_modules();
    let link = folder.join("node_modules");
    if link.read_link().ok().as_ref() != Some(&modules) {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&modules, &link).unwrap();
    }
    let source = format!("{name}.mts");
    std::fs::write(folder.join(&source), code).unwrap();
    let done = Command::new(peer::variable("LEGWORK_TEST_NODE"))
        .arg(modules.join("typescript/bin/tsc"))
        .args([
            "--strict",
            // The declarations of others are not ours to check.
            "--skipLibCheck",
            "--target",
            "es2022",
            "--module",
            "nodenext",
            &source,
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "TypeScript: {complaint}");
}
