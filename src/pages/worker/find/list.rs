//! /worker/find: a list, or a radar with the list below it. Every filter is in the URL.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::Response;

use super::radar::{self, Dot};
use crate::api::inside::{Ask, Refused};
use crate::domain::geo::Point;
use crate::domain::tasks::Category;
use crate::pages::dashboard::List;
use crate::pages::kit::form::Form;
use crate::pages::kit::html::page;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::Offer;
use crate::pages::worker::visit::Visit;

const FILTERS: [&str; 5] = ["latitude", "longitude", "radius_km", "category", "sort"];
/// A search that found nothing is offered once more with the next of these.
const WIDER_KM: [f64; 4] = [10.0, 25.0, 50.0, 100.0];

#[derive(Template)]
#[template(path = "worker/find.html")]
struct Find {
    frame: Frame,
    form: Form,
    categories: &'static [Category],
    /// Neither a home nor a position is known.
    no_place: bool,
    at_position: bool,
    offers: Vec<Offer>,
    /// The drawing, if it is asked for.
    radar: Option<String>,
    /// The same search: as a list, as a radar, further away, the next page.
    as_list: String,
    as_radar: String,
    wider: Option<(String, String)>,
    next: Option<String>,
    /// What goes with a link to a task: where the worker is.
    here: String,
}

pub async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let mut form = Form::parse(query.unwrap_or_default().as_bytes());
    let mut target = link("/v1/worker/available_tasks", &form, &[]);
    if !form.get("cursor").is_empty() {
        target = link(
            "/v1/worker/available_tasks",
            &form,
            &[("cursor", form.get("cursor"))],
        );
    }
    let at_position = !form.get("latitude").trim().is_empty();
    let no_place = !at_position && visit.worker.home.is_none();
    if no_place {
        return Ok(shown(&visit, StatusCode::OK, form, List::default()));
    }
    let found = match visit.ask::<List<Offer>>(Ask::get(target)).await {
        Ok(found) => found,
        Err(refused) if refused.status == StatusCode::BAD_REQUEST => {
            form = visit.refused(form, &refused, &FILTERS);
            return Ok(shown(&visit, refused.status, form, List::default()));
        }
        Err(refused) => return Err(refused),
    };
    Ok(shown(&visit, StatusCode::OK, form, found))
}

fn shown(visit: &Visit, status: StatusCode, form: Form, found: List<Offer>) -> Response {
    let t = &visit.t.find;
    let at_position = !form.get("latitude").trim().is_empty();
    let radius_km = radius(visit, &form);
    let wants_radar = form.get("view") == "radar";
    let page_link = |more: &[(&str, &str)]| link("/worker/find", &form, more);
    let kept_view: &[(&str, &str)] = if wants_radar {
        &[("view", "radar")]
    } else {
        &[]
    };
    let wider = WIDER_KM.into_iter().find(|km| *km > radius_km);
    let wider = wider.filter(|_| found.data.is_empty()).map(|km| {
        let km = km.to_string();
        let mut more = vec![("radius_km", km.as_str())];
        more.extend_from_slice(kept_view);
        (page_link(&more), t.wider.with(&km))
    });
    let next = found.meta.next_cursor.as_deref().map(|cursor| {
        let mut more = vec![("cursor", cursor)];
        more.extend_from_slice(kept_view);
        page_link(&more)
    });
    let here = match at_position {
        true => pairs(&[
            ("latitude", form.get("latitude")),
            ("longitude", form.get("longitude")),
        ]),
        false => String::new(),
    };
    let frame = visit.frame(t.title, Place::Find).script("position");
    let found_radar = wants_radar.then(|| drawn(visit, &form, radius_km, &found.data));
    let shown = Find {
        frame,
        categories: Category::ALL,
        no_place: !at_position && visit.worker.home.is_none(),
        at_position,
        radar: found_radar,
        as_list: page_link(&[]),
        as_radar: page_link(&[("view", "radar")]),
        wider,
        next,
        here,
        offers: found.data,
        form,
    };
    page(status, &shown)
}

fn radius(visit: &Visit, form: &Form) -> f64 {
    let given = form.get("radius_km").trim().parse().ok();
    given.unwrap_or(visit.worker.radius_km)
}

fn drawn(visit: &Visit, form: &Form, radius_km: f64, offers: &[Offer]) -> String {
    let number = |name| form.get(name).trim().parse().ok();
    let given = Point::from_pair(number("latitude"), number("longitude"));
    let Some(center) = given.or(visit.worker.home) else {
        return String::new();
    };
    let dots = offers.iter().map(|offer| Dot {
        place: offer.place(),
        bounty: offer.is_bounty(),
    });
    let t = &visit.t.find;
    radar::svg(
        center,
        radius_km,
        &dots.collect::<Vec<_>>(),
        &t.radar_label.with(radius_km),
    )
}

/// A path with the filters of a form, and more. What is given in `more` counts.
fn link(path: &str, form: &Form, more: &[(&str, &str)]) -> String {
    let kept = FILTERS.into_iter().filter_map(|name| {
        let value = form.get(name).trim();
        let replaced = more.iter().any(|(other, _)| *other == name);
        (!value.is_empty() && !replaced).then_some((name, value))
    });
    let all: Vec<_> = kept.chain(more.iter().copied()).collect();
    format!("{path}{}", pairs(&all))
}

fn pairs(all: &[(&str, &str)]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(all);
    format!("?{}", query.finish())
}
