//! The workers' app: for a phone, in two languages, and without scripts where it can be.

mod earnings;
mod enter;
mod find;
mod frame;
mod me;
mod models;
mod phone;
mod start;
mod tasks;
mod texts;
mod visit;
mod words;

use std::convert::Infallible;

use axum::extract::{Request, State};
use axum::middleware::from_fn;
use axum::routing::{MethodRouter, any};

use crate::api::inside::{Incoming, Refused, count_stranger};
use crate::pages::kit::route::PageRoute;
use crate::pages::state::Pages;

/// Each tells of its errors in the worker's language.
pub fn routes() -> Vec<PageRoute> {
    let mut routes = enter::routes();
    routes.extend(start::routes());
    routes.extend(find::routes());
    routes.extend(tasks::routes());
    routes.extend(earnings::routes());
    routes.extend(me::routes());
    routes.extend(phone::routes());
    let told = |route: PageRoute| PageRoute {
        handlers: route.handlers.layer(from_fn(words::in_words)),
        ..route
    };
    routes.into_iter().map(told).collect()
}

/// What lies below the app and is no page of it is told in the worker's language, too.
pub fn nothing_here() -> MethodRouter<Pages> {
    any(async |State(pages): State<Pages>, request: Request| {
        count_stranger(&pages.app, &Incoming::of(&request))?;
        Err::<Infallible, _>(Refused::not_found())
    })
    .layer(from_fn(words::in_words))
}
