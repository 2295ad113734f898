//! A server with its own folder and database, beside those of the test bed, for figures that need
//! live tasks and signed-in workers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legwork::domain::{NewTask, TaskId};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::Result;
use crate::load::http;
use crate::service::{Service, TestDatabase};
use crate::test_bed::server::Process;
use crate::test_bed::{Engine, TestBed, settled};

/// How long the jobs may take to post a few tasks.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct LiveServer {
    /// First, so that the server stops before its database is dropped.
    server: Option<Process>,
    binary: PathBuf,
    /// Whether the server that starts next has its rate limits on.
    pub limited: bool,
    pub folder: PathBuf,
    pub database: TestDatabase,
    /// The tokens of its workers.
    pub workers: Vec<String>,
    pub tasks: Vec<TaskId>,
}

impl LiveServer {
    /// Creates workers who may accept tasks, and tasks that they can find. The server then charges
    /// and posts the tasks.
    pub fn new(
        bed: &TestBed,
        purpose: &str,
        workers: usize,
        tasks: usize,
        new: &NewTask,
    ) -> Result<Self> {
        let folder = bed.folder.path().join(purpose);
        std::fs::create_dir(&folder)?;
        let database = match &bed.engine {
            Engine::Sqlite => TestDatabase::Sqlite(folder.join("legwork.db")),
            Engine::Postgres(_) => TestDatabase::new(bed, purpose)?,
        };
        let mut live_server = Self {
            server: None,
            limited: false,
            binary: bed.binary.clone(),
            folder,
            database,
            workers: Vec::new(),
            tasks: Vec::new(),
        };
        // Closed before the server opens it.
        let service = Service::open(&live_server.database)?;
        Runtime::new()?.block_on(live_server.settle(&service, workers, tasks, new))?;
        drop(service);
        live_server.wait_for_posts(new)?;
        Ok(live_server)
    }

    async fn settle(
        &mut self,
        service: &Service,
        workers: usize,
        tasks: usize,
        new: &NewTask,
    ) -> std::result::Result<(), String> {
        let developer = service.new_developer(0).await?;
        for _ in 0..workers {
            self.workers.push(service.sign_in_worker().await?);
        }
        let new = Arc::new(new.clone());
        for _ in 0..tasks {
            self.tasks.push(service.create(developer, &new).await?);
        }
        Ok(())
    }

    fn wait_for_posts(&mut self, new: &NewTask) -> Result<()> {
        let place = &new.location;
        let path = format!(
            "/v1/worker/available_tasks?latitude={}&longitude={}&limit=100",
            place.latitude, place.longitude
        );
        let (asked, wanted) = (Instant::now(), self.tasks.len());
        loop {
            let request = http::get(&path, &self.workers[0]);
            let page = http::fetch_json(self.server()?.address, &request, 200)?;
            if page["data"].as_array().map_or(0, Vec::len) >= wanted {
                return Ok(());
            }
            if asked.elapsed() > PATIENCE {
                return Err(format!("{wanted} live tasks were not posted: {page}").into());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The running server, started if necessary.
    pub fn server(&mut self) -> Result<&Process> {
        let server = match self.server.take() {
            Some(server) => server,
            None => {
                let mut command = settled(&self.binary, &self.folder, self.database.server());
                if self.limited {
                    command.env("LEGWORK_RATE_LIMITS", "on");
                }
                Process::serve(command)?
            }
        };
        Ok(self.server.insert(server))
    }

    pub fn stop(&mut self) -> Result<()> {
        self.server.take().map_or(Ok(()), Process::stop)
    }

    /// A worker makes a move on a task.
    pub fn act(&mut self, worker: usize, task: TaskId, action: &str) -> Result<Value> {
        let path = format!("/v1/worker/tasks/{task}/{action}");
        let request = http::post(&path, &self.workers[worker], "{}");
        http::fetch_json(self.server()?.address, &request, 200)
    }
}
