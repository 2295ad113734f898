//! What the device says about how the files of a submission were made.

use serde_json::{Map, Value};

use crate::api::error::ApiError;
use crate::api::request::fields::{self, Fields, RequestBody};
use crate::api::request::json;
use crate::api::request::multipart::MAX_TEXT_BYTES;
use crate::domain::geo::{self, Point};
use crate::domain::proofs::ACCURACY_METERS;
use crate::domain::proofs::capture::{CLOCK_OFFSET_MS, Capture, Fix, MAX_FIXES};
use crate::domain::rules::TextRule;
use crate::domain::{FieldErrors, ProofType, Timestamp};

pub type Captures = Vec<(ProofType, Capture)>;

/// As the text of a form has it.
pub const IN_FORM: TextRule<Captures> = TextRule {
    min: 1,
    max: MAX_TEXT_BYTES,
    pattern: None,
    format: None,
    check: |_, text| {
        let object = object_in_text(text)?;
        match fields::read::<InForm>(&object) {
            Ok(InForm(captures)) => Ok(captures),
            Err(ApiError::Validation(errors)) => Err(first_fault(&errors)),
            Err(_) => Err("must be a JSON object".to_owned()),
        }
    },
};

/// The object in a text of a form, read as strictly as a body.
pub fn object_in_text(text: &str) -> Result<Map<String, Value>, String> {
    json::object(text.as_bytes()).map_err(|errors| first_fault(&errors))
}

fn first_fault(errors: &FieldErrors) -> String {
    match errors.kept().first() {
        Some(error) if error.field != json::BODY => {
            format!("is wrong: {} {}", error.field, error.message)
        }
        _ => "must be a JSON object".to_owned(),
    }
}

struct InForm(Captures);

impl RequestBody for InForm {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        read(fields).map(Self)
    }
}

/// One record for each proof type.
pub fn read(fields: &mut Fields<'_>) -> Option<Captures> {
    let mut captures = Vec::new();
    for name in ["photo", "video", "signature"] {
        let capture = fields.optional_object(name, capture);
        captures.extend(ProofType::parse(name).zip(capture));
    }
    Some(captures)
}

fn capture(fields: &mut Fields<'_>) -> Option<Capture> {
    let captured_at = fields
        .doc("When it was made, by the clock of the device.")
        .text("captured_at", &Timestamp::RULE);
    let clock_offset_ms = fields
        .doc("What to add to the clock of the device to get ours, if it knows.")
        .optional_integer("clock_offset_ms", &CLOCK_OFFSET_MS);
    let source = fields.choice("source");
    let queued_offline = fields
        .doc("It waited on the device until there was a network.")
        .optional_boolean("queued_offline");
    let fixes = fields
        .doc("Where the device was, oldest first.")
        .optional_objects("fixes", MAX_FIXES, fix);
    Some(Capture {
        captured_at: captured_at?,
        clock_offset_ms,
        source: source?,
        queued_offline: queued_offline.unwrap_or(false),
        fixes: fixes.unwrap_or_default(),
    })
}

fn fix(fields: &mut Fields<'_>) -> Option<Fix> {
    let latitude = fields.number("latitude", &geo::LATITUDE);
    let longitude = fields.number("longitude", &geo::LONGITUDE);
    let accuracy_meters = fields.optional_number("accuracy_meters", &ACCURACY_METERS);
    let at = fields.text("at", &Timestamp::RULE);
    Some(Fix {
        place: Point::from_pair(latitude, longitude)?,
        accuracy_meters,
        at: at?,
    })
}
