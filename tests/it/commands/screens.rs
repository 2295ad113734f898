//! What people see: the commands on a terminal of 80 columns.

use std::process::{Command, Stdio};

use serde_json::json;

use super::User;
use crate::mandates::{Limited, with};
use crate::support::{TestApp, in_time, on_sqlite};

on_sqlite!(ten_commands_fit_a_terminal);

/// What a command shows on a terminal. `script` makes one.
async fn screen(user: &User, arguments: &[&str]) -> String {
    let quoted = arguments.iter().map(|word| format!("'{word}'"));
    let words = quoted.collect::<Vec<_>>().join(" ");
    let program = env!("CARGO_BIN_EXE_legwork");
    let mut command = Command::new("script");
    command
        .args(["-qec", &format!("stty cols 80; '{program}' {words}")])
        .arg("/dev/null")
        .env("XDG_CONFIG_HOME", user.home.path())
        .env_remove("LEGWORK_SERVER")
        .env_remove("LEGWORK_KEY")
        .stdin(Stdio::null());
    let run = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = in_time(run).await.unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{arguments:?}: {shown}");
    shown.replace('\r', "")
}

async fn ten_commands_fit_a_terminal(app: TestApp) {
    let developer = app.developer().await;
    let limited = Limited::in_test(&app, &developer, with("approval_above_cents", json!(0))).await;
    limited.create(4_000).await.expect(201);
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let task = developer.create_task().await;
    let id = task["id"].as_str().unwrap();
    developer
        .test
        .get(&format!("/v1/tasks/{id}/proofs/{id}/evidence"))
        .await
        .expect(404);
    let quote = [
        "tasks",
        "quote",
        "--title",
        "Photo",
        "--description",
        "x",
        "--category",
        "photography",
        "--city",
        "Brooklyn",
        "--state",
        "NY",
        "--latitude",
        "40.7",
        "--longitude",
        "-73.9",
        "--budget-cents",
        "2500",
    ];
    for (arguments, says) in [
        (&["whoami"][..], "environment  test"),
        (
            &["trigger", "task.completed"],
            "task.completed has happened.",
        ),
        (&["tasks", "list"], "BUDGET  TITLE"),
        (&["tasks", "get", id], "$25.00"),
        (&["tasks", "watch", id, "--until", "funded"], "is funded"),
        (&quote, "mandate.verdict"),
        (&["events", "list"], "task.proof_submitted"),
        (&["keys", "list"], "First test key"),
        (&["logs", "tail", "--no-follow"], "PROOF_NOT_FOUND"),
        (&["approvals", "list"], "TASK"),
        (&["mandate", "show", &limited.id], "permissions"),
    ] {
        let shown = screen(&user, arguments).await;
        assert!(shown.contains(says), "{arguments:?}: {shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
            assert!(!line.contains(char::is_control), "{arguments:?}: {line:?}");
        }
    }
}
