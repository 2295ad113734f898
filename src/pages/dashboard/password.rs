//! The password again, before something dangerous.

use askama::Template;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};

use crate::api::inside::Refused;
use crate::pages::dashboard::desk::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::kit::passkeys::{self, Button, ENGLISH, Words};
use crate::pages::kit::words::duration;
use crate::sign_in::SignInError;
use crate::usecases::{self, UseCaseError};

/// The field of forms that ask for it themselves.
const FIELD: &str = "current_password";
/// Where a form was sent that waits for the password.
pub const ACTION: &str = "again_action";
/// The fields of the page that asks. All others are of a form that waits, and go with it.
const OWN: [&str; 9] = [
    ACTION,
    "next",
    "password",
    "challenge_id",
    "credential_id",
    "client_data",
    "authenticator_data",
    "signature",
    "user_handle",
];

/// The page that asks.
#[derive(Template)]
#[template(path = "account/again.html")]
struct Again {
    banner: bool,
    email: String,
    form: Form,
    has_password: bool,
    words: &'static Words,
    /// For whoever has a passkey.
    passkey: Option<Button>,
    /// What was entered on a form that waits, and where it was sent.
    waiting: Vec<(String, String)>,
}

impl Desk {
    /// Whether the password was given in the last minutes.
    pub fn is_recent(&self) -> bool {
        self.visitor.session.is_recent(self.pages.app.clock.now())
    }

    /// Whether the forms for live keys ask for the password: it was given too long ago.
    pub fn asks_password(&self) -> bool {
        !self.is_test() && !self.is_recent()
    }

    /// Asks for the password if it was given too long ago. The form waits on the page that asks, and is
    /// sent again to where it was sent.
    pub async fn password_again(&self, form: Form) -> Result<Option<Response>, Refused> {
        if self.is_recent() {
            return Ok(None);
        }
        let mut form = form;
        form.add(ACTION, self.target().to_owned());
        self.ask_password(StatusCode::UNAUTHORIZED, form)
            .await
            .map(Some)
    }

    /// The page that asks. `form` is one that waits, or says where to go on.
    pub async fn ask_password(&self, status: StatusCode, form: Form) -> Result<Response, Refused> {
        let has_password = self.has_password().await?;
        let passkey = Button::again(&self.pages, self.visitor.session.person).await?;
        // Without either, there is a password to set first.
        if !has_password && passkey.is_none() {
            return Ok(Redirect::to("/account?done=no_password#password-card").into_response());
        }
        let waiting = waiting(&form);
        let again = Again {
            banner: self.pages.banner(),
            email: self.visitor.account.email.clone(),
            form,
            has_password,
            words: &ENGLISH,
            passkey: passkey.map(|button| Button {
                waiting: waiting.clone(),
                ..button
            }),
            waiting,
        };
        Ok(page(status, &again))
    }

    /// An account that was made on the command line may have none.
    pub async fn has_password(&self) -> Result<bool, Refused> {
        let id = self.visitor.account.id;
        let read = self.pages.app.store.read(move |tx| tx.account_password(id));
        Ok(read.await.map_err(UseCaseError::from)?.is_some())
    }

    /// Whether this is the password of whoever is signed in. Wrong ones count as attempts to sign in.
    pub async fn check_password(&self, given: String) -> Result<(), SignInError> {
        let (account, client) = (&self.visitor.account, self.incoming.client);
        self.pages.sign_ins.check(account, given, client).await
    }

    /// Checks it, and remembers in the session that it was given.
    pub async fn give_password(
        &self,
        given: String,
    ) -> Result<Result<(), (StatusCode, String)>, Refused> {
        if !self.has_password().await? {
            let text = "Your account has no password yet. Set one on the page of your account.";
            return Ok(Err((StatusCode::FORBIDDEN, text.to_owned())));
        }
        if given.is_empty() {
            let text = "Enter your password.".to_owned();
            return Ok(Err((StatusCode::UNAUTHORIZED, text)));
        }
        if let Err(error) = self.check_password(given).await {
            return told(error).map(Err);
        }
        let (session, clock) = (self.visitor.session.id, self.pages.app.clock.clone());
        let noted = self
            .pages
            .app
            .store
            .write(move |tx| usecases::password_given_again(tx, session, clock.now()));
        noted.await?;
        Ok(Ok(()))
    }

    /// For a form that asks for the password itself, so that nothing entered is lost: the status to answer
    /// with if it is wrong, and the fault on the form.
    pub async fn confirm_password(&self, form: &mut Form) -> Result<Option<StatusCode>, Refused> {
        if !self.asks_password() {
            return Ok(None);
        }
        match self.give_password(form.get(FIELD).to_owned()).await? {
            Ok(()) => Ok(None),
            Err((status, problem)) => {
                form.add_fault(FIELD, problem);
                Ok(Some(status))
            }
        }
    }
}

/// Where a form was sent, and its fields.
fn waiting(form: &Form) -> Vec<(String, String)> {
    let fields = form.fields();
    let waiting = fields.filter(|(name, _)| *name == ACTION || !OWN.contains(name));
    waiting
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Why a password or a passkey was not taken, in words.
pub fn told(error: SignInError) -> Result<(StatusCode, String), Refused> {
    Ok(match error {
        SignInError::Refused(UseCaseError::WrongPassword) => (
            StatusCode::UNAUTHORIZED,
            "The password is wrong.".to_owned(),
        ),
        SignInError::TooMany(too_many) => {
            let wait = duration(too_many.retry_after_seconds);
            (
                StatusCode::TOO_MANY_REQUESTS,
                format!("Too many attempts. Try again in {wait}."),
            )
        }
        SignInError::Passkey(refused) => (
            StatusCode::UNAUTHORIZED,
            passkeys::told(&ENGLISH, refused).to_owned(),
        ),
        SignInError::Refused(error) => return Err(error.into()),
        _ => (
            StatusCode::SERVICE_UNAVAILABLE,
            "Try again in a moment.".to_owned(),
        ),
    })
}
