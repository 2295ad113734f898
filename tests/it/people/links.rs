//! Links that work once.

use std::time::Duration;

use futures_util::future::join_all;
use legwork::domain::{AccountId, LinkPurpose, Person, Secret};
use legwork::usecases::{self, MadeLink, UseCaseError};

use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_link_works_once,
    of_many_who_redeem_a_link_at_once_one_succeeds,
    a_link_is_good_for_its_time_and_its_purpose,
    an_address_and_a_person_have_few_good_links,
    the_token_of_a_link_is_not_in_the_database,
);

const RESET: LinkPurpose = LinkPurpose::ResetPassword;

fn somebody(app: &TestApp, number: u8) -> Person {
    Person::Account(AccountId::new(app.clock.now(), &[number; 10]))
}

async fn make(app: &TestApp, person: Person, email: &'static str) -> Option<MadeLink> {
    let now = app.clock.now();
    let made = app
        .store
        .write(move |tx| usecases::make_link(tx, RESET, person, email, now));
    made.await.unwrap()
}

async fn redeem(app: &TestApp, token: &Secret, purpose: LinkPurpose) -> Result<(), UseCaseError> {
    let (token, now) = (token.clone(), app.clock.now());
    let redeemed = app
        .store
        .write(move |tx| usecases::redeem_link(tx, &token, &[purpose], now));
    redeemed.await.map(drop)
}

fn is_refused(outcome: &Result<(), UseCaseError>) -> bool {
    matches!(outcome, Err(UseCaseError::LinkExpired))
}

async fn a_link_works_once(app: TestApp) {
    let made = make(&app, somebody(&app, 1), "ada@example.com").await;
    let token = made.unwrap().token;
    redeem(&app, &token, RESET).await.unwrap();
    assert!(is_refused(&redeem(&app, &token, RESET).await));
    let other = Secret::presented("no such token");
    assert!(is_refused(&redeem(&app, &other, RESET).await));
}

async fn of_many_who_redeem_a_link_at_once_one_succeeds(app: TestApp) {
    for number in 1..6 {
        let made = make(&app, somebody(&app, number), "ada@example.com").await;
        let token = made.unwrap().token;
        let outcomes = join_all((0..8).map(|_| redeem(&app, &token, RESET))).await;
        assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
        assert_eq!(outcomes.iter().filter(|o| is_refused(o)).count(), 7);
    }
}

async fn a_link_is_good_for_its_time_and_its_purpose(app: TestApp) {
    let made = make(&app, somebody(&app, 1), "ada@example.com").await;
    let token = made.unwrap().token;
    let other = redeem(&app, &token, LinkPurpose::SetPassword).await;
    assert!(is_refused(&other));
    let begun = app.clock.now();
    app.clock.move_to(begun.plus(RESET.life()));
    assert!(is_refused(&redeem(&app, &token, RESET).await));
    let second = Duration::from_secs(1);
    app.clock.move_to(begun.plus(RESET.life()).minus(second));
    redeem(&app, &token, RESET).await.unwrap();
}

async fn an_address_and_a_person_have_few_good_links(app: TestApp) {
    let mut tokens = Vec::new();
    for number in 0..5 {
        let made = make(&app, somebody(&app, number), "ada@example.com").await;
        tokens.extend(made.map(|made| made.token));
    }
    assert_eq!(tokens.len(), 3);
    // One that was used makes room for another.
    redeem(&app, &tokens[0], RESET).await.unwrap();
    let made = make(&app, somebody(&app, 9), "ada@example.com").await;
    assert!(made.is_some());
    let mut of_person = 0;
    for number in 0..12 {
        let email: &'static str = format!("{number}@example.com").leak();
        of_person += u32::from(make(&app, somebody(&app, 7), email).await.is_some());
    }
    assert_eq!(of_person, 10);
    app.clock.move_to(app.clock.now().plus(RESET.life()));
    let made = make(&app, somebody(&app, 7), "ada@example.com").await;
    assert!(made.is_some());
}

async fn the_token_of_a_link_is_not_in_the_database(app: TestApp) {
    let person = somebody(&app, 1);
    let made = make(&app, person, "ada@example.com").await.unwrap();
    let (id, now) = (made.link.id, app.clock.now());
    let again = app
        .store
        .read(move |tx| usecases::token_to_mail(tx, id, now));
    assert_eq!(
        again.await.unwrap().unwrap().token.expose(),
        made.token.expose()
    );
    let everything = app.database.everything().await;
    assert!(everything.contains(&made.token.hash()));
    assert!(!everything.contains(made.token.expose()));
    let secret = app
        .store
        .read::<_, UseCaseError, _>(|tx| Ok(tx.find_service_secret("mail_links")?));
    assert!(!everything.contains(&secret.await.unwrap().unwrap()));
}
