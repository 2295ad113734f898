//! Workers find tasks near a place.

use legwork::domain::geo::Point;
use serde_json::{Value, json};

use crate::support::{Developer, GOOD_CARD, TestApp, Worker, on_both_engines, storefront};

on_both_engines!(
    what_is_near_is_found_in_order,
    bounties_come_first_whatever_the_order,
    pages_follow_each_other_without_gaps,
    places_at_the_edge_of_the_map_are_found,
    only_what_fits_is_found,
    what_is_exact_is_withheld,
    no_search_tells_places_apart_that_are_rounded_to_the_same,
    faulty_searches_are_refused,
);

struct Place {
    latitude: f64,
    longitude: f64,
    budget: i64,
    bounty: bool,
}

fn place(latitude: f64, longitude: f64) -> Place {
    Place {
        latitude,
        longitude,
        budget: 2500,
        bounty: false,
    }
}

async fn post(app: &TestApp, dev: &Developer, place: &Place) -> String {
    let mut body = storefront();
    body["location"]["latitude"] = place.latitude.into();
    body["location"]["longitude"] = place.longitude.into();
    body["budget_cents"] = place.budget.into();
    if place.bounty {
        body["task_type"] = "bounty".into();
    }
    post_body(app, dev, &body).await
}

async fn post_body(app: &TestApp, dev: &Developer, body: &Value) -> String {
    let created = dev.live.post("/v1/tasks", body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    assert_eq!(app.client().pay(secret, GOOD_CARD).await.status, 200);
    created["id"].as_str().unwrap().to_owned()
}

async fn search(worker: &Worker, query: &str) -> Value {
    let path = format!("/v1/worker/available_tasks?{query}");
    worker.client.get(&path).await.expect(200)
}

fn ids(found: &Value) -> Vec<String> {
    let id = |task: &Value| task["id"].as_str().unwrap().to_owned();
    found["data"].as_array().unwrap().iter().map(id).collect()
}

async fn what_is_near_is_found_in_order(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let mut posted = Vec::new();
    for (step, budget) in [(3, 900), (1, 700), (2, 5000), (500, 600)] {
        let latitude = 40.7163 + f64::from(step) * 0.01;
        let at = Place {
            budget,
            ..place(latitude, -73.9595)
        };
        posted.push(post(&app, &dev, &at).await);
        app.advance(std::time::Duration::from_secs(1));
    }
    let order = |numbers: [usize; 3]| numbers.map(|number| posted[number].clone());
    assert_eq!(ids(&search(&worker, "").await), order([1, 2, 0]));
    assert_eq!(ids(&search(&worker, "sort=payout").await), order([2, 0, 1]));
    assert_eq!(ids(&search(&worker, "sort=newest").await), order([2, 1, 0]));
    let found = search(&worker, "").await;
    let here = Point {
        latitude: 40.7163,
        longitude: -73.9595,
    };
    // The rounded place.
    let there = Point {
        latitude: 40.73,
        longitude: -73.96,
    };
    let expected = (here.distance_meters(there) * 10.0).round() / 10.0;
    assert_eq!(found["data"][0]["distance_meters"], expected);
    let far = search(&worker, "latitude=45.7163&longitude=-73.9595").await;
    assert_eq!(ids(&far), [posted[3].clone()]);
    // What is taken is not found any more; what is given back is.
    let taker = app.ready_worker().await;
    let task = json!({"id": posted[1]});
    taker.act(&task, "accept").await.expect(200);
    assert!(!ids(&search(&worker, "").await).contains(&posted[1]));
    taker.act(&task, "release").await.expect(200);
    assert!(ids(&search(&worker, "").await).contains(&posted[1]));
}

async fn bounties_come_first_whatever_the_order(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let near = post(&app, &dev, &place(40.7164, -73.9595)).await;
    let bounty = Place {
        budget: 500,
        bounty: true,
        ..place(40.80, -73.9595)
    };
    let bounty = post(&app, &dev, &bounty).await;
    for query in ["", "sort=payout", "sort=newest", "limit=1"] {
        let found = ids(&search(&worker, query).await);
        assert_eq!(found[0], bounty, "{query}");
        assert!(query == "limit=1" || found[1] == near, "{query}");
    }
}

async fn pages_follow_each_other_without_gaps(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let mut posted = Vec::new();
    for number in 0..13 {
        let at = Place {
            budget: 600 + i64::from(number % 3) * 100,
            bounty: number % 5 == 0,
            ..place(40.7163 + f64::from(number % 4) * 0.02, -73.9595)
        };
        posted.push(post(&app, &dev, &at).await);
    }
    posted.sort();
    for sort in ["distance", "payout", "newest"] {
        for radius in ["15", "150"] {
            let mut found = Vec::new();
            let mut cursor = String::new();
            loop {
                let query = format!("sort={sort}&radius_km={radius}&limit=4{cursor}");
                let page = search(&worker, &query).await;
                found.extend(ids(&page));
                match page["meta"]["next_cursor"].as_str() {
                    Some(next) => cursor = format!("&cursor={next}"),
                    None => break,
                }
            }
            let whole = ids(&search(&worker, &format!("sort={sort}&radius_km={radius}")).await);
            assert_eq!(found, whole, "{sort}");
            found.sort();
            assert_eq!(found, posted, "{sort}");
        }
    }
}

async fn places_at_the_edge_of_the_map_are_found(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    for (task, from) in [
        (place(0.0, 179.95), "latitude=0&longitude=-179.95"),
        (place(10.0, -180.0), "latitude=10&longitude=180"),
        (place(89.95, 10.0), "latitude=89.95&longitude=-170"),
        (place(-90.0, 0.0), "latitude=-89.9&longitude=77"),
    ] {
        let id = post(&app, &dev, &task).await;
        for sort in ["distance", "payout", "newest"] {
            let found = search(&worker, &format!("{from}&sort={sort}")).await;
            assert_eq!(ids(&found), [id.as_str()], "{from} {sort}");
        }
    }
}

async fn only_what_fits_is_found(app: TestApp) {
    let dev = app.developer().await;
    let (driver, other) = (app.sign_up(&["driving"]).await, app.sign_up(&[]).await);
    let mut body = storefront();
    body["required_skills"] = json!(["driving"]);
    body["category"] = "delivery".into();
    let id = post_body(&app, &dev, &body).await;
    dev.create_task().await;
    dev.create_live_task().await;
    for sort in ["distance", "payout", "newest"] {
        let query = format!("sort={sort}");
        assert_eq!(ids(&search(&driver, &query).await), [id.as_str()]);
        assert_eq!(ids(&search(&other, &query).await), Vec::<String>::new());
        let query = format!("sort={sort}&category=cleaning");
        assert_eq!(ids(&search(&driver, &query).await), Vec::<String>::new());
        let query = format!("sort={sort}&category=delivery");
        assert_eq!(ids(&search(&driver, &query).await), [id.as_str()]);
    }
}

async fn what_is_exact_is_withheld(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    let mut body = storefront();
    body["instructions"] = "Ring twice.".into();
    body["location"]["address"] = "240 Bedford Ave".into();
    post_body(&app, &dev, &body).await;
    let found = search(&worker, "").await;
    let task = &found["data"][0];
    assert_eq!(task["location_latitude"], 40.72);
    assert_eq!(task["location_longitude"], -73.96);
    let text = found.to_string();
    assert!(!text.contains("Ring twice") && !text.contains("Bedford"));
    assert!(!text.contains("40.7163") && !text.contains(&dev.account_id));
}

/// Two tasks at opposite corners of what is rounded to one place, and searches that would find out.
async fn no_search_tells_places_apart_that_are_rounded_to_the_same(app: TestApp) {
    let dev = app.developer().await;
    let worker = app.sign_up(&[]).await;
    for (one, other) in [
        ((40.7151, -73.9649), (40.7249, -73.9551)),
        ((-0.0049, 0.0049), (0.0049, -0.0049)),
    ] {
        let mut both = [
            post(&app, &dev, &place(one.0, one.1)).await,
            post(&app, &dev, &place(other.0, other.1)).await,
        ];
        both.sort();
        let [first, second] = both;
        let mut found_some = 0;
        for number in 0..90 {
            let step = f64::from(number);
            let (latitude, longitude) = (one.0 + step * 0.0003, one.1 + step * 0.0002);
            let radius_km = 0.1 + step * 0.04;
            let sort = ["distance", "payout", "newest"][number as usize % 3];
            let query = format!(
                "latitude={latitude}&longitude={longitude}&radius_km={radius_km}&sort={sort}"
            );
            let mut found = search(&worker, &query).await;
            assert!(found["meta"]["next_cursor"].is_null());
            let ids = ids(&found);
            assert_eq!(ids.len() % 2, 0, "one of them: {query}");
            if ids.is_empty() {
                continue;
            }
            found_some += 1;
            assert_eq!(ids, [second.clone(), first.clone()], "the larger id first");
            let data = found["data"].as_array_mut().unwrap();
            for task in data.iter_mut() {
                task["id"] = Value::Null;
            }
            assert_eq!(data[0].to_string(), data[1].to_string(), "{query}");
            // A cursor has the key and the id, and the key is the same.
            let page = search(&worker, &format!("{query}&limit=1")).await;
            let cursor = page["meta"]["next_cursor"].as_str().unwrap();
            let turned = cursor.replace(&second, &first);
            let rest = search(&worker, &format!("{query}&cursor={cursor}")).await;
            assert_eq!(self::ids(&rest), std::slice::from_ref(&first));
            let none = search(&worker, &format!("{query}&cursor={turned}")).await;
            assert_eq!(self::ids(&none), Vec::<String>::new());
        }
        assert!((10..90).contains(&found_some), "{found_some}");
    }
}

async fn faulty_searches_are_refused(app: TestApp) {
    let worker = app.sign_up(&[]).await;
    for (query, fields) in [
        ("latitude=91&longitude=0", vec!["latitude"]),
        ("latitude=1", vec!["longitude"]),
        ("longitude=1", vec!["latitude"]),
        ("latitude=1&sort=best", vec!["longitude", "sort"]),
        ("latitude=NaN&longitude=0", vec!["latitude"]),
        ("radius_km=0", vec!["radius_km"]),
        ("radius_km=201", vec!["radius_km"]),
        (
            "sort=best&category=x&limit=0",
            vec!["category", "sort", "limit"],
        ),
        ("cursor=x", vec!["cursor"]),
        (
            "cursor=1.7ff8000000000000.01a1ddf1f6667adcaf72e408e58b360f",
            vec!["cursor"],
        ),
        ("what=1", vec!["what"]),
    ] {
        let path = format!("/v1/worker/available_tasks?{query}");
        let reply = worker.client.get(&path).await;
        assert_eq!(reply.faulty_fields(), fields, "{query}");
    }
    let body =
        json!({"email": "homeless@example.com", "password": "correct horse battery", "name": "H"});
    let reply = app.client().post("/v1/workers", &body).await.expect(201);
    let client = crate::support::Client::new(app.address, reply["token"].as_str());
    let refused = client.get("/v1/worker/available_tasks").await;
    assert_eq!(refused.faulty_fields(), ["latitude"]);
}
