//! Styles and scripts. Each is served under a name with its hash, so browsers keep it for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

use crate::api::inside::Refused;
use crate::domain::accounts::api_key::hex;

/// Name, ending and text of each.
const SOURCES: &[(&str, &str, &str)] = &[
    (
        "console",
        "js",
        include_str!("../../../assets/modules/console.js"),
    ),
    (
        "legwork",
        "css",
        // One file for the browser, so that the first page of a phone asks once.
        concat!(
            include_str!("../../../assets/legwork.css"),
            include_str!("../../../assets/worker.css")
        ),
    ),
    (
        "live",
        "js",
        include_str!("../../../assets/modules/live.js"),
    ),
    (
        "new_task",
        "js",
        include_str!("../../../assets/modules/new_task.js"),
    ),
    (
        "page",
        "js",
        include_str!("../../../assets/modules/page.js"),
    ),
    (
        "position",
        "js",
        include_str!("../../../assets/modules/position.js"),
    ),
    (
        "review",
        "js",
        include_str!("../../../assets/modules/review.js"),
    ),
];

struct Asset {
    name: &'static str,
    path: String,
    content_type: &'static str,
    text: &'static str,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let sources = SOURCES.iter();
    sources
        .map(|&(name, ending, text)| asset(name, ending, text))
        .collect()
});

fn asset(name: &'static str, ending: &str, text: &'static str) -> Asset {
    let hash = hex(&Sha256::digest(text));
    Asset {
        name,
        path: format!("/assets/{name}.{}.{ending}", &hash[..16]),
        content_type: match ending {
            "css" => "text/css; charset=utf-8",
            _ => "text/javascript; charset=utf-8",
        },
        text,
    }
}

/// Where an asset is; for templates.
pub fn path(name: &str) -> &'static str {
    let found = ASSETS.iter().find(|asset| asset.name == name);
    found.map_or("", |asset| asset.path.as_str())
}

pub async fn get(Path(name): Path<String>) -> Result<Response, Refused> {
    let is_asked = |asset: &&Asset| asset.path.strip_prefix("/assets/") == Some(name.as_str());
    let asset = ASSETS
        .iter()
        .find(is_asked)
        .ok_or_else(Refused::not_found)?;
    let headers = [
        (header::CONTENT_TYPE, asset.content_type),
        (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
    ];
    Ok((headers, asset.text).into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_asset_is_named_by_what_it_holds() {
        let css = path("legwork");
        assert!(
            css.starts_with("/assets/legwork.") && css.ends_with(".css"),
            "{css}"
        );
        assert_eq!(css.len(), "/assets/legwork..css".len() + 16);
        assert_eq!(path("none"), "");
        assert_ne!(asset("a", "js", "1").path, asset("a", "js", "2").path);
    }
}
