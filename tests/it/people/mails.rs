//! The mails that carry links, and the pages that they lead to.

use legwork::domain::{
    AccountId, Actor, JobKind, JobName, LinkPurpose, NewAccount, Notification, NotificationId,
    NotificationKind, NotificationStatus, Person, Recipient, Secret, Tier,
};
use legwork::limits::{Applicant, ClientAddress};
use legwork::mail::Mailer;
use legwork::store::Tx;
use legwork::usecases::{self, OpenedAccount, UseCaseError};
use serde_json::{Value, json};

use crate::notifications::peers::mail_server;
use crate::support::{Client, PASSWORD, Reply, TestApp, on_both_engines, storefront};

on_both_engines!(
    a_new_address_is_confirmed_on_the_page_of_its_mail,
    only_one_account_gets_an_address,
    the_owner_of_an_address_is_told_of_sign_ups_once_a_day,
    a_password_is_reset_on_the_page_of_its_mail,
    a_changed_address_is_confirmed_and_the_former_one_told,
    nobody_writes_to_an_address_that_is_not_confirmed,
    strangers_do_not_keep_the_owner_from_confirming,
    deleting_an_account_makes_no_room_for_more_mails,
);

/// The form with the password of every sign-up here.
const RIGHT: &str = "password=correct+horse+battery";

pub fn plain_mailer() -> Mailer {
    let url = format!("smtp://127.0.0.1:{}", mail_server().port("plain"));
    Mailer::open(&Secret::presented(&url), "notices@legwork.example").unwrap()
}

/// An account that an operator opened for this address. Returns its id.
pub async fn named_developer(app: &TestApp, email: &str) -> AccountId {
    let new = NewAccount {
        email: email.to_owned(),
        name: "Ada".to_owned(),
        company: None,
        tier: Tier::Growth,
    };
    let opened = OpenedAccount::new(&new, app.clock.now());
    let id = opened.account.id;
    let create = move |tx: &mut Tx<'_>| usecases::create_account(tx, &opened, &Actor::COMMAND_LINE);
    app.store.write(create).await.unwrap();
    id
}

/// An address that no other test writes to.
pub fn new_address(name: &str) -> String {
    let random: [u8; 8] = legwork::ambient::random();
    format!("{name}.{:016x}@example.com", u64::from_be_bytes(random))
}

pub async fn sign_up(app: &TestApp, email: &str) -> Value {
    let body = json!({"email": email, "password": PASSWORD, "name": "Ada"});
    let signed_up = app.client().post("/v1/accounts/sign_up", &body).await;
    signed_up.expect(201)
}

/// The path of the link in the last mail to an address.
pub fn link_to(email: &str) -> String {
    let mails = mail_server().mails(email);
    let text = mails.last().expect("a mail")["text"].as_str().unwrap();
    let url = text.lines().find(|line| line.starts_with("http://"));
    let url = url.unwrap_or_else(|| panic!("no link: {text}"));
    let (_, path) = url["http://".len()..].split_once('/').unwrap();
    format!("/{path}")
}

fn token(path: &str) -> &str {
    path.rsplit_once('/').unwrap().1
}

async fn post_form(app: &TestApp, path: &str, form: &str) -> Reply {
    let headers = [("content-type", "application/x-www-form-urlencoded")];
    let form = form.to_owned();
    app.client().send("POST", path, &headers, form).await
}

async fn a_new_address_is_confirmed_on_the_page_of_its_mail(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("confirm");
    let signed_up = sign_up(&app, &email).await;
    app.jobs.drain().await.unwrap();
    let path = link_to(&email);
    assert!(path.starts_with("/confirm/"), "{path}");
    let shown = app.client().get(&path).await;
    assert_eq!(shown.status, 200);
    assert!(shown.text.contains(&email) && shown.text.contains("<button>"));
    // The token in the path is sent to us alone.
    assert_eq!(shown.header("referrer-policy"), "same-origin");
    assert!(
        shown
            .header("content-security-policy")
            .contains("default-src 'none'")
    );
    // Looking changed nothing.
    let live = Client::new(app.address, signed_up["live_key"].as_str());
    let task = storefront();
    let early = live.post("/v1/tasks", &task).await;
    early.expect_error(403, "EMAIL_NOT_CONFIRMED");
    // Whoever reads the mail and did not sign up confirms nothing.
    for wrong in ["", "password=not+this+one"] {
        let refused = post_form(&app, &path, wrong).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(
            refused.text.contains("Nobody signed up"),
            "{}",
            refused.text
        );
    }
    let early = live.post("/v1/tasks", &task).await;
    early.expect_error(403, "EMAIL_NOT_CONFIRMED");
    let confirmed = post_form(&app, &path, RIGHT).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    assert!(confirmed.text.contains("href=\"/sign-in\""));
    live.post("/v1/tasks", &task).await.expect(201);
    let again = post_form(&app, &path, RIGHT).await;
    assert_eq!(again.status, 410);
    assert!(again.text.contains("This link has expired"));
    // The token is nowhere in the database, and in no list of admins.
    let everything = app.database.everything().await;
    assert!(!everything.contains(token(&path)));
    let admin = app.admin().await;
    let notices = admin.get("/v1/admin/notices").await;
    assert!(notices.text.contains(&email));
    assert!(!notices.text.contains(token(&path)));
}

async fn only_one_account_gets_an_address(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("twice");
    sign_up(&app, &email).await;
    app.jobs.drain().await.unwrap();
    let first = link_to(&email);
    sign_up(&app, &email).await;
    app.jobs.drain().await.unwrap();
    let second = link_to(&email);
    assert_ne!(first, second);
    let confirm = |path: String| {
        let client = app.client();
        async move {
            let body = json!({"token": token(&path), "password": PASSWORD});
            client.post("/v1/accounts/confirm", &body).await
        }
    };
    let (one, other) = tokio::join!(confirm(first), confirm(second));
    let (good, bad) = match one.status.as_u16() {
        200 => (one, other),
        _ => (other, one),
    };
    assert_eq!(good.expect(200), json!({"email": email, "confirmed": true}));
    bad.expect_error(409, "EMAIL_TAKEN");
}

async fn the_owner_of_an_address_is_told_of_sign_ups_once_a_day(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("known");
    sign_up(&app, &email).await;
    app.jobs.drain().await.unwrap();
    let body = json!({"token": token(&link_to(&email)), "password": PASSWORD});
    let confirmed = app.client().post("/v1/accounts/confirm", &body).await;
    confirmed.expect(200);
    for _ in 0..3 {
        sign_up(&app, &email).await;
        app.jobs.drain().await.unwrap();
    }
    let mails = mail_server().mails(&email);
    assert_eq!(mails.len(), 2, "{mails:?}");
    let text = mails[1]["text"].as_str().unwrap();
    assert!(text.contains("You already have an account"), "{text}");
    assert!(!text.contains("http"), "{text}");
}

async fn a_password_is_reset_on_the_page_of_its_mail(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("reset");
    named_developer(&app, &email).await;
    let ask = json!({"email": email.to_uppercase()});
    let unknown = json!({"email": new_address("unknown")});
    let path = "/v1/accounts/password_reset";
    let replies = [
        app.client().post(path, &ask).await,
        app.client().post(path, &unknown).await,
    ];
    for reply in replies {
        assert_eq!(reply.expect(200), json!({"accepted": true}));
    }
    app.jobs.drain().await.unwrap();
    assert!(
        mail_server()
            .mails(unknown["email"].as_str().unwrap())
            .is_empty()
    );
    let link = link_to(&email);
    assert!(link.starts_with("/reset/"), "{link}");
    let shown = app.client().get(&link).await;
    assert_eq!(shown.status, 200);
    assert!(shown.text.contains("type=\"password\""), "{}", shown.text);
    for weak in ["short", "12345678", email.as_str()] {
        let refused = post_form(&app, &link, &format!("password={weak}")).await;
        assert_eq!(refused.status, 400, "{weak}");
        let body = json!({"token": token(&link), "password": weak});
        let refused = app.client().post(&format!("{path}/confirm"), &body).await;
        assert_eq!(refused.faulty_fields(), ["password"], "{weak}");
    }
    let set = post_form(&app, &link, "password=correct+horse+battery").await;
    assert_eq!(set.status, 200, "{}", set.text);
    assert!(set.text.contains("href=\"/sign-in\""), "{}", set.text);
    let body = json!({"token": token(&link), "password": PASSWORD});
    let again = app.client().post(&format!("{path}/confirm"), &body).await;
    again.expect_error(410, "LINK_EXPIRED");
}

async fn a_changed_address_is_confirmed_and_the_former_one_told(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let (old, new) = (new_address("old"), new_address("new"));
    let account = named_developer(&app, &old).await;
    let applicant = Applicant::known(ClientAddress::UNKNOWN);
    let hash = app.app.passwords.hash(PASSWORD.to_owned(), applicant);
    let hash = hash.await.unwrap();
    app.store
        .write(move |tx| tx.set_account_password(account, &hash))
        .await
        .unwrap();
    let (wanted, now) = (new.clone(), app.clock.now());
    app.store
        .write(move |tx| usecases::change_email(tx, account, &wanted, true, now))
        .await
        .unwrap();
    // A reset of the former address is void once the address is changed.
    let reset = old.clone();
    let made = app.store.write(move |tx| {
        let person = Person::Account(account);
        usecases::make_link(tx, LinkPurpose::ResetPassword, person, &reset, now)
    });
    let reset = made.await.unwrap().unwrap().token;
    app.jobs.drain().await.unwrap();
    assert!(mail_server().mails(&old).is_empty());
    let refused = post_form(&app, &link_to(&new), "password=not+this+one").await;
    assert_eq!(refused.status, 400, "{}", refused.text);
    let confirmed = post_form(&app, &link_to(&new), RIGHT).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.text);
    app.jobs.drain().await.unwrap();
    let told = mail_server().mail(&old);
    assert!(told["text"].as_str().unwrap().contains(&new), "{told}");
    let held = app
        .store
        .read::<_, UseCaseError, _>(move |tx| Ok(tx.account(account)?));
    assert_eq!(held.await.unwrap().unwrap().email, new);
    let body = json!({"token": reset.expose(), "password": PASSWORD});
    let void = app
        .client()
        .post("/v1/accounts/password_reset/confirm", &body)
        .await;
    void.expect_error(410, "LINK_EXPIRED");
}

async fn nobody_writes_to_an_address_that_is_not_confirmed(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("quiet");
    for _ in 0..6 {
        let signed_up = sign_up(&app, &email).await;
        let id = signed_up["account"]["id"].as_str().unwrap();
        let id = AccountId::parse(id).unwrap();
        let now = app.clock.now();
        let notification = Notification {
            id: NotificationId::new(now, &legwork::ambient::random()),
            occasion: format!("test:{id}"),
            kind: NotificationKind::WebhookDisabled,
            to: Recipient::Account(id),
            task: None,
            unread: false,
            email: email.clone(),
            subject: "Your webhook is disabled".to_owned(),
            paragraphs: Vec::new(),
            link: None,
            status: NotificationStatus::Pending,
            error: None,
            sent_at: None,
            created_at: now,
        };
        let tell = move |tx: &mut Tx<'_>| {
            tx.add_notification(&notification)?;
            tx.add_job(&JobName::new(JobKind::Mail, notification.id), now)
        };
        app.store.write(tell).await.unwrap();
        app.jobs.drain().await.unwrap();
    }
    // Three links, and nothing else.
    let mails = mail_server().mails(&email);
    assert_eq!(mails.len(), 3, "{mails:?}");
    let confirm = |mail: &Value| mail["text"].as_str().unwrap().contains("/confirm/");
    assert!(mails.iter().all(confirm), "{mails:?}");
}

async fn sign_up_with(app: &TestApp, email: &str, password: &str) -> Client {
    let body = json!({"email": email, "password": password, "name": "Ada"});
    let signed_up = app.client().post("/v1/accounts/sign_up", &body).await;
    app.jobs.drain().await.unwrap();
    Client::new(app.address, signed_up.expect(201)["live_key"].as_str())
}

async fn strangers_do_not_keep_the_owner_from_confirming(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("starved");
    let mut strangers = Vec::new();
    for _ in 0..4 {
        strangers.push(sign_up_with(&app, &email, "a strange password").await);
    }
    let owner = sign_up_with(&app, &email, PASSWORD).await;
    assert_eq!(mail_server().mails(&email).len(), 3);
    // Any of the mails proves who reads them, also when the account it was about is gone.
    for stranger in &strangers {
        let body = json!({ "confirm": email }).to_string();
        let deleted = stranger.send("DELETE", "/v1/account", &[], body).await;
        deleted.expect(200);
    }
    let body = json!({"token": token(&link_to(&email)), "password": PASSWORD});
    let confirmed = app.client().post("/v1/accounts/confirm", &body).await;
    let expected = json!({"email": email, "confirmed": true});
    assert_eq!(confirmed.expect(200), expected);
    owner.post("/v1/tasks", &storefront()).await.expect(201);
}

async fn deleting_an_account_makes_no_room_for_more_mails(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let email = new_address("deleted");
    for _ in 0..5 {
        let client = sign_up_with(&app, &email, PASSWORD).await;
        let body = json!({ "confirm": email }).to_string();
        let deleted = client.send("DELETE", "/v1/account", &[], body).await;
        deleted.expect(200);
    }
    assert_eq!(mail_server().mails(&email).len(), 3);
    // Nor does choosing a password, which voids the other links.
    let account = named_developer(&app, &email).await;
    let (person, now) = (Person::Account(account), app.clock.now());
    for _ in 0..5 {
        let to = email.clone();
        let send = move |tx: &mut Tx<'_>| {
            usecases::send_link(tx, LinkPurpose::ResetPassword, person, &to, now)?;
            Ok::<_, UseCaseError>(tx.void_mail_links(person, now)?)
        };
        app.store.write(send).await.unwrap();
    }
    let links = "SELECT email FROM mail_links WHERE purpose = 'reset_password'";
    assert_eq!(app.database.column(links).await, ["", "", ""]);
}
