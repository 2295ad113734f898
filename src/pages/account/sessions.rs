//! Ends sessions that somebody does not recognise.

use axum::extract::Path;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::domain::SessionId;
use crate::pages::dashboard::Desk;
use crate::usecases::{self, UseCaseError};

pub async fn end(desk: Desk, Path(id): Path<String>) -> Result<Response, Refused> {
    let id = SessionId::parse(&id).ok_or(UseCaseError::SessionNotFound)?;
    let person = desk.visitor.session.person;
    let ended = desk
        .pages
        .app
        .store
        .write(move |tx| usecases::revoke_session(tx, person, id));
    match ended.await {
        // It has ended already, which is what was wanted.
        Ok(_) | Err(UseCaseError::SessionNotFound) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(Redirect::to("/account?done=ended").into_response())
}

pub async fn end_others(desk: Desk) -> Result<Response, Refused> {
    let (person, this) = (desk.visitor.session.person, desk.visitor.session.id);
    let ended = desk
        .pages
        .app
        .store
        .write(move |tx| usecases::revoke_sessions(tx, person, Some(this)));
    ended.await?;
    Ok(Redirect::to("/account?done=others").into_response())
}
