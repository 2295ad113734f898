//! Proofs, and the index that finds similar pictures.

pub(super) mod files_owner;
pub(super) mod storage;
pub(super) mod uploads;

use crate::domain::geo::Point;
use crate::domain::{
    Environment, FileMetadata, Proof, ProofFile, ProofId, ProofStatus, TaskId, Timestamp, WorkerId,
};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro proof;
    table proofs;
    fn proof_values<'a>(proof: &'a Proof);
    columns {
        id: proof.id,
        task_id: proof.task,
        worker_id: proof.worker,
        attempt_number: proof.attempt_number,
        proof_type = "type": proof.proof_type,
        file_key: &proof.file.key,
        original_key: &proof.file.original_key,
        content_type: &proof.file.content_type,
        file_size_bytes: proof.file.size_bytes,
        sha256: &proof.file.sha256,
        gps_latitude: proof.gps.map(|gps| gps.latitude),
        gps_longitude: proof.gps.map(|gps| gps.longitude),
        accuracy_meters: proof.accuracy_meters,
        distance_meters: proof.distance_meters,
        geo_valid: proof.geo_valid,
        device_info: &proof.device_info,
        taken_at: proof.metadata.taken_at,
        taken_at_is_local: proof.metadata.taken_at_is_local,
        exif_latitude: proof.metadata.place.map(|place| place.latitude),
        exif_longitude: proof.metadata.place.map(|place| place.longitude),
        perceptual_hash: proof.metadata.perceptual_hash,
        status: proof.status,
        rejection_reason: &proof.rejection_reason,
        reviewed_at: proof.reviewed_at,
        created_at: proof.created_at,
        stored_bytes: proof.file.stored_bytes,
        files_expire_at: proof.files_expire_at,
        files_deleted_at: proof.files_deleted_at,
        capture: &proof.capture,
    }
    row Proof = Proof {
        id,
        task: task_id,
        worker: worker_id,
        attempt_number,
        proof_type,
        file: ProofFile {
            key: file_key,
            original_key,
            content_type,
            size_bytes: file_size_bytes,
            sha256,
            stored_bytes,
        },
        gps: Point::from_pair(gps_latitude, gps_longitude),
        accuracy_meters,
        distance_meters,
        geo_valid,
        device_info,
        metadata: FileMetadata {
            taken_at,
            taken_at_is_local,
            place: Point::from_pair(exif_latitude, exif_longitude),
            perceptual_hash,
        },
        status,
        rejection_reason,
        reviewed_at,
        created_at,
        files_expire_at,
        files_deleted_at,
        capture,
    };
}

crate::store::statements! {
    INSERT = proof!(insert);
    ONE = concat!("SELECT ", proof!(columns), " FROM proofs WHERE id = ?1 AND task_id = ?2");
    ANY = concat!("SELECT ", proof!(columns), " FROM proofs WHERE id = ?1");
    OF_TASK = concat!("SELECT ", proof!(columns), " FROM proofs WHERE task_id = ?1
        ORDER BY attempt_number, type LIMIT ?2 OFFSET ?3");
    OF_WORKER = concat!("SELECT ", proof!(columns), " FROM proofs
        WHERE worker_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3");
    OF_ATTEMPT = concat!("SELECT ", proof!(columns), " FROM proofs
        WHERE task_id = ?1 AND attempt_number = ?2 ORDER BY type");
    COUNT = "SELECT COUNT(*) FROM proofs WHERE task_id = ?1";
    OF_TASK_BY = concat!("SELECT ", proof!(columns), " FROM proofs
        WHERE task_id = ?1 AND worker_id = ?2 ORDER BY attempt_number, type");
    LAST_REJECTION = "SELECT rejection_reason FROM proofs
        WHERE task_id = ?1 AND worker_id = ?2 AND status = 'rejected'
        ORDER BY attempt_number DESC, type DESC LIMIT 1";
    REVIEW = "UPDATE proofs SET status = ?3, rejection_reason = ?4, reviewed_at = ?5
        WHERE task_id = ?1 AND attempt_number = ?2 AND status = 'pending'";
    ADD_HASH_PART = "INSERT INTO proof_hash_parts (part, bits, proof_id) VALUES (?1, ?2, ?3)";
    SHARING_HASH_PART = "SELECT proof_id FROM proof_hash_parts
        WHERE part = ?1 AND bits = ?2 AND proof_id < ?3
        ORDER BY proof_id DESC LIMIT ?4";
    /// Each quarter of the hash in the order of its number; newest first, up to 50 of each. Proofs from before
    /// the environments had parts of their own are told apart by their task.
    LIKE = "SELECT p.id, p.task_id, p.perceptual_hash FROM (
            SELECT proof_id FROM (SELECT proof_id FROM proof_hash_parts WHERE part = ?5 AND bits = ?1
                ORDER BY proof_id DESC LIMIT 50) newest
            UNION ALL
            SELECT proof_id FROM (SELECT proof_id FROM proof_hash_parts WHERE part = ?5 + 1 AND bits = ?2
                ORDER BY proof_id DESC LIMIT 50) newest
            UNION ALL
            SELECT proof_id FROM (SELECT proof_id FROM proof_hash_parts WHERE part = ?5 + 2 AND bits = ?3
                ORDER BY proof_id DESC LIMIT 50) newest
            UNION ALL
            SELECT proof_id FROM (SELECT proof_id FROM proof_hash_parts WHERE part = ?5 + 3 AND bits = ?4
                ORDER BY proof_id DESC LIMIT 50) newest
        ) alike JOIN proofs p ON p.id = alike.proof_id
        JOIN tasks t ON t.id = p.task_id AND t.environment || '' = ?6";
    ADD_SUBMISSION = "INSERT INTO worker_submissions
            (task_id, worker_id, submission_id, attempt_number) VALUES (?1, ?2, ?3, ?4)";
    /// For servers that run the program of before: they look there.
    ADD_OLD_SUBMISSION = "INSERT INTO proof_submissions (task_id, submission_id, attempt_number)
        VALUES (?1, ?2, ?3) ON CONFLICT (task_id, submission_id) DO NOTHING";
    SUBMISSION = "SELECT attempt_number FROM worker_submissions
            WHERE task_id = ?1 AND worker_id = ?2 AND submission_id = ?3
        UNION ALL SELECT s.attempt_number FROM proof_submissions s
            WHERE s.task_id = ?1 AND s.submission_id = ?3 AND EXISTS (
                SELECT 1 FROM proofs p WHERE p.task_id = s.task_id
                    AND p.attempt_number = s.attempt_number AND p.worker_id = ?2)
        LIMIT 1";
    HAS_ATTEMPTS = "SELECT CAST(1 AS BIGINT) FROM proofs
        WHERE task_id = ?1 AND worker_id = ?2 LIMIT 1";
    FILE_IS_KNOWN = "SELECT CAST(1 AS BIGINT) FROM proofs WHERE file_key = ?1 OR original_key = ?1
        UNION ALL SELECT CAST(1 AS BIGINT) FROM verification_files WHERE file_key = ?1
        UNION ALL SELECT CAST(1 AS BIGINT) FROM export_parts WHERE file_key = ?1
        UNION ALL SELECT CAST(1 AS BIGINT) FROM upload_parts WHERE file_key = ?1";
}

/// A hash of 64 bits in four parts. Those of test proofs have other numbers: whoever sends many must not hide
/// live ones behind them.
fn parts(hash: i64, environment: Environment) -> [(i64, i64); 4] {
    let first = first_part(environment);
    [0, 1, 2, 3].map(|part| (first + part, hash >> (16 * part) & 0xffff))
}

const fn first_part(environment: Environment) -> i64 {
    match environment {
        Environment::Live => 0,
        Environment::Test => 4,
    }
}

impl Tx<'_> {
    pub fn insert_proof(
        &mut self,
        proof: &Proof,
        environment: Environment,
    ) -> Result<(), StoreError> {
        self.defer(INSERT, &proof_values(proof))?;
        let hash = proof.metadata.perceptual_hash.into_iter();
        for (part, bits) in hash.flat_map(|hash| parts(hash, environment)) {
            let values = [part.into(), bits.into(), proof.id.into()];
            self.defer(ADD_HASH_PART, &values)?;
        }
        Ok(())
    }

    /// A proof of a task. The caller checks that it may see the task.
    pub fn proof(&mut self, task: TaskId, id: ProofId) -> Result<Option<Proof>, StoreError> {
        let values = [id.into(), task.into()];
        self.optional(ONE, &values)
    }

    /// Any proof, for admins.
    pub fn any_proof(&mut self, id: ProofId) -> Result<Option<Proof>, StoreError> {
        self.optional(ANY, &[id.into()])
    }

    /// A page of a task's proofs, oldest first, and how many there are.
    pub fn proofs_of(
        &mut self,
        task: TaskId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Proof>, i64), StoreError> {
        let values = [task.into(), limit.into(), offset.into()];
        let proofs = self.all(OF_TASK, &values)?;
        let count = self.optional(COUNT, &[task.into()])?;
        Ok((proofs, count.unwrap_or(0)))
    }

    /// Up to `limit` proofs of a worker in the order of their ids, after the given one.
    pub fn proofs_of_worker(
        &mut self,
        worker: WorkerId,
        after: &str,
        limit: i64,
    ) -> Result<Vec<Proof>, StoreError> {
        self.all(OF_WORKER, &[worker.into(), after.into(), limit.into()])
    }

    /// The proofs of a task that this worker submitted, oldest first. There are few attempts.
    pub fn proofs_of_task_by(
        &mut self,
        task: TaskId,
        worker: WorkerId,
    ) -> Result<Vec<Proof>, StoreError> {
        self.all(OF_TASK_BY, &[task.into(), worker.into()])
    }

    /// Why the last attempt of this worker that was rejected was rejected.
    pub fn last_rejection(
        &mut self,
        task: TaskId,
        worker: WorkerId,
    ) -> Result<Option<String>, StoreError> {
        let reason: Option<Option<String>> =
            self.optional(LAST_REJECTION, &[task.into(), worker.into()])?;
        Ok(reason.flatten())
    }

    pub fn proofs_of_attempt(
        &mut self,
        task: TaskId,
        attempt: i64,
    ) -> Result<Vec<Proof>, StoreError> {
        self.all(OF_ATTEMPT, &[task.into(), attempt.into()])
    }

    /// Stores the decision on all pending proofs of an attempt.
    pub fn review_attempt(
        &mut self,
        task: TaskId,
        attempt: i64,
        status: ProofStatus,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.into(),
            attempt.into(),
            status.into(),
            reason.into(),
            now.into(),
        ];
        self.execute(REVIEW, &values).map(drop)
    }

    /// Earlier proofs whose picture may be the same: they share a quarter of the hash.
    pub fn proofs_like(
        &mut self,
        hash: i64,
        environment: Environment,
        before: ProofId,
        limit: i64,
    ) -> Result<Vec<Proof>, StoreError> {
        let mut found: Vec<Proof> = Vec::new();
        for (part, bits) in parts(hash, environment) {
            let values = [part.into(), bits.into(), before.into(), limit.into()];
            let ids: Vec<ProofId> = self.all(SHARING_HASH_PART, &values)?;
            for id in ids {
                if !found.iter().any(|proof| proof.id == id) {
                    found.extend(self.any_proof(id)?);
                }
            }
        }
        Ok(found)
    }

    /// The same of all proofs, as ids and hashes, by one statement. One that shares several quarters comes as
    /// often.
    pub fn hashes_like(
        &mut self,
        hash: i64,
        environment: Environment,
    ) -> Result<Vec<(ProofId, TaskId, i64)>, StoreError> {
        let bits = parts(hash, environment).map(|(_, bits)| bits.into());
        let mut values = bits.to_vec();
        values.extend([first_part(environment).into(), environment.into()]);
        self.all(LIKE, &values)
    }

    pub fn add_submission(
        &mut self,
        task: TaskId,
        worker: WorkerId,
        submission_id: &str,
        attempt: i64,
    ) -> Result<(), StoreError> {
        let id = submission_id;
        let values = [task.into(), worker.into(), id.into(), attempt.into()];
        self.defer(ADD_SUBMISSION, &values)?;
        self.defer(
            ADD_OLD_SUBMISSION,
            &[task.into(), id.into(), attempt.into()],
        )
    }

    /// The attempt that a submission of this worker became.
    pub fn submission(
        &mut self,
        task: TaskId,
        worker: WorkerId,
        submission_id: &str,
    ) -> Result<Option<i64>, StoreError> {
        let values = [task.into(), worker.into(), submission_id.into()];
        self.optional(SUBMISSION, &values)
    }

    /// Whether this worker has submitted proof of the task before.
    pub fn has_attempts(&mut self, task: TaskId, worker: WorkerId) -> Result<bool, StoreError> {
        let found = self.optional::<i64>(HAS_ATTEMPTS, &[task.into(), worker.into()])?;
        Ok(found.is_some())
    }

    /// Whether a stored file belongs to a proof, a verification, an export or an upload.
    pub fn file_is_known(&mut self, key: &str) -> Result<bool, StoreError> {
        let found = self.optional::<i64>(FILE_IS_KNOWN, &[key.into()])?;
        Ok(found.is_some())
    }
}
