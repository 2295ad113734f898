//! The profile on one page.

use askama::Template;
use axum::extract::RawQuery;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use serde_json::{Map, Value};

use super::settings;
use crate::api::inside::{Ask, Refused};
use crate::domain::events::push_settings::MessageGroup;
use crate::domain::tasks::Skill;
use crate::pages::kit::form::{Form, number};
use crate::pages::kit::html::page;
use crate::pages::kit::session::workers_path;
use crate::pages::worker::frame::{Frame, Place};
use crate::pages::worker::models::{Factor, Profile, PushSettings, Session, Sessions};
use crate::pages::worker::texts::Texts;
use crate::pages::worker::visit::Visit;

const FIELDS: [&str; 6] = [
    "name",
    "phone",
    "skills",
    "home_latitude",
    "home_longitude",
    "radius_km",
];

#[derive(Template)]
#[template(path = "worker/me.html")]
struct Me {
    frame: Frame,
    form: Form,
    /// What was wrong with a new address.
    email: Form,
    sends_mail: bool,
    /// What was wrong with a new password.
    password: Form,
    notices: Form,
    next: String,
    groups: &'static [MessageGroup],
    offsets: Vec<(String, String)>,
    profile: Profile,
    skills: &'static [Skill],
    sessions: Vec<Session>,
    factor: Factor,
}

impl Me {
    /// The share of the outcomes that were paid, in percent.
    fn approved(&self) -> Option<String> {
        let rate = self.profile.approval_rate?;
        Some(format!("{:.0}", rate * 100.0))
    }
}

pub async fn show(visit: Visit, RawQuery(query): RawQuery) -> Result<Response, Refused> {
    let query = Form::parse(query.unwrap_or_default().as_bytes());
    let notice = notice(visit.t, query.get("done"));
    let forms = Forms {
        next: query.get("next").to_owned(),
        ..Forms::default()
    };
    shown(&visit, StatusCode::OK, forms, notice).await
}

/// Forms that were refused.
#[derive(Default)]
pub struct Forms {
    /// Without one, the profile as it is.
    pub profile: Option<Form>,
    pub email: Form,
    pub password: Form,
    /// Without one, the settings as they are.
    pub notices: Option<Form>,
    /// Where to go on with a profile that is complete.
    pub next: String,
}

pub async fn shown(
    visit: &Visit,
    status: StatusCode,
    forms: Forms,
    notice: Option<&'static str>,
) -> Result<Response, Refused> {
    let profile: Profile = visit.ask(Ask::get("/v1/worker")).await?;
    let sessions: Sessions = visit.ask(Ask::get("/v1/worker/sessions")).await?;
    let wanted: PushSettings = visit.ask(Ask::get("/v1/worker/push_settings")).await?;
    let factor: Factor = visit.ask(Ask::get("/v1/worker/second_factor")).await?;
    let frame = visit.frame(visit.t.me.title, Place::Me).notice(notice);
    let me = Me {
        frame: frame.script("position"),
        form: forms.profile.unwrap_or_else(|| filled(&profile)),
        email: forms.email,
        sends_mail: visit.pages.app.sends_mail,
        password: forms.password,
        notices: forms.notices.unwrap_or_else(|| settings::filled(&wanted)),
        next: forms.next,
        groups: MessageGroup::ALL,
        offsets: settings::offsets(),
        profile,
        skills: Skill::ALL,
        sessions: sessions.data,
        factor,
    };
    Ok(page(status, &me))
}

/// A form with the profile as it is.
fn filled(profile: &Profile) -> Form {
    let number = |value: Option<f64>| value.map(|number| number.to_string()).unwrap_or_default();
    let values = [
        ("name", profile.shown_name().to_owned()),
        ("phone", profile.phone.clone().unwrap_or_default()),
        ("home_latitude", number(profile.home_latitude)),
        ("home_longitude", number(profile.home_longitude)),
        ("radius_km", number(Some(profile.radius_km))),
    ];
    let skills = profile.skills.iter().cloned();
    Form::with(
        values
            .into_iter()
            .chain(skills.map(|skill| ("skills", skill))),
    )
}

pub async fn save(visit: Visit, form: Form) -> Result<Response, Refused> {
    let ask = Ask::patch("/v1/worker", Value::Object(changes(&visit, &form)));
    match visit.ask::<Value>(ask).await {
        Ok(_) => {
            let next = workers_path(form.get("next")).unwrap_or("/worker/me?done=saved");
            Ok(Redirect::to(next).into_response())
        }
        Err(refused) if refused.status.is_client_error() => {
            let form = visit.refused(form, &refused, &FIELDS);
            again(&visit, refused.status, form).await
        }
        Err(refused) => Err(refused),
    }
}

/// What was entered is kept.
async fn again(visit: &Visit, status: StatusCode, form: Form) -> Result<Response, Refused> {
    let forms = Forms {
        next: form.get("next").to_owned(),
        profile: Some(form),
        ..Forms::default()
    };
    shown(visit, status, forms, None).await
}

/// What the API is asked to change. What is no number stays a text, so that the API says what is wrong with it, beside
/// all else that is wrong.
fn changes(visit: &Visit, form: &Form) -> Map<String, Value> {
    let mut body = Map::new();
    let name = form.get("name").trim();
    // A name that is the same is no change: one that waits for a decision would be taken back.
    if name != visit.worker.name || visit.worker.pending_name.is_some() {
        body.insert("name".to_owned(), name.into());
    }
    let phone = form.get("phone").trim();
    let phone = match phone {
        "" => Value::Null,
        phone => phone.into(),
    };
    body.insert("phone".to_owned(), phone);
    let skills: Vec<_> = form.all("skills").collect();
    body.insert("skills".to_owned(), skills.into());
    for field in ["home_latitude", "home_longitude", "radius_km"] {
        let text = form.get(field).trim();
        if text.is_empty() {
            continue;
        }
        let value = number(text).unwrap_or_else(|| text.into());
        body.insert(field.to_owned(), value);
    }
    body
}

fn notice(t: &Texts, done: &str) -> Option<&'static str> {
    Some(match done {
        "saved" => t.me.saved,
        "email" => t.me.email_changed,
        "email_mailed" => t.me.email_mailed,
        "password" => t.me.password_changed,
        "ended" => t.me.ended,
        "factor_off" => t.me.factor_is_off,
        _ => return None,
    })
}
