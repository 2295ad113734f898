//! A submission on its way from a form to kept files and rows: all of it, or nothing.

use std::io::Write;

use bytes::Bytes;

use super::App;
use super::error::ApiError;
use super::uploads::Form;
use crate::ambient;
use crate::domain::geo::Point;
use crate::domain::task::{ProofType, field};
use crate::domain::{
    Embedded, Fault, Proof, ProofFile, ProofId, Submission, SubmittedFile, Task, rules,
};
use crate::files::{FileKey, Received, Shelf, StoredFile};
use crate::media::{self, InspectError, Inspected};

/// The file parts that a submission can have.
pub const FILES: [(&str, u64); 3] = [
    ("photo", ProofType::Photo.max_bytes()),
    ("video", ProofType::Video.max_bytes()),
    ("signature", ProofType::Signature.max_bytes()),
];

pub const TEXTS: [&str; 5] = [
    "gps_latitude",
    "gps_longitude",
    "gps_accuracy_meters",
    "device_info",
    "submission_id",
];

/// What a submission says beside its files.
#[derive(Clone, Debug)]
pub struct Circumstances {
    pub gps: Option<Point>,
    pub accuracy_meters: Option<f64>,
    pub device_info: String,
    pub submission_id: Option<String>,
}

impl Circumstances {
    pub fn of(form: &Form, user_agent: &str) -> Result<Self, ApiError> {
        let mut faults = Vec::new();
        let latitude = number(form, "gps_latitude", field::latitude, &mut faults);
        let longitude = number(form, "gps_longitude", field::longitude, &mut faults);
        if latitude.is_some() != longitude.is_some() && faults.is_empty() {
            let message = "must be given together with gps_latitude";
            faults.push(Fault::new("gps_longitude", message));
        }
        let accuracy = |meters| rules::between(meters, 0.0, 100_000.0);
        let accuracy_meters = number(form, "gps_accuracy_meters", accuracy, &mut faults);
        let device_info = match device_info(form.text("device_info"), user_agent) {
            Ok(info) => info,
            Err(message) => {
                faults.push(Fault::new("device_info", message));
                String::new()
            }
        };
        let submission_id = form
            .text("submission_id")
            .map(|text| rules::text(text, 1, 255));
        let submission_id = submission_id.transpose().unwrap_or_else(|message| {
            faults.push(Fault::new("submission_id", message));
            None
        });
        if !faults.is_empty() {
            return Err(ApiError::Validation(faults));
        }
        let gps = latitude.zip(longitude);
        Ok(Self {
            gps: gps.map(|(latitude, longitude)| Point {
                latitude,
                longitude,
            }),
            accuracy_meters,
            device_info,
            submission_id,
        })
    }
}

fn number(
    form: &Form,
    name: &str,
    rule: impl Fn(f64) -> Result<f64, String>,
    faults: &mut Vec<Fault>,
) -> Option<f64> {
    let text = form.text(name)?.trim();
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    match number
        .ok_or_else(|| "must be a number".to_owned())
        .and_then(rule)
    {
        Ok(number) => Some(number),
        Err(message) => {
            faults.push(Fault::new(name, message));
            None
        }
    }
}

/// The device as it describes itself, with at least its user agent and its platform.
pub fn device_info(given: Option<&str>, user_agent: &str) -> Result<String, String> {
    let mut info = match given {
        None => serde_json::Map::new(),
        Some(text) => serde_json::from_str(text).map_err(|_| "must be a JSON object".to_owned())?,
    };
    for (name, default) in [("user_agent", user_agent), ("platform", "unknown")] {
        let text = info.entry(name).or_insert_with(|| default.into());
        if !text.is_string() {
            return Err(format!("must have a string as {name}"));
        }
    }
    Ok(serde_json::Value::Object(info).to_string())
}

/// One file for each type that the task asks for, no other, and where it was taken.
pub fn check_complete(
    task: &Task,
    types: &[ProofType],
    gps: Option<Point>,
) -> Result<(), ApiError> {
    let mut faults = Vec::new();
    for wanted in &task.proof_types {
        if !types.contains(wanted) {
            faults.push(Fault::new(wanted.as_str(), "is required by this task"));
        }
    }
    for given in types {
        if !task.proof_types.contains(given) {
            faults.push(Fault::new(given.as_str(), "is not asked for by this task"));
        }
    }
    if gps.is_none() && task.proof_types.iter().any(|wanted| wanted.needs_gps()) {
        for name in ["gps_latitude", "gps_longitude"] {
            faults.push(Fault::new(name, "is required"));
        }
    }
    if faults.is_empty() {
        Ok(())
    } else {
        Err(ApiError::Validation(faults))
    }
}

/// Files that are kept and not yet named by any row. Whoever does not need them lets go of them.
#[derive(Default)]
pub struct KeptFiles {
    keys: Vec<FileKey>,
    pub files: Vec<SubmittedFile>,
}

impl KeptFiles {
    pub async fn let_go(&self, app: &App) {
        for key in &self.keys {
            if let Err(error) = app.files.delete(*key).await {
                tracing::warn!(%error, %key, "a file is left to the sweep");
            }
        }
    }
}

/// Looks into every file before any is kept, then keeps them all.
pub async fn keep_all(app: &App, files: Vec<(ProofType, Received)>) -> Result<KeptFiles, ApiError> {
    let mut looked_into = Vec::new();
    let mut faults = Vec::new();
    for (proof_type, received) in files {
        match look_into(proof_type, received).await? {
            Ok(file) => looked_into.push(file),
            Err(message) => faults.push(Fault::new(proof_type.as_str(), message)),
        }
    }
    if !faults.is_empty() {
        return Err(ApiError::Validation(faults));
    }
    let mut kept = KeptFiles::default();
    for file in looked_into {
        if let Err(error) = keep(app, &mut kept, file).await {
            kept.let_go(app).await;
            return Err(error);
        }
    }
    Ok(kept)
}

/// A file that is what it should be.
pub struct LookedInto {
    proof_type: ProofType,
    pub received: Received,
    pub inspected: Inspected,
    /// The picture without what the camera wrote into it. A video is shown as it is.
    shown: Option<Vec<u8>>,
}

/// Looks into a file, off the threads that serve; says what is wrong with it.
pub async fn look_into(
    proof_type: ProofType,
    received: Received,
) -> Result<Result<LookedInto, String>, ApiError> {
    let looking = move || {
        let inspected = media::inspect(received.path(), proof_type)?;
        let mut shown = None;
        if proof_type != ProofType::Video {
            let mut bytes = Vec::new();
            media::strip(received.path(), &mut bytes, inspected.content_type)?;
            bytes.flush()?;
            shown = Some(bytes);
        }
        Ok(LookedInto {
            proof_type,
            received,
            inspected,
            shown,
        })
    };
    let permit = media::inspection_permit().await;
    let looked = tokio::task::spawn_blocking(move || {
        let looked = looking();
        drop(permit);
        looked
    });
    let looked = looked.await;
    let unavailable = |reason: String| crate::files::FilesError::Unavailable(reason);
    match looked.map_err(|e| unavailable(e.to_string()))? {
        Ok(file) => Ok(Ok(file)),
        Err(InspectError::Rejected(why)) => Ok(Err(why.to_string())),
        Err(InspectError::Unreadable(error)) => Err(unavailable(error.to_string()).into()),
    }
}

async fn keep(app: &App, kept: &mut KeptFiles, file: LookedInto) -> Result<(), ApiError> {
    let (now, content_type) = (app.clock.now(), file.inspected.content_type);
    let id = ProofId::new(now, &ambient::random());
    let key = FileKey::new(Shelf::Proofs, id.as_u128());
    let original = match file.shown {
        None => key,
        Some(_) => {
            let id = ProofId::new(now, &ambient::random());
            FileKey::new(Shelf::Proofs, id.as_u128())
        }
    };
    kept.keys.push(original);
    let stored = app
        .files
        .keep(file.received, original, content_type)
        .await?;
    let mut shown: StoredFile = stored.clone();
    if let Some(bytes) = file.shown {
        kept.keys.push(key);
        shown = app
            .files
            .put(key, Bytes::from(bytes), content_type, now)
            .await?;
    }
    kept.files.push(SubmittedFile {
        id,
        proof_type: file.proof_type,
        file: ProofFile {
            key: shown.key.to_string(),
            original_key: stored.key.to_string(),
            content_type: content_type.to_owned(),
            size_bytes: shown.size as i64,
            sha256: stored.sha256,
        },
        embedded: embedded(&file.inspected),
    });
    Ok(())
}

fn embedded(inspected: &Inspected) -> Embedded {
    let exif = inspected.exif;
    let place = exif.latitude.zip(exif.longitude);
    Embedded {
        taken_at: exif.taken_at,
        taken_at_is_local: exif.taken_at.is_some() && !exif.has_offset,
        place: place.map(|(latitude, longitude)| Point {
            latitude,
            longitude,
        }),
        perceptual_hash: inspected.perceptual_hash.map(u64::cast_signed),
    }
}

/// Records a submission whose files are kept; what is not needed in the end is let go of.
pub async fn record<F>(
    app: &App,
    circumstances: Circumstances,
    kept: KeptFiles,
    mut record: F,
) -> Result<Vec<Proof>, ApiError>
where
    F: FnMut(
            &mut crate::store::Tx<'_>,
            &Submission,
            crate::domain::Timestamp,
        ) -> Result<(Vec<Proof>, bool), crate::usecases::Refusal>
        + Send
        + 'static,
{
    let submission = Submission {
        gps: circumstances.gps,
        accuracy_meters: circumstances.accuracy_meters,
        device_info: circumstances.device_info,
        submission_id: circumstances.submission_id,
        files: kept.files.clone(),
    };
    let clock = app.clock.clone();
    let recorded = app
        .store
        .write(move |tx| record(tx, &submission, clock.now()))
        .await;
    match recorded {
        Ok((proofs, true)) => Ok(proofs),
        Ok((proofs, false)) => {
            kept.let_go(app).await;
            Ok(proofs)
        }
        Err(refusal) => {
            // Whether a commit that was cut off has been kept is not known: the sweep finds out.
            if !matches!(refusal, crate::usecases::Refusal::Store(_)) {
                kept.let_go(app).await;
            }
            Err(refusal.into())
        }
    }
}
