//! The objects of the interface. docs/reference says what their fields mean. Times are as the API
//! writes them (`2026-11-15T09:30:00.123Z`), amounts are in cents.

use std::collections::BTreeMap;
use std::ops::Deref;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::words::*;

macro_rules! objects {
    ($($name:ident { $($(#[$about:meta])* $field:ident: $type:ty,)* })*) => {
        /// The fields of each object.
        pub const OBJECTS: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$(stringify!($field)),*])),*];
        $(
            #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
            pub struct $name { $($(#[$about])* pub $field: $type,)* }
        )*
    };
}

objects! {
    Task {
        id: String, developer_id: String, title: String, description: String,
        instructions: Option<String>, category: Category, required_skills: Vec<Skill>,
        location_address: Option<String>, location_city: String, location_state: String,
        location_latitude: f64, location_longitude: f64, budget_cents: i64,
        platform_fee_cents: i64, worker_payout_cents: i64, priority: Priority, status: Status,
        environment: Environment, worker_id: Option<String>, deadline: Option<String>,
        max_proof_attempts: i64, proof_types: Vec<ProofType>, metadata: Map<String, Value>,
        assigned_at: Option<String>, started_at: Option<String>, completed_at: Option<String>,
        cancelled_at: Option<String>, created_at: String, updated_at: String,
    }
    CreatedTask {
        #[serde(flatten)] task: Task, payment_client_secret: Option<String>,
    }
    TaskSummary {
        id: String, title: String, status: Status, category: Category, budget_cents: i64,
        location_city: String, location_state: String, priority: Priority,
        worker_id: Option<String>, created_at: String, updated_at: String,
    }
    FoundTask {
        #[serde(flatten)] task: TaskSummary, metadata: Map<String, Value>,
        deadline: Option<String>, environment: Environment,
    }
    CreatedItem {
        status: i64, task: Option<CreatedTask>, error: Option<ErrorContent>,
    }
    CreatedTasks {
        data: Vec<CreatedItem>,
    }
    ErrorContent {
        code: ErrorCode, message: String, details: Option<Value>,
        #[serde(default)] request_id: String,
    }
    Quote {
        id: String, budget_cents: i64, platform_fee_cents: i64, worker_payout_cents: i64,
        mandate: MandateOfQuote, coverage: Coverage, expires_at: String,
    }
    MandateOfQuote {
        verdict: QuoteVerdict, reasons: Vec<String>, left: Option<Vec<MandateUse>>,
    }
    Coverage {
        workers: WorkersNearby, hours_to_accept: Option<HoursToAccept>,
        suggested_budget_cents: Option<i64>,
    }
    HoursToAccept {
        p50: i64, p90: i64,
    }
    CancelledTask {
        id: String, status: Status, cancelled_at: String, updated_at: String,
    }
    CompletedTask {
        id: String, status: Status, completed_at: String,
    }
    RejectedTask {
        id: String, status: Status, attempts_remaining: i64,
    }
    SubmittedTask {
        id: String, status: Status, attempt_number: i64,
    }
    Actor {
        r#type: ActorKind, id: Option<String>,
    }
    HistoryEntry {
        from: Option<Status>, to: Status, by: Actor, reason: Option<String>, created_at: String,
    }
    Posting {
        account: LedgerAccount, amount_cents: i64,
    }
    LedgerEntry {
        task_id: String, r#type: Step, postings: Vec<Posting>, created_at: String,
    }
    Payment {
        task_id: String, status: PaymentStatus, amount_cents: i64, escrow_cents: i64,
        refunded_cents: i64, refund_pending_cents: i64, refund: Option<Refund>,
        payout: Option<TaskPayout>, payment_client_secret: Option<String>,
        payment_url: Option<String>, failure: Option<PaymentFailure>,
        processor: Option<ProcessorName>, created_at: String, updated_at: String,
    }
    Refund {
        amount_cents: i64, paid_cents: i64,
    }
    TaskPayout {
        amount_cents: i64, paid_cents: i64, platform_fee_cents: i64,
    }
    PaymentFailure {
        code: String, message: String,
    }
    Dispute {
        task_id: String, statement: Option<String>, opened_at: String,
        developer_statement: Option<String>, developer_stated_at: Option<String>,
        decision: Option<Decision>, decided_at: Option<String>, note: Option<String>,
    }
    Proof {
        id: String, task_id: String, worker_id: String, attempt_number: i64, r#type: ProofType,
        file_url: Option<String>, content_type: String, file_size_bytes: i64,
        gps_latitude: Option<f64>, gps_longitude: Option<f64>, geo_valid: bool,
        distance_from_task_meters: Option<f64>, device_info: Map<String, Value>,
        status: ProofStatus, rejection_reason: Option<String>, reviewed_at: Option<String>,
        created_at: String,
    }
    ApprovedProof {
        id: String, status: ProofStatus, reviewed_at: String, task: CompletedTask,
    }
    RejectedProof {
        id: String, status: ProofStatus, rejection_reason: String, reviewed_at: String,
        task: RejectedTask,
    }
    SubmittedProofs {
        data: Vec<Proof>, task: SubmittedTask,
    }
    Evidence {
        proof_id: String, task_id: String, sha256: String, exif: Exif,
        device: Option<DeviceStatement>, received_at: String, findings: Vec<Finding>,
    }
    DeviceStatement {
        captured_at: String, clock_offset_ms: Option<i64>, source: CaptureSource,
        queued_offline: bool, fixes: Vec<DeviceFix>,
    }
    DeviceFix {
        latitude: f64, longitude: f64, accuracy_meters: Option<f64>, at: String,
        distance_meters: f64,
    }
    Exif {
        taken_at: Option<String>, latitude: Option<f64>, longitude: Option<f64>,
    }
    Finding {
        code: String, value: Option<f64>, unit: Option<String>, reason: String,
        proof_id: Option<String>, task_id: Option<String>,
    }
    Event {
        id: String, number: i64, event: EventType, data: Map<String, Value>, created_at: String,
    }
    EventTask {
        id: String, developer_id: String, title: String, description: String, category: Category,
        required_skills: Vec<Skill>, location_address: Option<String>, location_city: String,
        location_state: String, location_latitude: f64, location_longitude: f64, budget_cents: i64,
        platform_fee_cents: i64, worker_payout_cents: i64, priority: Priority, status: Status,
        environment: Environment, worker_id: Option<String>, deadline: Option<String>,
        max_proof_attempts: i64, proof_types: Vec<ProofType>, metadata: Map<String, Value>,
        assigned_at: Option<String>, started_at: Option<String>, completed_at: Option<String>,
        cancelled_at: Option<String>, created_at: String, updated_at: String,
    }
    EventProof {
        id: String, task_id: String, worker_id: String, attempt_number: i64, r#type: ProofType,
        content_type: String, file_size_bytes: i64, gps_latitude: Option<f64>,
        gps_longitude: Option<f64>, geo_valid: bool, distance_from_task_meters: Option<f64>,
        device_info: Map<String, Value>, status: ProofStatus, rejection_reason: Option<String>,
        reviewed_at: Option<String>, created_at: String,
    }
    EventWorker {
        id: String, skills: Vec<Skill>, verified_at: String,
    }
    Account {
        id: String, email: String, name: String, company: Option<String>, tier: Tier,
        status: AccountStatus, webhook_url: Option<String>, webhook_events: Vec<EventType>,
        tasks_this_month: i64, created_at: String, updated_at: String,
    }
    Usage {
        tier: Tier, tasks_this_month: i64, tasks_limit: i64, api_keys_count: i64,
    }
    Confirmation {
        email: String, confirmed: bool,
    }
    ApiKey {
        id: String, name: String, key_prefix: String, environment: Environment,
        last_used_at: Option<String>, revoked_at: Option<String>, created_at: String,
    }
    CreatedKey {
        id: String, name: String, key: String, key_prefix: String, environment: Environment,
        created_at: String,
    }
    RevokedKey {
        id: String, name: String, revoked_at: String,
    }
    Mandate {
        key_id: String, status: MandateStatus, permissions: Vec<Permission>, max_task_cents: Option<i64>,
        spending_limits: Vec<SpendingLimit>, max_open_tasks: Option<i64>,
        max_tasks_per_day: Option<i64>, categories: Vec<Category>, task_types: Vec<TaskType>,
        area: Option<Area>, states: Vec<String>, approval_above_cents: Option<i64>,
        review_up_to_cents: Option<i64>, expires_at: Option<String>, paused: bool,
        usage: Vec<MandateUse>, last_refused: Option<MandateRefusal>, version: i64,
        updated_at: String,
    }
    SpendingLimit { interval: Interval, cents: i64, }
    Area { latitude: f64, longitude: f64, radius_km: f64, }
    MandateUse {
        field: String, limit: i64, used: i64, left: i64, resets_at: Option<String>,
    }
    MandateRefusal { field: String, at: String, }
    LiftedMandate { key_id: String, lifted_at: String, }
    PutMandate {
        permissions: Vec<Permission>,
        #[serde(skip_serializing_if = "Option::is_none")] max_task_cents: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] spending_limits: Option<Vec<SpendingLimit>>,
        #[serde(skip_serializing_if = "Option::is_none")] max_open_tasks: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] max_tasks_per_day: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] categories: Option<Vec<Category>>,
        #[serde(skip_serializing_if = "Option::is_none")] task_types: Option<Vec<TaskType>>,
        #[serde(skip_serializing_if = "Option::is_none")] area: Option<Area>,
        #[serde(skip_serializing_if = "Option::is_none")] states: Option<Vec<String>>,
        #[serde(skip_serializing_if = "Option::is_none")] approval_above_cents: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] review_up_to_cents: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] expires_at: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] paused: Option<bool>,
    }
    Approval {
        task_id: String, status: ApprovalStatus, key_id: String, budget_cents: i64, url: String,
        expires_at: String, decided_by: Option<Actor>, decided_at: Option<String>,
        created_at: String,
    }
    LoggedRequest {
        id: String, method: String, path: String, status: i64, code: Option<String>, duration_us: i64,
        key_id: String, request_id: String, created_at: String,
    }
    AccountSecurity { test_keys_manage: TestKeysManage, }
    PaymentMethod {
        payment_method: Option<String>, processor: Option<ProcessorName>,
        updated_at: Option<String>,
    }
    Export {
        id: String, status: ExportStatus, files: Vec<ExportFile>, created_at: String,
        ready_at: Option<String>, expires_at: String,
    }
    ExportFile {
        size_bytes: i64, sha256: String, url: String,
    }
    WebhookState {
        webhook_url: Option<String>, webhook_events: Vec<EventType>, enabled: bool,
        failing_since: Option<String>, disabled_at: Option<String>,
        disabled_reason: Option<String>,
    }
    WebhookWithSecret {
        webhook_url: String, webhook_events: Vec<EventType>, webhook_secret: String,
    }
    TestDelivery {
        event: EventType, delivered: bool, status_code: Option<i64>, duration_ms: i64,
        error: Option<String>,
    }
    Delivery {
        id: String, event: EventType, task_id: Option<String>, status: DeliveryStatus,
        status_code: Option<i64>, attempts_count: i64, attempts: Option<Vec<DeliveryAttempt>>,
        payload: Option<DeliveryPayload>, next_attempt_at: Option<String>, created_at: String,
        updated_at: String,
    }
    DeliveryAttempt {
        attempted_at: String, status_code: Option<i64>, duration_ms: i64, error: Option<String>,
        response_body: Option<String>,
    }
    DeliveryPayload {
        event: EventType, data: Map<String, Value>,
    }
    RecoveredDeliveries {
        recovered: i64, more: bool,
    }
    TestClock {
        now: String, ahead_seconds: i64,
    }
    FieldError {
        field: String, message: String, limit: Option<i64>, used: Option<i64>, left: Option<i64>,
    }
    CreateTask {
        title: String, description: String,
        #[serde(skip_serializing_if = "Option::is_none")] instructions: Option<String>,
        category: Category,
        #[serde(skip_serializing_if = "Option::is_none")] required_skills: Option<Vec<Skill>>,
        location: Location, budget_cents: i64,
        #[serde(skip_serializing_if = "Option::is_none")] task_type: Option<TaskType>,
        #[serde(skip_serializing_if = "Option::is_none")] priority: Option<Priority>,
        #[serde(skip_serializing_if = "Option::is_none")] deadline: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] proof_types: Option<Vec<ProofType>>,
        #[serde(skip_serializing_if = "Option::is_none")] metadata: Option<Map<String, Value>>,
    }
    Location {
        #[serde(skip_serializing_if = "Option::is_none")] address: Option<String>,
        city: String, state: String, latitude: f64, longitude: f64,
    }
    UpdateTask {
        #[serde(skip_serializing_if = "Option::is_none")] title: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] description: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")] instructions: Option<Option<String>>,
        #[serde(skip_serializing_if = "Option::is_none")] deadline: Option<Option<String>>,
    }
    CreateKey {
        name: String, environment: Environment,
        #[serde(skip_serializing_if = "Option::is_none")] mandate: Option<PutMandate>,
    }
    PutWebhook {
        url: String,
        #[serde(skip_serializing_if = "Option::is_none")] events: Option<Vec<EventType>>,
    }
    SimulateProof {
        #[serde(skip_serializing_if = "Option::is_none")] gps_latitude: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")] gps_longitude: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")] types: Option<Vec<ProofType>>,
    }
    AdvanceClock {
        #[serde(skip_serializing_if = "Option::is_none")] advance_seconds: Option<i64>,
        #[serde(skip_serializing_if = "Option::is_none")] at: Option<String>,
    }
}

macro_rules! filters {
    ($($(#[$about:meta])* $name:ident { $($(#[$what:meta])* $field:ident: $type:ty,)* })*) => {
        /// The parameters of each filter.
        pub const FILTERS: &[(&str, &[&str])] =
            &[$((stringify!($name), &[$(stringify!($field)),*])),*];
        $(
            $(#[$about])*
            #[derive(Debug, Clone, Default, Serialize)]
            pub struct $name { $($(#[$what])* pub $field: Option<$type>,)* }
        )*
    };
}

filters! {
    /// What the list of tasks is narrowed to. `limit` is the size of a page, at most 100.
    TaskFilter { status: Status, limit: i64, offset: i64, }
    /// What is searched for among tasks. `q` is words of the title and the place, `metadata` your own
    /// references.
    TaskSearch {
        q: String, category: Category, status: Vec<Status>, created_from: String,
        created_to: String, metadata: BTreeMap<String, String>, limit: i64, cursor: String,
    }
    /// What the list of events is narrowed to.
    EventFilter { r#type: EventType, task_id: String, limit: i64, cursor: String, }
    /// What the list of approvals is narrowed to.
    ApprovalFilter { status: ApprovalStatus, limit: i64, cursor: String, }
    /// What the log is narrowed to.
    LogFilter { failed: bool, key_id: String, limit: i64, cursor: String, }
    /// What the list of deliveries is narrowed to.
    DeliveryFilter { status: DeliveryStatus, event: EventType, limit: i64, offset: i64, }
    /// The size of a page, and where it begins.
    Page { limit: i64, offset: i64, }
}

impl CreateTask {
    /// A task of the category `other`, in the middle of nowhere, for nothing: set at least
    /// [`category`](Self::category), [`location`](Self::location) and [`budget_cents`](Self::budget_cents).
    pub fn new(title: &str, description: &str) -> Self {
        Self {
            title: title.to_owned(),
            description: description.to_owned(),
            instructions: None,
            category: Category::Other,
            required_skills: None,
            location: Location::new("", "", 0.0, 0.0),
            budget_cents: 0,
            task_type: None,
            priority: None,
            deadline: None,
            proof_types: None,
            metadata: None,
        }
    }

    pub fn category(self, category: Category) -> Self {
        Self { category, ..self }
    }

    pub fn location(self, location: Location) -> Self {
        Self { location, ..self }
    }

    pub fn budget_cents(self, budget_cents: i64) -> Self {
        Self {
            budget_cents,
            ..self
        }
    }
}

impl Location {
    pub fn new(city: &str, state: &str, latitude: f64, longitude: f64) -> Self {
        let (city, state) = (city.to_owned(), state.to_owned());
        Self {
            address: None,
            city,
            state,
            latitude,
            longitude,
        }
    }
}

impl Deref for CreatedTask {
    type Target = Task;

    fn deref(&self) -> &Task {
        &self.task
    }
}

impl Deref for FoundTask {
    type Target = TaskSummary;

    fn deref(&self) -> &TaskSummary {
        &self.task
    }
}

impl Event {
    /// The task right after the event, if the event is about one.
    pub fn task(&self) -> Option<EventTask> {
        self.event
            .as_str()
            .starts_with("task.")
            .then(|| read(&self.data))?
    }

    /// The proof that `task.proof_submitted` and `task.proof_rejected` carry.
    pub fn proof(&self) -> Option<EventProof> {
        self.data
            .get("proof")
            .cloned()
            .and_then(|proof| serde_json::from_value(proof).ok())
    }

    /// The worker of `worker.verified`.
    pub fn worker(&self) -> Option<EventWorker> {
        (self.event == EventType::WorkerVerified).then(|| read(&self.data))?
    }
}

fn read<T: serde::de::DeserializeOwned>(data: &Map<String, Value>) -> Option<T> {
    serde_json::from_value(Value::Object(data.clone())).ok()
}
