//! Evidence for whoever reviews a proof.

use std::time::Duration;

use legwork::domain::ProofType;
use legwork::media;
use serde_json::{Value, json};

use super::proving::{begun, files_in, proofs};
use crate::support::{PASSWORD, TestApp, on_both_engines, path, photo};
use crate::suspension::finish_jobs;

on_both_engines!(
    the_same_photo_is_found_again,
    a_copy_that_is_sent_later_or_in_test_says_nothing,
    what_the_camera_wrote_is_evidence_and_not_handed_on,
    what_is_hidden_in_a_video_is_not_handed_on_and_goes_with_the_worker,
);

async fn the_same_photo_is_found_again(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    worker.prove(&task, "copy").await;
    let other = dev.create_paid_task().await;
    worker.begin(&other).await;
    worker.prove(&other, "copy").await;
    let proof = proofs(&dev, &other).await["data"][0].clone();
    let evidence = format!(
        "{}/proofs/{}/evidence",
        path(&other),
        proof["id"].as_str().unwrap()
    );
    let evidence = dev.live.get(&evidence).await.expect(200);
    let findings = evidence["findings"].as_array().unwrap();
    let same = findings
        .iter()
        .find(|finding| finding["code"] == "same_photo");
    assert_eq!(same.unwrap()["task_id"], task["id"]);
    assert!(
        findings
            .iter()
            .any(|finding| finding["code"] == "exif_gps_missing")
    );
    assert_eq!(evidence["sha256"].as_str().unwrap().len(), 64);
}

async fn a_copy_that_is_sent_later_or_in_test_says_nothing(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let proof = worker.prove(&task, "honest").await;
    let same_photo = async |task: &Value, proof: &Value| {
        let id = proof["id"].as_str().unwrap();
        let evidence = format!("{}/proofs/{id}/evidence", path(task));
        let evidence = dev.live.get(&evidence).await.expect(200);
        evidence.to_string().contains("same_photo")
    };
    // Somebody copies it: in test, where it costs nothing, and with another live task.
    app.advance(Duration::from_secs(1));
    let copier = app.developer().await;
    let copy = copier.create_task().await;
    let helper = format!("/v1/test_helpers/tasks/{}", copy["id"].as_str().unwrap());
    let body = json!({"to": "in_progress"});
    let moved = copier.test.post(&format!("{helper}/advance"), &body).await;
    moved.expect(200);
    let photo = photo("honest");
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let helper = format!("{helper}/proofs");
    copier.test.send_form(&helper, &parts).await.expect(201);
    assert!(!same_photo(&task, &proof).await);
    let later = dev.create_paid_task().await;
    worker.begin(&later).await;
    let copied = worker.prove(&later, "honest").await;
    assert!(!same_photo(&task, &proof).await);
    assert!(same_photo(&later, &copied).await);
}

async fn what_is_hidden_in_a_video_is_not_handed_on_and_goes_with_the_worker(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["video"])).await;
    let plain = media::sample(ProofType::Video, b"plain").0;
    let hidden = b"+51.5007-000.1246/";
    let mut video = plain.clone();
    video.extend((hidden.len() as u32 + 8).to_be_bytes());
    video.extend(b"uuid");
    video.extend(hidden);
    let send = async |video: &[u8]| {
        let parts: [(&str, &[u8]); 3] = [
            ("video", video),
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
        ];
        worker.send_proof(&task, &parts).await.expect(201)["data"][0].clone()
    };
    let proof = send(&video).await;
    let shown = async |proof: &Value| {
        let url = proof["file_url"].as_str().unwrap();
        let (_, file) = url.split_once(&app.address.to_string()).unwrap();
        app.client().get(file).await.bytes
    };
    let has_it = |bytes: &[u8]| bytes.windows(hidden.len()).any(|part| part == hidden);
    let copy = shown(&proof).await;
    assert!(copy.starts_with(&plain) && !has_it(&copy));
    assert_eq!(copy.len(), video.len(), "a film is found by its place");
    assert_eq!(files_in(&app), 2, "the copy, and the original for disputes");
    dev.review(&task, &proof, "reject").await.expect(200);
    // Where there is nothing to hide, one file is enough.
    let clean = send(&plain).await;
    assert_eq!(shown(&clean).await, plain);
    assert_eq!(files_in(&app), 3);
    dev.review(&task, &clean, "approve").await.expect(200);
    finish_jobs(&app).await;
    let body = json!({ "password": PASSWORD }).to_string();
    let deleted = worker.client.send("DELETE", "/v1/worker", &[], body).await;
    deleted.expect(200);
    finish_jobs(&app).await;
    assert_eq!(files_in(&app), 2, "nobody has the original any more");
    assert_eq!(shown(&proof).await, copy);
}

/// A block as cameras write it: when, with an offset, and where.
fn exif(taken: &str, offset: &str, (degrees, minutes): (u32, u32)) -> Vec<u8> {
    let entry = |tag: u16, kind: u16, count: u32, value: u32| {
        let mut entry = tag.to_le_bytes().to_vec();
        entry.extend(kind.to_le_bytes());
        entry.extend(count.to_le_bytes());
        entry.extend(value.to_le_bytes());
        entry
    };
    let directory = |entries: &[Vec<u8>]| {
        let mut bytes = (entries.len() as u16).to_le_bytes().to_vec();
        entries.iter().for_each(|entry| bytes.extend(entry));
        bytes.extend([0; 4]);
        bytes
    };
    // 8: main directory of two, 38: exif directory of two, 68: gps directory of four, 122: values.
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    tiff.extend(directory(&[
        entry(0x8769, 4, 1, 38),
        entry(0x8825, 4, 1, 68),
    ]));
    tiff.extend(directory(&[
        entry(0x9003, 2, 20, 122),
        entry(0x9011, 2, 7, 142),
    ]));
    tiff.extend(directory(&[
        entry(1, 2, 2, u32::from(b'N')),
        entry(2, 5, 3, 150),
        entry(3, 2, 2, u32::from(b'W')),
        entry(4, 5, 3, 174),
    ]));
    tiff.extend(format!("{taken}\0{offset}\0\0").as_bytes());
    for number in [degrees, 1, minutes, 1, 0, 1, 73, 1, 57, 1, 34, 1] {
        tiff.extend(number.to_le_bytes());
    }
    let mut segment = vec![0xff, 0xe1];
    segment.extend(((tiff.len() + 8) as u16).to_be_bytes());
    segment.extend(b"Exif\0\0");
    segment.extend(tiff);
    segment
}

async fn what_the_camera_wrote_is_evidence_and_not_handed_on(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let mut photo = photo("exif");
    // Ten minutes before it is sent, a good kilometre to the north, before the task was taken.
    let block = exif("2025:11:15 12:50:00", "+01:00", (40, 44));
    photo.splice(2..2, block);
    let parts: [(&str, &[u8]); 4] = [
        ("photo", &photo),
        ("gps_latitude", b"40.7163"),
        ("gps_longitude", b"-73.9595"),
        ("gps_accuracy_meters", b"250"),
    ];
    worker.send_proof(&task, &parts).await.expect(201);
    let proof = proofs(&dev, &task).await["data"][0].clone();
    let id = proof["id"].as_str().unwrap();
    let evidence = dev
        .live
        .get(&format!("{}/proofs/{id}/evidence", path(&task)))
        .await;
    let evidence = evidence.expect(200);
    assert_eq!(evidence["exif"]["taken_at"], "2025-11-15T11:50:00.000Z");
    let latitude = evidence["exif"]["latitude"].as_f64().unwrap();
    assert!((latitude - 40.7333).abs() < 0.001);
    let finding = |code: &str| {
        let findings = evidence["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["code"] == code);
        found
            .unwrap_or_else(|| panic!("no {code} in {evidence}"))
            .clone()
    };
    let meters = finding("exif_gps_far")["value"].as_f64().unwrap();
    assert!((1_800.0..2_000.0).contains(&meters), "{meters}");
    assert_eq!(finding("exif_gps_far")["unit"], "m");
    assert_eq!(finding("exif_time_early")["value"], 600.0);
    assert_eq!(finding("upload_delay")["value"], 600.0);
    assert_eq!(finding("gps_inaccurate")["value"], 250.0);
    let url = proof["file_url"].as_str().unwrap();
    let (_, file) = url.split_once(&app.address.to_string()).unwrap();
    let shown = app.client().get(file).await;
    assert!(!shown.text.contains("2025:11:15"));
    // The developer's copy, and the original for disputes.
    assert_eq!(files_in(&app), 2);
    let stranger = app.developer().await;
    let hidden = stranger
        .live
        .get(&format!("{}/proofs/{id}/evidence", path(&task)))
        .await;
    hidden.expect_error(404, "TASK_NOT_FOUND");
}
