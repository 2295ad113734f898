//! What the API answers, as far as the console shows it.

use std::collections::HashSet;

use serde::Deserialize;
use serde_json::Value;

use crate::domain::MapTiles;
use crate::domain::geo::Point;
use crate::pages::console::office::query;
use crate::pages::kit::device::Device;
use crate::pages::kit::map::{self, Places};
use crate::pages::kit::words::{dollars, grouped, spaced};

#[derive(Deserialize)]
pub struct Page<T> {
    pub data: Vec<T>,
    pub meta: Meta,
}

#[derive(Deserialize)]
pub struct Meta {
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    pub fn empty() -> Self {
        Self {
            data: Vec::new(),
            meta: Meta { next_cursor: None },
        }
    }

    /// The link to the next page of the list, with the same filter.
    pub fn next(&self, path: &str, kept: &[(&str, &str)]) -> Option<String> {
        let cursor = self.meta.next_cursor.as_deref()?;
        let kept = kept.iter().copied().chain([("cursor", cursor)]);
        Some(query(path, kept))
    }
}

#[derive(Deserialize)]
pub struct Item {
    pub id: String,
    pub kind: String,
    pub status: String,
    pub environment: String,
    pub task_id: Option<String>,
    pub worker_id: Option<String>,
    pub note: Option<String>,
    pub proof: Option<Proof>,
    pub worker: Option<Worker>,
    #[serde(default)]
    pub asked_skills: Vec<String>,
    #[serde(default)]
    pub files: Vec<Document>,
    pub dispute: Option<Dispute>,
    pub task: Option<Task>,
    pub evidence: Option<Evidence>,
    pub map: Option<ProofMap>,
    #[serde(default)]
    pub attempts: Vec<Attempt>,
    pub payment: Option<Payment>,
    #[serde(default)]
    pub ledger: Vec<Entry>,
    pub payout_account: Option<PayoutAccount>,
    pub error: Option<String>,
    #[serde(default)]
    pub earlier_decisions: Vec<EarlierDecision>,
    #[serde(default)]
    pub earlier_files: Vec<EarlierDocument>,
    pub proposal: Option<Proposal>,
    pub claimed_by: Option<String>,
    pub claimed_until: Option<String>,
    pub decided_at: Option<String>,
    pub created_at: String,
}

impl Item {
    pub fn is_test(&self) -> bool {
        self.environment == "test"
    }

    pub fn is_open(&self) -> bool {
        self.status == "open"
    }

    /// How an owner closes it without sending the money: the action and its name.
    pub fn closing(&self) -> Option<(&'static str, &'static str)> {
        match self.kind.as_str() {
            "failed_payout" | "transfer_reversed" => Some(("write-off", "Write off")),
            "refund_failed" => Some(("settle", "Paid in another way")),
            _ => None,
        }
    }

    /// What of a payout has not been sent, and would be written off.
    pub fn unsent(&self) -> Option<String> {
        let kinds = ["failed_payout", "transfer_reversed"];
        let postings = self.ledger.iter().flat_map(|entry| &entry.postings);
        let owed = postings.filter(|posting| posting.account == "worker_balance");
        let cents: i64 = owed.map(|posting| posting.amount_cents).sum();
        kinds.contains(&self.kind.as_str()).then(|| dollars(cents))
    }
}

#[derive(Deserialize)]
pub struct Task {
    pub id: String,
    pub developer_id: String,
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub category: String,
    pub location_address: Option<String>,
    pub location_city: String,
    pub location_state: String,
    pub location_latitude: Option<f64>,
    pub location_longitude: Option<f64>,
    pub budget_cents: i64,
    pub platform_fee_cents: i64,
    pub worker_payout_cents: i64,
    pub status: String,
    pub environment: String,
    pub worker_id: Option<String>,
    pub deadline: Option<String>,
    pub created_at: String,
}

impl Task {
    pub fn is_test(&self) -> bool {
        self.environment == "test"
    }

    /// The accounts of the test tasks among these.
    pub fn accounts_in_test(tasks: &[Self]) -> HashSet<String> {
        let tests = tasks.iter().filter(|task| task.is_test());
        tests.map(|task| task.developer_id.clone()).collect()
    }

    /// The map of the task, with the position that was sent last and the place that a camera recorded.
    pub fn map<'a>(
        &self,
        proofs: impl IntoIterator<Item = &'a Proof>,
        exif: Option<&Exif>,
        tiles: Option<&MapTiles>,
    ) -> Option<String> {
        let sent = proofs
            .into_iter()
            .filter_map(|proof| Point::from_pair(proof.gps_latitude, proof.gps_longitude));
        let places = Places {
            task: Point::from_pair(self.location_latitude, self.location_longitude)?,
            sent: sent.last().map(|point| (point, None)),
            exif: exif.and_then(|exif| Point::from_pair(exif.latitude, exif.longitude)),
        };
        Some(map::draw(&places, tiles))
    }
}

#[derive(Deserialize)]
pub struct Proof {
    pub attempt_number: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub file_url: Option<String>,
    pub content_type: String,
    pub gps_latitude: Option<f64>,
    pub gps_longitude: Option<f64>,
    pub geo_valid: bool,
    pub distance_from_task_meters: Option<f64>,
    pub status: String,
    pub rejection_reason: Option<String>,
    pub created_at: String,
}

impl Proof {
    pub fn is_image(&self) -> bool {
        self.content_type.starts_with("image/")
    }

    pub fn is_video(&self) -> bool {
        self.content_type.starts_with("video/")
    }

    /// How far from the task it was taken.
    pub fn distance(&self) -> String {
        match self.distance_from_task_meters {
            Some(meters) => format!("{} m from the task", grouped(meters.max(0.0) as u64)),
            None => "no position was sent".to_owned(),
        }
    }
}

#[derive(Deserialize)]
pub struct Evidence {
    pub sha256: String,
    pub exif: Exif,
    pub device: Option<Device>,
    pub findings: Vec<Finding>,
}

#[derive(Deserialize)]
pub struct Exif {
    pub taken_at: Option<String>,
    pub latitude: Option<f64>,
    pub longitude: Option<f64>,
}

#[derive(Deserialize)]
pub struct Finding {
    pub code: String,
    pub reason: String,
    pub task_id: Option<String>,
}

#[derive(Deserialize)]
pub struct ProofMap {
    pub exif_to_task_meters: Option<f64>,
    pub accuracy_meters: Option<f64>,
    pub valid_meters: f64,
}

#[derive(Deserialize)]
pub struct Attempt {
    pub attempt_number: i64,
    pub status: String,
    pub rejection_reason: Option<String>,
    pub proofs: Vec<ProofDetails>,
}

#[derive(Deserialize)]
pub struct ProofDetails {
    pub proof: Proof,
    pub evidence: Evidence,
}

#[derive(Deserialize)]
pub struct Dispute {
    pub statement: Option<String>,
    pub opened_at: String,
    pub developer_statement: Option<String>,
    pub decision: Option<String>,
    pub note: Option<String>,
}

#[derive(Deserialize)]
pub struct Payment {
    pub status: String,
    pub amount_cents: i64,
    pub escrow_cents: i64,
    pub refunded_cents: i64,
    pub payout: Option<TaskPayout>,
    pub processor: Option<String>,
}

#[derive(Deserialize)]
pub struct TaskPayout {
    pub amount_cents: i64,
    pub paid_cents: i64,
}

#[derive(Deserialize)]
pub struct Entry {
    #[serde(rename = "type")]
    pub kind: String,
    pub postings: Vec<Posting>,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Posting {
    pub account: String,
    pub amount_cents: i64,
}

#[derive(Deserialize)]
pub struct PayoutAccount {
    pub id: String,
    pub processor: String,
    pub status: String,
}

#[derive(Deserialize)]
pub struct Worker {
    pub id: String,
    pub email: String,
    pub name: String,
    pub pending_name: Option<String>,
    pub phone: Option<String>,
    pub skills: Vec<String>,
    pub confirmed_skills: Vec<String>,
    pub status: String,
    pub payout_account: WorkerPayout,
    pub completed_tasks: i64,
    pub approval_rate: Option<f64>,
    pub created_at: String,
}

impl Worker {
    pub fn approval(&self) -> String {
        match self.approval_rate {
            Some(rate) => format!("{:.0} %", rate * 100.0),
            None => "no outcome yet".to_owned(),
        }
    }
}

#[derive(Deserialize)]
pub struct WorkerPayout {
    pub status: String,
}

#[derive(Deserialize)]
pub struct Document {
    pub kind: String,
    pub content_type: String,
    pub file_url: Option<String>,
}

impl Document {
    pub fn is_image(&self) -> bool {
        self.content_type.starts_with("image/")
    }
}

#[derive(Deserialize)]
pub struct EarlierDecision {
    pub action: String,
    pub by: Actor,
    pub at: String,
    pub note: Option<String>,
}

#[derive(Deserialize)]
pub struct EarlierDocument {
    pub kind: String,
    pub sha256: String,
    pub sent_at: String,
    pub replaced_at: String,
}

#[derive(Deserialize)]
pub struct Actor {
    #[serde(rename = "type")]
    pub kind: String,
    pub id: Option<String>,
}

impl Actor {
    /// `command_line` as `command line`.
    pub fn what(&self) -> String {
        self.kind.replace('_', " ")
    }
}

#[derive(Deserialize)]
pub struct Account {
    pub id: String,
    pub email: String,
    pub email_confirmed: bool,
    pub name: String,
    pub company: Option<String>,
    pub tier: String,
    pub status: String,
    pub created_at: String,
}

impl Account {
    /// Whoever opened it names an address that others may name too.
    pub fn is_claim(&self) -> bool {
        !self.email_confirmed && self.status != "deleted"
    }
}

#[derive(Deserialize)]
pub struct AccountTotals {
    pub tasks: i64,
    pub tasks_this_month: i64,
    pub fees_cents: i64,
    pub refunds_owed_cents: i64,
}

/// A move of a task.
#[derive(Deserialize)]
pub struct Move {
    pub to: String,
    pub by: Actor,
    pub reason: Option<String>,
    pub created_at: String,
}

/// A line of the audit log.
#[derive(Deserialize)]
pub struct Line {
    pub number: i64,
    pub at: String,
    pub by: Actor,
    pub action: String,
    pub subject: String,
    pub subject_id: String,
    pub details: Value,
    pub note: Option<String>,
    pub hash: String,
}

impl Line {
    /// The page of what it is about.
    pub fn page(&self) -> Option<String> {
        let place = match self.subject.as_str() {
            "account" => "accounts",
            "worker" => "workers",
            "task" => "tasks",
            "queue_item" => "queue",
            _ => return None,
        };
        Some(format!("/admin/{place}/{}", self.subject_id))
    }
}

#[derive(Deserialize)]
pub struct Job {
    pub kind: String,
    pub subject: String,
    pub dead: bool,
    pub run_at: Option<String>,
    pub attempts: i64,
    pub waits_for: Option<String>,
    pub last_error: Option<String>,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Notice {
    pub status: String,
    pub email: String,
    pub subject: String,
    pub paragraphs: Vec<String>,
    pub error: Option<String>,
    pub created_at: String,
}

#[derive(Deserialize)]
pub struct Day {
    pub date: String,
    #[serde(flatten)]
    pub figures: Figures,
}

#[derive(Deserialize)]
pub struct Figures {
    pub paid_in_cents: i64,
    pub refunds_booked_cents: i64,
    pub payouts_booked_cents: i64,
    pub fees_cents: i64,
    pub escrow_at_end_cents: i64,
    pub tasks_created: i64,
}

#[derive(Deserialize)]
pub struct Proposal {
    pub kind: String,
    pub proposal: Value,
    pub note: Option<String>,
    pub proposed_by: String,
    pub proposed_at: String,
}

impl Proposal {
    pub fn decision(&self) -> &str {
        self.proposal["decision"].as_str().unwrap_or_default()
    }

    pub fn paid_cents(&self) -> Option<i64> {
        self.proposal["paid_cents"].as_i64()
    }

    /// What confirms it.
    pub fn action(&self) -> &'static str {
        match self.kind.as_str() {
            "write_off" => "write-off",
            "settle_refund" => "settle",
            _ => "decide",
        }
    }

    /// What is proposed, in a few words.
    pub fn what(&self) -> String {
        match (self.kind.as_str(), self.paid_cents()) {
            ("write_off", _) => "Write the payout off".to_owned(),
            ("settle_refund", _) => "Settle the refund, which was paid in another way".to_owned(),
            (_, Some(cents)) => format!("Split: pay {}", dollars(cents)),
            _ => spaced(self.decision()),
        }
    }
}
