//! Proofs: submission, review, evidence.

pub(super) mod evidence;
pub(super) mod review_proof;
pub(super) mod submit_proof;

pub use evidence::{Evidence, Finding, evidence, evidence_for_admins};
pub use review_proof::{Reviewed, approve_proof, reject_proof, tell_of_review};
pub use submit_proof::{
    Expected, expect_submission, has_storage, submission_was_made, submit_proof,
};
