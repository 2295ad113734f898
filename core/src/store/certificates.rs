//! Certificates from an authority: the account, the certificate, and the challenges while it is
//! ordered.

use crate::domain::Timestamp;
use crate::store::secrets::SecretPlace;
use crate::store::{StoreError, Tx, columns};

columns! {
    macro account;
    columns { email, credentials }
    row AcmeAccount = AcmeAccount { email, credentials };
}

columns! {
    macro certificate;
    columns { chain, revision, claimed_until, next_order_at, failures, last_error }
    row AcmeCertificate = AcmeCertificate {
        chain,
        revision,
        claimed_until,
        next_order_at,
        failures,
        last_error,
    };
}

columns! {
    macro challenge;
    columns { domain, answer }
    row AcmeChallenge = AcmeChallenge { domain, answer };
}

crate::store::statements! {
    ACCOUNT = concat!("SELECT ", account!(columns), " FROM acme_accounts WHERE directory = ?1");
    PUT_ACCOUNT = "INSERT INTO acme_accounts (directory, email, credentials) VALUES (?1, ?2, ?3)
        ON CONFLICT (directory) DO UPDATE
        SET email = excluded.email, credentials = excluded.credentials";
    DROP_ACCOUNT = "DELETE FROM acme_accounts WHERE directory = ?1";
    ADD = "INSERT INTO acme_certificates (id, next_order_at) VALUES (?1, ?2)
        ON CONFLICT (id) DO NOTHING";
    GET = concat!("SELECT ", certificate!(columns), " FROM acme_certificates WHERE id = ?1");
    KEY = "SELECT private_key FROM acme_certificates WHERE id = ?1 AND private_key IS NOT NULL";
    CLAIM = "UPDATE acme_certificates SET claim = ?2, claimed_until = ?4
        WHERE id = ?1 AND next_order_at <= ?3
            AND (claimed_until IS NULL OR claimed_until <= ?3)";
    RELEASE = "UPDATE acme_certificates SET claim = NULL, claimed_until = NULL
        WHERE id = ?1 AND claim = ?2";
    TOUCH = "UPDATE acme_certificates SET revision = revision + 1 WHERE id = ?1 AND claim = ?2";
    ISSUED = "UPDATE acme_certificates SET chain = ?3, private_key = ?4, next_order_at = ?5,
            failures = 0, last_error = NULL, claim = NULL, claimed_until = NULL,
            revision = revision + 1
        WHERE id = ?1 AND claim = ?2";
    FAILED = "UPDATE acme_certificates SET next_order_at = ?3, last_error = ?4,
            failures = failures + 1, claim = NULL, claimed_until = NULL,
            revision = revision + 1
        WHERE id = ?1 AND claim = ?2";
    CHALLENGES = concat!("SELECT ", challenge!(columns), " FROM acme_challenges
        WHERE certificate_id = ?1 ORDER BY domain");
    PUT_CHALLENGE = "INSERT INTO acme_challenges (id, certificate_id, domain, answer)
        VALUES (?1, ?2, ?3, ?4)";
    DROP_CHALLENGES = "DELETE FROM acme_challenges WHERE certificate_id = ?1";
}

#[derive(Clone, Debug)]
pub struct AcmeAccount {
    pub email: String,
    /// With the private key of the account.
    pub credentials: String,
}

#[derive(Clone, Debug)]
pub struct AcmeCertificate {
    /// PEM; none before the first order has succeeded.
    pub chain: Option<String>,
    pub revision: i64,
    pub claimed_until: Option<Timestamp>,
    pub next_order_at: Timestamp,
    /// Failed orders since the last certificate.
    pub failures: i64,
    pub last_error: Option<String>,
}

#[derive(Clone, Debug)]
pub struct AcmeChallenge {
    pub domain: String,
    /// PEM: a certificate and its key.
    pub answer: String,
}

/// A certificate, and when to order the next one.
#[derive(Clone, Debug)]
pub struct IssuedCertificate {
    pub chain: String,
    /// PEM.
    pub private_key: String,
    pub next_order_at: Timestamp,
}

impl Tx<'_> {
    pub fn acme_account(&mut self, directory: &str) -> Result<Option<AcmeAccount>, StoreError> {
        let stored: Option<AcmeAccount> = self.optional(ACCOUNT, &[directory.into()])?;
        let Some(mut account) = stored else {
            return Ok(None);
        };
        let context = SecretPlace::AcmeAccount.context(directory);
        account.credentials = self.open(&context, &account.credentials)?;
        Ok(Some(account))
    }

    pub fn put_acme_account(
        &mut self,
        directory: &str,
        account: &AcmeAccount,
    ) -> Result<(), StoreError> {
        let context = SecretPlace::AcmeAccount.context(directory);
        let sealed = self.seal(&context, &account.credentials)?;
        let values = [directory.into(), (&account.email).into(), sealed.into()];
        self.execute_one(PUT_ACCOUNT, &values)
    }

    pub fn drop_acme_account(&mut self, directory: &str) -> Result<(), StoreError> {
        self.execute(DROP_ACCOUNT, &[directory.into()]).map(drop)
    }

    /// Adds a row to order by, unless there is one.
    pub fn add_acme_certificate(&mut self, id: &str, now: Timestamp) -> Result<(), StoreError> {
        self.execute(ADD, &[id.into(), now.into()]).map(drop)
    }

    pub fn acme_certificate(&mut self, id: &str) -> Result<Option<AcmeCertificate>, StoreError> {
        self.optional(GET, &[id.into()])
    }

    /// The private key of the certificate, as PEM.
    pub fn acme_private_key(&mut self, id: &str) -> Result<Option<String>, StoreError> {
        let stored: Option<String> = self.optional(KEY, &[id.into()])?;
        let context = SecretPlace::AcmeKey.context(id);
        stored
            .map(|stored| self.open(&context, &stored))
            .transpose()
    }

    /// False when no order is due, or when another server has claimed it.
    pub fn claim_acme_order(
        &mut self,
        id: &str,
        claim: &str,
        now: Timestamp,
        until: Timestamp,
    ) -> Result<bool, StoreError> {
        let values = [id.into(), claim.into(), now.into(), until.into()];
        Ok(self.execute(CLAIM, &values)? == 1)
    }

    /// Lets others order at once.
    pub fn release_acme_order(&mut self, id: &str, claim: &str) -> Result<(), StoreError> {
        self.execute(RELEASE, &[id.into(), claim.into()]).map(drop)
    }

    /// Replaces the challenges of an order. False when the claim was lost.
    pub fn put_acme_challenges(
        &mut self,
        id: &str,
        claim: &str,
        challenges: &[AcmeChallenge],
    ) -> Result<bool, StoreError> {
        if self.execute(TOUCH, &[id.into(), claim.into()])? != 1 {
            return Ok(false);
        }
        self.execute(DROP_CHALLENGES, &[id.into()])?;
        for AcmeChallenge { domain, answer } in challenges {
            let row = challenge_id(id, domain);
            let sealed = self.seal(&SecretPlace::AcmeChallenge.context(&row), answer)?;
            let values = [row.into(), id.into(), domain.into(), sealed.into()];
            self.execute_one(PUT_CHALLENGE, &values)?;
        }
        Ok(true)
    }

    /// Few: one for each domain, and only while an order runs.
    pub fn acme_challenges(&mut self, id: &str) -> Result<Vec<AcmeChallenge>, StoreError> {
        let mut challenges: Vec<AcmeChallenge> = self.all(CHALLENGES, &[id.into()])?;
        for AcmeChallenge { domain, answer } in &mut challenges {
            let context = SecretPlace::AcmeChallenge.context(challenge_id(id, domain));
            *answer = self.open(&context, answer)?;
        }
        Ok(challenges)
    }

    /// Ends an order with its certificate. False when the claim was lost.
    pub fn acme_order_issued(
        &mut self,
        id: &str,
        claim: &str,
        issued: &IssuedCertificate,
    ) -> Result<bool, StoreError> {
        let sealed = self.seal(&SecretPlace::AcmeKey.context(id), &issued.private_key)?;
        let values = [
            id.into(),
            claim.into(),
            (&issued.chain).into(),
            sealed.into(),
            issued.next_order_at.into(),
        ];
        let kept = self.execute(ISSUED, &values)? == 1;
        self.end_acme_order(id, kept)
    }

    /// Ends an order that failed; the next one is not due before that time. False when the claim was
    /// lost.
    pub fn acme_order_failed(
        &mut self,
        id: &str,
        claim: &str,
        next_order_at: Timestamp,
        error: &str,
    ) -> Result<bool, StoreError> {
        let values = [id.into(), claim.into(), next_order_at.into(), error.into()];
        let kept = self.execute(FAILED, &values)? == 1;
        self.end_acme_order(id, kept)
    }

    fn end_acme_order(&mut self, id: &str, kept: bool) -> Result<bool, StoreError> {
        if kept {
            self.execute(DROP_CHALLENGES, &[id.into()])?;
        }
        Ok(kept)
    }
}

fn challenge_id(certificate: &str, domain: &str) -> String {
    format!("{certificate} {domain}")
}
