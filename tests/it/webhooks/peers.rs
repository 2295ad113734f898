//! The programs of others that verify what we send. `scripts/with-webhook-peers` makes them ready.
//! The libraries are asked through the functions that docs/guides/webhooks.md shows; each is started once
//! for all tests, and ends when they do: its standard input closes then.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{LazyLock, Mutex};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use super::document::block;

/// Whether PyPI's standardwebhooks takes this delivery for ours, now.
pub fn verified_by_python(secret: &str, headers: &[(String, String)], body: &[u8]) -> bool {
    static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(|| {
        let folder = folder("python-library");
        let code = block("python", "from standardwebhooks import");
        std::fs::write(folder.join("library.py"), code).unwrap();
        Library::start(python("library.py", &folder))
    });
    verified_by(&LIBRARY, secret, headers, body)
}

/// Whether npm's standardwebhooks takes this delivery for ours, now.
pub fn verified_by_npm(secret: &str, headers: &[(String, String)], body: &[u8]) -> bool {
    static LIBRARY: LazyLock<Mutex<Library>> = LazyLock::new(|| {
        let folder = folder("node-library");
        let code = block("ts", "from \"standardwebhooks\"");
        compile_typescript(&folder, "library", &code);
        Library::start(node("library.mjs", &folder))
    });
    verified_by(&LIBRARY, secret, headers, body)
}

struct Library {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
    _child: Child,
}

impl Library {
    fn start(mut command: Command) -> Mutex<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Mutex::new(Self {
            questions: child.stdin.take().unwrap(),
            answers: BufReader::new(child.stdout.take().unwrap()),
            _child: child,
        })
    }

    fn ask(&mut self, question: &Value) -> Value {
        writeln!(self.questions, "{question}").unwrap();
        let mut line = String::new();
        let read = self.answers.read_line(&mut line).unwrap();
        assert!(read > 0, "the library has ended");
        serde_json::from_str(&line).unwrap()
    }
}

/// Anything but yes or no is a failure of the test: what we send is never malformed.
fn verified_by(
    library: &Mutex<Library>,
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

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run ./test, or scripts/with-webhook-peers cargo test")
    })
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
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/webhooks");
    Path::new(folder).join(name)
}

/// Runs one of them with Python, and what is in the folder.
pub fn python(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(variable("LEGWORK_TEST_WEBHOOK_PYTHON"));
    command.arg("-B").arg(program(name)).arg(folder);
    command
}

/// Runs one of them with Node, and what is in the folder.
pub fn node(name: &str, folder: &Path) -> Command {
    let mut command = Command::new(variable("LEGWORK_TEST_NODE"));
    command.arg(program(name)).arg(folder);
    command
}

/// Makes `<name>.mjs` in the folder, if there is nothing wrong with the types.
pub fn compile_typescript(folder: &Path, name: &str, code: &str) {
    let modules = PathBuf::from(variable("LEGWORK_TEST_NODE_MODULES"));
    let link = folder.join("node_modules");
    if link.read_link().ok().as_ref() != Some(&modules) {
        let _ = std::fs::remove_file(&link);
        std::os::unix::fs::symlink(&modules, &link).unwrap();
    }
    let source = format!("{name}.mts");
    std::fs::write(folder.join(&source), code).unwrap();
    let done = Command::new(variable("LEGWORK_TEST_NODE"))
        .arg(modules.join("typescript/bin/tsc"))
        .args([
            "--strict", "--target", "es2022", "--module", "nodenext", &source,
        ])
        .current_dir(folder)
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "TypeScript: {complaint}");
}
