//! Limits for sign-in attempts. Only wrong passwords count.
//!
//! By account and address together, so that a stranger who knows an e-mail address cannot lock out
//! its owner. By address, so that one stranger cannot try many accounts. By account, so that many
//! strangers cannot try one; this limit spares addresses from which the account was made or signed in to
//! lately, since it could lock out the owner otherwise.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::client::{Applicant, ClientAddress, Network};
use super::limiter::{Key, Limiter, TooMany};
use crate::domain::PersonKind;

const WINDOW: Duration = Duration::from_secs(15 * 60);
const FOR_BOTH: u32 = 10;
const FOR_AN_ADDRESS: u32 = 100;
const FOR_AN_ACCOUNT: u32 = 100;
/// As long as a token is good: whoever is signed in is known.
const KNOWN_FOR: Duration = Duration::from_secs(30 * 24 * 60 * 60);
const MAX_KNOWN: usize = 50_000;

/// The hash of a kind of person and an e-mail address, whether or not there is such an account. A worker
/// and a developer with the same address have passwords of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Account(u64);

impl Key for Account {
    type Group = u64;

    fn group(&self) -> u64 {
        self.0
    }
}

type Pair = (Account, Network);

impl Key for Pair {
    type Group = <Network as Key>::Group;

    fn group(&self) -> Self::Group {
        self.1.group()
    }
}

pub struct SignInLimits {
    by_both: Limiter<Pair>,
    by_address: Limiter<Network>,
    by_account: Limiter<Account>,
    /// When an account was made or last signed in to from an address. It is kept in memory only: after a
    /// restart, everybody is a stranger until the next sign-in.
    known: Mutex<HashMap<Pair, Instant>>,
    hasher: RandomState,
}

impl Default for SignInLimits {
    fn default() -> Self {
        Self {
            by_both: Limiter::new(FOR_BOTH, WINDOW),
            by_address: Limiter::new(FOR_AN_ADDRESS, WINDOW),
            by_account: Limiter::new(FOR_AN_ACCOUNT, WINDOW),
            known: Mutex::default(),
            hasher: RandomState::new(),
        }
    }
}

/// An attempt that has been counted, since many may be under way at once.
#[derive(Clone, Copy, Debug)]
pub struct Attempt {
    account: Account,
    network: Network,
    by_stranger: bool,
}

impl Attempt {
    /// Whoever was signed in at this address before need not wait with strangers.
    pub fn applicant(&self) -> Applicant {
        Applicant {
            network: self.network,
            is_known: !self.by_stranger,
        }
    }
}

impl SignInLimits {
    /// Counts an attempt. What is counted does not depend on whether there is such an account.
    pub fn begin(
        &self,
        (kind, email): (PersonKind, &str),
        client: ClientAddress,
    ) -> Result<Attempt, TooMany> {
        let account = self.account(kind, email);
        let network = client.network();
        let now = Instant::now();
        let attempt = Attempt {
            account,
            network,
            by_stranger: !self.is_known((account, network), now),
        };
        self.by_both.count((account, network), now)?;
        if attempt.by_stranger
            && let Err(error) = self.count_stranger(attempt, now)
        {
            self.by_both.give_back((account, network), now);
            return Err(error);
        }
        Ok(attempt)
    }

    /// Who is known at an address is not kept out by others who share it.
    fn count_stranger(&self, attempt: Attempt, now: Instant) -> Result<(), TooMany> {
        self.by_address.count(attempt.network, now)?;
        let counted = self.by_account.count(attempt.account, now);
        if counted.is_err() {
            self.by_address.give_back(attempt.network, now);
        }
        counted
    }

    /// The password was right: the attempt does not count, and the address is known.
    pub fn succeeded(&self, attempt: Attempt) {
        self.give_back(attempt);
        self.know((attempt.account, attempt.network), Instant::now());
    }

    /// The account begins to exist, and whoever made it chose its password here. It cost them a hash, as a
    /// sign-in does. An address that is only claimed may be somebody else's: it is not known before it is confirmed.
    pub fn signed_up(&self, (kind, email): (PersonKind, &str), client: ClientAddress) {
        let account = self.account(kind, email);
        self.know((account, client.network()), Instant::now());
    }

    fn account(&self, kind: PersonKind, email: &str) -> Account {
        Account(self.hasher.hash_one((kind.as_str(), email)))
    }

    fn know(&self, pair: Pair, now: Instant) {
        let mut known = self.known();
        if known.len() >= MAX_KNOWN && !known.contains_key(&pair) {
            let oldest = known.iter().min_by_key(|(_, at)| **at);
            if let Some(oldest) = oldest.map(|(pair, _)| *pair) {
                known.remove(&oldest);
            }
        }
        known.insert(pair, now);
    }

    /// The password was not looked at, or was right.
    pub fn give_back(&self, attempt: Attempt) {
        let Attempt {
            account, network, ..
        } = attempt;
        let now = Instant::now();
        self.by_both.give_back((account, network), now);
        if attempt.by_stranger {
            self.by_address.give_back(network, now);
            self.by_account.give_back(account, now);
        }
    }

    /// Counts a sign-up.
    pub fn count_sign_up(&self, client: ClientAddress) -> Result<(), TooMany> {
        self.by_address.count(client.network(), Instant::now())
    }

    pub fn forget_idle(&self) {
        let now = Instant::now();
        self.by_both.forget_idle(now);
        self.by_address.forget_idle(now);
        self.by_account.forget_idle(now);
        self.known().retain(|_, at| is_recent(*at, now));
    }

    fn is_known(&self, pair: Pair, now: Instant) -> bool {
        self.known()
            .get(&pair)
            .is_some_and(|at| is_recent(*at, now))
    }

    fn known(&self) -> MutexGuard<'_, HashMap<Pair, Instant>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_recent(at: Instant, now: Instant) -> bool {
    now.saturating_duration_since(at) < KNOWN_FOR
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};

    const WORKER: PersonKind = PersonKind::Worker;

    fn client(number: u32) -> ClientAddress {
        ClientAddress::from(IpAddr::V4(Ipv4Addr::from_bits(0xc000_0200 + number)))
    }

    fn wrong_tries(limits: &SignInLimits, email: &str, from: u32) -> u32 {
        let tries = (0..1_000).take_while(|_| limits.begin((WORKER, email), client(from)).is_ok());
        tries.count() as u32
    }

    #[test]
    fn a_stranger_does_not_lock_the_owner_out() {
        let limits = SignInLimits::default();
        assert_eq!(wrong_tries(&limits, "grace", 1), FOR_BOTH);
        assert_eq!(wrong_tries(&limits, "ada", 1), FOR_BOTH);
        assert_eq!(wrong_tries(&limits, "grace", 2), FOR_BOTH);
    }

    #[test]
    fn many_strangers_share_the_tries_of_an_account_and_leave_its_owner_alone() {
        let limits = SignInLimits::default();
        let owner = limits.begin((WORKER, "grace"), client(0)).unwrap();
        limits.succeeded(owner);
        let tried: u32 = (1..100)
            .map(|from| wrong_tries(&limits, "grace", from))
            .sum();
        assert_eq!(tried, FOR_AN_ACCOUNT);
        assert_eq!(wrong_tries(&limits, "grace", 0), FOR_BOTH);
        assert_eq!(wrong_tries(&limits, "ada", 50), FOR_BOTH);
    }

    #[test]
    fn one_address_is_limited_for_all_accounts_together() {
        let limits = SignInLimits::default();
        for attempt in 0..FOR_AN_ADDRESS {
            assert!(
                limits
                    .begin((WORKER, &attempt.to_string()), client(1))
                    .is_ok()
            );
        }
        assert!(limits.begin((WORKER, "one more"), client(1)).is_err());
        assert!(limits.count_sign_up(client(1)).is_err());
        assert!(limits.begin((WORKER, "one more"), client(2)).is_ok());
    }

    #[test]
    fn who_shares_the_address_does_not_lock_the_owner_out() {
        let limits = SignInLimits::default();
        limits.succeeded(limits.begin((WORKER, "grace"), client(1)).unwrap());
        for attempt in 0..FOR_AN_ADDRESS {
            assert!(
                limits
                    .begin((WORKER, &attempt.to_string()), client(1))
                    .is_ok()
            );
        }
        assert!(limits.begin((WORKER, "ada"), client(1)).is_err());
        assert!(limits.begin((WORKER, "grace"), client(1)).is_ok());
    }

    #[test]
    fn who_has_just_signed_up_is_known_there_and_nowhere_else() {
        let limits = SignInLimits::default();
        limits.signed_up((WORKER, "grace"), client(1));
        let is_known = |who, from| {
            let attempt = limits.begin(who, client(from)).unwrap();
            attempt.applicant().is_known
        };
        assert!(is_known((WORKER, "grace"), 1));
        assert!(!is_known((WORKER, "grace"), 2));
        assert!(!is_known((WORKER, "ada"), 1));
        assert!(!is_known((PersonKind::Account, "grace"), 1));
    }

    #[test]
    fn a_right_password_uses_up_nothing() {
        let limits = SignInLimits::default();
        for _ in 0..1_000 {
            let attempt = limits.begin((WORKER, "grace"), client(1)).unwrap();
            limits.succeeded(attempt);
        }
        assert_eq!(wrong_tries(&limits, "grace", 1), FOR_BOTH);
        // What was refused used up nothing either.
        assert_eq!(wrong_tries(&limits, "ada", 1), FOR_BOTH);
    }

    #[test]
    fn a_worker_and_a_developer_with_one_address_are_two() {
        let limits = SignInLimits::default();
        assert_eq!(wrong_tries(&limits, "grace", 1), FOR_BOTH);
        let developer = (PersonKind::Account, "grace");
        assert!(limits.begin(developer, client(1)).is_ok());
    }
}
