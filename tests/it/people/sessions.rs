//! Sessions on the pages.

use std::time::Duration;

use legwork::domain::{AccountId, Origin, Person, Secret, Session, SessionId};
use legwork::usecases::{self, UseCaseError};

use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_session_lives_while_it_is_used,
    a_session_ends_in_the_end,
    sessions_are_listed_and_revoked_by_whoever_they_belong_to,
    a_person_has_a_bounded_number_of_sessions,
    the_password_again_makes_a_session_recent,
);

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn somebody(app: &TestApp, number: u8) -> Person {
    Person::Account(AccountId::new(app.clock.now(), &[number; 10]))
}

async fn open(app: &TestApp, person: Person) -> (Session, Secret) {
    let (origin, now) = (Origin::new("192.0.2.1", "Browser"), app.clock.now());
    let opened = app
        .store
        .write(move |tx| usecases::open_session(tx, person, &origin, now));
    opened.await.unwrap()
}

async fn used(app: &TestApp, token: &Secret) -> Option<Session> {
    let (token, now) = (token.clone(), app.clock.now());
    let used = app
        .store
        .write(move |tx| usecases::use_session(tx, &token, now));
    match used.await {
        Ok(session) => Some(session),
        Err(UseCaseError::Unauthorized) => None,
        Err(error) => panic!("{error}"),
    }
}

async fn list(app: &TestApp, person: Person) -> Vec<SessionId> {
    let now = app.clock.now();
    let list = app
        .store
        .snapshot::<_, UseCaseError, _>(move |tx| Ok(tx.sessions_of(person, now)?));
    list.await
        .unwrap()
        .iter()
        .map(|session| session.id)
        .collect()
}

async fn a_session_lives_while_it_is_used(app: TestApp) {
    let (session, token) = open(&app, somebody(&app, 1)).await;
    for _ in 0..4 {
        app.clock.move_to(app.clock.now().plus(DAY * 6));
        assert_eq!(used(&app, &token).await.unwrap().id, session.id);
    }
    app.clock.move_to(app.clock.now().plus(DAY * 7));
    assert!(used(&app, &token).await.is_none());
    let everything = app.database.everything().await;
    assert!(!everything.contains(token.expose()));
}

async fn a_session_ends_in_the_end(app: TestApp) {
    let (_, token) = open(&app, somebody(&app, 1)).await;
    for _ in 0..29 {
        app.clock.move_to(app.clock.now().plus(DAY));
        assert!(used(&app, &token).await.is_some());
    }
    app.clock.move_to(app.clock.now().plus(DAY));
    assert!(used(&app, &token).await.is_none());
}

async fn sessions_are_listed_and_revoked_by_whoever_they_belong_to(app: TestApp) {
    let (ada, eve) = (somebody(&app, 1), somebody(&app, 2));
    let mut opened = Vec::new();
    for _ in 0..3 {
        opened.push(open(&app, ada).await);
    }
    assert_eq!(list(&app, ada).await.len(), 3);
    assert!(list(&app, eve).await.is_empty());
    let first = opened[0].0.id;
    let revoke = |person| {
        app.store
            .write(move |tx| usecases::revoke_session(tx, person, first))
    };
    let by_another = revoke(eve).await;
    assert!(matches!(by_another, Err(UseCaseError::SessionNotFound)));
    revoke(ada).await.unwrap();
    assert!(used(&app, &opened[0].1).await.is_none());
    let kept = opened[2].0.id;
    let others = app
        .store
        .write(move |tx| usecases::revoke_sessions(tx, ada, Some(kept)));
    others.await.unwrap();
    assert_eq!(list(&app, ada).await, [kept]);
    let all = app
        .store
        .write(move |tx| usecases::revoke_sessions(tx, ada, None));
    all.await.unwrap();
    assert!(used(&app, &opened[2].1).await.is_none());
}

async fn a_person_has_a_bounded_number_of_sessions(app: TestApp) {
    let person = somebody(&app, 1);
    let (first, _) = open(&app, person).await;
    for _ in 0..50 {
        app.clock
            .move_to(app.clock.now().plus(Duration::from_millis(1)));
        open(&app, person).await;
    }
    let listed = list(&app, person).await;
    assert_eq!(listed.len(), 50);
    assert!(!listed.contains(&first.id));
    let rows = "SELECT CAST(COUNT(*) AS TEXT) FROM sessions";
    assert_eq!(app.database.column(rows).await, ["50"]);
}

async fn the_password_again_makes_a_session_recent(app: TestApp) {
    let (session, token) = open(&app, somebody(&app, 1)).await;
    assert!(session.is_recent(app.clock.now()));
    app.clock
        .move_to(app.clock.now().plus(Duration::from_secs(600)));
    let now = app.clock.now();
    assert!(!used(&app, &token).await.unwrap().is_recent(now));
    let again = app
        .store
        .write(move |tx| usecases::password_given_again(tx, session.id, now));
    again.await.unwrap();
    assert!(used(&app, &token).await.unwrap().is_recent(now));
}
