//! /worker/tasks/{id}/capture: takes what a task asks for. The script keeps it on the phone.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use axum::routing::get;

use crate::api::inside::{Ask, Refused};
use crate::pages::kit::html::ok;
use crate::pages::kit::route::{PageRoute, view};
use crate::pages::kit::session::Needs;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{OwnTask, segment};
use crate::pages::worker::texts::scripts::{CAPTURE, as_json, sentence};
use crate::pages::worker::visit::Visit;

pub fn routes() -> Vec<PageRoute> {
    let path = "/worker/tasks/{id}/capture";
    vec![view(path, Needs::Worker, get(show))]
}

#[derive(Template)]
#[template(path = "worker/capture.html")]
struct Capture {
    frame: Frame,
    task: OwnTask,
}

impl Capture {
    fn say(&self, name: &str) -> &'static str {
        sentence(self.frame.t.lang, CAPTURE, name)
    }

    fn takes_proof(&self) -> bool {
        ["assigned", "in_progress", "proof_rejected"].contains(&self.task.status.as_str())
    }
}

async fn show(visit: Visit, Path(id): Path<String>) -> Result<Response, Refused> {
    let target = format!("/v1/worker/tasks/{}", segment(&id));
    let task: OwnTask = visit.ask(Ask::get(target)).await?;
    let title = sentence(visit.t.lang, CAPTURE, "capture_title");
    let frame = visit.frame(title, Place::Tasks);
    let frame = frame.texts(as_json(visit.t.lang, CAPTURE));
    let mut capture = Capture { frame, task };
    // Where nothing is taken there is nothing for it to work on.
    if capture.takes_proof() {
        capture.frame.scripts.push("worker_capture");
    }
    Ok(ok(&capture))
}
