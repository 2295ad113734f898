//! /sign-out

use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::kit::session::{DEVELOPER_COOKIE, Developer, drop_cookie};
use crate::pages::state::Pages;
use crate::usecases;

pub async fn sign_out(
    State(pages): State<Pages>,
    developer: Developer,
) -> Result<Response, Refused> {
    let session = developer.visitor.session;
    let ended = pages
        .app
        .store
        .write(move |tx| usecases::sign_out(tx, session.person, session.id));
    ended.await?;
    let mut response = Redirect::to("/sign-in").into_response();
    drop_cookie(&mut response, DEVELOPER_COOKIE);
    Ok(response)
}
