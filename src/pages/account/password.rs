//! Changes the password, with the old one.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::overview::shown;
use crate::api::inside::Refused;
use crate::domain::people::password::{PASSWORD, REVEALS_ADDRESS, reveals_address};
use crate::limits::Applicant;
use crate::pages::dashboard::{Desk, told};
use crate::pages::kit::form::Form;
use crate::usecases;

pub async fn change(desk: Desk, mut form: Form) -> Result<Response, Refused> {
    let chosen = match chosen(&desk, form.get("password")) {
        Ok(chosen) => chosen,
        Err(fault) => {
            form.add_fault("password", fault);
            return shown(&desk, form, StatusCode::BAD_REQUEST, None).await;
        }
    };
    if desk.has_password().await?
        && let Err(error) = desk
            .check_password(form.get("current_password").to_owned())
            .await
    {
        let (status, problem) = told(error)?;
        form.add_fault("current_password", problem);
        return shown(&desk, form, status, None).await;
    }
    let applicant = Applicant::known(desk.incoming.client);
    let hash = match desk.pages.app.passwords.hash(chosen, applicant).await {
        Ok(hash) => hash,
        Err(error) => {
            let (status, problem) = told(error.into())?;
            form.add_fault("password", problem);
            return shown(&desk, form, status, None).await;
        }
    };
    let (id, session) = (desk.visitor.account.id, desk.visitor.session.id);
    let clock = desk.pages.app.clock.clone();
    let changed = desk.pages.app.store.write(move |tx| {
        usecases::change_password(tx, id, &hash, session, clock.now())?;
        // Whoever has just chosen it knows it.
        usecases::password_given_again(tx, session, clock.now())
    });
    changed.await?;
    Ok(Redirect::to("/account?done=password").into_response())
}

fn chosen(desk: &Desk, given: &str) -> Result<String, String> {
    let password = PASSWORD.check(given)?;
    match reveals_address(&password, &desk.visitor.account.email) {
        true => Err(REVEALS_ADDRESS.to_owned()),
        false => Ok(password),
    }
}
