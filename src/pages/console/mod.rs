//! The admins' console: the review queue, accounts, workers and tasks, and how the service runs.

mod again;
mod factor;
mod models;
mod office;
mod passkeys;
mod people;
mod queue;
mod running;
mod sign_in;

use axum::response::Redirect;
use axum::routing::{get, post};

use crate::pages::kit::route::{PageRoute, form, view};
use crate::pages::kit::session::Needs;

pub fn routes() -> Vec<PageRoute> {
    let mut routes = sign_in_and_queue();
    routes.extend(people_and_tasks());
    routes.extend(how_it_runs());
    routes
}

fn sign_in_and_queue() -> Vec<PageRoute> {
    let admin = Needs::Admin;
    vec![
        form(
            "/admin/sign-in",
            Needs::Nothing,
            get(sign_in::show).post(sign_in::sign_in),
        ),
        form(
            "/admin/sign-in/passkey",
            Needs::Nothing,
            post(sign_in::passkey),
        ),
        form("/admin/sign-out", admin, post(sign_in::sign_out)),
        form("/admin/again", admin, get(again::show).post(again::check)),
        form("/admin/again/passkey", admin, post(again::passkey)),
        form("/admin/again/passkey/options", admin, post(again::options)),
        form(
            "/admin/passkeys",
            admin,
            get(passkeys::show).post(passkeys::add),
        ),
        form("/admin/passkeys/options", admin, post(passkeys::options)),
        form("/admin/passkeys/codes", admin, post(passkeys::new_codes)),
        form("/admin/passkeys/{id}/remove", admin, post(passkeys::remove)),
        view("/admin", admin, get(async || Redirect::to("/admin/queue"))),
        view("/admin/queue", admin, get(queue::list::show)),
        form("/admin/queue/next", admin, post(queue::next::claim)),
        view("/admin/queue/{id}", admin, get(queue::item::show)),
        view("/admin/queue/{id}/split", admin, get(queue::split::show)),
        form("/admin/queue/{id}/{action}", admin, post(queue::act::act)),
    ]
}

fn people_and_tasks() -> Vec<PageRoute> {
    use people::{accounts, tasks, workers};
    let admin = Needs::Admin;
    vec![
        view("/admin/accounts", admin, get(accounts::list)),
        view("/admin/accounts/{id}", admin, get(accounts::show)),
        form("/admin/accounts/{id}/{action}", admin, post(accounts::act)),
        view("/admin/workers", admin, get(workers::list)),
        view("/admin/workers/{id}", admin, get(workers::show)),
        form("/admin/workers/{id}/{action}", admin, post(workers::act)),
        view("/admin/tasks", admin, get(tasks::list)),
        view("/admin/tasks/{id}", admin, get(tasks::show)),
    ]
}

fn how_it_runs() -> Vec<PageRoute> {
    use running::{audit, health, jobs, notices, reports};
    let admin = Needs::Admin;
    vec![
        view("/admin/jobs", admin, get(jobs::show)),
        form("/admin/jobs/retry", admin, post(jobs::retry)),
        view("/admin/notices", admin, get(notices::show)),
        view("/admin/audit", admin, get(audit::show)),
        view("/admin/reports", admin, get(reports::show)),
        view("/admin/reports.csv", admin, get(reports::csv)),
        view("/admin/health", admin, get(health::show)),
        form(
            "/admin/factor",
            admin,
            get(factor::show).post(factor::begin),
        ),
        form("/admin/factor/confirm", admin, post(factor::confirm)),
        form("/admin/factor/codes", admin, post(factor::new_codes)),
        form("/admin/factor/off", admin, post(factor::turn_off)),
    ]
}
