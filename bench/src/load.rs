//! The load generator: each connection sends its next request when it has the response.
//!
//! It shares the machine with the server, so it does as little as possible: one thread, prepared
//! requests, reused buffers.

pub mod http;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::Result;
use crate::test_bed::server::processor_time;

/// Not measured: connections are opened, caches fill, threads wake up.
pub const WARM_UP: Duration = Duration::from_millis(300);

#[derive(Clone)]
pub struct Load {
    pub address: SocketAddr,
    pub connections: usize,
    pub requests: Arc<Vec<Vec<u8>>>,
    pub expected: u16,
    /// The process under load.
    pub pid: u32,
}

/// A measurement: how many, in how long, and the duration of each.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// One for each round.
    rates: Vec<f64>,
    micros: Vec<u32>,
    /// How many responses the processor time is for.
    answers: usize,
    /// Processor time of the process under load.
    processor: Duration,
}

impl Sample {
    pub fn of_count(count: u64, elapsed: Duration) -> Self {
        Self::of_rate(count as f64 / elapsed.as_secs_f64())
    }

    /// From the durations within the window, and the processor time for all of them.
    pub fn of_times(micros: Vec<u32>, processor: Duration, window: Window) -> Self {
        Self {
            answers: micros.len(),
            processor,
            ..Self::of_micros(micros, window)
        }
    }

    /// From durations without processor time.
    pub fn of_micros(mut micros: Vec<u32>, window: Window) -> Self {
        micros.sort_unstable();
        let counted = Self::of_count(micros.len() as u64, window.until - window.from);
        Self { micros, ..counted }
    }

    /// From the number within the window, and the processor time for all of them.
    pub fn of_answers(answers: usize, processor: Duration, window: Window) -> Self {
        let counted = Self::of_count(answers as u64, window.until - window.from);
        Self {
            answers,
            processor,
            ..counted
        }
    }

    pub fn of_rate(rate: f64) -> Self {
        Self {
            rates: vec![rate],
            ..Self::default()
        }
    }

    pub fn add(&mut self, round: Self) {
        self.rates.extend(round.rates);
        self.micros.extend(round.micros);
        self.micros.sort_unstable();
        self.answers += round.answers;
        self.processor += round.processor;
    }

    /// The median of the rounds, so that one disturbed round does not count.
    pub fn per_second(&self) -> f64 {
        median(self.rates.clone())
    }

    /// The median of the ratios, each from two consecutive rounds. If the rounds were not in turns,
    /// the ratio of the medians.
    pub fn rate_ratio(&self, other: &Self) -> f64 {
        if self.rates.len() != other.rates.len() {
            return self.per_second() / other.per_second();
        }
        let pairs = self.rates.iter().zip(&other.rates);
        median(pairs.map(|(own, other)| own / other).collect())
    }

    pub fn last_rate(&self) -> f64 {
        self.rates.last().copied().unwrap_or(0.0)
    }

    pub fn percentile(&self, percent: usize) -> Option<f64> {
        self.permille(percent * 10)
    }

    /// In microseconds. `None` if single requests were not timed.
    pub fn permille(&self, permille: usize) -> Option<f64> {
        let index = self.micros.len() * permille / 1_000;
        self.micros.get(index).map(|micros| f64::from(*micros))
    }

    /// Microseconds of processor time per response. It stays the same when other programs keep the
    /// machine busy.
    pub fn processor_per_request(&self) -> Option<f64> {
        let micros = self.processor.as_secs_f64() * 1e6;
        (self.answers > 0).then(|| micros / self.answers as f64)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

impl Load {
    /// Drives the server for this long, after a warm-up. Any unexpected response fails the run.
    pub fn run(&self, length: Duration) -> Result<Sample> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let window = Window::after(WARM_UP.min(length), length);
        let (micros, processor) =
            runtime.block_on(async { tokio::join!(self.drive(window), window.watch(self.pid)) });
        Ok(Sample::of_times(micros?, processor?, window))
    }

    async fn drive(&self, window: Window) -> io::Result<Vec<u32>> {
        let mut connections = JoinSet::new();
        for number in 0..self.connections {
            let stream = TcpStream::connect(self.address).await?;
            stream.set_nodelay(true)?;
            let connection = Connection {
                stream,
                buffer: vec![0; 64 * 1024],
                expected: self.expected,
            };
            let requests = Arc::clone(&self.requests);
            connections.spawn(connection.drive(requests, number, window));
        }
        let mut micros = Vec::new();
        while let Some(finished) = connections.join_next().await {
            micros.extend(finished.map_err(io::Error::other)??);
        }
        Ok(micros)
    }
}

/// What ends within the window is measured.
#[derive(Clone, Copy)]
pub struct Window {
    pub from: Instant,
    pub until: Instant,
}

impl Window {
    pub fn after(warm_up: Duration, length: Duration) -> Self {
        let from = Instant::now() + warm_up;
        let until = from + length;
        Self { from, until }
    }

    /// The processor time of a process within the window.
    pub async fn watch(self, pid: u32) -> io::Result<Duration> {
        tokio::time::sleep_until(self.from.into()).await;
        let before = processor_time(pid)?;
        tokio::time::sleep_until(self.until.into()).await;
        Ok(processor_time(pid)?.saturating_sub(before))
    }
}

struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    expected: u16,
}

impl Connection {
    /// The duration of each request that was answered within the window.
    async fn drive(
        mut self,
        requests: Arc<Vec<Vec<u8>>>,
        first: usize,
        window: Window,
    ) -> io::Result<Vec<u32>> {
        // Spread over the requests, so that connections do not run in lockstep.
        let mut next = first * requests.len() / 64;
        let mut micros = Vec::with_capacity(16 * 1024);
        let mut sent = Instant::now();
        loop {
            self.ask(&requests[next % requests.len()]).await?;
            let answered = Instant::now();
            if answered >= window.until {
                return Ok(micros);
            }
            if answered >= window.from {
                let took = (answered - sent).as_micros();
                micros.push(u32::try_from(took).unwrap_or(u32::MAX));
            }
            sent = answered;
            next += 1;
        }
    }

    async fn ask(&mut self, request: &[u8]) -> io::Result<()> {
        self.stream.write_all(request).await?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..]).await?;
            if read == 0 {
                return Err(io::Error::other("the server closed the connection"));
            }
            filled += read;
            let Some(head) = http::head(&self.buffer[..filled]) else {
                continue;
            };
            if head.ends > self.buffer.len() {
                self.buffer.resize(head.ends, 0);
            }
            if filled >= head.ends {
                return self.check(head);
            }
        }
    }

    fn check(&self, head: http::Head) -> io::Result<()> {
        if head.status == self.expected {
            return Ok(());
        }
        let body = String::from_utf8_lossy(&self.buffer[head.body_starts..head.ends]);
        Err(io::Error::other(format!(
            "{} instead of {}: {body}",
            head.status, self.expected
        )))
    }
}
