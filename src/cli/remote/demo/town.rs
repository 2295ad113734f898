//! What happens in the town: people sign up, work, and are reviewed. All of it through the API.

use std::time::Duration;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use legwork_client::{Client, Error, File, Page, ProofType, Status, TaskFilter, Upload};
use serde_json::{Value, json};

use super::plan::{Dice, End, Habit, Plan, Resident};
use crate::cli::remote::failure::Failed;
use crate::cli::remote::output::progress;
use crate::domain::tasks::ProofType as Kind;
use crate::media;

pub const PASSWORD: &str = "a town that lives";
const AT_ONCE: usize = 8;
/// Charging a task is a job, which takes a moment.
const LOOK_EVERY: Duration = Duration::from_millis(50);
const LOOKS: usize = 400;

/// Latitude and longitude, if they are known.
type Place = (Option<f64>, Option<f64>);

pub struct Town {
    pub owner: Client,
    pub workers: Vec<Worker>,
    pub speed: f64,
}

#[derive(Clone)]
pub struct Worker {
    client: Client,
    id: String,
    resident: Resident,
}

pub fn client(url: &str, key: &str) -> Result<Client, Failed> {
    Ok(Client::builder(key).base_url(url).build()?)
}

impl Town {
    /// Everybody signs up, can be paid, and is verified.
    pub async fn settle(
        url: &str,
        owner: Client,
        admin: &Client,
        plan: &Plan,
    ) -> Result<Town, Failed> {
        let card = json!({"payment_method": "pm_card_visa"});
        owner
            .request("PUT", "/v1/account/payment_method", Some(&card))
            .await?;
        let settled = stream::iter(plan.residents.clone())
            .map(|resident| settle_one(url, &owner, admin, resident))
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        Ok(Town {
            owner: owner.clone(),
            workers: settled,
            speed: 1.0,
        })
    }

    /// Everything that was done before somebody looked.
    pub async fn live_through(&self, past: &[(Value, End)]) -> Result<(), Failed> {
        let lives = past.iter().enumerate().map(|(index, (task, end))| {
            let worker = &self.workers[index % self.workers.len()];
            self.one_life(task, *end, worker)
        });
        stream::iter(lives.collect::<Vec<_>>())
            .buffer_unordered(AT_ONCE)
            .try_collect::<Vec<()>>()
            .await
            .map(drop)
    }

    async fn one_life(&self, task: &Value, end: End, worker: &Worker) -> Result<(), Failed> {
        let id = self.post(task).await?;
        if end == End::Cancelled {
            self.owner.tasks().cancel(&id, None).await?;
            return Ok(());
        }
        worker.act(&id, "accept").await?;
        worker.act(&id, "start").await?;
        let degrees = |name: &str| task["location"][name].as_f64();
        let place = (degrees("latitude"), degrees("longitude"));
        if end == End::Redone {
            worker.prove(&id, place, 1).await?;
            self.review(&id, Some("Part of the sign is missing."))
                .await?;
        }
        worker.prove(&id, place, 2).await?;
        self.review(&id, None).await
    }

    /// Creates a task, and waits until workers see it.
    async fn post(&self, task: &Value) -> Result<String, Failed> {
        let created = self.owner.request("POST", "/v1/tasks", Some(task)).await?;
        let id = created["id"].as_str().unwrap_or_default().to_owned();
        for _ in 0..LOOKS {
            if self.owner.tasks().get(&id).await?.status == Status::Posted {
                return Ok(id);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        Err(Failed::Refused(format!(
            "the task {id} was not charged in time"
        )))
    }

    /// Approves, or rejects for a reason.
    async fn review(&self, task: &str, reason: Option<&str>) -> Result<(), Failed> {
        let page = Page {
            limit: Some(100),
            offset: None,
        };
        let proofs = self.owner.proofs().list(task, &page).take(100).await?;
        let newest = proofs.iter().max_by_key(|proof| proof.attempt_number);
        let Some(proof) = newest else {
            return Ok(());
        };
        match reason {
            Some(reason) => drop(self.owner.proofs().reject(task, &proof.id, reason).await?),
            None => drop(self.owner.proofs().approve(task, &proof.id).await?),
        }
        Ok(())
    }

    /// Goes on until it is dropped, or the server is gone.
    pub async fn live(&self, plan: Plan) -> Failed {
        let dice = plan.dice.clone();
        let workers = self.workers.iter().enumerate().map(|(index, worker)| {
            let mut dice = dice.clone();
            // Everybody has dice of their own.
            for _ in 0..=index {
                dice.below(2);
            }
            Box::pin(self.work(worker, dice))
        });
        let mut all = stream::FuturesUnordered::from_iter(workers);
        tokio::select! {
            gone = all.next() => gone.unwrap_or_else(|| Failed::usage("nobody lives here")),
            gone = self.order(plan) => gone,
            gone = self.judge() => gone,
        }
    }

    async fn minutes(&self, minutes: f64) {
        tokio::time::sleep(Duration::from_secs_f64(minutes * 60.0 / self.speed)).await;
    }

    /// The owner has something to be done every few minutes.
    async fn order(&self, mut plan: Plan) -> Failed {
        loop {
            let task = plan.next_task();
            if let Err(error) = self.owner.request("POST", "/v1/tasks", Some(&task)).await
                && error.is_unreachable()
            {
                return error.into();
            }
            progress(&format!(
                "New: {}",
                task["title"].as_str().unwrap_or_default()
            ));
            self.minutes(3.0).await;
        }
    }

    /// The owner looks at what was sent.
    async fn judge(&self) -> Failed {
        let filter = TaskFilter {
            status: Some(Status::ProofSubmitted),
            limit: Some(20),
            ..TaskFilter::default()
        };
        loop {
            self.minutes(2.0).await;
            let waiting = match self.owner.tasks().list(&filter).take(20).await {
                Ok(waiting) => waiting,
                Err(error) if error.is_unreachable() => return error.into(),
                Err(_) => continue,
            };
            for task in waiting {
                let reason = self.fault_of(&task.id).await;
                if self.review(&task.id, reason).await.is_ok() {
                    let verdict = if reason.is_some() {
                        "Rejected"
                    } else {
                        "Approved"
                    };
                    progress(&format!("{verdict}: {}", task.title));
                }
            }
        }
    }

    /// What is wrong with the first proof of somebody with such a habit.
    async fn fault_of(&self, task: &str) -> Option<&'static str> {
        let page = Page {
            limit: Some(100),
            offset: None,
        };
        let proofs = self.owner.proofs().list(task, &page).take(100).await.ok()?;
        let last = proofs.iter().max_by_key(|proof| proof.attempt_number)?;
        let worker = self.owner.tasks().get(task).await.ok()?.worker_id?;
        let worker = self.workers.iter().find(|known| known.id == worker)?;
        match (worker.resident.habit, last.attempt_number) {
            (Habit::Blurry, 1) => Some("The photo is blurry. Please hold still."),
            (Habit::FarAway, 1) => Some("This was taken somewhere else."),
            _ => None,
        }
    }

    async fn work(&self, worker: &Worker, mut dice: Dice) -> Failed {
        self.minutes(dice.between(0.0, 3.0)).await;
        loop {
            match self.one_job(worker, &mut dice).await {
                Err(error) if error.is_unreachable() => return error.into(),
                // Somebody else was faster, or the task is over.
                _ => self.minutes(dice.between(2.0, 6.0)).await,
            }
        }
    }

    async fn one_job(&self, worker: &Worker, dice: &mut Dice) -> Result<(), Error> {
        let found = worker
            .client
            .request("GET", "/v1/worker/available_tasks?limit=10", None)
            .await?;
        let found = found["data"].as_array().cloned().unwrap_or_default();
        if found.is_empty() {
            return Ok(());
        }
        let listed = &found[dice.below(found.len())];
        let id = listed["id"].as_str().unwrap_or_default();
        let (name, habit) = (&worker.resident.name, worker.resident.habit);
        let task = worker.act(id, "accept").await?;
        progress(&format!(
            "{name} accepts: {}",
            listed["title"].as_str().unwrap_or_default()
        ));
        let degrees = |name: &str| task[name].as_f64();
        let place = (degrees("location_latitude"), degrees("location_longitude"));
        self.minutes(habit.minutes(dice)).await;
        worker.act(id, "start").await?;
        for attempt in 1..=3 {
            self.minutes(habit.minutes(dice)).await;
            worker.prove(id, place, attempt).await?;
            progress(&format!("{name} sends proof."));
            loop {
                self.minutes(1.0).await;
                let path = format!("/v1/worker/tasks/{id}");
                let now = worker.client.request("GET", &path, None).await?;
                match now["status"].as_str() {
                    Some("proof_submitted") => {}
                    Some("proof_rejected") => break,
                    _ => return Ok(()),
                }
            }
        }
        Ok(())
    }
}

impl Worker {
    async fn act(&self, task: &str, action: &str) -> Result<Value, Error> {
        let path = format!("/v1/worker/tasks/{task}/{action}");
        self.client.request("POST", &path, Some(&json!({}))).await
    }

    /// A photo at the place; from elsewhere the first time, if that is the habit.
    async fn prove(&self, id: &str, place: Place, attempt: u32) -> Result<(), Error> {
        let is_away = self.resident.habit == Habit::FarAway && attempt == 1;
        let away = if is_away { 0.02 } else { 0.0 };
        let seed = format!("{id} {attempt}");
        let upload = Upload {
            gps_latitude: place.0.map(|degrees| degrees + away),
            gps_longitude: place.1,
            files: vec![File {
                proof_type: ProofType::Photo,
                content_type: "image/jpeg".to_owned(),
                bytes: media::sample(Kind::Photo, seed.as_bytes()).0,
            }],
        };
        let path = format!("/v1/worker/tasks/{id}/proofs");
        self.client.upload(&path, &upload).await.map(drop)
    }
}

async fn settle_one(
    url: &str,
    owner: &Client,
    admin: &Client,
    resident: Resident,
) -> Result<Worker, Failed> {
    let new = json!({"email": resident.email, "password": PASSWORD, "name": resident.name,
        "skills": ["photography", "delivery"], "home_latitude": resident.latitude, "home_longitude": resident.longitude});
    let signed_up = owner.request("POST", "/v1/workers", Some(&new)).await?;
    let token = signed_up["token"].as_str().unwrap_or_default();
    let id = signed_up["worker"]["id"]
        .as_str()
        .unwrap_or_default()
        .to_owned();
    let client = client(url, token)?;
    let payouts = client
        .request("POST", "/v1/worker/payout_account", Some(&json!({})))
        .await?;
    let page = payouts["url"]
        .as_str()
        .and_then(|page| page.split_once("/onboarding/"));
    let (_, page) = page.ok_or_else(|| Failed::Refused("there is no sandbox".to_owned()))?;
    // It answers with a page for people.
    match client
        .request("POST", &format!("/onboarding/{page}"), None)
        .await
    {
        Ok(_) | Err(Error::Answer { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    admin
        .request(
            "POST",
            &format!("/v1/admin/workers/{id}/verify"),
            Some(&json!({})),
        )
        .await?;
    Ok(Worker {
        client,
        id,
        resident,
    })
}
