//! Every operation, one line each. The line makes the method, and a line of [`OPERATIONS`].

use reqwest::Method;
use serde_json::json;

use crate::http::Call;
use crate::{Client, Pages, Result};
use crate::{objects::*, words::*};

/// `KIND name "path" (ids) [query or body: Type] {fields of a small body} -> Answer;`
macro_rules! operations {
    ($($(#[$about:meta])* $resource:ident $group:ident {
        $($(#[$what:meta])* $kind:ident $name:ident $path:literal ($($id:ident),*)
            $([$given:ident $type:ty])? $({$($field:ident: $of:ty),*})? -> $answer:ty;)*
    })*) => {
        impl Client {
            $($(#[$about])* pub fn $resource(&self) -> $group { $group(self.clone()) })*
        }

        /// Method, path and name of every operation.
        pub const OPERATIONS: &[(&str, &str, &str)] = &[$($(
            (method!($kind), $path, concat!(stringify!($resource), ".", stringify!($name))),
        )*)*];

        $(
            $(#[$about])*
            #[derive(Clone)]
            pub struct $group(pub(crate) Client);

            impl $group {
                $(operation! {
                    $(#[$what])* $kind $name $path ($($id),*)
                    $([$given $type])? {$($($field: $of),*)?} -> $answer
                })*
            }
        )*
    };
}

macro_rules! method {
    (LIST) => {
        "GET"
    };
    (BYTES) => {
        "GET"
    };
    ($method:ident) => {
        stringify!($method)
    };
}

macro_rules! operation {
    ($(#[$what:meta])* LIST $name:ident $path:literal ($($id:ident),*) $([$given:ident $type:ty])? {} -> $answer:ty) => {
        $(#[$what])*
        pub fn $name(&self $(, $id: &str)* $(, $given: &$type)?) -> Pages<$answer> {
            let call = Call::new(Method::GET, $path, &[$($id),*]);
            Pages::new(&self.0, call$(.$given($given))?)
        }
    };
    ($(#[$what:meta])* BYTES $name:ident $path:literal ($($id:ident),*) {} -> $answer:ty) => {
        $(#[$what])*
        pub async fn $name(&self $(, $id: &str)*) -> Result<$answer> {
            self.0.bytes(&Call::new(Method::GET, $path, &[$($id),*])).await
        }
    };
    ($(#[$what:meta])* $method:ident $name:ident $path:literal ($($id:ident),*) $([$given:ident $type:ty])? {} -> $answer:ty) => {
        $(#[$what])*
        pub async fn $name(&self $(, $id: &str)* $(, $given: &$type)?) -> Result<$answer> {
            self.0.json(Call::new(Method::$method, $path, &[$($id),*])$(.$given($given))?).await
        }
    };
    ($(#[$what:meta])* $method:ident $name:ident $path:literal ($($id:ident),*) {$($field:ident: $of:ty),+} -> $answer:ty) => {
        $(#[$what])*
        pub async fn $name(&self $(, $id: &str)* $(, $field: $of)+) -> Result<$answer> {
            let call = Call::new(Method::$method, $path, &[$($id),*]);
            self.0.json(call.fields(&[$((stringify!($field), json!($field))),+])).await
        }
    };
}

operations! {
    /// Work that people do for you.
    tasks Tasks {
        POST create "/v1/tasks" () [body CreateTask] -> CreatedTask;
        /// Creates the task of a quote, once: the same quote again answers the same task.
        POST redeem "/v1/tasks" () {quote_id: &str} -> CreatedTask;
        /// Up to 100 at once. Each is created or refused on its own.
        POST create_batch "/v1/tasks/batch" () {tasks: &[CreateTask]} -> CreatedTasks;
        LIST list "/v1/tasks" () [query TaskFilter] -> TaskSummary;
        LIST search "/v1/tasks/search" () [query TaskSearch] -> FoundTask;
        GET get "/v1/tasks/{id}" (id) -> Task;
        /// Changes a task that is still pending.
        PATCH update "/v1/tasks/{id}" (id) [body UpdateTask] -> Task;
        /// Refused with `REFUND_DIFFERS` if another amount than the expected one would come back.
        POST cancel "/v1/tasks/{id}/cancel" (id) {expected_refund_cents: Option<i64>} -> CancelledTask;
        LIST history "/v1/tasks/{id}/history" (id) [query Page] -> HistoryEntry;
        LIST ledger "/v1/tasks/{id}/ledger" (id) [query Page] -> LedgerEntry;
        GET payment "/v1/tasks/{id}/payment" (id) -> Payment;
        GET dispute "/v1/tasks/{id}/dispute" (id) -> Dispute;
        POST answer_dispute "/v1/tasks/{id}/dispute/statement" (id) {statement: &str} -> Dispute;
        /// A signed ZIP file with all that proves the work.
        BYTES bundle "/v1/tasks/{id}/bundle" (id) -> Vec<u8>;
    }
    /// What a task would cost, and whether somebody will do it.
    quotes Quotes {
        /// Creates nothing. It is good for 15 minutes.
        POST create "/v1/quotes" () [body CreateTask] -> Quote;
        GET get "/v1/quotes/{id}" (id) -> Quote;
    }
    /// Tasks of limited keys that wait for a person's yes. Only unlimited keys decide.
    approvals Approvals {
        /// Newest first.
        LIST list "/v1/approvals" () [query ApprovalFilter] -> Approval;
        GET get "/v1/tasks/{id}/approval" (task_id) -> Approval;
        /// Charges the task, as if it had just been created.
        POST approve "/v1/tasks/{id}/approval/approve" (task_id) -> Approval;
        /// Cancels the task.
        POST refuse "/v1/tasks/{id}/approval/refuse" (task_id) -> Approval;
    }
    /// What the account asked in the last 7 days. Only for unlimited keys.
    logs Logs {
        /// Newest first.
        LIST list "/v1/logs" () [query LogFilter] -> LoggedRequest;
    }
    /// What workers sent to show that the work is done.
    proofs Proofs {
        LIST list "/v1/tasks/{id}/proofs" (task_id) [query Page] -> Proof;
        /// Pays the worker.
        POST approve "/v1/tasks/{id}/proofs/{proof_id}/approve" (task_id, proof_id) -> ApprovedProof;
        POST reject "/v1/tasks/{id}/proofs/{proof_id}/reject" (task_id, proof_id) {reason: &str} -> RejectedProof;
        GET evidence "/v1/tasks/{id}/proofs/{proof_id}/evidence" (task_id, proof_id) -> Evidence;
    }
    /// What happened.
    events Events {
        /// Newest first.
        LIST list "/v1/events" () [query EventFilter] -> Event;
    }
    /// Your account.
    account AccountApi {
        GET get "/v1/account" () -> Account;
        GET usage "/v1/account/usage" () -> Usage;
        /// Mails the link that confirms your address once more.
        POST send_confirmation "/v1/account/confirmation" () -> Confirmation;
        GET security "/v1/account/security" () -> AccountSecurity;
        /// Whether test keys manage more than test keys.
        PUT set_security "/v1/account/security" () {test_keys_manage: TestKeysManage} -> AccountSecurity;
        /// For good. `confirm` is the e-mail address of the account.
        DELETE delete "/v1/account" () {confirm: &str} -> Account;
    }
    /// API keys.
    keys Keys {
        LIST list "/v1/account/keys" () -> ApiKey;
        /// The answer has the key itself. It is shown only once.
        POST create "/v1/account/keys" () [body CreateKey] -> CreatedKey;
        /// What a key may do and spend, and what is left.
        GET mandate "/v1/account/keys/{id}/mandate" (id) -> Mandate;
        PUT set_mandate "/v1/account/keys/{id}/mandate" (id) [body PutMandate] -> Mandate;
        /// From then on the key may do everything.
        DELETE lift_mandate "/v1/account/keys/{id}/mandate" (id) -> LiftedMandate;
        /// `confirm` is for the last key of its environment, and for the last one without a mandate. Without
        /// it, these are refused with `LAST_KEY`.
        DELETE revoke "/v1/account/keys/{id}" (id) {confirm: Option<bool>} -> RevokedKey;
    }
    /// What the key that you call with may do and spend.
    mandate Mandates {
        GET get "/v1/mandate" () -> Mandate;
    }
    /// What live tasks are charged to.
    payment_method PaymentMethods {
        GET get "/v1/account/payment_method" () -> PaymentMethod;
        PUT set "/v1/account/payment_method" () {payment_method: &str} -> PaymentMethod;
        DELETE delete "/v1/account/payment_method" () -> PaymentMethod;
    }
    /// Archives of everything that is held about you.
    exports Exports {
        LIST list "/v1/account/export" () -> Export;
        POST create "/v1/account/export" () -> Export;
    }
    /// Where events are sent.
    webhook WebhookApi {
        GET get "/v1/account/webhook" () -> WebhookState;
        PUT set "/v1/account/webhook" () [body PutWebhook] -> WebhookWithSecret;
        DELETE delete "/v1/account/webhook" () -> WebhookState;
        /// Sends a sample.
        POST test "/v1/account/webhook/test" () -> TestDelivery;
        /// The old secret signs for another 24 hours.
        POST rotate_secret "/v1/account/webhook/rotate_secret" () -> WebhookWithSecret;
    }
    /// What was sent to the webhook.
    deliveries Deliveries {
        LIST list "/v1/account/webhook/deliveries" () [query DeliveryFilter] -> Delivery;
        GET get "/v1/account/webhook/deliveries/{id}" (id) -> Delivery;
        POST redeliver "/v1/account/webhook/deliveries/{id}/redeliver" (id) -> Delivery;
        /// Sends again what has failed since a time.
        POST recover "/v1/account/webhook/deliveries/recover" () {since: &str} -> RecoveredDeliveries;
    }
    /// A simulated worker and a clock of your own, with a test key.
    test_helpers TestHelpers {
        /// To the next status, or on the shortest way to the one that is named.
        POST advance_task "/v1/test_helpers/tasks/{id}/advance" (id) {to: Option<Status>} -> Task;
        POST submit_proof "/v1/test_helpers/tasks/{id}/proofs" (task_id) [body SimulateProof] -> SubmittedProofs;
        GET clock "/v1/test_helpers/clock" () -> TestClock;
        POST advance_clock "/v1/test_helpers/clock" () [body AdvanceClock] -> TestClock;
        /// Back to real time.
        DELETE reset_clock "/v1/test_helpers/clock" () -> TestClock;
    }
}
