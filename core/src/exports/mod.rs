//! Exports: ZIP files with everything that is held about a person. Each part holds a bounded number of
//! bytes, so that a large account becomes several parts, made by one job after the other.

mod csv;
mod developer;
mod part;
mod section;
mod worker;

use std::time::{Duration, Instant};

use crate::ambient::{self, Clock};
use crate::archive::TooLarge;
use crate::domain::exports::Export;
use crate::domain::people::Person;
use crate::domain::{ExportId, Timestamp};
use crate::files::{FileKey, Files, FilesError, Prefix, StoredFile};
use crate::store::{Store, Tx};
use crate::usecases::UseCaseError;

use csv::Tables;
use part::PartWriter;
use section::{Place, Unit};

/// When a part is ended: it has so many bytes, or so many units (a task, or a page of a list), or took
/// so long. A single task may be larger, up to what can be submitted for it.
#[derive(Clone, Copy, Debug)]
pub struct PartLimits {
    pub bytes: u64,
    pub units: usize,
    pub time: Duration,
}

impl Default for PartLimits {
    fn default() -> Self {
        Self {
            bytes: 128 << 20,
            // Of up to 16 entries each: a ZIP file has room for 65,534.
            units: 3_000,
            time: Duration::from_secs(30),
        }
    }
}

/// What a part is made from, and how large it gets.
pub struct PartMaker<'a> {
    pub store: &'a Store,
    pub files: &'a Files,
    pub clock: &'a Clock,
    pub limits: PartLimits,
}

/// Why a part could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    #[error(transparent)]
    UseCase(#[from] UseCaseError),
    #[error(transparent)]
    Files(#[from] FilesError),
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

/// A part that is stored, and where the next one begins. None after the last part.
pub struct MadePart {
    pub stored: StoredFile,
    pub next: Option<String>,
}

/// Makes the next part of an export and stores it.
pub async fn make_part(
    maker: PartMaker<'_>,
    export: &Export,
    number: i64,
) -> Result<MadePart, ExportError> {
    let PartMaker {
        store,
        files,
        clock,
        limits,
    } = maker;
    let (now, begun) = (clock.now(), Instant::now());
    let mut part = PartWriter::begin(files, now).await?;
    let readme = match export.person {
        Person::Account(_) => developer::README,
        Person::Worker(_) => worker::README,
        Person::Admin(_) => "",
    };
    part.entry("README.txt", readme.as_bytes()).await?;
    let mut tables = Tables::default();
    let (mut place, mut units) = (Place::parse(&export.place), 0);
    let next = loop {
        let page = read_page(store, export.person, &place, now).await?;
        let Some(page) = page else { break None };
        let mut full = false;
        if page.is_empty() {
            place = place.next_section();
        }
        for unit in page {
            let bytes = part.written() + unit.bytes;
            full = units > 0
                && (bytes > limits.bytes || units == limits.units || begun.elapsed() > limits.time);
            if full {
                break;
            }
            place = place.after(&unit.after);
            part.unit(unit, &mut tables).await?;
            units += 1;
        }
        if full {
            break Some(place.to_string());
        }
    };
    for (name, text) in tables.into_files() {
        part.entry(&name, text.as_bytes()).await?;
    }
    let id = ExportId::new(now, &ambient::random());
    let key = FileKey::new(Prefix::Exports, id.as_u128());
    let received = part.finish(number).await?;
    let stored = files.keep(received, key, "application/zip").await?;
    Ok(MadePart { stored, next })
}

/// The next units after a place; none after the last section.
async fn read_page(
    store: &Store,
    person: Person,
    place: &Place,
    now: Timestamp,
) -> Result<Option<Vec<Unit>>, UseCaseError> {
    let place = place.clone();
    store
        .snapshot(move |tx: &mut Tx<'_>| match person {
            Person::Account(account) => developer::page(tx, account, &place, now),
            Person::Worker(worker) => worker::page(tx, worker, &place, now),
            // Nobody asks for these: a key is all that is held.
            Person::Admin(_) => Ok(None),
        })
        .await
}
