//! A submission of proof as it arrives in a multipart form.

use axum::http::{HeaderMap, header};

use crate::api::error::ApiError;
use crate::api::request::multipart::{Expected, Form};
use crate::domain::geo::Point;
use crate::domain::tasks::field;
use crate::domain::{FieldError, ProofType, Task, proofs, rules};
use crate::files::Received;
use crate::submission::SubmissionDetails;

/// The parts that a submission can have.
pub const PARTS: Expected<'static> = Expected {
    files: &[
        ("photo", ProofType::Photo.max_bytes()),
        ("video", ProofType::Video.max_bytes()),
        ("signature", ProofType::Signature.max_bytes()),
    ],
    texts: &[
        "gps_latitude",
        "gps_longitude",
        "gps_accuracy_meters",
        "device_info",
        "submission_id",
    ],
};

/// What the form says beside its files.
pub fn details(form: &Form, user_agent: &str) -> Result<SubmissionDetails, ApiError> {
    let mut errors = Vec::new();
    let latitude = number(form, "gps_latitude", field::latitude, &mut errors);
    let longitude = number(form, "gps_longitude", field::longitude, &mut errors);
    if latitude.is_some() != longitude.is_some() && errors.is_empty() {
        let message = "must be given together with gps_latitude";
        errors.push(FieldError::new("gps_longitude", message));
    }
    let accuracy_meters = number(form, "gps_accuracy_meters", proofs::accuracy, &mut errors);
    let device_info = proofs::device_info(form.text("device_info"), user_agent);
    let device_info = device_info.unwrap_or_else(|message| {
        errors.push(FieldError::new("device_info", message));
        String::new()
    });
    let submission_id = form.text("submission_id");
    let submission_id = submission_id.map(|text| rules::text(text, 1, 255));
    let submission_id = submission_id.transpose().unwrap_or_else(|message| {
        errors.push(FieldError::new("submission_id", message));
        None
    });
    if !errors.is_empty() {
        return Err(ApiError::Validation(errors));
    }
    Ok(SubmissionDetails {
        gps: Point::from_pair(latitude, longitude),
        accuracy_meters,
        device_info,
        submission_id,
    })
}

fn number(
    form: &Form,
    name: &str,
    rule: impl Fn(f64) -> Result<f64, String>,
    errors: &mut Vec<FieldError>,
) -> Option<f64> {
    let text = form.text(name)?.trim();
    let number = rules::number(text).and_then(rule);
    number
        .map_err(|message| errors.push(FieldError::new(name, message)))
        .ok()
}

/// Refuses a submission that lacks something the task asks for.
pub fn check_complete(
    task: &Task,
    files: &[(ProofType, Received)],
    details: &SubmissionDetails,
) -> Result<(), ApiError> {
    let types: Vec<_> = files.iter().map(|(proof_type, _)| *proof_type).collect();
    let errors = proofs::incomplete(task, &types, details.gps);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(ApiError::Validation(errors))
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
