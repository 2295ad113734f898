//! Exports of a person's data: asked for, made part by part, told when ready.

use crate::domain::events::notification;
use crate::domain::exports::{Export, ExportPart, ExportStatus, MAX_A_DAY, next_at};
use crate::domain::people::Person;
use crate::domain::{ExportId, JobKind, JobName, NotificationKind, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;
use crate::usecases::events::notify;

/// Asks for an export, which a job makes. One at a time, and a few a day.
pub fn request_export(
    tx: &mut Tx<'_>,
    id: ExportId,
    person: Person,
    now: Timestamp,
) -> Result<Export, UseCaseError> {
    let earlier = tx.exports_of(person)?;
    let preparing = |export: &&Export| export.status == ExportStatus::Preparing;
    if let Some(export) = earlier.iter().find(preparing) {
        let id = export.id.to_string();
        return Err(UseCaseError::ExportUnderWay { id });
    }
    if let Some(next_at) = next_at(&earlier, now) {
        return Err(UseCaseError::TooManyExports {
            limit: MAX_A_DAY,
            next_at,
            retry_after_seconds: next_at.since(now).as_secs() + 1,
        });
    }
    let export = Export::new(id, person, now);
    tx.add_export(&export)?;
    tx.add_job(&JobName::new(JobKind::Export, format!("{id}/1")), now)?;
    Ok(export)
}

/// Records a part whose file is stored. `next` is where the next part begins; without one, the export is
/// ready.
pub fn export_part_made(
    tx: &mut Tx<'_>,
    export: &Export,
    part: &ExportPart,
    next: Option<&str>,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let is_there = match next {
        Some(place) => tx.advance_export(export, place)?,
        None => tx.export_ready(export, now)?,
    };
    if !is_there {
        // It was deleted with its owner.
        return Ok(tx.add_job(&JobName::new(JobKind::DeleteFile, &part.key), now)?);
    }
    tx.add_export_part(export.id, part, now)?;
    match next {
        Some(_) => {
            let next = format!("{}/{}", export.id, part.number + 1);
            Ok(tx.add_job(&JobName::new(JobKind::Export, next), now)?)
        }
        None => tell(tx, export, now),
    }
}

fn tell(tx: &mut Tx<'_>, export: &Export, now: Timestamp) -> Result<(), UseCaseError> {
    let (kind, occasion) = (
        NotificationKind::ExportReady,
        format!("export_ready:{}", export.id),
    );
    let until = now.plus(crate::domain::exports::KEPT);
    match export.person {
        Person::Account(account) => {
            let text = notification::export_ready("/v1/account/export", until);
            notify::developer(tx, account, kind, occasion, text, now)
        }
        Person::Worker(worker) => {
            let text = notification::export_ready("/v1/worker/export", until);
            notify::worker(tx, worker, kind, occasion, text, now)
        }
        Person::Admin(_) => Ok(()),
    }
}

/// The job was given up. `subject` is its subject.
pub fn export_gave_up(tx: &mut Tx<'_>, subject: &str) -> Result<(), UseCaseError> {
    let id = subject.split('/').next().and_then(ExportId::parse);
    id.map_or(Ok(()), |id| Ok(tx.export_failed(id)?))
}
