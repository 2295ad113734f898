//! `legwork mandate ...`

use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{
    Area, Category, Client, Error, ErrorCode, Interval, Mandate, Permission, PutMandate,
    SpendingLimit, TaskType,
};

use crate::cli::remote::asking::confirm;
use crate::cli::remote::connection::{self, client, wait};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::print_object;
use crate::cli::tell;

const INTERVALS: [(&str, Interval); 3] = [
    ("day-cents", Interval::Day),
    ("month-cents", Interval::Month),
    ("total-cents", Interval::Total),
];

pub fn command() -> Command {
    Command::new("mandate")
        .about("Limit what a key may do and spend")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(
            Command::new("show")
                .about("Show a mandate, with what is used and left of it")
                .after_help("Examples:\n  legwork mandate show              of the key that you use\n  legwork mandate show 01a1...      of another key of your account")
                .arg(id().required(false))
                .args(connection::flags()),
        )
        .subcommand(set_command())
        .subcommand(of_key("pause", "Stop a key until you resume it"))
        .subcommand(of_key("resume", "Let a paused key go on"))
        .subcommand(
            of_key("lift", "Remove the mandate: the key may do everything then").arg(
                Arg::new("yes")
                    .long("yes")
                    .action(ArgAction::SetTrue)
                    .help("Do not ask"),
            ),
        )
}

fn id() -> Arg {
    Arg::new("key-id")
        .required(true)
        .value_name("KEY_ID")
        .help("The id of the key: `legwork keys list` shows it")
}

fn of_key(name: &'static str, about: &'static str) -> Command {
    Command::new(name)
        .about(about)
        .after_help(format!("Example:\n  legwork mandate {name} 01a1..."))
        .arg(id())
        .args(connection::flags())
}

/// What a mandate is made of.
pub fn limits() -> Vec<Arg> {
    let cents = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("CENTS")
            .value_parser(clap::value_parser!(i64))
            .help(help)
    };
    let number = |name, help| cents(name, help).value_name("N");
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    let words = |name: &'static str, words: &[&'static str], help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("WORD,...")
            .value_delimiter(',')
            .value_parser(words.to_vec())
            .help(help)
    };
    vec![
        words("permissions", Permission::ALL, "What the key may do"),
        cents("max-task-cents", "For one task"),
        cents("day-cents", "For all tasks of a day"),
        cents("month-cents", "For all tasks of a month"),
        cents("total-cents", "For all tasks"),
        number("max-open-tasks", "Tasks that are not over"),
        number("max-tasks-per-day", "New tasks in a day"),
        words("categories", Category::ALL, "Only of these categories").hide_possible_values(true),
        words("task-types", TaskType::ALL, "Only of these types"),
        text(
            "area",
            "LAT,LON,KM",
            "Only around a place, such as 40.7,-73.9,25",
        )
        .allow_hyphen_values(true)
        .value_parser(area),
        text("states", "STATE,...", "Only in these states, such as NY,NJ")
            .value_delimiter(',')
            .conflicts_with("area"),
        cents(
            "approval-above-cents",
            "Above it, a task waits for your yes",
        ),
        cents("review-up-to-cents", "Above it, you review the proof"),
        text(
            "expires-at",
            "TIME",
            "Such as 2030-01-01T00:00:00Z [default: in 90 days]",
        ),
    ]
}

fn area(given: &str) -> Result<Area, String> {
    let numbers: Result<Vec<f64>, _> = given.split(',').map(|part| part.trim().parse()).collect();
    match numbers.as_deref() {
        Ok(&[latitude, longitude, radius_km]) => Ok(Area {
            latitude,
            longitude,
            radius_km,
        }),
        _ => Err("a latitude, a longitude and kilometres, separated by commas".to_owned()),
    }
}

fn set_command() -> Command {
    let required = |limit: Arg| match limit.get_id() == "permissions" {
        true => limit.required(true),
        false => limit,
    };
    Command::new("set")
        .about("Set the mandate of a key; it replaces the one it has")
        .after_help(
            "Example:\n  legwork mandate set 01a1... --permissions read,create --max-task-cents 3000 \\\n      \
             --day-cents 10000 --approval-above-cents 2000\n\nWhat was spent stays counted, and a paused key stays paused.",
        )
        .arg(id())
        .args(limits().into_iter().map(required))
        .args(connection::flags())
}

pub fn run(matches: &ArgMatches) -> Result<(), Failed> {
    let Some((name, arguments)) = matches.subcommand() else {
        return Ok(());
    };
    let client = client(arguments)?;
    let key = arguments.get_one::<String>("key-id").cloned();
    wait(async {
        let Some(key) = key else {
            return print_object(arguments, &client.mandate().get().await?);
        };
        let keys = client.keys();
        let mandate = match name {
            "set" => set(&client, &key, asked_for(arguments)).await?,
            "pause" => paused(&client, &key, true).await?,
            "resume" => paused(&client, &key, false).await?,
            "lift" => {
                let question = "The key may do everything then, and spend without limit. Lift it?";
                confirm(arguments, question).await?;
                return print_object(arguments, &keys.lift_mandate(&key).await?);
            }
            _ => keys.mandate(&key).await?,
        };
        print_object(arguments, &mandate)
    })
}

pub fn asked_for(arguments: &ArgMatches) -> PutMandate {
    let number = |name: &str| arguments.get_one::<i64>(name).copied();
    let words = |name: &str| -> Option<Vec<String>> {
        Some(arguments.get_many::<String>(name)?.cloned().collect())
    };
    let limits: Vec<_> = INTERVALS
        .into_iter()
        .filter_map(|(name, interval)| {
            let cents = number(name)?;
            Some(SpendingLimit { interval, cents })
        })
        .collect();
    let of = |words: Option<Vec<String>>| words.unwrap_or_default();
    PutMandate {
        permissions: of(words("permissions"))
            .iter()
            .map(|word| Permission::from(word.as_str()))
            .collect(),
        max_task_cents: number("max-task-cents"),
        spending_limits: (!limits.is_empty()).then_some(limits),
        max_open_tasks: number("max-open-tasks"),
        max_tasks_per_day: number("max-tasks-per-day"),
        categories: words("categories").map(|all| {
            all.iter()
                .map(|word| Category::from(word.as_str()))
                .collect()
        }),
        task_types: words("task-types").map(|all| {
            all.iter()
                .map(|word| TaskType::from(word.as_str()))
                .collect()
        }),
        area: arguments.get_one::<Area>("area").cloned(),
        states: words("states"),
        approval_above_cents: number("approval-above-cents"),
        review_up_to_cents: number("review-up-to-cents"),
        expires_at: arguments.get_one::<String>("expires-at").cloned(),
        paused: None,
    }
}

/// A key that was stopped is not set going by other limits.
async fn set(client: &Client, key: &str, mut mandate: PutMandate) -> Result<Mandate, Failed> {
    let is_paused = match client.keys().mandate(key).await {
        Ok(now) => now.paused,
        Err(error) if error.code() == Some(&ErrorCode::MandateNotFound) => false,
        Err(error) => return Err(error.into()),
    };
    if is_paused {
        mandate.paused = Some(true);
    }
    let mandate = client.keys().set_mandate(key, &mandate).await?;
    if is_paused {
        tell(format_args!(
            "The key stays paused: `legwork mandate resume {key}` lets it go on."
        ));
    }
    Ok(mandate)
}

/// The same mandate, paused or not.
async fn paused(client: &Client, key: &str, paused: bool) -> Result<Mandate, Failed> {
    let now = client.keys().mandate(key).await?;
    let same = PutMandate {
        permissions: now.permissions,
        max_task_cents: now.max_task_cents,
        spending_limits: Some(now.spending_limits),
        max_open_tasks: now.max_open_tasks,
        max_tasks_per_day: now.max_tasks_per_day,
        categories: Some(now.categories),
        task_types: Some(now.task_types),
        area: now.area,
        states: Some(now.states),
        approval_above_cents: now.approval_above_cents,
        review_up_to_cents: now.review_up_to_cents,
        expires_at: now.expires_at,
        paused: Some(paused),
    };
    client
        .keys()
        .set_mandate(key, &same)
        .await
        .map_err(|error| over(error, key))
}

/// A mandate that has expired cannot be written as it is.
fn over(error: Error, key: &str) -> Failed {
    let is_over = matches!(&error, Error::Api(refused)
        if refused.fields().iter().any(|fault| fault.field == "expires_at"));
    match is_over {
        true => Failed::Refused(format!(
            "this mandate has expired, so the key can do nothing: `legwork mandate set {key}` gives it another one"
        )),
        false => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use legwork_client::ApiError;
    use serde_json::json;

    use super::*;

    #[test]
    fn whoever_pauses_an_expired_mandate_is_told_what_to_do() {
        let refused = |field: &str| {
            let refused = ApiError {
                status: 400,
                code: ErrorCode::ValidationError,
                message: "m".to_owned(),
                request_id: "r".to_owned(),
                details: json!([{"field": field, "message": "must be in the future"}]),
                retry_after: None,
            };
            over(Error::Api(Box::new(refused)), "0a").to_string()
        };
        assert!(refused("expires_at").contains("`legwork mandate set 0a`"));
        assert!(refused("states").starts_with("states must be in the future"));
    }
}
