//! Questions to a person on the terminal. Ctrl-C is an answer, too.

use std::io::{IsTerminal, Write};

use clap::ArgMatches;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

use super::connection::interrupted;
use super::failure::Failed;
use crate::cli::{block_on, tell};

/// Whether somebody can be asked.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for a line. Nobody there is no answer, and Ctrl-D is none either.
pub async fn ask(question: &str) -> Result<String, Failed> {
    if !is_interactive() {
        return Err(Failed::usage(format!(
            "{question}: there is no terminal to ask on"
        )));
    }
    let _ = write!(std::io::stderr().lock(), "{question}: ");
    // On a thread of its own, so that Ctrl-C is heard meanwhile.
    let read = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        let length = std::io::stdin().read_line(&mut line)?;
        Ok::<_, std::io::Error>((length > 0).then_some(line))
    });
    let Some(line) = read.await.map_err(std::io::Error::other)?? else {
        tell("");
        return Err(Failed::Refused(
            "the input has ended without an answer".to_owned(),
        ));
    };
    Ok(line.trim().to_owned())
}

/// Asks for a secret, which is not shown while it is typed.
pub fn ask_secret(question: &str) -> Result<String, Failed> {
    let answer = block_on(async {
        let hidden = Hidden::begin();
        tokio::select! {
            biased;
            _ = tokio::signal::ctrl_c() => {
                drop(hidden);
                interrupted()
            }
            answer = ask(question) => answer,
        }
    })?;
    // Nor was the end of the line.
    tell("");
    answer
}

/// A terminal that does not show what is typed, until this is dropped.
struct Hidden(Termios);

impl Hidden {
    /// None if the terminal cannot do it.
    fn begin() -> Option<Self> {
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut hidden = before.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden).ok()?;
        Some(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Asks a person, unless `--yes` has answered. Where nobody can be asked, nothing is done.
pub async fn confirm(arguments: &ArgMatches, question: &str) -> Result<(), Failed> {
    if arguments.get_flag("yes") {
        return Ok(());
    }
    if !is_interactive() {
        return Err(Failed::usage(
            "there is no terminal to ask on: add --yes if you mean it",
        ));
    }
    let answer = ask(&format!("{question} [y/N]")).await?;
    match answer.to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failed::Refused("nothing was done".to_owned())),
    }
}
