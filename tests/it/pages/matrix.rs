//! Every page of the router's own list, with every kind of cookie, from every kind of origin.

use legwork::pages::{ADMIN_COOKIE, DEVELOPER_COOKIE, Needs, WORKER_COOKIE, page_routes};

use super::{Browser, PASSWORD};
use crate::support::{Client, Engine, Reply, TestApp, tell};

fn filled(path: &str) -> String {
    let parts = path.split('/').map(|part| match part {
        "{environment}" => "test",
        part if part.starts_with('{') => "x",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

async fn ask(client: &Client, method: &str, path: &str, headers: &[(&str, &str)]) -> Reply {
    let mut all = vec![
        ("accept", "text/html"),
        ("content-type", "application/x-www-form-urlencoded"),
    ];
    all.extend_from_slice(headers);
    client.send(method, path, &all, "").await
}

/// Where somebody without the right cookie ends up.
fn is_sent_to_sign_in(reply: &Reply, needs: Needs) -> bool {
    let to = reply.headers.get("location");
    let to = to.map_or("", |value| value.to_str().unwrap());
    reply.status == 303 && to.starts_with(needs.sign_in())
}

#[test]
fn a_page_opens_with_its_own_cookie_alone() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let browser = Browser::signed_up(&app, "ada@example.com").await;
        let session = browser.cookie.clone().unwrap();
        let token = session.split_once('=').unwrap().1.to_owned();
        let mut client = app.client();
        // Strangers may ask a server only so often.
        let mut servers = Vec::new();
        let mut worker = Browser::of(&app);
        let fields = [
            ("name", "Wanda"),
            ("email", "wanda@example.com"),
            ("password", PASSWORD),
        ];
        worker.post("/worker/sign-up", &fields).await;
        let workers = worker.cookie.unwrap();
        let workers_token = workers.split_once('=').unwrap().1.to_owned();
        let mut kept = 0;
        for (place, page) in page_routes().into_iter().enumerate() {
            if place % 30 == 29 {
                let next = TestApp::start_on(app.store.clone(), &app.database).await;
                client = next.client();
                servers.push(next);
            }
            let path = filled(page.path);
            let wrong = |name: &str| format!("{name}={token}");
            for cookie in [
                "",
                &wrong(WORKER_COOKIE),
                &wrong(ADMIN_COOKIE),
                &wrong("legwork_dev"),
                &format!("{DEVELOPER_COOKIE}={token}0"),
                &format!("{session}; {session}"),
                &format!("{DEVELOPER_COOKIE}={workers_token}"),
                &format!("{ADMIN_COOKIE}={workers_token}"),
                &format!("{workers}; {workers}"),
            ] {
                let reply = ask(&client, "GET", &path, &[("cookie", cookie)]).await;
                let sent = is_sent_to_sign_in(&reply, page.needs);
                // Where a form is sent, nothing is to be seen: it leads to a page.
                let to = reply.headers.get("location");
                let to = to.map_or("?", |to| to.to_str().unwrap());
                let is_led = path.len() > to.len() && path.starts_with(to);
                assert_eq!(
                    sent || is_led,
                    page.needs.cookie().is_some() || is_led,
                    "{path} with {cookie:?}"
                );
            }
            // A stream does not end.
            if page.needs == Needs::Developer && !path.ends_with("/stream") {
                let reply = ask(&client, "GET", &path, &[("cookie", &session)]).await;
                assert!(!is_sent_to_sign_in(&reply, page.needs), "{path}");
                kept += 1;
            }
        }
        for page in page_routes() {
            let path = filled(page.path);
            if page.needs == Needs::Worker {
                let reply = ask(&client, "GET", &path, &[("cookie", &workers)]).await;
                assert!(!is_sent_to_sign_in(&reply, page.needs), "{path}");
                assert!(reply.status.as_u16() < 500, "{path}: {}", reply.text);
                kept += 1;
            }
        }
        assert!(kept >= 20, "{kept}");
    });
}

#[test]
fn forms_of_other_sites_change_nothing() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let browser = Browser::signed_up(&app, "ada@example.com").await;
        let session = browser.cookie.clone().unwrap();
        let own = format!("http://{}", app.address);
        let client = app.client();
        let foreign: [&[(&str, &str)]; 6] = [
            &[("origin", "https://evil.example")],
            &[("origin", "null")],
            &[("sec-fetch-site", "cross-site"), ("origin", &own)],
            &[("sec-fetch-site", "same-site")],
            &[("sec-fetch-site", "")],
            &[],
        ];
        for page in page_routes().iter().filter(|page| page.posts) {
            let path = filled(page.path);
            for from in foreign {
                let mut headers = from.to_vec();
                headers.push(("cookie", &session));
                let reply = ask(&client, "POST", &path, &headers).await;
                // A program may pay with the secret that is in the path.
                let is_program = from.is_empty() && page.needs == Needs::SecretInPath;
                assert_eq!(
                    reply.status == 403,
                    !is_program,
                    "{path} from {from:?}: {}",
                    reply.text
                );
            }
        }
        // The session is still there: nothing has signed it out.
        let home = ask(&client, "GET", "/dashboard/test", &[("cookie", &session)]).await;
        assert_eq!(home.status, 200);
        for from in [
            &[("sec-fetch-site", "same-origin")],
            &[("sec-fetch-site", "none")],
            &[("origin", own.as_str())],
        ] {
            let mut headers = from.to_vec();
            headers.push(("cookie", &session));
            let reply = ask(&client, "POST", "/reset", &headers).await;
            assert_ne!(reply.status, 403, "{from:?}");
        }
    });
}

/// A page says itself which cookie it needs. What forgets to say so would be open: so the paths tell, too.
#[test]
fn every_page_of_an_app_needs_the_cookie_of_that_app() {
    const OPEN: [&str; 14] = [
        "/admin/sign-in",
        "/admin/sign-in/passkey",
        "/worker",
        "/worker/icons/{name}",
        "/worker/language",
        "/worker/manifest.webmanifest",
        "/worker/offline",
        "/worker/password",
        "/worker/reset",
        "/worker/sign-in",
        "/worker/sign-in/passkey",
        "/worker/sign-in/passkey/options",
        "/worker/sw.js",
        "/worker/sign-up",
    ];
    for page in page_routes() {
        let expected = match page.path.split('/').nth(1).unwrap() {
            _ if OPEN.contains(&page.path) => Needs::Nothing,
            "dashboard" | "account" | "sign-out" => Needs::Developer,
            "admin" => Needs::Admin,
            "worker" => Needs::Worker,
            "pay" | "confirm" | "invite" | "local" => Needs::SecretInPath,
            "reset" | "onboarding" if page.path.contains('{') => Needs::SecretInPath,
            _ => Needs::Nothing,
        };
        assert_eq!(page.needs, expected, "{}", page.path);
    }
}
