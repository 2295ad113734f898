//! Proofs, and what finds the same picture again.

use crate::domain::geo::Point;
use crate::domain::tasks::ProofType;
use crate::domain::{
    FileMetadata, Proof, ProofFile, ProofId, ProofStatus, TaskId, Timestamp, WorkerId,
};
use crate::store::{Row, StoreError, Tx};

macro_rules! columns {
    () => {
        "id, task_id, worker_id, attempt_number, type, file_key, original_key, content_type, \
         file_size_bytes, sha256, gps_latitude, gps_longitude, accuracy_meters, distance_meters, \
         geo_valid, device_info, taken_at, exif_latitude, exif_longitude, perceptual_hash, status, \
         rejection_reason, reviewed_at, created_at, taken_at_is_local"
    };
}

crate::store::statements! {
    INSERT = concat!("INSERT INTO proofs (", columns!(), ")
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
            ?19, ?20, ?21, ?22, ?23, ?24, ?25)");
    ONE = concat!("SELECT ", columns!(), " FROM proofs WHERE id = ?1 AND task_id = ?2");
    ANY = concat!("SELECT ", columns!(), " FROM proofs WHERE id = ?1");
    OF_TASK = concat!("SELECT ", columns!(), " FROM proofs WHERE task_id = ?1
        ORDER BY attempt_number, type LIMIT ?2 OFFSET ?3");
    OF_ATTEMPT = concat!("SELECT ", columns!(), " FROM proofs
        WHERE task_id = ?1 AND attempt_number = ?2 ORDER BY type");
    COUNT = "SELECT COUNT(*) FROM proofs WHERE task_id = ?1";
    REVIEW = "UPDATE proofs SET status = ?3, rejection_reason = ?4, reviewed_at = ?5
        WHERE task_id = ?1 AND attempt_number = ?2 AND status = 'pending'";
    ADD_HASH_PART = "INSERT INTO proof_hash_parts (part, bits, proof_id) VALUES (?1, ?2, ?3)";
    SHARING_HASH_PART = "SELECT proof_id FROM proof_hash_parts WHERE part = ?1 AND bits = ?2
        ORDER BY proof_id DESC LIMIT ?3";
    ADD_SUBMISSION = "INSERT INTO proof_submissions (task_id, submission_id, attempt_number)
        VALUES (?1, ?2, ?3)";
    SUBMISSION = "SELECT attempt_number FROM proof_submissions
        WHERE task_id = ?1 AND submission_id = ?2";
    FILE_IS_KNOWN = "SELECT CAST(1 AS BIGINT) FROM proofs WHERE file_key = ?1 OR original_key = ?1
        UNION ALL SELECT CAST(1 AS BIGINT) FROM verification_files WHERE file_key = ?1";
}

/// A hash of 64 bits in four parts.
fn parts(hash: i64) -> [(i64, i64); 4] {
    [0, 1, 2, 3].map(|part| (part, hash >> (16 * part) & 0xffff))
}

impl Tx<'_> {
    pub fn insert_proof(&mut self, proof: &Proof) -> Result<(), StoreError> {
        let (gps, exif) = (proof.gps, proof.metadata.place);
        self.defer(
            INSERT,
            &[
                proof.id.to_string().into(),
                proof.task.to_string().into(),
                proof.worker.to_string().into(),
                proof.attempt_number.into(),
                proof.proof_type.as_str().into(),
                (&proof.file.key).into(),
                (&proof.file.original_key).into(),
                (&proof.file.content_type).into(),
                proof.file.size_bytes.into(),
                (&proof.file.sha256).into(),
                gps.map(|gps| gps.latitude).into(),
                gps.map(|gps| gps.longitude).into(),
                proof.accuracy_meters.into(),
                proof.distance_meters.into(),
                i64::from(proof.geo_valid).into(),
                (&proof.device_info).into(),
                proof.metadata.taken_at.into(),
                exif.map(|exif| exif.latitude).into(),
                exif.map(|exif| exif.longitude).into(),
                proof.metadata.perceptual_hash.into(),
                proof.status.as_str().into(),
                proof.rejection_reason.as_ref().into(),
                proof.reviewed_at.into(),
                proof.created_at.into(),
                i64::from(proof.metadata.taken_at_is_local).into(),
            ],
        )?;
        for (part, bits) in proof.metadata.perceptual_hash.into_iter().flat_map(parts) {
            let values = [part.into(), bits.into(), proof.id.to_string().into()];
            self.defer(ADD_HASH_PART, &values)?;
        }
        Ok(())
    }

    /// A proof of a task. Whether the caller may see the task is the caller's to check.
    pub fn proof(&mut self, task: TaskId, id: ProofId) -> Result<Option<Proof>, StoreError> {
        let values = [id.to_string().into(), task.to_string().into()];
        self.optional(ONE, &values, read)
    }

    /// Any proof, for admins.
    pub fn any_proof(&mut self, id: ProofId) -> Result<Option<Proof>, StoreError> {
        self.optional(ANY, &[id.to_string().into()], read)
    }

    /// A page of a task's proofs, oldest first, and how many there are.
    pub fn proofs_of(
        &mut self,
        task: TaskId,
        limit: i64,
        offset: i64,
    ) -> Result<(Vec<Proof>, i64), StoreError> {
        let id = task.to_string();
        let values = [(&id).into(), limit.into(), offset.into()];
        let proofs = self.all(OF_TASK, &values, read)?;
        let count = self.optional(COUNT, &[(&id).into()], |row| row.get(0))?;
        Ok((proofs, count.unwrap_or(0)))
    }

    pub fn proofs_of_attempt(
        &mut self,
        task: TaskId,
        attempt: i64,
    ) -> Result<Vec<Proof>, StoreError> {
        self.all(OF_ATTEMPT, &[task.to_string().into(), attempt.into()], read)
    }

    /// Stores the verdict on all pending proofs of an attempt.
    pub fn review_attempt(
        &mut self,
        task: TaskId,
        attempt: i64,
        status: ProofStatus,
        reason: Option<&str>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            task.to_string().into(),
            attempt.into(),
            status.as_str().into(),
            reason.into(),
            now.into(),
        ];
        self.execute(REVIEW, &values).map(drop)
    }

    /// Proofs whose picture may be the same: they share a quarter of the hash.
    pub fn proofs_like(&mut self, hash: i64, limit: i64) -> Result<Vec<Proof>, StoreError> {
        let mut found: Vec<Proof> = Vec::new();
        for (part, bits) in parts(hash) {
            let values = [part.into(), bits.into(), limit.into()];
            let ids = self.all(SHARING_HASH_PART, &values, |row| {
                row.parse(0, ProofId::parse)
            })?;
            for id in ids {
                if !found.iter().any(|proof| proof.id == id) {
                    found.extend(self.any_proof(id)?);
                }
            }
        }
        Ok(found)
    }

    pub fn add_submission(
        &mut self,
        task: TaskId,
        submission_id: &str,
        attempt: i64,
    ) -> Result<(), StoreError> {
        let values = [
            task.to_string().into(),
            submission_id.into(),
            attempt.into(),
        ];
        self.defer(ADD_SUBMISSION, &values)
    }

    /// The attempt that a submission became.
    pub fn submission(
        &mut self,
        task: TaskId,
        submission_id: &str,
    ) -> Result<Option<i64>, StoreError> {
        let values = [task.to_string().into(), submission_id.into()];
        self.optional(SUBMISSION, &values, |row| row.get(0))
    }

    /// Whether a kept file belongs to something.
    pub fn file_is_known(&mut self, key: &str) -> Result<bool, StoreError> {
        let found = self.optional(FILE_IS_KNOWN, &[key.into()], |row| row.get::<i64>(0))?;
        Ok(found.is_some())
    }
}

fn point(latitude: Option<f64>, longitude: Option<f64>) -> Option<Point> {
    let pair = latitude.zip(longitude);
    pair.map(|(latitude, longitude)| Point {
        latitude,
        longitude,
    })
}

fn read(row: &Row<'_>) -> Result<Proof, StoreError> {
    Ok(Proof {
        id: row.parse(0, ProofId::parse)?,
        task: row.parse(1, TaskId::parse)?,
        worker: row.parse(2, WorkerId::parse)?,
        attempt_number: row.get(3)?,
        proof_type: row.parse(4, ProofType::parse)?,
        file: ProofFile {
            key: row.get(5)?,
            original_key: row.get(6)?,
            content_type: row.get(7)?,
            size_bytes: row.get(8)?,
            sha256: row.get(9)?,
        },
        gps: point(row.get(10)?, row.get(11)?),
        accuracy_meters: row.get(12)?,
        distance_meters: row.get(13)?,
        geo_valid: row.get::<i64>(14)? != 0,
        device_info: row.get(15)?,
        metadata: FileMetadata {
            taken_at: row.get(16)?,
            taken_at_is_local: row.get::<i64>(24)? != 0,
            place: point(row.get(17)?, row.get(18)?),
            perceptual_hash: row.get(19)?,
        },
        status: row.parse(20, ProofStatus::parse)?,
        rejection_reason: row.get(21)?,
        reviewed_at: row.get(22)?,
        created_at: row.get(23)?,
    })
}
