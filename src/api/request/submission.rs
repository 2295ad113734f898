//! A submission of proof as it arrives in a multipart form.

use axum::http::{HeaderMap, header};

use crate::api::error::ApiError;
use crate::api::request::fields::{Fields, RequestBody};
use crate::api::request::multipart::{
    FilePart, Form, FormBody, MAX_TEXT_BYTES, Wanted, form_bodies,
};
use crate::domain::geo::Point;
use crate::domain::rules::TextRule;
use crate::domain::{NotAllowed, ProofType, Task, proofs};
use crate::files::Received;
use crate::submission::SubmissionDetails;
use crate::usecases::{Expected, UseCaseError};

/// A form with one file for each type that the task asks for.
pub struct SubmitProof;

impl FormBody for SubmitProof {
    type Texts = SubmissionTexts;
    const FILES: &'static [FilePart] = &[
        FilePart::optional("photo", "JPEG or PNG.", ProofType::Photo.max_bytes()),
        FilePart::optional("video", "MP4.", ProofType::Video.max_bytes()),
        FilePart::optional("signature", "PNG.", ProofType::Signature.max_bytes()),
    ];
}

form_bodies!(SubmitProof);

/// What the form says beside its files.
pub struct SubmissionTexts {
    gps: Option<Point>,
    accuracy_meters: Option<f64>,
    device_info: Option<String>,
    submission_id: Option<String>,
}

const DEVICE_INFO: TextRule = TextRule {
    min: 1,
    max: MAX_TEXT_BYTES,
    pattern: None,
    format: None,
    check: |_, text| proofs::device_info(Some(text), "unknown").map(|_| text.to_owned()),
};

impl RequestBody for SubmissionTexts {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let gps = fields
            .doc("Required unless the task asks for a signature only.")
            .optional_point("gps_latitude", "gps_longitude");
        let accuracy_meters = fields
            .doc("How exact the device says its position is.")
            .optional_number("gps_accuracy_meters", &proofs::ACCURACY_METERS);
        let device_info = fields
            .doc("A JSON object. `user_agent` and `platform` are filled in when left out.")
            .optional_text("device_info", &DEVICE_INFO);
        let submission_id = fields
            .doc("Your own name for this submission. Sent again, it counts once and gets the same response.")
            .optional_text("submission_id", &proofs::SUBMISSION_ID);
        Some(Self {
            gps,
            accuracy_meters,
            device_info,
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
    let texts: SubmissionTexts = form.texts()?;
    let device_info = proofs::device_info(texts.device_info.as_deref(), user_agent)
        .map_err(|message| ApiError::invalid("device_info", &message))?;
    Ok(SubmissionDetails {
        gps: texts.gps,
        accuracy_meters: texts.accuracy_meters,
        device_info,
        submission_id: texts.submission_id,
    })
}

/// The files to store: none for a submission that was recorded before. Refuses a new one that the
/// task did not take when it began, or that lacks something the task asks for.
pub fn new_files(
    files: Vec<(ProofType, Received)>,
    task: &Task,
    details: &SubmissionDetails,
    made: bool,
    refused: Option<NotAllowed>,
) -> Result<Vec<(ProofType, Received)>, ApiError> {
    if made {
        return Ok(Vec::new());
    }
    if let Some(refused) = refused {
        return Err(refused.into());
    }
    let types: Vec<_> = files.iter().map(|(proof_type, _)| *proof_type).collect();
    let errors = proofs::incomplete(task, &types, details.gps);
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
