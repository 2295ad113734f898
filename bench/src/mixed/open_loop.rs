//! Requests at a fixed rate, whether or not the server keeps up. Each is due at a time of its own, and
//! its latency counts from then: a server that falls behind cannot hide it by slowing down who asks.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::requests::{Kind, Mix};
use crate::Result;
use crate::load::Window;
use crate::load::http;

/// Not measured: connections are opened, caches fill.
const WARM_UP: Duration = Duration::from_millis(500);

#[derive(Clone, Copy)]
pub struct Rate {
    pub per_second: f64,
    pub connections: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Served,
    /// 503 with `Retry-After`.
    Refused,
}

struct Timed {
    kind: Kind,
    answer: Answer,
    /// Whether it was due while we measured. What was due before still tells how much is served.
    is_measured: bool,
    answered: Instant,
    /// From when it was due, and from when it was sent.
    due_micros: u32,
    sent_micros: u32,
}

pub struct Outcome {
    pub window: Window,
    timed: Vec<Timed>,
}

impl Outcome {
    pub fn count(&self, answer: Answer) -> usize {
        self.of(answer).count()
    }

    /// What was answered while we measured. What is still waiting then does not count.
    pub fn per_second(&self, answer: Answer) -> f64 {
        let Window { from, until } = self.window;
        let given = self.timed.iter().filter(|timed| {
            timed.answer == answer && from <= timed.answered && timed.answered < until
        });
        given.count() as f64 / (until - from).as_secs_f64()
    }

    /// How long the requests of a kind took from when they were due.
    pub fn since_due(&self, answer: Answer, kind: Option<Kind>) -> Vec<u32> {
        let of_kind = |timed: &&Timed| kind.is_none_or(|kind| timed.kind == kind);
        let found = self.of(answer).filter(of_kind);
        sorted(found.map(|timed| timed.due_micros).collect())
    }

    pub fn since_sent(&self, answer: Answer) -> Vec<u32> {
        sorted(self.of(answer).map(|timed| timed.sent_micros).collect())
    }

    fn of(&self, answer: Answer) -> impl Iterator<Item = &Timed> {
        let wanted = move |timed: &&Timed| timed.answer == answer && timed.is_measured;
        self.timed.iter().filter(wanted)
    }
}

fn sorted(mut micros: Vec<u32>) -> Vec<u32> {
    micros.sort_unstable();
    micros
}

/// In milliseconds.
pub fn permille(sorted: &[u32], permille: usize) -> f64 {
    let index = sorted.len() * permille / 1_000;
    sorted
        .get(index)
        .map_or(f64::NAN, |micros| f64::from(*micros) / 1_000.0)
}

pub fn run(address: SocketAddr, mix: &Arc<Mix>, rate: Rate, length: Duration) -> Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (window, timed) = runtime.block_on(drive(address, mix, rate, length))?;
    Ok(Outcome { window, timed })
}

async fn drive(
    address: SocketAddr,
    mix: &Arc<Mix>,
    rate: Rate,
    length: Duration,
) -> io::Result<(Window, Vec<Timed>)> {
    let mut streams = Vec::with_capacity(rate.connections);
    for _ in 0..rate.connections {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        streams.push(stream);
    }
    let begun = Instant::now();
    let schedule = Arc::new(Schedule {
        begun,
        window: Window {
            from: begun + WARM_UP,
            until: begun + WARM_UP + length,
        },
        interval: 1.0 / rate.per_second,
        next: AtomicUsize::new(0),
        first: mix.take(),
    });
    let mut connections = JoinSet::new();
    for stream in streams {
        connections.spawn(serve(stream, Arc::clone(mix), Arc::clone(&schedule)));
    }
    let mut timed = Vec::new();
    while let Some(finished) = connections.join_next().await {
        timed.extend(finished.map_err(io::Error::other)??);
    }
    Ok((schedule.window, timed))
}

struct Schedule {
    begun: Instant,
    window: Window,
    /// In seconds.
    interval: f64,
    next: AtomicUsize,
    /// Where in the mix this run begins.
    first: usize,
}

/// Sends whatever is due next, until nothing is due any more.
async fn serve(
    mut stream: TcpStream,
    mix: Arc<Mix>,
    schedule: Arc<Schedule>,
) -> io::Result<Vec<Timed>> {
    let mut buffer = vec![0; 64 * 1024];
    let mut timed = Vec::new();
    loop {
        let number = schedule.next.fetch_add(1, Ordering::Relaxed);
        let after = Duration::from_secs_f64(number as f64 * schedule.interval);
        let due = schedule.begun + after;
        if due >= schedule.window.until {
            return Ok(timed);
        }
        tokio::time::sleep_until(due.into()).await;
        let (kind, request) = mix.request(schedule.first + number);
        let sent = Instant::now();
        // Where the server has fallen behind, nobody waits until all is made up for.
        if sent >= schedule.window.until {
            return Ok(timed);
        }
        stream.write_all(request).await?;
        let answer = read(&mut stream, &mut buffer).await?;
        let answered = Instant::now();
        timed.push(Timed {
            kind,
            answer,
            is_measured: due >= schedule.window.from,
            answered,
            due_micros: micros(answered - due),
            sent_micros: micros(answered - sent),
        });
    }
}

fn micros(took: Duration) -> u32 {
    u32::try_from(took.as_micros()).unwrap_or(u32::MAX)
}

async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Answer> {
    let mut filled = 0;
    loop {
        if filled == buffer.len() {
            buffer.resize(2 * filled, 0);
        }
        let read = stream.read(&mut buffer[filled..]).await?;
        if read == 0 {
            return Err(io::Error::other("the server closed the connection"));
        }
        filled += read;
        let head = http::head(&buffer[..filled]).filter(|head| filled >= head.ends);
        if let Some(head) = head {
            return judge(head, &buffer[..head.ends]);
        }
    }
}

/// A 409 is served too: a task that was chosen at random was not in the right status.
fn judge(head: http::Head, answer: &[u8]) -> io::Result<Answer> {
    let text = || String::from_utf8_lossy(answer).into_owned();
    match head.status {
        200..=299 | 409 => Ok(Answer::Served),
        503 if text().contains("\r\nretry-after: ") => Ok(Answer::Refused),
        _ => Err(io::Error::other(format!("unexpected: {}", text()))),
    }
}
