//! /v1/worker/push_settings: which push messages a worker wants, and when.

use axum::extract::{Request, State};
use serde_json::json;

use crate::api::App;
use crate::api::error::ApiError;
use crate::api::middleware::authentication::WorkerCaller;
use crate::api::openapi::groups;
use crate::api::request::body;
use crate::api::request::fields::{Fields, RequestBody, request_bodies};
use crate::api::response::json::JsonResponse;
use crate::domain::events::push_settings::{
    PushSettings, QuietHours, TimeOfDay, UTC_OFFSET_MINUTES,
};
use crate::domain::rules::ListRule;
use crate::store::StoreError;
use crate::views::push_settings::PushSettingsBody;

pub struct PutPushSettings(PushSettings);

impl RequestBody for PutPushSettings {
    fn read(fields: &mut Fields<'_>) -> Option<Self> {
        let muted = fields
            .doc("What is not to be sent. Nothing when left out.")
            .optional_choices("muted", &ListRule::ANY);
        let from = fields
            .doc("With `quiet_to`. No quiet hours when left out.")
            .optional_text("quiet_from", &TimeOfDay::RULE);
        let to = fields
            .doc("With `quiet_from`.")
            .optional_text("quiet_to", &TimeOfDay::RULE);
        let utc_offset_minutes = fields
            .doc("Local time minus UTC. 0 when left out.")
            .optional_integer("utc_offset_minutes", &UTC_OFFSET_MINUTES);
        match (from, to) {
            (Some(_), None) => fields.refuse_if_fine("quiet_to", "is required with quiet_from"),
            (None, Some(_)) => fields.refuse_if_fine("quiet_from", "is required with quiet_to"),
            _ => {}
        }
        Some(Self(PushSettings {
            muted: muted.unwrap_or_default(),
            quiet: from.zip(to).map(|(from, to)| QuietHours {
                from,
                to,
                utc_offset_minutes: utc_offset_minutes.unwrap_or(0),
            }),
        }))
    }
}

request_bodies! {
    PutPushSettings = json!({
        "muted": ["bounties"], "quiet_from": "22:00", "quiet_to": "07:00", "utc_offset_minutes": -300,
    });
}

/// Get your settings for push messages
#[utoipa::path(
    get, path = "/v1/worker/push_settings", tag = "Workers", operation_id = "getPushSettings",
    responses((status = 200, description = "The settings", body = PushSettingsBody), groups::Worker)
)]
pub async fn get(State(app): State<App>, caller: WorkerCaller) -> Result<JsonResponse, ApiError> {
    let worker = caller.worker.id;
    let read = app.store.read(move |tx| tx.push_settings(worker));
    let settings: Result<_, StoreError> = read.await;
    JsonResponse::ok(&PushSettingsBody::from(&settings?))
}

/// Change your settings for push messages
///
/// What is left out is turned off.
#[utoipa::path(
    put, path = "/v1/worker/push_settings", tag = "Workers", operation_id = "putPushSettings",
    request_body = PutPushSettings,
    responses((status = 200, description = "The settings", body = PushSettingsBody), groups::Worker,
        groups::Body)
)]
pub async fn put(
    State(app): State<App>,
    caller: WorkerCaller,
    request: Request,
) -> Result<JsonResponse, ApiError> {
    let PutPushSettings(settings) = body::required_json(request, &app).await?;
    let (worker, kept) = (caller.worker.id, settings.clone());
    app.store
        .write(move |tx| tx.set_push_settings(worker, &kept))
        .await?;
    JsonResponse::ok(&PushSettingsBody::from(&settings))
}
