/**
 * The objects of the interface. docs/reference says what their fields mean. Times are as the API writes them
 * (`2026-11-15T09:30:00.123Z`), amounts are in cents.
 */

/** One of the words, or one that a newer server knows. */
type Known<Words extends readonly string[]> = Words[number] | (string & {});

export const STATUS = [
  "pending", "funded", "posted", "assigned", "in_progress", "proof_submitted", "proof_rejected",
  "completed", "cancelled", "expired", "disputed", "refunded",
] as const;
export type Status = Known<typeof STATUS>;
/** A task that has one of these keeps it. */
export const FINAL_STATUSES: readonly Status[] = ["completed", "cancelled", "expired", "refunded"];

export const CATEGORY = [
  "photography", "inspection", "delivery", "data_collection", "mystery_shopping", "installation",
  "assembly", "cleaning", "survey", "retail_audit", "event", "notary", "other",
] as const;
export type Category = Known<typeof CATEGORY>;

export const SKILL = [
  "photography", "data_collection", "mystery_shopping", "delivery", "inspection", "installation",
  "assembly", "cleaning", "driving", "spanish_speaking", "mandarin_speaking", "data_entry",
  "signage_placement", "flyer_distribution", "survey_taking", "retail_audit", "price_checking",
  "inventory_count", "window_display", "product_demo", "event_staffing", "notary",
  "signature_collection",
] as const;
export type Skill = Known<typeof SKILL>;

export const PRIORITY = [
  "normal", "urgent",
] as const;
export type Priority = Known<typeof PRIORITY>;

export const TASK_TYPE = [
  "standard", "bounty",
] as const;
export type TaskType = Known<typeof TASK_TYPE>;

export const PROOF_TYPE = [
  "photo", "video", "signature",
] as const;
export type ProofType = Known<typeof PROOF_TYPE>;

export const PROOF_STATUS = [
  "pending", "approved", "rejected",
] as const;
export type ProofStatus = Known<typeof PROOF_STATUS>;

export const ENVIRONMENT = [
  "live", "test",
] as const;
export type Environment = Known<typeof ENVIRONMENT>;

export const EVENT_TYPE = [
  "task.created", "task.funded", "task.posted", "task.assigned", "task.started",
  "task.proof_submitted", "task.completed", "task.proof_rejected", "task.cancelled",
  "task.expired", "task.disputed", "task.refunded", "task.payment_failed", "task.refund_paid", "task.approval_required",
  "worker.verified",
] as const;
export type EventType = Known<typeof EVENT_TYPE>;

export const TIER = [
  "free", "growth", "pro", "enterprise",
] as const;
export type Tier = Known<typeof TIER>;

export const ACCOUNT_STATUS = [
  "active", "suspended", "deleted",
] as const;
export type AccountStatus = Known<typeof ACCOUNT_STATUS>;

export const ACTOR_KIND = [
  "developer", "worker", "simulated_worker", "admin", "clock", "processor", "command_line",
  "service",
] as const;
export type ActorKind = Known<typeof ACTOR_KIND>;

export const PAYMENT_STATUS = [
  "not_required", "processing", "requires_payment", "succeeded", "cancelled",
] as const;
export type PaymentStatus = Known<typeof PAYMENT_STATUS>;

export const PROCESSOR_NAME = [
  "sandbox", "stripe",
] as const;
export type ProcessorName = Known<typeof PROCESSOR_NAME>;

export const DELIVERY_STATUS = [
  "pending", "delivered", "failed",
] as const;
export type DeliveryStatus = Known<typeof DELIVERY_STATUS>;

export const EXPORT_STATUS = [
  "preparing", "ready", "failed",
] as const;
export type ExportStatus = Known<typeof EXPORT_STATUS>;

export const DECISION = [
  "pay", "refund", "split",
] as const;
export type Decision = Known<typeof DECISION>;

export const LEDGER_ACCOUNT = [
  "processor", "escrow", "worker_balance", "platform_fees", "developer_refunds",
] as const;
export type LedgerAccount = Known<typeof LEDGER_ACCOUNT>;

export const STEP = [
  "payment", "settlement", "refund", "refund_failed", "refund_retry", "refund_retry_failed",
  "transfer", "transfer_reversed", "transfer_retry", "transfer_retry_reversed", "write_off",
  "refund_settled", "dispute_lost", "dispute_lost_again", "refund_offset",
] as const;
export type Step = Known<typeof STEP>;

export const QUOTE_VERDICT = ["allowed", "approval_required", "denied"] as const;
export type QuoteVerdict = Known<typeof QUOTE_VERDICT>;

export const WORKERS_NEARBY = ["0", "1-5", "6-20", "20+"] as const;
export type WorkersNearby = Known<typeof WORKERS_NEARBY>;

export const PERMISSION = ["read", "create", "review", "cancel", "test"] as const;
export type Permission = Known<typeof PERMISSION>;

export const MANDATE_STATUS = ["active", "paused", "expired"] as const;
export type MandateStatus = Known<typeof MANDATE_STATUS>;

export const APPROVAL_STATUS = ["waiting", "approved", "refused", "expired", "cancelled"] as const;
export type ApprovalStatus = Known<typeof APPROVAL_STATUS>;

export const TEST_KEYS_MANAGE = ["all", "test"] as const;
export type TestKeysManage = Known<typeof TEST_KEYS_MANAGE>;

export const CAPTURE_SOURCE = ["camera", "picker"] as const;
export type CaptureSource = Known<typeof CAPTURE_SOURCE>;

export const INTERVAL = ["day", "month", "total"] as const;
export type Interval = Known<typeof INTERVAL>;

export const ERROR_CODE = [
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
  "IDEMPOTENCY_MISMATCH", "RATE_LIMITED", "TOO_MANY_EXPORTS", "TOO_MANY_QUOTES",
  "UPLOAD_NOT_FOUND", "OFFSET_MISMATCH", "UPLOAD_INCOMPLETE", "UPLOAD_GONE",
  "TUS_VERSION_UNSUPPORTED", "UNSUPPORTED_MEDIA_TYPE", "TOO_MANY_UPLOADS", "CHECKSUM_MISMATCH",
  "INTERNAL", "PAYMENT_UNAVAILABLE", "UNAVAILABLE",
] as const;
export type ErrorCode = Known<typeof ERROR_CODE>;

export interface Task {
  id: string;
  developer_id: string;
  title: string;
  description: string;
  instructions: string | null;
  category: Category;
  required_skills: Skill[];
  location_address: string | null;
  location_city: string;
  location_state: string;
  location_latitude: number;
  location_longitude: number;
  budget_cents: number;
  platform_fee_cents: number;
  worker_payout_cents: number;
  priority: Priority;
  status: Status;
  environment: Environment;
  worker_id: string | null;
  deadline: string | null;
  max_proof_attempts: number;
  proof_types: ProofType[];
  metadata: Record<string, unknown>;
  assigned_at: string | null;
  started_at: string | null;
  completed_at: string | null;
  cancelled_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface CreatedTask extends Task {
  payment_client_secret?: string;
}

export interface TaskSummary {
  id: string;
  title: string;
  status: Status;
  category: Category;
  budget_cents: number;
  location_city: string;
  location_state: string;
  priority: Priority;
  worker_id: string | null;
  created_at: string;
  updated_at: string;
}

export interface FoundTask extends TaskSummary {
  metadata: Record<string, unknown>;
  deadline: string | null;
  environment: Environment;
}

export interface CreatedItem {
  status: number;
  task?: CreatedTask;
  error?: ErrorContent;
}

export interface CreatedTasks {
  data: CreatedItem[];
}

export interface ErrorContent {
  code: ErrorCode;
  message: string;
  details?: unknown;
  request_id: string;
}

export interface Quote {
  id: string;
  budget_cents: number;
  platform_fee_cents: number;
  worker_payout_cents: number;
  mandate: MandateOfQuote;
  coverage: Coverage;
  expires_at: string;
}

export interface MandateOfQuote {
  verdict: QuoteVerdict;
  reasons: string[];
  left: MandateUse[] | null;
}

export interface Coverage {
  workers: WorkersNearby;
  hours_to_accept: HoursToAccept | null;
  suggested_budget_cents: number | null;
}

export interface HoursToAccept {
  p50: number;
  p90: number;
}

export interface CancelledTask {
  id: string;
  status: Status;
  cancelled_at: string;
  updated_at: string;
}

export interface CompletedTask {
  id: string;
  status: Status;
  completed_at: string;
}

export interface RejectedTask {
  id: string;
  status: Status;
  attempts_remaining: number;
}

export interface SubmittedTask {
  id: string;
  status: Status;
  attempt_number: number;
}

export interface Actor {
  type: ActorKind;
  id: string | null;
}

export interface HistoryEntry {
  from: Status | null;
  to: Status;
  by: Actor;
  reason: string | null;
  created_at: string;
}

export interface Posting {
  account: LedgerAccount;
  amount_cents: number;
}

export interface LedgerEntry {
  task_id: string;
  type: Step;
  postings: Posting[];
  created_at: string;
}

export interface Payment {
  task_id: string;
  status: PaymentStatus;
  amount_cents: number;
  escrow_cents: number;
  refunded_cents: number;
  refund_pending_cents: number;
  refund: Refund | null;
  payout: TaskPayout | null;
  payment_client_secret: string | null;
  payment_url: string | null;
  failure: PaymentFailure | null;
  processor: ProcessorName | null;
  created_at: string;
  updated_at: string;
}

export interface Refund {
  amount_cents: number;
  paid_cents: number;
}

export interface TaskPayout {
  amount_cents: number;
  paid_cents: number;
  platform_fee_cents: number;
}

export interface PaymentFailure {
  code: string;
  message: string;
}

export interface Dispute {
  task_id: string;
  statement: string | null;
  opened_at: string;
  developer_statement: string | null;
  developer_stated_at: string | null;
  decision: Decision | null;
  decided_at: string | null;
  note: string | null;
}

export interface Proof {
  id: string;
  task_id: string;
  worker_id: string;
  attempt_number: number;
  type: ProofType;
  file_url: string | null;
  content_type: string;
  file_size_bytes: number;
  gps_latitude: number | null;
  gps_longitude: number | null;
  geo_valid: boolean;
  distance_from_task_meters: number | null;
  device_info: Record<string, unknown>;
  status: ProofStatus;
  rejection_reason: string | null;
  reviewed_at: string | null;
  created_at: string;
}

export interface ApprovedProof {
  id: string;
  status: ProofStatus;
  reviewed_at: string;
  task: CompletedTask;
}

export interface RejectedProof {
  id: string;
  status: ProofStatus;
  rejection_reason: string;
  reviewed_at: string;
  task: RejectedTask;
}

export interface SubmittedProofs {
  data: Proof[];
  task: SubmittedTask;
}

export interface Evidence {
  proof_id: string;
  task_id: string;
  sha256: string;
  exif: Exif;
  device: DeviceStatement | null;
  received_at: string;
  findings: Finding[];
}

/** What the worker's device says about how the file was made. Nobody has checked it. */
export interface DeviceStatement {
  captured_at: string;
  clock_offset_ms: number | null;
  source: CaptureSource;
  queued_offline: boolean;
  fixes: DeviceFix[];
}

export interface DeviceFix {
  latitude: number;
  longitude: number;
  accuracy_meters: number | null;
  at: string;
  distance_meters: number;
}

export interface Exif {
  taken_at: string | null;
  latitude: number | null;
  longitude: number | null;
}

export interface Finding {
  code: string;
  value: number | null;
  unit: string | null;
  reason: string;
  proof_id: string | null;
  task_id: string | null;
}

export interface Event {
  id: string;
  number: number;
  event: EventType;
  data: Record<string, unknown>;
  created_at: string;
}

export interface EventTask {
  id: string;
  developer_id: string;
  title: string;
  description: string;
  category: Category;
  required_skills: Skill[];
  location_address: string | null;
  location_city: string;
  location_state: string;
  location_latitude: number;
  location_longitude: number;
  budget_cents: number;
  platform_fee_cents: number;
  worker_payout_cents: number;
  priority: Priority;
  status: Status;
  environment: Environment;
  worker_id: string | null;
  deadline: string | null;
  max_proof_attempts: number;
  proof_types: ProofType[];
  metadata: Record<string, unknown>;
  assigned_at: string | null;
  started_at: string | null;
  completed_at: string | null;
  cancelled_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface EventProof {
  id: string;
  task_id: string;
  worker_id: string;
  attempt_number: number;
  type: ProofType;
  content_type: string;
  file_size_bytes: number;
  gps_latitude: number | null;
  gps_longitude: number | null;
  geo_valid: boolean;
  distance_from_task_meters: number | null;
  device_info: Record<string, unknown>;
  status: ProofStatus;
  rejection_reason: string | null;
  reviewed_at: string | null;
  created_at: string;
}

export interface EventWorker {
  id: string;
  skills: Skill[];
  verified_at: string;
}

export interface Account {
  id: string;
  email: string;
  name: string;
  company: string | null;
  tier: Tier;
  status: AccountStatus;
  webhook_url: string | null;
  webhook_events: EventType[];
  tasks_this_month: number;
  created_at: string;
  updated_at: string;
}

export interface Usage {
  tier: Tier;
  tasks_this_month: number;
  tasks_limit: number;
  api_keys_count: number;
}

export interface Confirmation {
  email: string;
  confirmed: boolean;
}

export interface ApiKey {
  id: string;
  name: string;
  key_prefix: string;
  environment: Environment;
  last_used_at: string | null;
  revoked_at: string | null;
  created_at: string;
}

export interface CreatedKey {
  id: string;
  name: string;
  key: string;
  key_prefix: string;
  environment: Environment;
  created_at: string;
}

export interface RevokedKey {
  id: string;
  name: string;
  revoked_at: string;
}

export interface Mandate {
  key_id: string;
  status: MandateStatus;
  permissions: Permission[];
  max_task_cents: number | null;
  spending_limits: SpendingLimit[];
  max_open_tasks: number | null;
  max_tasks_per_day: number | null;
  categories: Category[];
  task_types: TaskType[];
  area: Area | null;
  states: string[];
  approval_above_cents: number | null;
  review_up_to_cents: number | null;
  expires_at: string | null;
  paused: boolean;
  usage: MandateUse[];
  last_refused: MandateRefusal | null;
  version: number;
  updated_at: string;
}

export interface SpendingLimit {
  interval: Interval;
  cents: number;
}

export interface Area {
  latitude: number;
  longitude: number;
  radius_km: number;
}

export interface MandateUse {
  field: string;
  limit: number;
  used: number;
  left: number;
  resets_at: string | null;
}

export interface MandateRefusal {
  field: string;
  at: string;
}

export interface LiftedMandate {
  key_id: string;
  lifted_at: string;
}

export interface Approval {
  task_id: string;
  status: ApprovalStatus;
  key_id: string;
  budget_cents: number;
  url: string;
  expires_at: string;
  decided_by: Actor | null;
  decided_at: string | null;
  created_at: string;
}

export interface LoggedRequest {
  id: string;
  method: string;
  path: string;
  status: number;
  code: string | null;
  duration_us: number;
  key_id: string;
  request_id: string;
  created_at: string;
}

export interface AccountSecurity {
  test_keys_manage: TestKeysManage;
}

export interface PaymentMethod {
  payment_method: string | null;
  processor: ProcessorName | null;
  updated_at: string | null;
}

export interface Export {
  id: string;
  status: ExportStatus;
  files: ExportFile[];
  created_at: string;
  ready_at: string | null;
  expires_at: string;
}

export interface ExportFile {
  size_bytes: number;
  sha256: string;
  url: string;
}

export interface WebhookState {
  webhook_url: string | null;
  webhook_events: EventType[];
  enabled: boolean;
  failing_since: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
}

export interface WebhookWithSecret {
  webhook_url: string;
  webhook_events: EventType[];
  webhook_secret: string;
}

export interface TestDelivery {
  event: EventType;
  delivered: boolean;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
}

export interface Delivery {
  id: string;
  event: EventType;
  task_id: string | null;
  status: DeliveryStatus;
  status_code: number | null;
  attempts_count: number;
  attempts?: DeliveryAttempt[];
  payload?: DeliveryPayload;
  next_attempt_at: string | null;
  created_at: string;
  updated_at: string;
}

export interface DeliveryAttempt {
  attempted_at: string;
  status_code: number | null;
  duration_ms: number;
  error: string | null;
  response_body: string | null;
}

export interface DeliveryPayload {
  event: EventType;
  data: Record<string, unknown>;
}

export interface RecoveredDeliveries {
  recovered: number;
  more: boolean;
}

export interface TestClock {
  now: string;
  ahead_seconds: number;
}

export interface FieldError {
  field: string;
  message: string;
  limit?: number | null;
  used?: number | null;
  left?: number | null;
}

export interface Location {
  address?: string | null;
  city: string;
  state: string;
  latitude: number;
  longitude: number;
}

export interface CreateTask {
  title: string;
  description: string;
  instructions?: string | null;
  category: Category;
  required_skills?: Skill[] | null;
  location: Location;
  budget_cents: number;
  task_type?: TaskType | null;
  priority?: Priority | null;
  deadline?: string | null;
  proof_types?: ProofType[] | null;
  metadata?: Record<string, unknown> | null;
}

export interface UpdateTask {
  title?: string;
  description?: string;
  instructions?: string | null;
  deadline?: string | null;
}

export interface PutMandate {
  permissions: Permission[];
  max_task_cents?: number | null;
  spending_limits?: SpendingLimit[] | null;
  max_open_tasks?: number | null;
  max_tasks_per_day?: number | null;
  categories?: Category[] | null;
  task_types?: TaskType[] | null;
  area?: Area | null;
  states?: string[] | null;
  approval_above_cents?: number | null;
  review_up_to_cents?: number | null;
  expires_at?: string | null;
  paused?: boolean | null;
}

export interface CreateKey {
  name: string;
  environment: Environment;
  mandate?: PutMandate | null;
}

export interface PutWebhook {
  url: string;
  events?: EventType[] | null;
}

export interface SimulateProof {
  gps_latitude?: number;
  gps_longitude?: number;
  types?: ProofType[];
}

export interface AdvanceClock {
  advance_seconds?: number;
  at?: string;
}

export interface TaskFilter {
  status?: Status;
  limit?: number;
  offset?: number;
}

export interface TaskSearch {
  q?: string;
  category?: Category;
  status?: Status[];
  created_from?: string;
  created_to?: string;
  metadata?: Record<string, string>;
  limit?: number;
  cursor?: string;
}

export interface EventFilter {
  type?: EventType;
  task_id?: string;
  limit?: number;
  cursor?: string;
}

export interface ApprovalFilter {
  status?: ApprovalStatus;
  limit?: number;
  cursor?: string;
}

export interface LogFilter {
  failed?: boolean;
  key_id?: string;
  limit?: number;
  cursor?: string;
}

export interface DeliveryFilter {
  status?: DeliveryStatus;
  event?: EventType;
  limit?: number;
  offset?: number;
}

export interface Page {
  limit?: number;
  offset?: number;
}

/** What events of the list, of the stream and of webhooks share. */
type Happening = Pick<Event, "event" | "data">;

/** The task right after an event, if the event is about one. */
export function taskOf(event: Happening): EventTask | undefined {
  return event.event.startsWith("task.") ? (event.data as unknown as EventTask) : undefined;
}

/** The proof that `task.proof_submitted` and `task.proof_rejected` carry. */
export function proofOf(event: Happening): EventProof | undefined {
  return event.data["proof"] as EventProof | undefined;
}

/** The worker of `worker.verified`. */
export function workerOf(event: Happening): EventWorker | undefined {
  return event.event === "worker.verified" ? (event.data as unknown as EventWorker) : undefined;
}
