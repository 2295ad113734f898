//! Profiles, and what is said when something is missing or wrong.

use std::os::unix::fs::PermissionsExt;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use serde_json::json;

use super::User;
use crate::support::{TestApp, on_sqlite};

on_sqlite!(a_profile_is_kept_for_its_owner_alone, a_limited_key_logs_in,);

async fn a_limited_key_logs_in(app: TestApp) {
    let developer = app.developer().await;
    let body =
        json!({"name": "agent", "environment": "test", "mandate": {"permissions": ["read"]}});
    let made = developer.test.post("/v1/account/keys", &body).await;
    let made = made.expect(201);
    let user = User::of(&app);
    user.log_in(made["key"].as_str().unwrap()).await;
    let me = user.json(&["whoami"]).await;
    assert_eq!(
        (&me["key_id"], &me["mandate"]),
        (&made["id"], &json!("active"))
    );
    assert!(user.run(&["tasks", "list"]).await.status.success());
}

async fn a_profile_is_kept_for_its_owner_alone(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let file = user.home.path().join("legwork/profiles.json");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&file), 0o600);
    assert_eq!(mode(file.parent().unwrap()), 0o700);
    let me = user.json(&["whoami"]).await;
    assert_eq!(me["id"], developer.account_id.as_str());
    assert_eq!(me["environment"], "test");
    assert!(!me.to_string().contains(&developer.test_key));

    // Nothing is spent by accident: live needs a key of its own, and the flag.
    let (code, said) = user.refused(&["tasks", "list", "--live"]).await;
    assert_eq!(
        (code, said.as_str()),
        (
            2,
            "legwork: this profile has no live key: run `legwork login --live`\n"
        )
    );
    let live = ["login", "--key", &developer.live_key];
    assert_eq!(user.refused(&live).await.0, 2);
    let (code, said) = user
        .refused(&["whoami", "--key", &developer.live_key])
        .await;
    assert_eq!((code, said.contains("add --live")), (2, true), "{said}");
    // A space that was copied along changes nothing of that.
    let spaced = format!(" {}\t", developer.live_key);
    for command in [&["tasks", "list"][..], &["login"], &["mcp"]] {
        let arguments = [command, &["--server", &user.server, "--key", &spaced]].concat();
        let (code, said) = user.refused(&arguments).await;
        assert_eq!((code, said.contains("add --live")), (2, true), "{said}");
    }
    let added = user.run(&[&live[..], &["--live"]].concat()).await;
    assert!(added.status.success());
    assert_eq!(
        user.json(&["whoami", "--live"]).await["environment"],
        "live"
    );
    assert_eq!(user.json(&["whoami"]).await["environment"], "test");

    let other = [
        "login",
        "--profile",
        "other",
        "--key",
        &developer.test_key,
        "--server",
        &user.server,
    ];
    let logged_in = user.json(&other).await;
    assert_eq!(
        (&logged_in["profile"], &logged_in["environment"]),
        (&json!("other"), &json!("test"))
    );
    let switched = user.json(&["switch", "default", "--json"]).await;
    let expected =
        json!({"account": logged_in["account"], "server": user.server, "profile": "default"});
    assert_eq!(switched, expected);
    let (code, said) = user.refused(&["switch", "nobody"]).await;
    assert_eq!(
        (code, said.as_str()),
        (
            2,
            "legwork: there is no profile nobody; there is default, other\n"
        )
    );

    // A key that the server does not know.
    for command in [&["whoami"][..], &["tasks", "list"], &["listen"]] {
        let wrong = [command, &["--key", "svc_test_wrong"]].concat();
        let (code, said) = user.refused(&wrong).await;
        assert!(code == 1 && said.contains("Run `legwork login`"), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }

    // A flag and a variable go before the profile.
    let elsewhere = "http://127.0.0.1:1";
    let key = developer.test_key.as_str();
    let there = ["whoami", "--server", elsewhere, "--key", key];
    assert_eq!(user.refused(&there).await.0, 3);
    let there = user.command(&["whoami"]).env("LEGWORK_SERVER", elsewhere);
    let there = there.env("LEGWORK_KEY", key);
    let output = tokio::task::spawn_blocking(|| there.output());
    assert_eq!(output.await.unwrap().status.code(), Some(3));
    // The key that is kept is for the server that it is kept with.
    let (code, said) = user.refused(&there_without_a_key(elsewhere)).await;
    assert!(
        code == 2 && said.contains("give a key with --key"),
        "{said}"
    );
    let there = user.command(&["whoami"]).env("LEGWORK_SERVER", elsewhere);
    let output = tokio::task::spawn_blocking(|| there.output());
    assert_eq!(output.await.unwrap().status.code(), Some(2));
    let same = format!("{}/", user.server);
    user.json(&there_without_a_key(&same)).await;

    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, said) = user.refused(&["whoami"]).await;
    assert!(code == 2 && said.contains("chmod 600"), "{said}");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    // Nobody works with another account without having said so.
    let told = user.json(&["logout"]).await;
    let expected = json!({"forgotten": ["default"], "profiles": ["other"], "current": null});
    assert_eq!(told, expected);
    let (code, said) = user.refused(&["whoami"]).await;
    assert!(code == 2 && said.contains("not logged in"), "{said}");
    user.json(&["whoami", "--profile", "other"]).await;
    let told = user.json(&["logout", "--all"]).await;
    assert_eq!(told["forgotten"], json!(["other"]));
    assert!(!std::fs::read_to_string(&file).unwrap().contains("svc_"));
}

fn there_without_a_key(server: &str) -> [&str; 3] {
    ["whoami", "--server", server]
}

/// A web server that is not Legwork: whatever is asked, it shows a page.
async fn other_server(status: &'static str) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let head = "content-type: text/html\r\ncontent-length: 5\r\nconnection: close";
            let answer = format!("HTTP/1.1 {status}\r\n{head}\r\n\r\nhello");
            let mut asked = [0; 4_096];
            let _ = connection.read(&mut asked).await;
            let _ = connection.write_all(answer.as_bytes()).await;
        }
    });
    url
}

#[test]
fn another_server_is_not_taken_for_legwork() {
    crate::support::runtime().block_on(async {
        for status in ["404 Not Found", "200 OK", "502 Bad Gateway"] {
            let user = User::at(other_server(status).await);
            let to = ["--key", "svc_test_x", "--server", &user.server];
            for command in [
                &["login"][..],
                &["whoami"],
                &["tasks", "list"],
                &["listen"],
                &["trigger", "task.created"],
                &["logs", "tail"],
            ] {
                let (code, said) = user.refused(&[command, &to].concat()).await;
                assert!(code == 3 && said.contains("as Legwork does"), "{said}");
                assert!(said.contains("See --server"), "{said}");
                assert_eq!(said.lines().count(), 1, "{said}");
            }
            assert_eq!(std::fs::read_dir(user.home.path()).unwrap().count(), 0);
        }
    });
}

/// Each is one line that says what to do, and nothing is done.
#[test]
fn what_is_wrong_is_said_in_one_line() {
    let runtime = crate::support::runtime();
    runtime.block_on(async {
        let user = User::at("http://127.0.0.1:1".to_owned());
        let url = ["--server", "http://127.0.0.1:1"];
        for (arguments, code, says) in [
            (
                vec!["tasks", "list"],
                2,
                "you are not logged in: run `legwork login`",
            ),
            (
                vec!["login"],
                2,
                "there is no terminal to ask for the key on",
            ),
            (vec!["mandate", "show"], 2, "you are not logged in"),
            (vec!["logs", "tail"], 2, "you are not logged in"),
            (vec!["agent", "setup", "cursor"], 2, "you are not logged in"),
            (
                vec!["approvals", "list", "--key", "svc_test_x", url[0], url[1]],
                3,
                "cannot be reached",
            ),
            (
                vec!["login", "--key", "svc_test_x", url[0], url[1]],
                3,
                "cannot be reached",
            ),
            (
                vec!["whoami", "--key", "svc_test_x", "--server", "localhost"],
                2,
                "is not a URL of a server",
            ),
            (vec!["whoami", "--key", "svc_live_x"], 2, "add --live"),
            (
                vec!["mcp", "--key", "svc_test_x"],
                1,
                "A client starts this command: see `legwork agent setup`",
            ),
            (vec!["logout"], 2, "there is no profile yet"),
            (
                vec!["tasks", "create", "--key", "svc_test_x"],
                2,
                "--title is missing",
            ),
            (
                vec!["tasks", "create", "-i", "--key", "svc_test_x"],
                2,
                "there is no terminal to ask on",
            ),
            (
                vec![
                    "tasks",
                    "create",
                    "--from",
                    "/nowhere",
                    "--key",
                    "svc_test_x",
                ],
                2,
                "/nowhere",
            ),
            (
                vec![
                    "tasks",
                    "create",
                    "--latitude",
                    "north",
                    "--key",
                    "svc_test_x",
                ],
                2,
                "takes degrees, not north",
            ),
            (
                vec![
                    "listen",
                    "--forward-to",
                    "localhost:3000",
                    "--key",
                    "svc_test_x",
                ],
                2,
                "--forward-to takes a URL",
            ),
            (
                vec!["trigger", "worker.verified", "--key", "svc_test_x"],
                2,
                "happens only in live",
            ),
        ] {
            let (exit, said) = user.refused(&arguments).await;
            assert_eq!(exit, code, "{arguments:?}: {said}");
            assert!(said.contains(says), "{arguments:?}: {said}");
            assert_eq!(said.lines().count(), 1, "{arguments:?}: {said}");
            assert!(said.starts_with("legwork: "), "{said}");
        }
        // Nothing was written.
        assert_eq!(std::fs::read_dir(user.home.path()).unwrap().count(), 0);
    });
}
