"""The objects of the interface. docs/reference says what their fields mean. Times are as the API writes
them (`2026-11-15T09:30:00.123Z`), amounts are in cents. A word that is not listed here may come from a
newer server; fields that are not are ignored."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, NotRequired, Required, Self, TypedDict, Union, get_args, get_origin, get_type_hints

Status = Literal[
    "pending", "funded", "posted", "assigned", "in_progress", "proof_submitted", "proof_rejected",
    "completed", "cancelled", "expired", "disputed", "refunded",
]
#: A task that has one of these keeps it.
FINAL_STATUSES: tuple[Status, ...] = ("completed", "cancelled", "expired", "refunded")
Category = Literal[
    "photography", "inspection", "delivery", "data_collection", "mystery_shopping", "installation",
    "assembly", "cleaning", "survey", "retail_audit", "event", "notary", "other",
]
Skill = Literal[
    "photography", "data_collection", "mystery_shopping", "delivery", "inspection", "installation",
    "assembly", "cleaning", "driving", "spanish_speaking", "mandarin_speaking", "data_entry",
    "signage_placement", "flyer_distribution", "survey_taking", "retail_audit", "price_checking",
    "inventory_count", "window_display", "product_demo", "event_staffing", "notary",
    "signature_collection",
]
Priority = Literal[
    "normal", "urgent",
]
TaskType = Literal[
    "standard", "bounty",
]
ProofType = Literal[
    "photo", "video", "signature",
]
ProofStatus = Literal[
    "pending", "approved", "rejected",
]
Environment = Literal[
    "live", "test",
]
EventType = Literal[
    "task.created", "task.funded", "task.posted", "task.assigned", "task.started",
    "task.proof_submitted", "task.completed", "task.proof_rejected", "task.cancelled",
    "task.expired", "task.disputed", "task.refunded", "task.payment_failed", "task.refund_paid", "task.approval_required",
    "worker.verified",
]
Tier = Literal[
    "free", "growth", "pro", "enterprise",
]
AccountStatus = Literal[
    "active", "suspended", "deleted",
]
ActorKind = Literal[
    "developer", "worker", "simulated_worker", "admin", "clock", "processor", "command_line",
    "service",
]
PaymentStatus = Literal[
    "not_required", "processing", "requires_payment", "succeeded", "cancelled",
]
ProcessorName = Literal[
    "sandbox", "stripe",
]
DeliveryStatus = Literal[
    "pending", "delivered", "failed",
]
ExportStatus = Literal[
    "preparing", "ready", "failed",
]
Decision = Literal[
    "pay", "refund", "split",
]
LedgerAccount = Literal[
    "processor", "escrow", "worker_balance", "platform_fees", "developer_refunds",
]
Step = Literal[
    "payment", "settlement", "refund", "refund_failed", "refund_retry", "refund_retry_failed",
    "transfer", "transfer_reversed", "transfer_retry", "transfer_retry_reversed", "write_off",
    "refund_settled", "dispute_lost", "dispute_lost_again", "refund_offset",
]
QuoteVerdict = Literal["allowed", "approval_required", "denied"]
WorkersNearby = Literal["0", "1-5", "6-20", "20+"]
Permission = Literal["read", "create", "review", "cancel", "test"]
MandateStatus = Literal["active", "paused", "expired"]
ApprovalStatus = Literal["waiting", "approved", "refused", "expired", "cancelled"]
TestKeysManage = Literal["all", "test"]
CaptureSource = Literal["camera", "picker"]
Interval = Literal["day", "month", "total"]
ErrorCode = Literal[
    "MANDATE_EXCEEDED", "MANDATE_EXPIRED", "MANDATE_PAUSED", "PERMISSION_DENIED", "MANDATE_NOT_FOUND", "APPROVAL_DECIDED", "APPROVAL_NOT_FOUND", "LAST_UNLIMITED_KEY",
    "VALIDATION_ERROR", "UNAUTHORIZED", "INVALID_CODE", "INVALID_CREDENTIALS",
    "SECOND_FACTOR_REQUIRED", "ACCOUNT_SUSPENDED", "EMAIL_NOT_CONFIRMED", "FORBIDDEN",
    "KEY_IN_BROWSER", "SECOND_FACTOR_NOT_SET_UP", "SIGN_IN_AGAIN", "TASK_LIMIT_EXCEEDED",
    "TEST_MODE_ONLY", "URL_EXPIRED", "URL_INVALID", "WORKER_NOT_ELIGIBLE", "ACCOUNT_NOT_FOUND",
    "DELIVERY_NOT_FOUND", "DISPUTE_NOT_FOUND", "ITEM_NOT_FOUND", "JOB_NOT_FOUND", "KEY_NOT_FOUND",
    "NOT_FOUND", "NOTIFICATION_NOT_FOUND", "PROOF_NOT_FOUND", "QUOTE_NOT_FOUND", "PROPOSAL_NOT_FOUND",
    "SESSION_NOT_FOUND", "TASK_NOT_FOUND", "WORKER_NOT_FOUND", "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT", "EMAIL_TAKEN", "EXPORT_UNDER_WAY", "IDEMPOTENCY_IN_FLIGHT",
    "INVALID_ACCOUNT_STATE", "INVALID_TASK_STATE", "INVALID_WORKER_STATE", "ITEM_CLAIMED",
    "ITEM_CLOSED", "ITEM_NEEDS_DECISION", "LAST_KEY", "LAST_OWNER_KEY", "PAYOUT_NOT_FAILED",
    "PROPOSAL_PENDING", "REFUND_DIFFERS", "REFUND_NOT_FAILED", "ROTATED_RECENTLY", "SECOND_FACTOR_OFF",
    "SECOND_FACTOR_ON", "STORAGE_FULL", "TASKS_OPEN", "TOO_MANY_KEYS", "WEBHOOK_DISABLED",
    "WEBHOOK_NOT_CONFIGURED", "LINK_EXPIRED", "QUOTE_EXPIRED", "FILE_TOO_LARGE", "PAYLOAD_TOO_LARGE",
    "IDEMPOTENCY_MISMATCH", "RATE_LIMITED", "TOO_MANY_EXPORTS", "TOO_MANY_QUOTES", "INTERNAL", "PAYMENT_UNAVAILABLE",
    "UPLOAD_NOT_FOUND", "OFFSET_MISMATCH", "UPLOAD_INCOMPLETE", "UPLOAD_GONE",
    "TUS_VERSION_UNSUPPORTED", "UNSUPPORTED_MEDIA_TYPE", "TOO_MANY_UPLOADS", "CHECKSUM_MISMATCH",
    "UNAVAILABLE",
]


class Object:
    """What the API answers."""

    @classmethod
    def read(cls, given: dict[str, Any]) -> Self:
        # `from` is a word of Python: the field is `from_`.
        hints = _hints(cls)
        return cls(**{name: _read(hint, given.get(name.rstrip("_"))) for name, hint in hints.items()})

    @classmethod
    def is_in(cls, given: Any) -> bool:
        """Whether this is such an object: it has what one never lacks."""
        hints = {name.rstrip("_"): hint for name, hint in _hints(cls).items()}
        has_some = isinstance(given, dict) and any(name in given for name in hints)
        return has_some and all(given.get(name) is not None for name, hint in hints.items() if not _may_lack(hint))


_known: dict[type[Object], dict[str, Any]] = {}


def _hints(cls: type[Object]) -> dict[str, Any]:
    if cls not in _known:
        hints = get_type_hints(cls)
        _known[cls] = {field.name: hints[field.name] for field in fields(cls)}  # type: ignore[arg-type]
    return _known[cls]


def _may_lack(hint: Any) -> bool:
    return hint is Any or types.NoneType in get_args(hint)


def _read(hint: Any, given: Any) -> Any:
    if given is None:
        return None
    if get_origin(hint) in (Union, types.UnionType):
        hint = next(each for each in get_args(hint) if each is not types.NoneType)
    if get_origin(hint) is list:
        return [_read(get_args(hint)[0], each) for each in given]
    if isinstance(hint, type) and issubclass(hint, Object):
        return hint.read(given)
    return given


@dataclass(frozen=True, kw_only=True)
class Task(Object):
    id: str
    developer_id: str
    title: str
    description: str
    instructions: str | None
    category: Category
    required_skills: list[Skill]
    location_address: str | None
    location_city: str
    location_state: str
    location_latitude: float
    location_longitude: float
    budget_cents: int
    platform_fee_cents: int
    worker_payout_cents: int
    priority: Priority
    status: Status
    environment: Environment
    worker_id: str | None
    deadline: str | None
    max_proof_attempts: int
    proof_types: list[ProofType]
    metadata: dict[str, Any]
    assigned_at: str | None
    started_at: str | None
    completed_at: str | None
    cancelled_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class CreatedTask(Task):
    payment_client_secret: str | None = None


@dataclass(frozen=True, kw_only=True)
class TaskSummary(Object):
    id: str
    title: str
    status: Status
    category: Category
    budget_cents: int
    location_city: str
    location_state: str
    priority: Priority
    worker_id: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class FoundTask(TaskSummary):
    metadata: dict[str, Any]
    deadline: str | None
    environment: Environment


@dataclass(frozen=True, kw_only=True)
class CreatedItem(Object):
    status: int
    task: CreatedTask | None = None
    error: ErrorContent | None = None


@dataclass(frozen=True, kw_only=True)
class CreatedTasks(Object):
    data: list[CreatedItem]


@dataclass(frozen=True, kw_only=True)
class ErrorContent(Object):
    code: ErrorCode
    message: str
    request_id: str
    details: Any = None


@dataclass(frozen=True, kw_only=True)
class Quote(Object):
    id: str
    budget_cents: int
    platform_fee_cents: int
    worker_payout_cents: int
    mandate: MandateOfQuote
    coverage: Coverage
    expires_at: str


@dataclass(frozen=True, kw_only=True)
class MandateOfQuote(Object):
    verdict: QuoteVerdict
    reasons: list[str]
    left: list[MandateUse] | None


@dataclass(frozen=True, kw_only=True)
class Coverage(Object):
    workers: WorkersNearby
    hours_to_accept: HoursToAccept | None
    suggested_budget_cents: int | None


@dataclass(frozen=True, kw_only=True)
class HoursToAccept(Object):
    p50: int
    p90: int


@dataclass(frozen=True, kw_only=True)
class CancelledTask(Object):
    id: str
    status: Status
    cancelled_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class CompletedTask(Object):
    id: str
    status: Status
    completed_at: str


@dataclass(frozen=True, kw_only=True)
class RejectedTask(Object):
    id: str
    status: Status
    attempts_remaining: int


@dataclass(frozen=True, kw_only=True)
class SubmittedTask(Object):
    id: str
    status: Status
    attempt_number: int


@dataclass(frozen=True, kw_only=True)
class Actor(Object):
    type: ActorKind
    id: str | None


@dataclass(frozen=True, kw_only=True)
class HistoryEntry(Object):
    from_: Status | None
    to: Status
    by: Actor
    reason: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class Posting(Object):
    account: LedgerAccount
    amount_cents: int


@dataclass(frozen=True, kw_only=True)
class LedgerEntry(Object):
    task_id: str
    type: Step
    postings: list[Posting]
    created_at: str


@dataclass(frozen=True, kw_only=True)
class Payment(Object):
    task_id: str
    status: PaymentStatus
    amount_cents: int
    escrow_cents: int
    refunded_cents: int
    refund_pending_cents: int
    refund: Refund | None
    payout: TaskPayout | None
    payment_client_secret: str | None
    payment_url: str | None
    failure: PaymentFailure | None
    processor: ProcessorName | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class Refund(Object):
    amount_cents: int
    paid_cents: int


@dataclass(frozen=True, kw_only=True)
class TaskPayout(Object):
    amount_cents: int
    paid_cents: int
    platform_fee_cents: int


@dataclass(frozen=True, kw_only=True)
class PaymentFailure(Object):
    code: str
    message: str


@dataclass(frozen=True, kw_only=True)
class Dispute(Object):
    task_id: str
    statement: str | None
    opened_at: str
    developer_statement: str | None
    developer_stated_at: str | None
    decision: Decision | None
    decided_at: str | None
    note: str | None


@dataclass(frozen=True, kw_only=True)
class Proof(Object):
    id: str
    task_id: str
    worker_id: str
    attempt_number: int
    type: ProofType
    file_url: str | None
    content_type: str
    file_size_bytes: int
    gps_latitude: float | None
    gps_longitude: float | None
    geo_valid: bool
    distance_from_task_meters: float | None
    device_info: dict[str, Any]
    status: ProofStatus
    rejection_reason: str | None
    reviewed_at: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class ApprovedProof(Object):
    id: str
    status: ProofStatus
    reviewed_at: str
    task: CompletedTask


@dataclass(frozen=True, kw_only=True)
class RejectedProof(Object):
    id: str
    status: ProofStatus
    rejection_reason: str
    reviewed_at: str
    task: RejectedTask


@dataclass(frozen=True, kw_only=True)
class SubmittedProofs(Object):
    data: list[Proof]
    task: SubmittedTask


@dataclass(frozen=True, kw_only=True)
class Evidence(Object):
    proof_id: str
    task_id: str
    sha256: str
    exif: Exif
    device: DeviceStatement | None
    received_at: str
    findings: list[Finding]


@dataclass(frozen=True, kw_only=True)
class DeviceStatement(Object):
    """What the worker's device says about how the file was made. Nobody has checked it."""

    captured_at: str
    clock_offset_ms: int | None
    source: CaptureSource
    queued_offline: bool
    fixes: list[DeviceFix]


@dataclass(frozen=True, kw_only=True)
class DeviceFix(Object):
    latitude: float
    longitude: float
    accuracy_meters: float | None
    at: str
    distance_meters: float


@dataclass(frozen=True, kw_only=True)
class Exif(Object):
    taken_at: str | None
    latitude: float | None
    longitude: float | None


@dataclass(frozen=True, kw_only=True)
class Finding(Object):
    code: str
    value: float | None
    unit: str | None
    reason: str
    proof_id: str | None
    task_id: str | None


@dataclass(frozen=True, kw_only=True)
class Happening(Object):
    """What events of the list, of the stream and of webhooks share."""

    event: EventType
    data: dict[str, Any]

    @property
    def task(self) -> EventTask | None:
        """The task right after the event, if the event is about one."""
        return EventTask.read(self.data) if self.event.startswith("task.") else None

    @property
    def proof(self) -> EventProof | None:
        """The proof that `task.proof_submitted` and `task.proof_rejected` carry."""
        return EventProof.read(self.data["proof"]) if "proof" in self.data else None

    @property
    def worker(self) -> EventWorker | None:
        """The worker of `worker.verified`."""
        return EventWorker.read(self.data) if self.event == "worker.verified" else None


@dataclass(frozen=True, kw_only=True)
class Event(Happening):
    id: str
    number: int
    created_at: str


@dataclass(frozen=True, kw_only=True)
class EventTask(Object):
    id: str
    developer_id: str
    title: str
    description: str
    category: Category
    required_skills: list[Skill]
    location_address: str | None
    location_city: str
    location_state: str
    location_latitude: float
    location_longitude: float
    budget_cents: int
    platform_fee_cents: int
    worker_payout_cents: int
    priority: Priority
    status: Status
    environment: Environment
    worker_id: str | None
    deadline: str | None
    max_proof_attempts: int
    proof_types: list[ProofType]
    metadata: dict[str, Any]
    assigned_at: str | None
    started_at: str | None
    completed_at: str | None
    cancelled_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class EventProof(Object):
    id: str
    task_id: str
    worker_id: str
    attempt_number: int
    type: ProofType
    content_type: str
    file_size_bytes: int
    gps_latitude: float | None
    gps_longitude: float | None
    geo_valid: bool
    distance_from_task_meters: float | None
    device_info: dict[str, Any]
    status: ProofStatus
    rejection_reason: str | None
    reviewed_at: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class EventWorker(Object):
    id: str
    skills: list[Skill]
    verified_at: str


@dataclass(frozen=True, kw_only=True)
class Account(Object):
    id: str
    email: str
    name: str
    company: str | None
    tier: Tier
    status: AccountStatus
    webhook_url: str | None
    webhook_events: list[EventType]
    tasks_this_month: int
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class Usage(Object):
    tier: Tier
    tasks_this_month: int
    tasks_limit: int
    api_keys_count: int


@dataclass(frozen=True, kw_only=True)
class Confirmation(Object):
    email: str
    confirmed: bool


@dataclass(frozen=True, kw_only=True)
class ApiKey(Object):
    id: str
    name: str
    key_prefix: str
    environment: Environment
    last_used_at: str | None
    revoked_at: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class CreatedKey(Object):
    id: str
    name: str
    key: str
    key_prefix: str
    environment: Environment
    created_at: str


@dataclass(frozen=True, kw_only=True)
class RevokedKey(Object):
    id: str
    name: str
    revoked_at: str


@dataclass(frozen=True, kw_only=True)
class Mandate(Object):
    key_id: str
    status: MandateStatus
    permissions: list[Permission]
    max_task_cents: int | None
    spending_limits: list[SpendingLimit]
    max_open_tasks: int | None
    max_tasks_per_day: int | None
    categories: list[Category]
    task_types: list[TaskType]
    area: Area | None
    states: list[str]
    approval_above_cents: int | None
    review_up_to_cents: int | None
    expires_at: str | None
    paused: bool
    usage: list[MandateUse]
    last_refused: MandateRefusal | None
    version: int
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class SpendingLimit(Object):
    interval: Interval
    cents: int


@dataclass(frozen=True, kw_only=True)
class Area(Object):
    latitude: float
    longitude: float
    radius_km: float


@dataclass(frozen=True, kw_only=True)
class MandateUse(Object):
    field: str
    limit: int
    used: int
    left: int
    resets_at: str | None


@dataclass(frozen=True, kw_only=True)
class MandateRefusal(Object):
    field: str
    at: str


@dataclass(frozen=True, kw_only=True)
class LiftedMandate(Object):
    key_id: str
    lifted_at: str


@dataclass(frozen=True, kw_only=True)
class Approval(Object):
    task_id: str
    status: ApprovalStatus
    key_id: str
    budget_cents: int
    url: str
    expires_at: str
    decided_by: Actor | None
    decided_at: str | None
    created_at: str


@dataclass(frozen=True, kw_only=True)
class LoggedRequest(Object):
    id: str
    method: str
    path: str
    status: int
    code: str | None
    duration_us: int
    key_id: str
    request_id: str
    created_at: str


@dataclass(frozen=True, kw_only=True)
class AccountSecurity(Object):
    test_keys_manage: TestKeysManage


@dataclass(frozen=True, kw_only=True)
class PaymentMethod(Object):
    payment_method: str | None
    processor: ProcessorName | None
    updated_at: str | None


@dataclass(frozen=True, kw_only=True)
class Export(Object):
    id: str
    status: ExportStatus
    files: list[ExportFile]
    created_at: str
    ready_at: str | None
    expires_at: str


@dataclass(frozen=True, kw_only=True)
class ExportFile(Object):
    size_bytes: int
    sha256: str
    url: str


@dataclass(frozen=True, kw_only=True)
class WebhookState(Object):
    webhook_url: str | None
    webhook_events: list[EventType]
    enabled: bool
    failing_since: str | None
    disabled_at: str | None
    disabled_reason: str | None


@dataclass(frozen=True, kw_only=True)
class WebhookWithSecret(Object):
    webhook_url: str
    webhook_events: list[EventType]
    webhook_secret: str


@dataclass(frozen=True, kw_only=True)
class TestDelivery(Object):
    event: EventType
    delivered: bool
    status_code: int | None
    duration_ms: int
    error: str | None


@dataclass(frozen=True, kw_only=True)
class Delivery(Object):
    id: str
    event: EventType
    task_id: str | None
    status: DeliveryStatus
    status_code: int | None
    attempts_count: int
    attempts: list[DeliveryAttempt] | None = None
    payload: DeliveryPayload | None = None
    next_attempt_at: str | None
    created_at: str
    updated_at: str


@dataclass(frozen=True, kw_only=True)
class DeliveryAttempt(Object):
    attempted_at: str
    status_code: int | None
    duration_ms: int
    error: str | None
    response_body: str | None


@dataclass(frozen=True, kw_only=True)
class DeliveryPayload(Happening):
    """The body of a delivery."""


@dataclass(frozen=True, kw_only=True)
class RecoveredDeliveries(Object):
    recovered: int
    more: bool


@dataclass(frozen=True, kw_only=True)
class TestClock(Object):
    now: str
    ahead_seconds: int


@dataclass(frozen=True, kw_only=True)
class FieldError(Object):
    field: str
    message: str
    limit: int | None = None
    used: int | None = None
    left: int | None = None


class Location(TypedDict):
    address: NotRequired[str | None]
    city: str
    state: str
    latitude: float
    longitude: float


class CreateTask(TypedDict, total=False):
    title: Required[str]
    description: Required[str]
    instructions: str | None
    category: Required[Category]
    required_skills: list[Skill] | None
    location: Required[Location]
    budget_cents: Required[int]
    task_type: TaskType | None
    priority: Priority | None
    deadline: str | None
    proof_types: list[ProofType] | None
    metadata: dict[str, Any] | None


class UpdateTask(TypedDict, total=False):
    title: str
    description: str
    instructions: str | None
    deadline: str | None


class NewSpendingLimit(TypedDict):
    interval: Interval
    cents: int


class NewArea(TypedDict):
    latitude: float
    longitude: float
    radius_km: float


class PutMandate(TypedDict, total=False):
    permissions: Required[list[Permission]]
    max_task_cents: int | None
    spending_limits: list[NewSpendingLimit] | None
    max_open_tasks: int | None
    max_tasks_per_day: int | None
    categories: list[Category] | None
    task_types: list[TaskType] | None
    area: NewArea | None
    states: list[str] | None
    approval_above_cents: int | None
    review_up_to_cents: int | None
    expires_at: str | None
    paused: bool | None


class CreateKey(TypedDict):
    name: str
    environment: Environment
    mandate: NotRequired[PutMandate | None]


class PutWebhook(TypedDict):
    url: str
    events: NotRequired[list[EventType] | None]


class SimulateProof(TypedDict, total=False):
    gps_latitude: float
    gps_longitude: float
    types: list[ProofType]


class AdvanceClock(TypedDict, total=False):
    advance_seconds: int
    at: str


class TaskFilter(TypedDict, total=False):
    status: Status
    limit: int
    offset: int


class TaskSearch(TypedDict, total=False):
    q: str
    category: Category
    status: list[Status]
    created_from: str
    created_to: str
    metadata: Mapping[str, str | int | float | bool]
    limit: int
    cursor: str


class EventFilter(TypedDict, total=False):
    type: EventType
    task_id: str
    limit: int
    cursor: str


class ApprovalFilter(TypedDict, total=False):
    status: ApprovalStatus
    limit: int
    cursor: str


class LogFilter(TypedDict, total=False):
    failed: bool
    key_id: str
    limit: int
    cursor: str


class DeliveryFilter(TypedDict, total=False):
    status: DeliveryStatus
    event: EventType
    limit: int
    offset: int


class Page(TypedDict, total=False):
    limit: int
    offset: int
