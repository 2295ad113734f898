//! `legwork logs tail`: what the account asks, as it asks.

use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{Client, LogFilter, LoggedRequest};

use crate::cli::print_item;
use crate::cli::remote::connection::{self, client, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{fitted, one_line, progress, terminal_width, wants_json};
use crate::cli::remote::tasks::limit;

/// The log is written about once a second.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// More than these between two looks are not shown: nobody reads so fast.
const MOST_AT_ONCE: usize = 1_000;

pub fn command() -> Command {
    Command::new("logs")
        .about("See what your account asks of the API")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("tail")
                .about("Show requests as they are made: time, status, duration, method, path")
                .after_help(
                    "Examples:\n  legwork logs tail\n  legwork logs tail --failed --no-follow --limit 100\n\n\
                     Bodies, queries and keys are not in it. Requests of the last 7 days are kept.",
                )
                .arg(
                    Arg::new("failed")
                        .long("failed")
                        .action(ArgAction::SetTrue)
                        .conflicts_with("key-id")
                        .help("Only those that were refused or failed"),
                )
                .arg(
                    Arg::new("key-id")
                        .long("key-id")
                        .value_name("ID")
                        .help("Only of this key"),
                )
                .arg(
                    Arg::new("no-follow")
                        .long("no-follow")
                        .action(ArgAction::SetTrue)
                        .help("Show what is there, and end"),
                )
                .arg(limit().help("How many of before to show"))
                .args(connection::flags()),
        )
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((_, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let client = client(arguments)?;
    let most = *arguments.get_one::<u32>("limit").unwrap_or(&20) as usize;
    wait(async {
        let mut last = show(&client, arguments, None, most).await?;
        if arguments.get_flag("no-follow") {
            return Ok(());
        }
        progress("Waiting for requests. Ctrl-C ends it.");
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            // What was noted while nothing was there yet is new, too.
            let after = last.clone().unwrap_or_default();
            let newest = show(&client, arguments, Some(&after), MOST_AT_ONCE).await?;
            last = newest.or(last);
        }
    })
}

/// Prints what is newer than a request, oldest first. Returns the newest that was read.
async fn show(
    client: &Client,
    arguments: &ArgMatches,
    after: Option<&str>,
    most: usize,
) -> Result<Option<String>, Failed> {
    let filter = LogFilter {
        failed: arguments.get_flag("failed").then_some(true),
        key_id: arguments.get_one::<String>("key-id").cloned(),
        limit: Some(most.min(100) as i64),
        cursor: None,
    };
    let mut pages = client.logs().list(&filter);
    let mut look = Look::default();
    for _ in 0..most {
        let Some(logged) = pages.next().await? else {
            break;
        };
        if !look.takes(logged, after) {
            break;
        }
    }
    for logged in look.shown.iter().rev() {
        match wants_json(arguments) {
            true => print_item(serde_json::to_string(logged).unwrap_or_default()),
            false => print_item(line(logged, terminal_width())),
        }
    }
    Ok(look.newest)
}

/// What one look at the log has found, newest first.
#[derive(Default)]
struct Look {
    /// Shown or not. The next look goes on from here: a look is logged, too, and would otherwise read all looks
    /// before it again, with more looks.
    newest: Option<String>,
    shown: Vec<LoggedRequest>,
}

impl Look {
    /// False if the look has come to what was read before.
    fn takes(&mut self, logged: LoggedRequest, after: Option<&str>) -> bool {
        if after.is_some_and(|after| logged.id.as_str() <= after) {
            return false;
        }
        self.newest.get_or_insert_with(|| logged.id.clone());
        // Its own looks are no news.
        if after.is_none() || logged.path != "/v1/logs" {
            self.shown.push(logged);
        }
        true
    }
}

/// The end of a path says more than its middle, and a code says why: the path gives way to both.
fn line(logged: &LoggedRequest, width: usize) -> String {
    let time = logged.created_at.get(11..19).unwrap_or_default();
    let milliseconds = logged.duration_us as f64 / 1_000.0;
    let (status, method) = (logged.status, &logged.method);
    let head = format!("{time}  {status}  {milliseconds:>8.1} ms  {method:<6} ");
    let code = match logged.code.as_deref() {
        Some(code) => format!("  {code}"),
        None => String::new(),
    };
    let left = width.saturating_sub(head.chars().count() + code.chars().count());
    one_line(&format!("{head}{}{code}", fitted(&logged.path, left)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "019a8574c1f07c2e9d1b3a5f60718293";

    fn logged(id: &str, method: &str, path: &str) -> LoggedRequest {
        LoggedRequest {
            id: id.to_owned(),
            created_at: "2026-11-15T09:30:00.123Z".to_owned(),
            method: method.to_owned(),
            path: path.to_owned(),
            status: 409,
            code: Some("INVALID_TASK_STATE".to_owned()),
            duration_us: 1_234,
            key_id: ID.to_owned(),
            request_id: ID.to_owned(),
        }
    }

    #[test]
    fn a_look_goes_on_from_the_newest_line_even_if_it_is_its_own() {
        let lines = [
            ("5", "/v1/logs"),
            ("4", "/v1/tasks"),
            ("3", "/v1/logs"),
            ("2", "/v1/logs"),
        ];
        let mut look = Look::default();
        for (id, path) in lines {
            let is_new = look.takes(logged(id, "GET", path), Some("2"));
            assert_eq!(is_new, id != "2", "{id}");
        }
        assert_eq!(look.newest.as_deref(), Some("5"));
        let shown: Vec<_> = look.shown.iter().map(|line| line.id.as_str()).collect();
        assert_eq!(shown, ["4"]);
    }

    #[test]
    fn a_line_fits_the_terminal() {
        let path = format!("/v1/tasks/{ID}/proofs/{ID}/approve");
        let mut logged = logged(ID, "POST", &path);
        let shown = line(&logged, 80);
        assert_eq!(
            shown,
            "09:30:00  409       1.2 ms  POST   /v1/tasks/01…8293/approve  INVALID_TASK_STATE"
        );
        assert_eq!(shown.chars().count(), 80);
        let whole = line(&logged, 200);
        assert!(whole.contains(&logged.path) && whole.ends_with("  INVALID_TASK_STATE"));
        (logged.path, logged.code) = ("/v1/tasks".to_owned(), None);
        assert_eq!(
            line(&logged, 80),
            "09:30:00  409       1.2 ms  POST   /v1/tasks"
        );
    }
}
