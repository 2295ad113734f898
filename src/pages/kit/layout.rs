//! The frame around the pages of somebody who is signed in.

use axum::http::StatusCode;

use crate::domain::{Environment, Timestamp};
use crate::pages::kit::words::When;

/// What every page of an app shows around its content.
#[derive(Clone, Debug)]
pub struct Shell {
    pub title: String,
    /// The name of the app, and where it begins.
    pub app: &'static str,
    pub home: String,
    /// Only where there are two.
    pub environment: Option<Switch>,
    pub nav: Vec<NavLink>,
    pub who: String,
    pub account: &'static str,
    pub sign_out: &'static str,
    pub banner: bool,
    pub request_id: String,
    /// What has just been done.
    pub notice: Option<&'static str>,
    /// Modules that this page loads.
    pub scripts: Vec<&'static str>,
    /// By the clock of the environment: that of tests may be ahead.
    pub now: Timestamp,
    pub real_now: Timestamp,
}

/// The environment, and the same page in the other one.
#[derive(Clone, Debug)]
pub struct Switch {
    pub current: Environment,
    pub other: String,
}

impl Switch {
    pub fn is_test(&self) -> bool {
        self.current == Environment::Test
    }
}

#[derive(Clone, Debug)]
pub struct NavLink {
    pub href: String,
    pub label: &'static str,
    pub is_current: bool,
    /// How much waits there.
    pub count: Option<i64>,
}

impl Shell {
    pub fn is_test(&self) -> bool {
        self.environment.as_ref().is_some_and(Switch::is_test)
    }

    /// A moment as the API writes it, for a template.
    pub fn when(&self, text: &str) -> When {
        When::parse(text, self.now)
    }

    /// The same for what goes by the real time also in test: keys, attempts to deliver.
    pub fn real(&self, text: &str) -> When {
        self.by(text, self.real_now)
    }

    /// The same for a moment of another clock, which says `now`.
    pub fn by(&self, text: &str, now: Timestamp) -> When {
        When {
            now: (now != self.now).then(|| now.to_string()),
            ..When::parse(text, now)
        }
    }

    pub fn at(&self, moment: &Timestamp) -> When {
        When::new(*moment, self.now)
    }

    pub fn script(mut self, name: &'static str) -> Self {
        self.scripts.push(name);
        self
    }

    /// A page that is read again when something happens. The answer to a form is not: that would send the form again.
    pub fn kept_up_to_date(self, status: StatusCode) -> Self {
        match status {
            StatusCode::OK => self.script("live"),
            _ => self,
        }
    }

    pub fn notice(mut self, notice: Option<&'static str>) -> Self {
        self.notice = notice;
        self
    }
}
