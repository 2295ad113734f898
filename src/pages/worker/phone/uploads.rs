//! Where the app sends what was captured. The browser has a cookie and no token, so these pass requests on
//! to the API, for the worker who is signed in. Files stream through.

use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::Response;
use axum::routing::{get, patch, post};
use serde_json::json;

use crate::api::inside::{Ask, Refused};
use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;
use crate::pages::worker::models::segment;
use crate::pages::worker::visit::Visit;
use crate::usecases::UseCaseError;

/// Whose work it is. Somebody else may have signed in on the same phone meanwhile.
const FOR: &str = "x-legwork-worker";
const UPLOADS: &str = "/v1/worker/uploads";

pub fn routes() -> Vec<PageRoute> {
    let worker = Needs::Worker;
    let one = patch(resume).head(resume).delete(resume);
    vec![
        form("/worker/uploads", worker, post(create)),
        view("/worker/uploads/{id}", worker, one),
        form("/worker/tasks/{id}/begin", worker, post(begin)),
        form("/worker/tasks/{id}/proofs", worker, post(finish)),
        form(
            "/worker/push",
            worker,
            get(push_key).post(subscription).delete(subscription),
        ),
    ]
}

async fn create(visit: Visit, request: Request) -> Result<Response, Refused> {
    let mut response = pass(&visit, UPLOADS, request).await?;
    let headers = response.headers_mut();
    // The page's own way to it.
    if let Some(place) = headers.get(header::LOCATION).and_then(own_place) {
        headers.insert(header::LOCATION, place);
    }
    Ok(response)
}

fn own_place(place: &HeaderValue) -> Option<HeaderValue> {
    let id = place.to_str().ok()?.rsplit('/').next()?;
    HeaderValue::try_from(format!("/worker/uploads/{id}")).ok()
}

async fn resume(
    visit: Visit,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    pass(&visit, &format!("{UPLOADS}/{}", segment(&id)), request).await
}

async fn finish(
    visit: Visit,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let target = format!("/v1/worker/tasks/{}/proofs", segment(&id));
    pass(&visit, &target, request).await
}

/// A task that was accepted, and captured before there was a network to start it.
async fn begin(
    visit: Visit,
    Path(id): Path<String>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    expect_owner(&visit, &headers)?;
    let target = format!("/v1/worker/tasks/{}/start", segment(&id));
    visit.response(Ask::post(target, json!({}))).await
}

async fn push_key(visit: Visit) -> Result<Response, Refused> {
    visit.response(Ask::get("/v1/worker/push_key")).await
}

async fn subscription(visit: Visit, request: Request) -> Result<Response, Refused> {
    let ask = Ask::passing(request, "/v1/worker/push_subscriptions");
    visit.response(ask).await
}

async fn pass(visit: &Visit, target: &str, request: Request) -> Result<Response, Refused> {
    expect_owner(visit, request.headers())?;
    visit.response(Ask::passing(request, target)).await
}

/// What one worker captured is never sent as the work of another.
fn expect_owner(visit: &Visit, headers: &HeaderMap) -> Result<(), Refused> {
    let meant = headers.get(FOR).and_then(|value| value.to_str().ok());
    match meant == Some(visit.worker.id.to_string().as_str()) {
        true => Ok(()),
        false => Err(UseCaseError::Unauthorized.into()),
    }
}
