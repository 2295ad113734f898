//! Warns of a certificate that has ended, or soon will, and tells the metrics when.

use std::time::Duration;

use metrics::gauge;

use super::pair::Pair;
use crate::domain::Timestamp;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const WARN_BEFORE: Duration = Duration::from_secs(14 * 24 * 60 * 60);

/// Warns once a day.
#[derive(Default)]
pub(super) struct ExpiryWarning {
    last: Option<Timestamp>,
}

impl ExpiryWarning {
    pub fn warn(&mut self, pair: Option<&Pair>, now: Timestamp) {
        let Some(pair) = pair else { return };
        let ends = pair.not_after.as_millis() / 1_000;
        gauge!("legwork_certificate_ends_seconds").set(ends as f64);
        if let Some(warning) = self.due(pair, now) {
            tracing::warn!("{warning}");
        }
    }

    fn due(&mut self, pair: &Pair, now: Timestamp) -> Option<String> {
        let warning = pair.warning(now)?;
        if self.last.is_some_and(|last| now < last.plus(DAY)) {
            return None;
        }
        self.last = Some(now);
        Some(warning)
    }
}

impl Pair {
    /// What an operator should know about the time for which the certificate is valid.
    pub fn warning(&self, now: Timestamp) -> Option<String> {
        let names = self.names.join(", ");
        let (from, until) = (self.not_before, self.not_after);
        if now >= until {
            Some(format!(
                "the certificate for {names} has expired: it ended at {until}"
            ))
        } else if now < from {
            Some(format!(
                "the certificate for {names} is not valid before {from}"
            ))
        } else if now.plus(WARN_BEFORE) > until {
            Some(format!("the certificate for {names} ends soon, at {until}"))
        } else {
            None
        }
    }

    /// Why no client takes it, or none that asks for this host.
    pub fn fault(&self, host: Option<&str>, now: Timestamp) -> Option<String> {
        if self.names.is_empty() {
            return Some("the certificate has no names (subjectAltName)".to_owned());
        }
        if now >= self.not_after || now < self.not_before {
            return self.warning(now);
        }
        let host = host.filter(|host| !self.is_for(host))?;
        let names = self.names.join(", ");
        Some(format!(
            "the certificate for {names} is not for {host} (LEGWORK_PUBLIC_URL)"
        ))
    }

    /// Whole days until it ends.
    pub fn days_left(&self, now: Timestamp) -> u64 {
        self.not_after.since(now).as_secs() / DAY.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> Pair {
        let mut params = rcgen::CertificateParams::new(["a.example".to_owned()]).unwrap();
        params.not_before = rcgen::date_time_ymd(2026, 1, 1);
        params.not_after = rcgen::date_time_ymd(2026, 4, 1);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().pem();
        Pair::from_pem(certificate.as_bytes(), key.serialize_pem().as_bytes()).unwrap()
    }

    fn at(text: &str) -> Timestamp {
        Timestamp::RULE.check(text).unwrap()
    }

    #[test]
    fn it_warns_from_fourteen_days_before_the_end() {
        let pair = pair();
        for (now, expected) in [
            (
                "2025-12-31T23:59:59Z",
                Some("is not valid before 2026-01-01"),
            ),
            ("2026-01-01T00:00:00Z", None),
            ("2026-03-18T00:00:00Z", None),
            ("2026-03-18T00:00:01Z", Some("ends soon, at 2026-04-01")),
            ("2026-04-01T00:00:00Z", Some("has expired")),
        ] {
            let warning = pair.warning(at(now));
            match expected {
                Some(part) => assert!(warning.unwrap().contains(part), "{now}"),
                None => assert_eq!(warning, None, "{now}"),
            }
        }
        assert_eq!(pair.days_left(at("2026-03-29T12:00:00Z")), 2);
        assert_eq!(pair.days_left(at("2026-05-01T00:00:00Z")), 0);
    }

    #[test]
    fn metrics_tell_when_it_ends() {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        metrics::with_local_recorder(&recorder, || {
            ExpiryWarning::default().warn(Some(&pair()), at("2026-02-01T00:00:00Z"));
        });
        let told = recorder.handle().render();
        let ends = at("2026-04-01T00:00:00Z").as_millis() / 1_000;
        let line = format!("legwork_certificate_ends_seconds {ends}");
        assert!(told.contains(&line), "{told}");
    }

    #[test]
    fn it_warns_once_a_day() {
        let (pair, mut warning) = (pair(), ExpiryWarning::default());
        let mut due = |now| warning.due(&pair, at(now)).is_some();
        assert!(!due("2026-02-01T00:00:00Z"));
        assert!(due("2026-03-30T00:00:00Z"));
        assert!(!due("2026-03-30T23:59:59Z"));
        assert!(due("2026-03-31T00:00:00Z"));
    }
}
