//! Every sentence of the app, in each of its languages. A language that lacks one does not compile.

mod en;
mod es;
mod passkeys;
mod patterns;
pub mod scripts;
mod sections;

use std::time::Duration;

use axum::http::{HeaderMap, header};

use crate::domain::{Timestamp, Windows};
use crate::pages::kit::passkeys::Words;
use crate::pages::kit::words::{When, rounded};

pub use en::ENGLISH;
pub use es::SPANISH;
pub use patterns::{Pattern, Plural};
pub use sections::*;

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
    pub start: Start,
    pub find: Find,
    pub earnings: Earnings,
    pub me: Me,
    pub passkeys: Words,
    /// What the API calls things by, such as statuses and skills.
    pub words: &'static [(&'static str, &'static str)],
    /// Sentences for error codes. A code without one is told in the API's words.
    pub problems: &'static [(&'static str, &'static str)],
    /// What is wrong with a field. Without one, the API's own words are shown.
    pub faults: &'static [(&'static str, &'static str)],
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
            (_, true) => self.time.ahead.with(self.duration(rounded(seconds))),
            (_, false) => self.time.ago.with(self.duration(rounded(seconds))),
        };
        When {
            relative,
            ..When::new(at, now)
        }
    }

    /// A sentence with the times that the operator has set, each in the unit in which it is set.
    pub fn timed(&self, text: &str, windows: &Windows) -> String {
        let whole = |time: Duration, seconds| i64::try_from(time.as_secs() / seconds);
        let hours = |time| self.time.hours.of(&whole(time, 3_600).unwrap_or(i64::MAX));
        let days = |time| self.time.days.of(&whole(time, 86_400).unwrap_or(i64::MAX));
        text.replace("{start}", &hours(windows.start))
            .replace("{work}", &hours(windows.work))
            .replace("{dispute}", &hours(windows.dispute))
            .replace("{review}", &days(windows.review))
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
        words.of(&i64::try_from(seconds / size).unwrap_or(i64::MAX))
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

    #[test]
    fn sentences_tell_the_times_that_were_set() {
        let hours = |hours: u64| Duration::from_secs(hours * 3_600);
        let windows = Windows {
            start: hours(1),
            work: hours(36),
            review: hours(3 * 24),
            dispute: hours(48),
            ..Windows::default()
        };
        for (texts, told) in [
            (&ENGLISH, ["for 3 days", "48 hours", "1 hour,", "36 hours"]),
            (&SPANISH, ["3 días", "48 horas", "1 hora y", "36 horas"]),
        ] {
            let lists = [texts.enter.pay, texts.find.rules].concat();
            let all = [lists.join(" "), texts.tasks.dispute_hint.to_owned()].join(" ");
            let all = texts.timed(&all, &windows);
            assert!(!all.contains('{'), "{all}");
            for part in told {
                assert!(all.contains(part), "{part}: {all}");
            }
        }
    }
}
