//! `legwork account create-key` and `legwork account invite`.

use legwork::ambient::Clock;
use legwork::domain::AdminRole;
use serde_json::{Value, json};

use super::mails::sign_up;
use crate::support::{Client, Command, PASSWORD, TestApp, on_both_engines};

on_both_engines!(
    a_command_makes_a_key_for_an_account,
    an_invitation_sets_a_password_once,
    a_claimed_address_names_an_account_only_if_one_claims_it,
    commands_find_people_by_the_address_they_alone_claim,
    an_operator_helps_a_worker_who_forgot_the_password,
);

fn open(app: &TestApp, email: &str) -> Value {
    let words = [
        "account", "create", "--email", email, "--name", "Ada", "--json",
    ];
    let account = Command::new(&words).on(&app.database).succeed();
    serde_json::from_str(&account).unwrap()
}

async fn a_command_makes_a_key_for_an_account(app: TestApp) {
    let account = open(&app, "ada@example.com");
    for environment in ["live", "test"] {
        let words = [
            "account",
            "create-key",
            "--email",
            "Ada@example.com",
            "--environment",
            environment,
            "--json",
        ];
        let made = Command::new(&words).on(&app.database).succeed();
        let made: Value = serde_json::from_str(&made).unwrap();
        assert_eq!(made["account_id"], account["id"]);
        assert_eq!(made["environment"], environment);
        let client = Client::new(app.address, made["key"].as_str());
        client.get("/v1/account").await.expect(200);
    }
    let words = [
        "account",
        "create-key",
        "--email",
        "nobody@example.com",
        "--environment",
        "live",
    ];
    let failed = Command::new(&words).on(&app.database).fail();
    assert!(failed.contains("there is no account"), "{failed}");
}

async fn an_invitation_sets_a_password_once(app: TestApp) {
    let created = open(&app, "ada@example.com");
    let invited = created["invitation_url"].as_str().unwrap();
    assert!(
        invited.starts_with("http://127.0.0.1:8080/invite/"),
        "{invited}"
    );
    let invite = || {
        let words = [
            "account",
            "invite",
            "--email",
            "ada@example.com",
            "--public-url",
            "https://legwork.example",
        ];
        let printed = Command::new(&words).on(&app.database).succeed();
        let link = printed.lines().next().unwrap().to_owned();
        let path = link.strip_prefix("https://legwork.example");
        path.unwrap().to_owned()
    };
    let (void, path) = (invite(), invite());
    assert!(path.starts_with("/invite/"), "{path}");
    // The command ran by the machine's clock.
    app.clock.move_to(Clock::system().now());
    let shown = app.client().get(&path).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    let expired = app.client().get(&void).await;
    assert_eq!(expired.status, 410);
    let body = json!({"token": path.rsplit_once('/').unwrap().1, "password": PASSWORD});
    let set = "/v1/accounts/password_reset/confirm";
    app.client().post(set, &body).await.expect(200);
    let again = app.client().post(set, &body).await;
    again.expect_error(410, "LINK_EXPIRED");
    let lines = "SELECT action FROM audit_log WHERE action LIKE 'account.%' ORDER BY number";
    let lines = app.database.column(lines).await;
    let expected = [
        "account.created",
        "account.invited",
        "account.invited",
        "account.invited",
        "account.password_set",
    ];
    assert_eq!(lines, expected);
}

async fn a_claimed_address_names_an_account_only_if_one_claims_it(app: TestApp) {
    let words = [
        "account",
        "create-key",
        "--email",
        "ada@example.com",
        "--environment",
        "test",
    ];
    let first = sign_up(&app, "ada@example.com").await;
    Command::new(&words).on(&app.database).succeed();
    sign_up(&app, "ada@example.com").await;
    let failed = Command::new(&words).on(&app.database).fail();
    let id = first["account"]["id"].as_str().unwrap();
    assert!(failed.contains(id), "{failed}");
}

async fn commands_find_people_by_the_address_they_alone_claim(app: TestApp) {
    let app = app.sending_mail().await;
    let sign_up_worker = async || {
        let body = json!({"email": "grace@example.com", "password": PASSWORD, "name": "Grace"});
        app.client().post("/v1/workers", &body).await.expect(201)["worker"]["id"].clone()
    };
    sign_up(&app, "ada@example.com").await;
    let worker = sign_up_worker().await;
    let set_tier = ["account", "set-tier", "Ada@example.com", "--tier", "pro"];
    let commands: [&[&str]; 6] = [
        &set_tier,
        &["account", "suspend", "Ada@example.com"],
        &["account", "restore", "ada@example.com"],
        &["worker", "verify", "Grace@example.com"],
        &["worker", "suspend", "grace@example.com"],
        &["worker", "restore", "grace@example.com"],
    ];
    for words in commands {
        Command::new(words).on(&app.database).succeed();
    }
    // They are found, and have no factor.
    for (flag, email) in [
        ("--account", "ada@example.com"),
        ("--worker", "grace@example.com"),
    ] {
        let reset = ["second-factor", "reset", flag, email];
        let failed = Command::new(&reset).on(&app.database).fail();
        assert!(failed.contains("has no second factor"), "{failed}");
    }
    // With a second claim the address says nothing.
    sign_up(&app, "ada@example.com").await;
    sign_up_worker().await;
    for words in commands {
        let failed = Command::new(words).on(&app.database).fail();
        assert!(failed.contains("claim this address"), "{failed}");
    }
    let failed = Command::new(commands[3]).on(&app.database).fail();
    assert!(failed.contains(worker.as_str().unwrap()), "{failed}");
    let delete = ["account", "delete", "ada@example.com", "--yes"];
    let failed = Command::new(&delete).on(&app.database).fail();
    assert!(failed.contains("claim this address"), "{failed}");
}

async fn an_operator_helps_a_worker_who_forgot_the_password(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    let sign_in = async |password: &str| {
        let body = json!({"email": worker.email, "password": password});
        app.client().post("/v1/workers/sessions", &body).await
    };
    let reset = async |link: &str, password: &str| {
        let body = json!({"token": link.rsplit_once('/').unwrap().1, "password": password});
        let path = "/v1/workers/password_reset/confirm";
        app.client().post(path, &body).await
    };
    let email = worker.email.to_uppercase();
    let words = ["worker", "reset-link", &email];
    let printed = Command::new(&words).on(&app.database).succeed();
    let link = printed.lines().next().unwrap();
    assert!(link.starts_with("http://127.0.0.1:8080/reset/"), "{link}");
    // The command ran by the machine's clock.
    app.clock.move_to(Clock::system().now());
    reset(link, "staple battery horse").await.expect(200);
    sign_in("staple battery horse").await.expect(201);
    let path = format!("/v1/admin/workers/{}/reset_link", worker.id);
    let operator = app.admin_with(AdminRole::Operator).await;
    let refused = operator.post(&path, &json!({})).await;
    refused.expect_error(403, "FORBIDDEN");
    let owner = app.admin().await;
    let void = owner.post(&path, &json!({})).await.expect(201);
    let made = owner.post(&path, &json!({})).await.expect(201);
    let void = reset(void["url"].as_str().unwrap(), "battery staple horse").await;
    void.expect_error(410, "LINK_EXPIRED");
    let url = made["url"].as_str().unwrap();
    reset(url, "battery staple horse").await.expect(200);
    sign_in("battery staple horse").await.expect(201);
    assert!(
        !app.database
            .everything()
            .await
            .contains(url.rsplit_once('/').unwrap().1)
    );
    let unknown = format!("/v1/admin/workers/{}/reset_link", "0".repeat(32));
    let unknown = owner.post(&unknown, &json!({})).await;
    unknown.expect_error(404, "WORKER_NOT_FOUND");
    let lines = "SELECT made_by FROM audit_log WHERE action = 'worker.reset_link_made'";
    assert_eq!(app.database.column(lines).await.len(), 3);
}
