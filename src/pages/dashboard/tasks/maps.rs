//! Maps of the list and of a new task.

use axum::extract::RawQuery;
use axum::response::{Html, IntoResponse, Response};

use crate::api::inside::Refused;
use crate::domain::geo::{LATITUDE, LONGITUDE, Point};
use crate::pages::dashboard::desk::Desk;
use crate::pages::kit::form::Form;
use crate::pages::kit::map::{self, Pin, Places};
use crate::store::ListedTask;
use crate::usecases::UseCaseError;

/// Where the tasks of a list are. Lists do not tell, so each is read.
pub async fn of_list(desk: &Desk, tasks: &[ListedTask]) -> Result<Option<String>, Refused> {
    let ids: Vec<_> = tasks.iter().map(|task| task.id).collect();
    let owner = desk.owner();
    let read = desk.pages.app.store.snapshot(move |tx| {
        let mut found = Vec::new();
        for id in &ids {
            found.extend(tx.task_of(owner, *id)?);
        }
        Ok::<_, UseCaseError>(found)
    });
    let pin = |task: crate::domain::Task| Pin {
        at: Point {
            latitude: task.location.latitude,
            longitude: task.location.longitude,
        },
        href: desk.path(&format!("/tasks/{}", task.id)),
        title: task.title,
    };
    let pins: Vec<_> = read.await?.into_iter().map(pin).collect();
    Ok(map::many(&pins, desk.pages.tiles()))
}

/// The map around the place that somebody enters; nothing while it is no place.
pub fn of_form(desk: &Desk, form: &Form) -> Option<String> {
    let number = |name: &str| form.get(name).trim().parse::<f64>().ok();
    let task = Point {
        latitude: LATITUDE.check(number("latitude")?).ok()?,
        longitude: LONGITUDE.check(number("longitude")?).ok()?,
    };
    let places = Places {
        task,
        sent: None,
        exif: None,
    };
    Some(map::draw(&places, desk.pages.tiles()))
}

/// The same for the script of the form, which shows it anew when the place changes.
pub async fn preview(desk: Desk, RawQuery(query): RawQuery) -> Response {
    let form = Form::parse(query.unwrap_or_default().as_bytes());
    Html(of_form(&desk, &form).unwrap_or_default()).into_response()
}
