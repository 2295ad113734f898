//! Tasks: creation, search and every move.

pub(super) mod advance_task;
pub(super) mod approvals;
pub(super) mod by_clock;
pub(super) mod cancel_task;
pub(super) mod create_task;
pub(super) mod find_tasks;
pub(super) mod search_tasks;
pub(super) mod test_clock;
pub(super) mod transition;
pub(super) mod update_task;
pub(super) mod worker_tasks;

pub use advance_task::{advance_task, way};
pub use approvals::{AskedApproval, approve_task, refuse_task};
pub use by_clock::{expire_unpaid, transition_by_clock};
pub use cancel_task::cancel_task;
pub use create_task::{Funded, Funding, TaskOrder, create_task};
pub use find_tasks::{Found, FoundCursor, FoundPage, Search, find_tasks};
pub use search_tasks::{SearchedPage, TaskSearch, search_tasks};
pub use test_clock::{advance_test_clock, due_in_test, reset_test_clock, transition_in_test};
pub use transition::transition;
pub use update_task::update_task;
pub use worker_tasks::{
    AcceptTerms, OwnTask, accept_task, dispute_task, for_its_worker, offered_task, own_proofs,
    own_task, own_task_to_prove, transition_own_task,
};
