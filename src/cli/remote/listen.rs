//! `legwork listen`: events as they happen, forwarded to a local URL as if they came by webhook.

use std::fs;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hmac::{Hmac, KeyInit, Mac};
use legwork_client::{Error, ErrorCode, Event, EventStream, EventType, StreamOptions, Webhook};
use serde_json::json;
use sha2::Sha256;

use super::connection::{self, Connection, wait};
use super::failure::Failed;
use super::output::{progress, wants_json};
use super::stored::{folder, write_private};
use crate::cli::print_line;
use crate::tls;

/// Like the server's own deliveries.
const ANSWER_WITHIN: Duration = Duration::from_secs(30);
/// An endpoint that answers with an error gets the event so often.
const ATTEMPTS: u32 = 3;

pub fn command() -> Command {
    Command::new("listen")
        .about("Show events as they happen, and forward them to a program on your machine")
        .after_help(
            "Examples:\n  \
             legwork listen\n  \
             legwork listen --forward-to http://localhost:3000/webhooks\n  \
             legwork listen --events task.completed,task.cancelled --format json\n\n\
             Forwarded events are signed as webhooks are, with the secret that --print-secret prints. It is the same for \
             each run with the same key. When you start again, it goes on after the last event; --since now begins anew.",
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
    let forward = match arguments.get_one::<String>("forward-to") {
        Some(url) => Some(Forward::to(url, &secret)?),
        None => None,
    };
    let types = arguments.get_many::<String>("events").into_iter().flatten();
    let listener = Listener {
        types: types.map(|name| EventType::from(name.as_str())).collect(),
        as_json: match arguments.get_one::<String>("format") {
            Some(format) => format == "json",
            None => wants_json(arguments),
        },
        forward,
        memory: Memory::of(&connection)?,
    };
    let since = arguments.get_one::<String>("since").map(String::as_str);
    wait(listener.listen(&connection, since))
}

/// The same for every run with the same key, and nothing that opens the key.
fn secret(key: &str) -> String {
    format!(
        "whsec_{}",
        BASE64_STANDARD.encode(mac(key, b"legwork listen: signing"))
    )
}

fn mac(key: &str, message: &[u8]) -> Vec<u8> {
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(key.as_bytes()) else {
        unreachable!("HMAC takes keys of any length");
    };
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

struct Listener {
    types: Vec<EventType>,
    as_json: bool,
    forward: Option<Forward>,
    memory: Memory,
}

impl Listener {
    async fn listen(self, connection: &Connection, since: Option<&str>) -> Result<(), Failed> {
        let client = connection.client()?;
        let remembered = match since {
            Some("now") => None,
            Some(id) => Some(id.to_owned()),
            None => self.memory.recall(),
        };
        let begin = |after: Option<String>| {
            let options = StreamOptions {
                after,
                types: self.types.clone(),
                task_id: None,
            };
            client.events().stream(options)
        };
        let mut stream = begin(remembered.clone());
        match stream.connect().await {
            // What is remembered may be older than what the server keeps. What was asked for is not replaced.
            Err(Error::Api(refused))
                if refused.code == ErrorCode::ValidationError && since.is_none() =>
            {
                eprintln!(
                    "The last event is no longer kept: some may have been missed. Listening from now on."
                );
                stream = begin(None);
                stream.connect().await?;
            }
            connected => connected?,
        }
        match remembered {
            Some(id) => progress(&format!(
                "Listening to {} after event {id}. Ctrl-C stops.",
                connection.server
            )),
            None => progress(&format!(
                "Listening to {} from now on. Ctrl-C stops.",
                connection.server
            )),
        }
        self.receive(&mut stream).await
    }

    async fn receive(&self, stream: &mut EventStream) -> Result<(), Failed> {
        let mut told = (0, 0);
        loop {
            let event = match stream.next().await {
                Ok(event) => event,
                Err(lost @ Error::EventsLost { .. }) => {
                    eprintln!("legwork: {lost}");
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let now = (stream.reconnects(), stream.filled());
            if now != told {
                progress(&format!(
                    "(connected again {} times, {} events read from the list)",
                    now.0, now.1
                ));
                told = now;
            }
            self.pass_on(&event).await;
            self.memory.keep(&event.id);
        }
    }

    async fn pass_on(&self, event: &Event) {
        let outcome = match &self.forward {
            Some(forward) => forward.deliver(event).await,
            None => String::new(),
        };
        if self.as_json {
            print_line(serde_json::to_string(event).unwrap_or_default());
            if !outcome.is_empty() {
                progress(&outcome);
            }
            return;
        }
        let time = event.created_at.get(11..19).unwrap_or_default();
        let subject = event
            .data
            .get("id")
            .and_then(|id| id.as_str())
            .unwrap_or_default();
        print_line(format!("{time}  {:<22} {subject} {outcome}", event.event).trim_end());
    }
}

/// The local endpoint.
struct Forward {
    http: reqwest::Client,
    url: reqwest::Url,
    webhook: Webhook,
}

impl Forward {
    fn to(url: &str, secret: &str) -> Result<Self, Failed> {
        let wrong = || {
            Failed::usage(format!(
                "--forward-to takes a URL such as http://localhost:3000/webhooks, not {url}"
            ))
        };
        let url = reqwest::Url::parse(url).map_err(|_| wrong())?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(wrong());
        }
        let roots = tls::authorities(None)
            .and_then(tls::client)
            .map_err(Failed::Refused)?;
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(roots)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .timeout(ANSWER_WITHIN)
            .user_agent(concat!("legwork-listen/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| Failed::Refused(error.to_string()))?;
        Ok(Self {
            http,
            url,
            webhook: Webhook::new(secret),
        })
    }

    /// One event at a time, so they arrive in order. A program that does not run is waited for, so none is lost while you
    /// restart it. One that answers with an error gets it again, then the next one.
    async fn deliver(&self, event: &Event) -> String {
        let body = json!({"event": event.event, "data": event.data}).to_string();
        let (mut refused, mut unreachable) = (0, 0_u32);
        loop {
            let outcome = match self.send(event, &body).await {
                Ok(status) if (200..300).contains(&status) => return format!("-> {status}"),
                Ok(status) => {
                    refused += 1;
                    format!("-> {status}")
                }
                Err(reason) => {
                    if unreachable == 0 {
                        eprintln!(
                            "{} cannot be reached ({reason}). Events wait until it can.",
                            self.url
                        );
                    }
                    unreachable += 1;
                    String::new()
                }
            };
            if refused == ATTEMPTS {
                return format!("{outcome} (given up after {ATTEMPTS} attempts)");
            }
            let pause = Duration::from_millis(100 << (refused + unreachable).min(5));
            tokio::time::sleep(pause).await;
        }
    }

    async fn send(&self, event: &Event, body: &str) -> Result<u16, String> {
        let mut request = self
            .http
            .post(self.url.clone())
            .header("content-type", "application/json");
        for (name, value) in self.webhook.sign_now(&event.id, body.as_bytes()).0 {
            request = request.header(name, value);
        }
        let answer = request.body(body.to_owned()).send().await;
        let answer = answer.map_err(|error| {
            let mut cause: &dyn std::error::Error = &error;
            while let Some(inner) = cause.source() {
                cause = inner;
            }
            cause.to_string()
        })?;
        Ok(answer.status().as_u16())
    }
}

/// The last event that was passed on, by server and key.
struct Memory {
    name: String,
}

impl Memory {
    fn of(connection: &Connection) -> Result<Self, Failed> {
        let hash = mac(
            &connection.key,
            format!("legwork listen: position at {}", connection.server).as_bytes(),
        );
        let short: String = hash
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self {
            name: format!("listen-{short}"),
        })
    }

    fn recall(&self) -> Option<String> {
        let text = fs::read_to_string(folder().ok()?.join(&self.name)).ok()?;
        let id = text.trim();
        (id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| id.to_owned())
    }

    /// Who cannot keep it begins anew next time; that is no reason to stop now.
    fn keep(&self, id: &str) {
        let _ = write_private(&self.name, id.as_bytes());
    }
}
