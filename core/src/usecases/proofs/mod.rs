//! Proofs: uploads, submission, review, evidence.

pub(super) mod evidence;
pub(super) mod review_proof;
pub(super) mod submit_proof;
pub(super) mod uploads;

pub use evidence::{Evidence, Finding, evidence, evidence_for_admins, proof_of};
pub use review_proof::{Reviewed, approve_proof, reject_proof, tell_of_review};
pub use submit_proof::{
    Expected, expect_submission, has_storage, submission_was_made, submit_proof,
};
pub use uploads::{
    WholeUpload, advance_upload, begin_upload, continue_upload, delete_upload, own_upload,
    use_uploads, whole_uploads,
};
