//! A worker with a token, and admins.

use legwork::domain::tasks::ProofType;
use legwork::domain::{Actor, AdminKeyId, AdminRole};
use legwork::media;
use legwork::usecases;
use legwork::usecases::IssuedAdminKey;
use serde_json::{Value, json};

use super::{Client, Developer, Reply, TestApp, path};

#[derive(Clone)]
pub struct Worker {
    pub client: Client,
    pub id: String,
    pub email: String,
}

pub const PASSWORD: &str = "correct horse battery";

/// A photo that is a file of its own.
pub fn photo(seed: &str) -> Vec<u8> {
    media::sample(ProofType::Photo, seed.as_bytes()).0
}

pub fn signature(seed: &str) -> Vec<u8> {
    media::sample(ProofType::Signature, seed.as_bytes()).0
}

/// The keys of a browser's push subscription: those of RFC 8291, appendix A.
pub fn browser_keys() -> Value {
    json!({"auth": "BTBZMqHH6r4Tts7J_aSIgg",
        "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"})
}

impl TestApp {
    pub async fn sign_up(&self, skills: &[&str]) -> Worker {
        let random: [u8; 8] = legwork::ambient::random();
        let email = format!("{:016x}@example.com", u64::from_be_bytes(random));
        let body = json!({"email": email, "password": PASSWORD, "name": "Grace",
            "skills": skills, "home_latitude": 40.7163, "home_longitude": -73.9595});
        let reply = self.client().post("/v1/workers", &body).await.expect(201);
        Worker {
            client: Client::new(self.address, reply["token"].as_str()),
            id: reply["worker"]["id"].as_str().unwrap().to_owned(),
            email,
        }
    }

    pub async fn admin(&self) -> Client {
        self.admin_with(AdminRole::Owner).await
    }

    pub async fn admin_with(&self, role: AdminRole) -> Client {
        let now = self.clock.now();
        let id = AdminKeyId::new(now, &legwork::ambient::random());
        let key = IssuedAdminKey::new("Ada", role, id, &legwork::ambient::random(), now);
        let written = key.clone();
        self.store
            .write(move |tx| usecases::create_admin_key(tx, &written, &Actor::COMMAND_LINE, now))
            .await
            .unwrap();
        Client::new(self.address, Some(key.secret.expose()))
    }

    /// A worker who is verified and can be paid.
    pub async fn ready_worker(&self) -> Worker {
        let worker = self.sign_up(&[]).await;
        worker.become_ready(self).await;
        worker
    }
}

impl Worker {
    /// The same worker with another token. A suspension revokes all of them.
    pub async fn signed_in_again(&self, app: &TestApp) -> Self {
        let body = json!({"email": self.email, "password": PASSWORD});
        let reply = app.client().post("/v1/workers/sessions", &body).await;
        Self {
            client: Client::new(app.address, reply.expect(201)["token"].as_str()),
            ..self.clone()
        }
    }

    pub async fn become_ready(&self, app: &TestApp) {
        self.onboard(app).await;
        let verify = format!("/v1/admin/workers/{}/verify", self.id);
        app.admin()
            .await
            .post(&verify, &json!({}))
            .await
            .expect(200);
    }

    /// An admin confirms skills of the worker.
    pub async fn confirm(&self, app: &TestApp, skills: &[&str]) {
        let path = format!("/v1/admin/workers/{}/skills", self.id);
        let body = json!({"confirmed": skills});
        app.admin().await.post(&path, &body).await.expect(200);
    }

    pub async fn onboard(&self, app: &TestApp) {
        let page = self.onboarding().await;
        let done = app.client().send("POST", &page, &[], "").await;
        assert_eq!(done.status, 200);
    }

    /// With a magic value of the sandbox.
    pub async fn onboard_as(&self, app: &TestApp, outcome: &str) {
        let form = format!("outcome={outcome}");
        let page = self.onboarding().await;
        let done = app.client().send("POST", &page, &[], form).await;
        assert_eq!(done.status, 200);
    }

    /// The page on which the payout account is completed.
    pub async fn onboarding(&self) -> String {
        let path = "/v1/worker/payout_account";
        let onboarding = self.client.post(path, &json!({})).await.expect(201);
        let url = onboarding["url"].as_str().unwrap();
        let (_, page) = url.split_once("/onboarding/").unwrap();
        format!("/onboarding/{page}")
    }

    pub async fn act(&self, task: &Value, action: &str) -> Reply {
        let path = format!("/v1/worker/tasks/{}/{action}", task["id"].as_str().unwrap());
        self.client.post(&path, &json!({})).await
    }

    pub async fn begin(&self, task: &Value) {
        self.act(task, "accept").await.expect(200);
        self.act(task, "start").await.expect(200);
    }

    pub async fn send_proof(&self, task: &Value, parts: &[(&str, &[u8])]) -> Reply {
        let path = format!("/v1/worker/tasks/{}/proofs", task["id"].as_str().unwrap());
        self.client.send_form(&path, parts).await
    }

    /// A photo taken at the place.
    pub async fn prove(&self, task: &Value, seed: &str) -> Value {
        let photo = photo(seed);
        let parts: [(&str, &[u8]); 3] = [
            ("photo", &photo),
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
        ];
        self.send_proof(task, &parts).await.expect(201)["data"][0].clone()
    }
}

impl Developer {
    pub async fn review(&self, task: &Value, proof: &Value, verdict: &str) -> Reply {
        let id = proof["id"].as_str().unwrap();
        let path = format!("{}/proofs/{id}/{verdict}", path(task));
        let body = match verdict {
            "reject" => json!({"reason": "Too dark."}),
            _ => json!({}),
        };
        self.live.post(&path, &body).await
    }
}
