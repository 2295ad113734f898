//! Signing in on the pages with an address and a password.

use std::time::Duration;

use legwork::ambient;
use legwork::domain::{
    AccountId, AccountStatus, Actor, GivenCode, Origin, Person, RecoveryCodes, RequiredFactor,
    TotpSecret,
};
use legwork::limits::{Applicant, ClientAddress};
use legwork::sign_in::{Credentials, SignInError, SignIns};
use legwork::store::Tx;
use legwork::usecases::{self, AccountSignIn, CodeCheck, SignedIn, UseCaseError};
use serde_json::json;

use super::mails::{link_to, named_developer, new_address, plain_mailer, sign_up};
use crate::support::{PASSWORD, TestApp, on_both_engines};

on_both_engines!(
    a_developer_signs_in_with_a_confirmed_address,
    without_a_mail_server_each_claim_has_its_own_password,
    a_new_password_ends_the_other_sessions,
    a_second_factor_is_asked_for_once_the_password_is_right,
    a_session_is_not_opened_for_a_password_that_was_replaced_meanwhile,
    wrong_passwords_on_the_pages_are_counted,
    where_a_factor_is_required_a_session_without_one_opens_only_the_setup,
);

fn sign_ins(app: &TestApp, sends_mail: bool) -> SignIns {
    SignIns {
        store: app.store.clone(),
        clock: app.clock.clone(),
        passwords: app.app.passwords.clone(),
        limits: app.app.sign_in_limits.clone(),
        sends_mail,
        site: None,
    }
}

fn client(number: u8) -> ClientAddress {
    ClientAddress::from(std::net::IpAddr::from([192, 0, 2, number]))
}

async fn sign_in(app: &SignIns, email: &str, password: &str) -> Result<SignedIn, UseCaseError> {
    let given = Credentials {
        email: email.to_owned(),
        password: password.to_owned(),
        code: None,
    };
    match app.developer(given, client(1), "Browser").await {
        Ok(signed_in) => Ok(signed_in),
        Err(SignInError::Refused(error)) => Err(error),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn expect_wrong(outcome: Result<SignedIn, UseCaseError>) {
    let error = outcome.map(|_| "signed in").unwrap_err();
    assert!(matches!(error, UseCaseError::WrongPassword), "{error}");
}

async fn a_developer_signs_in_with_a_confirmed_address(app: TestApp) {
    let app = app.with_mail(plain_mailer()).await;
    let pages = sign_ins(&app, true);
    let email = new_address("enter");
    sign_up(&app, &email).await;
    // Otherwise a stranger could try the password of the account just made, and learn whether the
    // address was free.
    expect_wrong(sign_in(&pages, &email, PASSWORD).await);
    app.jobs.drain().await.unwrap();
    let path = link_to(&email);
    let token = path.rsplit_once('/').unwrap().1;
    let body = json!({"token": token, "password": PASSWORD});
    let confirmed = app.client().post("/v1/accounts/confirm", &body).await;
    confirmed.expect(200);
    let signed_in = sign_in(&pages, &email.to_uppercase(), PASSWORD)
        .await
        .unwrap();
    assert_eq!(signed_in.account.email, email);
    assert!(signed_in.token.expose().starts_with("svc_session_"));
    expect_wrong(sign_in(&pages, &email, "not this one").await);
    expect_wrong(sign_in(&pages, &new_address("nobody"), PASSWORD).await);
    // A session opens nothing of the API.
    let token = signed_in.token.expose();
    let client = crate::support::Client::new(app.address, Some(token));
    let refused = client.get("/v1/account").await;
    refused.expect_error(401, "UNAUTHORIZED");
    let (id, now) = (signed_in.account.id, app.clock.now());
    let suspend = app
        .store
        .write(move |tx| usecases::suspend_account(tx, id, &Actor::COMMAND_LINE, now));
    assert_eq!(suspend.await.unwrap().status, AccountStatus::Suspended);
    let refused = sign_in(&pages, &email, PASSWORD).await.map(|_| ());
    assert!(matches!(refused, Err(UseCaseError::AccountSuspended)));
}

async fn without_a_mail_server_each_claim_has_its_own_password(app: TestApp) {
    let pages = sign_ins(&app, false);
    let email = "ada@example.com";
    let known = named_developer(&app, email).await;
    let mut ids = Vec::new();
    for password in ["the first password", "the second password"] {
        let body = json!({"email": email, "password": password, "name": "Ada"});
        let signed_up = app.client().post("/v1/accounts/sign_up", &body).await;
        ids.push(signed_up.expect(201)["account"]["id"].clone());
        app.advance(Duration::from_secs(1));
        let signed_in = sign_in(&pages, email, password).await.unwrap();
        assert_eq!(json!(signed_in.account.id.to_string()), ids[ids.len() - 1]);
    }
    let first = sign_in(&pages, email, "the first password").await.unwrap();
    assert_eq!(json!(first.account.id.to_string()), ids[0]);
    assert_ne!(first.account.id, known);
    expect_wrong(sign_in(&pages, email, PASSWORD).await);
    // Nobody who comes later locks them out, and the same password again opens the first account.
    for password in ["a stranger's password", "the first password"] {
        let body = json!({"email": email, "password": password, "name": "Eve"});
        app.client()
            .post("/v1/accounts/sign_up", &body)
            .await
            .expect(201);
    }
    let first = sign_in(&pages, email, "the first password").await.unwrap();
    assert_eq!(json!(first.account.id.to_string()), ids[0]);
    expect_wrong(sign_in(&pages, email, "a stranger's password").await);
}

async fn a_new_password_ends_the_other_sessions(app: TestApp) {
    let pages = sign_ins(&app, false);
    sign_up(&app, "ada@example.com").await;
    let one = sign_in(&pages, "ada@example.com", PASSWORD).await.unwrap();
    let other = sign_in(&pages, "ada@example.com", PASSWORD).await.unwrap();
    let (id, now) = (one.account.id, app.clock.now());
    let applicant = Applicant::known(ClientAddress::UNKNOWN);
    let hash = app
        .app
        .passwords
        .hash("another password".to_owned(), applicant);
    let (hash, kept) = (hash.await.unwrap(), one.session.id);
    app.store
        .write(move |tx| usecases::change_password(tx, id, &hash, kept, now))
        .await
        .unwrap();
    let sessions = app
        .store
        .snapshot::<_, UseCaseError, _>(move |tx| Ok(tx.sessions_of(Person::Account(id), now)?));
    let sessions = sessions.await.unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(sessions[0].id, one.session.id);
    assert_ne!(other.session.id, one.session.id);
    expect_wrong(sign_in(&pages, "ada@example.com", PASSWORD).await);
    let signed_in = sign_in(&pages, "ada@example.com", "another password").await;
    signed_in.unwrap();
}

async fn a_second_factor_is_asked_for_once_the_password_is_right(app: TestApp) {
    let pages = sign_ins(&app, false);
    let email = new_address("factor");
    let signed_up = sign_up(&app, &email).await;
    let account = AccountId::parse(signed_up["account"]["id"].as_str().unwrap()).unwrap();
    let (person, now) = (Person::Account(account), app.clock.now());
    let (secret, codes) = (
        TotpSecret::new(&ambient::random()),
        RecoveryCodes::new(&ambient::random()),
    );
    let kept = codes.clone();
    let set_up = move |tx: &mut Tx<'_>| {
        usecases::begin_second_factor(tx, person, &secret, now)?;
        let code = GivenCode::RULE.check(&secret.code_at(now)).unwrap();
        let by = (&Actor::SERVICE, None, false);
        usecases::confirm_second_factor(tx, person, (&code, &kept), by, now)
    };
    app.store.write(set_up).await.unwrap();
    let with = |password: &str, code: Option<&str>| {
        let given = Credentials {
            email: email.clone(),
            password: password.to_owned(),
            code: code.map(|code| GivenCode::RULE.check(code).unwrap()),
        };
        pages.developer(given, client(1), "Browser")
    };
    let wrong = with("not this one", None).await;
    assert!(matches!(
        wrong,
        Err(SignInError::Refused(UseCaseError::WrongPassword))
    ));
    let missing = with(PASSWORD, None).await;
    assert!(matches!(missing, Err(SignInError::CodeRequired(_))));
    let refused = with(PASSWORD, Some("aaaa-bbbb-cccc-dddd")).await;
    assert!(matches!(
        refused,
        Err(SignInError::CodeRefused(_, CodeCheck::Wrong))
    ));
    let recovery = codes.shown()[0].clone();
    let signed_in = with(PASSWORD, Some(&recovery)).await.unwrap();
    assert!(signed_in.session.second_factor);
    let again = with(PASSWORD, Some(&recovery)).await;
    assert!(matches!(
        again,
        Err(SignInError::CodeRefused(_, CodeCheck::Wrong))
    ));
}

async fn a_session_is_not_opened_for_a_password_that_was_replaced_meanwhile(app: TestApp) {
    let signed_up = sign_up(&app, "ada@example.com").await;
    let id = AccountId::parse(signed_up["account"]["id"].as_str().unwrap()).unwrap();
    let read = app.store.read(move |tx| tx.account_password(id));
    let checked = read.await.unwrap().unwrap();
    let now = app.clock.now();
    let open = async |hash: String| {
        let opened = app.store.write(move |tx| {
            let origin = Origin::new("192.0.2.1", "Browser");
            usecases::sign_in_account(tx, (id, &hash), None, &origin, now)
        });
        opened.await
    };
    let opened = open(checked.clone()).await.unwrap();
    assert!(matches!(opened, AccountSignIn::Done(_)));
    let applicant = Applicant::known(ClientAddress::UNKNOWN);
    let hash = app
        .app
        .passwords
        .hash("another password".to_owned(), applicant);
    let hash = hash.await.unwrap();
    app.store
        .write(move |tx| tx.set_account_password(id, &hash))
        .await
        .unwrap();
    let refused = open(checked).await;
    assert!(matches!(refused, Err(UseCaseError::WrongPassword)));
}

async fn wrong_passwords_on_the_pages_are_counted(app: TestApp) {
    let pages = sign_ins(&app, false);
    sign_up(&app, "ada@example.com").await;
    for _ in 0..10 {
        expect_wrong(sign_in(&pages, "Ada@example.com", "not this one").await);
    }
    let with = |from: u8| {
        let given = Credentials {
            email: "ada@example.com".to_owned(),
            password: PASSWORD.to_owned(),
            code: None,
        };
        pages.developer(given, client(from), "Browser")
    };
    let refused = with(1).await;
    assert!(matches!(refused, Err(SignInError::TooMany(_))));
    // By address and network: the owner is not locked out. Right passwords use up nothing.
    for _ in 0..20 {
        with(2).await.unwrap();
    }
}

async fn where_a_factor_is_required_a_session_without_one_opens_only_the_setup(app: TestApp) {
    let pages = sign_ins(&app, false);
    let email = new_address("required");
    sign_up(&app, &email).await;
    let one = sign_in(&pages, &email, PASSWORD).await.unwrap();
    let other = sign_in(&pages, &email, PASSWORD).await.unwrap();
    let passes = async |signed_in: &SignedIn, required: RequiredFactor| {
        let (token, now) = (signed_in.token.clone(), app.clock.now());
        let passes = app.store.write(move |tx| {
            let session = usecases::use_session(tx, &token, now)?;
            usecases::expect_factor(tx, &session, required)
        });
        passes.await.map_err(|error| format!("{error:?}"))
    };
    for required in [RequiredFactor::Nobody, RequiredFactor::Admins] {
        passes(&one, required).await.unwrap();
    }
    let all = RequiredFactor::All;
    let missing = passes(&one, all).await.unwrap_err();
    assert_eq!(missing, "SecondFactorNotSetUp");
    let (person, now) = (Person::Account(one.account.id), app.clock.now());
    let secret = TotpSecret::new(&ambient::random());
    let (kept, token) = (RecoveryCodes::new(&ambient::random()), one.token.clone());
    let set_up = move |tx: &mut Tx<'_>| {
        usecases::begin_second_factor(tx, person, &secret, now)?;
        let code = GivenCode::RULE.check(&secret.code_at(now)).unwrap();
        let by = (&Actor::SERVICE, Some(&token), false);
        usecases::confirm_second_factor(tx, person, (&code, &kept), by, now)
    };
    app.store.write(set_up).await.unwrap();
    passes(&one, all).await.unwrap();
    let missing = passes(&other, all).await.unwrap_err();
    assert_eq!(missing, "SecondFactorRequired");
    // Without the factor, nobody has given it.
    let off =
        move |tx: &mut Tx<'_>| usecases::turn_off_second_factor(tx, person, &Actor::SERVICE, now);
    app.store.write(off).await.unwrap();
    let missing = passes(&one, all).await.unwrap_err();
    assert_eq!(missing, "SecondFactorNotSetUp");
}
