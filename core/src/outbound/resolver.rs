//! Resolves host names.

use std::net::IpAddr;
use std::time::Duration;

use async_trait::async_trait;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;

#[async_trait]
pub trait Resolver: Send + Sync {
    /// All addresses of a name. The error is a reason that developers may see.
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String>;
}

/// Two tries must fit into the guard's lookup timeout. Otherwise a name server that ignores IPv6
/// queries would also cost us the IPv4 addresses.
const TRY_TIMEOUT: Duration = Duration::from_secs(2);
const TRIES_AFTER_THE_FIRST: usize = 1;
/// Concurrent queries on one connection. Users choose the names, so the library's default of 32
/// could fill up with slow ones.
const MAX_QUESTIONS: usize = 1_000;
/// How long a missing name is cached: a developer who has just added the record should not have to
/// wait.
const MAX_ABSENCE: Duration = Duration::from_secs(30);

/// Reads the hosts file, then asks the system's name servers. Uses no threads, so slow names do not
/// hold up others.
pub struct SystemResolver(TokioResolver);

impl SystemResolver {
    pub fn new() -> Result<Self, String> {
        let read = hickory_resolver::system_conf::read_system_conf();
        let (servers, options) = read.unwrap_or_else(|error| {
            tracing::warn!(%error, "no name servers configured; only names in the hosts file can be resolved");
            Default::default()
        });
        Self::asking(servers, options)
    }

    fn asking(servers: ResolverConfig, mut options: ResolverOpts) -> Result<Self, String> {
        options.timeout = TRY_TIMEOUT;
        options.attempts = TRIES_AFTER_THE_FIRST;
        options.max_active_requests = MAX_QUESTIONS;
        options.negative_max_ttl = Some(MAX_ABSENCE);
        TokioResolver::builder_with_config(servers, TokioRuntimeProvider::default())
            .with_options(options)
            .build()
            .map(Self)
            .map_err(|e| format!("the name resolver could not be created: {e}"))
    }
}

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        let mut name =
            Name::from_ascii(host).map_err(|_| "it is not a valid host name".to_owned())?;
        // Never in the system's search domains: a user's `wiki` is not our wiki.
        name.set_fqdn(true);
        match self.0.lookup_ip(name).await {
            Ok(found) => Ok(found.iter().collect()),
            Err(error) => Err(reason(&error).to_owned()),
        }
    }
}

/// The library's messages would name the name servers.
fn reason(error: &NetError) -> &'static str {
    if error.is_nx_domain() {
        return "the name does not exist";
    }
    if error.is_no_records_found() {
        return "it has no address";
    }
    tracing::debug!(%error, "name lookup failed");
    "the name servers did not answer"
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};
    use std::sync::{Arc, Mutex};

    use hickory_resolver::config::{ConnectionConfig, NameServerConfig};
    use hickory_resolver::proto::op::{Message, ResponseCode};
    use hickory_resolver::proto::rr::{RData, Record, RecordType};
    use tokio::net::UdpSocket;

    use super::*;
    use crate::outbound::guard::LOOKUP_TIMEOUT;

    /// A name server that knows `known.example` and the IPv4 address of `half.example`. It does not
    /// answer other queries for that name, or any for `silent.example`. All other names do not
    /// exist.
    async fn name_server() -> (SystemResolver, Arc<Mutex<Vec<String>>>) {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let mut connection = ConnectionConfig::udp();
        connection.port = socket.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = asked.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 1_500];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let question = Message::from_vec(&buffer[..length]).unwrap();
                let name = question.queries[0].name().to_string();
                notes.lock().unwrap().push(name.clone());
                if let Some(answer) = answer(question, &name) {
                    let answer = answer.to_vec().unwrap();
                    socket.send_to(&answer, from).await.unwrap();
                }
            }
        });
        let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let server = NameServerConfig::new(loopback, true, vec![connection]);
        let domain = Some(Name::from_ascii("corp.example.").unwrap());
        let search = vec![Name::from_ascii("lan.example.").unwrap()];
        let servers = ResolverConfig::from_parts(domain, search, vec![server]);
        let mut options = ResolverOpts::default();
        options.ndots = 5;
        (SystemResolver::asking(servers, options).unwrap(), asked)
    }

    fn answer(question: Message, name: &str) -> Option<Message> {
        let query = question.queries[0].clone();
        let mut answer = Message::response(question.id, question.op_code);
        let data = match (name, query.query_type()) {
            ("known.example." | "half.example.", RecordType::A) => {
                RData::A(Ipv4Addr::new(8, 8, 8, 8).into())
            }
            ("known.example.", RecordType::AAAA) => {
                RData::AAAA(Ipv6Addr::new(0x2606, 0, 0, 0, 0, 0, 0, 1).into())
            }
            ("half.example." | "silent.example.", _) => return None,
            _ => {
                answer.metadata.response_code = ResponseCode::NXDomain;
                answer.add_query(query);
                return Some(answer);
            }
        };
        answer.add_answer(Record::from_rdata(query.name().clone(), 60, data));
        answer.add_query(query);
        Some(answer)
    }

    #[tokio::test]
    async fn all_addresses_of_a_name_are_found() {
        let (resolver, _) = name_server().await;
        for name in ["known.example", "known.example."] {
            let mut found = resolver.resolve(name).await.unwrap();
            found.sort();
            let expected: [IpAddr; 2] = ["8.8.8.8", "2606::1"].map(|a| a.parse().unwrap());
            assert_eq!(found, expected, "{name}");
        }
    }

    #[tokio::test]
    async fn a_name_is_not_looked_for_in_the_domains_of_the_system() {
        let (resolver, asked) = name_server().await;
        let missing = resolver.resolve("wiki").await;
        assert_eq!(missing, Err("the name does not exist".to_owned()));
        let asked = asked.lock().unwrap();
        assert!(!asked.is_empty());
        assert!(asked.iter().all(|name| name == "wiki."), "{asked:?}");
    }

    #[tokio::test]
    async fn silence_ends_in_time_and_costs_only_what_was_not_said() {
        let (resolver, _) = name_server().await;
        let both = async {
            let half = resolver.resolve("half.example");
            tokio::join!(half, resolver.resolve("silent.example"))
        };
        let in_time = tokio::time::timeout(LOOKUP_TIMEOUT, both).await;
        let (half, silent) = in_time.expect("an answer in time");
        assert_eq!(half, Ok(vec![Ipv4Addr::new(8, 8, 8, 8).into()]));
        assert_eq!(silent, Err("the name servers did not answer".to_owned()));
    }

    #[tokio::test]
    async fn the_machine_itself_has_a_name() {
        let found = SystemResolver::new().unwrap().resolve("localhost").await;
        let found = found.unwrap();
        assert!(
            found.contains(&IpAddr::V4(Ipv4Addr::LOCALHOST)),
            "{found:?}"
        );
        assert!(found.iter().all(IpAddr::is_loopback), "{found:?}");
    }

    #[tokio::test]
    async fn without_name_servers_nothing_is_found_and_nothing_breaks() {
        let resolver = SystemResolver::asking(ResolverConfig::default(), ResolverOpts::default());
        let nothing = resolver.unwrap().resolve("known.example").await;
        assert_eq!(nothing, Err("the name servers did not answer".to_owned()));
    }
}
