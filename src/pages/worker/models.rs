//! What the API answers, as far as the app shows it.

use serde::Deserialize;

use crate::pages::kit::words::dollars;

#[derive(Debug, Deserialize)]
pub struct OwnTask {
    pub id: String,
    pub title: String,
    pub description: String,
    pub instructions: Option<String>,
    pub category: String,
    pub location_address: Option<String>,
    pub location_city: String,
    pub location_state: String,
    pub location_latitude: f64,
    pub location_longitude: f64,
    pub worker_payout_cents: i64,
    pub priority: String,
    pub status: String,
    pub proof_types: Vec<String>,
    pub max_proof_attempts: i64,
    pub attempts_left: i64,
    pub last_rejection_reason: Option<String>,
    pub due_at: Option<String>,
    pub due_action: Option<String>,
    pub updated_at: String,
}

impl OwnTask {
    pub fn payout(&self) -> String {
        dollars(self.worker_payout_cents)
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
