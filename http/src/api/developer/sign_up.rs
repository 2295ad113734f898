//! POST /v1/accounts/sign_up: developers open accounts themselves.

use axum::extract::State;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::api::App;
use crate::api::developer::account::AccountBody;
use crate::api::error::ApiError;
use crate::api::openapi::{IdempotencyKeyHeader, groups};
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::idempotency::stranger::stranger;
use crate::api::request::idempotency::{Idempotent, Post};
use crate::api::response::json::JsonResponse;
use crate::domain::{Environment, NewAccount, PersonKind, Secret, Tier, accounts};
use crate::limits::{Applicant, ClientAddress};
use crate::store::StoreError;
use crate::usecases::{self, OpenedAccount};
use crate::views::{examples, to_json};

/// A new account and its first keys. No other response ever has the keys themselves.
#[derive(Serialize, ToSchema)]
#[schema(example = json!(SignedUp::example()))]
pub struct SignedUp {
    account: AccountBody,
    live_key: String,
    test_key: String,
}

impl SignedUp {
    fn json(opened: &OpenedAccount) -> Result<String, StoreError> {
        to_json(&Self {
            account: AccountBody::of(opened.account.clone(), 0),
            live_key: opened.live_key.secret.expose().to_owned(),
            test_key: opened.test_key.secret.expose().to_owned(),
        })
    }

    fn example() -> Value {
        let key = |environment| {
            let key = Secret::api_key(environment, &examples::secret_bytes());
            key.expose().to_owned()
        };
        json!(Self {
            account: AccountBody::of(examples::account(), 0),
            live_key: key(Environment::Live),
            test_key: key(Environment::Test),
        })
    }
}

/// A new account.
pub struct SignUpDeveloper {
    account: NewAccount,
    password: String,
}

impl RequestBody for SignUpDeveloper {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let email = fields.text("email", &accounts::EMAIL);
        let password = fields
            .doc("For the pages. Not one of the 10,000 commonest, and without the e-mail address.")
            .password("password", email.as_deref());
        let name = fields.text("name", &accounts::NAME);
        let company = fields.optional_text("company", &accounts::NAME);
        Some(Self {
            account: NewAccount {
                email: email?,
                name: name?,
                company,
                tier: Tier::Free,
            },
            password: password?,
        })
    }
}

request_bodies! {
    /// A new account.
    SignUpDeveloper = json!({
        "email": "ada@example.com", "password": "correct horse battery", "name": "Ada",
        "company": "Example Audits",
    });
}

/// Sign up as a developer
///
/// Answers the same whether or not the e-mail address is known here, and sends a mail to it. The test
/// key works at once; live tasks need a confirmed address.
#[utoipa::path(
    post, path = "/v1/accounts/sign_up", tag = "Account", operation_id = "signUpDeveloper",
    params(IdempotencyKeyHeader), request_body = SignUpDeveloper,
    responses((status = 201, description = "The account and its keys", body = SignedUp),
        groups::Anybody, groups::Body, groups::Idempotency)
)]
pub async fn sign_up(
    State(app): State<App>,
    client: ClientAddress,
    post: Post,
) -> Result<JsonResponse, ApiError> {
    let SignUpDeveloper { account, password } = post.read()?;
    app.sign_in_limits.count_sign_up(client)?;
    let (requester, post) = stranger(&app, "sign up", &account.email, post).await?;
    let hash = app.passwords.hash(password, Applicant::stranger(client));
    let hash = async { Ok::<_, ApiError>(hash.await?) };
    let email = account.email.clone();
    let answer = Idempotent::new(&app, requester, post)
        .created()
        .sealed()
        .prepare(hash)
        .run(
            move |tx, now, hash| {
                let opened = OpenedAccount::claiming(&account, now);
                usecases::sign_up(tx, &opened, hash, now)?;
                Ok(opened)
            },
            SignedUp::json,
        )
        .await?;
    // With mail the address is only claimed.
    if !app.sends_mail {
        let limits = &app.sign_in_limits;
        limits.signed_up((PersonKind::Account, &email), client);
    }
    Ok(answer)
}
