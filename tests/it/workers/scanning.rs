//! How much a search reads when there are very many tasks, in rows: time would tell nothing.

use legwork::domain::geo::{Point, Square};
use legwork::domain::tasks::Category;
use legwork::domain::{SearchOrder, TaskId};
use legwork::usecases::{self, FoundCursor, FoundPage, Search};

use crate::support::{Developer, GOOD_CARD, TestApp, on_both_engines, storefront};

on_both_engines!(a_search_reads_a_bounded_number_of_rows);

const CENTER: Point = Point {
    latitude: 40.73,
    longitude: -73.96,
};
/// What a search may read before it stops, with what it has begun to read then.
const MOST: usize = 2_000 + 600;
const PLACES: i64 = 20;
const AT_EACH: i64 = 5_000;

/// Very many tasks of one category, at some places of one district.
async fn fill(app: &TestApp) {
    for number in 0..PLACES {
        let place = Point {
            latitude: CENTER.latitude + 0.01 * (number / 5) as f64,
            longitude: CENTER.longitude + 0.01 * (1 + number % 5) as f64,
        }
        .roughly();
        let (cell, district, region) = (
            place.cell(),
            Square::District.of(place),
            Square::Region.of(place),
        );
        let (latitude, longitude) = (place.latitude, place.longitude);
        let first = number * AT_EACH;
        app.database
            .execute(&format!(
                "INSERT INTO posted_tasks (task_id, bounty, cell, district, region, latitude,
                    longitude, category, required_skills, payout_cents, posted_at)
                 WITH RECURSIVE n (i) AS (
                    SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {AT_EACH})
                 SELECT '0190cccc00007000' || substr(CAST(10000000000000000 + {first} + i AS TEXT), 2),
                    0, {cell}, {district}, {region}, {latitude}, {longitude}, 'cleaning', '[]',
                    1000 + i, 1760000000000 + i
                 FROM n"
            ))
            .await;
    }
}

async fn post(app: &TestApp, dev: &Developer, place: Point) -> TaskId {
    let mut body = storefront();
    body["location"]["latitude"] = place.latitude.into();
    body["location"]["longitude"] = place.longitude.into();
    let created = dev.live.post("/v1/tasks", &body).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    assert_eq!(app.client().pay(secret, GOOD_CARD).await.status, 200);
    TaskId::parse(created["id"].as_str().unwrap()).unwrap()
}

async fn find(app: &TestApp, search: &Search) -> FoundPage {
    let search = search.clone();
    app.store
        .snapshot(move |tx| usecases::find_tasks(tx, &search))
        .await
        .unwrap()
}

/// All that a search finds, page by page, and how many pages that took.
async fn all(app: &TestApp, mut search: Search) -> (Vec<TaskId>, usize) {
    let (mut found, mut pages) = (Vec::new(), 0);
    loop {
        let page = find(app, &search).await;
        assert!(page.rows_read <= MOST, "{} rows", page.rows_read);
        found.extend(page.found.iter().map(|found| found.task.id));
        pages += 1;
        let Some(next) = page.next else {
            return (found, pages);
        };
        assert_ne!(search.after.as_ref(), Some(&next), "it goes on");
        search.after = Some(next);
    }
}

async fn a_search_reads_a_bounded_number_of_rows(app: TestApp) {
    let dev = app.developer().await;
    let near = post(&app, &dev, CENTER).await;
    let middle = Point {
        latitude: CENTER.latitude + 0.02,
        longitude: CENTER.longitude + 0.03,
    };
    let among = post(&app, &dev, middle).await;
    fill(&app).await;
    for order in [
        SearchOrder::Distance,
        SearchOrder::Payout,
        SearchOrder::Newest,
    ] {
        let search = Search {
            center: CENTER,
            radius_meters: 25_000.0,
            category: None,
            skills: Vec::new(),
            order,
            after: None::<FoundCursor>,
            limit: 20,
        };
        // Where most tasks fit, a page is found at once. Only two of them are whole tasks.
        let page = find(&app, &search).await;
        assert!(page.rows_read < 1_200, "{order:?}: {}", page.rows_read);
        assert!(page.next.is_some());
        // Where few are in the circle, the district around it does not matter.
        let small = Search {
            radius_meters: 100.0,
            ..search.clone()
        };
        let page = find(&app, &small).await;
        assert_eq!(page.found[0].task.id, near, "{order:?}");
        assert!(page.next.is_none() && page.rows_read <= 300, "{order:?}");
        // Where hardly any fits, it is looked for in parts.
        let rare = Search {
            category: Some(Category::Photography),
            ..search
        };
        let (mut found, pages) = all(&app, rare).await;
        let mut expected = vec![near, among];
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{order:?}");
        assert!((10..=80).contains(&pages), "{order:?}: {pages} pages");
    }
}
