//! Requests a minute, where several servers are on one database.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use legwork::ambient::Clock;
use legwork::domain::Tier;
use legwork::maintenance::prune;

use crate::support::{Client, Database, Engine, Reply, TestApp, eventually, in_time, runtime};

const QUOTA: usize = 600;
const SLICE: usize = 10;

/// So many requests at once. All tests share the processors, and a server that has too few of them refuses
/// requests with 503: those are sent again. Some of them may have been counted. Also returns how many there were.
async fn many(server: &Client, path: &str, count: usize) -> (Vec<Reply>, usize) {
    let again = AtomicUsize::new(0);
    let ask = async || {
        loop {
            let reply = server.get(path).await;
            if reply.status != 503 {
                return reply;
            }
            again.fetch_add(1, Ordering::Relaxed);
        }
    };
    let replies = in_time(join_all((0..count).map(|_| ask()))).await;
    (replies, again.into_inner())
}

/// What two servers let through until both refuse is the quota and what came back meanwhile, exact to
/// one slice for each. Returns what the second refused with.
async fn share_a_quota(servers: &[Client; 2], path: &str) -> Reply {
    let begun = Instant::now();
    let (mut passed, mut sent_again) = (0, 0);
    let refused = loop {
        let asks = servers.iter().map(|server| many(server, path, 50));
        let (replies, again): (Vec<_>, Vec<_>) = join_all(asks).await.into_iter().unzip();
        sent_again += again.iter().sum::<usize>();
        for reply in replies.iter().flatten() {
            assert!([200, 429].contains(&reply.status.as_u16()), "{reply:?}");
        }
        passed += replies
            .iter()
            .flatten()
            .filter(|reply| reply.status == 200)
            .count();
        let refused = |replies: Vec<Reply>| replies.into_iter().find(|reply| reply.status == 429);
        let refused: Option<Vec<Reply>> = replies.into_iter().map(refused).collect();
        if let Some(refused) = refused.and_then(|mut both| both.pop()) {
            break refused;
        }
    };
    let refilled = begun.elapsed().as_secs() as usize * SLICE + SLICE;
    let slack = SLICE * servers.len();
    assert!(
        passed + sent_again + slack >= QUOTA,
        "{passed}, {sent_again} sent again"
    );
    assert!(
        passed <= QUOTA + refilled + slack,
        "{passed}, {refilled} came back"
    );
    refused
}

async fn two_servers() -> (Arc<Database>, TestApp, TestApp) {
    let database = Arc::new(Database::migrated(Engine::Postgres));
    let first = TestApp::start(&database).await;
    let second = TestApp::start(&database).await;
    (database, first, second)
}

#[test]
fn two_servers_share_the_quota_of_an_account() {
    runtime().block_on(async {
        let (_database, first, second) = two_servers().await;
        let dev = first.developer_on(Tier::Free).await;
        let servers = [&first, &second].map(|app| Client::new(app.address, Some(&dev.test_key)));
        let refused = share_a_quota(&servers, "/v1/account").await;
        assert!((1..=3).contains(&refused.header("retry-after").parse::<u32>().unwrap()));
        assert!(refused.header("ratelimit").starts_with("\"default\";r=0;"));
        // Others are not concerned.
        let other = second.developer_on(Tier::Free).await;
        other.test.get("/v1/account").await.expect(200);
    });
}

#[test]
fn two_servers_share_the_quota_of_a_worker() {
    runtime().block_on(async {
        let (_database, first, second) = two_servers().await;
        let worker = first.sign_up(&[]).await;
        let token = worker.client.key();
        let servers = [&first, &second].map(|app| Client::new(app.address, Some(token)));
        share_a_quota(&servers, "/v1/worker").await;
    });
}

#[test]
fn the_whole_quota_may_come_at_once_to_one_server() {
    runtime().block_on(async {
        let (_database, first, _second) = two_servers().await;
        let dev = first.developer_on(Tier::Free).await;
        let (replies, sent_again) = many(&dev.test, "/v1/account", QUOTA).await;
        let passed = replies.iter().filter(|reply| reply.status == 200).count();
        assert!(
            passed + sent_again >= QUOTA,
            "{passed}, {sent_again} sent again"
        );
    });
}

#[test]
fn what_one_server_let_through_the_other_tells() {
    runtime().block_on(async {
        let (_database, first, second) = two_servers().await;
        let dev = first.developer_on(Tier::Free).await;
        many(&dev.test, "/v1/account", 100).await;
        let there = Client::new(second.address, Some(&dev.test_key));
        eventually("the other server knows", async || {
            let reply = there.get("/v1/account").await;
            let status = reply.header("ratelimit").to_owned();
            let left = status.split(['=', ';']).nth(2).unwrap();
            left.parse::<usize>().unwrap() < 560
        })
        .await;
    });
}

#[test]
fn rows_of_callers_who_are_gone_are_deleted() {
    runtime().block_on(async {
        let (database, first, _second) = two_servers().await;
        let dev = first.developer_on(Tier::Free).await;
        let rows = async || database.column("SELECT id FROM rate_limits").await.len();
        many(&dev.test, "/v1/account", 20).await;
        eventually("recorded", async || rows().await == 1).await;
        let now = Clock::system().now();
        prune(&first.store, now).await.unwrap();
        assert_eq!(rows().await, 1);
        let later = now.plus(Duration::from_secs(3 * 60 * 60));
        prune(&first.store, later).await.unwrap();
        assert_eq!(rows().await, 0);
    });
}

#[test]
fn one_server_on_sqlite_writes_nothing() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        let dev = app.developer_on(Tier::Free).await;
        let (replies, _) = many(&dev.test, "/v1/account", QUOTA).await;
        assert!(replies.iter().all(|reply| reply.status == 200));
        let rows = database.column("SELECT id FROM rate_limits").await;
        assert!(rows.is_empty());
    });
}
