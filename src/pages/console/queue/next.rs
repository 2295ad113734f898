//! Claims the oldest item that nobody has claimed.

use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Value, json};

use crate::api::inside::{Ask, Refused};
use crate::pages::console::models::{Item, Page};
use crate::pages::console::office::{Office, query};
use crate::pages::kit::form::Form;

/// How many items are looked at: other admins may be faster, and others have to confirm what this one has proposed.
const TRIES: &str = "50";

pub async fn claim(office: Office, form: Form) -> Result<Response, Refused> {
    let to = claim_next(&office, form.get("kind"), "claimed").await?;
    Ok(Redirect::to(&to).into_response())
}

/// Where to go on: the item that is now claimed, or the queue if there is none. An item that this admin
/// has claimed already comes first, so a form that is sent twice claims one.
pub async fn claim_next(office: &Office, kind: &str, done: &str) -> Result<String, Refused> {
    let kind_filter = ("kind", kind);
    let item = |id: &str| query(&format!("/admin/queue/{id}"), [("done", done), kind_filter]);
    let mine = query(
        "/v1/admin/queue",
        [("claimed", "me"), ("limit", TRIES), kind_filter],
    );
    let own = office.id();
    let may_decide = |item: &Item| {
        let proposal = item.proposal.as_ref();
        proposal.is_none_or(|proposal| proposal.proposed_by != own)
    };
    let mine: Page<Item> = office.ask(Ask::get(mine)).await?;
    if let Some(mine) = mine.data.iter().find(|item| may_decide(item)) {
        return Ok(item(&mine.id));
    }
    let free = [("claimed", "nobody"), ("limit", TRIES), kind_filter];
    let free: Page<Item> = office.ask(Ask::get(query("/v1/admin/queue", free))).await?;
    for found in free.data.into_iter().filter(may_decide) {
        let claim = Ask::post(format!("/v1/admin/queue/{}/claim", found.id), json!({}));
        match office.ask::<Value>(claim).await {
            Ok(_) => return Ok(item(&found.id)),
            // Somebody else was faster.
            Err(refused) if refused.is("ITEM_CLAIMED") || refused.is("ITEM_CLOSED") => {}
            Err(refused) => return Err(refused),
        }
    }
    let done = if done == "claimed" { "" } else { done };
    Ok(query("/admin/queue", [("done", done), kind_filter]))
}
