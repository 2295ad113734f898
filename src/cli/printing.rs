//! Standard output and standard error, which may be closed or full.

use std::fmt::Display;
use std::io::{ErrorKind, Result, Write};
use std::process::ExitCode;
use std::sync::OnceLock;

/// Why standard output takes no more.
enum End {
    /// Its reader has stopped early (`| head`), which is not an error.
    Closed,
    Failed(String),
}

static ENDED: OnceLock<End> = OnceLock::new();

/// Prints a line. When nobody can read it, the command does its work all the same: what it has begun is not left
/// half done, and its exit code says what it has found.
pub fn print_line(line: impl Display) {
    if ENDED.get().is_some() {
        return;
    }
    let end = match write_line(&line) {
        Ok(()) => return,
        Err(error) if error.kind() == ErrorKind::BrokenPipe => End::Closed,
        Err(error) => End::Failed(error.to_string()),
    };
    let _ = ENDED.set(end);
}

/// Prints a line of a list that may be long, or has no end. When nobody can read it, the command ends at once.
pub fn print_item(line: impl Display) {
    print_line(line);
    match ENDED.get() {
        None => {}
        Some(End::Closed) => std::process::exit(0),
        Some(End::Failed(reason)) => {
            tell_failure(reason);
            std::process::exit(1)
        }
    }
}

fn write_line(line: &impl Display) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}

/// The exit code of a command, if everything that it printed was written.
pub fn checked(code: ExitCode) -> ExitCode {
    match ENDED.get() {
        Some(End::Failed(reason)) => {
            tell_failure(reason);
            ExitCode::FAILURE
        }
        _ => code,
    }
}

fn tell_failure(reason: &str) {
    tell(format_args!(
        "legwork: standard output cannot be written: {reason}"
    ));
}

/// Prints a line on standard error. Whether somebody reads it makes no difference.
pub fn tell(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
