//! The second factor: codes of an authenticator app.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::ambient;
use crate::api::inside::Refused;
use crate::domain::{Actor, GivenCode, Person, RecoveryCodes, TotpSecret};
use crate::pages::dashboard::Desk;
use crate::pages::kit::factor::{Begun, CODES_ARE_GONE, begun};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::layout::Shell;
use crate::pages::kit::words::When;
use crate::usecases::{self, CodeCheck, FactorStatus, UseCaseError};

#[derive(Template)]
#[template(path = "account/factor.html")]
struct Factor {
    shell: Shell,
    status: FactorStatus,
    required: bool,
    form: Form,
    begun: Option<Begun>,
    /// Shown once, right after they were made.
    codes: Vec<String>,
}

/// What is shown beside how the factor stands.
#[derive(Default)]
struct More {
    form: Form,
    codes: Vec<String>,
}

pub async fn show(desk: Desk) -> Result<Response, Refused> {
    shown(&desk, StatusCode::OK, More::default()).await
}

async fn shown(desk: &Desk, status: StatusCode, more: More) -> Result<Response, Refused> {
    let holder = holder(desk);
    let read = desk
        .pages
        .app
        .store
        .read(move |tx| usecases::second_factor_status(tx, holder));
    let factor = read.await.map_err(UseCaseError::from)?;
    let label = &desk.visitor.account.email;
    Ok(page(
        status,
        &Factor {
            shell: desk.account_shell("Second factor"),
            status: factor,
            required: desk.pages.app.required_factor.of(holder),
            form: more.form,
            begun: begun(&desk.pages, holder, label, desk.is_recent()).await?,
            codes: more.codes,
        },
    ))
}

fn holder(desk: &Desk) -> Person {
    Person::Account(desk.visitor.account.id)
}

/// Makes a secret, which the page then shows. To load that page anew makes no other one.
pub async fn begin(desk: Desk) -> Result<Response, Refused> {
    if let Some(again) = desk.password_again(Form::default()).await? {
        return Ok(again);
    }
    let secret = TotpSecret::new(&ambient::random());
    let (holder, clock) = (holder(&desk), desk.pages.app.clock.clone());
    let given = desk.visitor.session.second_factor;
    let begun = desk.pages.app.store.write(move |tx| {
        usecases::begin_second_factor(tx, holder, &secret, clock.now())?;
        // Whoever has a passkey adds an app with it.
        usecases::expect_given(tx, holder, given)
    });
    begun.await?;
    Ok(Redirect::to("/account/factor").into_response())
}

/// Turns it on with a first code. A wrong code keeps the secret, which the app has by now.
pub async fn confirm(desk: Desk, form: Form) -> Result<Response, Refused> {
    let Ok(code) = GivenCode::RULE.check(form.get("code")) else {
        return wrong(&desk, "Enter the six digits that your app shows.").await;
    };
    let codes = RecoveryCodes::new(&ambient::random());
    let (holder, by) = (holder(&desk), Actor::account(desk.visitor.account.id));
    let (kept, token, clock) = (
        codes.clone(),
        desk.token().clone(),
        desk.pages.app.clock.clone(),
    );
    let given = desk.visitor.session.second_factor;
    let confirmed = desk.pages.app.store.write(move |tx| {
        let from = (&by, Some(&token), given);
        usecases::confirm_second_factor(tx, holder, (&code, &kept), from, clock.now())
    });
    match confirmed.await {
        Ok(()) => {
            let more = More {
                codes: codes.shown(),
                ..More::default()
            };
            shown(&desk, StatusCode::OK, more).await
        }
        Err(UseCaseError::WrongCode) => {
            wrong(
                &desk,
                "The code is wrong. Enter the one that your app shows now.",
            )
            .await
        }
        // The page with the recovery codes was loaded anew.
        Err(UseCaseError::SecondFactorOn) => {
            let mut form = Form::new();
            form.problem = Some(CODES_ARE_GONE.to_owned());
            let more = More {
                form,
                ..More::default()
            };
            shown(&desk, StatusCode::CONFLICT, more).await
        }
        Err(error) => Err(error.into()),
    }
}

async fn wrong(desk: &Desk, why: &str) -> Result<Response, Refused> {
    let mut form = Form::new();
    form.add_fault("code", why);
    let more = More {
        form,
        ..More::default()
    };
    shown(desk, StatusCode::BAD_REQUEST, more).await
}

pub async fn turn_off(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(problem) = refused(&desk, form.get("code")).await? {
        return wrong(&desk, &problem).await;
    }
    let (holder, by) = (holder(&desk), Actor::account(desk.visitor.account.id));
    let clock = desk.pages.app.clock.clone();
    let off = desk
        .pages
        .app
        .store
        .write(move |tx| usecases::turn_off_second_factor(tx, holder, &by, clock.now()));
    off.await?;
    Ok(Redirect::to("/account?done=factor_off").into_response())
}

pub async fn new_codes(desk: Desk, form: Form) -> Result<Response, Refused> {
    if let Some(problem) = refused(&desk, form.get("code")).await? {
        return wrong(&desk, &problem).await;
    }
    let codes = RecoveryCodes::new(&ambient::random());
    let (holder, by) = (holder(&desk), Actor::account(desk.visitor.account.id));
    let (kept, clock) = (codes.clone(), desk.pages.app.clock.clone());
    let replaced = desk
        .pages
        .app
        .store
        .write(move |tx| usecases::replace_recovery_codes(tx, holder, &kept, &by, clock.now()));
    replaced.await?;
    let more = More {
        codes: codes.shown(),
        ..More::default()
    };
    shown(&desk, StatusCode::OK, more).await
}

/// Checks a code in a transaction of its own, which is kept: a wrong one counts.
async fn refused(desk: &Desk, given: &str) -> Result<Option<String>, Refused> {
    let Ok(code) = GivenCode::RULE.check(given) else {
        return Ok(Some(
            "Enter a code of your app, or a recovery code.".to_owned(),
        ));
    };
    let (holder, now) = (holder(desk), desk.pages.app.clock.now());
    let checked = desk
        .pages
        .app
        .store
        .write(move |tx| usecases::check_code(tx, holder, &code, now));
    Ok(match checked.await.map_err(UseCaseError::from)? {
        CodeCheck::Right => None,
        CodeCheck::Off => Some("The second factor is off.".to_owned()),
        CodeCheck::Wrong => Some("The code is wrong or was used already.".to_owned()),
        CodeCheck::BlockedUntil(until) => {
            let when = When::new(until, now).relative;
            Some(format!(
                "Too many wrong codes. Use a recovery code, or try again {when}."
            ))
        }
    })
}
