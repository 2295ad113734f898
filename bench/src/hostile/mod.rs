//! A normal client is served while others attack: how late its answers get, and how much memory the
//! server takes. The server runs with its limits on, and is killed when it takes too much memory.

mod attacks;
mod client;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use attacks::Targets;
use serde_json::json;
use tokio::runtime;

use crate::Result;
use crate::load::http;
use crate::options::{Options, ROUNDS};
use crate::report::{Figure, Report};
use crate::service::new_task;
use crate::test_bed::live_server::LiveServer;
use crate::test_bed::server::Process;
use crate::test_bed::{TestBed, open_account, settled};

/// Each attacker's connections, and those of the client.
pub const OPEN_FILES: u64 = 4_096;
const MEGABYTES: f64 = 512.0;
const TIMES: f64 = 5.0;
const LOOK_EVERY: Duration = Duration::from_millis(20);

pub fn measure(options: &Options, bed: &mut TestBed, report: &mut Report) -> Result<()> {
    bed.stop()?;
    let mut live_server = LiveServer::new(bed, "hostile", 1, 1, &new_task())?;
    let task = live_server.tasks[0];
    live_server.act(0, task, "accept")?;
    live_server.act(0, task, "start")?;
    live_server.stop()?;
    let open = |name: &str| {
        let database = live_server.database.server();
        open_account(settled(&bed.binary, &live_server.folder, database), name)
    };
    let (honest, hostile) = (open("honest")?, open("hostile")?);
    live_server.limited = true;
    let worker = live_server.workers[0].clone();
    let server = live_server.server()?;
    let targets = Targets {
        address: server.address,
        key: hostile.test_key,
        stranger: sign_up(server)?,
        worker,
        task: task.to_string(),
    };
    let length = options.round() * ROUNDS;
    let requests = client::requests(server.address, &honest.test_key)?;
    let quiet = client::run(server, &requests, length)?;
    let attack = Attack::begin(targets)?;
    let limit = MemoryLimit::watch(server);
    let attacked = client::run(server, &requests, length);
    let most = server.memory().map(|(_, most)| most as f64 / 1e6);
    limit.end()?;
    let sent = attack.end()?;
    report.note(&format!("Sent by the attackers: {sent}."));
    let figure = Figure::late_latency(bed.name(), "a client among attackers", &attacked?);
    report.add(figure.at_most_times(TIMES, "the same client alone", &quiet));
    let name = "memory under attack";
    report.add(Figure::megabytes(bed.name(), name, most?).at_most(MEGABYTES));
    live_server.stop()
}

/// The token of a worker whom nobody has verified.
fn sign_up(server: &Process) -> Result<String> {
    let body = json!({
        "email": "stranger@example.com", "password": "not easy to guess",
        "name": "Stranger", "phone": "+15550100",
    });
    let request = http::post("/v1/workers", "", &body.to_string());
    let answer = http::fetch_json(server.address, &request, 201)?;
    let token = answer["token"].as_str();
    Ok(token.ok_or("a worker has no token")?.to_owned())
}

/// The attackers, on a thread of their own.
struct Attack {
    stop: Arc<tokio::sync::Notify>,
    thread: thread::JoinHandle<String>,
}

impl Attack {
    fn begin(targets: Targets) -> Result<Self> {
        let stop = Arc::new(tokio::sync::Notify::new());
        let stopped = Arc::clone(&stop);
        let runtime = runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = thread::spawn(move || {
            let counts = runtime.block_on(async {
                let counts = attacks::all(targets);
                stopped.notified().await;
                counts
            });
            counts.to_string()
        });
        Ok(Self { stop, thread })
    }

    /// Returns what was sent.
    fn end(self) -> Result<String> {
        self.stop.notify_one();
        self.thread
            .join()
            .map_err(|_| "the attackers panicked".into())
    }
}

/// Kills the server as soon as it takes more memory than it may.
struct MemoryLimit {
    done: Arc<AtomicBool>,
    thread: thread::JoinHandle<bool>,
}

impl MemoryLimit {
    fn watch(server: &Process) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let (pid, ended) = (server.pid(), Arc::clone(&done));
        let thread = thread::spawn(move || {
            while !ended.load(Ordering::Relaxed) {
                let resident =
                    crate::test_bed::server::memory(pid).map_or(0, |(resident, _)| resident);
                if resident as f64 / 1e6 > MEGABYTES {
                    return crate::test_bed::server::kill(pid).is_ok();
                }
                thread::sleep(LOOK_EVERY);
            }
            false
        });
        Self { done, thread }
    }

    fn end(self) -> Result<()> {
        self.done.store(true, Ordering::Relaxed);
        match self.thread.join() {
            Ok(false) => Ok(()),
            Ok(true) => {
                Err(format!("the server took more than {MEGABYTES} MB under attack").into())
            }
            Err(_) => Err("the watch on memory panicked".into()),
        }
    }
}
