//! The attackers. Each sends what once hurt, over and over, and ignores what it is told. They send
//! prepared bytes at a steady pace: what they cost is the server's time, not their own.

use std::fmt;
use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use legwork::domain::tasks::ProofType;
use legwork::media;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{interval, sleep, timeout};

use crate::load::http;

const BOUNDARY: &str = "hostile-boundary";
/// How long an attacker listens before it tries again.
const PATIENCE: Duration = Duration::from_secs(5);
/// Connections of each attacker that holds them.
const HELD: usize = 400;
const PARKED: usize = 20;
const MEGABYTE: usize = 1 << 20;

/// Whom they attack, and what they hold: keys that anybody may get.
#[derive(Clone)]
pub struct Targets {
    pub address: SocketAddr,
    /// A test key of a developer.
    pub key: String,
    /// The token of a worker whom nobody has verified.
    pub stranger: String,
    /// The token of a worker who has started this task.
    pub worker: String,
    pub task: String,
}

/// How many requests each attacker has sent, or connections it has opened.
pub struct Counts(Vec<(&'static str, Arc<AtomicUsize>)>);

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |(name, count): &(&str, Arc<AtomicUsize>)| {
            format!("{} {name}", count.load(Ordering::Relaxed))
        };
        let counts: Vec<_> = self.0.iter().map(shown).collect();
        f.write_str(&counts.join(", "))
    }
}

/// Starts all of them on this runtime.
pub fn all(targets: Targets) -> Counts {
    let Targets {
        address,
        key,
        stranger,
        worker,
        task,
    } = targets;
    let own = format!("/v1/worker/tasks/{task}/proofs");
    let invented = "/v1/worker/tasks/00000000000000000000000000000000/proofs";
    let document = http::post("/v1/workers", "", &repeated_keys());
    let keyed = http::post("/v1/tasks", &key, &nested_lists());
    let sign_in = r#"{"email": "stranger@example.com", "password": "guessed, and wrong"}"#;
    let new_key = r#"{"name": "one more", "environment": "test"}"#;
    let search =
        "/v1/worker/available_tasks?latitude=40.7&longitude=-73.9&sort=newest&radius_km=0.1";
    let mut attackers = Attackers {
        address,
        counts: Vec::new(),
    };
    attackers.repeat("bodies of repeated keys", 20, document);
    attackers.repeat("bodies of nested lists", 20, keyed);
    attackers.repeat(
        "sign-ins",
        20,
        http::post("/v1/workers/sessions", "", sign_in),
    );
    attackers.repeat(
        "new keys",
        20,
        http::post("/v1/account/keys", &key, new_key),
    );
    attackers.repeat("searches", 20, http::get(search, &stranger));
    attackers.repeat(
        "requests without a host",
        20,
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
    );
    attackers.repeat("requests of two hosts", 20, TWO_HOSTS.to_vec());
    attackers.repeat("noise", 20, vec![0x16; 4 * 1024]);
    attackers.repeat("pictures", 4, pictures(&stranger));
    attackers.repeat(
        "parts without end",
        2,
        flood(&own, &worker, PART, b"x-a: b\r\n"),
    );
    attackers.repeat(
        "preambles without end",
        2,
        flood(&own, &worker, b"", b"preamble\r\n"),
    );
    attackers.repeat("empty parts", 2, flood(&own, &worker, b"", EMPTY_PART));
    attackers.repeat(
        "uploads to nowhere",
        4,
        flood(invented, &stranger, PART, b"x"),
    );
    attackers.hold(
        "parked uploads",
        PARKED,
        flood(&own, &worker, FILE, &[7; 64]),
    );
    attackers.hold("readers that do not read", HELD, unread());
    attackers.hold("connections that say nothing", HELD, Vec::new());
    attackers.trickle("slow heads", HELD);
    Counts(attackers.counts)
}

const TWO_HOSTS: &[u8] = b"GET /healthz HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n";
const PART: &[u8] = b"--hostile-boundary\r\ncontent-disposition: form-data; name=\"photo\"\r\n";
const FILE: &[u8] =
    b"--hostile-boundary\r\ncontent-disposition: form-data; name=\"photo\"; filename=\"a.jpg\"\r\n\r\n";
const EMPTY_PART: &[u8] =
    b"--hostile-boundary\r\ncontent-disposition: form-data; name=\"a\"\r\n\r\n\r\n";

struct Attackers {
    address: SocketAddr,
    counts: Vec<(&'static str, Arc<AtomicUsize>)>,
}

impl Attackers {
    /// Sends the request so many times a second, each on a connection of its own.
    fn repeat(&mut self, name: &'static str, a_second: u32, request: Vec<u8>) {
        let (address, count) = self.counted(name);
        let request = Arc::new(request);
        tokio::spawn(async move {
            let mut ticks = interval(Duration::from_secs(1) / a_second);
            loop {
                ticks.tick().await;
                count.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(send(address, Arc::clone(&request)));
            }
        });
    }

    /// Keeps so many connections open, and opens those again that the server has closed.
    fn hold(&mut self, name: &'static str, connections: usize, bytes: Vec<u8>) {
        let bytes = Arc::new(bytes);
        self.each(name, connections, move |mut stream| {
            let bytes = Arc::clone(&bytes);
            async move {
                // A server that does not take all of it is left holding the rest.
                let _ = timeout(PATIENCE, stream.write_all(&bytes)).await;
                closed(&stream).await;
            }
        });
    }

    /// A byte of a head now and then.
    fn trickle(&mut self, name: &'static str, connections: usize) {
        self.each(name, connections, |mut stream| async move {
            let mut sent = stream.write_all(b"GET /v1/tasks HTTP/1.1\r\n").await;
            while sent.is_ok() {
                sleep(Duration::from_secs(1)).await;
                sent = stream.write_all(b"x").await;
            }
        });
    }

    fn each<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        name: &'static str,
        connections: usize,
        attack: impl Fn(TcpStream) -> F + Clone + Send + 'static,
    ) {
        let (address, count) = self.counted(name);
        for _ in 0..connections {
            let (attack, count) = (attack.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                loop {
                    if let Ok(stream) = TcpStream::connect(address).await {
                        count.fetch_add(1, Ordering::Relaxed);
                        attack(stream).await;
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            });
        }
    }

    fn counted(&mut self, name: &'static str) -> (SocketAddr, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        self.counts.push((name, Arc::clone(&count)));
        (self.address, count)
    }
}

async fn send(address: SocketAddr, request: Arc<Vec<u8>>) {
    let _ = timeout(PATIENCE, async {
        let mut stream = TcpStream::connect(address).await?;
        // The answer may come before all is sent.
        let _ = stream.write_all(&request).await;
        let mut answer = [0; 1024];
        stream.read(&mut answer).await
    })
    .await;
}

/// Waits until the server has closed the connection, without reading what it sent. Says next to
/// nothing meanwhile, since only a write tells.
async fn closed(stream: &TcpStream) {
    loop {
        sleep(Duration::from_secs(1)).await;
        match stream.try_write(b"\r\n") {
            Err(error) if error.kind() != ErrorKind::WouldBlock => return,
            _ => {}
        }
    }
}

/// Many requests for a long answer on one connection.
fn unread() -> Vec<u8> {
    b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n".repeat(50)
}

/// Nested keys, and in the innermost object the same key over and over.
fn repeated_keys() -> String {
    let key = "\u{1f9e8}".repeat(100);
    let open = format!("{{\"{key}\":").repeat(100);
    let repeats = "\"\":0,".repeat(42_000);
    let close = "}".repeat(101);
    format!("{open}{{{repeats}\"\":0{close}")
}

fn nested_lists() -> String {
    let lists = "[".repeat(120) + &"0,".repeat(100_000) + "0" + &"]".repeat(120);
    format!("{{\"metadata\": {{\"a\": {lists}}}}}")
}

/// A form that begins well and then repeats the same bytes for eight megabytes.
fn flood(path: &str, token: &str, begin: &[u8], repeated: &[u8]) -> Vec<u8> {
    let mut request = form(path, token, 100 * MEGABYTE);
    request.extend(begin);
    request.extend(repeated.repeat(8 * MEGABYTE / repeated.len()));
    request
}

/// Both files of a verification. They decode, which takes time.
fn pictures(token: &str) -> Vec<u8> {
    let (picture, _) = media::sample(ProofType::Photo, b"hostile");
    let mut body = Vec::new();
    for name in ["document", "selfie"] {
        let part = format!(
            "--{BOUNDARY}\r\ncontent-disposition: form-data; name=\"{name}\"; filename=\"a.jpg\"\r\n\r\n"
        );
        body.extend(part.into_bytes());
        body.extend(&picture);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
    let mut request = form("/v1/worker/verification", token, body.len());
    request.extend(body);
    request
}

fn form(path: &str, token: &str, length: usize) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\n\r\n"
    )
    .into_bytes()
}
