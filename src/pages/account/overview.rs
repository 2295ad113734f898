//! The account on one page.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::api::inside::{Ask, Refused};
use crate::domain::{AccountId, Environment, Owner, Person, Session, Status};
use crate::pages::dashboard::{Desk, List};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::When;
use crate::store::{StoreError, Tx};
use crate::usecases::{self, FactorStatus, UseCaseError};

#[derive(Template)]
#[template(path = "account/overview.html")]
struct Overview {
    shell: Shell,
    email: String,
    name: String,
    company: Option<String>,
    tier: String,
    confirmed: bool,
    sends_mail: bool,
    has_password: bool,
    factor: FactorStatus,
    /// Their names.
    passkeys: Vec<String>,
    sessions: Vec<Shown>,
    exports: Vec<Export>,
    own_url: String,
    form: Form,
    recent: bool,
    /// They must be over before the account can be deleted.
    open: Vec<Open>,
}

/// Open tasks of one status.
struct Open {
    environment: Environment,
    status: Status,
    count: i64,
}

/// A session, for its owner to recognise.
struct Shown {
    id: String,
    is_this: bool,
    address: String,
    user_agent: String,
    created: When,
    seen: When,
}

#[derive(Deserialize)]
struct Export {
    status: String,
    files: Vec<ExportFile>,
    created_at: String,
    expires_at: String,
}

#[derive(Deserialize)]
struct ExportFile {
    size_bytes: i64,
    url: String,
}

impl ExportFile {
    fn source<'a>(&'a self, own_url: &str) -> &'a str {
        self.url.strip_prefix(own_url).unwrap_or(&self.url)
    }
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    shown(
        &desk,
        Form::new(),
        StatusCode::OK,
        notice(query.get("done")),
    )
    .await
}

pub async fn shown(
    desk: &Desk,
    form: Form,
    status: StatusCode,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let (account, now) = (desk.visitor.account.clone(), desk.pages.app.clock.now());
    let id = account.id;
    let read = desk.pages.app.store.read(move |tx| {
        let person = Person::Account(id);
        let factor = usecases::second_factor_status(tx, person)?;
        let has_password = tx.account_password(id)?.is_some();
        let passkeys = tx.passkeys_of(person)?.into_iter();
        let passkeys: Vec<_> = passkeys.map(|passkey| passkey.name).collect();
        let sessions = tx.sessions_of(person, now)?;
        Ok::<_, UseCaseError>((
            factor,
            passkeys,
            has_password,
            sessions,
            open_tasks(tx, id)?,
        ))
    });
    let (factor, passkeys, has_password, sessions, open) = read.await?;
    let exports: List<Export> = desk.ask(Ask::get("/v1/account/export")).await?;
    let this = desk.visitor.session.id;
    let told = |session: Session| Shown {
        id: session.id.to_string(),
        is_this: session.id == this,
        address: session.origin.address().to_owned(),
        user_agent: session.origin.user_agent().to_owned(),
        created: When::new(session.created_at, now),
        seen: When::new(session.last_seen_at, now),
    };
    Ok(page(
        status,
        &Overview {
            shell: desk.account_shell("Account").notice(notice),
            email: account.email,
            name: account.name,
            company: account.company,
            tier: account.tier.to_string(),
            confirmed: account.email_confirmed,
            sends_mail: desk.pages.app.sends_mail,
            sessions: sessions.into_iter().map(told).collect(),
            exports: exports.data,
            own_url: desk.pages.app.own_url().to_owned(),
            recent: desk.is_recent(),
            has_password,
            open,
            factor,
            passkeys,
            form,
        },
    ))
}

fn open_tasks(tx: &mut Tx<'_>, account: AccountId) -> Result<Vec<Open>, StoreError> {
    let mut open = Vec::new();
    for environment in [Environment::Live, Environment::Test] {
        let counts = tx.task_counts(Owner {
            account,
            environment,
        })?;
        let statuses = Status::ALL.iter().filter(|status| !status.is_final());
        let counted = statuses.map(|status| Open {
            environment,
            status: *status,
            count: counts.in_status(*status),
        });
        open.extend(counted.filter(|open| open.count > 0));
    }
    Ok(open)
}

pub async fn send_confirmation(desk: Desk, form: Form) -> Result<Response, Refused> {
    let ask = Ask::post("/v1/account/confirmation", Value::Object(Map::new()));
    let _: Value = desk.ask(ask.once(form.key())).await?;
    Ok(Redirect::to("/account?done=mailed").into_response())
}

fn notice(done: &str) -> Option<&'static str> {
    Some(match done {
        "mailed" => "A mail with a link is on its way.",
        "password" => "Your password is changed. Your other sessions have ended.",
        "no_password" => {
            "Your account has no password yet. Set one: it is asked for before anything dangerous."
        }
        "email_mailed" => {
            "A mail with a link is on its way to the new address. Follow it to take the address."
        }
        "email" => "Your e-mail address is changed.",
        "ended" => "The session has ended.",
        "others" => "All your other sessions have ended.",
        "export" => "Your copy is being made. We tell you when it is ready.",
        "factor_off" => "The second factor is off.",
        _ => return None,
    })
}
