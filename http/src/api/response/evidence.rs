//! The evidence for and against a proof, and where it was taken.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::domain::geo::{Point, to_decimeter};
use crate::domain::proofs::VALID_METERS;
use crate::domain::proofs::capture::CaptureSource;
use crate::domain::{Proof, Task, Timestamp};
use crate::usecases::{Evidence, Finding};
use crate::views::{Id, examples};

#[derive(Serialize, ToSchema)]
#[schema(as = Evidence, example = json!(EvidenceBody::example()))]
pub struct EvidenceBody {
    #[schema(value_type = Id)]
    proof_id: String,
    #[schema(value_type = Id)]
    task_id: String,
    /// Hash of the file as the worker sent it.
    sha256: String,
    /// What the camera recorded in the file.
    exif: ExifBody,
    /// What the device says about how the file was made, if it says anything. It is not checked.
    #[schema(required)]
    device: Option<DeviceBody>,
    #[schema(value_type = String, format = DateTime)]
    received_at: Timestamp,
    findings: Vec<FindingBody>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Exif)]
struct ExifBody {
    #[schema(required, value_type = Option<String>, format = DateTime)]
    taken_at: Option<Timestamp>,
    #[schema(required)]
    latitude: Option<f64>,
    #[schema(required)]
    longitude: Option<f64>,
}

/// What the device says about how a file was made.
#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = DeviceStatement)]
struct DeviceBody {
    /// By the clock of the device.
    #[schema(format = DateTime)]
    captured_at: String,
    /// What to add to the clock of the device to get ours. Null when it does not know.
    #[schema(required)]
    clock_offset_ms: Option<i64>,
    /// `camera`: made in the app. `picker`: a file that was there.
    #[schema(value_type = CaptureSource)]
    source: String,
    /// It waited on the device until there was a network.
    queued_offline: bool,
    /// Where the device was, oldest first.
    fixes: Vec<FixBody>,
}

#[derive(Serialize, Deserialize, ToSchema)]
#[schema(as = DeviceFix)]
struct FixBody {
    latitude: f64,
    longitude: f64,
    #[schema(required)]
    accuracy_meters: Option<f64>,
    #[schema(format = DateTime)]
    at: String,
    /// From the task.
    distance_meters: f64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Finding)]
struct FindingBody {
    code: &'static str,
    /// In the unit.
    #[schema(required)]
    value: Option<f64>,
    /// `m`, `s` or `bits`.
    #[schema(required)]
    unit: Option<&'static str>,
    /// For people.
    reason: String,
    /// The proof with the same photo: for developers, if it is one of theirs.
    #[schema(required, value_type = Option<Id>)]
    proof_id: Option<String>,
    #[schema(required, value_type = Option<Id>)]
    task_id: Option<String>,
}

impl EvidenceBody {
    fn example() -> Self {
        Self::from(Evidence {
            proof: examples::proof(),
            place: examples::submitted().task.place(),
            findings: vec![Finding {
                code: "exif_gps_far",
                measure: Some((1868.0, "m")),
                reason: "the place that the camera recorded, from the task, lies 1868 m away"
                    .to_owned(),
                other: None,
            }],
        })
    }
}

impl From<Evidence> for EvidenceBody {
    fn from(evidence: Evidence) -> Self {
        let device = evidence.device();
        let device = device.and_then(|device| serde_json::from_value(device).ok());
        let Evidence {
            proof, findings, ..
        } = evidence;
        let place = proof.metadata.place;
        Self {
            proof_id: proof.id.to_string(),
            task_id: proof.task.to_string(),
            sha256: proof.file.sha256,
            exif: ExifBody {
                taken_at: proof.metadata.taken_at,
                latitude: place.map(|place| place.latitude),
                longitude: place.map(|place| place.longitude),
            },
            device,
            received_at: proof.created_at,
            findings: findings.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<Finding> for FindingBody {
    fn from(finding: Finding) -> Self {
        Self {
            code: finding.code,
            value: finding.measure.map(|(value, _)| value),
            unit: finding.measure.map(|(_, unit)| unit),
            reason: finding.reason,
            proof_id: finding.other.map(|(_, proof)| proof.to_string()),
            task_id: finding.other.map(|(task, _)| task.to_string()),
        }
    }
}

/// A place on the map.
#[derive(Serialize, ToSchema)]
#[schema(as = Place)]
struct PlaceBody {
    latitude: f64,
    longitude: f64,
}

impl From<Point> for PlaceBody {
    fn from(point: Point) -> Self {
        Self {
            latitude: point.latitude,
            longitude: point.longitude,
        }
    }
}

/// The places of a task and of a proof, and how far they are from each other.
#[derive(Serialize, ToSchema)]
#[schema(as = ProofMap)]
pub struct MapBody {
    task: PlaceBody,
    /// The position that was sent.
    #[schema(required)]
    sent: Option<PlaceBody>,
    /// How far off the position may be, as the device says.
    #[schema(required)]
    accuracy_meters: Option<f64>,
    /// The place that the camera recorded in the file.
    #[schema(required)]
    exif: Option<PlaceBody>,
    #[schema(required)]
    sent_to_task_meters: Option<f64>,
    #[schema(required)]
    exif_to_task_meters: Option<f64>,
    #[schema(required)]
    exif_to_sent_meters: Option<f64>,
    /// What is farther from the task is not valid.
    valid_meters: f64,
}

impl MapBody {
    pub fn of(task: &Task, proof: &Proof) -> Self {
        let (place, sent, exif) = (task.place(), proof.gps, proof.metadata.place);
        let meters = |from: Option<Point>, to: Option<Point>| {
            let (from, to) = (from?, to?);
            Some(to_decimeter(from.distance_meters(to)))
        };
        Self {
            task: place.into(),
            sent: sent.map(Into::into),
            accuracy_meters: proof.accuracy_meters,
            exif: exif.map(Into::into),
            sent_to_task_meters: meters(sent, Some(place)),
            exif_to_task_meters: meters(exif, Some(place)),
            exif_to_sent_meters: meters(exif, sent),
            valid_meters: VALID_METERS,
        }
    }
}
