//! `legwork account create-key` and `legwork account invite`.

use legwork::ambient::Clock;
use serde_json::{Value, json};

use super::mails::sign_up;
use crate::support::{Client, Command, PASSWORD, TestApp, on_both_engines};

on_both_engines!(
    a_command_makes_a_key_for_an_account,
    an_invitation_sets_a_password_once,
    a_claimed_address_names_an_account_only_if_one_claims_it,
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
    open(&app, "ada@example.com");
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
