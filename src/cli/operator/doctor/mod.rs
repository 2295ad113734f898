//! `legwork doctor`: prints the configuration and checks that it works.

mod checks;
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use values::{database, values};

pub use values::place;

use crate::cli::serve::{file_limit, https};
use crate::cli::{make_data_folder, master_key, print_line};
use crate::settings::{Given, Origin, Settings, variable};
use crate::store::{Location, Store};

pub fn run(given: &Given, settings: &Settings) -> ExitCode {
    print_line("Settings");
    for (name, value) in values(settings) {
        let origin = given.origin(name);
        print_line(format_args!("  {:28} {value}  ({origin})", variable(name)));
    }
    print_line("Checks");
    let made = Missing::in_path_of(&settings.data);
    let mut checks = vec![
        check("data folder", data_folder(&settings.data)),
        check("address", address_is_free(settings)),
        check("database", database_works(&settings.database)),
        check("master key", master_key::check(settings)),
        check("files", checks::files(settings)),
        check("mail", checks::mail(settings)),
        check("payments", checks::payments(settings)),
        check("HTTPS", https::check(settings)),
        check("open files", enough_open_files(given, settings)),
    ];
    for (what, found) in checks::database_server(settings).into_iter().flatten() {
        checks.push(check(what, found));
    }
    if let Some(hint) = checks::proxies(settings) {
        print_line(format_args!("  hint {hint}."));
    }
    made.remove_again();
    match checks.iter().filter(|good| !**good).count() {
        0 => {
            print_line("Everything works.");
            ExitCode::SUCCESS
        }
        failed => {
            print_line(format_args!("Failed checks: {failed}"));
            ExitCode::FAILURE
        }
    }
}

fn check(what: &str, result: Result<String, String>) -> bool {
    let (mark, text) = match &result {
        Ok(text) => ("ok  ", text),
        Err(text) => ("FAIL", text),
    };
    print_line(format_args!("  {mark} {what}: {text}"));
    result.is_ok()
}

/// Folders that were not there before the checks, the innermost first. The checks create them to find out
/// whether the server can; they are the server's to create.
struct Missing(Vec<PathBuf>);

impl Missing {
    fn in_path_of(folder: &Path) -> Self {
        let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
        let missing = folder.ancestors().take_while(missing);
        Self(missing.map(Path::to_owned).collect())
    }

    fn remove_again(self) {
        if let Some(data) = self.0.first() {
            remove_empty(data);
        }
        for folder in &self.0 {
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Removes empty folders below a folder. What has a file in it stays.
fn remove_empty(folder: &Path) {
    let inner = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in inner {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}

fn data_folder(folder: &Path) -> Result<String, String> {
    make_data_folder(folder).map_err(|failure| failure.0)?;
    let probe = folder.join(".doctor");
    std::fs::write(&probe, b"x")
        .and_then(|()| std::fs::remove_file(&probe))
        .map_err(|error| format!("{} is not writable: {error}", folder.display()))?;
    Ok(format!("{} is writable", folder.display()))
}

fn address_is_free(settings: &Settings) -> Result<String, String> {
    let address = settings.listen;
    match std::net::TcpListener::bind(address) {
        Ok(_) => Ok(format!("{address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => {
            Ok(format!("{address} is in use; is legwork already running?"))
        }
        Err(error) => Err(format!("cannot listen on {address}: {error}")),
    }
}

fn database_works(location: &Location) -> Result<String, String> {
    let name = database(location);
    match Store::lacking_migrations(location) {
        Ok(0) => Ok(format!("{name} is reachable and up to date")),
        Ok(steps) => Ok(format!(
            "{name} is reachable; the next start will apply {steps} migrations"
        )),
        Err(error) => Err(error.to_string()),
    }
}

/// With fewer files than connections the server still starts, and accepts fewer. That is a fault only
/// if somebody asked for more.
fn enough_open_files(given: &Given, settings: &Settings) -> Result<String, String> {
    let limit = file_limit::raise_limit();
    let wanted = settings.edge.max_connections;
    let needed = file_limit::needed(wanted);
    if limit >= needed {
        return Ok(format!(
            "up to {limit}, enough for {wanted} connections (LEGWORK_MAX_CONNECTIONS)"
        ));
    }
    let possible = file_limit::connections_within(limit, wanted);
    let text = format!(
        "up to {limit}, enough for {possible} connections, not for {wanted} \
         (LEGWORK_MAX_CONNECTIONS); set LimitNOFILE of the service to {needed} or more"
    );
    match given.origin("max_connections") {
        Origin::Default => Ok(text),
        _ => Err(text),
    }
}
