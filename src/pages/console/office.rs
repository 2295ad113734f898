//! An admin at work.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::response::Response;
use serde::de::DeserializeOwned;

use crate::api::inside::{self, Ask, Asker, Incoming, Refused};
use crate::api::{AdminRoute, admin_routes};
use crate::domain::{AccountId, AdminRole, Timestamp};
use crate::pages::kit::layout::{NavLink, Shell};
use crate::pages::kit::session::Admin;
use crate::pages::state::Pages;
use crate::store::StoreError;
use crate::usecases::{AdminVisitor, UseCaseError};

/// Whoever is signed in.
pub struct Office {
    pub pages: Pages,
    pub visitor: AdminVisitor,
    pub incoming: Incoming,
    asker: Asker,
}

/// The pages of the console.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Queue,
    Accounts,
    Workers,
    Tasks,
    Jobs,
    Notices,
    Audit,
    Reports,
    Health,
    Factor,
}

/// Their paths and names.
const PLACES: &[(Place, &str, &str)] = &[
    (Place::Queue, "/admin/queue", "Review queue"),
    (Place::Accounts, "/admin/accounts", "Accounts"),
    (Place::Workers, "/admin/workers", "Workers"),
    (Place::Tasks, "/admin/tasks", "Tasks"),
    (Place::Jobs, "/admin/jobs", "Jobs"),
    (Place::Notices, "/admin/notices", "Notices"),
    (Place::Audit, "/admin/audit", "Audit log"),
    (Place::Reports, "/admin/reports", "Reports"),
    (Place::Health, "/admin/health", "Health"),
    (Place::Factor, "/admin/factor", "Second factor"),
];

impl FromRequestParts<Pages> for Office {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, pages: &Pages) -> Result<Self, Refused> {
        let admin = Admin::from_request_parts(parts, pages).await?;
        let Admin {
            visitor,
            token,
            incoming,
        } = admin;
        Ok(Self {
            pages: pages.clone(),
            asker: inside::admin(&visitor, &token),
            visitor,
            incoming,
        })
    }
}

/// What each route of the API needs. It is made from the description once.
static ROUTES: LazyLock<Vec<AdminRoute>> = LazyLock::new(admin_routes);

/// The role that it takes to send this.
fn needed(ask: &Ask) -> Option<AdminRole> {
    let path = ask.path().split('/');
    let fits = |route: &&AdminRoute| {
        let parts = route.path.split('/');
        route.method == ask.method()
            && parts.clone().count() == path.clone().count()
            && parts
                .zip(path.clone())
                .all(|(part, given)| part == given || part.starts_with('{'))
    };
    ROUTES.iter().find(fits).map(|route| route.role)
}

impl Office {
    /// Asks the API. If the role of the key is too low, it says which one is needed.
    pub async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, Refused> {
        let role = needed(&ask);
        let answer = self.pages.api.ask(&self.asker, &self.incoming, ask).await;
        answer.map_err(|refused| self.with_role(refused, role))
    }

    /// The same, for what may be a file.
    pub async fn response(&self, ask: Ask) -> Result<Response, Refused> {
        let api = &self.pages.api;
        api.response(&self.asker, &self.incoming, ask).await
    }

    fn with_role(&self, mut refused: Refused, needed: Option<AdminRole>) -> Refused {
        if let Some(needed) = needed.filter(|_| refused.is("FORBIDDEN")) {
            let own = self.visitor.key.role;
            refused.message =
                format!("this needs a key with the role {needed}, and yours has the role {own}");
        }
        refused
    }

    pub fn now(&self) -> Timestamp {
        self.pages.app.clock.now()
    }

    pub fn may(&self, needed: AdminRole) -> bool {
        self.visitor.key.role.may(needed)
    }

    pub fn id(&self) -> String {
        self.visitor.key.id.to_string()
    }

    /// Whether the key was given in the last minutes.
    pub fn is_recent(&self) -> bool {
        self.visitor.session.is_recent(self.now())
    }

    /// Whether the key has an app as its second factor.
    pub async fn has_app(&self) -> Result<bool, Refused> {
        let (holder, store) = (self.visitor.session.person, &self.pages.app.store);
        let factor = store.read(move |tx| tx.second_factor_enabled(holder)).await;
        Ok(factor.map_err(UseCaseError::from)?.is_some())
    }

    /// Who the admins are.
    pub async fn names(&self) -> Result<Names, Refused> {
        let read = self.pages.app.store.read(|tx| tx.admin_keys());
        let keys = read.await.map_err(UseCaseError::from)?;
        let names = keys.into_iter().map(|key| (key.id.to_string(), key.name));
        Ok(Names {
            own: self.id(),
            names: names.collect(),
        })
    }

    /// How far the clocks of tests are ahead, by account.
    pub async fn test_clocks(
        &self,
        accounts: HashSet<String>,
    ) -> Result<HashMap<String, Duration>, Refused> {
        if accounts.is_empty() {
            return Ok(HashMap::new());
        }
        let read = self.pages.app.store.read(move |tx| {
            let mut clocks = HashMap::new();
            for text in &accounts {
                if let Some(account) = AccountId::parse(text) {
                    clocks.insert(text.clone(), tx.test_clock(account)?);
                }
            }
            Ok::<_, StoreError>(clocks)
        });
        Ok(read.await.map_err(UseCaseError::from)?)
    }

    /// Files of ours are named without the host: the public address may be another one.
    pub fn files(&self) -> Files {
        Files(self.pages.app.own_url().trim_end_matches('/').to_owned())
    }

    pub fn shell(&self, title: impl Into<String>, place: Place) -> Shell {
        let link = |(at, path, label): &(Place, &str, &'static str)| NavLink {
            href: (*path).to_owned(),
            label,
            is_current: *at == place,
            count: None,
        };
        let key = &self.visitor.key;
        Shell {
            title: title.into(),
            app: "console",
            home: "/admin/queue".to_owned(),
            environment: None,
            nav: PLACES.iter().map(link).collect(),
            who: format!("{} ({})", key.name, key.role),
            account: "",
            sign_out: "/admin/sign-out",
            banner: self.pages.banner(),
            request_id: self.incoming.request_id().to_owned(),
            notice: None,
            scripts: vec!["draft"],
            now: self.now(),
            real_now: self.now(),
        }
    }
}

/// The names of admins by the ids of their keys.
pub struct Names {
    own: String,
    names: HashMap<String, String>,
}

impl Names {
    pub fn is_own(&self, id: &str) -> bool {
        self.own == id
    }

    pub fn of(&self, id: &str) -> String {
        match self.names.get(id) {
            _ if self.is_own(id) => "you".to_owned(),
            Some(name) => name.clone(),
            None => id.to_owned(),
        }
    }
}

/// Turns the URLs of files into paths.
pub struct Files(String);

impl Files {
    pub fn path(&self, url: &str) -> String {
        url.strip_prefix(&self.0).unwrap_or(url).to_owned()
    }
}

/// A path with the parameters that are not empty.
pub fn query<'a>(path: &str, parameters: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = form_urlencoded::Serializer::new(String::new());
    text.extend_pairs(
        parameters
            .into_iter()
            .filter(|(_, value)| !value.is_empty()),
    );
    let text = text.finish();
    match text.is_empty() {
        true => path.to_owned(),
        false => format!("{path}?{text}"),
    }
}

/// What has just been done, for the page that comes after.
pub fn done(word: &str) -> Option<&'static str> {
    Some(match word {
        "claimed" => "Claimed: nobody else can decide it for 15 minutes.",
        "released" => "Released: others can claim it.",
        "noted" => "The note is kept.",
        "clear" => "Cleared.",
        "verify" => "The worker is verified.",
        "refuse" => "The documents are refused. The worker may send others.",
        "decide" => "The dispute is decided. Both sides were told.",
        "retry" => "It is tried again.",
        "write-off" => "The payout is written off.",
        "settle" => "The refund is settled.",
        "skills" => "The skills are confirmed.",
        "proposed" => "Proposed. Another admin has to confirm it.",
        "withdraw" => "The proposal is withdrawn.",
        "suspended" => "The account is suspended. Its keys stopped working.",
        "restored" => "The account is active again.",
        "tier" => "The tier is changed.",
        "worker-suspended" => "The worker is suspended and signed out.",
        "worker-restored" => "The worker is restored.",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_role_that_a_request_needs_is_known() {
        let post = |path: &str| needed(&Ask::post(path, json!({})));
        assert_eq!(
            post("/v1/admin/payouts/1/write_off"),
            Some(AdminRole::Owner)
        );
        assert_eq!(post("/v1/admin/queue/1/claim"), Some(AdminRole::Operator));
        let list = needed(&Ask::get("/v1/admin/queue?kind=dispute"));
        assert_eq!(list, Some(AdminRole::Viewer));
        assert_eq!(post("/v1/admin/nothing"), None);
    }
}
