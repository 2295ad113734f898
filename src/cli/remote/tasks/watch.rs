//! `legwork tasks watch`

use clap::ArgMatches;
use legwork_client::{Client, Event, Status, StreamOptions};

use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::{one_line, print_json, progress, wants_json};
use crate::cli::{print_item, print_line};

pub async fn watch(client: &Client, arguments: &ArgMatches, id: &str) -> Result<(), Failed> {
    let until = arguments
        .get_one::<String>("until")
        .map(|status| Status::from(status.as_str()));
    let options = StreamOptions {
        task_id: Some(id.to_owned()),
        ..StreamOptions::default()
    };
    let mut stream = client.events().stream(options);
    stream.connect().await?;
    let mut task = client.tasks().get(id).await?;
    let is_over = |status: &Status| until.as_ref() == Some(status) || status.is_final();
    progress(&format!(
        "{} is {}. Ctrl-C stops watching.",
        one_line(&task.title),
        task.status
    ));
    while !is_over(&task.status) {
        let event = stream.next().await?;
        show(arguments, &event);
        if let Some(now) = event.task() {
            task.status = now.status;
        }
    }
    match wants_json(arguments) {
        true => print_json(&client.tasks().get(id).await?)?,
        false => print_line(format!("The task is {}.", task.status)),
    }
    match until.filter(|until| *until != task.status) {
        None => Ok(()),
        Some(until) => Err(Failed::Refused(format!(
            "the task is {}, and will not be {until} any more",
            task.status
        ))),
    }
}

fn show(arguments: &ArgMatches, event: &Event) {
    match wants_json(arguments) {
        true => print_item(serde_json::to_string(event).unwrap_or_default()),
        false => print_item(format!(
            "{}  {}",
            event.created_at.get(11..19).unwrap_or_default(),
            event.event
        )),
    }
}
