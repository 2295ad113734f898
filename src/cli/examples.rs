//! An example for the help of each command that has none of its own.

use clap::Command;

/// The words of a command, and what somebody would type.
const EXAMPLES: &[(&str, &[&str])] = &[
    (
        "serve",
        &[
            "legwork serve",
            "legwork serve --listen 0.0.0.0:8443 --self-signed",
        ],
    ),
    (
        "tasks",
        &[
            "legwork tasks create -i",
            "legwork tasks list --status proof_submitted",
        ],
    ),
    ("proofs", &["legwork proofs list 01a1..."]),
    ("events", &["legwork events list"]),
    (
        "keys",
        &["legwork keys create --name 'Order service' --environment test"],
    ),
    ("mandate", &["legwork mandate show"]),
    ("approvals", &["legwork approvals list"]),
    ("logs", &["legwork logs tail --failed"]),
    ("agent", &["legwork agent setup cursor"]),
    (
        "signature",
        &["legwork signature sign --secret whsec_... body.json"],
    ),
    (
        "account",
        &["legwork account create --email ada@example.com --name Ada"],
    ),
    (
        "account create",
        &[
            "legwork account create --email ada@example.com --name Ada",
            "legwork account create --email ada@example.com --name Ada --tier pro --json",
        ],
    ),
    ("account list", &["legwork account list"]),
    (
        "account set-tier",
        &["legwork account set-tier ada@example.com --tier pro"],
    ),
    (
        "account create-key",
        &["legwork account create-key --email ada@example.com --environment test"],
    ),
    (
        "account invite",
        &["legwork account invite --email ada@example.com"],
    ),
    ("account sign-in-link", &["legwork account sign-in-link"]),
    (
        "account suspend",
        &["legwork account suspend ada@example.com"],
    ),
    (
        "account restore",
        &["legwork account restore ada@example.com"],
    ),
    (
        "account delete",
        &["legwork account delete ada@example.com"],
    ),
    ("worker", &["legwork worker list --status in_review"]),
    ("worker list", &["legwork worker list --status in_review"]),
    (
        "worker reset-link",
        &["legwork worker reset-link sam@example.com"],
    ),
    ("worker verify", &["legwork worker verify sam@example.com"]),
    ("worker refuse", &["legwork worker refuse sam@example.com"]),
    (
        "worker suspend",
        &["legwork worker suspend sam@example.com"],
    ),
    (
        "worker restore",
        &["legwork worker restore sam@example.com"],
    ),
    ("worker delete", &["legwork worker delete sam@example.com"]),
    (
        "admin",
        &["legwork admin create-key --name Grace --role operator"],
    ),
    (
        "admin create-key",
        &["legwork admin create-key --name Grace --role operator"],
    ),
    ("admin list-keys", &["legwork admin list-keys"]),
    ("admin revoke-key", &["legwork admin revoke-key 01a1..."]),
    ("audit", &["legwork audit verify"]),
    (
        "audit verify",
        &[
            "legwork audit verify",
            "legwork audit verify --expect 4711:9f2c...",
        ],
    ),
    ("ledger", &["legwork ledger verify"]),
    ("ledger verify", &["legwork ledger verify"]),
    ("ledger export", &["legwork ledger export > ledger.csv"]),
    (
        "report",
        &[
            "legwork report --month 2026-11",
            "legwork report --month 2026-11 --format csv > november.csv",
        ],
    ),
    ("job", &["legwork job list --dead"]),
    ("job list", &["legwork job list --dead"]),
    ("job retry", &["legwork job retry refund:01a1..."]),
    (
        "bundle",
        &["legwork bundle verify bundle.zip --keys legwork-keys.json"],
    ),
    (
        "bundle verify",
        &["legwork bundle verify bundle.zip --keys legwork-keys.json"],
    ),
    ("bundle keys", &["legwork bundle keys > legwork-keys.json"]),
    ("bundle rotate-key", &["legwork bundle rotate-key"]),
    (
        "second-factor",
        &["legwork second-factor reset --account ada@example.com"],
    ),
    (
        "second-factor reset",
        &[
            "legwork second-factor reset --account ada@example.com",
            "legwork second-factor reset --worker sam@example.com",
        ],
    ),
    ("secrets", &["legwork secrets rotate"]),
    (
        "secrets rotate",
        &[
            "legwork secrets rotate",
            "legwork secrets prune           removes the old key, a minute later",
        ],
    ),
    ("secrets prune", &["legwork secrets prune"]),
    ("secrets reset", &["legwork secrets reset --yes"]),
    ("sandbox", &["legwork sandbox down"]),
    ("sandbox up", &["legwork sandbox up"]),
    (
        "sandbox slow",
        &["legwork sandbox slow --milliseconds 5000"],
    ),
    ("sandbox down", &["legwork sandbox down"]),
    ("migrate", &["legwork migrate"]),
    ("backup", &["legwork backup legwork-2026-11-16.db"]),
    ("restore", &["legwork restore legwork-2026-11-16.db"]),
    (
        "move",
        &["legwork move --to postgres://legwork@db/legwork --files-to s3://legwork"],
    ),
    ("doctor", &["legwork doctor"]),
    ("openapi", &["legwork openapi > openapi.json"]),
];

pub fn added(command: Command) -> Command {
    EXAMPLES.iter().fold(command, |command, (words, lines)| {
        let words: Vec<_> = words.split(' ').collect();
        add(command, &words, lines)
    })
}

fn add(command: Command, words: &[&'static str], lines: &[&str]) -> Command {
    let Some((first, rest)) = words.split_first() else {
        let heading = if lines.len() > 1 {
            "Examples"
        } else {
            "Example"
        };
        return command.after_help(format!("{heading}:\n  {}", lines.join("\n  ")));
    };
    command.mut_subcommand(first, |inner| add(inner, rest, lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(command: &Command, path: &str, found: &mut Vec<(String, Command)>) {
        let path = format!("{path} {}", command.get_name());
        found.push((path.trim_start().to_owned(), command.clone()));
        for inner in command.get_subcommands() {
            all(inner, &path, found);
        }
    }

    /// The commands that an example shows, as a shell would split them. What is beside a command explains it.
    fn commands_in(text: &str) -> Vec<Vec<String>> {
        let parts: Vec<_> = text.split("\\\n").map(str::trim_start).collect();
        let text = parts.concat();
        let lines = text.lines().map(str::trim_start);
        let commands = lines.filter(|line| line.starts_with("legwork "));
        commands.map(words_of).collect()
    }

    fn words_of(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
        let mut spaces = 0;
        for c in line.chars().chain([' ']) {
            match c {
                '\'' => quoted = !quoted,
                '|' | '>' if !quoted => break,
                ' ' if !quoted => {
                    spaces += 1;
                    if !word.is_empty() {
                        words.push(std::mem::take(&mut word));
                    }
                    if spaces > 1 {
                        break;
                    }
                    continue;
                }
                c => word.push(c),
            }
            spaces = 0;
        }
        words
    }

    /// An example that the program itself does not take is worse than none.
    #[test]
    fn every_command_has_an_example_that_it_takes() {
        let mut found = Vec::new();
        all(&crate::cli::command(), "", &mut found);
        assert!(found.len() > 60, "{}", found.len());
        for (path, command) in found {
            let after = command.get_after_help().map(ToString::to_string);
            let after = after.unwrap_or_default();
            assert!(after.contains("Example"), "{path} has no example");
            let own = |words: &Vec<String>| words.join(" ").starts_with(&path);
            let examples = commands_in(&after);
            assert!(path == "legwork mcp" || examples.iter().any(own), "{path}");
            for words in examples {
                let taken = crate::cli::command().try_get_matches_from(&words);
                assert!(taken.is_ok(), "{path}: {words:?}: {}", taken.unwrap_err());
            }
        }
    }

    /// On a terminal of 80 columns. What is typed must not be broken into two lines.
    #[test]
    fn help_fits_a_terminal() {
        let mut found = Vec::new();
        all(&crate::cli::command(), "", &mut found);
        for (path, command) in found {
            let help = command.term_width(80).render_long_help().to_string();
            // Usage is the one line that is not wrapped.
            for line in help.lines().filter(|line| !line.starts_with("Usage:")) {
                assert!(line.chars().count() <= 80, "{path}: {line}");
            }
            let after = command_lines(&help);
            assert!(after, "{path} has a broken example:\n{help}");
        }
    }

    /// A line that goes on says so.
    fn command_lines(help: &str) -> bool {
        let lines: Vec<_> = help.lines().collect();
        let pairs = lines.windows(2);
        !pairs.into_iter().any(|pair| {
            let goes_on = pair[1].starts_with("    ") || pair[1].starts_with("--");
            pair[0].starts_with("  legwork ") && goes_on && !pair[0].ends_with('\\')
        })
    }
}
