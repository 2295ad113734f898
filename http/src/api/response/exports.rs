//! Exports of a person's data, with fresh URLs of their files.

use serde::Serialize;
use utoipa::ToSchema;

use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::exports::{Export, ExportPart, ExportStatus};
use crate::domain::people::Person;
use crate::domain::{ExportId, Timestamp};
use crate::files::FileKey;
use crate::store::StoreError;
use crate::views::{Id, examples, to_json};

/// A copy of everything that is held about you.
#[derive(Serialize, ToSchema)]
#[schema(as = Export, example = json!(ExportBody::example()))]
pub struct ExportBody {
    #[schema(value_type = Id)]
    id: String,
    status: ExportStatus,
    /// ZIP files: one, or several if there is much. Empty until it is ready.
    files: Vec<ExportFile>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(required, value_type = Option<String>, format = DateTime)]
    ready_at: Option<Timestamp>,
    /// When it is deleted.
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

#[derive(Serialize, ToSchema)]
pub struct ExportFile {
    size_bytes: i64,
    sha256: String,
    /// A signed URL, valid for one hour. Ask again for a new one.
    url: String,
}

#[derive(Serialize, ToSchema)]
#[schema(example = json!(ExportList::example()))]
pub struct ExportList {
    data: Vec<ExportBody>,
}

impl ExportBody {
    fn of(export: &Export, files: Vec<ExportFile>) -> Self {
        Self {
            id: export.id.to_string(),
            status: export.status,
            files,
            created_at: export.created_at,
            ready_at: export.ready_at,
            expires_at: export.expires_at,
        }
    }

    /// One that was just asked for.
    pub fn json(export: &Export) -> Result<String, StoreError> {
        to_json(&Self::of(export, Vec::new()))
    }

    fn example() -> Self {
        let person = Person::Account(examples::account_id());
        let id = ExportId::new(examples::CREATED, &[7; 10]);
        Self::of(&Export::new(id, person, examples::CREATED), Vec::new())
    }
}

impl ExportList {
    fn example() -> Self {
        let mut export = ExportBody::example();
        export.status = ExportStatus::Ready;
        export.ready_at = Some(examples::PAID);
        export.files.push(ExportFile {
            size_bytes: 48_213,
            sha256: examples::sha256(),
            url: examples::file_url(&export.id).replace("/proofs/", "/exports/"),
        });
        Self { data: vec![export] }
    }
}

/// All exports of a person, newest first.
pub async fn exports_of(app: &App, person: Person) -> Result<ExportList, ApiError> {
    let found = app.store.snapshot(move |tx| {
        let mut found = Vec::new();
        for export in tx.exports_of(person)? {
            let parts = match export.status {
                ExportStatus::Ready => tx.export_parts(export.id)?,
                ExportStatus::Preparing | ExportStatus::Failed => Vec::new(),
            };
            found.push((export, parts));
        }
        Ok::<_, StoreError>(found)
    });
    let (now, mut data) = (app.clock.now(), Vec::new());
    for (export, parts) in found.await? {
        // Maintenance deletes it a little later.
        if now < export.expires_at {
            let files = signed(app, parts).await?;
            data.push(ExportBody::of(&export, files));
        }
    }
    Ok(ExportList { data })
}

async fn signed(app: &App, parts: Vec<ExportPart>) -> Result<Vec<ExportFile>, ApiError> {
    let mut files = Vec::new();
    for part in parts {
        let unreadable = || StoreError::Failed(format!("{} is no key of a file", part.key));
        let key = FileKey::parse(&part.key).ok_or_else(unreadable)?;
        let url = app
            .files
            .signed_url(key, "application/zip", app.clock.now());
        files.push(ExportFile {
            size_bytes: part.size_bytes,
            sha256: part.sha256,
            url: url.await?,
        });
    }
    Ok(files)
}
