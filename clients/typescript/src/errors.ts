/** What can go wrong. Each code of a refusal has a class of its own. */

import type { ErrorCode, FieldError, Task } from "./objects.js";

/** Everything that this library throws. */
export class LegworkError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The server could not be reached, or the connection broke. */
export class NetworkError extends LegworkError {}

/** The server did not answer in time. */
export class TimedOutError extends NetworkError {}

/** What came back is not an answer of this API: another program gave it, or a proxy before the server. */
export class AnswerError extends NetworkError {
  /** Of an answer that refuses. Undefined if it claims to be what was asked for. */
  readonly status: number | undefined;
  /** Seconds, from `Retry-After`. */
  readonly retryAfter: number | undefined;

  constructor(message: string, options?: ErrorOptions & { status?: number; retryAfter?: number | undefined }) {
    super(message, options);
    this.status = options?.status;
    this.retryAfter = options?.retryAfter;
  }
}

/** `waitUntil` gave up. The task has this status. */
export class StillWaitingError extends LegworkError {
  constructor(readonly status: string, seconds: number, options?: ErrorOptions) {
    super(`the task is still ${status} after ${seconds} seconds`, options);
  }
}

/** `waitUntil` waits for what can no longer happen: the task has a final status, and it is another one. */
export class TaskEndedError extends LegworkError {
  constructor(readonly task: Task, wanted: string[]) {
    super(`the task is ${task.status} and can no longer become ${wanted.join(" or ")}`);
  }
}

/** Events between these two numbers are no longer kept. The stream goes on after them. */
export class EventsLostError extends LegworkError {
  constructor(readonly after: number, readonly before: number) {
    super(`the events after number ${after} and before number ${before} are no longer kept`);
  }
}

/** A webhook that is not from Legwork, was changed, or is too old. */
export class WebhookError extends LegworkError {}

export interface Refusal {
  status: number;
  code: ErrorCode;
  message: string;
  requestId: string;
  details: unknown;
  retryAfter: number | undefined;
}

/** The server answered and refused. */
export class APIError extends LegworkError {
  readonly status: number;
  readonly code: ErrorCode;
  /** The server's log has the same. */
  readonly requestId: string;
  /** A list of fields for `VALIDATION_ERROR`; other codes may have other details. */
  readonly details: unknown;
  /** Seconds, from `Retry-After`. */
  readonly retryAfter: number | undefined;
  /** What the server says, without the code. */
  readonly reason: string;

  constructor(refusal: Refusal) {
    super(`${refusal.message} (${refusal.code}, request ${refusal.requestId})`);
    this.status = refusal.status;
    this.code = refusal.code;
    this.reason = refusal.message;
    this.requestId = refusal.requestId;
    this.details = refusal.details;
    this.retryAfter = refusal.retryAfter;
  }

  /** The fields that are wrong. */
  get fields(): FieldError[] {
    return Array.isArray(this.details) ? (this.details as FieldError[]) : [];
  }
}

export class ValidationError extends APIError {}
export class UnauthorizedError extends APIError {}
export class InvalidCodeError extends APIError {}
export class InvalidCredentialsError extends APIError {}
export class SecondFactorRequiredError extends APIError {}
export class AccountSuspendedError extends APIError {}
export class EmailNotConfirmedError extends APIError {}
export class ForbiddenError extends APIError {}
export class KeyInBrowserError extends APIError {}
export class SecondFactorNotSetUpError extends APIError {}
export class SignInAgainError extends APIError {}
export class TaskLimitExceededError extends APIError {}
export class TestModeOnlyError extends APIError {}
export class UrlExpiredError extends APIError {}
export class UrlInvalidError extends APIError {}
export class WorkerNotEligibleError extends APIError {}
export class AccountNotFoundError extends APIError {}
export class DeliveryNotFoundError extends APIError {}
export class DisputeNotFoundError extends APIError {}
export class ItemNotFoundError extends APIError {}
export class JobNotFoundError extends APIError {}
export class KeyNotFoundError extends APIError {}
export class NotFoundError extends APIError {}
export class NotificationNotFoundError extends APIError {}
export class ProofNotFoundError extends APIError {}
export class QuoteNotFoundError extends APIError {}
export class ProposalNotFoundError extends APIError {}
export class SessionNotFoundError extends APIError {}
export class TaskNotFoundError extends APIError {}
export class WorkerNotFoundError extends APIError {}
export class MethodNotAllowedError extends APIError {}
export class RequestTimeoutError extends APIError {}
export class EmailTakenError extends APIError {}
export class ExportUnderWayError extends APIError {}
export class IdempotencyInFlightError extends APIError {}
export class InvalidAccountStateError extends APIError {}
export class InvalidTaskStateError extends APIError {}
export class InvalidWorkerStateError extends APIError {}
export class ItemClaimedError extends APIError {}
export class ItemClosedError extends APIError {}
export class ItemNeedsDecisionError extends APIError {}
export class LastKeyError extends APIError {}
export class LastOwnerKeyError extends APIError {}
export class PayoutNotFailedError extends APIError {}
export class ProposalPendingError extends APIError {}
export class RefundDiffersError extends APIError {}
export class RefundNotFailedError extends APIError {}
export class RotatedRecentlyError extends APIError {}
export class SecondFactorOffError extends APIError {}
export class SecondFactorOnError extends APIError {}
export class StorageFullError extends APIError {}
export class TasksOpenError extends APIError {}
export class TooManyKeysError extends APIError {}
export class WebhookDisabledError extends APIError {}
export class WebhookNotConfiguredError extends APIError {}
export class LinkExpiredError extends APIError {}
export class QuoteExpiredError extends APIError {}
export class FileTooLargeError extends APIError {}
export class PayloadTooLargeError extends APIError {}
export class IdempotencyMismatchError extends APIError {}
export class RateLimitedError extends APIError {}
export class TooManyExportsError extends APIError {}
export class TooManyQuotesError extends APIError {}
export class MandateExceededError extends APIError {}
export class MandateExpiredError extends APIError {}
export class MandatePausedError extends APIError {}
export class PermissionDeniedError extends APIError {}
export class ApprovalDecidedError extends APIError {}
export class ApprovalNotFoundError extends APIError {}
export class MandateNotFoundError extends APIError {}
export class LastUnlimitedKeyError extends APIError {}
export class UploadNotFoundError extends APIError {}
export class OffsetMismatchError extends APIError {}
export class UploadIncompleteError extends APIError {}
export class UploadGoneError extends APIError {}
export class TusVersionUnsupportedError extends APIError {}
export class UnsupportedMediaTypeError extends APIError {}
export class TooManyUploadsError extends APIError {}
export class ChecksumMismatchError extends APIError {}
export class InternalError extends APIError {}
export class PaymentUnavailableError extends APIError {}
export class UnavailableError extends APIError {}

/** The class of each code. */
export const ERRORS: Record<string, typeof APIError> = {
  MANDATE_EXCEEDED: MandateExceededError,
  MANDATE_EXPIRED: MandateExpiredError,
  MANDATE_PAUSED: MandatePausedError,
  PERMISSION_DENIED: PermissionDeniedError,
  MANDATE_NOT_FOUND: MandateNotFoundError,
  APPROVAL_DECIDED: ApprovalDecidedError,
  APPROVAL_NOT_FOUND: ApprovalNotFoundError,
  LAST_UNLIMITED_KEY: LastUnlimitedKeyError,
  VALIDATION_ERROR: ValidationError,
  UNAUTHORIZED: UnauthorizedError,
  INVALID_CODE: InvalidCodeError,
  INVALID_CREDENTIALS: InvalidCredentialsError,
  SECOND_FACTOR_REQUIRED: SecondFactorRequiredError,
  ACCOUNT_SUSPENDED: AccountSuspendedError,
  EMAIL_NOT_CONFIRMED: EmailNotConfirmedError,
  FORBIDDEN: ForbiddenError,
  KEY_IN_BROWSER: KeyInBrowserError,
  SECOND_FACTOR_NOT_SET_UP: SecondFactorNotSetUpError,
  SIGN_IN_AGAIN: SignInAgainError,
  TASK_LIMIT_EXCEEDED: TaskLimitExceededError,
  TEST_MODE_ONLY: TestModeOnlyError,
  URL_EXPIRED: UrlExpiredError,
  URL_INVALID: UrlInvalidError,
  WORKER_NOT_ELIGIBLE: WorkerNotEligibleError,
  ACCOUNT_NOT_FOUND: AccountNotFoundError,
  DELIVERY_NOT_FOUND: DeliveryNotFoundError,
  DISPUTE_NOT_FOUND: DisputeNotFoundError,
  ITEM_NOT_FOUND: ItemNotFoundError,
  JOB_NOT_FOUND: JobNotFoundError,
  KEY_NOT_FOUND: KeyNotFoundError,
  NOT_FOUND: NotFoundError,
  NOTIFICATION_NOT_FOUND: NotificationNotFoundError,
  PROOF_NOT_FOUND: ProofNotFoundError,
  QUOTE_NOT_FOUND: QuoteNotFoundError,
  PROPOSAL_NOT_FOUND: ProposalNotFoundError,
  SESSION_NOT_FOUND: SessionNotFoundError,
  TASK_NOT_FOUND: TaskNotFoundError,
  WORKER_NOT_FOUND: WorkerNotFoundError,
  METHOD_NOT_ALLOWED: MethodNotAllowedError,
  REQUEST_TIMEOUT: RequestTimeoutError,
  EMAIL_TAKEN: EmailTakenError,
  EXPORT_UNDER_WAY: ExportUnderWayError,
  IDEMPOTENCY_IN_FLIGHT: IdempotencyInFlightError,
  INVALID_ACCOUNT_STATE: InvalidAccountStateError,
  INVALID_TASK_STATE: InvalidTaskStateError,
  INVALID_WORKER_STATE: InvalidWorkerStateError,
  ITEM_CLAIMED: ItemClaimedError,
  ITEM_CLOSED: ItemClosedError,
  ITEM_NEEDS_DECISION: ItemNeedsDecisionError,
  LAST_KEY: LastKeyError,
  LAST_OWNER_KEY: LastOwnerKeyError,
  PAYOUT_NOT_FAILED: PayoutNotFailedError,
  PROPOSAL_PENDING: ProposalPendingError,
  REFUND_DIFFERS: RefundDiffersError,
  REFUND_NOT_FAILED: RefundNotFailedError,
  ROTATED_RECENTLY: RotatedRecentlyError,
  SECOND_FACTOR_OFF: SecondFactorOffError,
  SECOND_FACTOR_ON: SecondFactorOnError,
  STORAGE_FULL: StorageFullError,
  TASKS_OPEN: TasksOpenError,
  TOO_MANY_KEYS: TooManyKeysError,
  WEBHOOK_DISABLED: WebhookDisabledError,
  WEBHOOK_NOT_CONFIGURED: WebhookNotConfiguredError,
  LINK_EXPIRED: LinkExpiredError,
  QUOTE_EXPIRED: QuoteExpiredError,
  FILE_TOO_LARGE: FileTooLargeError,
  PAYLOAD_TOO_LARGE: PayloadTooLargeError,
  IDEMPOTENCY_MISMATCH: IdempotencyMismatchError,
  RATE_LIMITED: RateLimitedError,
  TOO_MANY_EXPORTS: TooManyExportsError,
  TOO_MANY_QUOTES: TooManyQuotesError,
  UPLOAD_NOT_FOUND: UploadNotFoundError,
  OFFSET_MISMATCH: OffsetMismatchError,
  UPLOAD_INCOMPLETE: UploadIncompleteError,
  UPLOAD_GONE: UploadGoneError,
  TUS_VERSION_UNSUPPORTED: TusVersionUnsupportedError,
  UNSUPPORTED_MEDIA_TYPE: UnsupportedMediaTypeError,
  TOO_MANY_UPLOADS: TooManyUploadsError,
  CHECKSUM_MISMATCH: ChecksumMismatchError,
  INTERNAL: InternalError,
  PAYMENT_UNAVAILABLE: PaymentUnavailableError,
  UNAVAILABLE: UnavailableError,
};
