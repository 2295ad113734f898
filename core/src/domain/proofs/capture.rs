//! What the device says about how a file was made. Nobody can check it, so it is kept apart from what the
//! file says.

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::Timestamp;
use crate::domain::geo::Point;
use crate::domain::rules::IntegerRule;
use crate::domain::string_enum::string_enum;

/// How many positions a device may tell of one file.
pub const MAX_FIXES: usize = 20;

const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// How far the clock of a device may be off, in milliseconds.
pub const CLOCK_OFFSET_MS: IntegerRule = IntegerRule {
    min: -(YEAR.as_millis() as i64),
    max: YEAR.as_millis() as i64,
};

string_enum!(
    /// Where a file comes from.
    CaptureSource {
        /// It was made in the app.
        Camera = "camera",
        /// The worker chose a file that was there.
        Picker = "picker",
    }
);

/// A position, as the device measured it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fix {
    pub place: Point,
    pub accuracy_meters: Option<f64>,
    pub at: Timestamp,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Capture {
    /// By the clock of the device.
    pub captured_at: Timestamp,
    /// What to add to the clock of the device, as far as it knows.
    pub clock_offset_ms: Option<i64>,
    pub source: CaptureSource,
    /// It waited on the device until there was a network.
    pub queued_offline: bool,
    pub fixes: Vec<Fix>,
}

impl Capture {
    /// As it is stored.
    pub fn to_json(&self) -> String {
        let fix = |fix: &Fix| -> Value {
            json!({
                "latitude": fix.place.latitude,
                "longitude": fix.place.longitude,
                "accuracy_meters": fix.accuracy_meters,
                "at": fix.at,
            })
        };
        let text = json!({
            "captured_at": self.captured_at,
            "clock_offset_ms": self.clock_offset_ms,
            "source": self.source,
            "queued_offline": self.queued_offline,
            "fixes": self.fixes.iter().map(fix).collect::<Vec<_>>(),
        });
        text.to_string()
    }
}
