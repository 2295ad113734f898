//! A reader with a terminal: runs the commands of a document in one shell, in order, as pasted.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use super::answers::json_values;
use crate::support::free_port;

const PATIENCE: Duration = Duration::from_secs(60);

/// The addresses that documents name; each document under test gets ports of its own for them.
const ADDRESSES: [&str; 4] = [
    "127.0.0.1:8080",
    "localhost:8443",
    "127.0.0.1:8443",
    "127.0.0.1:8444",
];

/// A command that fails ends the shell. `watch` copies what a program in the background prints, and
/// says when it listens.
const PRELUDE: &str = r#"
set -eEo pipefail
trap 'echo "exit $?: $BASH_COMMAND" >&2' ERR
watch() {
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    case "$line" in *isten*) [ -n "$listens" ] || echo done; listens=yes;; esac
  done
  [ -n "$listens" ] || echo failed
}"#;

/// What a block printed, and the statuses of its requests that were refused.
pub struct Output {
    pub text: String,
    pub refused: Vec<u16>,
}

pub struct Shell {
    bash: Child,
    input: ChildStdin,
    finished: Receiver<String>,
    folder: TempDir,
    /// The address in the document, and the one that takes its place.
    addresses: Vec<(String, String)>,
    blocks: usize,
    /// Everything that was printed so far: where a reader copies keys from.
    printed: String,
    last_answer: Value,
}

impl Shell {
    pub fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let programs = folder.path().join("programs");
        write_programs(&programs, folder.path());
        fs::create_dir(folder.path().join("work")).unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = Command::new("bash");
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("LEGWORK_") || name.starts_with("AWS_") {
                command.env_remove(name);
            }
        }
        let addresses = ADDRESSES.map(|address| {
            let host = address.split(':').next().unwrap();
            (address.to_owned(), format!("{host}:{}", free_port()))
        });
        let mut bash = command
            .args(["--noprofile", "--norc"])
            .current_dir(folder.path().join("work"))
            .env("PATH", format!("{}:{path}", programs.display()))
            .env("LEGWORK_LISTEN", &addresses[0].1)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, finished) = channel();
        let lines = BufReader::new(bash.stdout.take().unwrap()).lines();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|l| sender.send(l)));
        let mut shell = Self {
            input: bash.stdin.take().unwrap(),
            bash,
            finished,
            folder,
            addresses: addresses.to_vec(),
            blocks: 0,
            printed: String::new(),
            last_answer: Value::Null,
        };
        shell.send(PRELUDE);
        shell
    }

    fn send(&mut self, line: &str) {
        // A shell that is gone shows in the answer that does not come.
        let _ = writeln!(self.input, "{line}");
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs commands that end.
    pub fn run(&mut self, text: &str) -> Output {
        let (script, output) = self.prepare(text);
        let shown = output.display();
        self.send(&format!(". {script} >{shown} 2>{shown}.err; echo done"));
        if self.finished.recv_timeout(PATIENCE).as_deref() != Ok("done") {
            let read = |name: String| fs::read_to_string(name).unwrap_or_default();
            let (out, err) = (read(shown.to_string()), read(format!("{shown}.err")));
            panic!("this failed:\n{text}\nIt printed:\n{out}\n{err}");
        }
        let text = self.read_output(&output);
        let statuses = fs::read_to_string(self.file("statuses")).unwrap_or_default();
        let _ = fs::remove_file(self.file("statuses"));
        let statuses = statuses.lines().map(|line| line.parse::<u16>().unwrap());
        let refused = statuses.filter(|status| *status >= 400).collect();
        Output { text, refused }
    }

    /// Runs commands that go on until the end of the document, such as a server.
    pub fn run_in_background(&mut self, text: &str) -> Output {
        if text.contains("legwork") || text.contains("cargo run") {
            self.stop_server();
        }
        let (script, output) = self.prepare(text);
        let shown = output.display();
        self.send(&format!("( . {script} ) 2>&1 | watch {shown} &"));
        if self.finished.recv_timeout(PATIENCE).as_deref() != Ok("done") {
            let printed = fs::read_to_string(&output).unwrap_or_default();
            panic!("this does not listen:\n{text}\nIt printed:\n{printed}");
        }
        let text = self.read_output(&output);
        Output {
            text,
            refused: Vec::new(),
        }
    }

    /// What Ctrl-C does in the terminal of the server.
    fn stop_server(&mut self) {
        if let Ok(process) = fs::read_to_string(self.file("server.pid")) {
            let process = process.trim();
            let waits = format!("kill {process}; tail --pid={process} -f /dev/null; echo done");
            self.send(&waits);
            assert_eq!(self.finished.recv_timeout(PATIENCE).as_deref(), Ok("done"));
        }
    }

    fn prepare(&mut self, text: &str) -> (String, PathBuf) {
        self.blocks += 1;
        let mut text: String = text.lines().map(|line| self.filled_in(line)).collect();
        for (shown, real) in &self.addresses {
            text = text.replace(shown, real);
        }
        let script = self.file(&format!("block-{}", self.blocks));
        fs::write(&script, text).unwrap();
        let output = script.with_extension("out");
        (script.display().to_string(), output)
    }

    fn read_output(&mut self, output: &Path) -> String {
        let mut text = fs::read_to_string(output).unwrap();
        for (shown, real) in &self.addresses {
            text = text.replace(real, shown);
        }
        self.printed.push_str(&text);
        if let Some(answer) = json_values(&text).pop() {
            self.last_answer = answer;
        }
        text
    }

    /// `KEY=svc_test_...  # comment` is a line that the reader fills in: with the last word that began
    /// like this. With nothing before the dots, the comment names the field of the last answer.
    fn filled_in(&self, line: &str) -> String {
        let Some((name, value, comment)) = blank(line) else {
            return format!("{line}\n");
        };
        let value = if value.is_empty() {
            let field = comment.split('"').nth(1);
            let field = field.unwrap_or_else(|| panic!("{line}: which field?"));
            let found = find(&self.last_answer, field);
            let found = found.unwrap_or_else(|| panic!("{line}: not in {}", self.last_answer));
            found.as_str().unwrap().to_owned()
        } else {
            let start = self.printed.rfind(value);
            let start = start.unwrap_or_else(|| panic!("{line}: was not printed"));
            let belongs = |c: &char| c.is_ascii_alphanumeric() || "_+/=".contains(*c);
            self.printed[start..].chars().take_while(belongs).collect()
        };
        format!("{name}='{value}'\n")
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let group = format!("-{}", self.bash.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.bash.wait();
    }
}

/// The name, the beginning of the value and the comment of a line that the reader fills in.
pub fn blank(line: &str) -> Option<(&str, &str, &str)> {
    let (assignment, comment) = line.split_once('#')?;
    let (name, value) = assignment.trim_end().split_once('=')?;
    let is_name = name.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    is_name.then_some((name, value.strip_suffix("...")?, comment))
}

/// The field of an object, or the first one of that name inside.
fn find<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    match value {
        Value::Object(fields) => {
            let inside = || fields.values().find_map(|value| find(value, name));
            fields.get(name).or_else(inside)
        }
        Value::Array(items) => items.iter().find_map(|item| find(item, name)),
        _ => None,
    }
}

/// What stands in for programs of the reader's: `cargo` runs the binary under test instead of building
/// one, `curl` notes the status of each answer and ends a stream as Ctrl-C would.
fn write_programs(folder: &Path, notes: &Path) {
    fs::create_dir(folder).unwrap();
    let binary = env!("CARGO_BIN_EXE_legwork");
    let notes = notes.display();
    let legwork = format!(
        "case \"$1\" in ''|serve|--*) echo $$ >{notes}/server.pid;; esac\n\
         exec {binary} \"$@\"\n"
    );
    let built = folder.join("legwork");
    let cargo = format!(
        "case \"$1 $2\" in\n\
         'build --release') mkdir -p target/release; cp {built} target/release/legwork;;\n\
         'run --release') shift 2; [ \"$1\" != -- ] || shift; exec {built} \"$@\";;\n\
         *) echo \"cargo $*\" >&2; exit 1;;\n\
         esac\n",
        built = built.display()
    );
    let curl = format!(
        "stream=()\n\
         for word in \"$@\"; do [ \"$word\" != -N ] || stream=(--max-time 2); done\n\
         headers=$(mktemp {notes}/headers.XXXXXX)\n\
         code=0\n\
         {real} -sS -D \"$headers\" \"${{stream[@]}}\" \"$@\" || code=$?\n\
         grep -a '^HTTP/' \"$headers\" | tail -1 | cut -d' ' -f2 >>{notes}/statuses\n\
         [ $code != 28 ] || [ ${{#stream[@]}} = 0 ] || code=0\n\
         exit $code\n",
        real = installed("curl")
    );
    for (name, text) in [("legwork", legwork), ("cargo", cargo), ("curl", curl)] {
        let file = folder.join(name);
        fs::write(&file, format!("#!/usr/bin/env bash\n{text}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

fn installed(program: &str) -> String {
    let path = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&path).map(|folder| folder.join(program));
    let found = found.into_iter().find(|file| file.is_file());
    let found = found.unwrap_or_else(|| panic!("{program} is not installed"));
    found.display().to_string()
}
