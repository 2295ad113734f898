//! Webhooks: checks what arrives, and signs as the server does.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Map, Value};
use sha2::Sha256;
use subtle::ConstantTimeEq;

use crate::{
    DeliveryPayload, Error, Event, EventProof, EventTask, EventType, EventWorker, Result, ambient,
};

/// Checks deliveries with the secret of the webhook. While a secret is being replaced, give both.
#[derive(Clone)]
pub struct Webhook {
    secrets: Vec<Secret>,
    tolerance: i64,
}

/// One scheme signs with the text of a secret, the other with the bytes that it stands for.
#[derive(Clone)]
struct Secret {
    text: String,
    key: Vec<u8>,
}

impl Secret {
    /// Whoever knows the key can sign, and everybody knows the empty one: a secret that has lost its bytes is
    /// refused.
    fn read(given: &str) -> Result<Self> {
        let text = given.trim().to_owned();
        let encoded = text.strip_prefix("whsec_").unwrap_or(&text);
        match STANDARD.decode(encoded) {
            Ok(key) if !key.is_empty() => Ok(Self { text, key }),
            Ok(_) => Err(Error::Setup("the webhook secret is empty".to_owned())),
            Err(_) => Err(Error::Setup(
                "the webhook secret is not one: whsec_ and Base64, as the server gave it"
                    .to_owned(),
            )),
        }
    }
}

/// An event that arrived by webhook.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookEvent {
    /// The same for every attempt: keep it to know a repeat. `X-Service-Signature` does not cover it.
    pub id: String,
    pub event: EventType,
    pub data: Map<String, Value>,
}

/// The headers of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signed(pub [(&'static str, String); 5]);

impl Webhook {
    /// With the whole secret, `whsec_` included. What cannot be a secret is [`Error::Setup`].
    pub fn new(secret: &str) -> Result<Self> {
        Ok(Self {
            secrets: vec![Secret::read(secret)?],
            tolerance: 300,
        })
    }

    /// Another secret that may have signed.
    pub fn or(mut self, secret: &str) -> Result<Self> {
        self.secrets.push(Secret::read(secret)?);
        Ok(self)
    }

    /// How far the timestamp may be from your clock, in seconds [default: 300].
    pub fn tolerance(self, seconds: i64) -> Self {
        Self {
            tolerance: seconds,
            ..self
        }
    }

    /// The event of a delivery. `header` finds a header by its lower-case name, and `body` is the raw
    /// body.
    pub fn verify(
        &self,
        header: impl Fn(&str) -> Option<String>,
        body: &[u8],
    ) -> Result<WebhookEvent> {
        self.verify_at(header, body, ambient::now())
    }

    /// The same at another time, in Unix seconds.
    pub fn verify_at(
        &self,
        header: impl Fn(&str) -> Option<String>,
        body: &[u8],
        now: i64,
    ) -> Result<WebhookEvent> {
        let id = header("webhook-id").unwrap_or_default();
        // The standard signature covers more, so it is the one that counts where there is one.
        let standard = header("webhook-signature").map(|given| (given, "webhook-timestamp"));
        let own = || header("x-service-signature").map(|given| (given, "x-service-timestamp"));
        let is_standard = standard.is_some();
        let (given, time) = standard
            .or_else(own)
            .ok_or(Error::Webhook("it is not signed"))?;
        let time = header(time).unwrap_or_default();
        let sent: i64 = time
            .parse()
            .map_err(|_| Error::Webhook("it has no timestamp"))?;
        if sent.abs_diff(now) > self.tolerance.unsigned_abs() {
            return Err(Error::Webhook("its timestamp is too far from now"));
        }
        let is_valid = self.secrets.iter().any(|secret| match is_standard {
            true => matches_one(
                &standard_signature(secret, &id, &time, body),
                given.split(' '),
            ),
            false => matches_one(&own_signature(secret, &time, body), given.split(',')),
        });
        if !is_valid {
            return Err(Error::Webhook("no signature matches"));
        }
        let payload: DeliveryPayload =
            serde_json::from_slice(body).map_err(|_| Error::Webhook("it is not an event"))?;
        Ok(WebhookEvent {
            id,
            event: payload.event,
            data: payload.data,
        })
    }

    /// The headers of a delivery as the server would send it, with every secret.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> Signed {
        let time = timestamp.to_string();
        let own = self
            .secrets
            .iter()
            .map(|secret| own_signature(secret, &time, body));
        let standard = self
            .secrets
            .iter()
            .map(|secret| standard_signature(secret, id, &time, body));
        Signed([
            ("X-Service-Timestamp", time.clone()),
            ("X-Service-Signature", own.collect::<Vec<_>>().join(",")),
            ("webhook-id", id.to_owned()),
            ("webhook-signature", standard.collect::<Vec<_>>().join(" ")),
            ("webhook-timestamp", time.clone()),
        ])
    }

    /// Signs at this moment.
    pub fn sign_now(&self, id: &str, body: &[u8]) -> Signed {
        self.sign(id, ambient::now(), body)
    }

    /// A secret of your own, to sign with where no webhook is set.
    pub fn new_secret() -> Result<String> {
        let name = ambient::random_name()?;
        Ok(format!("whsec_{}", STANDARD.encode(name.as_bytes())))
    }
}

impl WebhookEvent {
    /// The task right after the event, if the event is about one.
    pub fn task(&self) -> Option<EventTask> {
        self.as_event().task()
    }

    /// The proof that `task.proof_submitted` and `task.proof_rejected` carry.
    pub fn proof(&self) -> Option<EventProof> {
        self.as_event().proof()
    }

    /// The worker of `worker.verified`.
    pub fn worker(&self) -> Option<EventWorker> {
        self.as_event().worker()
    }

    fn as_event(&self) -> Event {
        let (event, data) = (self.event.clone(), self.data.clone());
        Event {
            id: self.id.clone(),
            number: 0,
            event,
            data,
            created_at: String::new(),
        }
    }
}

fn own_signature(secret: &Secret, time: &str, body: &[u8]) -> String {
    let mac = mac(secret.text.as_bytes(), &[time.as_bytes(), b".", body]);
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("v1={hex}")
}

fn standard_signature(secret: &Secret, id: &str, time: &str, body: &[u8]) -> String {
    let parts = [id.as_bytes(), b".", time.as_bytes(), b".", body];
    let mac = mac(&secret.key, &parts);
    format!("v1,{}", STANDARD.encode(mac))
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Vec<u8> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key) else {
        unreachable!("HMAC takes keys of any length");
    };
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().to_vec()
}

fn matches_one<'a>(expected: &str, given: impl Iterator<Item = &'a str>) -> bool {
    given.fold(false, |found, value| {
        found | bool::from(value.trim().as_bytes().ct_eq(expected.as_bytes()))
    })
}
