//! What a worker's device says about how a file was made, in words.

use serde::Deserialize;

#[derive(Debug, Deserialize)]
pub struct Device {
    pub captured_at: String,
    clock_offset_ms: Option<i64>,
    source: String,
    queued_offline: bool,
    fixes: Vec<Fix>,
}

#[derive(Debug, Deserialize)]
struct Fix {
    accuracy_meters: Option<f64>,
    distance_meters: f64,
}

/// A clock that is off by less is right.
const RIGHT_MS: u64 = 60_000;

impl Device {
    /// All but when.
    pub fn facts(&self) -> String {
        let mut facts = vec![match self.source.as_str() {
            "camera" => "made with the camera of the app".to_owned(),
            _ => "chosen among files that were there".to_owned(),
        }];
        if let Some(fix) = self.fixes.last() {
            let off = fix
                .accuracy_meters
                .map(|off| format!(", give or take {off:.0} m"));
            let off = off.unwrap_or_default();
            facts.push(format!("{:.0} m from the task{off}", fix.distance_meters));
        }
        if self.queued_offline {
            facts.push("sent later, for lack of a network".to_owned());
        }
        match self.clock_offset_ms.map(i64::unsigned_abs) {
            Some(off) if off >= RIGHT_MS => {
                facts.push(format!("its clock is off by {} min", off / 60_000));
            }
            _ => {}
        }
        facts.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_position_and_a_wrong_clock_are_told() {
        let fix = |meters| Fix {
            accuracy_meters: Some(12.4),
            distance_meters: meters,
        };
        let mut device = Device {
            captured_at: String::new(),
            clock_offset_ms: Some(-59_999),
            source: "camera".to_owned(),
            queued_offline: false,
            fixes: vec![fix(900.0), fix(31.2)],
        };
        let facts = "made with the camera of the app; 31 m from the task, give or take 12 m";
        assert_eq!(device.facts(), facts);
        (device.clock_offset_ms, device.queued_offline) = (Some(-150_000), true);
        (device.source, device.fixes) = ("picker".to_owned(), Vec::new());
        let facts = "chosen among files that were there; sent later, for lack of a network; \
            its clock is off by 2 min";
        assert_eq!(device.facts(), facts);
    }
}
