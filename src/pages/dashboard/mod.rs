//! The developers' dashboard: one of each page for live, and one for test.

mod approvals;
mod clock;
mod desk;
mod events;
mod home;
mod keys;
mod models;
mod money;
mod password;
mod receiving;
mod review;
mod tasks;
mod webhook;

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub use desk::Desk;
pub use models::List;
pub use password::{ACTION, told};

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    let mut routes = vec![
        view("/dashboard", developer, get(home::choose)),
        view("/dashboard/{environment}", developer, get(home::show)),
        form(
            "/dashboard/{environment}/first-key",
            developer,
            post(home::first_key),
        ),
        view(
            "/dashboard/{environment}/events",
            developer,
            get(events::show),
        ),
        view(
            "/dashboard/{environment}/events/stream",
            developer,
            get(events::stream),
        ),
        form(
            "/dashboard/{environment}/clock",
            developer,
            get(clock::show).post(clock::advance),
        ),
    ];
    routes.extend(tasks::routes());
    routes.extend(review_routes());
    routes.extend(approval_routes());
    routes.extend(keys::routes());
    routes.extend(money::routes());
    routes.extend(webhook_routes());
    routes
}

fn review_routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        view(
            "/dashboard/{environment}/review",
            developer,
            get(review::show),
        ),
        form(
            "/dashboard/{environment}/review/{task}/{proof}/approve",
            developer,
            post(review::approve),
        ),
        form(
            "/dashboard/{environment}/review/{task}/{proof}/reject",
            developer,
            post(review::reject),
        ),
    ]
}

fn approval_routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        view(
            "/dashboard/{environment}/approvals",
            developer,
            get(approvals::show),
        ),
        form(
            "/dashboard/{environment}/approvals/{task}/approve",
            developer,
            post(approvals::approve),
        ),
        form(
            "/dashboard/{environment}/approvals/{task}/refuse",
            developer,
            post(approvals::refuse),
        ),
    ]
}

fn webhook_routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        form(
            "/dashboard/{environment}/webhook",
            developer,
            get(webhook::show).post(webhook::put),
        ),
        form(
            "/dashboard/{environment}/webhook/rotate",
            developer,
            post(webhook::rotate),
        ),
        form(
            "/dashboard/{environment}/webhook/remove",
            developer,
            post(webhook::remove),
        ),
        form(
            "/dashboard/{environment}/webhook/test",
            developer,
            post(webhook::test),
        ),
        form(
            "/dashboard/{environment}/webhook/recover",
            developer,
            post(webhook::recover),
        ),
        view(
            "/dashboard/{environment}/webhook/deliveries",
            developer,
            get(webhook::to_deliveries),
        ),
        view(
            "/dashboard/{environment}/webhook/deliveries/{id}",
            developer,
            get(webhook::delivery),
        ),
        form(
            "/dashboard/{environment}/webhook/deliveries/{id}/redeliver",
            developer,
            post(webhook::redeliver),
        ),
    ]
}
