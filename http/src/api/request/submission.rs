//! A submission of proof as it arrives: files in a multipart form, or uploads by their ids.

mod captures;

use axum::http::{HeaderMap, header};

use crate::api::error::ApiError;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::request::multipart::{
    FilePart, Form, FormBody, MAX_TEXT_BYTES, Wanted, form_bodies,
};
use crate::domain::geo::Point;
use crate::domain::rules::TextRule;
use crate::domain::{FieldError, NotAllowed, ProofType, Task, UploadId, proofs};
use crate::files::Received;
use crate::submission::SubmissionDetails;
use crate::usecases::{Expected, UseCaseError};
use captures::Captures;

/// A form with one file for each type that the task asks for.
pub struct SubmitProof;

impl FormBody for SubmitProof {
    type Texts = SubmissionTexts;
    const FILES: &'static [FilePart] = &[
        FilePart::optional("photo", "JPEG or PNG.", ProofType::Photo.max_bytes()),
        FilePart::optional(
            "video",
            "MP4, or QuickTime with H.264 or HEVC and AAC.",
            ProofType::Video.max_bytes(),
        ),
        FilePart::optional("signature", "PNG.", ProofType::Signature.max_bytes()),
    ];
}

form_bodies!(SubmitProof);

/// What the form says beside its files.
pub struct SubmissionTexts {
    place: SubmissionPlace,
    device_info: Option<String>,
    captures: Option<Captures>,
    submission_id: Option<String>,
}

/// Where the device says it is.
struct SubmissionPlace {
    gps: Option<Point>,
    accuracy_meters: Option<f64>,
}

impl SubmissionPlace {
    fn read(fields: &mut Fields<'_>) -> Self {
        let gps = fields
            .doc("Required unless the task asks for a signature only.")
            .optional_point("gps_latitude", "gps_longitude");
        let accuracy_meters = fields
            .doc("How exact the device says its position is.")
            .optional_number("gps_accuracy_meters", &proofs::ACCURACY_METERS);
        Self {
            gps,
            accuracy_meters,
        }
    }
}

fn submission_id(fields: &mut Fields<'_>) -> Option<String> {
    fields
        .doc("Your own name for this submission. Sent again, it counts once and gets the same response.")
        .optional_text("submission_id", &proofs::SUBMISSION_ID)
}

/// The same with files that were uploaded before. Each is named by its upload.
pub struct SubmitUploads {
    uploads: Vec<(ProofType, UploadId)>,
    texts: SubmissionTexts,
}

request_bodies! {
    /// One upload for each type that the task asks for.
    SubmitUploads = serde_json::json!({
        "photo": "019a8574c1f07c2e9d1b3a5f60718293",
        "gps_latitude": 40.7163,
        "gps_longitude": -73.9595,
        "gps_accuracy_meters": 12.5,
        "submission_id": "visit-17",
    });
}

const UPLOAD_ID: TextRule<UploadId> = TextRule {
    min: 32,
    max: 32,
    pattern: Some("^[0-9a-f]{32}$"),
    format: None,
    check: |_, text| {
        let id = UploadId::parse(text);
        id.ok_or_else(|| "must be the id of an upload".to_owned())
    },
};

impl RequestBody for SubmitUploads {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let mut uploads = Vec::new();
        for (name, doc) in [
            ("photo", "The upload of a JPEG or PNG."),
            (
                "video",
                "The upload of an MP4, or of QuickTime with H.264 or HEVC and AAC.",
            ),
            ("signature", "The upload of a PNG."),
        ] {
            let id = fields.doc(doc).optional_text(name, &UPLOAD_ID);
            uploads.extend(ProofType::parse(name).zip(id));
        }
        let place = SubmissionPlace::read(fields);
        let device_info = fields
            .doc("`user_agent` and `platform` are filled in when left out.")
            .optional_json_object("device_info", |text| match text.len() <= MAX_TEXT_BYTES {
                true => proofs::device_info(Some(&text), "unknown").map(|_| text),
                false => Err(format!("must be at most {MAX_TEXT_BYTES} bytes")),
            });
        let captures = fields
            .doc("What the device says about how each file was made, by proof type.")
            .optional_object("captures", captures::read);
        let submission_id = submission_id(fields);
        Some(Self {
            uploads,
            texts: SubmissionTexts {
                place,
                device_info,
                captures,
                submission_id,
            },
        })
    }
}

const DEVICE_INFO: TextRule = TextRule {
    min: 1,
    max: MAX_TEXT_BYTES,
    pattern: None,
    format: None,
    check: |_, text| {
        captures::object_in_text(text)?;
        proofs::device_info(Some(text), "unknown").map(|_| text.to_owned())
    },
};

impl RequestBody for SubmissionTexts {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let place = SubmissionPlace::read(fields);
        let device_info = fields
            .doc("A JSON object. `user_agent` and `platform` are filled in when left out.")
            .optional_text("device_info", &DEVICE_INFO);
        let captures = fields
            .doc("What the device says about how each file was made: a JSON object, as in a submission of uploads.")
            .optional_text("captures", &captures::IN_FORM);
        let submission_id = submission_id(fields);
        Some(Self {
            place,
            device_info,
            captures,
            submission_id,
        })
    }
}

/// What to take of the form: the files that the task asks for, as far as the developer's storage
/// goes.
pub fn wanted(expected: &Expected) -> Wanted {
    let types = &expected.task.proof_types;
    let asked = |name: &str| types.iter().any(|asked| asked.as_str() == name);
    let wanted = Wanted::files::<SubmitProof>(asked);
    if expected.refused.is_some() {
        return wanted.without_storing();
    }
    let limit_bytes = expected.storage_limit;
    let full = UseCaseError::StorageFull { limit_bytes };
    wanted.at_most(expected.storage_left, full.into())
}

pub fn details(form: &Form, user_agent: &str) -> Result<SubmissionDetails, ApiError> {
    form.texts::<SubmissionTexts>()?.details(user_agent)
}

impl SubmissionTexts {
    fn details(self, user_agent: &str) -> Result<SubmissionDetails, ApiError> {
        let device_info = proofs::device_info(self.device_info.as_deref(), user_agent)
            .map_err(|message| ApiError::invalid("device_info", &message))?;
        Ok(SubmissionDetails {
            gps: self.place.gps,
            accuracy_meters: self.place.accuracy_meters,
            device_info,
            captures: self.captures.unwrap_or_default(),
            submission_id: self.submission_id,
        })
    }
}

/// The uploads that a submission names.
pub type NamedUploads = Vec<(ProofType, UploadId)>;

impl SubmitUploads {
    /// A submission without a name has the name of its uploads: they are used once.
    pub fn details(self, user_agent: &str) -> Result<(SubmissionDetails, NamedUploads), ApiError> {
        let mut details = self.texts.details(user_agent)?;
        let ids: Vec<_> = self.uploads.iter().map(|(_, id)| id.to_string()).collect();
        let uploads = || format!("uploads:{}", ids.join(","));
        details.submission_id.get_or_insert_with(uploads);
        Ok((details, self.uploads))
    }
}

/// The files to store: none for a submission that was recorded before. Refuses a new one that the
/// task did not take when it began, or that lacks something the task asks for.
pub fn new_files<F>(
    files: Vec<(ProofType, F)>,
    task: &Task,
    details: &SubmissionDetails,
    made: bool,
    refused: Option<NotAllowed>,
) -> Result<Vec<(ProofType, F)>, ApiError> {
    if made {
        return Ok(Vec::new());
    }
    if let Some(refused) = refused {
        return Err(refused.into());
    }
    let types: Vec<_> = files.iter().map(|(proof_type, _)| *proof_type).collect();
    let mut errors = proofs::incomplete(task, &types, details.gps);
    for (proof_type, _) in &details.captures {
        if !types.contains(proof_type) {
            let field = format!("captures.{proof_type}");
            errors.push(FieldError::new(field, "is not a file of this submission"));
        }
    }
    if errors.is_empty() {
        Ok(files)
    } else {
        Err(ApiError::Validation(errors.into()))
    }
}

pub fn user_agent(headers: &HeaderMap) -> String {
    let agent = headers.get(header::USER_AGENT);
    let agent = agent.and_then(|value| value.to_str().ok());
    agent.unwrap_or("unknown").to_owned()
}

pub fn files_by_type(form: Form) -> Vec<(ProofType, Received)> {
    let typed = |(name, received)| Some((ProofType::parse(name)?, received));
    form.files.into_iter().filter_map(typed).collect()
}
