//! The link that opens the dashboard on a developer's own machine.

use super::Browser;
use crate::support::{Command, Database, Engine, Server, TestApp, on_both_engines};

on_both_engines!(a_local_link_signs_in_once_and_on_this_machine_alone);

fn printed(app: &TestApp, more: &[&str]) -> Command {
    let words = [&["account", "sign-in-link"], more].concat();
    Command::new(&words).on(&app.database)
}

/// The path of the link on the first line.
fn path(printed: &str) -> String {
    let url = printed.lines().next().unwrap();
    let rest = url.strip_prefix("http://localhost:8080");
    rest.unwrap_or_else(|| panic!("{printed}")).to_owned()
}

async fn a_local_link_signs_in_once_and_on_this_machine_alone(app: TestApp) {
    let nobody = printed(&app, &[]).fail();
    assert!(nobody.contains("there is no account"), "{nobody}");
    app.clock.move_to(legwork::ambient::Clock::system().now());
    Browser::signed_up(&app, "ada@example.com").await;
    let email = ["--email", "ada@example.com"];
    let (first, second) = (
        path(&printed(&app, &email).succeed()),
        path(&printed(&app, &email).succeed()),
    );
    let mut browser = Browser::of(&app);
    assert_eq!(
        browser.get(&first).await.status,
        410,
        "a newer one voids it"
    );
    let shown = browser.get(&second).await;
    assert_eq!(shown.status, 200);
    assert_eq!(shown.header("cache-control"), "no-store");
    assert!(shown.text.contains("ada@example.com") && browser.cookie.is_none());
    let signed_in = browser.post(&second, &[]).await;
    assert_eq!(signed_in.header("location"), "/dashboard/test");
    assert_eq!(browser.follow(&signed_in).await.status, 200);
    let mut other = Browser::of(&app);
    assert_eq!(other.post(&second, &[]).await.status, 410);
    assert_eq!(other.cookie, None);
    // It ends.
    let third = path(&printed(&app, &email).succeed());
    app.advance(std::time::Duration::from_secs(7_200));
    assert_eq!(other.get(&third).await.status, 410);
    // A server that others reach makes none.
    let public = printed(
        &app,
        &[
            "--email",
            "ada@example.com",
            "--public-url",
            "https://legwork.example.com",
        ],
    );
    assert!(public.fail().contains("not in local mode"));
}

/// `cargo run` ends in a dashboard.
#[test]
fn the_first_start_prints_a_link_to_the_dashboard() {
    let database = Database::migrated(Engine::Sqlite);
    let server = Server::start(&database);
    let marker = format!("http://localhost:{}/local/", server.address.port());
    assert!(server.greeting.contains(&marker), "{}", server.greeting);
}
