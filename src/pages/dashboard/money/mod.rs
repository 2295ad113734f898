//! What tasks cost: how they are paid for, the month, and its statement.

mod month;
mod payment;
mod statement;
mod usage;

pub use statement::{SoFar, so_far};

use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let developer = Needs::Developer;
    vec![
        form(
            "/dashboard/{environment}/payment",
            developer,
            get(payment::show).post(payment::put),
        ),
        form(
            "/dashboard/{environment}/payment/remove",
            developer,
            post(payment::remove),
        ),
        view(
            "/dashboard/{environment}/usage",
            developer,
            get(usage::show),
        ),
        view(
            "/dashboard/{environment}/usage/statement",
            developer,
            get(statement::show),
        ),
        view(
            "/dashboard/{environment}/usage/statement.csv",
            developer,
            get(statement::csv),
        ),
    ]
}
