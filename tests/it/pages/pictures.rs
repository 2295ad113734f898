//! Pictures of other hosts: what the policy of pages lets browsers load.

use super::{Browser, between};
use crate::files::place::Place;
use crate::support::{Engine, TestApp, tell};

const TILES: &str = "https://tiles.example.com/{z}/{x}/{y}.png © <Example> Maps";

/// The sources that a policy allows for something.
fn allowed(policy: &str, what: &str) -> String {
    let parts = policy.split("; ");
    let part = parts.into_iter().find_map(|part| part.strip_prefix(what));
    part.unwrap_or_else(|| panic!("no {what} in {policy}"))
        .to_owned()
}

#[test]
fn a_page_may_load_files_from_s3_and_tiles_from_their_server_alone() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let plain = Browser::of(&app).get("/").await;
        let policy = plain.header("content-security-policy").to_owned();
        assert_eq!(allowed(&policy, "img-src"), " 'self' blob: data:");
        let s3 = Place::s3();
        let app = app.with_pictures_of(s3.files.clone(), TILES).await;
        let mut browser = Browser::signed_up(&app, "ada@example.com").await;
        let created = browser.post("/dashboard/test/tasks/first", &[]).await;
        let path = created
            .header("location")
            .split('?')
            .next()
            .unwrap()
            .to_owned();
        let advance = format!("{path}/advance");
        browser
            .post(&advance, &[("to", "proof_submitted")])
            .await
            .expect(303);
        let task = browser.get(&path).await;
        let policy = task.header("content-security-policy").to_owned();
        let source = between(&task.text, "<figure>", "</figure>");
        let source = between(&source, "<img src=\"", "\"");
        let origin = source.split('/').take(3).collect::<Vec<_>>().join("/");
        assert!(origin.starts_with("http://127.0.0.1:"), "{source}");
        let tiles = "https://tiles.example.com";
        assert_eq!(
            allowed(&policy, "img-src"),
            format!(" 'self' blob: data: {origin} {tiles}")
        );
        assert_eq!(
            allowed(&policy, "media-src"),
            format!(" 'self' blob: {origin}")
        );
        assert_eq!(allowed(&policy, "script-src"), " 'self'");
        assert!(
            task.text
                .contains("<image href=\"https://tiles.example.com/"),
            "{}",
            task.text
        );
        assert!(
            task.text.contains("© &#60;Example&#62; Maps"),
            "{}",
            task.text
        );
        let review = browser.get("/dashboard/test/review").await.text;
        assert!(
            review.contains("<image href=\"https://tiles.example.com/"),
            "{review}"
        );
    });
}
