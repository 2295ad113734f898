//! The parts of the description that operations share. It imports no resource.

mod finish;
pub mod parameters;
mod webhooks;

use utoipa::Modify;
use utoipa::openapi::OpenApi;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};

pub use crate::api::error::codes::can_answer as errors;
pub use crate::api::error::codes::groups;
pub use finish::{finish, say_needs, secure};
pub use parameters::IdempotencyKeyHeader;

#[derive(utoipa::OpenApi)]
#[openapi(
    info(
        title = "Legwork",
        description = "A marketplace for physical work. Create a task at a place with a budget; \
            a verified worker goes there and sends proof; you approve and the worker is paid.\n\n\
            The prefix of the API key chooses the environment: `svc_live_` keys act on live data, \
            `svc_test_` keys on test data.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT"),
    ),
    servers((url = "/", description = "This server")),
    tags(
        (name = "Tasks", description = "Create tasks and follow them"),
        (name = "Proofs", description = "Review what workers submit"),
        (name = "Payments", description = "How live tasks are paid for, and where the money is"),
        (name = "Webhooks", description = "Events: sent to your URL, listed or streamed"),
        (name = "Account", description = "The account, its API keys and its usage"),
        (name = "Test helpers", description = "Move test tasks to any status and advance the test clock"),
        (name = "Workers", description = "Find tasks, do them and get paid"),
        (name = "Admin", description = "Run the marketplace"),
    ),
    components(schemas(crate::api::error::ErrorBody)),
    modifiers(&Keys),
)]
pub struct Description;

/// Who may call an operation, as the description names them.
#[derive(Clone, Copy)]
pub enum Security {
    DeveloperKey,
    WorkerToken,
    AdminKey,
}

impl Security {
    const ALL: [Self; 3] = [Self::DeveloperKey, Self::WorkerToken, Self::AdminKey];

    const fn name(self) -> &'static str {
        match self {
            Self::DeveloperKey => "developer_key",
            Self::WorkerToken => "worker_token",
            Self::AdminKey => "admin_key",
        }
    }

    const fn format(self) -> &'static str {
        match self {
            Self::DeveloperKey => "svc_live_... or svc_test_...",
            Self::WorkerToken => "svc_worker_...",
            Self::AdminKey => "svc_admin_...",
        }
    }

    const fn description(self) -> &'static str {
        match self {
            Self::DeveloperKey => {
                "The API key of a developer account. Its prefix chooses live or test."
            }
            Self::WorkerToken => "The token that a worker gets at sign-up or sign-in.",
            Self::AdminKey => "The key of an admin. Its role decides what it may do.",
        }
    }
}

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut OpenApi) {
        let components = openapi.components.get_or_insert_default();
        for security in Security::ALL {
            let scheme = HttpBuilder::new()
                .scheme(HttpAuthScheme::Bearer)
                .bearer_format(security.format())
                .description(Some(security.description()))
                .build();
            components.add_security_scheme(security.name(), SecurityScheme::Http(scheme));
        }
    }
}
