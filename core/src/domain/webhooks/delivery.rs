//! Webhook deliveries: when one has succeeded, and when it is retried.

use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use crate::domain::string_enum::string_enum;
use crate::domain::{AccountId, Environment, EventId, EventType, TaskId, Timestamp};

/// The time limit for one delivery attempt, from connecting to the end of the response.
pub const TIME_LIMIT: Duration = Duration::from_secs(30);
/// An endpoint is disabled when a delivery is given up and none has succeeded for this long.
pub const FAILING_LIMIT: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// How long an old secret still signs deliveries beside the new one.
pub const OLD_SECRET_LIFE: Duration = Duration::from_secs(24 * 60 * 60);
/// So many old secrets sign at most.
pub const MAX_OLD_SECRETS: usize = 3;
/// How long events and their deliveries are kept.
pub const EVENTS_KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How many attempts are kept per delivery. Redelivery can add attempts without limit.
const ATTEMPTS_KEPT: usize = 50;
/// How long they may be, as JSON. The last response is kept in any case: its 4 KiB can be six times as long
/// there.
const MAX_ATTEMPTS_BYTES: usize = 32 << 10;

string_enum!(DeliveryStatus {
    /// Not delivered yet. It will be tried.
    Pending = "pending",
    Delivered = "delivered",
    /// Given up.
    Failed = "failed",
});

/// How one attempt ended.
#[derive(Clone, Debug, Serialize)]
pub struct Attempt {
    pub attempted_at: Timestamp,
    pub status_code: Option<u16>,
    pub duration_ms: u64,
    pub error: Option<String>,
    /// The start of the endpoint's response.
    pub response_body: Option<String>,
}

impl Attempt {
    /// Any 2xx within the time limit.
    pub fn delivered(&self) -> bool {
        self.error.is_none() && matches!(self.status_code, Some(200..=299))
    }

    /// The endpoint asks for no more deliveries.
    pub fn gone(&self) -> bool {
        self.status_code == Some(410)
    }

    /// Appends this attempt to a JSON list of attempts.
    pub fn appended_to(&self, kept: &str) -> Result<String, serde_json::Error> {
        let mut attempts: Vec<Box<RawValue>> = serde_json::from_str(kept)?;
        attempts.push(to_raw_value(self)?);
        let skipped = attempts.len().saturating_sub(ATTEMPTS_KEPT);
        attempts.drain(..skipped);
        shorten(&mut attempts)?;
        serde_json::to_string(&attempts)
    }
}

/// Takes the responses from the oldest attempts until all of them together are short enough: an endpoint
/// decides what it answers, and can be asked again and again.
fn shorten(attempts: &mut [Box<RawValue>]) -> Result<(), serde_json::Error> {
    let mut bytes: usize = attempts.iter().map(|attempt| attempt.get().len()).sum();
    let older = attempts.len().saturating_sub(1);
    for attempt in &mut attempts[..older] {
        if bytes <= MAX_ATTEMPTS_BYTES {
            break;
        }
        bytes -= attempt.get().len();
        let mut told: serde_json::Map<String, Value> = serde_json::from_str(attempt.get())?;
        told.insert("response_body".to_owned(), Value::Null);
        *attempt = to_raw_value(&told)?;
        bytes += attempt.get().len();
    }
    Ok(())
}

/// A delivery that is due, with everything needed to send it.
#[derive(Clone, Debug)]
pub struct DueDelivery {
    pub event: EventId,
    pub event_type: EventType,
    pub environment: Environment,
    /// Deliveries of one task are sent in order.
    pub task: Option<TaskId>,
    pub data: String,
    /// Attempts since the delivery was requested.
    pub tries: i64,
    /// All attempts so far, as JSON.
    pub attempts: String,
}

/// A delivery as the developer sees it.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub event: EventId,
    pub account: AccountId,
    pub event_type: EventType,
    pub task: Option<TaskId>,
    /// The event's data, if it was asked for and is still kept.
    pub data: Option<String>,
    pub status: DeliveryStatus,
    pub status_code: Option<i64>,
    /// As JSON, if they were asked for.
    pub attempts: String,
    pub attempts_count: i64,
    pub due_at: Option<Timestamp>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}

/// The delay before the next try, given the number of tries and the operator's delays. It varies by
/// up to 10 % at random. `None` when there are no more tries.
pub fn next_try(tries: i64, delays: &[Duration], random: [u8; 2]) -> Option<Duration> {
    let delay = delays.get(usize::try_from(tries.checked_sub(1)?).ok()?)?;
    let chance = f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX);
    Some(delay.mul_f64(0.9 + 0.2 * chance))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAYS: [Duration; 3] = [
        Duration::from_secs(60),
        Duration::from_secs(480),
        Duration::from_secs(3_840),
    ];

    #[test]
    fn a_failed_delivery_is_tried_three_times_more() {
        let middle = u16::to_le_bytes(u16::MAX / 2);
        let seconds =
            |tries| next_try(tries, &DELAYS, middle).map(|delay| delay.as_secs_f64().round());
        assert_eq!(
            [1, 2, 3].map(seconds),
            [Some(60.0), Some(480.0), Some(3_840.0)]
        );
        assert_eq!([0, -1, 4, 5, i64::MAX, i64::MIN].map(seconds), [None; 6]);
    }

    #[test]
    fn chance_moves_a_delay_by_a_tenth_at_most() {
        let at = |random| next_try(1, &DELAYS, random).unwrap().as_secs_f64();
        assert!((at([0, 0]) - 54.0).abs() < 0.001);
        assert!((at([255, 255]) - 66.0).abs() < 0.001);
    }

    fn attempt(status_code: Option<u16>, error: Option<&str>) -> Attempt {
        Attempt {
            attempted_at: Timestamp::from_millis(0),
            status_code,
            duration_ms: 7,
            error: error.map(str::to_owned),
            response_body: None,
        }
    }

    #[test]
    fn only_2xx_in_time_is_taken() {
        for status in [200, 201, 204, 299] {
            assert!(attempt(Some(status), None).delivered(), "{status}");
        }
        for status in [100, 199, 300, 301, 404, 410, 500] {
            assert!(!attempt(Some(status), None).delivered(), "{status}");
        }
        assert!(!attempt(None, Some("timed out")).delivered());
        assert!(!attempt(Some(200), Some("timed out")).delivered());
        assert!(attempt(Some(410), None).gone());
        assert!(!attempt(Some(404), None).gone());
    }

    #[test]
    fn attempts_are_kept_in_order_and_not_without_end() {
        let mut kept = "[]".to_owned();
        for status in 100..200 {
            kept = attempt(Some(status), None).appended_to(&kept).unwrap();
        }
        let attempts: Vec<serde_json::Value> = serde_json::from_str(&kept).unwrap();
        assert_eq!(attempts.len(), 50);
        assert_eq!(attempts[0]["status_code"], 150);
        assert_eq!(attempts[49]["status_code"], 199);
    }

    #[test]
    fn however_long_the_responses_are_what_is_kept_is_short() {
        let mut kept = "[]".to_owned();
        for status in 100..200 {
            let attempt = Attempt {
                response_body: Some("\0".repeat(4 << 10)),
                ..attempt(Some(status), None)
            };
            kept = attempt.appended_to(&kept).unwrap();
            assert!(
                kept.len() <= MAX_ATTEMPTS_BYTES + (16 << 10),
                "{}",
                kept.len()
            );
        }
        let attempts: Vec<Value> = serde_json::from_str(&kept).unwrap();
        assert_eq!(attempts.len(), 50);
        assert_eq!(attempts[0]["status_code"], 150);
        assert_eq!(attempts[0]["response_body"], Value::Null);
        let last = attempts[49]["response_body"].as_str().unwrap();
        assert_eq!(last.len(), 4 << 10);
    }

    #[test]
    fn short_responses_are_all_kept() {
        let mut kept = "[]".to_owned();
        for _ in 0..50 {
            let attempt = Attempt {
                response_body: Some("thank you".to_owned()),
                ..attempt(Some(200), None)
            };
            kept = attempt.appended_to(&kept).unwrap();
        }
        let attempts: Vec<Value> = serde_json::from_str(&kept).unwrap();
        assert!(
            attempts
                .iter()
                .all(|attempt| attempt["response_body"] == "thank you")
        );
    }
}
