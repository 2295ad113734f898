//! How much each worker has sent on a day.

use crate::domain::proofs::uploads;
use crate::domain::{Timestamp, WorkerId};
use crate::store::{StoreError, Tx};

crate::store::statements! {
    RESERVE = "INSERT INTO worker_uploads (worker_id, day, bytes) VALUES (?1, ?2, ?3)
        ON CONFLICT (worker_id, day) DO UPDATE SET bytes = worker_uploads.bytes + excluded.bytes
        WHERE worker_uploads.bytes + excluded.bytes <= ?4";
    GIVE_BACK = "UPDATE worker_uploads SET bytes = bytes - ?3 WHERE worker_id = ?1 AND day = ?2";
    PRUNE = "DELETE FROM worker_uploads WHERE (worker_id, day) IN (
            SELECT worker_id, day FROM worker_uploads WHERE day < ?1 ORDER BY day LIMIT 500)";
}

impl Tx<'_> {
    /// Counts bytes before they are sent. False when the day has no room for them.
    pub fn reserve_upload(
        &mut self,
        worker: WorkerId,
        day: i64,
        bytes: u64,
        limit: u64,
    ) -> Result<bool, StoreError> {
        let values = [
            worker.into(),
            day.into(),
            (bytes as i64).into(),
            (limit as i64).into(),
        ];
        Ok(self.execute(RESERVE, &values)? == 1)
    }

    /// Takes back what was reserved and not sent.
    pub fn give_back_upload(
        &mut self,
        worker: WorkerId,
        day: i64,
        bytes: u64,
    ) -> Result<(), StoreError> {
        let values = [worker.into(), day.into(), (bytes as i64).into()];
        self.execute(GIVE_BACK, &values).map(drop)
    }

    /// Deletes a batch of older days; returns how many.
    pub fn prune_uploads(&mut self, before: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[uploads::day(before).into()])
    }
}
