//! /admin/health

use askama::Template;
use axum::response::Response;

use crate::api::inside::Refused;
use crate::pages::console::office::{Office, Place};
use crate::pages::kit::html::ok;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::duration;

#[derive(Template)]
#[template(path = "console/health.html")]
struct Health {
    shell: Shell,
    /// What it is, whether it is fine, and how it stands.
    lines: Vec<(&'static str, bool, String)>,
}

/// What waits longer than this is worth a look.
const SLOW_SECONDS: u64 = 60;

pub async fn show(office: Office) -> Result<Response, Refused> {
    let app = &office.pages.app;
    let health = app.monitoring.health().await;
    let fine = |trouble: &str| !health.troubles.contains(&trouble);
    let says = |is_fine: bool| {
        if is_fine {
            "answers"
        } else {
            "does not answer"
        }
        .to_owned()
    };
    let (database, files) = (
        fine("the database does not answer"),
        fine("file storage does not answer"),
    );
    let lag = |seconds: u64| match seconds {
        0 => "nothing waits".to_owned(),
        seconds => format!("the oldest waits since {}", duration(seconds)),
    };
    let scheduler = app.scheduler.lag().as_secs();
    let mut lines = vec![
        ("Database", database, says(database)),
        ("File storage", files, says(files)),
        (
            "Payment processor",
            true,
            app.payments.processor.name().to_string(),
        ),
        (
            "Deadlines of tasks",
            scheduler < SLOW_SECONDS,
            lag(scheduler),
        ),
    ];
    if let Some(backlog) = &health.backlog {
        let (due, oldest) = (backlog.jobs_due, backlog.oldest_job_seconds);
        lines.push((
            "Jobs",
            oldest < SLOW_SECONDS,
            format!("{due} due, {}", lag(oldest)),
        ));
        let dead = backlog.dead_jobs;
        lines.push(("Dead jobs", dead == 0, dead.to_string()));
        lines.push(("Mails", true, format!("{} waiting", backlog.waiting_mails)));
        let (pending, late) = (backlog.pending_deliveries, backlog.webhook_lag_seconds);
        let text = format!("{pending} pending, {}", lag(late));
        lines.push(("Webhooks", late < SLOW_SECONDS, text));
    }
    Ok(ok(&Health {
        shell: office.shell("Health", Place::Health),
        lines,
    }))
}
