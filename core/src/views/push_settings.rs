//! Which push messages a worker wants, as the worker sets it.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::events::push_settings::{MessageGroup, PushSettings};

/// Which push messages you get, and when. E-mails and the list of notifications are not affected.
#[derive(Serialize, ToSchema)]
#[schema(as = PushSettings, example = json!(PushSettingsBody::example()))]
pub struct PushSettingsBody {
    /// What is not sent. Messages about your account always are.
    muted: Vec<MessageGroup>,
    /// Messages of the quiet hours come when they are over. Null for none.
    #[schema(required, example = "22:00")]
    quiet_from: Option<String>,
    #[schema(required, example = "07:00")]
    quiet_to: Option<String>,
    /// Your time zone: local time minus UTC.
    utc_offset_minutes: i64,
}

impl From<&PushSettings> for PushSettingsBody {
    fn from(settings: &PushSettings) -> Self {
        let quiet = settings.quiet;
        Self {
            muted: settings.muted.clone(),
            quiet_from: quiet.map(|quiet| quiet.from.to_string()),
            quiet_to: quiet.map(|quiet| quiet.to.to_string()),
            utc_offset_minutes: quiet.map_or(0, |quiet| quiet.utc_offset_minutes),
        }
    }
}

impl PushSettingsBody {
    pub fn example() -> Self {
        Self {
            muted: vec![MessageGroup::Bounties],
            quiet_from: Some("22:00".to_owned()),
            quiet_to: Some("07:00".to_owned()),
            utc_offset_minutes: -300,
        }
    }
}
