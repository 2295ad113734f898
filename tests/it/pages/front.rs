//! What a stranger's browser gets.

use futures_util::future::join_all;

use super::Browser;
use crate::support::{Engine, TestApp, tell};

#[test]
fn the_front_door_is_for_people_and_programs_keep_their_errors() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let mut browser = Browser::of(&app);
        let front = browser.get("/").await;
        assert_eq!(front.status, 200);
        for link in ["/sign-up", "/sign-in", "/docs/"] {
            assert!(front.text.contains(&format!("href=\"{link}")), "{link}");
        }
        let missing = browser.get("/no-such-page").await;
        assert_eq!(missing.status, 404);
        assert!(missing.header("content-type").starts_with("text/html"));
        let request = missing.header("x-request-id").to_owned();
        assert!(missing.text.contains("Page not found") && missing.text.contains(&request));
        // The API answers browsers, too, as it answers programs.
        let task = browser.get("/v1/tasks").await;
        assert!(task.header("content-type").starts_with("application/json"));
        let program = app.client();
        program.get("/").await.expect_error(404, "NOT_FOUND");
        program
            .get("/no-such-page")
            .await
            .expect_error(404, "NOT_FOUND");
    });
}

/// What leads to a page, or refuses a method, counts as the page does.
#[test]
fn no_place_can_be_asked_without_end() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let stranger = app.client();
        for (method, path) in [("GET", "/sign-out"), ("PUT", "/")] {
            let mut is_refused = false;
            // A few come back every second, so it takes more than those of a minute.
            for _ in 0..20 {
                let asks = (0..100).map(|_| stranger.send(method, path, &[], String::new()));
                is_refused |= join_all(asks).await.iter().any(|it| it.status == 429);
                if is_refused {
                    break;
                }
            }
            assert!(is_refused, "{method} {path}");
        }
    });
}

#[test]
fn robots_and_icons_are_there() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let client = app.client();
        let robots = client.get("/robots.txt").await;
        assert_eq!(robots.text, "User-agent: *\nAllow: /$\nDisallow: /\n");
        let icon = client.get("/favicon.ico").await;
        assert_eq!(icon.header("content-type"), "image/svg+xml");
    });
}

/// An asset is kept for good, since another text has another name.
#[test]
fn assets_have_names_of_their_own() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let mut browser = Browser::of(&app);
        let front = browser.get("/").await.text;
        let path = front.split("/assets/").nth(1).unwrap();
        let path = format!("/assets/{}", path.split('"').next().unwrap());
        let css = browser.get(&path).await;
        assert_eq!(
            css.header("cache-control"),
            "public, max-age=31536000, immutable"
        );
        assert!(css.text.contains("--paper"));
        let other = browser.get("/assets/legwork.0000000000000000.css").await;
        assert_eq!(other.status, 404);
    });
}
