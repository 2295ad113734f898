//! The words of the interface. A word that this version does not know is `Unknown`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

macro_rules! words {
    ($($name:ident { $($variant:ident = $text:literal,)* })*) => {
        /// Each list of words by its name.
        pub const WORDS: &[(&str, &[&str])] = &[$((stringify!($name), $name::ALL)),*];
        $(
            #[derive(Debug, Clone, PartialEq, Eq, Hash)]
            pub enum $name { $($variant,)* Unknown(String) }

            impl $name {
                pub const ALL: &[&str] = &[$($text),*];

                pub fn as_str(&self) -> &str {
                    match self { $(Self::$variant => $text,)* Self::Unknown(text) => text }
                }
            }

            impl From<&str> for $name {
                fn from(text: &str) -> Self {
                    match text { $($text => Self::$variant,)* _ => Self::Unknown(text.to_owned()) }
                }
            }

            impl fmt::Display for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.pad(self.as_str())
                }
            }

            impl Serialize for $name {
                fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                    to.serialize_str(self.as_str())
                }
            }

            impl<'de> Deserialize<'de> for $name {
                fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                    Ok(Self::from(String::deserialize(from)?.as_str()))
                }
            }
        )*
    };
}

words! {
    Status {
        Pending = "pending", Funded = "funded", Posted = "posted", Assigned = "assigned",
        InProgress = "in_progress", ProofSubmitted = "proof_submitted",
        ProofRejected = "proof_rejected", Completed = "completed", Cancelled = "cancelled",
        Expired = "expired", Disputed = "disputed", Refunded = "refunded",
    }
    Category {
        Photography = "photography", Inspection = "inspection", Delivery = "delivery",
        DataCollection = "data_collection", MysteryShopping = "mystery_shopping",
        Installation = "installation", Assembly = "assembly", Cleaning = "cleaning",
        Survey = "survey", RetailAudit = "retail_audit", Event = "event", Notary = "notary",
        Other = "other",
    }
    Skill {
        Photography = "photography", DataCollection = "data_collection",
        MysteryShopping = "mystery_shopping", Delivery = "delivery", Inspection = "inspection",
        Installation = "installation", Assembly = "assembly", Cleaning = "cleaning",
        Driving = "driving", SpanishSpeaking = "spanish_speaking",
        MandarinSpeaking = "mandarin_speaking", DataEntry = "data_entry",
        SignagePlacement = "signage_placement", FlyerDistribution = "flyer_distribution",
        SurveyTaking = "survey_taking", RetailAudit = "retail_audit",
        PriceChecking = "price_checking", InventoryCount = "inventory_count",
        WindowDisplay = "window_display", ProductDemo = "product_demo",
        EventStaffing = "event_staffing", Notary = "notary",
        SignatureCollection = "signature_collection",
    }
    Priority {
        Normal = "normal", Urgent = "urgent",
    }
    TaskType {
        Standard = "standard", Bounty = "bounty",
    }
    ProofType {
        Photo = "photo", Video = "video", Signature = "signature",
    }
    ProofStatus {
        Pending = "pending", Approved = "approved", Rejected = "rejected",
    }
    CaptureSource {
        Camera = "camera", Picker = "picker",
    }
    Environment {
        Live = "live", Test = "test",
    }
    EventType {
        TaskCreated = "task.created", TaskFunded = "task.funded", TaskPosted = "task.posted",
        TaskAssigned = "task.assigned", TaskStarted = "task.started",
        TaskProofSubmitted = "task.proof_submitted", TaskCompleted = "task.completed",
        TaskProofRejected = "task.proof_rejected", TaskCancelled = "task.cancelled",
        TaskExpired = "task.expired", TaskDisputed = "task.disputed",
        TaskRefunded = "task.refunded", TaskPaymentFailed = "task.payment_failed",
        TaskRefundPaid = "task.refund_paid", TaskApprovalRequired = "task.approval_required",
        WorkerVerified = "worker.verified",
    }
    Tier {
        Free = "free", Growth = "growth", Pro = "pro", Enterprise = "enterprise",
    }
    AccountStatus {
        Active = "active", Suspended = "suspended", Deleted = "deleted",
    }
    ActorKind {
        Developer = "developer", Worker = "worker", SimulatedWorker = "simulated_worker",
        Admin = "admin", Clock = "clock", Processor = "processor", CommandLine = "command_line",
        Service = "service",
    }
    PaymentStatus {
        NotRequired = "not_required", Processing = "processing",
        RequiresPayment = "requires_payment", Succeeded = "succeeded", Cancelled = "cancelled",
    }
    ProcessorName {
        Sandbox = "sandbox", Stripe = "stripe",
    }
    DeliveryStatus {
        Pending = "pending", Delivered = "delivered", Failed = "failed",
    }
    ExportStatus {
        Preparing = "preparing", Ready = "ready", Failed = "failed",
    }
    Decision {
        Pay = "pay", Refund = "refund", Split = "split",
    }
    LedgerAccount {
        Processor = "processor", Escrow = "escrow", WorkerBalance = "worker_balance",
        PlatformFees = "platform_fees", DeveloperRefunds = "developer_refunds",
    }
    Step {
        Payment = "payment", Settlement = "settlement", Refund = "refund",
        RefundFailed = "refund_failed", RefundRetry = "refund_retry",
        RefundRetryFailed = "refund_retry_failed", Transfer = "transfer",
        TransferReversed = "transfer_reversed", TransferRetry = "transfer_retry",
        TransferRetryReversed = "transfer_retry_reversed", WriteOff = "write_off",
        RefundSettled = "refund_settled", DisputeLost = "dispute_lost",
        DisputeLostAgain = "dispute_lost_again",
        RefundOffset = "refund_offset",
    }
    QuoteVerdict {
        Allowed = "allowed", ApprovalRequired = "approval_required", Denied = "denied",
    }
    WorkersNearby {
        Nobody = "0", Few = "1-5", Some = "6-20", Many = "20+",
    }
    Permission {
        Read = "read", Create = "create", Review = "review", Cancel = "cancel", Test = "test",
    }
    MandateStatus {
        Active = "active", Paused = "paused", Expired = "expired",
    }
    ApprovalStatus {
        Waiting = "waiting", Approved = "approved", Refused = "refused", Expired = "expired",
        Cancelled = "cancelled",
    }
    TestKeysManage {
        All = "all", Test = "test",
    }
    Interval {
        Day = "day", Month = "month", Total = "total",
    }
    ErrorCode {
        MandateExceeded = "MANDATE_EXCEEDED",
        MandateExpired = "MANDATE_EXPIRED",
        MandatePaused = "MANDATE_PAUSED",
        PermissionDenied = "PERMISSION_DENIED",
        ApprovalDecided = "APPROVAL_DECIDED",
        ApprovalNotFound = "APPROVAL_NOT_FOUND",
        MandateNotFound = "MANDATE_NOT_FOUND",
        LastUnlimitedKey = "LAST_UNLIMITED_KEY",
        ValidationError = "VALIDATION_ERROR", Unauthorized = "UNAUTHORIZED",
        InvalidCode = "INVALID_CODE", InvalidCredentials = "INVALID_CREDENTIALS",
        SecondFactorRequired = "SECOND_FACTOR_REQUIRED", AccountSuspended = "ACCOUNT_SUSPENDED",
        EmailNotConfirmed = "EMAIL_NOT_CONFIRMED", Forbidden = "FORBIDDEN",
        KeyInBrowser = "KEY_IN_BROWSER", SecondFactorNotSetUp = "SECOND_FACTOR_NOT_SET_UP",
        SignInAgain = "SIGN_IN_AGAIN", TaskLimitExceeded = "TASK_LIMIT_EXCEEDED",
        TestModeOnly = "TEST_MODE_ONLY", UrlExpired = "URL_EXPIRED", UrlInvalid = "URL_INVALID",
        WorkerNotEligible = "WORKER_NOT_ELIGIBLE", AccountNotFound = "ACCOUNT_NOT_FOUND",
        DeliveryNotFound = "DELIVERY_NOT_FOUND", DisputeNotFound = "DISPUTE_NOT_FOUND",
        ItemNotFound = "ITEM_NOT_FOUND", JobNotFound = "JOB_NOT_FOUND",
        KeyNotFound = "KEY_NOT_FOUND", NotFound = "NOT_FOUND",
        NotificationNotFound = "NOTIFICATION_NOT_FOUND", ProofNotFound = "PROOF_NOT_FOUND", QuoteNotFound = "QUOTE_NOT_FOUND",
        ProposalNotFound = "PROPOSAL_NOT_FOUND", SessionNotFound = "SESSION_NOT_FOUND",
        TaskNotFound = "TASK_NOT_FOUND", WorkerNotFound = "WORKER_NOT_FOUND",
        MethodNotAllowed = "METHOD_NOT_ALLOWED", RequestTimeout = "REQUEST_TIMEOUT",
        EmailTaken = "EMAIL_TAKEN", ExportUnderWay = "EXPORT_UNDER_WAY",
        IdempotencyInFlight = "IDEMPOTENCY_IN_FLIGHT",
        InvalidAccountState = "INVALID_ACCOUNT_STATE", InvalidTaskState = "INVALID_TASK_STATE",
        InvalidWorkerState = "INVALID_WORKER_STATE", ItemClaimed = "ITEM_CLAIMED",
        ItemClosed = "ITEM_CLOSED", ItemNeedsDecision = "ITEM_NEEDS_DECISION",
        LastKey = "LAST_KEY", LastOwnerKey = "LAST_OWNER_KEY",
        PayoutNotFailed = "PAYOUT_NOT_FAILED", ProposalPending = "PROPOSAL_PENDING",
        RefundDiffers = "REFUND_DIFFERS", RefundNotFailed = "REFUND_NOT_FAILED",
        RotatedRecently = "ROTATED_RECENTLY",
        SecondFactorOff = "SECOND_FACTOR_OFF", SecondFactorOn = "SECOND_FACTOR_ON",
        StorageFull = "STORAGE_FULL", TasksOpen = "TASKS_OPEN", TooManyKeys = "TOO_MANY_KEYS",
        WebhookDisabled = "WEBHOOK_DISABLED", WebhookNotConfigured = "WEBHOOK_NOT_CONFIGURED",
        LinkExpired = "LINK_EXPIRED", QuoteExpired = "QUOTE_EXPIRED", FileTooLarge = "FILE_TOO_LARGE",
        PayloadTooLarge = "PAYLOAD_TOO_LARGE", IdempotencyMismatch = "IDEMPOTENCY_MISMATCH",
        RateLimited = "RATE_LIMITED", TooManyExports = "TOO_MANY_EXPORTS", TooManyQuotes = "TOO_MANY_QUOTES", Internal = "INTERNAL",
        UploadNotFound = "UPLOAD_NOT_FOUND", OffsetMismatch = "OFFSET_MISMATCH",
        UploadIncomplete = "UPLOAD_INCOMPLETE", UploadGone = "UPLOAD_GONE",
        TusVersionUnsupported = "TUS_VERSION_UNSUPPORTED", UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE",
        TooManyUploads = "TOO_MANY_UPLOADS", ChecksumMismatch = "CHECKSUM_MISMATCH",
        PaymentUnavailable = "PAYMENT_UNAVAILABLE", Unavailable = "UNAVAILABLE",
    }
}
