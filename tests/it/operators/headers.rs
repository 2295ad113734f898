//! What browsers may do with what they get.

use std::collections::BTreeSet;

use crate::docs::markdown::read;
use crate::support::{Client, Engine, GOOD_CARD, Reply, TestApp, tell};

/// Every path that the program routes, with something in place of its parameters.
fn paths() -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    let text = read("http/src/api/router.rs");
    for rest in text.split(".route(").skip(1) {
        let path = rest.trim_start().strip_prefix('"');
        let path = path.and_then(|rest| rest.split('"').next());
        paths.insert(filled(path.unwrap_or_else(|| panic!("{rest:.60}"))));
    }
    let pages = legwork::pages::page_routes();
    paths.extend(pages.iter().map(|page| filled(page.path)));
    let description: serde_json::Value = serde_json::from_str(&read("openapi.json")).unwrap();
    let described = description["paths"].as_object().unwrap().keys();
    paths.extend(described.map(|path| filled(path)));
    for path in ["/docs/tasks", "/openapi.json", "/none"] {
        paths.insert(path.to_owned());
    }
    paths
}

fn filled(path: &str) -> String {
    let parts = path.split('/');
    let parts = parts.map(|part| if part.starts_with('{') { "x" } else { part });
    parts.collect::<Vec<_>>().join("/")
}

fn is_page(reply: &Reply) -> bool {
    let content_type = reply.headers.get("content-type");
    content_type.is_some_and(|value| value.to_str().unwrap().starts_with("text/html"))
}

/// The sources that a policy allows for a kind of thing, or by default.
fn allowed<'a>(policy: &'a str, kind: &str) -> Vec<&'a str> {
    let directives = policy.split(';').map(str::trim);
    let find = |name: &str| {
        let mut directives = directives.clone();
        directives.find_map(|one| one.strip_prefix(name)?.strip_prefix(' '))
    };
    let found = find(kind).or_else(|| find("default-src"));
    found
        .map(|list| list.split(' ').collect())
        .unwrap_or_default()
}

#[track_caller]
fn check_page(path: &str, reply: &Reply) {
    let policy = reply.header("content-security-policy");
    for kind in [
        "script-src",
        "style-src",
        "img-src",
        "connect-src",
        "font-src",
        "object-src",
    ] {
        for source in allowed(policy, kind) {
            let fine = ["'none'", "'self'"].contains(&source);
            let picture = kind == "img-src" && ["data:", "blob:"].contains(&source);
            assert!(fine || picture, "{path}: {kind} {source}");
        }
        assert!(!allowed(policy, kind).is_empty(), "{path}: {kind}");
    }
    assert_eq!(allowed(policy, "frame-ancestors"), ["'none'"], "{path}");
    assert_eq!(allowed(policy, "base-uri"), ["'none'"], "{path}");
    assert!(policy.contains("form-action"), "{path}");
    assert!(policy.contains("require-trusted-types-for 'script'; trusted-types legwork"));
    assert_eq!(reply.header("x-frame-options"), "DENY", "{path}");
    assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
    assert_eq!(reply.header("cross-origin-opener-policy"), "same-origin");
    // Workers take pictures in their app, and nobody anywhere else.
    let features = reply.header("permissions-policy");
    let for_workers = path.starts_with("/worker") && features.contains("camera=(self)");
    assert!(
        for_workers || features.contains("camera=()"),
        "{path}: {features}"
    );
    let inline = reply.text.contains("<script>") || reply.text.contains("onclick=");
    assert!(
        !inline,
        "{path}: what is written into the page does not run"
    );
}

async fn walk(client: &Client, method: &str) -> BTreeSet<String> {
    let mut pages = BTreeSet::new();
    for path in paths() {
        let reply = client.send(method, &path, &[], "").await;
        assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
        let kept = reply.header("cache-control");
        let same_for_all = path.starts_with("/docs") || path == "/openapi.json";
        let known = same_for_all || path == "/favicon.ico";
        // The shell of the workers' app holds nothing of anybody. It is asked for anew each time.
        let is_shell = ["/worker/sw.js", "/worker/manifest.webmanifest"].contains(&path.as_str());
        let is_asked_anew = kept == "no-store" || is_shell && kept == "no-cache";
        assert!(is_asked_anew || known, "{path}: {kept}");
        if is_page(&reply) {
            check_page(&path, &reply);
            pages.insert(path);
        }
    }
    pages
}

#[test]
fn every_page_says_what_a_browser_may_do_with_it() {
    tell(Engine::Sqlite, async |app: TestApp| {
        // There are more paths, asked twice, than a stranger has requests in a minute.
        let app = app.without_rate_limits().await;
        let pages = walk(&app.client(), "GET").await;
        for path in [
            "/pay/x",
            "/onboarding/x",
            "/onboarding/done",
            "/docs/",
            "/docs/tasks",
        ] {
            assert!(pages.contains(path), "{path}: {pages:?}");
        }
        let pages = walk(&app.client(), "POST").await;
        assert!(pages.contains("/pay/x") && pages.contains("/onboarding/x"));
        // With a form in it, and with thanks.
        let (_, secret) = app.developer().await.create_payable_task().await;
        let path = format!("/pay/{secret}");
        check_page(&path, &app.client().get(&path).await);
        check_page(&path, &app.client().pay(&secret, "1").await);
        check_page(&path, &app.client().pay(&secret, GOOD_CARD).await);
    });
}

/// The reference of the API tells all that the description does, and nothing in it runs.
#[test]
fn the_reference_tells_every_operation() {
    tell(Engine::Sqlite, async |app: TestApp| {
        let contents = app.client().get("/docs/").await.text;
        let mut pages = String::new();
        for rest in contents.split("<li><a href=\"/docs/").skip(1) {
            let slug = rest.split(['"', '#']).next().unwrap();
            let page = app.client().get(&format!("/docs/{slug}")).await;
            assert_eq!(page.status, 200, "{slug}");
            pages.push_str(&page.text);
        }
        let description: serde_json::Value = serde_json::from_str(&read("openapi.json")).unwrap();
        for (path, methods) in description["paths"].as_object().unwrap() {
            for operation in methods.as_object().unwrap().values() {
                let id = operation["operationId"].as_str().unwrap();
                assert!(contents.contains(&format!("#{id}\"")), "{id}");
                assert!(pages.contains(&format!("<section class=\"card\" id=\"{id}\"")));
            }
            assert!(pages.contains(path.as_str()), "{path}");
        }
        for code in ["budget_cents", "VALIDATION_ERROR", "$LEGWORK_API_KEY"] {
            assert!(pages.contains(code), "{code}");
        }
        for made_of in ["<script", "<style", "style=\"", "src=\""] {
            assert!(!contents.contains(made_of) && !pages.contains(made_of));
        }
        let wrong = app.client().get("/docs/nothing").await;
        assert_eq!(wrong.status, 404);
        let short = app.client().get("/docs").await;
        assert_eq!(short.status, 303);
        assert_eq!(short.header("location"), "/docs/");
    });
}
