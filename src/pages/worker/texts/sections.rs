//! The sentences of each page.

use super::{Pattern, Plural};

#[derive(Debug)]
pub struct Nav {
    pub label: &'static str,
    pub skip: &'static str,
    pub find: &'static str,
    pub tasks: &'static str,
    pub outbox: &'static str,
    pub earnings: &'static str,
    pub me: &'static str,
}

#[derive(Debug)]
pub struct Common {
    pub sandbox: &'static str,
    pub request: &'static str,
    pub try_again_in: Pattern,
    pub suspended_title: &'static str,
    /// What it means, and whom to ask.
    pub suspended: &'static str,
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
    pub signed_in_since: Pattern,
    pub made_for_another: &'static str,
    pub load_again: &'static str,
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
    /// For whoever has sent a form.
    pub session_ended: &'static str,
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
    pub urgent: &'static str,
    pub payout: &'static str,
    /// The same when it is over.
    pub earned: &'static str,
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
    /// The session had ended when it was sent.
    pub dispute_again: &'static str,
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
    /// Completed for less than the whole pay.
    pub split: Pattern,
    pub cancelled: &'static str,
    pub cancelled_paid: Pattern,
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

/// From signing up to the first task.
#[derive(Debug)]
pub struct Start {
    pub title: &'static str,
    pub lead: &'static str,
    pub ready_title: &'static str,
    pub ready: &'static str,
    pub done: &'static str,
    pub email: &'static str,
    pub email_done: &'static str,
    pub email_open: &'static str,
    pub email_again: &'static str,
    pub email_sent: &'static str,
    pub identity: &'static str,
    pub identity_open: &'static str,
    pub identity_review: Pattern,
    pub identity_done: &'static str,
    pub refused: &'static str,
    pub payout: &'static str,
    pub payout_open: &'static str,
    pub payout_pending: &'static str,
    pub payout_done: &'static str,
    /// The processor has no complaint, and yet a payout failed.
    pub payout_check: &'static str,
    pub refused_again: &'static str,
    pub area: &'static str,
    pub area_open: &'static str,
    pub area_done: Pattern,
    pub notices: &'static str,
    pub notices_hint: &'static str,
    pub install: &'static str,
    pub install_hint: &'static str,
    pub go_on: &'static str,
    pub verify_title: &'static str,
    pub verify_lead: &'static str,
    pub document: &'static str,
    pub document_hint: &'static str,
    pub selfie: &'static str,
    pub selfie_hint: &'static str,
    pub send: &'static str,
    pub who_sees: &'static str,
    pub email_first: &'static str,
    pub payout_title: &'static str,
    pub payout_lead: &'static str,
    pub payout_button: &'static str,
    pub payout_leave: &'static str,
    pub payout_go: &'static str,
}

/// Tasks that can be accepted.
#[derive(Debug)]
pub struct Find {
    pub title: &'static str,
    pub list: &'static str,
    pub radar: &'static str,
    pub radar_label: Pattern,
    pub filters: &'static str,
    pub category: &'static str,
    pub any: &'static str,
    pub sort: &'static str,
    pub by_distance: &'static str,
    pub by_payout: &'static str,
    pub newest: &'static str,
    pub radius: &'static str,
    pub show: &'static str,
    pub here: &'static str,
    pub here_wait: &'static str,
    pub here_denied: &'static str,
    pub around_home: &'static str,
    pub around_position: &'static str,
    pub no_place_title: &'static str,
    pub no_place: &'static str,
    /// The same before one task.
    pub no_place_task: &'static str,
    pub set_home: &'static str,
    pub empty_title: &'static str,
    pub empty: &'static str,
    pub wider: Pattern,
    pub more: &'static str,
    pub bounty: &'static str,
    pub away: Pattern,
    pub needs: &'static str,
    pub no_skills: &'static str,
    pub about_place: &'static str,
    pub rules_title: &'static str,
    pub rules: &'static [&'static str],
    pub accept: &'static str,
    pub not_yet: &'static str,
    pub why_not: WhyNot,
    pub taken_title: &'static str,
    pub taken: &'static str,
    pub others: &'static str,
}

/// Why a worker may not accept a task, and what to do about it.
#[derive(Debug)]
pub struct WhyNot {
    pub not_verified: (&'static str, &'static str),
    pub lacks_skill: (&'static str, &'static str),
    pub unconfirmed_skill: (&'static str, &'static str),
    pub no_payout_account: (&'static str, &'static str),
    pub too_many_tasks: (&'static str, &'static str),
}

#[derive(Debug)]
pub struct Earnings {
    pub title: &'static str,
    pub balance: &'static str,
    pub balance_hint: &'static str,
    pub paid: &'static str,
    pub waiting_title: &'static str,
    pub waiting_until: Pattern,
    pub payouts: &'static str,
    pub month: &'static str,
    pub show: &'static str,
    pub csv: &'static str,
    pub earned: Pattern,
    pub arrived: Pattern,
    pub arrives: Pattern,
    pub on_its_way: &'static str,
    pub written_off: &'static str,
    /// A transfer was given up. What to do about it stands above the list.
    pub failed: &'static str,
    pub failed_title: &'static str,
    pub failed_hint: &'static str,
    pub failed_look: &'static str,
    pub held_disputed: &'static str,
    pub held_suspended: &'static str,
    pub empty_title: &'static str,
    pub empty: &'static str,
    pub empty_month: &'static str,
    pub total: &'static str,
}

#[derive(Debug)]
pub struct Me {
    pub title: &'static str,
    pub record: &'static str,
    pub completed: Plural,
    pub approved: Pattern,
    pub profile: &'static str,
    pub pending_name: Pattern,
    pub name_locked: &'static str,
    pub phone: &'static str,
    pub skills: &'static str,
    pub skills_hint: &'static str,
    pub home: &'static str,
    pub home_hint: &'static str,
    pub home_here: &'static str,
    pub latitude: &'static str,
    pub longitude: &'static str,
    pub radius: &'static str,
    pub save: &'static str,
    pub saved: &'static str,
    pub steps: &'static str,
    pub email: &'static str,
    pub new_email: &'static str,
    pub email_hint: &'static str,
    pub email_use: &'static str,
    pub email_changed: &'static str,
    pub email_mailed: &'static str,
    pub email_taken: &'static str,
    pub password: &'static str,
    pub current_password: &'static str,
    pub new_password: &'static str,
    pub change: &'static str,
    pub password_changed: &'static str,
    pub wrong_password: &'static str,
    pub sessions: &'static str,
    pub this_one: &'static str,
    pub signed_in: &'static str,
    pub last_used: &'static str,
    pub end: &'static str,
    pub ended: &'static str,
    pub unknown_browser: &'static str,
    pub factor: &'static str,
    pub on: &'static str,
    pub off: &'static str,
    pub factor_lead: &'static str,
    pub factor_required: &'static str,
    pub factor_set_up: &'static str,
    pub factor_add: &'static str,
    pub factor_add_hint: &'static str,
    pub factor_qr: &'static str,
    pub factor_enter: &'static str,
    pub factor_on: &'static str,
    pub factor_codes: &'static str,
    pub factor_codes_hint: &'static str,
    pub factor_codes_gone: &'static str,
    pub factor_begun: &'static str,
    pub factor_anew: &'static str,
    pub factor_codes_left: Plural,
    pub factor_new_codes: &'static str,
    pub factor_turn_off: &'static str,
    pub factor_is_off: &'static str,
    pub notices: &'static str,
    pub notices_hint: &'static str,
    pub notices_which: &'static str,
    pub quiet: &'static str,
    pub quiet_hint: &'static str,
    pub quiet_from: &'static str,
    pub quiet_to: &'static str,
    pub time_zone: &'static str,
    pub data: &'static str,
    pub export_hint: &'static str,
    pub export: &'static str,
    pub export_asked: &'static str,
    pub export_show: &'static str,
    pub export_preparing: &'static str,
    pub export_until: Pattern,
    pub export_file: Pattern,
    pub delete: &'static str,
    pub delete_hint: &'static str,
    pub delete_yes: &'static str,
    pub deleted_title: &'static str,
    pub deleted: &'static str,
}
