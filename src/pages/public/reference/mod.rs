//! /docs/: the reference of the API, made of its description. No script takes part in it.

mod description;
mod example;
mod schema;
mod text;

use std::collections::HashMap;
use std::sync::LazyLock;

use askama::Template;
use axum::extract::Path;
use axum::response::{Html, IntoResponse, Redirect, Response};
use bytes::Bytes;
use description::{Group, groups, introduction};
use text::{Paragraphs, Piece};

use crate::api::inside::Refused;
use crate::api::openapi_document;

#[derive(Template)]
#[template(path = "public/reference/contents.html")]
struct Contents<'a> {
    current: &'a str,
    groups: &'a [Group],
    introduction: Paragraphs,
}

#[derive(Template)]
#[template(path = "public/reference/group.html")]
struct GroupPage<'a> {
    current: &'a str,
    groups: &'a [Group],
    group: &'a Group,
}

/// The pages by the last part of their path. They are the same for everybody, so they are rendered once.
static PAGES: LazyLock<HashMap<String, Bytes>> = LazyLock::new(|| {
    let description = serde_json::from_str(&openapi_document()).unwrap_or_default();
    let groups = groups(&description);
    let contents = Contents {
        current: "",
        groups: &groups,
        introduction: introduction(&description),
    };
    let mut pages = HashMap::from([(String::new(), rendered(&contents))]);
    for group in &groups {
        let page = GroupPage {
            current: &group.slug,
            groups: &groups,
            group,
        };
        pages.insert(group.slug.clone(), rendered(&page));
    }
    pages
});

fn rendered(page: &impl Template) -> Bytes {
    page.render().unwrap_or_default().into()
}

pub async fn to_contents() -> Redirect {
    Redirect::to("/docs/")
}

pub async fn contents() -> Result<Response, Refused> {
    found("")
}

pub async fn group(Path(slug): Path<String>) -> Result<Response, Refused> {
    found(&slug)
}

fn found(slug: &str) -> Result<Response, Refused> {
    let page = PAGES.get(slug).ok_or_else(Refused::not_found)?;
    Ok(Html(page.clone()).into_response())
}
