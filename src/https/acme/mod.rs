//! Certificates from an authority that speaks ACME, shared by all servers on a database.
//!
//! One server orders: it claims the row. The answers to the authority's challenges are in the
//! database too, because the authority may reach any server. Every server reads what is new.

mod authority;
mod http;
mod schedule;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use authority::{Answer, Authority, Issued, OrderError};
use instant_acme::Account;
use tokio::time::{sleep, timeout};

use super::expiry::ExpiryWarning;
use super::pair::{self, Pair, PairError};
use super::{Certificates, Origin};
use crate::ambient::{self, Clock};
use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::settings::AcmeSettings;
use crate::shutdown::Shutdown;
use crate::store::{
    AcmeAccount, AcmeCertificate, AcmeChallenge, IssuedCertificate, Store, StoreError, Tx,
};

/// How long an order may take in all. Its claim lasts longer, so that two servers never order at the
/// same time.
const ORDER_LIMIT: Duration = Duration::from_secs(4 * 60);
const CLAIM: Duration = Duration::from_secs(5 * 60);
const RELEASE_LIMIT: Duration = Duration::from_secs(2);
/// What is kept of an authority's words.
const MAX_ERROR_CHARS: usize = 1_000;

pub struct Dependencies {
    pub store: Store,
    pub clock: Clock,
    pub settings: AcmeSettings,
    /// A PEM file with authorities to trust when we call the directory, beside the system's.
    pub authorities: Option<PathBuf>,
    /// How often to look for what other servers have stored.
    pub poll: Duration,
}

pub struct Acme {
    with: Dependencies,
    authority: Authority,
    certificates: Certificates,
    /// Names the row: another list of domains is another certificate.
    id: String,
    /// Names this server in a claim.
    claim: String,
    /// The revision of the row that `certificates` holds.
    revision: AtomicI64,
}

#[derive(Debug, thiserror::Error)]
pub enum AcmeError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("{0}")]
    Unusable(String),
}

/// What became of a chance to order.
#[derive(Debug, PartialEq, Eq)]
pub enum Ordered {
    /// Nothing is due, or another server is ordering.
    NotDue,
    Issued,
    /// The authority was not reached, or refused. The next order is not due before a while.
    Failed(String),
}

impl Acme {
    /// Loads what is stored. Does not call the authority.
    pub async fn open(mut with: Dependencies) -> Result<Self, AcmeError> {
        with.settings.domains.sort();
        with.settings.domains.dedup();
        let AcmeSettings {
            domains, directory, ..
        } = &with.settings;
        let authority = Authority::new(directory, with.authorities.as_deref());
        let acme = Self {
            authority: authority.map_err(AcmeError::Unusable)?,
            certificates: Certificates::none_yet(Origin::Authority),
            id: id(directory, domains),
            claim: hex(&ambient::random::<8>()),
            revision: AtomicI64::new(-1),
            with,
        };
        acme.add_row().await?;
        acme.refresh().await?;
        Ok(acme)
    }

    pub fn certificates(&self) -> Certificates {
        self.certificates.clone()
    }

    /// Follows the database and orders when it is time, until shutdown.
    pub async fn run(&self, shutdown: Shutdown) {
        tokio::join!(self.follow(&shutdown), self.order_when_due(&shutdown));
    }

    /// Serves what any server stores, until shutdown.
    pub async fn follow(&self, shutdown: &Shutdown) {
        let mut expiry = ExpiryWarning::default();
        let mut failing = false;
        loop {
            match self.refresh().await {
                Ok(()) => failing = false,
                Err(error) if !failing => {
                    failing = true;
                    tracing::warn!(%error, "cannot read certificates");
                }
                Err(_) => {}
            }
            expiry.warn(
                self.certificates.current().as_deref(),
                self.with.clock.now(),
            );
            tokio::select! {
                () = shutdown.started() => return,
                () = sleep(self.with.poll) => {}
            }
        }
    }

    async fn order_when_due(&self, shutdown: &Shutdown) {
        loop {
            tokio::select! {
                () = shutdown.started() => break,
                ordered = self.order_if_due() => {
                    if let Err(error) = ordered {
                        tracing::debug!(%error, "cannot order a certificate");
                    }
                }
            }
            tokio::select! {
                () = shutdown.started() => break,
                () = sleep(self.with.poll) => {}
            }
        }
        // An order that was cut short need not keep others from ordering.
        let (id, claim) = (self.id.clone(), self.claim.clone());
        let release = move |tx: &mut Tx<'_>| tx.release_acme_order(&id, &claim);
        let released: Result<Result<(), StoreError>, _> =
            timeout(RELEASE_LIMIT, self.with.store.write(release)).await;
        if !matches!(released, Ok(Ok(()))) {
            tracing::debug!("an order may stay claimed for {CLAIM:?}");
        }
    }

    /// Loads the stored certificate and challenges, if they have changed.
    pub async fn refresh(&self) -> Result<(), AcmeError> {
        let row = self.row().await?;
        let known = self.revision.load(Ordering::Relaxed);
        if row.is_none_or(|row| row.revision == known) {
            return Ok(());
        }
        let id = self.id.clone();
        let read = move |tx: &mut Tx<'_>| {
            let row = tx.acme_certificate(&id)?;
            Ok((row, tx.acme_private_key(&id)?, tx.acme_challenges(&id)?))
        };
        let stored: Result<_, StoreError> = self.with.store.snapshot(read).await;
        let (row, key, challenges) = stored?;
        let Some(row) = row else { return Ok(()) };
        self.serve_challenges(challenges)?;
        if let (Some(chain), Some(key)) = (&row.chain, &key) {
            self.serve(chain, key)?;
        }
        self.revision.store(row.revision, Ordering::Relaxed);
        Ok(())
    }

    async fn add_row(&self) -> Result<(), StoreError> {
        let (id, now) = (self.id.clone(), self.with.clock.now());
        let add = move |tx: &mut Tx<'_>| tx.add_acme_certificate(&id, now);
        self.with.store.write(add).await
    }

    async fn row(&self) -> Result<Option<AcmeCertificate>, StoreError> {
        let id = self.id.clone();
        let read = move |tx: &mut Tx<'_>| tx.acme_certificate(&id);
        self.with.store.read(read).await
    }

    fn serve(&self, chain: &str, key: &str) -> Result<(), AcmeError> {
        let pair = Pair::from_pem(chain.as_bytes(), key.as_bytes()).map_err(unusable)?;
        let old = self.certificates.current();
        if old.is_none_or(|old| old.fingerprint() != pair.fingerprint()) {
            let (names, until) = (pair.names.join(","), pair.not_after);
            tracing::info!(%names, %until, "a certificate of the authority is in use");
            self.certificates.put(pair);
        }
        Ok(())
    }

    fn serve_challenges(&self, stored: Vec<AcmeChallenge>) -> Result<(), AcmeError> {
        let shown = stored.into_iter().map(|AcmeChallenge { domain, answer }| {
            Ok((domain, pair::for_challenge(answer.as_bytes())?))
        });
        let shown: Result<HashMap<_, _>, PairError> = shown.collect();
        self.certificates.put_challenges(shown.map_err(unusable)?);
        Ok(())
    }

    /// Orders a certificate if it is time and no other server does.
    pub async fn order_if_due(&self) -> Result<Ordered, AcmeError> {
        let now = self.with.clock.now();
        let Some(row) = self.row().await? else {
            // Its key was lost, and the row was deleted with it.
            self.add_row().await?;
            return Ok(Ordered::NotDue);
        };
        let claimed = row.claimed_until.is_some_and(|until| until > now);
        if claimed || row.next_order_at > now || !self.claim(now).await? {
            return Ok(Ordered::NotDue);
        }
        let outcome = match timeout(ORDER_LIMIT, self.order()).await {
            Ok(outcome) => outcome,
            Err(_) => Err(format!("the order took longer than {ORDER_LIMIT:?}")),
        };
        match outcome {
            Ok(issued) => self.record(issued).await,
            Err(reason) => self.record_failure(row.failures + 1, reason).await,
        }
    }

    async fn claim(&self, now: Timestamp) -> Result<bool, StoreError> {
        let (id, claim) = (self.id.clone(), self.claim.clone());
        let claim = move |tx: &mut Tx<'_>| tx.claim_acme_order(&id, &claim, now, now.plus(CLAIM));
        self.with.store.write(claim).await
    }

    async fn order(&self) -> Result<IssuedCertificate, String> {
        let _ = self.authority.asked_to_wait();
        let issued = match self.order_once().await {
            // The authority has forgotten us: we register again.
            Err(error) if error.no_account => {
                self.forget_account().await.map_err(|e| e.to_string())?;
                self.order_once().await
            }
            outcome => outcome,
        };
        let Issued { chain, private_key } = issued.map_err(|error| error.reason)?;
        let pair = Pair::from_pem(chain.as_bytes(), private_key.as_bytes());
        let pair = pair.map_err(|error| format!("what it issued cannot be used: {error}"))?;
        if let Some(domain) = self.with.settings.domains.iter().find(|d| !pair.is_for(d)) {
            return Err(format!(
                "the certificate that it issued is not for {domain}"
            ));
        }
        let (now, random) = (self.with.clock.now(), random());
        Ok(IssuedCertificate {
            next_order_at: schedule::renewal(pair.not_before, pair.not_after, now, random),
            chain,
            private_key,
        })
    }

    async fn order_once(&self) -> Result<Issued, OrderError> {
        let account = self.account().await?;
        let domains = &self.with.settings.domains;
        let (order, answers) = self.authority.begin(&account, domains).await?;
        self.publish(answers).await?;
        self.authority.finish(order).await
    }

    /// Stores the answers, and waits until every server has had the time to read them.
    async fn publish(&self, answers: Vec<Answer>) -> Result<(), OrderError> {
        if answers.is_empty() {
            return Ok(());
        }
        let challenges = answers
            .into_iter()
            .map(|Answer { domain, pem }| AcmeChallenge {
                domain,
                answer: pem,
            });
        let challenges: Vec<_> = challenges.collect();
        let (id, claim) = (self.id.clone(), self.claim.clone());
        let put = move |tx: &mut Tx<'_>| tx.put_acme_challenges(&id, &claim, &challenges);
        let kept: Result<bool, StoreError> = self.with.store.write(put).await;
        if !kept.map_err(|e| here(e.to_string()))? {
            return Err(here("another server has claimed the order"));
        }
        self.refresh().await.map_err(|e| here(e.to_string()))?;
        sleep(self.with.poll * 2).await;
        Ok(())
    }

    /// Our account at the authority, registered if there is none.
    async fn account(&self) -> Result<Account, OrderError> {
        let AcmeSettings {
            directory, email, ..
        } = self.with.settings.clone();
        let read = move |tx: &mut Tx<'_>| tx.acme_account(&directory);
        let stored: Result<Option<AcmeAccount>, StoreError> = self.with.store.read(read).await;
        let Some(stored) = stored.map_err(|e| here(e.to_string()))? else {
            let (account, credentials) = self.authority.register(&email).await?;
            self.keep_account(credentials).await?;
            return Ok(account);
        };
        let account = self.authority.account(&stored.credentials).await?;
        if stored.email != email {
            self.authority.set_email(&account, &email).await?;
            self.keep_account(stored.credentials).await?;
        }
        Ok(account)
    }

    async fn keep_account(&self, credentials: String) -> Result<(), OrderError> {
        let AcmeSettings {
            directory, email, ..
        } = self.with.settings.clone();
        let account = AcmeAccount { email, credentials };
        let put = move |tx: &mut Tx<'_>| tx.put_acme_account(&directory, &account);
        let kept: Result<(), StoreError> = self.with.store.write(put).await;
        kept.map_err(|e| here(e.to_string()))
    }

    async fn forget_account(&self) -> Result<(), StoreError> {
        let directory = self.with.settings.directory.clone();
        let forget = move |tx: &mut Tx<'_>| tx.drop_acme_account(&directory);
        self.with.store.write(forget).await
    }

    async fn record(&self, issued: IssuedCertificate) -> Result<Ordered, AcmeError> {
        let (id, claim) = (self.id.clone(), self.claim.clone());
        let next = issued.next_order_at;
        let record = move |tx: &mut Tx<'_>| tx.acme_order_issued(&id, &claim, &issued);
        let kept: Result<bool, StoreError> = self.with.store.write(record).await;
        if !kept? {
            return Ok(Ordered::NotDue);
        }
        let domains = self.with.settings.domains.join(",");
        tracing::info!(%domains, renewal = %next, "the authority issued a certificate");
        self.refresh().await?;
        Ok(Ordered::Issued)
    }

    async fn record_failure(&self, failures: i64, reason: String) -> Result<Ordered, AcmeError> {
        let wait = schedule::retry(failures, self.authority.asked_to_wait(), random());
        let next = self.with.clock.now().plus(wait);
        let domains = self.with.settings.domains.join(",");
        tracing::warn!(%domains, next_try = %next, "no certificate from the authority: {reason}");
        let (id, claim) = (self.id.clone(), self.claim.clone());
        let error: String = reason.chars().take(MAX_ERROR_CHARS).collect();
        let record = move |tx: &mut Tx<'_>| tx.acme_order_failed(&id, &claim, next, &error);
        let kept: Result<bool, StoreError> = self.with.store.write(record).await;
        kept?;
        self.refresh().await?;
        Ok(Ordered::Failed(reason))
    }
}

/// The name of the row for these domains, in whatever order they are given.
pub fn id(directory: &str, domains: &[String]) -> String {
    let mut domains = domains.to_vec();
    domains.sort();
    domains.dedup();
    format!("{directory} {}", domains.join(","))
}

fn unusable(error: PairError) -> AcmeError {
    AcmeError::Unusable(error.to_string())
}

/// An error on our side.
fn here(reason: impl Into<String>) -> OrderError {
    OrderError {
        reason: reason.into(),
        no_account: false,
    }
}

fn random() -> u16 {
    u16::from_be_bytes(ambient::random())
}
