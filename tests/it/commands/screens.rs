//! What people see: the commands on a terminal of 80 columns.

use std::io::{Read, Write};
use std::process::{Command, Stdio};

use serde_json::json;

use super::User;
use crate::mandates::{Limited, with};
use crate::support::{TestApp, in_time, on_sqlite, storefront};

on_sqlite!(
    ten_commands_fit_a_terminal,
    ctrl_c_answers_a_question,
    a_wrong_answer_is_asked_for_again,
    a_key_is_not_shown_while_it_is_typed,
    what_a_task_waits_for_is_told
);

/// A command on a terminal, which `script` makes.
fn on_a_terminal(user: &User, arguments: &[&str]) -> Command {
    let quoted = arguments.iter().map(|word| format!("'{word}'"));
    let words = quoted.collect::<Vec<_>>().join(" ");
    let program = env!("CARGO_BIN_EXE_legwork");
    // One that waits for ever must not keep the others from ending.
    let mut command = Command::new("timeout");
    command
        .args(["-s", "KILL", "120", "script"])
        .args(["-qec", &format!("stty cols 80; '{program}' {words}")])
        .arg("/dev/null")
        .env("XDG_CONFIG_HOME", user.home.path())
        .env_remove("LEGWORK_SERVER")
        .env_remove("LEGWORK_KEY")
        .stdin(Stdio::null());
    command
}

/// What a command shows.
async fn screen(user: &User, arguments: &[&str]) -> String {
    let mut command = on_a_terminal(user, arguments);
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
        (&["switch", "default"], "You are "),
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

/// What a command shows whose question is answered, and its exit code.
async fn answered(
    user: &User,
    arguments: &[&str],
    question: &str,
    answer: String,
) -> (String, i32) {
    let mut command = on_a_terminal(user, arguments);
    let question = question.to_owned();
    let run = tokio::task::spawn_blocking(move || {
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (mut shown, mut more) = (String::new(), [0; 1_024]);
        while !shown.contains(&question) {
            let length = output.read(&mut more).unwrap();
            assert!(length > 0, "{shown}");
            shown.push_str(&String::from_utf8_lossy(&more[..length]));
        }
        input.write_all(answer.as_bytes()).unwrap();
        output.read_to_string(&mut shown).unwrap();
        (shown, child.wait().unwrap().code().unwrap())
    });
    in_time(run).await.unwrap()
}

async fn ctrl_c_answers_a_question(app: TestApp) {
    let developer = app.developer().await;
    let limited = Limited::in_test(&app, &developer, with("approval_above_cents", json!(0))).await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let lift = ["mandate", "lift", &limited.id];
    let ctrl_c = || "\u{3}".to_owned();
    let (shown, code) = answered(&user, &lift, "[y/N]", ctrl_c()).await;
    assert_eq!(code, 130, "{shown}");
    let (shown, code) = answered(&user, &["tasks", "create", "-i"], "title (", ctrl_c()).await;
    assert_eq!(code, 130, "{shown}");
    let (shown, code) = answered(&user, &["login"], "API key", ctrl_c()).await;
    assert_eq!(code, 130, "{shown}");
    user.json(&["mandate", "show", &limited.id]).await;
    let (shown, code) = answered(&user, &lift, "[y/N]", "y\n".to_owned()).await;
    assert_eq!(code, 0, "{shown}");
}

async fn a_wrong_answer_is_asked_for_again(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let given = ["--description=x", "--instructions=y", "--address=z"];
    let create = [&["tasks", "create", "-i"][..], &given].concat();
    let (shown, code) = answered(&user, &create, "title (", "\u{4}".to_owned()).await;
    assert_eq!(code, 1, "{shown}");
    assert!(shown.contains("the input has ended"), "{shown}");
    let (place, money) = ("Brooklyn\nNY\nnorth\n95\n40.7\n-73.9\n", "1\n2500\n");
    let left_out = "\n".repeat(5);
    let typed = format!("\nPhoto\nmagic\nphotography\n{place}{money}{left_out}");
    let (shown, code) = answered(&user, &create, "title (", typed).await;
    assert_eq!(code, 0, "{shown}");
    for said in [
        "title must not be empty",
        "category must be one of: photography",
        "latitude must be a number",
        "latitude must be between -90 and 90",
        "budget cents must be between",
        "$25.00",
    ] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

async fn a_key_is_not_shown_while_it_is_typed(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    let typed = format!("{}\n", developer.test_key);
    let login = ["login", "--server", &user.server];
    let (shown, code) = answered(&user, &login, "API key", typed).await;
    assert_eq!(code, 0, "{shown}");
    assert!(!shown.contains("svc_test_"), "{shown}");
    user.json(&["whoami"]).await;
}

async fn what_a_task_waits_for_is_told(app: TestApp) {
    let developer = app.developer().await;
    let limited = Limited::in_test(&app, &developer, with("approval_above_cents", json!(0))).await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let file = user.home.path().join("task.json");
    std::fs::write(&file, storefront().to_string()).unwrap();
    let create = ["tasks", "create", "--from", file.to_str().unwrap()];
    let limited = [&create[..], &["--key", &limited.key]].concat();
    let shown = screen(&user, &limited).await;
    assert!(shown.contains("It waits for an approval, until"), "{shown}");
    assert!(shown.contains("/dashboard/test/approvals"), "{shown}");
    let live = [&create[..], &["--live", "--key", &developer.live_key]].concat();
    let shown = screen(&user, &live).await;
    assert!(shown.contains("It waits for your payment: pay"), "{shown}");
    let second = user.json(&["keys", "create", "--name", "Second"]).await;
    user.json(&["keys", "revoke", second["id"].as_str().unwrap()])
        .await;
    let keys = screen(&user, &["keys", "list"]).await;
    let line = |name: &str| keys.lines().find(|line| line.ends_with(name)).unwrap();
    assert!(line("Second").contains("  revoked  "), "{keys}");
    assert!(line("First test key").contains("  active "), "{keys}");
}
