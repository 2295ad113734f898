//! Resolves names, once for each connection, and refuses addresses that may not be called. The
//! addresses that were checked are the ones that are connected to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::dns::Name;
use ipnet::IpNet;
use tower_service::Service;

use super::addresses::may_be_called;
use super::{EndpointUrl, OutboundError, Resolver};

pub const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// A name with a thousand addresses must not cause a thousand connection attempts.
const MAX_TRIED: usize = 8;

#[derive(Clone)]
pub struct Guard {
    resolver: Arc<dyn Resolver>,
    allowed: Arc<[IpNet]>,
    patience: Duration,
}

impl Guard {
    pub fn new(resolver: Arc<dyn Resolver>, allowed: &[IpNet]) -> Self {
        Self {
            resolver,
            allowed: allowed.into(),
            patience: LOOKUP_TIMEOUT,
        }
    }

    /// Checks a host that is an address. A name is checked when it is resolved.
    pub fn judge_address(&self, url: &EndpointUrl) -> Result<(), OutboundError> {
        match url.address() {
            Some(address) => self.judge(url.host(), &[address]),
            None => Ok(()),
        }
    }

    /// The addresses to try. If one of them may not be called, none is tried: a name that mixes
    /// them is suspicious.
    pub async fn addresses(&self, host: &str) -> Result<Vec<IpAddr>, OutboundError> {
        let lookup = tokio::time::timeout(self.patience, self.resolver.resolve(host)).await;
        let slow = |_| Err("the name servers did not answer in time".to_owned());
        let mut found = lookup
            .unwrap_or_else(slow)
            .map_err(OutboundError::Unresolved)?;
        if found.is_empty() {
            return Err(OutboundError::Unresolved("it has no address".to_owned()));
        }
        self.judge(host, &found)?;
        found.truncate(MAX_TRIED);
        Ok(found)
    }

    /// Names the host but not the address: the name may be from a zone that only we can see.
    fn judge(&self, host: &str, addresses: &[IpAddr]) -> Result<(), OutboundError> {
        let fine = |address: &IpAddr| may_be_called(*address, &self.allowed);
        if addresses.iter().all(fine) {
            Ok(())
        } else {
            Err(OutboundError::Forbidden(host.to_owned()))
        }
    }
}

/// The HTTP client calls this for each new connection.
impl Service<Name> for Guard {
    type Response = std::vec::IntoIter<SocketAddr>;
    type Error = OutboundError;
    type Future = BoxFuture<'static, Result<Self::Response, OutboundError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), OutboundError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, name: Name) -> Self::Future {
        let guard = self.clone();
        Box::pin(async move {
            let found = guard.addresses(name.as_str()).await?;
            // Port 0 stands for the port of the URL.
            let addresses = found.into_iter().map(|address| SocketAddr::new(address, 0));
            Ok(addresses.collect::<Vec<_>>().into_iter())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the same result for every name.
    struct Always(Result<Vec<IpAddr>, String>);

    #[async_trait::async_trait]
    impl Resolver for Always {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
            self.0.clone()
        }
    }

    struct Never;

    #[async_trait::async_trait]
    impl Resolver for Never {
        async fn resolve(&self, _: &str) -> Result<Vec<IpAddr>, String> {
            std::future::pending().await
        }
    }

    fn guard(addresses: &[&str]) -> Guard {
        let addresses = addresses.iter().map(|address| address.parse().unwrap());
        Guard::new(Arc::new(Always(Ok(addresses.collect()))), &[])
    }

    #[tokio::test]
    async fn one_bad_address_refuses_the_name() {
        for addresses in [
            &["10.0.0.1"][..],
            &["8.8.8.8", "10.0.0.1"],
            &["10.0.0.1", "8.8.8.8"],
            &["2606:4700::1111", "8.8.8.8", "::1"],
            &["8.8.8.8", "::ffff:127.0.0.1"],
        ] {
            let judged = guard(addresses).addresses("hooks.example").await;
            let refused = OutboundError::Forbidden("hooks.example".to_owned());
            assert_eq!(judged, Err(refused), "{addresses:?}");
        }
    }

    #[tokio::test]
    async fn all_addresses_are_judged_and_few_are_tried() {
        let many = vec!["8.8.8.8"; 100];
        let found = guard(&many).addresses("hooks.example").await.unwrap();
        assert_eq!(found.len(), MAX_TRIED);
        let mut last_is_bad = many;
        last_is_bad.push("10.0.0.1");
        let judged = guard(&last_is_bad).addresses("hooks.example").await;
        assert!(
            matches!(judged, Err(OutboundError::Forbidden(_))),
            "{judged:?}"
        );
    }

    #[tokio::test]
    async fn a_name_without_addresses_is_unresolved() {
        let found = guard(&[]).addresses("hooks.example").await;
        assert_eq!(
            found,
            Err(OutboundError::Unresolved("it has no address".to_owned()))
        );
    }

    #[tokio::test]
    async fn a_lookup_ends() {
        let mut guard = Guard::new(Arc::new(Never), &[]);
        assert_eq!(guard.patience, Duration::from_secs(5));
        guard.patience = Duration::from_millis(1);
        let found = guard.addresses("hooks.example").await;
        assert!(
            matches!(found, Err(OutboundError::Unresolved(_))),
            "{found:?}"
        );
    }

    #[test]
    fn a_host_that_is_an_address_is_judged_without_a_resolver() {
        for (url, refused) in [
            ("https://0x7f.1/", true),
            ("https://[::ffff:10.0.0.1]/", true),
            ("https://[fe80::1]/", true),
            ("https://8.8.8.8/", false),
            ("https://[2606:4700::1111]/", false),
            ("https://localhost/", false),
        ] {
            let guard = Guard::new(Arc::new(Never), &[]);
            let judged = guard.judge_address(&EndpointUrl::RULE.check(url).unwrap());
            assert_eq!(judged.is_err(), refused, "{url}");
        }
    }
}
