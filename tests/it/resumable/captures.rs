//! What the device says about how a file was made.

use serde_json::{Value, json};

use super::client::{another, begun, submit, upload};
use crate::support::{Developer, TestApp, on_both_engines, path, photo};

on_both_engines!(what_the_device_says_is_told_apart);

fn record() -> Value {
    json!({"captured_at": "2025-11-15T11:58:00Z", "clock_offset_ms": -1200, "source": "camera",
        "queued_offline": true, "fixes": [
            {"latitude": 40.7163, "longitude": -73.9595, "accuracy_meters": 12.5, "at": "2025-11-15T11:57:58Z"},
            {"latitude": 40.7262, "longitude": -73.9595, "at": "2025-11-15T11:58:00Z"}]})
}

/// What a developer reads of the only proof of a task.
async fn evidence(dev: &Developer, task: &Value, sent: &Value) -> (Value, Vec<String>) {
    let id = sent["data"][0]["id"].as_str().unwrap();
    let at = format!("{}/proofs/{id}/evidence", path(task));
    let evidence = dev.live.get(&at).await.expect(200);
    let findings = evidence["findings"].as_array().unwrap().iter();
    let codes = findings.map(|finding| finding["code"].as_str().unwrap().to_owned());
    (evidence["device"].clone(), codes.collect())
}

async fn what_the_device_says_is_told_apart(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["photo"])).await;
    let client = &worker.client;
    let id = upload(client, &task, "photo", &photo("1")).await;
    let with = |captures: Value| json!({"photo": id, "captures": captures});
    let mut wrong = record();
    wrong["source"] = json!("drawing");
    wrong["captured_at"] = json!("yesterday");
    wrong["fixes"][1]["latitude"] = json!(91);
    wrong["mood"] = json!("good");
    let refused = submit(client, &task, &with(json!({"photo": wrong.clone()}))).await;
    let fields = [
        "captures.photo.captured_at",
        "captures.photo.source",
        "captures.photo.fixes[1].latitude",
        "captures.photo.mood",
    ];
    assert_eq!(refused.faulty_fields(), fields);
    let mut many = record();
    many["fixes"] = json!(vec![record()["fixes"][0].clone(); 21]);
    let refused = submit(client, &task, &with(json!({"photo": many}))).await;
    assert_eq!(refused.faulty_fields(), ["captures.photo.fixes"]);
    let refused = submit(client, &task, &with(json!({"video": record()}))).await;
    assert_eq!(refused.faulty_fields(), ["captures.video"]);

    let sent = submit(client, &task, &with(json!({"photo": record()}))).await;
    let sent = sent.expect(201);
    assert!(sent["data"][0]["captures"].is_null() && sent["data"][0]["device"].is_null());
    let (device, findings) = evidence(&dev, &task, &sent).await;
    let mut expected = record();
    expected["captured_at"] = json!("2025-11-15T11:58:00.000Z");
    for (fix, (meters, at)) in [(0.0, "11:57:58"), (1100.8, "11:58:00")].iter().enumerate() {
        expected["fixes"][fix]["distance_meters"] = json!(meters);
        expected["fixes"][fix]["at"] = json!(format!("2025-11-15T{at}.000Z"));
    }
    expected["fixes"][1]["accuracy_meters"] = Value::Null;
    assert_eq!(device, expected);
    assert_eq!(findings, Vec::<String>::new(), "missing EXIF is no finding");

    // The same in a form; and without it, missing EXIF is one.
    let captures = json!({"photo": record()}).to_string();
    let wrong = json!({"photo": wrong}).to_string();
    let form = async |task: &Value, seed: &str, captures: Option<&str>| {
        let photo = photo(seed);
        let mut parts: Vec<(&str, &[u8])> = vec![
            ("photo", &photo),
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
        ];
        parts.extend(captures.map(|text| ("captures", text.as_bytes())));
        worker.send_proof(task, &parts).await
    };
    let other = another(&app, &dev, json!(["photo"])).await;
    worker.begin(&other).await;
    for wrong in [wrong.as_str(), "[]", "{"] {
        let refused = form(&other, "2", Some(wrong)).await;
        assert_eq!(refused.faulty_fields(), ["captures"], "{wrong}");
    }
    let sent = form(&other, "2", Some(&captures)).await.expect(201);
    assert_eq!(evidence(&dev, &other, &sent).await, (device, Vec::new()));
    let plain = another(&app, &dev, json!(["photo"])).await;
    worker.begin(&plain).await;
    let sent = form(&plain, "3", None).await.expect(201);
    let (device, findings) = evidence(&dev, &plain, &sent).await;
    assert_eq!(device, Value::Null);
    assert_eq!(findings, ["exif_gps_missing", "exif_time_missing"]);
}
