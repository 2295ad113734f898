//! /worker: what the app is and what it pays.

use askama::Template;
use axum::response::{IntoResponse, Redirect, Response};

use crate::pages::kit::html::ok;
use crate::pages::worker::frame::Frame;
use crate::pages::worker::visit::Stranger;

#[derive(Template)]
#[template(path = "worker/front.html")]
struct Front {
    frame: Frame,
}

/// Whoever is signed in has seen it.
pub async fn show(stranger: Stranger) -> Response {
    if stranger.token.is_some() {
        return Redirect::to("/worker/tasks").into_response();
    }
    ok(&Front {
        frame: stranger.frame(stranger.t.enter.front_title),
    })
}
