//! Styles and scripts. Each is served under a name with its hash, so browsers keep it for good.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::api::inside::Refused;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

/// Name, ending and text of each. A module comes after those that it imports.
const SOURCES: &[(&str, &str, &str)] = &[
    (
        "console",
        "js",
        include_str!("../../../assets/modules/console.js"),
    ),
    (
        "draft",
        "js",
        include_str!("../../../assets/modules/draft.js"),
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
        "keep_form",
        "js",
        include_str!("../../../assets/modules/keep_form.js"),
    ),
    (
        "keys",
        "js",
        include_str!("../../../assets/modules/keys.js"),
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
        "passkeys",
        "js",
        include_str!("../../../assets/modules/passkeys.js"),
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

const OF_A_WORKER: &str = "worker_";

macro_rules! modules_of_workers {
    ($($name:literal),+ $(,)?) => {
        &[$((
            concat!("worker_", $name),
            "js",
            include_str!(concat!("../../../assets/modules/worker/", $name, ".js")),
        )),+]
    };
}

/// The modules of the workers' app, in the same order.
const OF_WORKERS: &[(&str, &str, &str)] = modules_of_workers![
    "words",
    "store",
    "send",
    "subscription",
    "push",
    "app",
    "position",
    "camera",
    "signature",
    "capture",
    "outbox",
    "reset",
];
const SERVICE_WORKER: &str = include_str!("../../../assets/modules/worker/sw.js");

struct Asset {
    name: &'static str,
    path: String,
    content_type: &'static str,
    text: String,
}

static ASSETS: LazyLock<Vec<Asset>> = LazyLock::new(|| {
    let mut made: Vec<Asset> = Vec::new();
    for &(name, ending, text) in SOURCES.iter().chain(OF_WORKERS) {
        let text = with_paths(text, folder_of(name), &made);
        made.push(asset(name, ending, text));
    }
    made
});

/// What the names of all modules of a folder begin with.
fn folder_of(name: &str) -> &'static str {
    match name.starts_with(OF_A_WORKER) {
        true => OF_A_WORKER,
        false => "",
    }
}

/// A module names another one of its folder by its file. Browsers find it under its hash.
fn with_paths(text: &str, folder: &str, made: &[Asset]) -> String {
    let imports = made.iter().filter_map(|asset| {
        let file = asset.name.strip_prefix(folder)?;
        Some((format!("\"./{file}.js\""), format!("\"{}\"", asset.path)))
    });
    imports.fold(text.to_owned(), |text, (file, path)| {
        text.replace(&file, &path)
    })
}

/// What the workers' app keeps on a phone.
fn kept() -> impl Iterator<Item = &'static str> {
    let is_kept = |asset: &&Asset| {
        ["draft", "legwork", "page"].contains(&asset.name) || asset.name.starts_with(OF_A_WORKER)
    };
    let kept = ASSETS.iter().filter(is_kept);
    kept.map(|asset| asset.path.as_str())
}

/// The name of what this program serves to workers: another program may serve something else.
pub fn release() -> &'static str {
    static RELEASE: LazyLock<String> = LazyLock::new(|| {
        let mut all = Sha256::new().with(env!("CARGO_PKG_VERSION"));
        all.update(SERVICE_WORKER);
        kept().for_each(|path| all.update(path));
        hex(&all.finish())[..16].to_owned()
    });
    &RELEASE
}

/// The service worker of the workers' app, with the names of all that it keeps.
pub fn service_worker() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let files: Vec<_> = kept().collect();
        with_paths(SERVICE_WORKER, OF_A_WORKER, &ASSETS)
            .replace("{release}", release())
            .replace("{files}", &files.join(" "))
    });
    &TEXT
}

fn asset(name: &'static str, ending: &str, text: impl Into<String>) -> Asset {
    let text = text.into();
    let hash = hex(&Sha256::digest(&text));
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
    Ok((headers, asset.text.as_str()).into_response())
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

    #[test]
    fn modules_name_each_other_by_their_hash() {
        for asset in ASSETS.iter() {
            assert!(!asset.text.contains("from \"./"), "{}", asset.name);
        }
        let review = ASSETS.iter().find(|asset| asset.name == "review").unwrap();
        assert!(review.text.contains(&format!("from \"{}\"", path("keys"))));
        let worker = service_worker();
        assert!(worker.contains(&format!("from \"{}\"", path("worker_send"))));
        assert!(worker.contains(path("worker_app")) && worker.contains(release()));
        assert!(
            !worker.contains("\"./") && !worker.contains("{files}"),
            "{worker}"
        );
    }
}
