//! An order at the certificate authority, by ACME (RFC 8555) with TLS-ALPN-01 (RFC 8737).

use std::path::Path;
use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeType, Error, Identifier, NewAccount,
    NewOrder, Order, OrderStatus, Problem, RetryPolicy,
};
use rcgen::{CertificateParams, CustomExtension, KeyPair};

use super::http::Http;

/// How long the authority may take to check all names, and then to issue.
const PATIENCE: RetryPolicy = RetryPolicy::new()
    .initial_delay(Duration::from_millis(500))
    .backoff(1.5)
    .timeout(Duration::from_secs(90));

const NO_ACCOUNT: &str = "urn:ietf:params:acme:error:accountDoesNotExist";

pub struct Authority {
    http: Http,
    directory: String,
}

/// Why an order failed, in the authority's words if it said something.
#[derive(Debug)]
pub struct OrderError {
    pub reason: String,
    /// The authority does not know our account.
    pub no_account: bool,
}

/// What the authority must be shown for a domain: a certificate and its key, as PEM.
pub struct Answer {
    pub domain: String,
    pub pem: String,
}

pub struct Issued {
    pub chain: String,
    pub private_key: String,
}

impl Authority {
    pub fn new(directory: &str, authorities: Option<&Path>) -> Result<Self, String> {
        Ok(Self {
            http: Http::new(authorities)?,
            directory: directory.to_owned(),
        })
    }

    pub fn asked_to_wait(&self) -> Option<Duration> {
        self.http.asked_to_wait()
    }

    /// A new account, and what to keep of it.
    pub async fn register(&self, email: &str) -> Result<(Account, String), OrderError> {
        let contact = contact(email);
        let new = NewAccount {
            contact: &contact.iter().map(String::as_str).collect::<Vec<_>>(),
            terms_of_service_agreed: true,
            only_return_existing: false,
        };
        let builder = Account::builder_with_http(Box::new(self.http.clone()));
        let made = builder.create(&new, self.directory.clone(), None).await;
        let (account, credentials) = made.map_err(at("it registered us"))?;
        let kept = serde_json::to_string(&credentials).map_err(|e| internal(e.to_string()))?;
        Ok((account, kept))
    }

    /// The account that was kept.
    pub async fn account(&self, kept: &str) -> Result<Account, OrderError> {
        let credentials: AccountCredentials =
            serde_json::from_str(kept).map_err(|_| internal("the account is damaged"))?;
        let builder = Account::builder_with_http(Box::new(self.http.clone()));
        let account = builder.from_credentials(credentials).await;
        account.map_err(at("we asked for its directory"))
    }

    pub async fn set_email(&self, account: &Account, email: &str) -> Result<(), OrderError> {
        let contact = contact(email);
        let contact: Vec<_> = contact.iter().map(String::as_str).collect();
        let changed = account.update_contacts(&contact).await;
        changed.map_err(at("we changed the e-mail address"))
    }

    /// Begins an order. The answers must be shown before `finish` is called. A domain that the
    /// authority has checked lately needs none.
    pub async fn begin(
        &self,
        account: &Account,
        domains: &[String],
    ) -> Result<(Order, Vec<Answer>), OrderError> {
        let identifiers: Vec<_> = domains.iter().cloned().map(Identifier::Dns).collect();
        let order = account.new_order(&NewOrder::new(&identifiers)).await;
        let mut order = order.map_err(at("we ordered"))?;
        let mut answers = Vec::new();
        let mut authorizations = order.authorizations();
        while let Some(authorization) = authorizations.next().await {
            let mut authorization = authorization.map_err(at("we ordered"))?;
            if authorization.status == AuthorizationStatus::Valid {
                continue;
            }
            let domain = authorization.identifier().to_string();
            let challenge = authorization.challenge(ChallengeType::TlsAlpn01);
            let challenge = challenge.ok_or_else(|| {
                internal(format!(
                    "the authority does not offer TLS-ALPN-01 for {domain}"
                ))
            })?;
            let digest = challenge.key_authorization().digest();
            let pem = answer(&domain, digest.as_ref()).map_err(|e| internal(e.to_string()))?;
            answers.push(Answer { domain, pem });
        }
        Ok((order, answers))
    }

    /// Lets the authority check the domains, and gets the certificate.
    pub async fn finish(&self, mut order: Order) -> Result<Issued, OrderError> {
        let checked = match ready(&mut order).await {
            Ok(()) => order.poll_ready(&PATIENCE).await,
            Err(error) => Err(error),
        };
        match checked {
            Ok(OrderStatus::Ready) => {}
            outcome => return Err(refusal(&mut order, outcome.err()).await),
        }
        let private_key = order
            .finalize()
            .await
            .map_err(at("we finalized the order"))?;
        let chain = order.poll_certificate(&PATIENCE).await;
        Ok(Issued {
            chain: chain.map_err(at("we fetched the certificate"))?,
            private_key,
        })
    }
}

/// Tells the authority that every answer is in place.
async fn ready(order: &mut Order) -> Result<(), Error> {
    let mut authorizations = order.authorizations();
    while let Some(authorization) = authorizations.next().await {
        let mut authorization = authorization?;
        if authorization.status == AuthorizationStatus::Valid {
            continue;
        }
        if let Some(mut challenge) = authorization.challenge(ChallengeType::TlsAlpn01) {
            challenge.set_ready().await?;
        }
    }
    Ok(())
}

/// What the authority says about each domain that it did not accept. The error of the order itself
/// often says less.
async fn refusal(order: &mut Order, error: Option<Error>) -> OrderError {
    let mut said = Vec::new();
    let mut authorizations = order.authorizations();
    while let Some(Ok(mut authorization)) = authorizations.next().await {
        let Ok(state) = authorization.refresh().await else {
            continue;
        };
        let problems = state.challenges.iter().filter_map(|c| c.error.as_ref());
        said.extend(problems.map(|problem| format!("{}: {}", state.identifier(), words(problem))));
    }
    match (said.as_slice(), error) {
        ([], Some(error)) => at("it checked the domains")(error),
        ([], None) => internal("the authority refused the order and did not say why"),
        (said, _) => internal(said.join("; ")),
    }
}

/// The certificate by which a domain proves that it is ours.
fn answer(domain: &str, digest: &[u8]) -> Result<String, rcgen::Error> {
    let mut params = CertificateParams::new([domain.to_owned()])?;
    params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(certificate.pem() + &key.serialize_pem())
}

fn contact(email: &str) -> Option<String> {
    (!email.is_empty()).then(|| format!("mailto:{email}"))
}

/// The error of a step: `when` completes "when ...".
fn at(when: &'static str) -> impl Fn(Error) -> OrderError {
    move |error| {
        let (reason, kind) = match &error {
            Error::Api(problem) => (words(problem), problem.r#type.as_deref()),
            error => (error.to_string(), None),
        };
        OrderError {
            no_account: kind == Some(NO_ACCOUNT),
            reason: format!("when {when}: {reason}"),
        }
    }
}

fn internal(reason: impl Into<String>) -> OrderError {
    OrderError {
        reason: reason.into(),
        no_account: false,
    }
}

fn words(problem: &Problem) -> String {
    let detail = problem.detail.as_deref().unwrap_or("no reason given");
    let kind = problem.r#type.as_deref().unwrap_or("about:blank");
    let parts = problem.subproblems.iter().map(|part| format!("; {part}"));
    format!("{detail} ({kind}){}", parts.collect::<String>())
}
