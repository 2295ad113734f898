//! Requests a minute, where several servers are on one database.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use legwork::ambient::Clock;
use legwork::domain::Tier;
use legwork::maintenance::prune;

use crate::support::{Client, Database, Engine, Reply, TestApp, eventually, runtime};

const QUOTA: usize = 600;
const SLICE: usize = 10;

/// So many requests at once. All tests share the processors, and a server that has too few of them refuses
/// requests before it counts them: those are sent again.
async fn many(server: &Client, path: &str, count: usize) -> Vec<Reply> {
    let ask = async || {
        loop {
            let reply = server.get(path).await;
            if reply.status != 503 {
                return reply;
            }
        }
    };
    join_all((0..count).map(|_| ask())).await
}

/// What two servers let through until both refuse is the quota and what came back meanwhile, exact to
/// one slice for each.
async fn share_a_quota(servers: &[Client; 2], path: &str) {
    let begun = Instant::now();
    let mut passed = 0;
    loop {
        let asks = servers.iter().map(|server| many(server, path, 50));
        let replies = join_all(asks).await;
        let refused = replies
            .iter()
            .map(|replies| replies.iter().filter(|reply| reply.status == 429).count());
        let refused: Vec<usize> = refused.collect();
        passed += replies.iter().flatten().count() - refused.iter().sum::<usize>();
        for reply in replies.iter().flatten() {
            assert!([200, 429].contains(&reply.status.as_u16()), "{reply:?}");
        }
        if refused.iter().all(|refused| *refused > 0) {
            break;
        }
    }
    let refilled = begun.elapsed().as_secs() as usize * SLICE + SLICE;
    let slack = SLICE * servers.len();
    assert!(passed + slack >= QUOTA, "{passed}");
    assert!(
        passed <= QUOTA + refilled + slack,
        "{passed}, {refilled} came back"
    );
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
        share_a_quota(&servers, "/v1/account").await;
        let refused = servers[1].get("/v1/account").await;
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
        let replies = many(&dev.test, "/v1/account", QUOTA).await;
        let passed = replies.iter().filter(|reply| reply.status == 200).count();
        assert_eq!(passed, QUOTA);
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
        let replies = many(&dev.test, "/v1/account", QUOTA).await;
        assert!(replies.iter().all(|reply| reply.status == 200));
        let rows = database.column("SELECT id FROM rate_limits").await;
        assert!(rows.is_empty());
    });
}
