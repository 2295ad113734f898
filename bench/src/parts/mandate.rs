//! Creating test tasks with a limited key, compared with an unlimited one.

use serde_json::json;

use crate::Result;
use crate::limit::{Limit, Named, all_in_turns};
use crate::load::http;
use crate::options::Options;
use crate::report::{Figure, Report};
use crate::test_bed::{TestBed, creation};

/// A limited key takes at most 1.15 of the time.
const LEAST: f64 = 1.0 / 1.15;

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    let address = bed.server()?.address;
    let mut requests = Vec::new();
    for account in &bed.accounts {
        let new = json!({"name": "Agent", "environment": "test", "mandate": mandate()});
        let request = http::post("/v1/account/keys", &account.test_key, &new.to_string());
        let made = http::fetch_json(address, &request, 201)?;
        let key = made["key"].as_str().ok_or("the key is not in the answer")?;
        requests.push(creation(key));
    }
    let mut limited = Named {
        name: "with a mandate",
        load: bed.load(requests, 201)?,
    };
    let mut unlimited = Named {
        name: "without a mandate",
        load: bed.creations()?,
    };
    let mut all: [&mut dyn Limit; 2] = [&mut limited, &mut unlimited];
    let samples = all_in_turns(options, "create task with a mandate", &mut all)?;
    let name = "create task with a limited key";
    let figure = Figure::throughput(bed.name(), name, &samples[0]);
    report.add(figure.at_least(LEAST, "an unlimited key", &samples[1]));
    Ok(())
}

/// Every limit is counted, and none is ever reached.
fn mandate() -> serde_json::Value {
    let cents = 1_000_000_000_000_i64;
    json!({
        "permissions": ["read", "create"],
        "max_task_cents": 10_000,
        "spending_limits": [
            {"interval": "day", "cents": cents},
            {"interval": "month", "cents": cents},
            {"interval": "total", "cents": cents},
        ],
        "max_open_tasks": 1_000_000,
        "max_tasks_per_day": 1_000_000,
        "categories": ["photography"],
        "states": ["NY"],
    })
}
