//! `legwork mcp`: the tools for agents, on standard input and output.

use std::io::IsTerminal;
use std::sync::Arc;

use clap::{ArgMatches, Command};
use http::request::Parts;
use legwork_client::Client;

use crate::cli::remote::connection::{self, Connection, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::progress;
use crate::mcp::{Connect, Reach, Remote, serve_on_stdio};

pub fn command() -> Command {
    Command::new("mcp")
        .about("Serve the tools for agents (Model Context Protocol) on standard input and output")
        .after_help(
            "Example, for a client that starts programs:\n  \
             {\"mcpServers\": {\"legwork\": {\"command\": \"legwork\", \"args\": [\"mcp\"]}}}\n\n\
             It uses your profile. A server has the same tools at /mcp, for clients that call URLs.",
        )
        .args(connection::flags())
}

pub fn run(arguments: &ArgMatches) -> Result<(), Failed> {
    let connection = Connection::of(arguments)?;
    let is_test = connection.key.starts_with("svc_test_");
    let remote = One {
        client: connection.client()?,
        is_test,
    };
    if std::io::stdin().is_terminal() {
        progress(
            "A client starts this command and speaks to it here: see `legwork agent setup`. Ctrl-C ends it.",
        );
    }
    let serving = serve_on_stdio(Arc::new(remote));
    wait(async { serving.await.map_err(Failed::Refused) })
}

/// Always the same server and key.
struct One {
    client: Client,
    is_test: bool,
}

impl Connect for One {
    fn api(&self, _: Option<&Parts>) -> Option<Arc<dyn Reach>> {
        Some(Arc::new(Remote::new(self.client.clone(), self.is_test)))
    }
}
