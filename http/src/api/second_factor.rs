//! What workers and admins share of the second factor.

use serde::Serialize;
use serde_json::json;
use utoipa::ToSchema;

use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::{Idempotent, Post, Requester};
use crate::api::response::json::JsonResponse;
use crate::domain::{Actor, GivenCode, Person, RecoveryCodes, Secret, Timestamp, TotpSecret};
use crate::store::{StoreError, Tx};
use crate::usecases::{self, CodeCheck, FactorSetup, FactorStatus, UseCaseError};
use crate::views::{examples, to_json};

/// Who asks, and how to answer.
pub struct Asker {
    pub holder: Person,
    /// Tells the entry in the app from others.
    pub label: String,
    pub by: Actor,
    /// Whether the second factor was given for this token.
    pub given: bool,
    pub requester: Requester,
}

/// How your second factor stands.
#[derive(Serialize, ToSchema)]
#[schema(as = SecondFactor, example = json!(SecondFactorBody::example()))]
pub struct SecondFactorBody {
    enabled: bool,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    enabled_at: Option<Timestamp>,
    recovery_codes_left: i64,
    /// Whether the operator requires a second factor of you.
    required: bool,
}

impl SecondFactorBody {
    fn of(status: FactorStatus, required: bool) -> Self {
        Self {
            enabled: status.enabled_at.is_some(),
            enabled_at: status.enabled_at,
            recovery_codes_left: status.recovery_codes_left,
            required,
        }
    }

    fn example() -> Self {
        let status = FactorStatus {
            enabled_at: Some(examples::SIGNED_UP),
            recovery_codes_left: 10,
        };
        Self::of(status, false)
    }
}

/// What to add to an authenticator app; shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = SecondFactorSetup, example = json!({
    "secret": "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
    "otpauth_url": "otpauth://totp/Legwork:grace%40example%2Ecom?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Legwork&algorithm=SHA1&digits=6&period=30",
    "qr_svg": "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 57 57\"></svg>",
}))]
pub struct SetupBody {
    /// In Base32, to be typed into the app.
    secret: String,
    /// What the QR code says.
    otpauth_url: String,
    /// The QR code.
    qr_svg: String,
}

/// Recovery codes: each replaces a code of the app once. Shown this once.
#[derive(Serialize, ToSchema)]
#[schema(as = RecoveryCodes, example = json!({"recovery_codes": ["aaaq-eaye-auda-ocaj", "bifq-ydio-b4ib-cerv"]}))]
pub struct RecoveryCodesBody {
    recovery_codes: Vec<String>,
}

pub struct Code(pub GivenCode);

impl RequestBody for Code {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let code = fields
            .doc("The code that the app shows, or a recovery code.")
            .text("code", &GivenCode::RULE);
        code.map(Self)
    }
}

request_bodies! {
    Code = json!({"code": "492039"});
}

pub async fn status(app: &App, holder: Person) -> Result<JsonResponse, ApiError> {
    let read = app
        .store
        .read(move |tx| usecases::second_factor_status(tx, holder));
    let required = app.required_factor.of(holder);
    JsonResponse::ok(&SecondFactorBody::of(read.await?, required))
}

pub async fn begin(app: &App, asker: Asker, post: Post) -> Result<JsonResponse, ApiError> {
    post.expect_no_fields()?;
    let secret = TotpSecret::new(&ambient::random());
    let setup = FactorSetup::new(&secret, &asker.label)?;
    let (holder, given) = (asker.holder, asker.given);
    let effect = move |tx: &mut Tx<'_>, now| {
        usecases::begin_second_factor(tx, holder, &secret, now)?;
        // Whoever has a passkey adds an app with it.
        usecases::expect_given(tx, holder, given)?;
        Ok(setup.clone())
    };
    let render = |setup: &FactorSetup| {
        to_json(&SetupBody {
            secret: setup.secret.expose().to_owned(),
            otpauth_url: setup.url.expose().to_owned(),
            qr_svg: setup.qr_svg.expose().to_owned(),
        })
    };
    let request = Idempotent::new(app, asker.requester, post);
    request.created().sealed().run(effect, render).await
}

/// `session` is the worker's token from which this is done.
pub async fn confirm(
    app: &App,
    asker: Asker,
    session: Option<Secret>,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let Code(code) = post.read()?;
    let codes = RecoveryCodes::new(&ambient::random());
    let (holder, by, given) = (asker.holder, asker.by, asker.given);
    // A repeat is answered with the recovery codes, so it needs a code that passes.
    let enabled = app.store.read(move |tx| tx.second_factor_enabled(holder));
    if enabled.await?.is_some() && post.has_key() {
        check(app, holder, code.clone()).await?;
    }
    let effect = move |tx: &mut Tx<'_>, now| {
        let from = (&by, session.as_ref(), given);
        usecases::confirm_second_factor(tx, holder, (&code, &codes), from, now)?;
        Ok(codes.clone())
    };
    let request = Idempotent::new(app, asker.requester, post.whatever_the_code());
    request.sealed().run(effect, shown).await
}

pub async fn new_codes(app: &App, asker: Asker, post: Post) -> Result<JsonResponse, ApiError> {
    let Code(code) = post.read()?;
    let codes = RecoveryCodes::new(&ambient::random());
    let (holder, by) = (asker.holder, asker.by);
    let effect = move |tx: &mut Tx<'_>, now| {
        usecases::replace_recovery_codes(tx, holder, &codes, &by, now)?;
        Ok(codes.clone())
    };
    check(app, holder, code).await?;
    let request = Idempotent::new(app, asker.requester, post.whatever_the_code());
    request.created().sealed().run(effect, shown).await
}

pub async fn turn_off(app: &App, asker: Asker, code: Code) -> Result<JsonResponse, ApiError> {
    let (holder, by) = (asker.holder, asker.by);
    check(app, holder, code.0).await?;
    let clock = app.clock.clone();
    let write = app.store.write(move |tx| {
        usecases::turn_off_second_factor(tx, holder, &by, clock.now())?;
        Ok::<_, UseCaseError>(usecases::second_factor_status(tx, holder)?)
    });
    let required = app.required_factor.of(holder);
    JsonResponse::ok(&SecondFactorBody::of(write.await?, required))
}

/// Checks a code in a transaction of its own, so that a wrong one is counted.
pub async fn check(app: &App, holder: Person, code: GivenCode) -> Result<(), ApiError> {
    let clock = app.clock.clone();
    let checked = app
        .store
        .write(move |tx| usecases::check_code(tx, holder, &code, clock.now()));
    passed(app, checked.await?)
}

fn passed(app: &App, check: CodeCheck) -> Result<(), ApiError> {
    match check {
        CodeCheck::Right => Ok(()),
        refused => Err(not_passed(app, refused)),
    }
}

/// Why a code does not pass.
pub fn not_passed(app: &App, check: CodeCheck) -> ApiError {
    match check {
        CodeCheck::Right | CodeCheck::Wrong => UseCaseError::WrongCode.into(),
        CodeCheck::Off => UseCaseError::SecondFactorOff.into(),
        CodeCheck::BlockedUntil(until) => ApiError::RateLimited {
            retry_after_seconds: until.since(app.clock.now()).as_secs().max(1),
        },
    }
}

fn shown(codes: &RecoveryCodes) -> Result<String, StoreError> {
    to_json(&RecoveryCodesBody {
        recovery_codes: codes.shown(),
    })
}
