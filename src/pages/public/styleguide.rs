//! /styleguide: every component, in local mode.

use askama::Template;
use axum::extract::State;
use axum::response::Response;

use crate::api::inside::{Incoming, Refused};
use crate::domain::Environment;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::{NavLink, Shell, Switch};
use crate::pages::state::Pages;

#[derive(Template)]
#[template(path = "public/styleguide.html")]
struct Styleguide {
    shell: Shell,
    form: Form,
    statuses: &'static [&'static str],
    categories: &'static [&'static str],
}

const STATUSES: &[&str] = &[
    "pending",
    "posted",
    "in_progress",
    "proof_submitted",
    "completed",
    "cancelled",
];
const CATEGORIES: &[&str] = &["photography", "delivery"];

pub async fn show(State(pages): State<Pages>, incoming: Incoming) -> Result<Response, Refused> {
    if !pages.app.pages.local {
        return Err(Refused::not_found());
    }
    let mut form = Form::with([("title", "Photograph a storefront".to_owned())]);
    form.add_fault("city", "must not be empty");
    form.problem = Some("The month has no room for another task.".to_owned());
    Ok(ok(&Styleguide {
        shell: shell(&pages, &incoming),
        form,
        statuses: STATUSES,
        categories: CATEGORIES,
    }))
}

fn shell(pages: &Pages, incoming: &Incoming) -> Shell {
    let link = |label, is_current, count| NavLink {
        href: "/styleguide".to_owned(),
        label,
        is_current,
        count,
    };
    Shell {
        title: "Style guide".to_owned(),
        app: "style guide",
        home: "/".to_owned(),
        environment: Some(Switch {
            current: Environment::Test,
            other: "/styleguide".to_owned(),
        }),
        nav: vec![
            link("Components", true, None),
            link("Waiting", false, Some(3)),
        ],
        who: "ada@example.com".to_owned(),
        account: "",
        sign_out: "/styleguide",
        banner: pages.banner(),
        request_id: incoming.request_id().to_owned(),
        notice: Some("Saved."),
        scripts: Vec::new(),
        now: pages.app.clock.now(),
        real_now: pages.app.clock.now(),
    }
}
