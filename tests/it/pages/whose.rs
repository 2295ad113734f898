//! Two people in one browser: a page that was made for the one does nothing for the other.

use legwork::domain::AdminRole;

use super::{Browser, between};
use crate::pages::worker::browser_of;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_form_of_a_developer_is_refused_in_the_session_of_another,
    a_claim_is_refused_in_the_session_of_another_admin,
    a_form_of_a_worker_is_refused_in_the_session_of_another,
);

/// The mark in the first form of a page.
fn mark(page: &str) -> String {
    between(page, "name=\"whose\" value=\"", "\"")
}

async fn a_form_of_a_developer_is_refused_in_the_session_of_another(app: TestApp) {
    let mut anna = Browser::signed_up(&app, "anna@example.com").await;
    let mut berta = Browser::signed_up(&app, "berta@example.com").await;
    let page = anna.get("/dashboard/test/keys").await.text;
    let forms = page.matches("<form method=\"post\"").count();
    assert_eq!(page.matches("name=\"whose\"").count(), forms);
    let annas = mark(&page);
    assert!(!annas.contains("anna"), "{annas}");
    assert_ne!(mark(&berta.get("/dashboard/test/keys").await.text), annas);
    let fields = [("whose", annas.as_str()), ("name", "Hers")];
    let refused = berta.post("/dashboard/test/keys", &fields).await;
    assert_eq!(refused.status, 409);
    for told in [
        "You have signed in as berta@example.com since",
        "Load the page again",
    ] {
        assert!(refused.text.contains(told), "{}", refused.text);
    }
    assert!(
        !berta
            .get("/dashboard/test/keys")
            .await
            .text
            .contains("Hers")
    );
    assert_eq!(anna.post("/dashboard/test/keys", &fields).await.status, 200);
    // The stream of a page is not that of another, and whoever signs out signs out.
    let stream = format!("/dashboard/test/events/stream?whose={annas}");
    assert_eq!(berta.get(&stream).await.status, 409);
    let out = berta.post("/sign-out", &[("whose", annas.as_str())]).await;
    assert_eq!(out.header("location"), "/sign-in");
}

async fn a_claim_is_refused_in_the_session_of_another_admin(app: TestApp) {
    let mut browsers = Vec::new();
    for _ in 0..2 {
        let admin = app.admin_with(AdminRole::Operator).await;
        let mut browser = Browser::of(&app);
        browser
            .post("/admin/sign-in", &[("key", admin.key())])
            .await;
        browsers.push(browser);
    }
    let first = mark(&browsers[0].get("/admin/queue").await.text);
    let fields = [("whose", first.as_str())];
    let refused = browsers[1].post("/admin/queue/next", &fields).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.text.contains("You have signed in as"),
        "{}",
        refused.text
    );
    assert_eq!(
        browsers[0].post("/admin/queue/next", &fields).await.status,
        303
    );
}

async fn a_form_of_a_worker_is_refused_in_the_session_of_another(app: TestApp) {
    let (wanda, willy) = (app.sign_up(&[]).await, app.sign_up(&[]).await);
    let mut wanda = browser_of(&app, &wanda).await;
    let mut willy = browser_of(&app, &willy).await;
    let page = wanda.get("/worker/me").await.text;
    let wandas = mark(&page);
    willy.language = Some("es");
    let fields = [("whose", wandas.as_str()), ("name", "Wanda")];
    let refused = willy.post("/worker/me", &fields).await;
    assert_eq!(refused.status, 409);
    assert!(
        refused.text.contains("Desde entonces entraste como"),
        "{}",
        refused.text
    );
    // Documents go to the API as they come, so the mark is in the path.
    let verify = wanda.get("/worker/verify").await.text;
    let action = between(&verify, "action=\"/worker/verify", "\"");
    assert_eq!(action, format!("?whose={wandas}"));
    assert!(!between(&verify, "multipart/form-data", "</form>").contains("whose"));
    let to = format!("/worker/verify{action}");
    assert_eq!(
        willy.send_files(&to, &[("identity", b"x")]).await.status,
        409
    );
    let sent = wanda.send_files(&to, &[("identity", b"x")]).await;
    assert_ne!(sent.status, 409, "{}", sent.text);
}
