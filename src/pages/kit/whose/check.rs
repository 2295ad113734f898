//! Refuses what a page sends for somebody who is no longer signed in.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::api::inside::Refused;
use crate::pages::kit::form::{Form, read};
use crate::pages::kit::html::plain_message;
use crate::pages::kit::whose::{FIELD, MARK, Whose};

/// On an answer: somebody else has signed in since the page was made.
#[derive(Clone)]
pub struct SignedInSince {
    pub name: String,
    /// The page, to load it again.
    pub back: String,
}

/// Runs before every page of somebody who is signed in. A form without a mark passes: it is of a page that was made
/// before there were marks, or of a script that says in another way whom it is for.
pub async fn check(mut request: Request, next: Next) -> Response {
    let Some(whose) = request.extensions_mut().remove::<Whose>() else {
        return next.run(request).await;
    };
    let (sent, request) = match sent(request).await {
        Ok(found) => found,
        Err(refused) => return refused.into_response(),
    };
    // Whoever wants to end a session ends the one that there is.
    let ends = request.uri().path().ends_with("/sign-out");
    if sent.is_some_and(|sent| sent != whose.mark) && !ends {
        return refused(whose, &request);
    }
    MARK.scope(whose.mark, next.run(request)).await
}

/// The mark that came with a request, and the request.
async fn sent(request: Request) -> Result<(Option<String>, Request), Refused> {
    let found = |form: &[u8]| {
        let form = Form::parse(form);
        Some(form.get(FIELD).to_owned()).filter(|mark| !mark.is_empty())
    };
    let in_query = request
        .uri()
        .query()
        .and_then(|query| found(query.as_bytes()));
    if in_query.is_some() || !is_form(&request) {
        return Ok((in_query, request));
    }
    let (parts, body) = request.into_parts();
    let body = read(&parts.extensions, body).await?;
    let sent = found(&body);
    Ok((sent, Request::from_parts(parts, Body::from(body))))
}

fn is_form(request: &Request) -> bool {
    let kind = request.headers().get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    !request.method().is_safe() && kind.starts_with("application/x-www-form-urlencoded")
}

fn refused(whose: Whose, request: &Request) -> Response {
    let from = request.headers().get(header::REFERER);
    let from = from.and_then(|from| from.to_str().ok()?.parse::<Uri>().ok());
    let since = SignedInSince {
        back: from.map_or("/".to_owned(), |from| {
            from.path_and_query()
                .map_or("/", |path| path.as_str())
                .to_owned()
        }),
        name: whose.name,
    };
    let heading = format!("You have signed in as {} since", since.name);
    let text = "The page was made for somebody else, so nothing was changed. Load it again to see what belongs to whoever is signed in now.";
    let links = [(since.back.as_str(), "Load the page again")];
    let told = (heading.as_str(), text);
    let mut response = plain_message(whose.banner, StatusCode::CONFLICT, told, &links);
    response.extensions_mut().insert(since);
    response
}
