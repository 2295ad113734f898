//! Developers have use cases only: the pages call them.

use legwork::ambient;
use legwork::domain::{AccountId, Actor, GivenCode, Person, RecoveryCodes, TotpSecret};
use legwork::store::Tx;
use legwork::usecases::{self, CodeCheck, UseCaseError};

use super::pass;
use crate::support::{TestApp, on_both_engines};

on_both_engines!(
    a_developer_sets_up_uses_and_turns_off_a_factor,
    a_deleted_account_leaves_no_factor,
);

fn code(text: &str) -> GivenCode {
    GivenCode::RULE.check(text).unwrap()
}

async fn a_developer_sets_up_uses_and_turns_off_a_factor(app: TestApp) {
    let dev = app.developer().await;
    let account = AccountId::parse(&dev.account_id).unwrap();
    let holder = Person::Account(account);
    let (clock, store) = (app.clock.clone(), app.store.clone());
    let check = async |text: String| -> CodeCheck {
        let clock = clock.clone();
        let check =
            move |tx: &mut Tx<'_>| usecases::check_code(tx, holder, &code(&text), clock.now());
        store.write(check).await.unwrap()
    };
    assert_eq!(check("123456".to_owned()).await, CodeCheck::Off);
    let secret = TotpSecret::new(&ambient::random());
    let (begun, now) = (secret.clone(), app.clock.now());
    let begin = move |tx: &mut Tx<'_>| usecases::begin_second_factor(tx, holder, &begun, now);
    app.store.write(begin).await.unwrap();
    assert_eq!(check("123456".to_owned()).await, CodeCheck::Off);
    let codes = RecoveryCodes::new(&ambient::random());
    let (given, kept) = (code(&secret.code_at(now)), codes.clone());
    let confirm = move |tx: &mut Tx<'_>| {
        let by = (&Actor::SERVICE, None, false);
        usecases::confirm_second_factor(tx, holder, (&given, &kept), by, now)
    };
    app.store.write(confirm).await.unwrap();
    assert_eq!(check(secret.code_at(now)).await, CodeCheck::Wrong);
    pass(&app, 30);
    let next = secret.code_at(app.clock.now());
    assert_eq!(check(next.clone()).await, CodeCheck::Right);
    assert_eq!(check(next).await, CodeCheck::Wrong);
    assert_eq!(check(codes.shown()[0].clone()).await, CodeCheck::Right);
    let read = move |tx: &mut Tx<'_>| usecases::second_factor_status(tx, holder);
    let status = app.store.read(read).await.unwrap();
    assert_eq!(status.recovery_codes_left, 9);
    let off =
        move |tx: &mut Tx<'_>| usecases::turn_off_second_factor(tx, holder, &Actor::SERVICE, now);
    app.store.write(off).await.unwrap();
    assert_eq!(check(codes.shown()[1].clone()).await, CodeCheck::Off);
    let again = app.store.write(off).await;
    assert!(matches!(again, Err(UseCaseError::SecondFactorOff)));
    // The keys of the account are for programs.
    dev.live.get("/v1/account").await.expect(200);
}

async fn a_deleted_account_leaves_no_factor(app: TestApp) {
    let dev = app.developer().await;
    let account = AccountId::parse(&dev.account_id).unwrap();
    let (secret, now) = (TotpSecret::new(&ambient::random()), app.clock.now());
    let begin = move |tx: &mut Tx<'_>| {
        usecases::begin_second_factor(tx, Person::Account(account), &secret, now)
    };
    app.store.write(begin).await.unwrap();
    let rows = "SELECT holder FROM second_factors";
    assert_eq!(app.database.column(rows).await.len(), 1);
    let delete =
        move |tx: &mut Tx<'_>| usecases::delete_account(tx, account, &Actor::COMMAND_LINE, now);
    app.store.write(delete).await.unwrap();
    assert_eq!(app.database.column(rows).await, Vec::<String>::new());
}
