//! POST requests that take effect once: Idempotency-Key.
//!
//! The response is stored in the transaction of the effect, so there is never one without the other.
//! A refused request has no effect and stores nothing: sent again, it is processed as new.

pub mod aim;
pub mod batch;
mod in_flight;
pub mod stranger;
pub mod submission;

use std::pin::Pin;

use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use in_flight::Claim;
use ring::hmac;
use serde_json::{Map, Value};

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{self, NoFields, RequestBody};
use crate::api::request::{body, json};
use crate::api::response::json::JsonResponse;
use crate::domain::accounts::api_key;
use crate::domain::{AccountId, IDEMPOTENCY_KEPT, Owner, Secret, Timestamp};
use crate::seal;
use crate::store::{IdempotencyRecord, IdempotencyScope, StoreError, Tx};
use crate::usecases::UseCaseError;

pub use in_flight::InFlight;

const HEADER: &str = "idempotency-key";
const MAX_KEY_CHARACTERS: usize = 255;

/// A POST: its JSON body and its Idempotency-Key.
#[derive(Debug)]
pub struct Post {
    body: Map<String, Value>,
    key: Option<String>,
    /// The method and the path, if there is a key.
    target: String,
    fingerprint: String,
}

impl FromRequest<App> for Post {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, sent) = request.into_parts();
        let bytes = body::received(&parts.extensions, sent, app).await?;
        let body = json::object(&bytes).map_err(ApiError::Validation)?;
        let key = idempotency_key(&parts.headers)?;
        let (target, fingerprint) = match key {
            Some(_) => {
                let target = target(&parts.method, &parts.uri);
                let fingerprint = fingerprint(&target, &body);
                (target, fingerprint)
            }
            None => (String::new(), String::new()),
        };
        Ok(Self {
            body,
            key,
            target,
            fingerprint,
        })
    }
}

impl Post {
    pub fn read<B: RequestBody>(&self) -> Result<B, ApiError> {
        fields::read(&self.body)
    }

    /// For a body that holds a password. What is stored of it is made with a secret of the service, so
    /// whoever reads the database cannot try passwords. Returns what seals the response.
    pub fn keyed(mut self, secret: &str) -> (Self, Secret) {
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
        let mac = api_key::hex(hmac::sign(&key, self.fingerprint.as_bytes()).as_ref());
        self.fingerprint = api_key::hash(&mac);
        (self, Secret::presented(&mac))
    }

    /// Whether the body gives this field a value.
    pub fn gives(&self, field: &str) -> bool {
        self.body.get(field).is_some_and(|value| !value.is_null())
    }

    /// Takes fields that are null for left out.
    pub fn without_nulls(mut self, are_left_out: impl Fn(&str) -> bool) -> Self {
        self.body
            .retain(|name, value| !value.is_null() || !are_left_out(name));
        self
    }

    /// For a body with a code of a second factor, which counts once. A repeat has another one, and is the same
    /// request.
    pub fn whatever_the_code(mut self) -> Self {
        if self.key.is_some() {
            let mut body = self.body.clone();
            body.remove("code");
            self.fingerprint = fingerprint(&self.target, &body);
        }
        self
    }

    pub fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// For requests that take no body: nothing, or an object without fields.
    pub fn expect_no_fields(&self) -> Result<(), ApiError> {
        let NoFields = self.read()?;
        Ok(())
    }
}

/// Bare or quoted, 1 to 255 characters.
pub fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, ApiError> {
    let faulty = || ApiError::invalid("Idempotency-Key", "must be 1 to 255 printable characters");
    let mut values = headers.get_all(HEADER).iter();
    let Some(value) = values.next() else {
        return Ok(None);
    };
    if values.next().is_some() {
        return Err(ApiError::invalid(
            "Idempotency-Key",
            "is given more than once",
        ));
    }
    let text = value.to_str().map_err(|_| faulty())?.trim();
    let key = match text.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"').ok_or_else(faulty)?,
        None => text,
    };
    let printable = key.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if key.is_empty() || key.len() > MAX_KEY_CHARACTERS || !printable {
        return Err(faulty());
    }
    Ok(Some(key.to_owned()))
}

fn target(method: &Method, uri: &Uri) -> String {
    format!("{method} {}", uri.path())
}

/// What makes two requests the same: method, path and the meaning of the body.
fn fingerprint(target: &str, body: &Map<String, Value>) -> String {
    let body = json::canonical(&Value::Object(body.clone()));
    api_key::hash(&format!("{target}\n{body}"))
}

/// Who sent the request: whose Idempotency-Keys they are, and the secret that came with it.
#[derive(Clone, Debug)]
pub struct Requester {
    pub owner: Owner,
    pub key: Secret,
}

enum Outcome {
    Done(JsonResponse),
    Earlier(IdempotencyRecord),
}

/// A POST whose effect happens once for each Idempotency-Key. Answers 200 and keeps the response
/// readable by default.
pub struct Idempotent<'a> {
    app: &'a App,
    requester: Requester,
    post: Post,
    status: StatusCode,
    sealed: bool,
    /// The account whose totals the effect writes.
    account: Option<AccountId>,
}

impl<'a> Idempotent<'a> {
    pub fn new(app: &'a App, requester: Requester, post: Post) -> Self {
        Self {
            app,
            requester,
            post,
            status: StatusCode::OK,
            sealed: false,
            account: None,
        }
    }

    /// The effect writes what belongs to this account, above all its totals: see `Store::write_for`.
    pub fn of_account(mut self, account: AccountId) -> Self {
        self.account = Some(account);
        self
    }

    pub fn created(mut self) -> Self {
        self.status = StatusCode::CREATED;
        self
    }

    /// The response hands out a secret: it is stored so that only the requester's own key opens it.
    pub fn sealed(self) -> Self {
        self.sealed_if(true)
    }

    /// The same for a response that hands out a secret only sometimes.
    pub fn sealed_if(mut self, sealed: bool) -> Self {
        self.sealed = sealed;
        self
    }

    /// Prepares something that no transaction may wait for, such as a call to the payment
    /// processor; only for a request that has not been done before.
    pub fn prepare<P>(self, prepare: P) -> Prepared<'a, P> {
        Prepared {
            request: self,
            prepare,
        }
    }

    /// Runs the effect in one transaction and renders the response from what it returns.
    pub async fn run<F, T>(self, mut effect: F, render: Render<T>) -> Result<JsonResponse, ApiError>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<T, UseCaseError> + Send + 'static,
        T: Send + 'static,
    {
        let effect = move |tx: &mut Tx<'_>, now, (): &()| effect(tx, now);
        let nothing = std::future::ready(Ok(()));
        self.prepare(nothing).run(effect, render).await
    }

    /// The same where the status depends on what the effect returns.
    pub async fn run_with_status<F, T>(
        self,
        mut effect: F,
        render: RenderWhole<T>,
    ) -> Result<JsonResponse, ApiError>
    where
        F: FnMut(&mut Tx<'_>, Timestamp) -> Result<T, UseCaseError> + Send + 'static,
        T: Send + 'static,
    {
        let effect = move |tx: &mut Tx<'_>, now, (): &()| effect(tx, now);
        let nothing = std::future::ready(Ok(()));
        self.prepare(nothing).run_with_status(effect, render).await
    }
}

type Render<T> = fn(&T) -> Result<String, StoreError>;
type RenderWhole<T> = fn(&T) -> Result<JsonResponse, StoreError>;

/// An effect with what was prepared for it. Whatever it returns, it returns how that is rendered: so what runs it is
/// compiled once, and not for each endpoint.
type Effect = Box<dyn FnMut(&mut Tx<'_>, Timestamp) -> Result<Rendering, UseCaseError> + Send>;
/// Needs no transaction any more.
type Rendering = Box<dyn FnOnce() -> Result<JsonResponse, StoreError> + Send>;
type Preparing<'a> = Pin<Box<dyn Future<Output = Result<Effect, ApiError>> + Send + 'a>>;

pub struct Prepared<'a, P> {
    request: Idempotent<'a>,
    prepare: P,
}

impl<'a, F, P> Prepared<'a, F>
where
    F: Future<Output = Result<P, ApiError>> + Send + 'a,
    P: Send + 'static,
{
    pub async fn run<E, T>(self, effect: E, render: Render<T>) -> Result<JsonResponse, ApiError>
    where
        E: FnMut(&mut Tx<'_>, Timestamp, &P) -> Result<T, UseCaseError> + Send + 'static,
        T: Send + 'static,
    {
        let status = self.request.status;
        let render = move |done: &T| Ok(answer(status, render(done)?, false));
        let effect = boxed(self.prepare, effect, render);
        self.request.take_effect(effect).await
    }

    pub async fn run_with_status<E, T>(
        self,
        effect: E,
        render: RenderWhole<T>,
    ) -> Result<JsonResponse, ApiError>
    where
        E: FnMut(&mut Tx<'_>, Timestamp, &P) -> Result<T, UseCaseError> + Send + 'static,
        T: Send + 'static,
    {
        let effect = boxed(self.prepare, effect, render);
        self.request.take_effect(effect).await
    }
}

fn boxed<'a, F, P, E, T, R>(prepare: F, mut effect: E, render: R) -> Preparing<'a>
where
    F: Future<Output = Result<P, ApiError>> + Send + 'a,
    P: Send + 'static,
    E: FnMut(&mut Tx<'_>, Timestamp, &P) -> Result<T, UseCaseError> + Send + 'static,
    T: Send + 'static,
    R: Fn(&T) -> Result<JsonResponse, StoreError> + Copy + Send + 'static,
{
    Box::pin(async move {
        let prepared = prepare.await?;
        let effect: Effect = Box::new(move |tx, now| {
            let done = effect(tx, now, &prepared)?;
            Ok(Box::new(move || render(&done)))
        });
        Ok(effect)
    })
}

impl Idempotent<'_> {
    async fn take_effect(self, effect: Preparing<'_>) -> Result<JsonResponse, ApiError> {
        let Idempotent {
            app,
            requester,
            post,
            sealed,
            account,
            ..
        } = self;
        let clock = app.clock.clone();
        let Some(key) = post.key else {
            let mut effect = effect.await?;
            let work = move |tx: &mut Tx<'_>| effect(tx, clock.now());
            let render = write(app, account, work).await?;
            return Ok(render()?);
        };
        let scope = IdempotencyScope {
            owner: requester.owner,
            key,
        };
        let replay = |record| replay(record, &post.fingerprint, &requester.key);
        let _claim = match begin(app, &scope).await? {
            Ok(claim) => claim,
            Err(earlier) => return replay(earlier),
        };
        let mut effect = effect.await?;
        let fingerprint = post.fingerprint.clone();
        let sealer = sealed.then(|| requester.key.clone());
        let stored_under = scope.clone();
        let work = move |tx: &mut Tx<'_>| {
            let now = clock.now();
            if let Some(earlier) = remembered(tx, &stored_under, now)? {
                return Ok(Outcome::Earlier(earlier));
            }
            let render = effect(tx, now)?;
            let done = render()?;
            let record = record(&fingerprint, done.status, &done.body, sealer.as_ref(), now)?;
            tx.put_idempotency_record(&stored_under, &record, now.minus(IDEMPOTENCY_KEPT))?;
            Ok::<_, UseCaseError>(Outcome::Done(done))
        };
        match write(app, account, work).await {
            Ok(Outcome::Done(done)) => Ok(done),
            Ok(Outcome::Earlier(record)) => replay(record),
            // The same request may have been running on another server: then the effect waited for
            // it and found its work done.
            Err(error) => match earlier(app, &scope).await? {
                Some(record) => replay(record),
                None => Err(error.into()),
            },
        }
    }
}

async fn write<T, F>(app: &App, account: Option<AccountId>, work: F) -> Result<T, UseCaseError>
where
    F: FnMut(&mut Tx<'_>) -> Result<T, UseCaseError> + Send + 'static,
    T: Send + 'static,
{
    match account {
        Some(account) => app.store.write_for(account, work).await,
        None => app.store.write(work).await,
    }
}

/// Begins the first request under a key. The inner error is what an earlier one was answered.
async fn begin<'a>(
    app: &'a App,
    scope: &IdempotencyScope,
) -> Result<Result<Claim<'a>, IdempotencyRecord>, ApiError> {
    let claim = app.in_flight.claim(scope);
    if let Some(earlier) = earlier(app, scope).await? {
        return Ok(Err(earlier));
    }
    // Whoever else holds the key may only be reading what is stored: that refuses nobody.
    Ok(Ok(claim?))
}

/// The response of an earlier request, read outside the transaction of the effect. One that is being
/// stored at this moment is found inside it.
async fn earlier(
    app: &App,
    scope: &IdempotencyScope,
) -> Result<Option<IdempotencyRecord>, StoreError> {
    let (scope, now) = (scope.clone(), app.clock.now());
    app.store.read(move |tx| remembered(tx, &scope, now)).await
}

fn remembered(
    tx: &mut Tx<'_>,
    scope: &IdempotencyScope,
    now: Timestamp,
) -> Result<Option<IdempotencyRecord>, StoreError> {
    let record = tx.idempotency_record(scope)?;
    Ok(record.filter(|record| record.created_at > now.minus(IDEMPOTENCY_KEPT)))
}

fn answer(status: StatusCode, body: String, replayed: bool) -> JsonResponse {
    JsonResponse {
        status,
        body,
        replayed,
    }
}

fn record(
    fingerprint: &str,
    status: StatusCode,
    body: &str,
    sealer: Option<&Secret>,
    now: Timestamp,
) -> Result<IdempotencyRecord, StoreError> {
    let unsealable = |_| StoreError::Failed("an answer could not be sealed".into());
    Ok(IdempotencyRecord {
        fingerprint: fingerprint.to_owned(),
        response_status: i64::from(status.as_u16()),
        response_body: match sealer {
            Some(key) => seal::seal(key, body).map_err(unsealable)?,
            None => body.to_owned(),
        },
        sealed: sealer.is_some(),
        created_at: now,
    })
}

fn replay(
    record: IdempotencyRecord,
    fingerprint: &str,
    key: &Secret,
) -> Result<JsonResponse, ApiError> {
    if record.fingerprint != fingerprint {
        return Err(ApiError::IdempotencyMismatch);
    }
    let status = u16::try_from(record.response_status)
        .ok()
        .and_then(|status| StatusCode::from_u16(status).ok())
        .unwrap_or(StatusCode::OK);
    Ok(answer(status, opened(record, key)?, true))
}

/// The body of a stored response.
fn opened(record: IdempotencyRecord, key: &Secret) -> Result<String, ApiError> {
    if !record.sealed {
        return Ok(record.response_body);
    }
    // Another key of the account: the secret was not given to it.
    seal::open(key, &record.response_body).map_err(|_| ApiError::IdempotencyMismatch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn key(value: &[u8]) -> Option<Option<String>> {
        let mut headers = HeaderMap::new();
        headers.insert(HEADER, HeaderValue::from_bytes(value).unwrap());
        idempotency_key(&headers).ok()
    }

    #[test]
    fn a_key_is_bare_or_quoted() {
        assert_eq!(key(b"abc"), Some(Some("abc".into())));
        assert_eq!(key(b"\"abc\""), Some(Some("abc".into())));
        assert_eq!(key(&[b'a'; 255]), Some(Some("a".repeat(255))));
        assert_eq!(key(&[b'a'; 256]), None);
        assert_eq!(key(b""), None);
        assert_eq!(key(b"\"\""), None);
        assert_eq!(key(b"\""), None);
        assert_eq!(key(b"\"abc"), None);
        assert_eq!(key(b"a\tb"), None);
        assert_eq!(key("é".as_bytes()), None);
        assert!(matches!(idempotency_key(&HeaderMap::new()), Ok(None)));
    }
}
