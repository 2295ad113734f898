//! What makes the pages an app: its service worker, its manifest and icons, and the way out of it.

use askama::Template;
use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde_json::json;

use crate::api::inside::Refused;
use crate::pages::kit::assets;
use crate::pages::kit::html::ok;
use crate::pages::kit::route::{PageRoute, view};
use crate::pages::kit::session::Needs;
use crate::pages::worker::frame::Frame;
use crate::pages::worker::texts::scripts::{SHELL, sentence};
use crate::pages::worker::visit::Stranger;

pub fn routes() -> Vec<PageRoute> {
    let open = Needs::Nothing;
    vec![
        view("/worker/sw.js", open, get(service_worker)),
        view("/worker/manifest.webmanifest", open, get(manifest)),
        view("/worker/icons/{name}", open, get(icon)),
        view("/worker/offline", open, get(offline)),
        view("/worker/reset", open, get(reset)),
    ]
}

/// It asks this server and nobody else.
const POLICY: &str = "default-src 'none'; script-src 'self'; connect-src 'self'";

async fn service_worker() -> impl IntoResponse {
    let headers = [
        (
            header::CONTENT_TYPE.as_str(),
            "text/javascript; charset=utf-8",
        ),
        (header::CACHE_CONTROL.as_str(), "no-cache"),
        (header::CONTENT_SECURITY_POLICY.as_str(), POLICY),
        // It also serves `/worker` itself, which lies above it.
        ("service-worker-allowed", "/worker"),
    ];
    (headers, assets::service_worker())
}

async fn manifest(visit: Stranger) -> impl IntoResponse {
    let lang = visit.t.lang;
    let icon = |name: &str, sizes: &str, purpose: &str| json!({"src": format!("/worker/icons/{name}"), "sizes": sizes, "type": "image/png", "purpose": purpose});
    let manifest = json!({
        "id": "/worker", "name": "Legwork", "short_name": "Legwork", "lang": lang,
        "description": sentence(lang, SHELL, "app_description"),
        "start_url": "/worker/tasks", "scope": "/worker", "display": "standalone",
        "background_color": "#f6f5f1", "theme_color": "#1f5f4a",
        "icons": [
            icon("192.png", "192x192", "any"), icon("512.png", "512x512", "any"),
            icon("maskable-512.png", "512x512", "maskable"),
        ],
    });
    let headers = [
        (header::CONTENT_TYPE, "application/manifest+json"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, manifest.to_string())
}

const ICONS: [(&str, &[u8]); 3] = [
    (
        "192.png",
        include_bytes!("../../../../assets/icons/192.png"),
    ),
    (
        "512.png",
        include_bytes!("../../../../assets/icons/512.png"),
    ),
    (
        "maskable-512.png",
        include_bytes!("../../../../assets/icons/maskable-512.png"),
    ),
];

async fn icon(Path(name): Path<String>) -> Result<Response, Refused> {
    let found = ICONS.iter().find(|(found, _)| *found == name);
    let (_, bytes) = found.ok_or_else(Refused::not_found)?;
    let headers = [
        (header::CONTENT_TYPE, "image/png"),
        (header::CACHE_CONTROL, "public, max-age=86400"),
    ];
    Ok((headers, *bytes).into_response())
}

/// Shown without a network, for pages that are not on the phone. It holds nothing of anybody.
#[derive(Template)]
#[template(path = "worker/offline.html")]
struct Offline {
    frame: Frame,
}

async fn offline(visit: Stranger) -> Response {
    let title = sentence(visit.t.lang, SHELL, "offline_title");
    ok(&Offline {
        frame: visit.frame(title),
    })
}

#[derive(Template)]
#[template(path = "worker/reset.html")]
struct Reset {
    frame: Frame,
}

async fn reset(visit: Stranger) -> Response {
    let title = sentence(visit.t.lang, SHELL, "reset_title");
    ok(&Reset {
        frame: visit.frame(title).script("worker_reset"),
    })
}

macro_rules! says {
    ($($page:ty),+) => { $(
        impl $page {
            fn say(&self, name: &str) -> &'static str {
                sentence(self.frame.t.lang, SHELL, name)
            }
        }
    )+ };
}

says!(Offline, Reset);
