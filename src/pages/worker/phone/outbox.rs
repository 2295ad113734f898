//! /worker/outbox: what waits on this phone. The server knows nothing of it, so the script fills the page.

use askama::Template;
use axum::response::Response;
use axum::routing::get;

use crate::pages::kit::html::ok;
use crate::pages::kit::route::{PageRoute, view};
use crate::pages::kit::session::Needs;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::texts::scripts::{OUTBOX, as_json, sentence};
use crate::pages::worker::visit::Visit;

pub fn routes() -> Vec<PageRoute> {
    vec![view("/worker/outbox", Needs::Worker, get(show))]
}

#[derive(Template)]
#[template(path = "worker/outbox.html")]
struct Outbox {
    frame: Frame,
}

impl Outbox {
    fn say(&self, name: &str) -> &'static str {
        sentence(self.frame.t.lang, OUTBOX, name)
    }
}

async fn show(visit: Visit) -> Response {
    let lang = visit.t.lang;
    let frame = visit.frame(sentence(lang, OUTBOX, "outbox_title"), Place::Outbox);
    let frame = frame.texts(as_json(lang, OUTBOX));
    ok(&Outbox {
        frame: frame.script("worker_outbox"),
    })
}
