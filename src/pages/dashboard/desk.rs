//! A developer at work in one environment.

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::api::inside::{self, Ask, Asker, Incoming, Page, Refused};
use crate::domain::{Environment, Owner, Secret, Timestamp};
use crate::pages::kit::layout::{NavLink, Shell, Switch};
use crate::pages::kit::session::Developer;
use crate::pages::state::Pages;
use crate::store::{TaskPage, Visitor};
use crate::usecases::{SearchedPage, UseCaseError};

/// Whoever is signed in, and the environment that the path names.
pub struct Desk {
    pub pages: Pages,
    pub visitor: Visitor,
    pub environment: Environment,
    pub incoming: Incoming,
    asker: Asker,
    token: Secret,
    target: String,
}

/// The pages of the dashboard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Home,
    Tasks,
    Review,
    Approvals,
    Events,
    Webhook,
    Keys,
    Usage,
    Payment,
    Clock,
    /// Outside of both environments.
    Account,
}

/// Their paths below the environment, and their names.
const PLACES: &[(Place, &str, &str)] = &[
    (Place::Home, "", "Home"),
    (Place::Tasks, "/tasks", "Tasks"),
    (Place::Review, "/review", "Review"),
    (Place::Approvals, "/approvals", "Approvals"),
    (Place::Events, "/events", "Events"),
    (Place::Webhook, "/webhook", "Webhook"),
    (Place::Keys, "/keys", "Keys"),
    (Place::Usage, "/usage", "Usage"),
    (Place::Payment, "/payment", "Payment"),
    (Place::Clock, "/clock", "Clock"),
];

impl FromRequestParts<Pages> for Desk {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Refused> {
        let params = RawPathParams::from_request_parts(parts, pages).await;
        let params = params.map_err(|_| Refused::not_found())?;
        let named = params.iter().find(|(name, _)| *name == "environment");
        let environment = match named {
            Some((_, text)) => Environment::parse(text).ok_or_else(Refused::not_found)?,
            // The account is one for both.
            None => Environment::Live,
        };
        let target = parts.uri.path().to_owned();
        // No page takes it a second time, so it is moved and not copied.
        let developer = parts.extensions.remove::<Developer>();
        let developer = developer.ok_or(UseCaseError::Unauthorized)?;
        let Developer {
            visitor,
            token,
            incoming,
        } = developer;
        Ok(Self {
            pages: pages.clone(),
            asker: inside::developer(&pages.app, &visitor, environment, &token)?,
            environment,
            visitor,
            incoming,
            token,
            target,
        })
    }
}

impl Desk {
    pub async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Refused> {
        self.pages.api.ask(&self.asker, &self.incoming, ask).await
    }

    /// A page of the list of tasks, as `GET /v1/tasks` finds it.
    pub async fn tasks(&self, query: &str) -> Result<(Page, TaskPage), Refused> {
        inside::tasks(&self.pages.app, &self.asker, query).await
    }

    /// The same of a search.
    pub async fn search(&self, query: &str) -> Result<SearchedPage, Refused> {
        inside::search(&self.pages.app, &self.asker, query).await
    }

    /// Asks for what may be a stream.
    pub async fn response(&self, ask: Ask) -> Result<Response, Refused> {
        let (asker, incoming) = (&self.asker, &self.incoming);
        self.pages.api.response(asker, incoming, ask).await
    }

    pub fn is_test(&self) -> bool {
        self.environment == Environment::Test
    }

    pub fn owner(&self) -> Owner {
        Owner {
            account: self.visitor.account.id,
            environment: self.environment,
        }
    }

    /// The path that was asked for.
    pub fn target(&self) -> &str {
        &self.target
    }

    pub fn token(&self) -> &Secret {
        &self.token
    }

    /// The time in this environment.
    pub fn now(&self) -> Timestamp {
        let now = self.pages.app.clock.now();
        match self.environment {
            Environment::Test => now.plus(self.visitor.test_ahead),
            Environment::Live => now,
        }
    }

    /// A path in this environment: `path("/tasks")`.
    pub fn path(&self, rest: &str) -> String {
        format!("/dashboard/{}{rest}", self.environment)
    }

    pub fn shell(&self, title: impl Into<String>, place: Place) -> Shell {
        let link = |(at, path, label): &(Place, &str, &'static str)| NavLink {
            href: self.path(path),
            label,
            is_current: *at == place,
            count: None,
        };
        Shell {
            title: title.into(),
            app: "dashboard",
            home: self.path(""),
            environment: Some(Switch {
                current: self.environment,
                other: self.in_the_other_environment(),
            }),
            nav: PLACES
                .iter()
                .filter(|place| self.has(place.0))
                .map(link)
                .collect(),
            who: self.visitor.account.email.clone(),
            account: "/account",
            sign_out: "/sign-out",
            banner: self.pages.banner(),
            request_id: self.incoming.request_id().to_owned(),
            notice: None,
            scripts: Vec::new(),
            now: self.now(),
            real_now: self.pages.app.clock.now(),
        }
    }

    /// Only tests have a clock of their own.
    fn has(&self, place: Place) -> bool {
        place != Place::Clock || self.is_test()
    }

    /// For the pages of the account.
    pub fn account_shell(&self, title: &str) -> Shell {
        Shell {
            environment: None,
            ..self.shell(title, Place::Account)
        }
    }

    /// The list that a page belongs to: a single task is in one environment alone, and so is the clock.
    fn in_the_other_environment(&self) -> String {
        let other = match self.environment {
            Environment::Live => Environment::Test,
            Environment::Test => Environment::Live,
        };
        let place = self.target.split('/').nth(3).unwrap_or_default();
        let kept = PLACES
            .iter()
            .any(|(at, path, _)| *at != Place::Clock && path.strip_prefix('/') == Some(place));
        match kept {
            true => format!("/dashboard/{other}/{place}"),
            false => format!("/dashboard/{other}"),
        }
    }
}
