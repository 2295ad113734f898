//! /local: signs the developer of this machine in. The link is printed in the terminal, works once, and only
//! for browsers on the same machine.

use askama::Template;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::{Incoming, Refused};
use crate::domain::{Origin, Secret};
use crate::pages::kit::html::{message, not_found, ok};
use crate::pages::kit::session::{DEVELOPER_COOKIE, set_cookie};
use crate::pages::state::Pages;
use crate::usecases::{self, UseCaseError};

#[derive(Template)]
#[template(path = "public/local.html")]
struct Local {
    banner: bool,
    email: String,
}

/// Shows whom it signs in, and changes nothing: programs that look at links use none up.
pub async fn show(
    State(pages): State<Pages>,
    Path(token): Path<String>,
    incoming: Incoming,
) -> Result<Response, Refused> {
    if !is_local(&pages, &incoming) {
        return Ok(not_found(&pages));
    }
    let (token, now) = (Secret::presented(&token), pages.app.clock.now());
    let link = pages
        .app
        .store
        .read(move |tx| usecases::sign_in_link(tx, &token, now));
    match link.await {
        Ok(email) => Ok(ok(&Local {
            banner: pages.banner(),
            email,
        })),
        Err(error) => refused(&pages, error),
    }
}

pub async fn sign_in(
    State(pages): State<Pages>,
    Path(token): Path<String>,
    incoming: Incoming,
) -> Result<Response, Refused> {
    if !is_local(&pages, &incoming) {
        return Ok(not_found(&pages));
    }
    let (token, clock) = (Secret::presented(&token), pages.app.clock.clone());
    let origin = Origin::new(&incoming.client.to_string(), incoming.user_agent());
    let signed_in = pages
        .app
        .store
        .write(move |tx| usecases::sign_in_with_link(tx, &token, &origin, clock.now()));
    match signed_in.await {
        Ok(signed_in) => {
            let mut response = Redirect::to("/dashboard/test").into_response();
            set_cookie(&mut response, DEVELOPER_COOKIE, &signed_in.token);
            Ok(response)
        }
        Err(error) => refused(&pages, error),
    }
}

/// Nobody else reaches the server, and the browser is on the same machine.
fn is_local(pages: &Pages, incoming: &Incoming) -> bool {
    pages.app.pages.local && incoming.client.subscriber().is_loopback()
}

fn refused(pages: &Pages, error: UseCaseError) -> Result<Response, Refused> {
    match error {
        UseCaseError::LinkExpired => {
            let text = "A link works once and for an hour. Print another one: legwork account sign-in-link";
            Ok(message(
                pages,
                StatusCode::GONE,
                "This link has expired",
                text,
            ))
        }
        error => Err(error.into()),
    }
}
