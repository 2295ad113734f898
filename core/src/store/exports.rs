//! Exports and their files, and the pages in which they are read.

pub(super) mod pages;

use crate::domain::exports::{Export, ExportPart};
use crate::domain::people::{Person, PersonKind};
use crate::domain::{ExportId, JobKind, JobName, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro export;
    table exports;
    fn export_values<'a>(export: &'a Export);
    columns {
        id: export.id,
        owner_kind: export.person.kind(),
        owner_id: export.person.id(),
        status: export.status,
        place: &export.place,
        created_at: export.created_at,
        ready_at: export.ready_at,
        expires_at: export.expires_at,
    }
    row Export = Export {
        id,
        person: person(owner_kind, owner_id)?,
        status,
        place,
        created_at,
        ready_at,
        expires_at,
    };
}

columns! {
    macro part;
    table export_parts;
    fn part_values<'a>(export: ExportId, part: &'a ExportPart, now: Timestamp);
    columns {
        number: part.number,
        file_key: &part.key,
        size_bytes: part.size_bytes,
        sha256: &part.sha256,
    }
    inserted { export_id: export, created_at: now }
    row ExportPart = ExportPart { number, key: file_key, size_bytes, sha256 };
}

crate::store::statements! {
    /// Nothing if one of the owner is in preparation already.
    ADD = concat!(export!(insert), " ON CONFLICT DO NOTHING");
    ONE = concat!("SELECT ", export!(columns), " FROM exports WHERE id = ?1");
    OF_OWNER = concat!("SELECT ", export!(columns), " FROM exports
        WHERE owner_id = ?1 ORDER BY id DESC LIMIT ?2");
    ADVANCE = "UPDATE exports SET place = ?3
        WHERE id = ?1 AND place = ?2 AND status = 'preparing'";
    READY = "UPDATE exports SET status = 'ready', ready_at = ?3, expires_at = ?4
        WHERE id = ?1 AND place = ?2 AND status = 'preparing'";
    FAIL = "UPDATE exports SET status = 'failed' WHERE id = ?1 AND status = 'preparing'";
    EXPIRED = concat!("SELECT ", export!(columns), " FROM exports
        WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 50");
    DROP = "DELETE FROM exports WHERE id = ?1";
    ADD_PART = part!(insert);
    PARTS = concat!("SELECT ", part!(columns), " FROM export_parts
        WHERE export_id = ?1 ORDER BY number");
    DROP_PARTS = "DELETE FROM export_parts WHERE export_id = ?1";
}

/// How many exports are dropped in one transaction; the statement says the same number.
const DROPPED_AT_ONCE: usize = 50;
/// More than a person can have: they are deleted after a week.
const MOST: i64 = 100;

impl Tx<'_> {
    /// A collision if one of the same person is in preparation that this transaction has not seen.
    pub fn add_export(&mut self, export: &Export) -> Result<(), StoreError> {
        self.execute_one(ADD, &export_values(export))
    }

    pub fn export(&mut self, id: ExportId) -> Result<Option<Export>, StoreError> {
        self.optional(ONE, &[id.into()])
    }

    /// Newest first.
    pub fn exports_of(&mut self, person: Person) -> Result<Vec<Export>, StoreError> {
        self.all(OF_OWNER, &[person.id().into(), MOST.into()])
    }

    pub fn export_parts(&mut self, export: ExportId) -> Result<Vec<ExportPart>, StoreError> {
        self.all(PARTS, &[export.into()])
    }

    pub fn add_export_part(
        &mut self,
        export: ExportId,
        part: &ExportPart,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.defer(ADD_PART, &part_values(export, part, now))
    }

    /// Records how far an export has come, which must be where it was read. False when it is gone.
    pub fn advance_export(&mut self, export: &Export, place: &str) -> Result<bool, StoreError> {
        let values = [export.id.into(), (&export.place).into(), place.into()];
        Ok(self.execute(ADVANCE, &values)? == 1)
    }

    /// False when it is gone.
    pub fn export_ready(&mut self, export: &Export, now: Timestamp) -> Result<bool, StoreError> {
        let expires_at = now.plus(crate::domain::exports::KEPT);
        let values = [
            export.id.into(),
            (&export.place).into(),
            now.into(),
            expires_at.into(),
        ];
        Ok(self.execute(READY, &values)? == 1)
    }

    pub fn export_failed(&mut self, id: ExportId) -> Result<(), StoreError> {
        self.execute(FAIL, &[id.into()]).map(drop)
    }

    /// Deletes a batch of exports that have expired. Jobs delete their files. Returns whether there may
    /// be more.
    pub fn drop_expired_exports(&mut self, now: Timestamp) -> Result<bool, StoreError> {
        let expired: Vec<Export> = self.all(EXPIRED, &[now.into()])?;
        self.drop_exports(&expired, now)?;
        Ok(expired.len() == DROPPED_AT_ONCE)
    }

    /// Deletes all exports of a person. Jobs delete their files.
    pub fn drop_exports_of(&mut self, person: Person, now: Timestamp) -> Result<(), StoreError> {
        let exports = self.exports_of(person)?;
        self.drop_exports(&exports, now)
    }

    fn drop_exports(&mut self, exports: &[Export], now: Timestamp) -> Result<(), StoreError> {
        for export in exports {
            for part in self.export_parts(export.id)? {
                self.add_job(&JobName::new(JobKind::DeleteFile, &part.key), now)?;
            }
            self.defer(DROP_PARTS, &[export.id.into()])?;
            self.defer(DROP, &[export.id.into()])?;
        }
        Ok(())
    }
}

fn person(kind: PersonKind, id: String) -> Result<Person, StoreError> {
    let malformed = || StoreError::Failed(format!("an export of {id} has no owner"));
    Person::parse(kind, &id).ok_or_else(malformed)
}
