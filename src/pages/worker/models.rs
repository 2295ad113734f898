//! What the API answers, as far as the app shows it.

use serde::Deserialize;

use crate::domain::geo::Point;
use crate::pages::kit::map::distance;
use crate::pages::kit::words::{bytes, dollars};
use crate::pages::worker::texts::Texts;

/// The day of a moment, in UTC.
pub fn day(moment: &str) -> &str {
    moment.get(..10).unwrap_or_default()
}

/// An id as it stands in a path. What is no id stays none.
pub fn segment(id: &str) -> String {
    form_urlencoded::byte_serialize(id.as_bytes()).collect()
}

#[derive(Debug, Deserialize)]
pub struct OwnTask {
    pub id: String,
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub location_address: Option<String>,
    pub location_city: String,
    pub location_state: String,
    pub location_latitude: f64,
    pub location_longitude: f64,
    pub worker_payout_cents: i64,
    /// None until it is over.
    pub earned_cents: Option<i64>,
    pub priority: String,
    pub status: String,
    pub proof_types: Vec<String>,
    pub attempts_left: i64,
    pub last_rejection_reason: Option<String>,
    pub due_at: Option<String>,
    pub due_action: Option<String>,
    pub developer: Option<Record>,
}

impl OwnTask {
    /// What it pays, or what it has paid when it is over.
    pub fn pay(&self) -> String {
        dollars(self.earned_cents.unwrap_or(self.worker_payout_cents))
    }

    pub fn is_over(&self) -> bool {
        self.earned_cents.is_some()
    }

    /// What comes next, or how it ended.
    pub fn next(&self, t: &Texts) -> String {
        let next = &t.tasks.next;
        match (self.status.as_str(), self.earned_cents) {
            ("completed", Some(cents)) if cents < self.worker_payout_cents => {
                next.split.with(dollars(cents))
            }
            ("cancelled", Some(cents)) if cents > 0 => next.cancelled_paid.with(dollars(cents)),
            (status, _) => next.of(status).to_owned(),
        }
    }

    pub fn city(&self) -> String {
        format!("{}, {}", self.location_city, self.location_state)
    }

    /// On one line.
    pub fn place(&self) -> String {
        match &self.location_address {
            Some(address) => format!("{address}, {}", self.city()),
            None => self.city(),
        }
    }

    /// One for each line, to be ticked off.
    pub fn steps(&self) -> Vec<&str> {
        let lines = self.instructions.iter().flat_map(|text| text.lines());
        let lines = lines.map(|line| line.trim().trim_start_matches(['-', '*', '•']).trim());
        lines.filter(|line| !line.is_empty()).collect()
    }

    pub fn is(&self, status: &str) -> bool {
        self.status == status
    }
}

#[derive(Debug, Deserialize)]
pub struct Proof {
    pub attempt_number: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub file_url: Option<String>,
    pub status: String,
    pub rejection_reason: Option<String>,
    pub created_at: String,
}

impl Proof {
    /// Files of ours are named without the host: the page may have been opened under another.
    pub fn source<'a>(&'a self, own_url: &str) -> Option<&'a str> {
        let url = self.file_url.as_deref()?;
        Some(url.strip_prefix(own_url).unwrap_or(url))
    }
}

#[derive(Debug, Deserialize)]
pub struct Dispute {
    pub statement: Option<String>,
    pub opened_at: String,
    pub developer_statement: Option<String>,
    pub decision: Option<serde_json::Value>,
    pub note: Option<String>,
}

/// How a developer has dealt with work so far.
#[derive(Debug, Deserialize)]
pub struct Record {
    pub tasks_completed: i64,
    pub approval_share: f64,
    pub median_review_hours: Option<i64>,
}

impl Record {
    pub fn percent(&self) -> String {
        format!("{:.0}", self.approval_share * 100.0)
    }
}

/// A task that can be accepted.
#[derive(Debug, Deserialize)]
pub struct Offer {
    pub id: String,
    pub title: String,
    pub description: String,
    pub category: String,
    pub task_type: String,
    pub required_skills: Vec<String>,
    pub location_city: String,
    pub location_state: String,
    pub location_latitude: f64,
    pub location_longitude: f64,
    pub distance_meters: f64,
    pub worker_payout_cents: i64,
    pub priority: String,
    pub due_at: Option<String>,
    pub proof_types: Vec<String>,
    pub attempts_left: i64,
    pub developer: Option<Record>,
}

impl Offer {
    pub fn payout(&self) -> String {
        dollars(self.worker_payout_cents)
    }

    pub fn city(&self) -> String {
        format!("{}, {}", self.location_city, self.location_state)
    }

    pub fn distance(&self) -> String {
        distance(self.distance_meters)
    }

    pub fn place(&self) -> Point {
        Point {
            latitude: self.location_latitude,
            longitude: self.location_longitude,
        }
    }

    pub fn is_bounty(&self) -> bool {
        self.task_type == "bounty"
    }
}

#[derive(Debug, Deserialize)]
pub struct Offered {
    #[serde(flatten)]
    pub task: Offer,
    pub ineligible_reason: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct Profile {
    pub email: String,
    pub name: String,
    pub pending_name: Option<String>,
    pub phone: Option<String>,
    pub skills: Vec<String>,
    pub home_latitude: Option<f64>,
    pub home_longitude: Option<f64>,
    pub radius_km: f64,
    pub status: String,
    pub payout_account: PayoutAccount,
    pub completed_tasks: i64,
    pub approval_rate: Option<f64>,
}

impl Profile {
    /// The name that the worker wants to have.
    pub fn shown_name(&self) -> &str {
        self.pending_name.as_deref().unwrap_or(&self.name)
    }
}

#[derive(Debug, Deserialize)]
pub struct PayoutAccount {
    pub status: String,
}

#[derive(Debug, Deserialize)]
pub struct Notification {
    pub kind: String,
    pub paragraphs: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Earnings {
    pub balance_cents: i64,
    pub paid_cents: i64,
    pub payouts: Vec<Payout>,
}

#[derive(Debug, Deserialize)]
pub struct Payout {
    pub task_id: String,
    pub title: String,
    pub amount_cents: i64,
    pub paid_cents: i64,
    pub pending_cents: i64,
    pub written_off_cents: i64,
    pub status: String,
    pub held_reason: Option<String>,
    pub available_at: Option<String>,
    pub paid_at: Option<String>,
    pub created_at: String,
}

impl Payout {
    pub fn amount(&self) -> String {
        dollars(self.amount_cents)
    }

    /// It was given up, and nothing more happens by itself.
    pub fn has_failed(&self) -> bool {
        self.status == "failed"
    }

    pub fn earned_on(&self) -> &str {
        day(&self.created_at)
    }
}

#[derive(Debug, Deserialize)]
pub struct Sessions {
    pub data: Vec<Session>,
}

#[derive(Debug, Deserialize)]
pub struct Session {
    pub id: String,
    pub created_at: String,
    pub last_used_at: Option<String>,
    pub user_agent: String,
    pub current: bool,
}

#[derive(Debug, Deserialize)]
pub struct PushSettings {
    pub muted: Vec<String>,
    pub quiet_from: Option<String>,
    pub quiet_to: Option<String>,
    pub utc_offset_minutes: i64,
}

#[derive(Debug, Deserialize)]
pub struct Factor {
    pub enabled: bool,
    pub recovery_codes_left: i64,
    pub required: bool,
}

#[derive(Debug, Deserialize)]
pub struct RecoveryCodes {
    pub recovery_codes: Vec<String>,
}

#[derive(Debug, Deserialize)]
pub struct Export {
    pub files: Vec<ExportFile>,
    pub created_at: String,
    pub expires_at: String,
}

#[derive(Debug, Deserialize)]
pub struct ExportFile {
    pub size_bytes: i64,
    pub url: String,
}

impl Export {
    pub fn kept_until(&self) -> &str {
        day(&self.expires_at)
    }
}

impl ExportFile {
    pub fn size(&self) -> String {
        bytes(self.size_bytes)
    }

    pub fn source<'a>(&'a self, own_url: &str) -> &'a str {
        self.url.strip_prefix(own_url).unwrap_or(&self.url)
    }
}
