//! `legwork agent setup`: tells the programs that agents run in of `legwork mcp`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};

use super::clients::{AgentClient, CLIENTS};
use crate::cli::remote::asking::confirm;
use crate::cli::remote::connection::{self, Connection, given, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::{print_line, tell};

/// No list of servers is larger.
const LARGEST_FILE: u64 = 1 << 20;
const NAME: &str = "legwork";

pub fn command() -> Command {
    let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
    Command::new("agent")
        .about("Let an agent use Legwork")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("setup")
                .about("Add the tools of `legwork mcp` to the programs that your agents run in")
                .after_help(
                    "Examples:\n  legwork agent setup cursor       shows what would change, and asks\n  \
                     legwork agent setup              every program that is found\n  \
                     legwork agent setup vscode --key svc_test_... --yes\n\n\
                     It uses your profile, so no key is written unless you give one, with --key or LEGWORK_KEY. Agents spend money only with --live.",
                )
                .arg(
                    Arg::new("client")
                        .value_name("CLIENT")
                        .value_parser(names)
                        .help("The program"),
                )
                .arg(
                    Arg::new("yes")
                        .long("yes")
                        .action(ArgAction::SetTrue)
                        .help("Do not ask"),
                )
                .args(connection::flags()),
        )
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((_, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let entry = entry(arguments)?;
    let home = home()?;
    let chosen = chosen(arguments, &home)?;
    let mut failed = Vec::new();
    for client in &chosen {
        match set_up(arguments, client, &client.path(&home), &entry) {
            Ok(()) => {}
            // What was typed is as wrong for the others.
            Err(error) if chosen.len() == 1 || matches!(error, Failed::Usage(_)) => {
                return Err(error);
            }
            Err(error) => {
                tell(format_args!("legwork: {}: {error}", client.title));
                failed.push(client.title);
            }
        }
    }
    match failed.is_empty() {
        true => Ok(()),
        false => Err(Failed::Refused(format!(
            "not set up: {}",
            failed.join(", ")
        ))),
    }
}

/// The program that is named, or all that are found.
fn chosen(arguments: &ArgMatches, home: &Path) -> Result<Vec<&'static AgentClient>, Failed> {
    let named = arguments.get_one::<String>("client");
    if let Some(client) = named.and_then(|name| AgentClient::named(name)) {
        return Ok(vec![client]);
    }
    let found = CLIENTS.iter().filter(|client| client.is_here(home));
    let found: Vec<_> = found.collect();
    if found.is_empty() {
        let names: Vec<_> = CLIENTS.iter().map(|client| client.name).collect();
        return Err(Failed::usage(format!(
            "no program for agents is found here: name one of {}",
            names.join(", ")
        )));
    }
    Ok(found)
}

/// How the program starts `legwork mcp`. A key is in it only if it was given here, by a flag or by the environment: the
/// program has another environment, and would act for another account.
fn entry(arguments: &ArgMatches) -> Result<Value, Failed> {
    let Connection { server, key } = Connection::of(arguments)?;
    let program = std::env::current_exe()?;
    let mut words = vec!["mcp".to_owned()];
    if let Some(profile) = arguments.get_one::<String>("profile") {
        words.extend(["--profile".to_owned(), profile.clone()]);
    }
    if arguments.get_flag("live") {
        words.push("--live".to_owned());
    }
    let mut entry = json!({"command": program, "args": words});
    if given(arguments, "key", "LEGWORK_KEY").is_some() {
        entry["env"] = json!({"LEGWORK_SERVER": server, "LEGWORK_KEY": key});
    } else if given(arguments, "server", "LEGWORK_SERVER").is_some() {
        entry["env"] = json!({"LEGWORK_SERVER": server});
    }
    Ok(entry)
}

fn home() -> Result<PathBuf, Failed> {
    let named = ["HOME", "USERPROFILE"]
        .into_iter()
        .find_map(std::env::var_os);
    named
        .map(PathBuf::from)
        .ok_or_else(|| Failed::usage("HOME is not set, so the programs' folders are not known"))
}

fn set_up(
    arguments: &ArgMatches,
    client: &AgentClient,
    path: &Path,
    entry: &Value,
) -> Result<(), Failed> {
    let mut entry = entry.clone();
    if client.field == "servers" {
        entry["type"] = json!("stdio");
    }
    let (before, mut settings) = read(path, client, &entry)?;
    let servers = settings
        .entry(client.field)
        .or_insert_with(|| Value::Object(Map::new()));
    let Some(servers) = servers.as_object_mut() else {
        return Err(not_ours(
            path,
            client,
            &entry,
            "has no list of servers where one belongs",
        ));
    };
    if servers.get(NAME) == Some(&entry) {
        print_line(format!(
            "{}: nothing to change in {}.",
            client.title,
            path.display()
        ));
        return Ok(());
    }
    let holds_key = entry["env"].get("LEGWORK_KEY").is_some();
    servers.insert(NAME.to_owned(), entry);
    let after = format!("{:#}\n", Value::Object(settings));
    print_line(format!("{}: {}", client.title, path.display()));
    for line in difference(&before, &after) {
        print_line(line);
    }
    if holds_key && client.of_project {
        warn_of_key(path);
    }
    let question = format!("Change {}?", path.display());
    wait(confirm(arguments, &question))?;
    write(path, &after)?;
    print_line(format!(
        "{} knows Legwork now. Start it anew.",
        client.title
    ));
    Ok(())
}

fn warn_of_key(path: &Path) {
    tell(format_args!(
        "{} is a file of the project, and git would take it with the key. Keep it out with .gitignore, or run \
         `legwork login` and leave out the key.",
        path.display()
    ));
}

fn read(
    path: &Path,
    client: &AgentClient,
    entry: &Value,
) -> Result<(String, Map<String, Value>), Failed> {
    match std::fs::metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Ok((String::new(), Map::new()));
        }
        Err(error) => return Err(Failed::Refused(format!("{}: {error}", path.display()))),
        Ok(file) if file.len() > LARGEST_FILE => {
            return Err(not_ours(path, client, entry, "is too large"));
        }
        Ok(_) => {}
    }
    let text = std::fs::read_to_string(path)?;
    if text.trim().is_empty() {
        return Ok((text, Map::new()));
    }
    match serde_json::from_str(&text) {
        Ok(Value::Object(settings)) => Ok((text, settings)),
        // Comments would be lost.
        _ => Err(not_ours(path, client, entry, "is not plain JSON")),
    }
}

/// What to add by hand. A key does not belong in a message, which may be logged: whoever gave it has it.
fn not_ours(path: &Path, client: &AgentClient, entry: &Value, why: &str) -> Failed {
    let mut entry = entry.clone();
    if let Some(key) = entry.pointer_mut("/env/LEGWORK_KEY") {
        *key = json!("YOUR KEY");
    }
    Failed::Refused(format!(
        "{} {why}, so it was left as it is. Add this to \"{}\" yourself: \"{NAME}\": {entry}",
        path.display(),
        client.field
    ))
}

/// Whole or not at all. It may hold a key, so only its owner can read it.
fn write(path: &Path, text: &str) -> Result<(), Failed> {
    // A link stays a link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let new = folder.join(format!(".legwork-{}.new", std::process::id()));
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&new, &path));
    if written.is_err() {
        let _ = std::fs::remove_file(&new);
    }
    Ok(written?)
}

/// The lines that go and come, with what stands around them.
fn difference(before: &str, after: &str) -> Vec<String> {
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let same_start = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - same_start;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_end = ends.take(rest).take_while(|(a, b)| a == b).count();
    let show = |mark: char, lines: &[&str]| -> Vec<String> {
        lines.iter().map(|line| format!("{mark} {line}")).collect()
    };
    let around = 2;
    let mut shown = show(' ', &old[same_start.saturating_sub(around)..same_start]);
    shown.extend(show('-', &old[same_start..old.len() - same_end]));
    shown.extend(show('+', &new[same_start..new.len() - same_end]));
    let end = new.len() - same_end;
    shown.extend(show(' ', &new[end..new.len().min(end + around)]));
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown() {
        let before = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}\n";
        let after = "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4\n}\n";
        assert_eq!(
            difference(before, after),
            [
                "    \"a\": 1,",
                "    \"b\": 2,",
                "-   \"c\": 3",
                "+   \"c\": 3,",
                "+   \"d\": 4",
                "  }"
            ]
        );
        assert_eq!(difference("", "{}\n"), ["+ {}"]);
        assert!(difference(before, before).len() <= 4);
    }
}
