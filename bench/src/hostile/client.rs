//! The client that is to be served: it creates and reads tasks at a steady pace, whoever else is
//! there.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Result;
use crate::load::http;
use crate::load::{Sample, Window};
use crate::test_bed::creation;
use crate::test_bed::server::Process;

const CONNECTIONS: usize = 8;
/// Of each connection. All together they stay below the rate limit of their account.
const PACE: Duration = Duration::from_millis(20);
/// Also the time in which the attackers open their connections.
const WARM_UP: Duration = Duration::from_secs(3);
const PATIENCE: Duration = Duration::from_secs(30);

/// A request, and the status of its answer.
pub type Exchange = (Vec<u8>, u16);

/// One creation for every nine reads.
pub fn requests(address: SocketAddr, key: &str) -> Result<Vec<Exchange>> {
    let create = creation(key);
    let task = http::fetch_json(address, &create, 201)?;
    let id = task["id"].as_str().ok_or("a task has no id")?;
    let read = http::get(&format!("/v1/tasks/{id}"), key);
    let mut requests = vec![(read, 200); 9];
    requests.push((create, 201));
    Ok(requests)
}

pub fn run(server: &Process, requests: &[Exchange], length: Duration) -> Result<Sample> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let window = Window::after(WARM_UP, length);
    let micros = runtime.block_on(async {
        let mut connections = JoinSet::new();
        for number in 0..CONNECTIONS {
            let requests = requests.to_vec();
            connections.spawn(drive(server.address, requests, number, window));
        }
        let mut micros = Vec::new();
        while let Some(finished) = connections.join_next().await {
            micros.extend(finished.map_err(|e| e.to_string())??);
        }
        Ok::<_, String>(micros)
    })?;
    Ok(Sample::of_micros(micros, window))
}

/// Sends one request at each tick. A tick that comes while one is answered waits, and its time
/// counts from the tick: a client that is not served does not look served.
async fn drive(
    address: SocketAddr,
    requests: Vec<Exchange>,
    first: usize,
    window: Window,
) -> std::result::Result<Vec<u32>, String> {
    let stream = TcpStream::connect(address).await;
    let mut stream = stream.map_err(|e| format!("the client cannot connect: {e}"))?;
    let _ = stream.set_nodelay(true);
    let mut micros = Vec::new();
    let mut due = Instant::now() + PACE.mul_f64(first as f64 / CONNECTIONS as f64);
    for (request, expected) in requests.iter().cycle().skip(first) {
        tokio::time::sleep_until(due.into()).await;
        let answered = tokio::time::timeout(PATIENCE, ask(&mut stream, request));
        let status = answered.await.map_err(|_| "no answer to the client")??;
        if status != *expected {
            return Err(format!("the client got {status} instead of {expected}"));
        }
        let now = Instant::now();
        if now >= window.until {
            break;
        }
        if now >= window.from {
            micros.push(u32::try_from((now - due).as_micros()).unwrap_or(u32::MAX));
        }
        due += PACE;
    }
    Ok(micros)
}

async fn ask(stream: &mut TcpStream, request: &[u8]) -> std::result::Result<u16, String> {
    let broken = |e: std::io::Error| format!("the client's connection broke: {e}");
    stream.write_all(request).await.map_err(broken)?;
    let mut buffer = Vec::with_capacity(16 * 1024);
    loop {
        if stream.read_buf(&mut buffer).await.map_err(broken)? == 0 {
            return Err("the server closed the client's connection".to_owned());
        }
        if let Some(head) = http::head(&buffer).filter(|head| buffer.len() >= head.ends) {
            return Ok(head.status);
        }
    }
}
