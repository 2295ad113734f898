//! The owner's side from the command line: mandates, approvals, the log, and what agents' programs are told.

use serde_json::{Value, json};

use super::User;
use crate::mandates::{Limited, everything, task};
use crate::support::{TestApp, on_sqlite};

on_sqlite!(
    keys_are_limited_and_tasks_approved,
    a_file_that_cannot_be_changed_stops_no_other,
    programs_of_agents_are_told,
);

async fn keys_are_limited_and_tasks_approved(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let limited = Limited::in_test(&app, &developer, everything()).await;
    let id = limited.id.as_str();
    let set = [
        "mandate",
        "set",
        id,
        "--permissions",
        "read,create",
        "--max-task-cents",
        "5000",
        "--day-cents",
        "9000",
        "--categories",
        "photography",
        "--states",
        "NY,NJ",
        "--approval-above-cents",
        "3000",
    ];
    let mandate = user.json(&set).await;
    assert_eq!(mandate["permissions"], json!(["read", "create"]));
    assert_eq!(
        mandate["spending_limits"],
        json!([{"interval": "day", "cents": 9000}])
    );
    assert_eq!(mandate["states"], json!(["NY", "NJ"]));
    // Everything else stays when it is paused and goes on.
    let same = |mut mandate: Value| {
        for field in ["version", "updated_at", "paused", "status", "last_refused"] {
            mandate[field] = Value::Null;
        }
        mandate
    };
    let paused = user.json(&["mandate", "pause", id]).await;
    assert_eq!(
        (&paused["status"], same(paused.clone())),
        (&json!("paused"), same(mandate.clone()))
    );
    // So it is when other limits are set: a key that was stopped stays so.
    let again = user.run(&set).await;
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(said.contains("The key stays paused"), "{said}");
    let again: Value = serde_json::from_slice(&again.stdout).unwrap();
    assert_eq!(again["status"], "paused");
    let resumed = user.json(&["mandate", "resume", id]).await;
    assert_eq!(
        (&resumed["status"], same(resumed.clone())),
        (&json!("active"), same(mandate))
    );
    keys_are_made_with_a_mandate(&user).await;
    let own = user.json(&["mandate", "show", "--key", &limited.key]).await;
    assert_eq!(own["key_id"], id);

    let waiting = limited.create(4_000).await.expect(201);
    let first = waiting["id"].as_str().unwrap();
    let second = limited
        .client
        .post("/v1/tasks", &task(3_500))
        .await
        .expect(201);
    let second = second["id"].as_str().unwrap();
    let listed = user.json(&["approvals", "list"]).await;
    let mut ids: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|each| each["task_id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    let mut expected = [first, second];
    expected.sort_unstable();
    assert_eq!(ids, expected);
    // Nobody can be asked here, so nothing is done.
    for command in [
        ["approvals", "approve", first],
        ["approvals", "refuse", first],
        ["mandate", "lift", id],
    ] {
        let said = "legwork: there is no terminal to ask on: add --yes if you mean it\n";
        assert_eq!(user.refused(&command).await, (2, said.to_owned()));
    }
    assert_eq!(user.json(&["approvals", "list"]).await, listed);
    let approved = user.json(&["approvals", "approve", first, "--yes"]).await;
    assert_eq!(approved["status"], "approved");
    let refused = user.json(&["approvals", "refuse", second, "--yes"]).await;
    assert_eq!(refused["status"], "refused");
    assert_eq!(user.json(&["approvals", "list"]).await, json!([]));
    user.json(&["mandate", "lift", id, "--yes"]).await;
    let (code, said) = user.refused(&["mandate", "show", id]).await;
    assert!(code == 1 && said.contains("MANDATE_NOT_FOUND"), "{said}");

    let tail = ["logs", "tail", "--no-follow", "--failed"];
    let output = user.run(&tail).await;
    let lines = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["code"], &last["method"]),
        (&json!("MANDATE_NOT_FOUND"), &json!("GET"))
    );
}

async fn keys_are_made_with_a_mandate(user: &User) {
    let make = ["keys", "create", "--name", "Agent"];
    let limits = ["--day-cents", "9000", "--area", "40.7,-73.9,25"];
    // A limit alone would limit nothing.
    let (code, said) = user.refused(&[&make[..], &limits].concat()).await;
    assert!(code == 2 && said.contains("--permissions"), "{said}");
    let permitted = ["--permissions", "read,create"];
    let made = user.json(&[&make[..], &limits, &permitted].concat()).await;
    let mandate = user
        .json(&["mandate", "show", made["id"].as_str().unwrap()])
        .await;
    assert_eq!(mandate["permissions"], json!(["read", "create"]));
    let area = json!({"latitude": 40.7, "longitude": -73.9, "radius_km": 25.0});
    assert_eq!(mandate["area"], area);
}

async fn programs_of_agents_are_told(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let home = user.home.path().to_str().unwrap().to_owned();
    let file = user.home.path().join(".cursor/mcp.json");
    let set_up = async |arguments: &[&str]| {
        let mut all = vec!["agent", "setup"];
        all.extend_from_slice(arguments);
        let command = user
            .command(&all)
            .env("HOME", &home)
            .current_dir(user.home.path());
        let output = tokio::task::spawn_blocking(|| command.output())
            .await
            .unwrap();
        let told = String::from_utf8(output.stdout).unwrap();
        (
            output.status.code().unwrap(),
            told,
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, _, said) = set_up(&["--yes"]).await;
    assert!(
        code == 2 && said.starts_with("legwork: no program for agents is found here"),
        "{said}"
    );
    // Without a terminal and without --yes, it shows what it would do.
    let (code, told, said) = set_up(&["cursor"]).await;
    assert!(
        code == 2 && said.contains("--yes") && told.contains("+ "),
        "{told}{said}"
    );
    assert!(!file.exists());
    // What is there stays.
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let before = json!({"mcpServers": {"other": {"url": "https://x.example"}}, "theme": "dark"});
    std::fs::write(&file, before.to_string()).unwrap();
    let (code, _, said) = set_up(&["--yes"]).await;
    assert_eq!((code, said.as_str()), (0, ""));
    let written =
        || -> Value { serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap() };
    let after = written();
    assert_eq!(
        (&after["theme"], &after["mcpServers"]["other"]),
        (&before["theme"], &before["mcpServers"]["other"])
    );
    assert_eq!(after["mcpServers"]["legwork"]["args"], json!(["mcp"]));
    assert_eq!(
        after["mcpServers"]["legwork"]["env"],
        Value::Null,
        "no key is written"
    );
    let (_, told, _) = set_up(&["cursor", "--yes"]).await;
    assert!(told.contains("nothing to change"), "{told}");
    // A live key is written only if it is meant.
    let (code, _, said) = set_up(&["cursor", "--yes", "--key", &developer.live_key]).await;
    assert!(code == 2 && said.contains("--live"), "{said}");
    assert_eq!(written(), after);
    // The program has another environment, so what was used of this one is written.
    let command = user
        .command(&["agent", "setup", "cursor", "--yes"])
        .env("HOME", &home)
        .env("LEGWORK_KEY", &developer.test_key)
        .current_dir(user.home.path());
    let output = tokio::task::spawn_blocking(|| command.output())
        .await
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let key = written()["mcpServers"]["legwork"]["env"]["LEGWORK_KEY"].clone();
    assert_eq!(key, json!(developer.test_key));
    // Comments would be lost: such a file is left alone.
    std::fs::write(&file, "{} // mine").unwrap();
    let (code, _, said) = set_up(&["cursor", "--yes"]).await;
    assert!(
        code == 1 && said.contains("Add this to \"mcpServers\" yourself"),
        "{said}"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{} // mine");
    let (code, _, said) = set_up(&["vscode", "--yes", "--key", &developer.test_key]).await;
    assert!(code == 0 && said.contains("git would take it"), "{said}");
    let project = std::fs::read_to_string(user.home.path().join(".vscode/mcp.json")).unwrap();
    let project: Value = serde_json::from_str(&project).unwrap();
    let server = &project["servers"]["legwork"];
    assert_eq!(
        (&server["type"], &server["env"]["LEGWORK_KEY"]),
        (&json!("stdio"), &json!(developer.test_key))
    );
}

async fn a_file_that_cannot_be_changed_stops_no_other(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let home = user.home.path();
    for folder in [".cursor", ".codeium/windsurf", ".gemini"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    std::fs::write(home.join(".cursor/mcp.json"), "// c").unwrap();
    let command = user
        .command(&["agent", "setup", "--yes", "--key", &developer.test_key])
        .env("HOME", home.to_str().unwrap())
        .current_dir(home);
    let run = tokio::task::spawn_blocking(|| command.output());
    let output = run.await.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.starts_with("legwork: Cursor: "), "{said}");
    assert!(said.ends_with("legwork: not set up: Cursor\n"), "{said}");
    assert!(!said.contains(&developer.test_key), "{said}");
    for file in [".codeium/windsurf/mcp_config.json", ".gemini/settings.json"] {
        let written = std::fs::read_to_string(home.join(file)).unwrap();
        assert!(written.contains("\"legwork\""), "{file}: {written}");
    }
}

#[test]
fn shells_complete_every_command() {
    let user = User::at(String::new());
    for (shell, sign) in [
        ("bash", "_legwork()"),
        ("zsh", "#compdef legwork"),
        ("fish", "complete -c legwork"),
    ] {
        let script = user.command(&["completions", shell]).succeed();
        assert!(script.contains(sign), "{shell}");
        for word in ["approvals", "mandate", "no-follow"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    assert!(
        user.command(&["completions", "tcsh"])
            .fail()
            .contains("bash")
    );
}
