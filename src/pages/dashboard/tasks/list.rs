//! The list of tasks. Its filters are in the URL.

use askama::Template;
use axum::extract::RawQuery;
use axum::response::Response;

use super::maps;
use crate::api::inside::Refused;
use crate::domain::Status;
use crate::domain::tasks::Category;
use crate::pages::dashboard::desk::{Desk, Place};
use crate::pages::kit::form::Form;
use crate::pages::kit::html::{ok, page};
use crate::pages::kit::layout::Shell;
use crate::store::ListedTask;

const PAGE: i64 = 25;
/// What only a search can filter by.
const SEARCHED: [&str; 4] = ["q", "category", "created_from", "created_to"];

#[derive(Template)]
#[template(path = "dashboard/tasks/list.html")]
struct TaskList {
    shell: Shell,
    base: String,
    filters: Form,
    statuses: Vec<&'static str>,
    categories: Vec<&'static str>,
    tasks: Vec<ListedTask>,
    total: Option<i64>,
    is_filtered: bool,
    newer: Option<String>,
    older: Option<String>,
    map: Option<String>,
    /// The same list with or without its map.
    with_map: String,
    without_map: String,
}

/// A part of the list, by its place in the whole or by a cursor.
#[derive(Default)]
struct Found {
    tasks: Vec<ListedTask>,
    total: Option<i64>,
    offset: i64,
    next_cursor: Option<String>,
}

pub async fn show(desk: Desk, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = query.unwrap_or_default();
    let filters = Form::parse(query.as_bytes());
    match find(&desk, &filters).await {
        Ok(found) => {
            let map = match filters.get("map") {
                "1" => maps::of_list(&desk, &found.tasks).await?,
                _ => None,
            };
            Ok(ok(&shown(&desk, filters, found, map)))
        }
        Err(refused) if refused.status == 400 => {
            let filters = filters.refused(
                &refused,
                &["status", "q", "category", "created_from", "created_to"],
            );
            let nothing = shown(&desk, filters, Found::default(), None);
            Ok(page(refused.status, &nothing))
        }
        Err(refused) => Err(refused),
    }
}

async fn find(desk: &Desk, filters: &Form) -> Result<Found, Refused> {
    if SEARCHED.iter().any(|name| !filters.get(name).is_empty()) {
        let found = desk.search(&search_query(filters)).await?;
        return Ok(Found {
            tasks: found.tasks.into_iter().map(|(task, _)| task).collect(),
            next_cursor: found.next.map(|number| number.to_string()),
            ..Found::default()
        });
    }
    let (page, found) = desk.tasks(&list_query(filters)).await?;
    Ok(Found {
        tasks: found.tasks,
        total: Some(found.total),
        offset: page.offset,
        next_cursor: None,
    })
}

fn shown(desk: &Desk, filters: Form, found: Found, map: Option<String>) -> TaskList {
    let base = desk.path("/tasks");
    let end = found.offset + found.tasks.len() as i64;
    let older = match (&found.next_cursor, found.total) {
        (Some(cursor), _) => Some(link(&base, &filters, "cursor", cursor)),
        (None, Some(total)) if end < total => {
            Some(link(&base, &filters, "offset", &end.to_string()))
        }
        _ => None,
    };
    let newer = (found.offset > 0).then(|| {
        let before = (found.offset - PAGE).max(0);
        link(&base, &filters, "offset", &before.to_string())
    });
    let named = ["status", "q", "category", "created_from", "created_to"];
    let here = ["offset", "cursor"]
        .into_iter()
        .find(|name| !filters.get(name).is_empty());
    let here = here.map_or(("offset", "0"), |name| (name, filters.get(name)));
    let without_map = unmapped(&base, &filters, here);
    TaskList {
        with_map: format!("{without_map}&map=1"),
        without_map,
        map,
        shell: desk.shell("Tasks", Place::Tasks),
        base,
        is_filtered: named.iter().any(|name| !filters.get(name).is_empty()),
        statuses: Status::ALL.iter().map(|status| status.as_str()).collect(),
        categories: Category::ALL
            .iter()
            .map(|category| category.as_str())
            .collect(),
        total: found.total,
        tasks: found.tasks,
        filters,
        newer,
        older,
    }
}

fn list_query(filters: &Form) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &PAGE.to_string());
    for name in ["status", "offset"] {
        if !filters.get(name).is_empty() {
            query.append_pair(name, filters.get(name));
        }
    }
    query.finish()
}

fn search_query(filters: &Form) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &PAGE.to_string());
    for name in ["status", "q", "category", "cursor"] {
        if !filters.get(name).is_empty() {
            query.append_pair(name, filters.get(name));
        }
    }
    // A form has days, the API moments.
    for (name, time) in [
        ("created_from", "T00:00:00Z"),
        ("created_to", "T23:59:59.999Z"),
    ] {
        if !filters.get(name).is_empty() {
            query.append_pair(name, &format!("{}{time}", filters.get(name)));
        }
    }
    query.finish()
}

/// The same filters at another place of the list, with a map if there is one.
fn link(base: &str, filters: &Form, name: &str, at: &str) -> String {
    let link = unmapped(base, filters, (name, at));
    match filters.get("map") {
        "1" => format!("{link}&map=1"),
        _ => link,
    }
}

fn unmapped(base: &str, filters: &Form, (name, at): (&str, &str)) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    for kept in ["status", "q", "category", "created_from", "created_to"] {
        if !filters.get(kept).is_empty() {
            query.append_pair(kept, filters.get(kept));
        }
    }
    query.append_pair(name, at);
    format!("{base}?{}", query.finish())
}
