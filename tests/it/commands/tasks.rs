//! A task's life from the command line.

use legwork_client::{EventType, Webhook};
use serde_json::json;

use super::User;
use crate::support::{TestApp, on_sqlite, storefront};

on_sqlite!(
    a_task_is_led_through_its_life,
    what_was_written_is_sent_or_refused,
    a_watch_says_that_it_waits_in_vain,
    every_event_can_be_triggered,
    keys_are_made_and_revoked
);

async fn a_task_is_led_through_its_life(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let file = user.home.path().join("task.json");
    std::fs::write(&file, storefront().to_string()).unwrap();
    let from = ["--from", file.to_str().unwrap()];

    let quote = user
        .json(&["tasks", "quote", from[0], from[1], "--budget-cents", "4000"])
        .await;
    assert_eq!(quote["budget_cents"], 4000);
    let redeem = ["tasks", "create", "--quote", quote["id"].as_str().unwrap()];
    let first = user.json(&redeem).await;
    assert_eq!(
        user.json(&redeem).await["id"],
        first["id"],
        "a quote is redeemed once"
    );

    let create = [
        "tasks",
        "create",
        from[0],
        from[1],
        "--metadata",
        "order=4711",
        "--idempotency-key",
        "4711",
    ];
    let task = user.json(&create).await;
    assert_eq!(task["metadata"], json!({"order": "4711"}));
    assert_eq!(user.json(&create).await["id"], task["id"]);
    let id = task["id"].as_str().unwrap();
    assert_eq!(user.json(&["tasks", "get", id]).await["status"], "funded");
    let listed = user
        .json(&["tasks", "list", "--status", "funded", "--limit", "1"])
        .await;
    assert_eq!(listed[0]["id"], task["id"]);

    let (code, said) = user.refused(&["tasks", "approve", id]).await;
    assert_eq!(
        (code, said),
        (1, format!("legwork: no proof of {id} waits for a review\n"))
    );
    advance(&developer.test, id, "proof_submitted").await;
    let rejected = user
        .json(&["tasks", "reject", id, "--reason", "Too dark."])
        .await;
    assert_eq!(rejected["rejection_reason"], "Too dark.");
    advance(&developer.test, id, "proof_submitted").await;
    assert_eq!(
        user.json(&["tasks", "approve", id]).await["task"]["status"],
        "completed"
    );
    // It is over, so there is nothing to wait for.
    assert_eq!(
        user.json(&["tasks", "watch", id]).await["status"],
        "completed"
    );
    let events = user
        .json(&["events", "list", "--task", id, "--type", "task.completed"])
        .await;
    assert_eq!(events.as_array().unwrap().len(), 1);
    let (code, said) = user
        .refused(&["events", "resend", events[0]["id"].as_str().unwrap()])
        .await;
    assert!(code == 1 && said.contains("NOT_FOUND"), "{said}");

    let other = first["id"].as_str().unwrap();
    let (code, said) = user
        .refused(&["tasks", "cancel", other, "--expect-refund-cents", "1"])
        .await;
    assert!(code == 1 && said.contains("REFUND_DIFFERS"), "{said}");
    assert_eq!(
        user.json(&["tasks", "cancel", other]).await["status"],
        "cancelled"
    );
    let (code, said) = user
        .refused(&["tasks", "create", from[0], from[1], "--budget-cents", "1"])
        .await;
    assert!(code == 1 && said.contains("budget_cents must be"), "{said}");
}

async fn what_was_written_is_sent_or_refused(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let file = user.home.path().join("task.json");
    let from = file.to_str().unwrap();
    let write = |task: &serde_json::Value| std::fs::write(&file, task.to_string()).unwrap();
    let mut task = storefront();
    task["budgett_cents"] = json!(1);
    task["location"]["zip"] = json!("11211");
    write(&task);
    for command in ["create", "quote"] {
        let (code, said) = user.refused(&["tasks", command, "--from", from]).await;
        assert_eq!(code, 1, "{said}");
        for field in ["budgett_cents", "location.zip"] {
            let named = format!("{field} is not a known field");
            assert!(said.contains(&named), "{said}");
        }
    }
    let trigger = ["trigger", "task.created", "--override", "budgett=1"];
    let (code, said) = user.refused(&trigger).await;
    assert!(code == 1 && said.contains("budgett is not"), "{said}");
    // What is said on the line goes before the file, nothing included.
    write(&storefront());
    let empty = ["tasks", "create", "--from", from, "--title", ""];
    let (code, said) = user.refused(&empty).await;
    assert!(code == 1 && said.contains("title must"), "{said}");
    write(&json!({"metadata": "none"}));
    let metadata = ["tasks", "create", "--from", from, "--metadata", "a=b"];
    let (code, said) = user.refused(&metadata).await;
    assert_eq!(
        (code, said.as_str()),
        (2, "legwork: metadata is not an object\n")
    );
    // A quote has its task.
    for more in [["--title", "x"], ["--from", from], ["--metadata", "a=b"]] {
        let both = [&["tasks", "create", "--quote", "01a1"][..], &more].concat();
        let (code, said) = user.refused(&both).await;
        assert!(code == 2 && said.contains("cannot be used with"), "{said}");
    }
    assert_eq!(user.json(&["tasks", "list"]).await, json!([]));
}

async fn a_watch_says_that_it_waits_in_vain(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let task = developer.create_task().await;
    let id = task["id"].as_str().unwrap();
    user.json(&["tasks", "cancel", id]).await;
    let until = async |status| {
        let output = user.run(&["tasks", "watch", id, "--until", status]).await;
        let said = String::from_utf8(output.stderr).unwrap();
        (output.status.code().unwrap(), said)
    };
    assert_eq!(until("cancelled").await, (0, String::new()));
    let said = "legwork: the task is cancelled, and will not be completed any more\n";
    assert_eq!(until("completed").await, (1, said.to_owned()));
}

async fn advance(client: &crate::support::Client, id: &str, to: &str) {
    let path = format!("/v1/test_helpers/tasks/{id}/advance");
    client.post(&path, &json!({"to": to})).await.expect(200);
}

async fn every_event_can_be_triggered(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    const IN_LIVE: [&str; 3] = ["task.payment_failed", "task.refund_paid", "worker.verified"];
    let mut caused = 0;
    for event in EventType::ALL
        .iter()
        .filter(|event| !IN_LIVE.contains(event))
    {
        let arguments = [
            "trigger",
            event,
            "--override",
            "budget_cents=7700",
            "--override",
            "location.city=Queens",
        ];
        let task = user.json(&arguments).await;
        assert_eq!(
            (&task["budget_cents"], &task["location_city"]),
            (&json!(7700), &json!("Queens"))
        );
        let path = format!(
            "/v1/events?type={event}&task_id={}",
            task["id"].as_str().unwrap()
        );
        let events = developer.test.get(&path).await.expect(200);
        assert_eq!(events["data"][0]["event"], *event);
        caused += 1;
    }
    assert!(caused >= 12, "{caused}");
}

async fn keys_are_made_and_revoked(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let made = user.json(&["keys", "create", "--name", "Second"]).await;
    let key = made["key"].as_str().unwrap();
    assert_eq!(
        user.json(&["whoami", "--key", key]).await["id"],
        developer.account_id.as_str()
    );
    let listed = user.json(&["keys", "list"]).await;
    assert!(
        listed
            .as_array()
            .unwrap()
            .iter()
            .any(|each| each["id"] == made["id"])
    );
    user.json(&["keys", "revoke", made["id"].as_str().unwrap()])
        .await;
    let (code, said) = user.refused(&["whoami", "--key", key]).await;
    assert!(
        code == 1 && said.contains("Run `legwork login`") && said.contains("UNAUTHORIZED"),
        "{said}"
    );
}

#[test]
fn signatures_are_made_and_checked() {
    let runtime = crate::support::runtime();
    runtime.block_on(async {
        let user = User::at(String::new());
        let secret = Webhook::new_secret().unwrap();
        let body = user.home.path().join("body.json");
        std::fs::write(&body, r#"{"event": "task.completed", "data": {}}"#).unwrap();
        let body = body.to_str().unwrap();
        let signed = user
            .run(&["signature", "sign", "--secret", &secret, body])
            .await;
        let signed = String::from_utf8(signed.stdout).unwrap();
        let lines: Vec<_> = signed.lines().collect();
        assert_eq!(lines.len(), 5);
        let mut verify = vec!["signature", "verify", "--secret", &secret, body];
        for line in &lines {
            verify.extend(["--header", line]);
        }
        let verified = user.run(&verify).await;
        assert_eq!(
            String::from_utf8_lossy(&verified.stdout),
            "The signature is right. The event is task.completed.\n"
        );
        for secret in ["", "whsec_", "not a secret"] {
            for command in ["sign", "verify"] {
                let mut wrong = vec!["signature", command, "--secret", secret, body];
                if command == "verify" {
                    wrong.extend(["--header", "webhook-id: 1"]);
                }
                let (code, said) = user.refused(&wrong).await;
                assert!(
                    code == 2 && said.contains("the webhook secret is"),
                    "{said}"
                );
            }
        }
        std::fs::write(body, "{}").unwrap();
        let (code, said) = user.refused(&verify).await;
        assert_eq!(
            (code, said.as_str()),
            (
                1,
                "legwork: the webhook is not valid: no signature matches\n"
            )
        );
    });
}
