//! Runs before every page: limits, forms of other sites, and who may see it.

use axum::extract::{Request, State};
use axum::http::{StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::{self, Incoming, Refused, WorkerCaller};
use crate::domain::{AccountId, AccountStatus, Person, RequiredFactor, Secret, Session, Tier};
use crate::pages::kit::html::message;
use crate::pages::kit::session::{Admin, Developer, Needs, SignedInWorker, drop_cookie, token};
use crate::pages::kit::whose::Whose;
use crate::pages::state::Pages;
use crate::store::{Lookup, StoreError, Tx, Visitor};
use crate::usecases::{self, AdminVisitor, UseCaseError};

/// What somebody who lacks a second factor that is required may open. The first is where to set one up.
fn setup(needs: Needs) -> &'static [&'static str] {
    match needs {
        Needs::Admin => &[
            "/admin/factor",
            "/admin/factor/confirm",
            "/admin/passkeys",
            "/admin/passkeys/options",
            "/admin/again",
            "/admin/sign-out",
        ],
        Needs::Worker => &[
            "/worker/me/factor",
            "/worker/me/factor/confirm",
            "/worker/me/passkeys",
            "/worker/me/passkeys/options",
            "/worker/sign-out",
        ],
        _ => &[
            "/account/factor",
            "/account/factor/confirm",
            "/account/passkeys",
            "/account/passkeys/options",
            "/account/again",
            "/sign-out",
        ],
    }
}

/// How the second factor of a session stands where one is required.
#[derive(Clone, Copy)]
enum Factor {
    Passes,
    NotSetUp,
    Missing,
}

pub async fn guard(
    State((pages, needs)): State<(Pages, Needs)>,
    mut request: Request,
    next: Next,
) -> Response {
    let known = match identify(&pages, needs, &mut request).await {
        Ok(known) => known,
        Err(refused) => return refused.into_response(),
    };
    let developer = request.extensions().get::<Developer>();
    let account = developer.map(|it| (it.visitor.account.id, it.visitor.account.tier));
    if let Err(refused) = count(&pages, account, known, &Incoming::of(&request)).await {
        return refused.into_response();
    }
    if !is_from_us(&pages, needs, &request) {
        return foreign(&pages);
    }
    if needs.cookie().is_some() && !known {
        return sign_in_first(&request, needs);
    }
    match request.extensions().get::<Factor>() {
        Some(Factor::NotSetUp) if !setup(needs).contains(&request.uri().path()) => {
            return Redirect::to(setup(needs)[0]).into_response();
        }
        Some(Factor::Missing) => return sign_in_first(&request, needs),
        _ => {}
    }
    next.run(request).await
}

/// Whoever is signed in is not kept out by strangers who share the address. What workers ask for is counted where
/// their pages ask the API for it.
async fn count(
    pages: &Pages,
    account: Option<(AccountId, Tier)>,
    known: bool,
    incoming: &Incoming,
) -> Result<(), Refused> {
    match account {
        Some((account, tier)) => inside::count_page(&pages.app, account, tier).await,
        None if known => Ok(()),
        None => inside::count_stranger(&pages.app, incoming),
    }
}

/// Puts whoever the cookie belongs to on the request. False if the page needs nobody, or there is nobody.
async fn identify(pages: &Pages, needs: Needs, request: &mut Request) -> Result<bool, Refused> {
    let Some(token) = needs.cookie().and_then(|cookie| token(request, cookie)) else {
        return Ok(false);
    };
    let only_looks = request.method().is_safe();
    match needs {
        Needs::Developer => {
            let Some((visitor, factor)) = visitor(pages, &token, only_looks).await? else {
                return Ok(false);
            };
            request.extensions_mut().insert(factor);
            let who = (visitor.session.person, visitor.account.email.as_str());
            note_whose(pages, request, who);
            inside::note_account(request, visitor.account.id, &token);
            let incoming = Incoming::of(request);
            request.extensions_mut().insert(Developer {
                visitor,
                token,
                incoming,
            });
        }
        Needs::Admin => {
            let Some((visitor, factor)) = admin_visitor(pages, &token, only_looks).await? else {
                return Ok(false);
            };
            request.extensions_mut().insert(factor);
            let who = (visitor.session.person, visitor.key.name.as_str());
            note_whose(pages, request, who);
            inside::note_admin(request, visitor.key.id, &token);
            let incoming = Incoming::of(request);
            request.extensions_mut().insert(Admin {
                visitor,
                token,
                incoming,
            });
        }
        Needs::Worker => {
            let Some(caller) = inside::worker(&pages.app, token).await? else {
                return Ok(false);
            };
            let factor = workers_factor(pages, &caller).await?;
            request.extensions_mut().insert(factor);
            let who = (
                Person::Worker(caller.worker.id),
                caller.worker.name.as_str(),
            );
            note_whose(pages, request, who);
            inside::note_worker(request, caller.worker.id, &caller.token);
            let incoming = Incoming::of(request);
            request
                .extensions_mut()
                .insert(SignedInWorker { caller, incoming });
        }
        Needs::Nothing | Needs::SecretInPath => return Ok(false),
    }
    Ok(true)
}

fn note_whose(pages: &Pages, request: &mut Request, (person, name): (Person, &str)) {
    let whose = Whose::new(person, name, pages.banner());
    request.extensions_mut().insert(whose);
}

/// Whose session this is, if it has not ended.
async fn visitor(
    pages: &Pages,
    token: &Secret,
    only_looks: bool,
) -> Result<Option<(Visitor, Factor)>, Refused> {
    let lookup = Lookup::visitor(token.hash(), pages.app.clock.now());
    let found = pages.app.store.find(lookup).await;
    let found = found.map_err(UseCaseError::from)?;
    let found = found.filter(|found| found.account.status != AccountStatus::Deleted);
    let Some(visitor) = found else {
        return Ok(None);
    };
    let factor = developers_factor(pages, &visitor.session).await?;
    let is_open = note_use(pages, &visitor.session, token, only_looks).await?;
    Ok(is_open.then_some((visitor, factor)))
}

/// The same for an admin, whose key must still be good.
async fn admin_visitor(
    pages: &Pages,
    token: &Secret,
    only_looks: bool,
) -> Result<Option<(AdminVisitor, Factor)>, Refused> {
    let (now, kept) = (pages.app.clock.now(), token.clone());
    let required = pages.app.required_factor;
    let found = pages.app.store.read(move |tx| {
        let visitor = usecases::admin_visitor(tx, &kept, now)?;
        let factor = factor(tx, &visitor.session, required)?;
        Ok((visitor, factor))
    });
    let (visitor, factor) = match found.await {
        Ok(found) => found,
        Err(UseCaseError::Unauthorized) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let is_open = note_use(pages, &visitor.session, token, only_looks).await?;
    Ok(is_open.then_some((visitor, factor)))
}

/// How the second factor of a session stands.
fn factor(
    tx: &mut Tx<'_>,
    session: &Session,
    required: RequiredFactor,
) -> Result<Factor, UseCaseError> {
    match usecases::expect_factor(tx, session, required) {
        Ok(()) => Ok(Factor::Passes),
        Err(UseCaseError::SecondFactorNotSetUp) => Ok(Factor::NotSetUp),
        Err(UseCaseError::SecondFactorRequired) => Ok(Factor::Missing),
        Err(error) => Err(error),
    }
}

/// The same for a developer. Nothing is read where none is asked for.
async fn developers_factor(pages: &Pages, session: &Session) -> Result<Factor, Refused> {
    let required = pages.app.required_factor;
    if session.second_factor || !required.of(session.person) {
        return Ok(Factor::Passes);
    }
    let session = session.clone();
    let stands = pages
        .app
        .store
        .read(move |tx| factor(tx, &session, required));
    Ok(stands.await?)
}

async fn workers_factor(pages: &Pages, caller: &WorkerCaller) -> Result<Factor, Refused> {
    let person = Person::Worker(caller.worker.id);
    if caller.session.second_factor || !pages.app.required_factor.of(person) {
        return Ok(Factor::Passes);
    }
    let has_one = pages
        .app
        .store
        .read(move |tx| usecases::has_factor(tx, person));
    Ok(match has_one.await.map_err(UseCaseError::from)? {
        true => Factor::Missing,
        false => Factor::NotSetUp,
    })
}

/// Writes now and then that a session is used. False if it has ended in this moment. Whoever only looks is not kept
/// out by a database that can be read and not written, such as one on a full disk.
async fn note_use(
    pages: &Pages,
    session: &Session,
    token: &Secret,
    only_looks: bool,
) -> Result<bool, Refused> {
    let (now, kept) = (pages.app.clock.now(), token.clone());
    if session.seen(now).is_none() {
        return Ok(true);
    }
    let used = pages
        .app
        .store
        .write(move |tx| usecases::use_session(tx, &kept, now));
    match used.await {
        Ok(_) => Ok(true),
        Err(UseCaseError::Unauthorized) => Ok(false),
        Err(UseCaseError::Store(StoreError::Unavailable(_) | StoreError::Overloaded))
            if only_looks =>
        {
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

/// Forms of other sites change nothing here. Where the secret is in the path, a program that says nothing
/// of where it comes from is welcome.
fn is_from_us(pages: &Pages, needs: Needs, request: &Request) -> bool {
    if request.method().is_safe() {
        return true;
    }
    let headers = request.headers();
    let is_program = !headers.contains_key("sec-fetch-site") && !headers.contains_key("origin");
    needs == Needs::SecretInPath && is_program || inside::is_own_page(&pages.app, request)
}

fn foreign(pages: &Pages) -> Response {
    let text = "The form was sent from another site, so nothing was changed. Open the page here and try again.";
    message(pages, StatusCode::FORBIDDEN, "Not from here", text)
}

/// Whoever has signed in comes back. A form that came too late is not kept: its sender is told so, and comes
/// back to the page where it was filled in.
fn sign_in_first(request: &Request, needs: Needs) -> Response {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if request.method().is_safe() {
        query.append_pair("next", path_of(request.uri()));
    } else if !request.uri().path().ends_with("/sign-out") {
        let from = request.headers().get(header::REFERER);
        let from = from.and_then(|from| from.to_str().ok()?.parse::<Uri>().ok());
        query.append_pair("done", "ended");
        query.append_pair("next", from.as_ref().map_or("", path_of));
    }
    let query = query.finish();
    let to = match query.is_empty() {
        true => needs.sign_in().to_owned(),
        false => format!("{}?{query}", needs.sign_in()),
    };
    let mut response = Redirect::to(&to).into_response();
    if let Some(cookie) = needs.cookie()
        && token(request, cookie).is_some()
    {
        drop_cookie(&mut response, cookie);
    }
    response
}

fn path_of(uri: &Uri) -> &str {
    uri.path_and_query().map_or("/", |target| target.as_str())
}
