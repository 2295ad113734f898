//! `legwork completions`: what a shell needs to complete commands.

use clap::{Arg, ArgMatches, Command};
use clap_complete::{Shell, generate};

use super::failure::Failed;

pub fn command() -> Command {
    Command::new("completions")
        .about("Print a script that completes commands in your shell")
        .after_help(
            "Examples:\n  \
             legwork completions bash > ~/.local/share/bash-completion/completions/legwork\n  \
             legwork completions zsh > ~/.zfunc/_legwork\n  \
             legwork completions fish > ~/.config/fish/completions/legwork.fish",
        )
        .arg(
            Arg::new("shell")
                .required(true)
                .value_name("SHELL")
                .value_parser(["bash", "zsh", "fish"])
                .help("Your shell"),
        )
}

pub fn run(arguments: &ArgMatches) -> Result<(), Failed> {
    let shell = match arguments.get_one::<String>("shell").map(String::as_str) {
        Some("bash") => Shell::Bash,
        Some("zsh") => Shell::Zsh,
        _ => Shell::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut crate::cli::command(), "legwork", &mut script);
    crate::cli::print_line(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}
