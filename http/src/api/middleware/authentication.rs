//! Authentication: from the Authorization header to the caller.

mod presented;
pub mod refusals;
pub mod required_factor;

use std::sync::Arc;
use std::time::Duration;

use axum::RequestExt;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::response::Response;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::around::Next;
use crate::api::middleware::authentication::presented::{Presented, bearer_token, presented};
use crate::api::middleware::client_address::noted_on;
use crate::api::middleware::limits::anonymous::{refuse, turn_away};
use crate::api::middleware::limits::known;
use crate::api::middleware::limits::rate::RateLimitStatus;
use crate::api::middleware::notes::{Who, note_asker};
use crate::api::request::body::late;
use crate::api::request::idempotency::Requester;
use crate::api::request::path::TaskPath;
use crate::domain::accounts::mandate::{Needs, Permission};
use crate::domain::{
    AccountId, Actor, AdminKey, AdminKeyId, AdminRole, Environment, Owner, Secret, TaskId, Worker,
    WorkerStatus,
};
use crate::store::{KeptTask, KeyHolder, Lookup, MandateInUse, WorkerSession};
use crate::usecases::{self, Looker, UseCaseError};

/// The holder of the API key of a request.
#[derive(Clone, Debug)]
pub struct Caller {
    pub holder: KeyHolder,
    pub key: Secret,
    /// The mandate of a limited key, if it was read with the key: it is where tasks are created.
    pub mandate: Option<Arc<MandateInUse>>,
}

impl Caller {
    pub fn new(holder: KeyHolder, key: Secret) -> Self {
        Self {
            holder,
            key,
            mandate: None,
        }
    }

    pub fn owner(&self) -> Owner {
        self.holder.owner
    }

    /// The actor in history and audit log.
    pub fn by(&self) -> Actor {
        Actor::developer(self.holder.key)
    }

    pub fn requester(&self) -> Requester {
        Requester {
            owner: self.owner(),
            key: self.key.clone(),
        }
    }
}

/// The task that the path of a request names, if it is the caller's own. `require_key_of_task` puts it
/// on the request.
#[derive(Clone, Debug)]
pub struct OwnTask(Option<Arc<KeptTask>>);

impl OwnTask {
    pub fn found(self) -> Result<Arc<KeptTask>, UseCaseError> {
        self.0.ok_or(UseCaseError::TaskNotFound)
    }
}

/// The worker whose token a request has.
#[derive(Clone, Debug)]
pub struct WorkerCaller {
    pub worker: Worker,
    pub token: Secret,
    pub session: WorkerSession,
}

impl WorkerCaller {
    /// A worker's Idempotency-Keys are scoped to the worker.
    pub fn requester(&self) -> Requester {
        Requester {
            owner: Owner {
                account: AccountId::of_worker(self.worker.id),
                environment: Environment::Live,
            },
            key: self.token.clone(),
        }
    }
}

/// The admin whose key a request has.
#[derive(Clone, Copy, Debug)]
pub struct AdminCaller(pub AdminKeyId);

impl AdminCaller {
    pub fn by(self) -> Actor {
        Actor::admin(self.0)
    }
}

/// The sender of a POST of an admin.
#[derive(Clone, Debug)]
pub struct AdminRequester(pub Requester);

impl AdminRequester {
    /// An admin's Idempotency-Keys are scoped to the admin key.
    fn of(admin: AdminKeyId, key: Secret) -> Self {
        let owner = Owner {
            account: AccountId::of_admin(admin),
            environment: Environment::Live,
        };
        Self(Requester { owner, key })
    }
}

/// The admin key of a request, and what was sent for it: the key itself or the token of a session.
#[derive(Clone, Debug)]
pub struct AdminHolder {
    pub key: AdminKey,
    pub token: Secret,
    /// Whether a code of the second factor was given for this token.
    pub second_factor: bool,
}

impl AdminHolder {
    pub fn requester(&self) -> Requester {
        AdminRequester::of(self.key.id, self.token.clone()).0
    }
}

/// Runs before every handler that needs a worker's token: first the token, then the rate limit.
pub async fn require_worker(State(app): State<App>, mut request: Request, next: Next) -> Response {
    // A page asks for whoever is signed in. Nothing that comes over HTTP says so.
    let caller = match request.extensions_mut().remove::<WorkerCaller>() {
        Some(known) => known,
        None => match identify_worker(&app, request.headers()).await {
            Ok(found) => found,
            Err(error) => return turn_away(&app, error, request).await,
        },
    };
    note_asker(&mut request, Who::Worker(caller.worker.id), &caller.token);
    note_use(&app, &caller);
    let (status, counted) = known::count_worker(&app, caller.worker.id).await;
    let response = match counted {
        Ok(()) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(error) => refuse(error, request).await,
    };
    with_status(response, status)
}

/// How often the use of a worker's token is written at most.
const USED_EVERY: Duration = Duration::from_secs(5 * 60);

/// A worker sees when a session was last used, to a few minutes.
fn note_use(app: &App, caller: &WorkerCaller) {
    let now = app.clock.now();
    let last = caller.session.last_used_at;
    if last.is_none_or(|last| now.since(last) >= USED_EVERY) {
        app.key_use.note_token(caller.token.hash(), now);
    }
}

async fn identify_worker(app: &App, headers: &HeaderMap) -> Result<WorkerCaller, ApiError> {
    let token = bearer_token(headers).ok_or(UseCaseError::Unauthorized)?;
    worker_of(app, token).await
}

/// The worker whose token this is.
pub async fn worker_of(app: &App, token: Secret) -> Result<WorkerCaller, ApiError> {
    // A suspended worker can still read earnings. Actions that a suspended worker may not take are
    // refused where they are taken.
    let lookup = Lookup::token_holder(token.hash(), app.clock.now());
    let found = app.store.find(lookup).await?;
    // A sign-in may have made a token while the worker was being deleted.
    let found = found.filter(|(worker, _)| worker.status != WorkerStatus::Deleted);
    let (worker, session) = found.ok_or(UseCaseError::Unauthorized)?;
    Ok(WorkerCaller {
        worker,
        token,
        session,
    })
}

/// Runs before every handler that needs an admin key: first the key, then the rate limit, then its role.
pub async fn require_admin(
    State((app, needed)): State<(App, AdminRole)>,
    mut request: Request,
    next: Next,
) -> Response {
    // A page asks for whoever is signed in. Nothing that comes over HTTP says so.
    let holder = match request.extensions_mut().remove::<AdminHolder>() {
        Some(known) => known,
        None => match identify_admin(&app, request.headers()).await {
            Ok(found) => found,
            Err(error) => return turn_away(&app, error, request).await,
        },
    };
    let admin = &holder.key;
    note_asker(&mut request, Who::Admin(admin.id), &holder.token);
    app.key_use.note_admin(admin.id, app.clock.now());
    let (status, counted) = known::count_admin(&app, admin.id).await;
    let may = match admin.role.may(needed) {
        true => counted,
        false => counted.and(Err(UseCaseError::Forbidden.into())),
    };
    if let Err(error) = may {
        return with_status(refuse(error, request).await, status);
    }
    let requester = AdminRequester::of(admin.id, holder.token.clone());
    let looker = Looker {
        admin: admin.id,
        role: admin.role,
    };
    request.extensions_mut().insert(AdminCaller(admin.id));
    request.extensions_mut().insert(requester);
    request.extensions_mut().insert(looker);
    request.extensions_mut().insert(holder);
    with_status(next.run(request).await, status)
}

async fn identify_admin(app: &App, headers: &HeaderMap) -> Result<AdminHolder, ApiError> {
    let token = bearer_token(headers).ok_or(UseCaseError::Unauthorized)?;
    let lookup = match token.is_admin_session() {
        true => Lookup::admin_session(token.hash(), app.clock.now()),
        false => Lookup::admin_key(token.hash()),
    };
    let key = app.store.find(lookup).await?;
    let key = key.ok_or(UseCaseError::Unauthorized)?;
    // Such a session is opened with a code.
    let second_factor = token.is_admin_session();
    Ok(AdminHolder {
        key,
        token,
        second_factor,
    })
}

/// Runs before every handler that needs a key: first the key, then the rate limit, then what the mandate
/// of the key allows.
pub async fn require_key(
    State((app, needs)): State<(App, Needs)>,
    request: Request,
    next: Next,
) -> Response {
    if is_known(&request) {
        return next.run(request).await;
    }
    let presented = presented(&request);
    let identified = match needs {
        Needs::Permission(Permission::Create) => identify_with_mandate(&app, presented).await,
        _ => identify(&app, presented).await,
    };
    admit(&app, identified, needs, request, next).await
}

/// The same before a handler that shows one task: the key and the task are looked up together.
pub async fn require_key_of_task(
    State((app, needs)): State<(App, Needs)>,
    mut request: Request,
    next: Next,
) -> Response {
    if is_known(&request) {
        return Box::pin(with_own_task(&app, request, next)).await;
    }
    let presented = presented(&request);
    let identified = match task_in_path(&mut request).await {
        Some(id) => identify_with_task(&app, presented, id).await,
        None => identify(&app, presented).await.map(|caller| (caller, None)),
    };
    let identified = identified.map(|(caller, task)| {
        request.extensions_mut().insert(OwnTask(task));
        caller
    });
    admit(&app, identified, needs, request, next).await
}

/// Whether a page asks for somebody who is signed in. Nothing that comes over HTTP says so.
fn is_known(request: &Request) -> bool {
    request.extensions().get::<Caller>().is_some()
}

async fn with_own_task(app: &App, mut request: Request, next: Next) -> Response {
    let id = task_in_path(&mut request).await;
    let owner = request.extensions().get::<Caller>().map(Caller::owner);
    let task = match (owner, id) {
        (Some(owner), Some(id)) => app.store.read(move |tx| tx.task_of(owner, id)).await,
        _ => Ok(None),
    };
    match task {
        Ok(task) => {
            let task = OwnTask(task.map(KeptTask::new));
            request.extensions_mut().insert(task);
            next.run(request).await
        }
        Err(error) => refuse(error.into(), request).await,
    }
}

async fn task_in_path(request: &mut Request) -> Option<TaskId> {
    let path = request.extract_parts::<TaskPath>().await;
    path.ok().and_then(|path| path.0)
}

/// Counts the request of whoever has a key, and turns away whoever has none.
async fn admit(
    app: &App,
    identified: Result<Caller, ApiError>,
    needs: Needs,
    mut request: Request,
    next: Next,
) -> Response {
    let caller = match identified {
        Ok(caller) => caller,
        Err(error) => return turn_away(app, error, request).await,
    };
    let holder = caller.holder;
    note_asker(
        &mut request,
        Who::Key(holder.owner, holder.key),
        &caller.key,
    );
    let client = noted_on(&request);
    app.key_use
        .note(holder.key, app.clock.now(), client.subscriber());
    let (status, counted) = known::count_key(app, &holder).await;
    if let Err(error) = counted {
        return with_status(refuse(error, request).await, status);
    }
    let admitted = app.answers.admit(Who::Key(holder.owner, holder.key));
    if let (true, Err(error)) = (request.method().is_safe(), admitted) {
        return with_status(refuse(error, request).await, status);
    }
    if holder.is_confined && needs == Needs::WholeAccount {
        let refused = refuse(UseCaseError::TestKeyConfined.into(), request).await;
        return with_status(refused, status);
    }
    late::note(&mut request, &caller.key, holder, needs);
    let Some(limits) = holder.limits else {
        request.extensions_mut().insert(caller);
        return with_status(next.run(request).await, status);
    };
    let response = match limits.allow(needs, holder.time(app.clock.now())) {
        Ok(()) => {
            request.extensions_mut().insert(caller);
            next.run(request).await
        }
        Err(denied) => refuse(UseCaseError::from(denied).into(), request).await,
    };
    if let Some(error) = response.extensions().get::<ApiError>() {
        refusals::note(app, &holder, error);
    }
    with_status(response, status)
}

async fn identify(app: &App, presented: Option<Presented>) -> Result<Caller, ApiError> {
    let Presented { key, hash } = presented.ok_or(UseCaseError::Unauthorized)?;
    let found = app.store.find(Lookup::key_holder(hash)).await?;
    let holder = confirmed(app, usecases::authenticate(found)?);
    Ok(Caller::new(holder, key))
}

async fn identify_with_mandate(
    app: &App,
    presented: Option<Presented>,
) -> Result<Caller, ApiError> {
    let Presented { key, hash } = presented.ok_or(UseCaseError::Unauthorized)?;
    let found = app.store.find(Lookup::key_and_mandate(hash)).await?;
    let (holder, mandate) = found.map(|found| (found.holder, found.mandate)).unzip();
    let holder = confirmed(app, usecases::authenticate(holder)?);
    Ok(Caller {
        mandate: mandate.flatten().map(Arc::new),
        ..Caller::new(holder, key)
    })
}

async fn identify_with_task(
    app: &App,
    presented: Option<Presented>,
    id: TaskId,
) -> Result<(Caller, Option<Arc<KeptTask>>), ApiError> {
    let Presented { key, hash } = presented.ok_or(UseCaseError::Unauthorized)?;
    let found = app.store.key_and_task(hash, id).await?;
    let (holder, task) = found.map(|found| (found.holder, found.task)).unzip();
    let holder = confirmed(app, usecases::authenticate(holder)?);
    Ok((Caller::new(holder, key), task.flatten()))
}

/// Without a mail server nobody can confirm an address, so each counts as confirmed.
fn confirmed(app: &App, mut holder: KeyHolder) -> KeyHolder {
    holder.email_confirmed |= !app.sends_mail;
    holder
}

/// A handler that has counted more puts the later status on its response.
fn with_status(mut response: Response, status: Option<RateLimitStatus>) -> Response {
    let later = response.extensions_mut().remove::<RateLimitStatus>();
    if let Some(status) = later.or(status) {
        status.write(response.headers_mut());
    }
    response
}

/// Missing only on a route outside its `require_...` layer: refuse rather than guess.
macro_rules! taken_from_the_request {
    ($($caller:ty),+) => { $(
        impl FromRequestParts<App> for $caller {
            type Rejection = ApiError;

            async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, ApiError> {
                let caller = parts.extensions.get::<Self>().cloned();
                caller.ok_or_else(|| UseCaseError::Unauthorized.into())
            }
        }
    )+ };
}

taken_from_the_request!(
    Caller,
    WorkerCaller,
    AdminCaller,
    AdminHolder,
    AdminRequester,
    Looker
);

/// Only one handler takes it, so it is moved and not copied.
impl<S: Send + Sync> FromRequestParts<S> for OwnTask {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let task = parts.extensions.remove::<Self>();
        task.ok_or_else(|| UseCaseError::Unauthorized.into())
    }
}
