//! The address, the password, and where a worker is signed in.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use super::overview::{Forms, shown};
use crate::api::inside::{Ask, Refused};
use crate::pages::kit::form::Form;
use crate::pages::worker::models::segment;
use crate::pages::worker::visit::Visit;

pub async fn change_password(visit: Visit, form: Form) -> Result<Response, Refused> {
    let body = json!({
        "current_password": form.get("current_password"),
        "password": form.get("password"),
    });
    let ask = Ask::put("/v1/worker/password", body);
    match visit.ask::<Value>(ask).await {
        Ok(_) => Ok(Redirect::to("/worker/me?done=password").into_response()),
        Err(refused) if refused.status.is_client_error() => {
            let fields = ["current_password", "password"];
            let mut password = visit.refused(Form::new(), &refused, &fields);
            if refused.is("INVALID_CREDENTIALS") {
                password.problem = None;
                password.add_fault("current_password", visit.t.me.wrong_password);
            }
            let forms = Forms {
                password,
                ..Forms::default()
            };
            shown(&visit, refused.status, forms, None).await
        }
        Err(refused) => Err(refused),
    }
}

/// With mail, the new address is theirs once they follow the link that is sent there.
pub async fn change_email(visit: Visit, form: Form) -> Result<Response, Refused> {
    let body = json!({
        "email": form.get("email").trim(),
        "password": form.get("email_password"),
    });
    let ask = Ask::put("/v1/worker/email", body);
    match visit.ask::<Value>(ask).await {
        Ok(change) if change["new_email"].is_string() => {
            Ok(Redirect::to("/worker/me?done=email_mailed").into_response())
        }
        Ok(_) => Ok(Redirect::to("/worker/me?done=email").into_response()),
        Err(refused) if refused.status.is_client_error() => {
            let mut email = visit.refused(form, &refused, &["email"]);
            let place = match refused.code.as_str() {
                "INVALID_CREDENTIALS" => Some(("email_password", visit.t.me.wrong_password)),
                "EMAIL_TAKEN" => Some(("email", visit.t.me.email_taken)),
                _ => None,
            };
            if let Some((field, fault)) = place {
                email.problem = None;
                email.add_fault(field, fault);
            }
            let forms = Forms {
                email,
                ..Forms::default()
            };
            shown(&visit, refused.status, forms, None).await
        }
        Err(refused) => Err(refused),
    }
}

pub async fn end(visit: Visit, Path(id): Path<String>) -> Result<Response, Refused> {
    let ask = Ask::delete(format!("/v1/worker/sessions/{}", segment(&id)));
    match visit.ask::<Value>(ask).await {
        Ok(_) => {}
        // It has ended already, which is what was wanted.
        Err(refused) if refused.is("SESSION_NOT_FOUND") => {}
        Err(refused) => return Err(refused),
    }
    Ok(Redirect::to("/worker/me?done=ended").into_response())
}
