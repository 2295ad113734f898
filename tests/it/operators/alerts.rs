//! The rules for Prometheus and the dashboard for Grafana.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use legwork::monitoring::METRICS;
use serde_json::Value;

use crate::docs::markdown::{code, read, root, table};

fn promtool(arguments: &[&str]) {
    let output = Command::new("promtool")
        .args(arguments)
        .current_dir(root().join("deploy"))
        .output()
        .unwrap_or_else(|error| panic!("promtool: {error}; run scripts/with-peers cargo test"));
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}");
}

#[test]
fn prometheus_takes_the_rules() {
    promtool(&["check", "rules", "alerts.yml"]);
}

#[test]
fn alerts_fire_when_they_should_and_only_then() {
    promtool(&["test", "rules", "alerts-test.yml"]);
}

/// The metrics that a text names, without what a histogram appends.
fn named_metrics(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let metrics = words.filter(|word| word.starts_with("legwork_") || word.starts_with("process_"));
    let names = metrics.map(|word| {
        let bare = ["_bucket", "_sum", "_count"]
            .iter()
            .find_map(|end| word.strip_suffix(end));
        bare.unwrap_or(word).to_owned()
    });
    names.collect()
}

#[test]
fn rules_and_dashboard_name_metrics_that_exist() {
    let known: BTreeSet<_> = METRICS
        .iter()
        .map(|metric| metric.name.to_owned())
        .collect();
    for file in [
        "deploy/alerts.yml",
        "deploy/alerts-test.yml",
        "deploy/dashboard.json",
    ] {
        let named = named_metrics(&read(file));
        assert!(named.len() > 2, "{file}");
        let unknown: Vec<_> = named.difference(&known).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?}");
    }
}

/// An alert that nobody can act on is of no use.
#[test]
fn the_page_tells_what_to_do_for_every_alert() {
    let rules = read("deploy/alerts.yml");
    let mut known = BTreeMap::new();
    for rule in rules.split("- alert: ").skip(1) {
        let name = rule.lines().next().unwrap().trim();
        let (_, severity) = rule.split_once("severity: ").unwrap();
        known.insert(
            name.to_owned(),
            severity.split('}').next().unwrap().to_owned(),
        );
    }
    let rows = table(&read("docs/operating/alerts.md"), "alerts");
    let listed: BTreeMap<_, _> = rows
        .iter()
        .map(|row| (code(&row[0]).remove(0), row[1].clone()))
        .collect();
    assert_eq!(listed, known);
}

#[test]
fn every_panel_of_the_dashboard_has_a_place_and_a_query() {
    let dashboard: Value = serde_json::from_str(&read("deploy/dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let mut ids = BTreeSet::new();
    let mut queries = 0;
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        let place = &panel["gridPos"];
        assert!(
            place["x"].as_u64().unwrap() + place["w"].as_u64().unwrap() <= 24,
            "{panel}"
        );
        if panel["type"] != "row" {
            let targets = panel["targets"].as_array().unwrap();
            assert!(
                targets.iter().all(|target| target["expr"].is_string()),
                "{panel}"
            );
            queries += targets.len();
        }
    }
    assert!(queries > 20);
}
