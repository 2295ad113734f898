//! Another e-mail address, with the password.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use super::overview::shown;
use crate::api::inside::Refused;
use crate::domain::accounts::EMAIL;
use crate::pages::dashboard::Desk;
use crate::pages::kit::form::Form;
use crate::usecases::{self, UseCaseError};

pub async fn change(desk: Desk, mut form: Form) -> Result<Response, Refused> {
    let email = match EMAIL.check(form.get("email").trim()) {
        Ok(email) => email,
        Err(fault) => {
            form.add_fault("email", fault);
            return shown(&desk, form, StatusCode::BAD_REQUEST, None).await;
        }
    };
    let given = form.get("email_password").to_owned();
    if let Err((status, problem)) = desk.give_password(given).await? {
        form.add_fault("email_password", problem);
        return shown(&desk, form, status, None).await;
    }
    let (id, session) = (desk.visitor.account.id, desk.visitor.session.id);
    let (clock, sends_mail) = (desk.pages.app.clock.clone(), desk.pages.app.sends_mail);
    let changed = desk.pages.app.store.write(move |tx| {
        usecases::change_email(tx, id, &email, sends_mail, clock.now())?;
        // A new password has ended the session, to keep out whoever knows the old one.
        usecases::password_given_again(tx, session, clock.now())
    });
    match changed.await {
        Ok(()) if sends_mail => Ok(Redirect::to("/account?done=email_mailed").into_response()),
        Ok(()) => Ok(Redirect::to("/account?done=email").into_response()),
        Err(UseCaseError::EmailTaken) => {
            form.add_fault("email", "belongs to another account");
            shown(&desk, form, StatusCode::CONFLICT, None).await
        }
        Err(error) => Err(error.into()),
    }
}
