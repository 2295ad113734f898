//! What the API answers, as far as pages show it.

use serde::Deserialize;
use serde_json::Value;

use crate::pages::kit::device::Device;
use crate::pages::kit::map::distance;

/// A page of a list, read by offset or by cursor.
#[derive(Debug, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
    #[serde(default)]
    pub meta: Meta,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            data: Vec::new(),
            meta: Meta::default(),
        }
    }
}

#[derive(Debug, Default, Deserialize)]
pub struct Meta {
    pub total: Option<i64>,
    pub next_cursor: Option<String>,
}

#[derive(Debug, Deserialize)]
pub struct TaskItem {
    pub id: String,
    pub title: String,
    pub status: String,
    pub budget_cents: i64,
    pub created_at: String,
}

#[derive(Debug, Deserialize)]
pub struct Task {
    pub id: String,
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub category: String,
    pub required_skills: Vec<String>,
    pub location_address: Option<String>,
    pub location_city: String,
    pub location_state: String,
    pub location_latitude: f64,
    pub location_longitude: f64,
    pub budget_cents: i64,
    pub platform_fee_cents: i64,
    pub worker_payout_cents: i64,
    pub priority: String,
    pub status: String,
    pub deadline: Option<String>,
    pub max_proof_attempts: i64,
    pub proof_types: Vec<String>,
    pub metadata: Value,
    pub created_at: String,
}

impl Task {
    pub fn has_metadata(&self) -> bool {
        self.metadata.as_object().is_some_and(|map| !map.is_empty())
    }
}

#[derive(Debug, Deserialize)]
pub struct HistoryEntry {
    pub to: String,
    pub by: Actor,
    pub reason: Option<String>,
    pub created_at: String,
}

#[derive(Debug, Deserialize)]
pub struct Actor {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: Option<String>,
}

impl Actor {
    /// For the owner of the task.
    pub fn told(&self) -> &str {
        match self.kind.as_str() {
            "developer" => "you or one of your keys",
            "worker" => "the worker",
            "simulated_worker" => "a simulated worker",
            "admin" => "an admin",
            "clock" => "the clock: a time limit passed",
            "processor" => "the payment processor",
            "command_line" => "an operator",
            _ => "the service",
        }
    }
}

#[derive(Debug, Deserialize)]
pub struct Proof {
    pub id: String,
    pub attempt_number: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub file_url: Option<String>,
    pub content_type: String,
    pub file_size_bytes: i64,
    pub gps_latitude: Option<f64>,
    pub gps_longitude: Option<f64>,
    pub geo_valid: bool,
    pub distance_from_task_meters: Option<f64>,
    pub status: String,
    pub rejection_reason: Option<String>,
    pub created_at: String,
}

impl Proof {
    pub fn is_video(&self) -> bool {
        self.kind == "video"
    }

    /// Files of ours are named without the host: the page may have been opened under another.
    pub fn source<'a>(&'a self, own_url: &str) -> Option<&'a str> {
        let url = self.file_url.as_deref()?;
        Some(url.strip_prefix(own_url).unwrap_or(url))
    }

    /// From the task.
    pub fn distance(&self) -> Option<String> {
        self.distance_from_task_meters.map(distance)
    }

    pub fn is_pending(&self) -> bool {
        self.status == "pending"
    }
}

#[derive(Debug, Deserialize)]
pub struct Evidence {
    pub sha256: String,
    pub exif: Exif,
    pub device: Option<Device>,
    pub received_at: String,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
pub struct Exif {
    pub taken_at: Option<String>,
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
}

#[derive(Debug, Deserialize)]
pub struct Finding {
    pub code: String,
    pub reason: String,
}

#[derive(Debug, Deserialize)]
pub struct Payment {
    pub status: String,
    pub amount_cents: i64,
    pub escrow_cents: i64,
    pub refunded_cents: i64,
    pub refund_pending_cents: i64,
    pub payout: Option<Payout>,
    pub payment_url: Option<String>,
    pub failure: Option<Failure>,
}

impl Payment {
    /// Where to pay. A page of ours is named without the host: this one may have been opened under another, which has no
    /// session there.
    pub fn pay_page<'a>(&'a self, own_url: &str) -> Option<&'a str> {
        let url = self.payment_url.as_deref()?;
        Some(url.strip_prefix(own_url).unwrap_or(url))
    }

    /// What the worker of a task that is over gets.
    pub fn worker_cents(&self) -> i64 {
        self.payout.as_ref().map_or(0, |payout| payout.amount_cents)
    }

    /// What the platform keeps of it.
    pub fn fee_cents(&self) -> i64 {
        let payout = self.payout.as_ref();
        payout.map_or(0, |payout| payout.platform_fee_cents)
    }
}

#[derive(Debug, Deserialize)]
pub struct Payout {
    pub amount_cents: i64,
    pub platform_fee_cents: i64,
}

#[derive(Debug, Deserialize)]
pub struct Failure {
    pub message: String,
}

#[derive(Debug, Deserialize)]
pub struct LedgerEntry {
    #[serde(rename = "type")]
    pub step: String,
    pub postings: Vec<Posting>,
    pub created_at: String,
}

#[derive(Debug, Deserialize)]
pub struct Posting {
    pub account: String,
    pub amount_cents: i64,
}

#[derive(Debug, Deserialize)]
pub struct Dispute {
    pub statement: Option<String>,
    pub developer_statement: Option<String>,
    pub decision: Option<String>,
    pub note: Option<String>,
}
