//! Whoever can write to the database, but has no master key, cannot write lines of the audit log.

use legwork::domain::accounts::api_key;

use crate::support::{Command, TestApp, on_both_engines};

on_both_engines!(
    a_chain_written_anew_is_found,
    a_chain_without_its_key_is_found,
    a_chain_written_anew_is_not_keyed_again,
    a_line_that_was_kept_elsewhere_is_compared,
);

fn verify(app: &TestApp, arguments: &[&str]) -> (Option<i32>, String) {
    let words: Vec<_> = ["audit", "verify"]
        .iter()
        .chain(arguments)
        .copied()
        .collect();
    let output = Command::new(&words).on(&app.database).output();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code(), String::from_utf8(text).unwrap())
}

/// `NUMBER:HASH` of the last line.
fn end(text: &str) -> String {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Keep ")?.split_whitespace().next());
    line.unwrap().to_owned()
}

/// Makes the hash of the last line as the program did before hashes were keyed.
async fn rewrite_the_end(app: &TestApp, number: i64) {
    let line = |column: &str, number: i64| {
        let sql = format!("SELECT {column} FROM audit_log WHERE number = {number}");
        async move { app.database.column(&sql).await.pop().unwrap_or_default() }
    };
    let at = line("CAST(at AS TEXT)", number).await;
    let text = serde_json::json!([
        number,
        at.parse::<i64>().unwrap(),
        line("made_by", number).await,
        if_any(line("COALESCE(maker_id, '')", number).await),
        "account.tier_changed",
        line("subject", number).await,
        line("subject_id", number).await,
        line("details", number).await,
    ]);
    let previous = line("hash", number - 1).await;
    let hash = api_key::hash(&format!("{previous}\n{text}"));
    for forged in [
        format!(
            "UPDATE audit_log SET action = 'account.tier_changed', hash = '{hash}' WHERE number = {number}"
        ),
        format!("UPDATE audit_head SET hash = '{hash}'"),
    ] {
        app.database.execute(&forged).await;
    }
}

fn if_any(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

async fn a_chain_written_anew_is_found(app: TestApp) {
    for _ in 0..3 {
        app.developer().await;
    }
    assert_eq!(verify(&app, &[]).0, Some(0));
    rewrite_the_end(&app, 3).await;
    let (code, told) = verify(&app, &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("DIFFERENCE: line 3 "), "{told}");
}

async fn a_chain_without_its_key_is_found(app: TestApp) {
    app.developer().await;
    let plain = "UPDATE audit_head SET chain_keys = '[]'";
    for removed in ["UPDATE audit_head SET chain_keys = NULL", plain] {
        app.database.execute(removed).await;
        let (code, told) = verify(&app, &[]);
        assert_eq!(code, Some(1), "{told}");
        assert!(!told.contains("is correct"), "{told}");
    }
}

/// Writes the log anew without a key, as whoever can write to the database can do it.
async fn rewrite_without_keys(app: &TestApp, lines: i64) {
    app.database
        .execute("UPDATE audit_head SET chain_keys = NULL")
        .await;
    for number in 1..=lines {
        rewrite_the_end(app, number).await;
    }
}

async fn a_chain_written_anew_is_not_keyed_again(app: TestApp) {
    for _ in 0..3 {
        app.developer().await;
    }
    rewrite_without_keys(&app, 3).await;
    for forgotten in [
        "UPDATE master_keys SET seals_since = NULL",
        "DELETE FROM master_keys",
    ] {
        app.database.execute(forgotten).await;
        // The server that runs.
        let refreshed = app.store.refresh_keys(app.clock.now()).await;
        let refused = refreshed.unwrap_err().to_string();
        assert!(
            refused.contains("somebody has changed the database"),
            "{refused}"
        );
        // Commands, and a server that starts.
        let (code, told) = verify(&app, &[]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("somebody has changed the database"), "{told}");
    }
    // A server with another data folder has the log keyed again. Here it is found nevertheless.
    let start = app.database.key_source().audit_start_file();
    let recorded = std::fs::read_to_string(&start).unwrap();
    app.database.forget_audit_start();
    let (code, told) = verify(&app, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.contains("cannot know"), "{told}");
    std::fs::write(&start, recorded).unwrap();
    let (code, told) = verify(&app, &[]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("DIFFERENCE: the keyed lines"), "{told}");
    app.database.forget_audit_start();
    verify(&app, &[]);
    let (code, told) = verify(&app, &[]);
    assert_eq!(code, Some(0), "{told}");
    assert!(!told.contains("cannot know"), "{told}");
}

async fn a_line_that_was_kept_elsewhere_is_compared(app: TestApp) {
    for _ in 0..2 {
        app.developer().await;
    }
    let kept = end(&verify(&app, &[]).1);
    assert!(kept.starts_with("2:"), "{kept}");
    app.developer().await;
    let (code, told) = verify(&app, &["--expect", &kept]);
    assert_eq!(code, Some(0), "{told}");
    let other = format!("2:{}", "0".repeat(64));
    let (code, told) = verify(&app, &["--expect", &other]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("DIFFERENCE: line 2 does not have"), "{told}");
    // Lines and head taken away together leave a chain that is right in itself.
    let last = end(&verify(&app, &[]).1);
    let hash = "SELECT hash FROM audit_log WHERE number = 1";
    let hash = app.database.column(hash).await.remove(0);
    app.database
        .execute("DELETE FROM audit_log WHERE number > 1")
        .await;
    let cut = format!("UPDATE audit_head SET number = 1, hash = '{hash}'");
    app.database.execute(&cut).await;
    assert_eq!(verify(&app, &[]).0, Some(0));
    for kept in [kept, last] {
        let (code, told) = verify(&app, &["--expect", &kept]);
        assert_eq!(code, Some(1), "{told}");
        assert!(told.contains("the chain ends before it"), "{told}");
    }
    let (code, told) = verify(&app, &["--expect", "2"]);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.contains("NUMBER:HASH"), "{told}");
}
