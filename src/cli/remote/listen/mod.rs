//! `legwork listen`: events as they happen, forwarded to a local URL as if they came by webhook.

mod forward;
mod gaps;
mod memory;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::{Arg, ArgAction, ArgMatches, Command};
use legwork_client::{
    Client, Error, ErrorCode, Event, EventStream, EventType, News, StreamOptions,
};
use ring::hmac;

use self::forward::{Delivered, Forward};
use self::gaps::Listening;
use self::memory::{Memory, Position};
use super::connection::{self, Connection, wait};
use super::failure::Failed;
use super::output::{one_line, progress, wants_json};
use crate::cli::{print_item, print_line, tell};

pub fn command() -> Command {
    Command::new("listen")
        .about("Show events as they happen, and forward them to a program on your machine")
        .after_help(
            "Examples:\n  \
             legwork listen\n  \
             legwork listen --forward-to http://localhost:3000/webhooks\n  \
             legwork listen --events task.completed,task.cancelled --format json\n\n\
             Forwarded events are signed as webhooks are, with the secret that --print-secret prints. It is the same for \
             each run with the same key. When you start again with the same --events and --forward-to, it goes on after the \
             last event; --since now begins anew.",
        )
        .arg(Arg::new("forward-to").long("forward-to").value_name("URL").help("Send each event to this URL, as a signed webhook"))
        .arg(Arg::new("events").long("events").value_name("EVENTS").value_delimiter(',').value_parser(EventType::ALL.to_vec()).hide_possible_values(true).help("Only these types, separated by commas"))
        .arg(Arg::new("since").long("since").value_name("ID").help("Begin after the event with this id, or `now`"))
        .arg(Arg::new("print-secret").long("print-secret").action(ArgAction::SetTrue).help("Print the secret that signs, and exit"))
        .arg(Arg::new("format").long("format").value_parser(["text", "json"]).help("json prints each event as a line of JSON"))
        .args(connection::flags())
}

pub fn run(arguments: &ArgMatches) -> Result<(), Failed> {
    let connection = Connection::of(arguments)?;
    let secret = secret(&connection.key);
    if arguments.get_flag("print-secret") {
        print_line(secret);
        return Ok(());
    }
    let url = arguments.get_one::<String>("forward-to");
    let forward = match url {
        Some(url) => Some(Forward::to(url, &secret)?),
        None => None,
    };
    let client = connection.client()?;
    let types = arguments.get_many::<String>("events").into_iter().flatten();
    let types: Vec<_> = types.map(|name| EventType::from(name.as_str())).collect();
    let memory = Memory::of(
        client.base_url(),
        &connection.key,
        &types,
        url.map(String::as_str),
    );
    let listener = Listener {
        client,
        types,
        as_json: match arguments.get_one::<String>("format") {
            Some(format) => format == "json",
            None => wants_json(arguments),
        },
        forward,
        memory,
    };
    let since = arguments.get_one::<String>("since").map(String::as_str);
    wait(listener.listen(since))
}

/// The same for every run with the same key, and nothing that opens the key.
fn secret(key: &str) -> String {
    format!(
        "whsec_{}",
        BASE64_STANDARD.encode(mac(key, b"legwork listen: signing"))
    )
}

fn mac(key: &str, message: &[u8]) -> Vec<u8> {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
    hmac::sign(&key, message).as_ref().to_vec()
}

struct Listener {
    client: Client,
    types: Vec<EventType>,
    as_json: bool,
    forward: Option<Forward>,
    memory: Memory,
}

impl Listener {
    async fn listen(self, since: Option<&str>) -> Result<(), Failed> {
        let from = match since {
            Some("now") => None,
            Some(id) => Some(Position::After(id.to_owned())),
            None => self.memory.recall(),
        };
        let mut stream = self.stream(from.clone());
        match stream.connect().await {
            // What is remembered may be older than what the server keeps. What was asked for is not replaced.
            Err(Error::Api(refused))
                if refused.code == ErrorCode::ValidationError && since.is_none() =>
            {
                tell(format_args!("legwork: {}", self.words().unknown_place()));
                stream = self.stream(None);
                stream.connect().await?;
            }
            Err(lost @ Error::EventsLost { .. }) => {
                tell(format_args!("legwork: {}", self.words().lost(&lost, None)));
            }
            connected => connected?,
        }
        // Also before the first event: what happens after it was interrupted is for the next run.
        self.memory.keep(stream.position());
        let server = self.client.base_url();
        let place = match from {
            Some(Position::After(id)) => format!("after event {id}"),
            Some(Position::Start) => "from the first event on".to_owned(),
            None => "from now on".to_owned(),
        };
        progress(&format!("Listening to {server} {place}. Ctrl-C stops."));
        self.receive(&mut stream).await
    }

    fn stream(&self, from: Option<Position>) -> EventStream {
        let (after, from_start) = match from {
            Some(Position::After(id)) => (Some(id), false),
            Some(Position::Start) => (None, true),
            None => (None, false),
        };
        self.client.events().stream(StreamOptions {
            after,
            from_start,
            types: self.types.clone(),
            task_id: None,
        })
    }

    async fn receive(&self, stream: &mut EventStream) -> Result<(), Failed> {
        let (server, mut told) = (self.client.base_url(), 0);
        let mut since = None;
        loop {
            let news = stream.news().await;
            let filled = stream.filled() - std::mem::replace(&mut told, stream.filled());
            if filled > 0 {
                tell(format_args!("legwork: {}", gaps::filled(filled)));
            }
            match news {
                Ok(News::Event(event)) => {
                    self.pass_on(&event).await;
                    self.memory.keep(Some(&event.id));
                    since = Some(one_line(&event.created_at));
                }
                Ok(News::Lost(reason)) => tell(format_args!(
                    "legwork: the connection to {server} was lost: {reason}. It is tried until it works"
                )),
                Ok(News::Back) => tell(format_args!(
                    "legwork: connected to {server} again, after the last event"
                )),
                Ok(_) => {}
                Err(lost @ Error::EventsLost { .. }) => {
                    let said = self.words().lost(&lost, since.as_deref());
                    tell(format_args!("legwork: {said}"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn words(&self) -> Listening {
        Listening {
            forwards: self.forward.is_some(),
            filters: !self.types.is_empty(),
        }
    }

    async fn pass_on(&self, event: &Event) {
        let delivered = match &self.forward {
            Some(forward) => forward.deliver(event).await,
            None => Delivered::Taken(String::new()),
        };
        if self.as_json {
            print_item(serde_json::to_string(event).unwrap_or_default());
            match delivered {
                Delivered::Taken(said) if said.is_empty() => {}
                Delivered::Taken(said) => progress(&said),
                Delivered::GivenUp(said) => tell(format_args!("{} {said}", event.id)),
            }
            return;
        }
        let (Delivered::Taken(said) | Delivered::GivenUp(said)) = delivered;
        let time = event.created_at.get(11..19).unwrap_or_default();
        let subject = event.data.get("id").and_then(|id| id.as_str());
        let subject = subject.unwrap_or_default();
        print_item(format!("{time}  {:<22} {subject} {said}", event.event).trim_end());
    }
}
