//! /admin/passkeys: the passkeys of an admin's key. They are the second factor of its sessions on the console.

use askama::Template;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::domain::{Actor, Person};
use crate::pages::console::office::{Office, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::passkeys::{FOR_ADMINS, Manage, Owner};
use crate::pages::kit::session::Admin;
use crate::pages::kit::words::When;

const BASE: &str = "/admin/passkeys";
const AGAIN: &str = "/admin/again?next=%2Fadmin%2Fpasskeys";

#[derive(Template)]
#[template(path = "console/passkeys.html")]
struct Passkeys {
    shell: Shell,
    it: Manage,
}

fn owner<'a>(office: &'a Office, admin: &'a Admin) -> Owner<'a> {
    let key = &office.visitor.key;
    Owner {
        pages: &office.pages,
        person: Person::Admin(key.id),
        label: format!("admin {}", key.name),
        by: Actor::admin(key.id),
        session: (&admin.token, admin.visitor.session.second_factor),
        words: &FOR_ADMINS,
        base: BASE,
    }
}

pub async fn show(office: Office, admin: Admin) -> Result<Response, Refused> {
    let nothing = (Form::new(), Vec::new());
    shown(&office, &admin, StatusCode::OK, nothing).await
}

async fn shown(
    office: &Office,
    admin: &Admin,
    status: StatusCode,
    more: (Form, Vec<String>),
) -> Result<Response, Refused> {
    let now = office.now();
    let owner = owner(office, admin);
    let it = owner.manage(more, |at| When::new(at, now)).await?;
    let shell = office.shell("Passkeys", Place::Factor).script("passkeys");
    Ok(page(status, &Passkeys { shell, it }))
}

/// For the script. What it cannot show, such as the page for the key, it opens.
pub async fn options(office: Office, admin: Admin) -> Result<Response, Refused> {
    let again = (!office.is_recent()).then_some(AGAIN);
    owner(&office, &admin).options(again).await
}

pub async fn add(office: Office, admin: Admin, form: Form) -> Result<Response, Refused> {
    if !office.is_recent() {
        return Ok(Redirect::to(AGAIN).into_response());
    }
    match owner(&office, &admin).add(form).await? {
        Ok(codes) if codes.is_empty() => Ok(Redirect::to(BASE).into_response()),
        Ok(codes) => codes_shown(office, admin, codes).await,
        Err((status, form)) => shown(&office, &admin, status, (form, Vec::new())).await,
    }
}

/// The session counts as one with a second factor from now on.
async fn codes_shown(
    office: Office,
    mut admin: Admin,
    codes: Vec<String>,
) -> Result<Response, Refused> {
    admin.visitor.session.second_factor = true;
    shown(&office, &admin, StatusCode::OK, (Form::new(), codes)).await
}

pub async fn remove(
    office: Office,
    admin: Admin,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    if !office.is_recent() {
        return Ok(Redirect::to(AGAIN).into_response());
    }
    // One that was removed elsewhere is gone, as it should be.
    owner(&office, &admin).remove(&id).await?;
    Ok(Redirect::to(BASE).into_response())
}

pub async fn new_codes(office: Office, admin: Admin) -> Result<Response, Refused> {
    if !office.is_recent() {
        return Ok(Redirect::to(AGAIN).into_response());
    }
    let codes = owner(&office, &admin).new_codes().await?;
    codes_shown(office, admin, codes).await
}
