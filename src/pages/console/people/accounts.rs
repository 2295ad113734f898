//! /admin/accounts

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::{After, Filter, Search, change, history, part, search, with_state};
use crate::api::inside::{Ask, Refused};
use crate::domain::{AccountStatus, AdminRole, Tier};
use crate::pages::console::models::{Account, AccountTotals, Line, Page};
use crate::pages::console::office::{Names, Office, Place, done, query};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;

#[derive(Template)]
#[template(path = "console/accounts.html")]
struct Accounts {
    shell: Shell,
    form: Form,
    statuses: Vec<&'static str>,
    page: Page<Account>,
    next: Option<String>,
}

pub async fn list(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let found = match search(&office, filter, "accounts").await? {
        Search::Found(found) => found,
        Search::One(page) => return Ok(page),
    };
    let shown = Accounts {
        shell: office.shell("Accounts", Place::Accounts),
        form: found.form,
        statuses: AccountStatus::ALL.iter().map(|s| s.as_str()).collect(),
        page: found.page,
        next: found.next,
    };
    Ok(page(found.status, &shown))
}

#[derive(Template)]
#[template(path = "console/account.html")]
struct AccountPage {
    shell: Shell,
    form: Form,
    found: Found,
    lines: Vec<Line>,
    names: Names,
    tiers: Vec<&'static str>,
    may_suspend: bool,
    may_own: bool,
    /// Where its forms are sent.
    action: String,
    /// The list of all that name its address, if it is only claimed.
    same_address: Option<String>,
}

#[derive(Deserialize)]
struct Found {
    account: Account,
    api_keys_count: i64,
    live: AccountTotals,
    test: AccountTotals,
}

impl Found {
    fn environments(&self) -> [(&'static str, &AccountTotals); 2] {
        [("Live", &self.live), ("Test", &self.test)]
    }
}

pub async fn show(
    office: Office,
    Path(id): Path<String>,
    Query(after): Query<After>,
) -> Result<Response, Refused> {
    render(&office, &id, None, StatusCode::OK, &after.done).await
}

async fn render(
    office: &Office,
    id: &str,
    form: Option<Form>,
    status: StatusCode,
    word: &str,
) -> Result<Response, Refused> {
    let found: Found = office
        .ask(Ask::get(format!("/v1/admin/accounts/{}", part(id))))
        .await?;
    let mut shell = office.shell(found.account.name.clone(), Place::Accounts);
    shell.notice = done(word);
    let form = form.unwrap_or_else(|| Form::with([("tier", found.account.tier.clone())]));
    let state = format!("The account is {}.", found.account.status);
    let form = with_state(form, status, &state);
    let shown = AccountPage {
        lines: history(office, &found.account.id).await?,
        names: office.names().await?,
        tiers: Tier::ALL.iter().map(|tier| tier.as_str()).collect(),
        may_suspend: office.may(AdminRole::Operator),
        may_own: office.may(AdminRole::Owner),
        action: format!("/admin/accounts/{}", found.account.id),
        same_address: found.account.is_claim().then(|| {
            let email = found.account.email.as_str();
            query("/admin/accounts", [("q", email)])
        }),
        shell,
        form,
        found,
    };
    Ok(page(status, &shown))
}

pub async fn act(
    office: Office,
    Path((id, action)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Refused> {
    let (fields, done): (&[&str], _) = match action.as_str() {
        "suspend" => (&["note"], "suspended"),
        "restore" => (&["note"], "restored"),
        "tier" => (&["tier"], "tier"),
        _ => return Err(Refused::not_found()),
    };
    let sent = change(&office, ("accounts", &id, &action), fields, (form, done));
    match sent.await? {
        Ok(done) => Ok(done),
        Err((form, status)) => render(&office, &id, Some(form), status, "").await,
    }
}
