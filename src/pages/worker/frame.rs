//! The frame around every page of the app.

use serde_json::{Map, Value};

use crate::domain::{Timestamp, Windows};
use crate::pages::kit::words::When;
use crate::pages::worker::texts::Texts;

/// What stands in the navigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Find,
    Tasks,
    Outbox,
    Earnings,
    Me,
}

/// A link of the navigation.
pub struct Tab {
    pub href: &'static str,
    pub label: &'static str,
    /// The lines of its picture.
    pub icon: &'static str,
    pub is_current: bool,
    pub is_outbox: bool,
}

/// What every page shows around its content.
#[derive(Clone, Debug)]
pub struct Frame {
    pub title: String,
    pub t: &'static Texts,
    /// None for whoever is not signed in: there is nowhere to go yet.
    pub place: Option<Place>,
    pub signed_in: bool,
    /// Where the language switch comes back to.
    pub path: String,
    pub banner: bool,
    pub request_id: String,
    /// Told on every page: it decides what the worker can do there.
    pub is_suspended: bool,
    /// What has just been done.
    pub notice: Option<&'static str>,
    /// Modules that this page loads.
    pub scripts: Vec<&'static str>,
    /// What the scripts say.
    pub script_texts: Map<String, Value>,
    /// Whom the work that waits on this phone belongs to.
    pub worker_id: String,
    /// Which sign-in this is. What the phone has told the server, such as where it gets notices, ends with it.
    pub session_id: String,
    pub now: Timestamp,
    pub windows: Windows,
}

const ICONS: [(Place, &str, &str); 5] = [
    (
        Place::Find,
        "/worker/find",
        "M11 4a7 7 0 1 0 0 14a7 7 0 1 0 0-14M16 16l5 5",
    ),
    (
        Place::Tasks,
        "/worker/tasks",
        "M4 6l1.5 1.5L8 5M4 12l1.5 1.5L8 11M4 18l1.5 1.5L8 17M11 6h9M11 12h9M11 18h9",
    ),
    (
        Place::Outbox,
        "/worker/outbox",
        "M4 14v5h16v-5M12 15V4M7.5 8.5L12 4l4.5 4.5",
    ),
    (
        Place::Earnings,
        "/worker/earnings",
        "M3 7h18v11H3zM12 9.5a3 3 0 1 0 0 6a3 3 0 1 0 0-6M6.5 12.5h.01M17.5 12.5h.01",
    ),
    (
        Place::Me,
        "/worker/me",
        "M12 4a4 4 0 1 0 0 8a4 4 0 1 0 0-8M5 20c1-4 4-5 7-5s6 1 7 5",
    ),
];

impl Frame {
    pub fn tabs(&self) -> Vec<Tab> {
        let nav = &self.t.nav;
        let tab = |(place, href, icon): &(Place, &'static str, &'static str)| Tab {
            href,
            icon,
            label: match place {
                Place::Find => nav.find,
                Place::Tasks => nav.tasks,
                Place::Outbox => nav.outbox,
                Place::Earnings => nav.earnings,
                Place::Me => nav.me,
            },
            is_current: self.place == Some(*place),
            is_outbox: *place == Place::Outbox,
        };
        ICONS.iter().map(tab).collect()
    }

    /// A moment as the API writes it.
    pub fn when(&self, text: &str) -> When {
        self.t.when(text, self.now)
    }

    /// A sentence with the times that the operator has set.
    pub fn timed(&self, text: &str) -> String {
        self.t.timed(text, &self.windows)
    }

    /// A value of the API, such as a status, in the worker's language.
    pub fn word(&self, word: &str) -> String {
        self.t.word(word)
    }

    pub fn words(&self, words: &[String]) -> String {
        let words: Vec<_> = words.iter().map(|word| self.t.word(word)).collect();
        words.join(", ")
    }

    pub fn script(mut self, name: &'static str) -> Self {
        self.scripts.push(name);
        self
    }

    /// Hands texts to the scripts of this page: they read them from `#texts`.
    pub fn texts(mut self, texts: Map<String, Value>) -> Self {
        self.script_texts.extend(texts);
        self
    }

    /// As JSON. A text cannot end the element that it stands in.
    pub fn script_json(&self) -> String {
        Value::from(self.script_texts.clone())
            .to_string()
            .replace('<', "\\u003c")
    }

    pub fn notice(mut self, notice: Option<&'static str>) -> Self {
        self.notice = notice;
        self
    }
}
