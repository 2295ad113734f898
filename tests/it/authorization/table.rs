//! Every route, and what each kind of caller gets. One table for each audience.
//!
//! What holds for a whole audience is not repeated for each route: a key of another kind, a wrong one,
//! a revoked one, that of a deleted account and none at all are 401 UNAUTHORIZED everywhere. A
//! suspended account gets 403 ACCOUNT_SUSPENDED on every route of developers.

use legwork::domain::AdminRole;

/// What a caller gets who has a right key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is done, or the state of the thing does not allow it. The caller may know that it exists.
    Yes,
    /// The code of the error.
    No(&'static str),
}

use Answer::{No, Yes};

const NO_TASK: Answer = No("TASK_NOT_FOUND");
const NO_QUOTE: Answer = No("QUOTE_NOT_FOUND");
const NO_KEY: Answer = No("KEY_NOT_FOUND");
const NO_MANDATE: Answer = No("MANDATE_NOT_FOUND");
const NO_APPROVAL: Answer = No("APPROVAL_NOT_FOUND");
const TEST_ONLY: Answer = No("TEST_MODE_ONLY");

pub struct DeveloperRoute {
    pub route: &'static str,
    /// The developer whose task, key or delivery the path names.
    pub own: Answer,
    pub other_account: Answer,
    /// The same account with a key of the other environment.
    pub other_environment: Answer,
}

const fn developer(
    route: &'static str,
    own: Answer,
    other_account: Answer,
    other_environment: Answer,
) -> DeveloperRoute {
    DeveloperRoute {
        route,
        own,
        other_account,
        other_environment,
    }
}

/// In this order, so that what removes something comes last.
pub const DEVELOPERS: &[DeveloperRoute] = &[
    // Of the account: each account has its own, and both environments share it.
    developer("GET /v1/account", Yes, Yes, Yes),
    developer("GET /v1/account/usage", Yes, Yes, Yes),
    // Of an environment, and every account has its own.
    developer("GET /v1/logs", Yes, Yes, Yes),
    developer("GET /v1/account/export", Yes, Yes, Yes),
    developer("POST /v1/account/export", Yes, Yes, Yes),
    developer("GET /v1/account/keys", Yes, Yes, Yes),
    developer("POST /v1/account/keys", Yes, Yes, Yes),
    developer("PUT /v1/account/keys/{id}/mandate", Yes, NO_KEY, Yes),
    developer("GET /v1/account/keys/{id}/mandate", Yes, NO_KEY, Yes),
    developer("DELETE /v1/account/keys/{id}/mandate", Yes, NO_KEY, Yes),
    // The key itself has none.
    developer("GET /v1/mandate", NO_MANDATE, NO_MANDATE, NO_MANDATE),
    developer("GET /v1/account/security", Yes, Yes, Yes),
    developer("PUT /v1/account/security", Yes, Yes, Yes),
    developer("POST /v1/account/confirmation", Yes, Yes, Yes),
    developer("GET /v1/account/payment_method", Yes, Yes, Yes),
    developer("PUT /v1/account/payment_method", Yes, Yes, Yes),
    developer("GET /v1/account/webhook", Yes, Yes, Yes),
    developer("PUT /v1/account/webhook", Yes, Yes, Yes),
    developer("POST /v1/account/webhook/rotate_secret", Yes, Yes, Yes),
    developer("POST /v1/account/webhook/test", Yes, Yes, Yes),
    developer("GET /v1/account/webhook/deliveries", Yes, Yes, Yes),
    developer(
        "GET /v1/account/webhook/deliveries/{id}",
        Yes,
        No("DELIVERY_NOT_FOUND"),
        No("DELIVERY_NOT_FOUND"),
    ),
    developer("POST /v1/account/webhook/deliveries/recover", Yes, Yes, Yes),
    developer(
        "POST /v1/account/webhook/deliveries/{id}/redeliver",
        Yes,
        No("DELIVERY_NOT_FOUND"),
        No("DELIVERY_NOT_FOUND"),
    ),
    // Of an environment of the account.
    developer("GET /v1/events", Yes, Yes, Yes),
    developer("GET /v1/events/stream", Yes, Yes, Yes),
    developer("GET /v1/tasks", Yes, Yes, Yes),
    developer("POST /v1/tasks", Yes, Yes, Yes),
    developer("POST /v1/quotes", Yes, Yes, Yes),
    developer("GET /v1/quotes/{id}", Yes, NO_QUOTE, NO_QUOTE),
    developer("GET /v1/tasks/search", Yes, Yes, Yes),
    developer("POST /v1/tasks/batch", Yes, Yes, Yes),
    developer("GET /v1/tasks/{id}", Yes, NO_TASK, NO_TASK),
    developer("PATCH /v1/tasks/{id}", Yes, NO_TASK, NO_TASK),
    developer("GET /v1/approvals", Yes, Yes, Yes),
    developer("GET /v1/tasks/{id}/approval", NO_APPROVAL, NO_TASK, NO_TASK),
    developer(
        "POST /v1/tasks/{id}/approval/approve",
        NO_APPROVAL,
        NO_TASK,
        NO_TASK,
    ),
    developer(
        "POST /v1/tasks/{id}/approval/refuse",
        NO_APPROVAL,
        NO_TASK,
        NO_TASK,
    ),
    developer("GET /v1/tasks/{id}/bundle", Yes, NO_TASK, NO_TASK),
    developer("GET /v1/tasks/{id}/history", Yes, NO_TASK, NO_TASK),
    developer("GET /v1/tasks/{id}/ledger", Yes, NO_TASK, NO_TASK),
    developer("GET /v1/tasks/{id}/payment", Yes, NO_TASK, NO_TASK),
    developer("GET /v1/tasks/{id}/dispute", Yes, NO_TASK, NO_TASK),
    developer(
        "POST /v1/tasks/{id}/dispute/statement",
        Yes,
        NO_TASK,
        NO_TASK,
    ),
    developer("GET /v1/tasks/{id}/proofs", Yes, NO_TASK, NO_TASK),
    developer(
        "GET /v1/tasks/{id}/proofs/{proof_id}/evidence",
        Yes,
        NO_TASK,
        NO_TASK,
    ),
    developer(
        "POST /v1/tasks/{id}/proofs/{proof_id}/reject",
        Yes,
        NO_TASK,
        NO_TASK,
    ),
    developer(
        "POST /v1/tasks/{id}/proofs/{proof_id}/approve",
        Yes,
        NO_TASK,
        NO_TASK,
    ),
    developer("POST /v1/tasks/{id}/cancel", Yes, NO_TASK, NO_TASK),
    // With a test key only: the path names a test task.
    developer("GET /v1/test_helpers/clock", Yes, Yes, TEST_ONLY),
    developer("POST /v1/test_helpers/clock", Yes, Yes, TEST_ONLY),
    developer("DELETE /v1/test_helpers/clock", Yes, Yes, TEST_ONLY),
    developer(
        "POST /v1/test_helpers/tasks/{id}/advance",
        Yes,
        NO_TASK,
        TEST_ONLY,
    ),
    developer(
        "POST /v1/test_helpers/tasks/{id}/proofs",
        Yes,
        NO_TASK,
        TEST_ONLY,
    ),
    // What removes something.
    developer("DELETE /v1/account/payment_method", Yes, Yes, Yes),
    developer("DELETE /v1/account/webhook", Yes, Yes, Yes),
    developer(
        "DELETE /v1/account/keys/{id}",
        Yes,
        No("KEY_NOT_FOUND"),
        Yes,
    ),
    // It has to be confirmed with the address of the account, which these requests do not.
    developer(
        "DELETE /v1/account",
        No("VALIDATION_ERROR"),
        No("VALIDATION_ERROR"),
        No("VALIDATION_ERROR"),
    ),
];

pub struct WorkerRoute {
    pub route: &'static str,
    /// The worker who holds the task that the path names.
    pub holder: Answer,
    /// The same worker after a suspension.
    pub suspended: Answer,
    /// A verified worker who has nothing to do with the task.
    pub other: Answer,
}

const fn worker(
    route: &'static str,
    holder: Answer,
    suspended: Answer,
    other: Answer,
) -> WorkerRoute {
    WorkerRoute {
        route,
        holder,
        suspended,
        other,
    }
}

pub const WORKERS: &[WorkerRoute] = &[
    worker("GET /v1/worker", Yes, Yes, Yes),
    worker("PATCH /v1/worker", Yes, Yes, Yes),
    worker("GET /v1/worker/earnings", Yes, Yes, Yes),
    worker("POST /v1/worker/payout_account", Yes, Yes, Yes),
    worker("GET /v1/worker/export", Yes, Yes, Yes),
    worker("POST /v1/worker/export", Yes, Yes, Yes),
    worker("GET /v1/worker/push_key", Yes, Yes, Yes),
    worker("POST /v1/worker/push_subscriptions", Yes, Yes, Yes),
    worker("DELETE /v1/worker/push_subscriptions", Yes, Yes, Yes),
    worker("POST /v1/worker/verification", Yes, Yes, Yes),
    worker("GET /v1/worker/notifications", Yes, Yes, Yes),
    worker(
        "POST /v1/worker/notifications/{id}/read",
        Yes,
        Yes,
        No("NOTIFICATION_NOT_FOUND"),
    ),
    worker("POST /v1/worker/notifications/read_all", Yes, Yes, Yes),
    worker("GET /v1/worker/available_tasks", Yes, Yes, Yes),
    // The task of the path is taken: it is nobody's offer.
    worker(
        "GET /v1/worker/available_tasks/{id}",
        NO_TASK,
        NO_TASK,
        NO_TASK,
    ),
    worker("GET /v1/worker/push_settings", Yes, Yes, Yes),
    worker("PUT /v1/worker/push_settings", Yes, Yes, Yes),
    worker("GET /v1/worker/tasks", Yes, Yes, Yes),
    worker("GET /v1/worker/tasks/{id}", Yes, Yes, NO_TASK),
    worker(
        "POST /v1/worker/tasks/{id}/accept",
        Yes,
        No("ACCOUNT_SUSPENDED"),
        Yes,
    ),
    worker("POST /v1/worker/tasks/{id}/start", Yes, Yes, NO_TASK),
    worker("POST /v1/worker/tasks/{id}/release", Yes, Yes, NO_TASK),
    worker("GET /v1/worker/tasks/{id}/proofs", Yes, Yes, NO_TASK),
    // A suspended worker keeps only tasks whose proof is under review, and those take no other.
    worker(
        "POST /v1/worker/tasks/{id}/proofs",
        Yes,
        No("INVALID_TASK_STATE"),
        NO_TASK,
    ),
    worker(
        "POST /v1/worker/uploads",
        Yes,
        No("ACCOUNT_SUSPENDED"),
        NO_TASK,
    ),
    worker(
        "HEAD /v1/worker/uploads/{id}",
        Yes,
        Yes,
        No("UPLOAD_NOT_FOUND"),
    ),
    worker(
        "PATCH /v1/worker/uploads/{id}",
        Yes,
        No("ACCOUNT_SUSPENDED"),
        No("UPLOAD_NOT_FOUND"),
    ),
    worker(
        "DELETE /v1/worker/uploads/{id}",
        Yes,
        Yes,
        No("UPLOAD_NOT_FOUND"),
    ),
    worker("GET /v1/worker/tasks/{id}/dispute", Yes, Yes, NO_TASK),
    worker("POST /v1/worker/tasks/{id}/dispute", Yes, Yes, NO_TASK),
    // It needs the password, which these requests do not have.
    worker(
        "DELETE /v1/worker",
        No("INVALID_CREDENTIALS"),
        No("INVALID_CREDENTIALS"),
        No("INVALID_CREDENTIALS"),
    ),
    worker("POST /v1/worker/confirmation", Yes, Yes, Yes),
    worker("PUT /v1/worker/password", Yes, Yes, Yes),
    worker("PUT /v1/worker/email", Yes, Yes, Yes),
    worker("GET /v1/worker/sessions", Yes, Yes, Yes),
    // No session has the id that these requests name.
    worker(
        "DELETE /v1/worker/sessions/{id}",
        No("SESSION_NOT_FOUND"),
        No("SESSION_NOT_FOUND"),
        No("SESSION_NOT_FOUND"),
    ),
    worker("GET /v1/worker/second_factor", Yes, Yes, Yes),
    worker("POST /v1/worker/second_factor", Yes, Yes, Yes),
    // Nobody here has one: the codes that these requests give are wrong.
    worker(
        "POST /v1/worker/second_factor/confirm",
        No("INVALID_CODE"),
        No("INVALID_CODE"),
        No("INVALID_CODE"),
    ),
    worker(
        "POST /v1/worker/second_factor/recovery_codes",
        Yes,
        Yes,
        Yes,
    ),
    worker("DELETE /v1/worker/second_factor", Yes, Yes, Yes),
    worker("DELETE /v1/worker/session", Yes, Yes, Yes),
];

pub struct AdminRouteRow {
    pub route: &'static str,
    /// The first role that may do this.
    pub role: AdminRole,
    pub answer: Answer,
}

const fn admin(route: &'static str, role: AdminRole, answer: Answer) -> AdminRouteRow {
    AdminRouteRow {
        route,
        role,
        answer,
    }
}

use AdminRole::{Operator, Owner, Viewer};

pub const ADMINS: &[AdminRouteRow] = &[
    admin("GET /v1/admin/queue", Viewer, Yes),
    admin("GET /v1/admin/queue/{id}", Viewer, Yes),
    admin("GET /v1/admin/accounts", Viewer, Yes),
    admin("GET /v1/admin/accounts/{id}", Viewer, Yes),
    admin("GET /v1/admin/workers", Viewer, Yes),
    admin("GET /v1/admin/workers/{id}", Viewer, Yes),
    admin("GET /v1/admin/tasks", Viewer, Yes),
    admin("GET /v1/admin/tasks/{id}", Viewer, Yes),
    admin("GET /v1/admin/tasks/{id}/proofs", Viewer, Yes),
    admin(
        "GET /v1/admin/tasks/{id}/proofs/{proof_id}/evidence",
        Viewer,
        Yes,
    ),
    admin(
        "GET /v1/admin/tasks/{id}/proofs/{proof_id}/original",
        Operator,
        Yes,
    ),
    admin("GET /v1/admin/jobs", Viewer, Yes),
    admin("GET /v1/admin/notices", Viewer, Yes),
    admin("GET /v1/admin/audit", Viewer, Yes),
    admin("GET /v1/admin/report", Viewer, Yes),
    admin("GET /v1/admin/second_factor", Viewer, Yes),
    admin("POST /v1/admin/second_factor", Viewer, Yes),
    // Nobody here has one: the codes that these requests give are wrong.
    admin(
        "POST /v1/admin/second_factor/confirm",
        Viewer,
        No("INVALID_CODE"),
    ),
    admin("POST /v1/admin/second_factor/recovery_codes", Viewer, Yes),
    admin("DELETE /v1/admin/second_factor", Viewer, Yes),
    admin("POST /v1/admin/sessions", Viewer, Yes),
    admin("DELETE /v1/admin/session", Viewer, Yes),
    admin("POST /v1/admin/queue/{id}/claim", Operator, Yes),
    admin("POST /v1/admin/queue/{id}/release", Operator, Yes),
    admin("POST /v1/admin/queue/{id}/note", Operator, Yes),
    admin("POST /v1/admin/queue/{id}/clear", Operator, Yes),
    admin("POST /v1/admin/workers/{id}/verify", Operator, Yes),
    admin("POST /v1/admin/workers/{id}/refuse", Operator, Yes),
    admin("POST /v1/admin/workers/{id}/suspend", Operator, Yes),
    admin("POST /v1/admin/workers/{id}/restore", Operator, Yes),
    admin("POST /v1/admin/workers/{id}/skills", Operator, Yes),
    admin("POST /v1/admin/disputes/{id}/decide", Operator, Yes),
    admin(
        "DELETE /v1/admin/disputes/{id}/proposal",
        Operator,
        No("PROPOSAL_NOT_FOUND"),
    ),
    admin("POST /v1/admin/payouts/{id}/retry", Operator, Yes),
    // No job is dead.
    admin("POST /v1/admin/jobs/retry", Operator, No("JOB_NOT_FOUND")),
    admin("POST /v1/admin/accounts/{id}/suspend", Operator, Yes),
    admin("POST /v1/admin/accounts/{id}/restore", Operator, Yes),
    admin("POST /v1/admin/accounts", Owner, Yes),
    admin("POST /v1/admin/accounts/{id}/tier", Owner, Yes),
    admin("POST /v1/admin/accounts/{id}/keys", Owner, Yes),
    admin("GET /v1/admin/accounts/{id}/keys", Viewer, Yes),
    admin("DELETE /v1/admin/accounts/{id}/keys/{key_id}", Owner, Yes),
    admin("POST /v1/admin/workers/{id}/reset_link", Owner, Yes),
    admin("GET /v1/admin/keys", Owner, Yes),
    admin("POST /v1/admin/keys", Owner, Yes),
    admin("DELETE /v1/admin/keys/{id}", Owner, No("KEY_NOT_FOUND")),
    admin("POST /v1/admin/payouts/{id}/write_off", Owner, Yes),
    admin(
        "DELETE /v1/admin/payouts/{id}/proposal",
        Owner,
        No("PROPOSAL_NOT_FOUND"),
    ),
    admin(
        "POST /v1/admin/refunds/{id}/settle",
        Owner,
        No("REFUND_NOT_FAILED"),
    ),
    admin(
        "DELETE /v1/admin/refunds/{id}/proposal",
        Owner,
        No("PROPOSAL_NOT_FOUND"),
    ),
];

/// Routes that need no key. A key changes nothing.
pub const OPEN: &[(&str, Answer)] = &[
    ("GET /.well-known/legwork-keys.json", Yes),
    ("POST /v1/accounts/sign_up", Yes),
    ("POST /v1/accounts/confirm", No("LINK_EXPIRED")),
    ("POST /v1/accounts/password_reset", Yes),
    (
        "POST /v1/accounts/password_reset/confirm",
        No("LINK_EXPIRED"),
    ),
    ("POST /v1/workers", Yes),
    ("POST /v1/workers/confirm", No("LINK_EXPIRED")),
    ("POST /v1/workers/password_reset", Yes),
    (
        "POST /v1/workers/password_reset/confirm",
        No("LINK_EXPIRED"),
    ),
    ("POST /v1/workers/sessions", No("INVALID_CREDENTIALS")),
];
