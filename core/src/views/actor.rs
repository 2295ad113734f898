//! Who did something.

use serde::Serialize;
use utoipa::ToSchema;

use crate::domain::{Actor, ActorKind};
use crate::views::Id;

/// Who did it.
#[derive(Serialize, ToSchema)]
#[schema(as = Actor)]
pub struct ActorBody {
    #[serde(rename = "type")]
    kind: ActorKind,
    /// The id of the API key, (simulated) worker or admin key; null for any other actor.
    #[schema(required, value_type = Option<Id>)]
    id: Option<String>,
}

impl From<Actor> for ActorBody {
    fn from(actor: Actor) -> Self {
        Self {
            kind: actor.kind,
            id: actor.id,
        }
    }
}
