//! A server with a folder and a database of its own, beside those of the test bed: for figures that
//! need live tasks, and workers with tokens.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use legwork::domain::{NewTask, TaskId};
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::bed::{Bed, Engine};
use crate::server::{Process, command};
use crate::town::{Ground, Town};
use crate::{Result, http};

/// How long the jobs may take to post a few tasks.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Site {
    /// First, so that it stops before its database goes.
    server: Option<Process>,
    binary: PathBuf,
    pub folder: PathBuf,
    pub ground: Ground,
    /// The tokens of its workers.
    pub workers: Vec<String>,
    pub tasks: Vec<TaskId>,
}

impl Site {
    /// With so many workers who may take tasks, and tasks that they can find: the server that is
    /// started then charges and posts them.
    pub fn new(
        bed: &Bed,
        purpose: &str,
        workers: usize,
        tasks: usize,
        new: &NewTask,
    ) -> Result<Self> {
        let folder = bed.folder.path().join(purpose);
        std::fs::create_dir(&folder)?;
        let ground = match &bed.engine {
            Engine::Sqlite => Ground::Sqlite(folder.join("legwork.db")),
            Engine::Postgres(_) => Ground::new(bed, purpose)?,
        };
        let mut site = Self {
            server: None,
            binary: bed.binary.clone(),
            folder,
            ground,
            workers: Vec::new(),
            tasks: Vec::new(),
        };
        // Closed before the server opens it.
        let town = Town::open(&site.ground)?;
        Runtime::new()?.block_on(site.settle(&town, workers, tasks, new))?;
        drop(town);
        site.wait_for_posts(new)?;
        Ok(site)
    }

    async fn settle(
        &mut self,
        town: &Town,
        workers: usize,
        tasks: usize,
        new: &NewTask,
    ) -> std::result::Result<(), String> {
        let developer = town.new_developer(0).await?;
        for _ in 0..workers {
            self.workers.push(town.recruit().await?);
        }
        let new = Arc::new(new.clone());
        for _ in 0..tasks {
            self.tasks.push(town.create(developer, &new).await?);
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

    /// The running server; started where it is not.
    pub fn server(&mut self) -> Result<&Process> {
        let server = match self.server.take() {
            Some(server) => server,
            None => {
                let mut command = command(&self.binary, &self.folder);
                if let Ground::Postgres(database) = &self.ground {
                    command.env("LEGWORK_DATABASE_URL", &database.url);
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
