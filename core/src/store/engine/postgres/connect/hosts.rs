//! The servers that a URL names, each as a configuration of its own, so that each gets its own time.

use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host as Name, LoadBalanceHosts, TargetSessionAttrs};

use crate::ambient;

/// The operating system gives up a connection on which nothing is acknowledged for this long.
const UNACKNOWLEDGED: Duration = Duration::from_secs(10);
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(3);
const KEEPALIVE_RETRIES: u32 = 3;

#[derive(Clone)]
pub struct Host {
    /// Its place in the URL.
    pub index: usize,
    pub config: Config,
    /// What to look up before connecting. One name may stand for several addresses.
    name: Option<(String, u16)>,
}

impl Host {
    /// Every server of the URL, in its order.
    pub fn all(url: &Config) -> Vec<Self> {
        let (names, addresses) = (url.get_hosts(), url.get_hostaddrs());
        let count = names.len().max(addresses.len());
        if count == 0 {
            // Connecting fails with the reason.
            let (index, config, name) = (0, url.clone(), None);
            return vec![Self {
                index,
                config,
                name,
            }];
        }
        let one = |index| Self::one(url, index, count > 1);
        let mut hosts: Vec<_> = (0..count).map(one).collect();
        if url.get_load_balance_hosts() == LoadBalanceHosts::Random {
            let start = usize::from(u16::from_le_bytes(ambient::random()));
            hosts.rotate_left(start % count);
        }
        hosts
    }

    fn one(url: &Config, index: usize, several: bool) -> Self {
        let mut config = without_hosts(url);
        let ports = url.get_ports();
        let port = ports.get(index).or(ports.first()).copied().unwrap_or(5432);
        config.port(port);
        // A standby among several servers is of no use: every thread must be able to write.
        if several && url.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        let address = url.get_hostaddrs().get(index);
        let mut name = None;
        match url.get_hosts().get(index) {
            Some(Name::Tcp(host)) => {
                config.host(host);
                name = address.is_none().then(|| (host.clone(), port));
            }
            Some(Name::Unix(folder)) => {
                config.host_path(folder);
            }
            None => {}
        }
        if let Some(address) = address {
            config.hostaddr(*address);
        }
        Self {
            index,
            config,
            name,
        }
    }

    /// The host once for each of its addresses.
    pub async fn addresses(&self) -> Result<Vec<Self>, std::io::Error> {
        let Some((name, port)) = &self.name else {
            return Ok(vec![self.clone()]);
        };
        let found = tokio::net::lookup_host((name.as_str(), *port)).await?;
        let at = |address: std::net::SocketAddr| {
            let mut host = self.clone();
            host.config.hostaddr(address.ip());
            host
        };
        Ok(found.map(at).collect())
    }

    /// Whether whoever answers there is on this machine: the server, or what leads to it.
    pub fn is_here(&self) -> bool {
        match self.config.get_hostaddrs().first() {
            Some(address) => address.is_loopback(),
            None => matches!(self.config.get_hosts().first(), Some(Name::Unix(_))),
        }
    }

    /// As operators know it.
    pub fn label(&self) -> String {
        match self.config.get_hosts().first() {
            Some(Name::Tcp(name)) => name.clone(),
            Some(Name::Unix(folder)) => folder.display().to_string(),
            None => "no host".to_owned(),
        }
    }
}

fn without_hosts(url: &Config) -> Config {
    let mut config = Config::new();
    if let Some(user) = url.get_user() {
        config.user(user);
    }
    if let Some(password) = url.get_password() {
        config.password(password);
    }
    if let Some(name) = url.get_dbname() {
        config.dbname(name);
    }
    if let Some(options) = url.get_options() {
        config.options(options);
    }
    config.application_name(url.get_application_name().unwrap_or("legwork"));
    config.ssl_mode(url.get_ssl_mode());
    config.ssl_negotiation(url.get_ssl_negotiation());
    config.channel_binding(url.get_channel_binding());
    config.target_session_attrs(url.get_target_session_attrs());
    if let Some(limit) = url.get_connect_timeout() {
        config.connect_timeout(*limit);
    }
    keep_alive(&mut config, url);
    config
}

/// What the URL does not say, we choose: a peer that vanishes is noticed in seconds, not hours.
fn keep_alive(config: &mut Config, url: &Config) {
    let unset = Config::new();
    config.tcp_user_timeout(
        url.get_tcp_user_timeout()
            .copied()
            .unwrap_or(UNACKNOWLEDGED),
    );
    config.keepalives(url.get_keepalives());
    config.keepalives_idle(match url.get_keepalives_idle() {
        idle if idle == unset.get_keepalives_idle() => KEEPALIVE_IDLE,
        idle => idle,
    });
    config.keepalives_interval(url.get_keepalives_interval().unwrap_or(KEEPALIVE_INTERVAL));
    config.keepalives_retries(url.get_keepalives_retries().unwrap_or(KEEPALIVE_RETRIES));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(url: &str) -> Vec<Host> {
        Host::all(&url.parse().unwrap())
    }

    #[test]
    fn each_host_gets_its_own_port_and_everything_else() {
        let hosts = hosts("postgres://me:secret@a:1,b:2/legwork?application_name=mine");
        assert_eq!(hosts.len(), 2);
        for (host, (name, port)) in hosts.iter().zip([("a", 1), ("b", 2)]) {
            assert_eq!(host.label(), name);
            assert_eq!(host.config.get_ports(), [port]);
            assert_eq!(host.config.get_user(), Some("me"));
            assert_eq!(host.config.get_password(), Some(b"secret".as_slice()));
            assert_eq!(host.config.get_dbname(), Some("legwork"));
            assert_eq!(host.config.get_application_name(), Some("mine"));
        }
    }

    #[test]
    fn several_hosts_are_asked_for_the_one_that_takes_writes() {
        let attributes = |url: &str| hosts(url)[0].config.get_target_session_attrs();
        assert_eq!(attributes("postgres://a/x"), TargetSessionAttrs::Any);
        assert_eq!(
            attributes("postgres://a,b/x"),
            TargetSessionAttrs::ReadWrite
        );
    }

    #[test]
    fn what_the_url_leaves_out_is_chosen() {
        let host = &hosts("postgres://a/x")[0].config;
        assert_eq!(host.get_application_name(), Some("legwork"));
        assert_eq!(host.get_keepalives_idle(), KEEPALIVE_IDLE);
        assert_eq!(host.get_tcp_user_timeout(), Some(&UNACKNOWLEDGED));
        let host = &hosts("postgres://a/x?keepalives_idle=77&tcp_user_timeout=88")[0].config;
        assert_eq!(host.get_keepalives_idle(), Duration::from_secs(77));
        assert_eq!(host.get_tcp_user_timeout(), Some(&Duration::from_secs(88)));
    }

    #[tokio::test]
    async fn a_name_is_tried_at_each_of_its_addresses() {
        let found = hosts("postgres://127.0.0.1/x")[0]
            .addresses()
            .await
            .unwrap();
        assert_eq!(found[0].config.get_hostaddrs().len(), 1);
        assert!(found[0].is_here());
        let socket = hosts("postgres://%2Frun/x")[0].addresses().await.unwrap();
        assert!(socket[0].config.get_hostaddrs().is_empty());
        assert!(socket[0].is_here());
        let elsewhere = hosts("postgres://192.0.2.1/x")[0].addresses().await;
        assert!(!elsewhere.unwrap()[0].is_here());
    }
}
