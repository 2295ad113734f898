//! Proofs from the command line: they are listed, shown and saved.

use serde_json::json;

use super::User;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(files_of_proofs_are_saved_and_replace_no_other);

async fn files_of_proofs_are_saved_and_replace_no_other(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let task = developer.create_task().await;
    let task = task["id"].as_str().unwrap();
    assert_eq!(user.json(&["proofs", "list", task]).await, json!([]));
    let path = format!("/v1/test_helpers/tasks/{task}/advance");
    let submitted = json!({"to": "proof_submitted"});
    developer.test.post(&path, &submitted).await.expect(200);

    let listed = user.json(&["proofs", "list", task]).await;
    let (proof, all) = (&listed[0], listed.as_array().unwrap().len());
    assert_eq!((all, &proof["status"]), (1, &json!("pending")));
    let id = proof["id"].as_str().unwrap();
    let shown = user.json(&["proofs", "get", task, id]).await;
    assert_eq!(
        (&shown["id"], &shown["type"]),
        (&proof["id"], &json!("photo"))
    );
    let (code, said) = user.refused(&["proofs", "get", task, task]).await;
    assert!(code == 1 && said.contains("has no proof"), "{said}");

    let folder = user.home.path().join("saved/here");
    let output = folder.to_str().unwrap();
    let download = ["proofs", "download", task, "--output", output];
    let saved = user.json(&download).await;
    let file = folder.join(format!("photo-{id}.jpg"));
    assert_eq!(saved[0]["file"], file.to_str().unwrap());
    let size = std::fs::metadata(&file).unwrap().len();
    assert_eq!(proof["file_size_bytes"], size);
    assert_eq!(saved[0]["size_bytes"], size);

    std::fs::write(&file, "mine").unwrap();
    let (code, said) = user.refused(&download).await;
    assert!(code == 1 && said.contains("--force"), "{said}");
    assert_eq!(std::fs::read(&file).unwrap(), b"mine");
    user.json(&["proofs", "download", task, id, "-o", output, "--force"])
        .await;
    assert_eq!(std::fs::metadata(&file).unwrap().len(), size);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
}
