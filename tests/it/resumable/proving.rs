//! Uploads become proofs.

use serde_json::{Value, json};

use super::client::{another, begun, create, head, id, patch, submit, upload};
use super::protocol::parts_on_disk;
use crate::support::{TestApp, on_both_engines, path, photo, signature};

on_both_engines!(
    uploads_are_taken_like_a_form,
    what_is_missing_is_told,
    a_submission_counts_once,
);

async fn evidence(dev: &crate::support::Developer, task: &Value, proof: &Value) -> Value {
    let id = proof["id"].as_str().unwrap();
    let at = format!("{}/proofs/{id}/evidence", path(task));
    dev.live.get(&at).await.expect(200)
}

async fn uploads_are_taken_like_a_form(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo", "signature"])).await;
    let client = &worker.client;
    let (photo, signature) = (photo("1"), signature("1"));
    let of_photo = create(client, &task, "photo", photo.len()).await;
    let middle = photo.len() / 2;
    patch(client, &of_photo, 0, &photo[..middle]).await;
    let sent = patch(client, &of_photo, middle, &photo[middle..]).await;
    assert_eq!(sent.status, 204);
    let of_signature = upload(client, &task, "signature", &signature).await;
    let fields = json!({"photo": id(&of_photo), "signature": of_signature,
        "gps_accuracy_meters": 12.5, "device_info": {"platform": "Android"}});
    let by_uploads = submit(client, &task, &fields).await.expect(201);
    let [proof, _] = by_uploads["data"].as_array().unwrap().as_slice() else {
        panic!("{by_uploads}");
    };
    assert_eq!(proof["device_info"]["platform"], "Android");

    // The same files in a form make the same proofs.
    let other = another(&app, &dev, json!(["photo", "signature"])).await;
    worker.begin(&other).await;
    let parts: [(&str, &[u8]); 6] = [
        ("photo", &photo),
        ("signature", &signature),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
        ("gps_accuracy_meters", b"12.5"),
        ("device_info", br#"{"platform": "Android"}"#),
    ];
    let by_form = worker.send_proof(&other, &parts).await.expect(201);
    for (one, two) in by_uploads["data"]
        .as_array()
        .unwrap()
        .iter()
        .zip(by_form["data"].as_array().unwrap())
    {
        let alike = |proof: &Value| {
            let mut proof = proof.clone();
            for own in ["id", "task_id", "file_url", "created_at"] {
                proof.as_object_mut().unwrap().remove(own);
            }
            proof
        };
        assert_eq!(alike(one), alike(two));
        let (one, two) = (
            evidence(&dev, &task, one).await,
            evidence(&dev, &other, two).await,
        );
        assert_eq!(one["sha256"], two["sha256"]);
    }
    // The uploads are used up, and their parts are deleted.
    let used = submit(client, &other, &fields).await;
    used.expect_error(409, "INVALID_TASK_STATE");
    assert_eq!(head(client, &of_photo).await.status, 410);
    assert!(parts_on_disk(&app) > 0);
    app.jobs.drain().await.unwrap();
    assert_eq!(parts_on_disk(&app), 0);
}

async fn what_is_missing_is_told(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo", "signature"])).await;
    let client = &worker.client;
    let (photo, signature) = (photo("1"), signature("1"));
    let whole = upload(client, &task, "photo", &photo).await;
    let half = create(client, &task, "signature", signature.len()).await;
    patch(client, &half, 0, &signature[..10]).await;
    let half = id(&half);
    let both = |photo: &str, signature: &str| json!({"photo": photo, "signature": signature});

    let missing = submit(client, &task, &json!({"photo": whole})).await;
    assert_eq!(missing.faulty_fields(), ["signature"]);
    let unfinished = submit(client, &task, &both(&whole, &half)).await;
    let unfinished = unfinished.expect_error(409, "UPLOAD_INCOMPLETE");
    let all = signature.len();
    let details = json!([{"field": "signature", "message": format!("has 10 of {all} bytes")}]);
    assert_eq!(unfinished.body["error"]["details"], details);
    let swapped = submit(client, &task, &both(&half, &whole)).await;
    assert_eq!(swapped.faulty_fields(), ["photo", "signature"]);
    let unknown = submit(client, &task, &both(&"0".repeat(32), &half)).await;
    unknown.expect_error(404, "UPLOAD_NOT_FOUND");
    for misspelt in [whole.to_uppercase(), "cat".to_owned()] {
        let reply = submit(client, &task, &both(&misspelt, &half)).await;
        assert_eq!(reply.faulty_fields(), ["photo"]);
    }
    let reply = submit(
        client,
        &task,
        &json!({"photo": whole, "cat": 1, "device_info": 7}),
    )
    .await;
    assert_eq!(reply.faulty_fields(), ["device_info", "cat"]);

    // An upload of another worker, or for another task.
    let other = app.ready_worker().await;
    let theirs = another(&app, &dev, json!(["photo"])).await;
    other.begin(&theirs).await;
    let stolen = submit(&other.client, &theirs, &json!({"photo": whole})).await;
    stolen.expect_error(404, "UPLOAD_NOT_FOUND");
    let mine = another(&app, &dev, json!(["photo"])).await;
    worker.begin(&mine).await;
    let misplaced = submit(client, &mine, &json!({"photo": whole})).await;
    assert_eq!(misplaced.faulty_fields(), ["photo"]);

    // What is no picture is refused like in a form, and the upload stays.
    let bad = upload(client, &mine, "photo", b"this is no picture").await;
    let refused = submit(client, &mine, &json!({"photo": bad})).await;
    assert_eq!(refused.faulty_fields(), ["photo"]);
    let kept = format!("/v1/worker/uploads/{bad}");
    assert_eq!(head(client, &kept).await.status, 200);
}

async fn a_submission_counts_once(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let first = upload(client, &task, "photo", &photo("1")).await;
    // Without a name, the uploads are the name.
    let fields = json!({"photo": first});
    let sent = futures_util::future::join(
        submit(client, &task, &fields),
        submit(client, &task, &fields),
    );
    let (one, two) = sent.await;
    let (one, two) = (one.expect(201), two.expect(201));
    assert_eq!(one["data"][0]["id"], two["data"][0]["id"]);
    assert_eq!(
        submit(client, &task, &fields).await.expect(201)["task"],
        one["task"]
    );
    dev.review(&task, &one["data"][0], "reject")
        .await
        .expect(200);
    // The next attempt. A used upload is gone for every other submission.
    let named = json!({"photo": first, "submission_id": "other"});
    let gone = submit(client, &task, &named).await;
    gone.expect_error(410, "UPLOAD_GONE");
    let second = upload(client, &task, "photo", &photo("2")).await;
    let named = json!({"photo": second, "submission_id": "second"});
    let made = submit(client, &task, &named).await.expect(201);
    assert_eq!(made["task"]["attempt_number"], 2);
    // The same name, even with other files, gets the same answer.
    let again = json!({"photo": first, "submission_id": "second"});
    let again = submit(client, &task, &again).await.expect(201);
    assert_eq!(again["data"][0]["id"], made["data"][0]["id"]);
    let repeated = submit(client, &task, &fields).await.expect(201);
    assert_eq!(repeated["data"][0]["id"], one["data"][0]["id"]);
}
