//! Connections that break and servers that die. Whatever happens, a file arrives whole, and once.

use legwork::ambient::{self, Clock};
use legwork::domain::tasks::ProofType;
use legwork::media;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::client::{Begun, begun, create, id, offset, patch, submit};
use crate::files::place::Place;
use crate::support::{Client, Developer, Server, TestApp, on_both_engines, path, until};

on_both_engines!(
    a_hundred_connections_break,
    another_server_goes_on_when_one_is_killed,
    files_are_put_together_in_s3,
);

/// A video of at least so many bytes, which no other is like.
pub fn video(bytes: usize) -> Vec<u8> {
    let mut file = media::sample(ProofType::Video, b"1").0;
    file.extend((bytes as u32 + 8).to_be_bytes());
    file.extend(b"mdat");
    let mut state: u64 = u64::from_be_bytes(ambient::random()) | 1;
    file.extend((0..bytes).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    }));
    file
}

/// Below a number that is not zero.
fn random(end: usize) -> usize {
    (u64::from_be_bytes(ambient::random()) % end as u64) as usize
}

/// Begins to send all that is missing, and is cut off somewhere.
async fn cut_off(client: &Client, path: &str, file: &[u8]) {
    let at = offset(client, path).await;
    let rest = &file[at..];
    let mut sending = Begun::patch(client, path, at, rest.len()).await;
    // Mostly a little, so that there is something left for the next.
    let most = match random(4) {
        0 => rest.len() / 8,
        _ => rest.len() / 64,
    };
    sending.send(&rest[..random(most + 1)]).await;
    if random(2) == 0 {
        // A reset, without a word.
        sending.0.set_zero_linger().unwrap();
    }
}

/// Sends what is missing. The one before may still be at it.
async fn finish(client: &Client, path: &str, file: &[u8]) {
    until("the file has arrived", async || {
        let at = offset(client, path).await;
        let sent = patch(client, path, at, &file[at..]).await;
        assert!([204, 409].contains(&sent.status.as_u16()), "{}", sent.text);
        (sent.status == 204).then_some(())
    })
    .await;
}

/// The one proof of the task has exactly this file.
async fn expect_proof(dev: &Developer, client: &Client, task: &Value, upload: &str, file: &[u8]) {
    let fields = json!({"video": upload, "submission_id": "1"});
    let sent = submit(client, task, &fields).await.expect(201);
    let again = submit(client, task, &fields).await.expect(201);
    assert_eq!(sent["data"][0]["id"], again["data"][0]["id"]);
    let id = sent["data"][0]["id"].as_str().unwrap();
    let evidence = format!("{}/proofs/{id}/evidence", path(task));
    let evidence = dev.live.get(&evidence).await.expect(200);
    let digest = Sha256::digest(file);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(evidence["sha256"], hex);
    let proofs = dev.live.get(&format!("{}/proofs", path(task))).await;
    assert_eq!(proofs.expect(200)["meta"]["total"], 1);
}

async fn a_hundred_connections_break(app: TestApp) {
    let (dev, worker, task) = begun(&app, json!(["video"])).await;
    let (client, file) = (&worker.client, video(6_000_000));
    let path = create(client, &task, "video", file.len()).await;
    for _ in 0..100 {
        cut_off(client, &path, &file).await;
    }
    finish(client, &path, &file).await;
    expect_proof(&dev, client, &task, &id(&path), &file).await;
    let parts = "SELECT CAST(COUNT(*) AS TEXT) FROM upload_parts";
    assert_eq!(app.database.column(parts).await, ["0"], "they are used up");
    app.jobs.drain().await.unwrap();
    assert_eq!(super::protocol::parts_on_disk(&app), 0);
}

async fn another_server_goes_on_when_one_is_killed(app: TestApp) {
    app.clock.move_to(Clock::system().now());
    let (dev, worker, task) = begun(&app, json!(["video"])).await;
    let (key, file) = (worker.client.key(), video(9_000_000));
    let first = Server::start(&app.database);
    let at_first = first.client(key);
    let path = create(&at_first, &task, "video", file.len()).await;
    let mut sending = Begun::patch(&at_first, &path, 0, file.len()).await;
    sending.send(&file[..5_000_000]).await;
    // A piece is stored while the rest is on its way.
    let stored = until("a piece is stored", async || {
        let stored = offset(&at_first, &path).await;
        (stored > 0).then_some(stored)
    });
    let stored = stored.await;
    first.kill();
    let second = Server::start(&app.database);
    let at_second = second.client(key);
    assert!(offset(&at_second, &path).await >= stored);
    finish(&at_second, &path, &file).await;
    expect_proof(&dev, &at_second, &task, &id(&path), &file).await;
}

async fn files_are_put_together_in_s3(app: TestApp) {
    let place = Place::s3();
    // Two servers behind a balancer, which share the bucket and nothing else.
    let (one, two) = (
        app.storing_in(place.files.clone()).await,
        app.storing_in(place.files.clone()).await,
    );
    let (dev, worker, task) = begun(&one, json!(["video"])).await;
    let clients =
        [one.address, two.address].map(|address| Client::new(address, Some(worker.client.key())));
    let file = video(6_000_000);
    let path = create(&clients[0], &task, "video", file.len()).await;
    for turn in 0..12 {
        cut_off(&clients[turn % 2], &path, &file).await;
    }
    finish(&clients[1], &path, &file).await;
    expect_proof(&dev, &clients[0], &task, &id(&path), &file).await;
    one.jobs.drain().await.unwrap();
    let now = one.clock.now().plus(std::time::Duration::from_secs(1));
    let parts = place
        .files
        .kept_before(legwork::files::Prefix::Uploads, now, None, 10);
    assert_eq!(parts.await.unwrap(), []);
}
