//! Local mode: what a service allows that nobody but its developer reaches.

use std::net::SocketAddr;

use ipnet::IpNet;

use super::values::{is_loopback, networks};

/// On when the service listens on a loopback address, and no public URL says that others reach it
/// through a proxy. All that it allows is here, and docs/reference/settings.md lists the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalMode(bool);

impl LocalMode {
    pub(super) fn of(listen: SocketAddr, public_url: Option<&str>) -> Self {
        Self(listen.ip().is_loopback() && public_url.is_none_or(is_loopback))
    }

    pub fn is_on(self) -> bool {
        self.0
    }

    /// The first start on an empty database creates an account and prints its keys.
    pub fn creates_an_account(self) -> bool {
        self.0
    }

    /// `/metrics` is served on the main address, to everybody.
    pub fn serves_metrics(self) -> bool {
        self.0
    }

    /// Networks that webhooks and push messages may reach although they are not public.
    pub fn reachable(self) -> Vec<IpNet> {
        match self.0 {
            true => networks("127.0.0.0/8,::1/128").unwrap_or_default(),
            false => Vec::new(),
        }
    }

    /// A failed call to a private address is explained: refused, timed out, no TLS. Elsewhere that
    /// would tell a developer which ports of the operator's network are open.
    pub fn explains_failed_calls(self) -> bool {
        self.0
    }

    /// Pages of the sandbox need no banner: nobody takes them for real.
    pub fn hides_the_sandbox_banner(self) -> bool {
        self.0
    }
}
