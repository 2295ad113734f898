//! Passkeys, as the script of the pages sends them.

mod again;
mod others;

use std::time::Duration;

use legwork::domain::{AccountId, Actor, Person, RequiredFactor};
use legwork::maintenance;
use legwork::store::Tx;
use legwork::usecases;
use serde_json::Value;

use super::{Browser, PASSWORD, between};
use crate::support::authenticator::{Authenticator, text};
use crate::support::{Reply, TestApp, on_both_engines};

on_both_engines!(
    a_developer_adds_a_passkey_and_signs_in_with_it,
    what_is_not_the_answer_is_refused,
    a_passkey_is_a_second_factor,
    passkeys_end_as_other_factors_do,
);

const BASE: &str = "/account/passkeys";

/// An authenticator, and whom it remembers.
pub struct Phone {
    pub it: Authenticator,
    pub handle: String,
}

impl Phone {
    pub fn of(app: &TestApp) -> Self {
        Self::with(app, Authenticator::es256)
    }

    fn with(app: &TestApp, make: fn(&str, &str) -> Authenticator) -> Self {
        let origin = format!("http://localhost:{}", app.address.port());
        Self {
            it: make("localhost", &origin),
            handle: String::new(),
        }
    }

    /// What the script sends when it has made a passkey.
    pub fn new_fields(&mut self, asked: &Value, name: &str) -> Fields {
        self.handle = asked["user"]["id"].as_str().unwrap().to_owned();
        let [client_data, attestation] = self.it.register(asked["challenge"].as_str().unwrap());
        vec![
            ("name", name.to_owned()),
            (
                "challenge_id",
                asked["challenge_id"].as_str().unwrap().to_owned(),
            ),
            ("client_data", client_data),
            ("attestation", attestation),
        ]
    }

    /// What it sends when a passkey has answered.
    pub fn answer(&self, asked: &Value) -> Fields {
        let answer = self.it.answer(asked["challenge"].as_str().unwrap());
        let [client_data, authenticator_data, signature] = answer.texts();
        vec![
            (
                "challenge_id",
                asked["challenge_id"].as_str().unwrap().to_owned(),
            ),
            ("credential_id", self.it.id()),
            ("client_data", client_data),
            ("authenticator_data", authenticator_data),
            ("signature", signature),
            ("user_handle", self.handle.clone()),
        ]
    }
}

type Fields = Vec<(&'static str, String)>;

pub async fn send(browser: &mut Browser, path: &str, fields: &Fields) -> Reply {
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    browser.post(path, &fields).await
}

pub async fn asked(browser: &mut Browser, path: &str) -> Value {
    let reply = browser.post(&format!("{path}/options"), &[]).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    assert_eq!(reply.header("cache-control"), "no-store");
    serde_json::from_str(&reply.text).unwrap()
}

pub async fn add(browser: &mut Browser, base: &str, phone: &mut Phone, name: &str) -> Reply {
    let asked = asked(browser, base).await;
    let fields = phone.new_fields(&asked, name);
    send(browser, base, &fields).await
}

pub async fn sign_in(browser: &mut Browser, path: &str, phone: &Phone) -> Reply {
    let asked = asked(browser, path).await;
    assert_eq!(asked["allowCredentials"], Value::Array(Vec::new()));
    send(browser, path, &phone.answer(&asked)).await
}

/// The challenge that a page holds for whoever has given a right password.
pub fn given(page: &str) -> Value {
    let text = between(page, "data-given=\"", "\"").replace("&#34;", "\"");
    serde_json::from_str(&text).unwrap()
}

pub fn has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "no {text} in {page}");
    }
}

async fn audited(app: &TestApp) -> Vec<String> {
    let sql = "SELECT action FROM audit_log WHERE action LIKE 'passkey.%' ORDER BY number";
    app.database.column(sql).await
}

async fn a_developer_adds_a_passkey_and_signs_in_with_it(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let page = browser.get(BASE).await.text;
    let site = format!("data-site=\"http://localhost:{}\"", app.address.port());
    has(
        &page,
        &["Passkeys need JavaScript.", &site, "You have none yet."],
    );
    let mut phone = Phone::of(&app);
    let options = asked(&mut browser, BASE).await;
    assert_eq!(options["rp"]["id"], "localhost");
    assert_eq!(options["user"]["name"], "ada@example.com");
    assert_eq!(options["algorithms"], serde_json::json!([-7, -8]));
    let nameless = phone.new_fields(&options, " ");
    let refused = send(&mut browser, BASE, &nameless).await;
    assert_eq!(refused.status, 400);
    has(&refused.text, &["name-fault"]);
    let fields = phone.new_fields(&options, "My <b>phone</b>");
    let added = send(&mut browser, BASE, &fields).await;
    assert_eq!(added.status, 200, "{}", added.text);
    has(&added.text, &["Recovery codes", "My &#60;b&#62;phone"]);
    let again = send(&mut browser, BASE, &fields).await;
    assert_eq!(again.status, 400, "a challenge is answered once");
    has(&again.text, &["That took too long, or was sent twice."]);
    let known = add(&mut browser, BASE, &mut phone, "Again").await;
    assert_eq!(known.status, 409);
    has(&known.text, &["This passkey is known already."]);
    let kinds = "SELECT kind FROM notices";
    assert_eq!(app.database.column(kinds).await, ["passkey_added"]);
    has(
        &browser.get("/account").await.text,
        &["My &#60;b&#62;phone", "Manage them"],
    );

    browser.post("/sign-out", &[]).await;
    phone.it.counter = 5;
    let front = browser.get("/sign-in").await.text;
    has(
        &front,
        &["Sign in with a passkey", "Passkeys need JavaScript."],
    );
    let asked = asked(&mut browser, "/sign-in/passkey").await;
    let mut fields = phone.answer(&asked);
    fields.push(("next", "/account/passkeys".to_owned()));
    let signed_in = send(&mut browser, "/sign-in/passkey", &fields).await;
    let page = browser.follow(&signed_in).await.text;
    has(&page, &["My &#60;b&#62;phone", "Remove"]);
    assert!(!page.contains("Never"), "it was used: {page}");
    let replayed = send(&mut Browser::of(&app), "/sign-in/passkey", &fields).await;
    assert_eq!(replayed.status, 401);
    // It stands for the password, which is asked for when it was given too long ago.
    let options = browser.post(&format!("{BASE}/options"), &[]).await;
    has(&options.text, &["challenge"]);
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(601)));
    let options = browser.post(&format!("{BASE}/options"), &[]).await;
    has(&options.text, &["/account/again"]);
    let id = between(&page, "/account/passkeys/", "/remove");
    let remove = format!("{BASE}/{id}/remove");
    let again = browser.post(&remove, &[]).await;
    assert_eq!(again.status, 401);
    has(
        &again.text,
        &["Your password again", &format!("value=\"{remove}\"")],
    );
    assert_eq!(audited(&app).await, ["passkey.added"]);
}

/// Signed rightly, and still not to be taken.
async fn what_is_not_the_answer_is_refused(app: TestApp) {
    let path = "/sign-in/passkey";
    let mut ada = Browser::signed_up(&app, "ada@example.com").await;
    let mut bob = Browser::signed_up(&app, "bob@example.com").await;
    let mut hers = Phone::of(&app);
    let mut his = Phone::with(&app, Authenticator::eddsa);
    // A challenge is for one person and for one purpose.
    let asked_ada = asked(&mut ada, BASE).await;
    let taken = his.new_fields(&asked_ada, "Not hers");
    assert_eq!(send(&mut bob, BASE, &taken).await.status, 400);
    assert_eq!(add(&mut ada, BASE, &mut hers, "Hers").await.status, 200);
    assert_eq!(add(&mut bob, BASE, &mut his, "His").await.status, 200);
    let mut stranger = Browser::of(&app);
    assert_eq!(sign_in(&mut stranger, path, &his).await.status, 303);
    let to_register = asked(&mut ada, BASE).await;
    let wrong = send(&mut stranger, path, &hers.answer(&to_register)).await;
    assert_eq!(wrong.status, 401);
    let to_sign_in = asked(&mut stranger, path).await;
    let wrong = his.new_fields(
        &serde_json::json!({
            "user": {"id": his.handle}, "challenge": to_sign_in["challenge"],
            "challenge_id": to_sign_in["challenge_id"],
        }),
        "By another challenge",
    );
    assert_eq!(send(&mut bob, BASE, &wrong).await.status, 400);
    // Another's name on one's own key.
    let asked_now = asked(&mut stranger, path).await;
    let mut fields = his.answer(&asked_now);
    fields[5].1.clone_from(&hers.handle);
    assert_eq!(send(&mut stranger, path, &fields).await.status, 401);
    let asked_now = asked(&mut stranger, path).await;
    let mut fields = his.answer(&asked_now);
    fields[1].1 = hers.it.id();
    assert_eq!(send(&mut stranger, path, &fields).await.status, 401);
    // In time, and not twice.
    let asked_now = asked(&mut stranger, path).await;
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(300)));
    let late = send(&mut stranger, path, &hers.answer(&asked_now)).await;
    assert_eq!(late.status, 401);
    has(&late.text, &["That took too long"]);
    let left = asked(&mut stranger, path).await;
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(300)));
    maintenance::prune(&app.store, app.clock.now())
        .await
        .unwrap();
    let open = "SELECT id FROM passkey_challenges";
    assert_eq!(
        app.database.column(open).await,
        Vec::<String>::new(),
        "{left}"
    );
    // A counter goes one way.
    hers.it.counter = 9;
    assert_eq!(sign_in(&mut stranger, path, &hers).await.status, 303);
    for counter in [9, 8, 0] {
        hers.it.counter = counter;
        let copy = sign_in(&mut Browser::of(&app), path, &hers).await;
        assert_eq!(copy.status, 401, "{}", copy.text);
        has(&copy.text, &["The passkey did not pass."]);
    }
    let recorded = audited(&app).await;
    assert_eq!(recorded[2..], ["passkey.counter_went_back"; 3]);
    // Nothing that is sent is read without bounds.
    let long = text(&[1; 5_000]);
    let mut fields = hers.answer(&asked(&mut stranger, path).await);
    fields[2].1.clone_from(&long);
    assert_eq!(send(&mut stranger, path, &fields).await.status, 401);
    let bare = stranger.post(path, &[]).await;
    assert_eq!(bare.status, 401);
    has(&bare.text, &["Load the page again"]);
    limits_are_those_of_passwords(&app, &his).await;
}

async fn limits_are_those_of_passwords(app: &TestApp, his: &Phone) {
    let (path, mut thief) = ("/sign-in/passkey", Browser::of(app));
    let mut tries = 0;
    loop {
        let mut fields = his.answer(&asked(&mut thief, path).await);
        fields[4].1 = text(&[1; 70]);
        let reply = send(&mut thief, path, &fields).await;
        if reply.status == 429 {
            break;
        }
        assert_eq!(reply.status, 401);
        tries += 1;
        assert!(tries <= 10, "{tries}");
    }
    let fields = [("email", "bob@example.com"), ("password", PASSWORD)];
    assert_eq!(thief.post("/sign-in", &fields).await.status, 429);
}

async fn a_passkey_is_a_second_factor(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let password = [("email", "ada@example.com"), ("password", PASSWORD)];
    let mut before = Browser::of(&app);
    assert_eq!(before.post("/sign-in", &password).await.status, 303);
    let mut phone = Phone::of(&app);
    let added = add(&mut browser, BASE, &mut phone, "Phone").await.text;
    let codes = between(&added, "<code data-copy=\"Copy|Copied\">", "</code>");
    let code = codes.lines().next().unwrap().to_owned();
    // A session from before changes nothing of it.
    has(
        &before.get(BASE).await.text,
        &["Sign out and sign in with it"],
    );
    let id = between(&added, "/account/passkeys/", "/remove");
    for path in ["options", "codes", &format!("{id}/remove")] {
        let refused = before.post(&format!("{BASE}/{path}"), &[]).await;
        assert_eq!(refused.status, 401, "{path}: {}", refused.text);
    }
    assert_eq!(before.post("/account/factor", &[]).await.status, 401);

    let mut other = Browser::of(&app);
    let asked_for = other.post("/sign-in", &password).await;
    assert_eq!(asked_for.status, 401);
    has(&asked_for.text, &["id=\"code\"", "Use a passkey"]);
    let given_to_her = given(&asked_for.text);
    assert_eq!(given_to_her["allowCredentials"][0], phone.it.id().as_str());
    // No app is on, so no six digits pass.
    for wrong in ["123456", "abcd-efgh-ijkl-mnop"] {
        let fields = [password[0], password[1], ("code", wrong)];
        assert_eq!(other.post("/sign-in", &fields).await.status, 401, "{wrong}");
    }
    // The challenge is hers alone.
    let mut bob = Browser::signed_up(&app, "bob@example.com").await;
    let mut his = Phone::of(&app);
    assert_eq!(add(&mut bob, BASE, &mut his, "His").await.status, 200);
    let stolen = send(&mut other, "/sign-in/passkey", &his.answer(&given_to_her)).await;
    assert_eq!(stolen.status, 401);
    let page = other.post("/sign-in", &password).await.text;
    let mut fields = phone.answer(&given(&page));
    fields.pop();
    let passed = send(&mut other, "/sign-in/passkey", &fields).await;
    assert_eq!(passed.status, 303, "{}", passed.text);
    let fields = [password[0], password[1], ("code", code.as_str())];
    let mut third = Browser::of(&app);
    assert_eq!(third.post("/sign-in", &fields).await.status, 303);
    assert_eq!(
        Browser::of(&app).post("/sign-in", &fields).await.status,
        401,
        "used up"
    );
    has(&third.get(BASE).await.text, &["Recovery codes left: 9"]);
    required(&app, &phone).await;
}

/// Where a second factor is required, a passkey is one, and can be the first.
async fn required(app: &TestApp, phone: &Phone) {
    let strict = app.requiring(RequiredFactor::All).await;
    strict.clock.move_to(app.clock.now());
    let mut eve = Browser::signed_up(&strict, "eve@example.com").await;
    let sent = eve.get("/dashboard/test").await;
    assert_eq!(sent.header("location"), "/account/factor");
    has(&eve.follow(&sent).await.text, &["/account/passkeys"]);
    has(
        &eve.get(BASE).await.text,
        &["This server requires a second factor."],
    );
    let mut hers = Phone::of(&strict);
    let added = add(&mut eve, BASE, &mut hers, "First").await;
    assert_eq!(added.status, 200, "{}", added.text);
    assert_eq!(eve.get("/dashboard/test").await.status, 200);
    let mut browser = Browser::of(&strict);
    let (it, handle) = (&phone.it, &phone.handle);
    let asked = asked(&mut browser, "/sign-in/passkey").await;
    let there = send(&mut browser, "/sign-in/passkey", &phone.answer(&asked)).await;
    assert_eq!(
        there.status, 401,
        "of {} at another site: {handle}",
        it.origin
    );
    let signed_in = sign_in(&mut browser, "/sign-in/passkey", &hers).await;
    assert_eq!(browser.follow(&signed_in).await.status, 200);
}

async fn passkeys_end_as_other_factors_do(app: TestApp) {
    let mut browser = Browser::signed_up(&app, "ada@example.com").await;
    let password = [("email", "ada@example.com"), ("password", PASSWORD)];
    let mut phone = Phone::of(&app);
    add(&mut browser, BASE, &mut phone, "Phone").await;
    for number in 2..=10 {
        let mut other = Phone::of(&app);
        let added = add(&mut browser, BASE, &mut other, &format!("Key {number}")).await;
        assert_eq!(added.status, 303, "{}", added.text);
    }
    let full = browser.get(BASE).await.text;
    has(&full, &["You have ten passkeys", "Key 10"]);
    let eleventh = add(&mut browser, BASE, &mut Phone::of(&app), "Key 11").await;
    assert_eq!(eleventh.status, 409);
    // One by one, until the password alone is enough.
    let mut page = full;
    for left in (0..10).rev() {
        let id = between(&page, "/account/passkeys/", "/remove");
        let removed = browser.post(&format!("{BASE}/{id}/remove"), &[]).await;
        page = browser.follow(&removed).await.text;
        assert_eq!(page.matches("/remove").count(), left);
        let alone = Browser::of(&app).post("/sign-in", &password).await;
        assert_eq!(alone.status, if left == 0 { 303 } else { 401 });
    }
    let gone = browser
        .post(&format!("{BASE}/{}/remove", "0".repeat(32)), &[])
        .await;
    assert_eq!(gone.header("location"), format!("{BASE}?done=removed"));
    let rows = "SELECT holder FROM recovery_codes";
    assert_eq!(app.database.column(rows).await, Vec::<String>::new());
    let refused = sign_in(&mut Browser::of(&app), "/sign-in/passkey", &phone).await;
    has(&refused.text, &["This passkey is not known here."]);

    // The operator helps whoever has lost everything.
    add(&mut browser, BASE, &mut phone, "Phone").await;
    let sql = "SELECT id FROM accounts";
    let id = AccountId::parse(&app.database.column(sql).await[0]).unwrap();
    let (holder, now) = (Person::Account(id), app.clock.now());
    let reset =
        move |tx: &mut Tx<'_>| usecases::reset_second_factor(tx, holder, &Actor::COMMAND_LINE, now);
    assert!(app.store.write(reset).await.unwrap());
    assert!(!app.store.write(reset).await.unwrap());
    assert_eq!(
        Browser::of(&app).post("/sign-in", &password).await.status,
        303
    );
    add(&mut browser, BASE, &mut phone, "Phone").await;
    let suspend =
        move |tx: &mut Tx<'_>| usecases::suspend_account(tx, id, &Actor::COMMAND_LINE, now);
    app.store.write(suspend).await.unwrap();
    let refused = sign_in(&mut Browser::of(&app), "/sign-in/passkey", &phone).await;
    assert_eq!(refused.status, 403, "{}", refused.text);
    let delete = move |tx: &mut Tx<'_>| usecases::delete_account(tx, id, &Actor::COMMAND_LINE, now);
    app.store.write(delete).await.unwrap();
    let rows = "SELECT holder FROM passkeys";
    assert_eq!(app.database.column(rows).await, Vec::<String>::new());
}
