//! Every sentence of the app, in each of its languages. A language that lacks one does not compile.

mod en;
mod es;
mod patterns;

use axum::http::{HeaderMap, header};

use crate::domain::Timestamp;
use crate::pages::kit::words::When;

pub use en::ENGLISH;
pub use es::SPANISH;
pub use patterns::{Pattern, Plural};

/// The cookie with the language that somebody has chosen.
pub const COOKIE: &str = "__Host-legwork_lang";

const ALL: [&Texts; 2] = [&ENGLISH, &SPANISH];

/// One language.
#[derive(Debug)]
pub struct Texts {
    pub lang: &'static str,
    /// What those who speak it call it.
    pub own_name: &'static str,
    pub nav: Nav,
    pub common: Common,
    pub time: Time,
    pub errors: Errors,
    pub enter: Enter,
    pub tasks: Tasks,
    /// What the API calls things by, such as statuses and skills.
    pub words: &'static [(&'static str, &'static str)],
    /// Sentences for error codes. A code without one is told in the API's words.
    pub problems: &'static [(&'static str, &'static str)],
    /// What is wrong with a field. Without one, the API's own words are shown.
    pub faults: &'static [(&'static str, &'static str)],
}

#[derive(Debug)]
pub struct Nav {
    pub label: &'static str,
    pub skip: &'static str,
    pub find: &'static str,
    pub tasks: &'static str,
    pub outbox: &'static str,
    pub earnings: &'static str,
    pub me: &'static str,
    pub back: &'static str,
}

#[derive(Debug)]
pub struct Common {
    pub sandbox: &'static str,
    pub language: &'static str,
    pub request: &'static str,
    pub try_again_in: Pattern,
    /// A page from the phone's memory: from when it is.
    pub stale: Pattern,
    pub copy: &'static str,
    pub copied: &'static str,
    pub older: &'static str,
    pub newer: &'static str,
}

#[derive(Debug)]
pub struct Time {
    pub now: &'static str,
    pub ahead: Pattern,
    pub ago: Pattern,
    pub days: Plural,
    pub hours: Plural,
    pub minutes: Plural,
    pub seconds: Plural,
}

#[derive(Debug)]
pub struct Errors {
    pub not_found: &'static str,
    pub conflict: &'static str,
    pub too_many: &'static str,
    pub server: &'static str,
    pub other: &'static str,
    pub home: &'static str,
}

/// The way in.
#[derive(Debug)]
pub struct Enter {
    pub front_title: &'static str,
    pub front_lead: &'static str,
    pub pay_title: &'static str,
    pub pay: &'static [&'static str],
    pub how_title: &'static str,
    pub how: &'static [&'static str],
    pub sign_up: &'static str,
    pub sign_in: &'static str,
    pub sign_out: &'static str,
    pub sign_up_lead: &'static str,
    pub name: &'static str,
    pub name_hint: &'static str,
    pub email: &'static str,
    pub password: &'static str,
    pub password_hint: &'static str,
    pub have_account: &'static str,
    pub no_account: &'static str,
    pub forgot: &'static str,
    pub forgot_lead: &'static str,
    pub forgot_no_mail: &'static str,
    pub send_link: &'static str,
    pub link_sent_title: &'static str,
    pub link_sent: &'static str,
    pub again: &'static str,
    pub both_needed: &'static str,
    pub code: &'static str,
    pub code_needed: &'static str,
    pub signed_out: &'static str,
}

/// The tasks that a worker has taken.
#[derive(Debug)]
pub struct Tasks {
    pub title: &'static str,
    pub to_do: &'static str,
    pub waiting: &'static str,
    pub done: &'static str,
    pub empty_title: &'static str,
    pub empty: &'static str,
    pub find: &'static str,
    pub nothing_to_do: &'static str,
    pub urgent: &'static str,
    pub payout: &'static str,
    pub attempts_left: Plural,
    pub due: &'static str,
    pub place: &'static str,
    pub directions: &'static str,
    pub what: &'static str,
    pub instructions: &'static str,
    pub wanted: &'static str,
    pub wanted_photo: &'static str,
    pub wanted_video: &'static str,
    pub wanted_signature: &'static str,
    pub near: &'static str,
    pub attempts: &'static str,
    pub attempt: Pattern,
    pub rejected_because: &'static str,
    pub file_gone: &'static str,
    pub start: &'static str,
    pub capture: &'static str,
    pub capture_again: &'static str,
    pub release: &'static str,
    pub release_hint: &'static str,
    pub release_yes: &'static str,
    pub dispute: &'static str,
    pub dispute_hint: &'static str,
    pub statement: &'static str,
    pub send_dispute: &'static str,
    pub dispute_title: &'static str,
    pub you_said: &'static str,
    pub developer_said: &'static str,
    pub admin_decided: &'static str,
    pub developer_title: &'static str,
    pub developer_completed: Plural,
    pub developer_share: Pattern,
    pub developer_hours: Plural,
    pub developer_new: &'static str,
    pub see_earnings: &'static str,
    pub changed: &'static str,
    pub gone_title: &'static str,
    pub gone: &'static str,
    /// What comes next, by status.
    pub next: Next,
    /// What time does, by `due_action`. Before it stands when.
    pub by_clock: ByClock,
    pub done_accepted: &'static str,
    pub done_started: &'static str,
    pub done_released: &'static str,
    pub done_disputed: &'static str,
    pub done_sent: &'static str,
}

#[derive(Debug)]
pub struct Next {
    pub assigned: &'static str,
    pub in_progress: &'static str,
    pub proof_submitted: &'static str,
    pub proof_rejected: &'static str,
    pub disputed: &'static str,
    pub completed: &'static str,
    pub cancelled: &'static str,
    pub expired: &'static str,
    pub refunded: &'static str,
}

impl Next {
    pub fn of(&self, status: &str) -> &'static str {
        match status {
            "assigned" => self.assigned,
            "in_progress" => self.in_progress,
            "proof_submitted" => self.proof_submitted,
            "proof_rejected" => self.proof_rejected,
            "disputed" => self.disputed,
            "completed" => self.completed,
            "cancelled" => self.cancelled,
            "expired" => self.expired,
            "refunded" => self.refunded,
            _ => "",
        }
    }
}

#[derive(Debug)]
pub struct ByClock {
    pub released: &'static str,
    pub expired: &'static str,
    pub completed: &'static str,
    pub refunded: &'static str,
}

impl ByClock {
    pub fn of(&self, action: &str) -> &'static str {
        match action {
            "released" => self.released,
            "expired" => self.expired,
            "completed" => self.completed,
            "refunded" => self.refunded,
            _ => "",
        }
    }
}

fn entry<T: Copy>(table: &[(&'static str, T)], key: &str) -> Option<T> {
    let found = table.iter().find(|(found, _)| *found == key);
    found.map(|(_, text)| *text)
}

impl Texts {
    /// The other languages.
    pub fn others(&self) -> impl Iterator<Item = &'static Texts> {
        let lang = self.lang;
        ALL.into_iter().filter(move |texts| texts.lang != lang)
    }

    pub fn word(&self, word: &str) -> String {
        let found = entry(self.words, word);
        found.map_or_else(|| crate::pages::kit::words::spaced(word), str::to_owned)
    }

    pub fn problem(&self, code: &str) -> Option<&'static str> {
        entry(self.problems, code)
    }

    pub fn fault(&self, field: &str, message: &str) -> String {
        let found = entry(self.faults, field);
        found.unwrap_or(message).to_owned()
    }

    /// A moment as the API writes it.
    pub fn when(&self, text: &str, now: Timestamp) -> When {
        let Ok(at) = Timestamp::RULE.check(text) else {
            return When::default();
        };
        let millis = at.as_millis() - now.as_millis();
        let seconds = millis.unsigned_abs() / 1_000;
        let relative = match (seconds, millis > 0) {
            (0..=4, _) => self.time.now.to_owned(),
            (_, true) => self.time.ahead.with(self.duration(seconds)),
            (_, false) => self.time.ago.with(self.duration(seconds)),
        };
        When {
            relative,
            ..When::new(at, now)
        }
    }

    /// The largest unit that fits.
    pub fn duration(&self, seconds: u64) -> String {
        let time = &self.time;
        let units = [
            (86_400, &time.days),
            (3_600, &time.hours),
            (60, &time.minutes),
        ];
        let unit = units.into_iter().find(|(size, _)| seconds >= *size);
        let (size, words) = unit.unwrap_or((1, &time.seconds));
        words.of(i64::try_from(seconds / size).unwrap_or(i64::MAX))
    }
}

/// The language that somebody has chosen, or else the one that the browser asks for.
pub fn chosen(headers: &HeaderMap) -> &'static Texts {
    let cookie = crate::pages::kit::session::token_in(headers, COOKIE);
    let by_cookie = cookie.and_then(|lang| named(lang.expose()));
    by_cookie.unwrap_or_else(|| asked_for(headers))
}

pub fn named(lang: &str) -> Option<&'static Texts> {
    ALL.into_iter().find(|texts| texts.lang == lang)
}

/// By `Accept-Language`; English when it names none of ours.
fn asked_for(headers: &HeaderMap) -> &'static Texts {
    let text = headers.get(header::ACCEPT_LANGUAGE);
    let text = text.and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut best: Option<(f64, &'static Texts)> = None;
    for part in text.split(',').take(20) {
        let (range, weight) = part.split_once(";q=").unwrap_or((part, "1"));
        let lang = range.trim().split('-').next().unwrap_or_default();
        let weight: f64 = weight.trim().parse().unwrap_or(0.0);
        let Some(texts) = named(&lang.to_ascii_lowercase()) else {
            continue;
        };
        if weight > best.map_or(0.0, |(most, _)| most) {
            best = Some((weight, texts));
        }
    }
    best.map_or(&ENGLISH, |(_, texts)| texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::tasks::{Category, ProofType, Skill};
    use crate::domain::{PayoutStatus, Status, WorkerStatus};

    fn lang(pairs: &[(&'static str, &str)]) -> &'static str {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        chosen(&headers).lang
    }

    #[test]
    fn a_choice_beats_what_the_browser_asks_for() {
        assert_eq!(lang(&[]), "en");
        assert_eq!(
            lang(&[("accept-language", "es-MX,es;q=0.9,en;q=0.8")]),
            "es"
        );
        assert_eq!(lang(&[("accept-language", "en;q=0.3, es;q=0.5")]), "es");
        assert_eq!(lang(&[("accept-language", "en,es")]), "en");
        assert_eq!(lang(&[("accept-language", "de, es;q=0, *")]), "en");
        let spanish = ("accept-language", "es");
        assert_eq!(lang(&[spanish, ("cookie", "__Host-legwork_lang=en")]), "en");
        assert_eq!(lang(&[spanish, ("cookie", "__Host-legwork_lang=xx")]), "es");
    }

    #[test]
    fn spanish_has_a_word_for_all_that_the_api_names() {
        let mut named: Vec<&str> = Vec::new();
        named.extend(Category::ALL.iter().map(|one| one.as_str()));
        named.extend(Skill::ALL.iter().map(|one| one.as_str()));
        named.extend(Status::ALL.iter().map(|one| one.as_str()));
        named.extend(ProofType::ALL.iter().map(|one| one.as_str()));
        named.extend(WorkerStatus::ALL.iter().map(|one| one.as_str()));
        named.extend(PayoutStatus::ALL.iter().map(|one| one.as_str()));
        for word in named {
            assert!(entry(SPANISH.words, word).is_some(), "{word}");
        }
    }

    #[test]
    fn times_are_told_in_each_language() {
        let now = Timestamp::RULE.check("2026-11-16T12:00:00Z").unwrap();
        let told = |texts: &Texts, text: &str| texts.when(text, now).relative;
        let three_days = "2026-11-19T12:00:00Z";
        assert_eq!(told(&ENGLISH, three_days), "in 3 days");
        assert_eq!(told(&SPANISH, three_days), "dentro de 3 días");
        assert_eq!(told(&SPANISH, "2026-11-16T11:00:00Z"), "hace 1 hora");
        assert_eq!(ENGLISH.duration(59), "59 seconds");
    }
}
