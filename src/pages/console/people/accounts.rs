//! /admin/accounts

use askama::Template;
use axum::extract::{Path, Query};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde::Deserialize;
use serde_json::Value;

use super::{history, is_id, part};
use crate::api::inside::{Ask, Refused};
use crate::domain::{AccountStatus, AdminRole, Tier};
use crate::pages::console::models::{Account, AccountTotals, Line, Page};
use crate::pages::console::office::{Names, Office, Place, done, query};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
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

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Filter {
    q: String,
    status: String,
    cursor: String,
}

pub async fn list(office: Office, Query(filter): Query<Filter>) -> Result<Response, Refused> {
    let q = filter.q.trim();
    if is_id(q) {
        return Ok(Redirect::to(&format!("/admin/accounts/{q}")).into_response());
    }
    let target = [
        ("email", q),
        ("status", filter.status.as_str()),
        ("cursor", &filter.cursor),
    ];
    let form = Form::with([("q", filter.q.clone()), ("status", filter.status.clone())]);
    let found = office
        .ask(Ask::get(query("/v1/admin/accounts", target)))
        .await;
    let (status, form, page_of): (_, _, Page<Account>) = match found {
        Ok(found) => (StatusCode::OK, form, found),
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            let mut form = form.refused(&refused, &["status"]);
            form.add_fault("q", "Enter a whole e-mail address, or an ID.");
            form.problem = None;
            (refused.status, form, Page::empty())
        }
        Err(refused) => return Err(refused),
    };
    let next = page_of.next("/admin/accounts", &[("q", q), ("status", &filter.status)]);
    let shown = Accounts {
        shell: office.shell("Accounts", Place::Accounts),
        form,
        statuses: AccountStatus::ALL.iter().map(|s| s.as_str()).collect(),
        page: page_of,
        next,
    };
    Ok(page(status, &shown))
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

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct After {
    done: String,
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
    let mut form = form.unwrap_or_else(|| Form::with([("tier", found.account.tier.clone())]));
    if status == StatusCode::CONFLICT {
        let state = &found.account.status;
        form.problem = form
            .problem
            .map(|problem| format!("{problem} The account is {state}."));
    }
    let shown = AccountPage {
        lines: history(office, &found.account.id).await?,
        names: office.names().await?,
        tiers: Tier::ALL.iter().map(|tier| tier.as_str()).collect(),
        may_suspend: office.may(AdminRole::Operator),
        may_own: office.may(AdminRole::Owner),
        shell,
        form,
        found,
    };
    Ok(match status {
        StatusCode::OK => ok(&shown),
        status => page(status, &shown),
    })
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
    let target = format!("/v1/admin/accounts/{}/{action}", part(&id));
    let ask = Ask::post(target, Value::Object(form.texts(fields))).once(form.key());
    match office.ask::<Value>(ask).await {
        Ok(_) => {
            Ok(Redirect::to(&format!("/admin/accounts/{}?done={done}", part(&id))).into_response())
        }
        Err(refused) if refused.status.is_server_error() => Err(refused),
        Err(refused) if refused.status == StatusCode::NOT_FOUND => Err(refused),
        Err(refused) => {
            let form = form.refused(&refused, fields);
            render(&office, &id, Some(form), refused.status, "").await
        }
    }
}
