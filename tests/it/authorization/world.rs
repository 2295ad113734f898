//! People, and the things that belong to them: what the paths of the routes name.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use legwork::domain::AdminRole;
use serde_json::{Value, json};

use crate::support::{Client, Developer, Reply, TestApp, Worker, photo};

pub struct World {
    pub app: TestApp,
    pub dev: Developer,
    pub holder: Worker,
    /// Whose documents wait in the queue.
    applicant: Worker,
    key: String,
    delivery: String,
    /// A live task with a flagged proof.
    task: String,
    proof: String,
    flagged: String,
    disputed: String,
    /// For a live task.
    quote: String,
    /// To the holder.
    notification: String,
    /// The holder sends a file for this one.
    begun: String,
    upload: String,
    /// A test task whose worker is at it.
    test_task: String,
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

impl World {
    pub async fn build(app: &TestApp) -> Self {
        let dev = app.developer().await;
        dev.put_webhook("https://127.0.0.1:9/", json!(null)).await;
        let new = json!({"name": "Third", "environment": "test"});
        let key = dev.live.post("/v1/account/keys", &new).await.expect(201);
        let (holder, applicant) = (app.ready_worker().await, app.sign_up(&[]).await);
        apply(&applicant).await;
        let disputed = crate::admin::disputed_task(app, &dev, &holder).await;
        let (task, proof) = flagged_task(&dev, &holder).await;
        let begun = dev.create_paid_task().await;
        holder.begin(&begun).await;
        let upload = uploads(&holder.client, "POST", "/v1/worker/uploads", &id(&begun)).await;
        let upload = upload
            .header("location")
            .rsplit('/')
            .next()
            .unwrap()
            .to_owned();
        let test_task = dev.create_task().await;
        let advance = format!("/v1/test_helpers/tasks/{}/advance", id(&test_task));
        let body = json!({"to": "in_progress"});
        dev.test.post(&advance, &body).await.expect(200);
        let storefront = crate::support::storefront();
        let quote = dev.live.post("/v1/quotes", &storefront).await.expect(201);
        let list = "/v1/account/webhook/deliveries";
        let deliveries = dev.live.get(list).await.expect(200);
        let notifications = holder.client.get("/v1/worker/notifications").await;
        let viewer = app.admin_with(AdminRole::Viewer).await;
        let queue = viewer.get("/v1/admin/queue?kind=flagged_proof").await;
        Self {
            app: app.clone(),
            key: id(&key),
            delivery: id(&deliveries["data"][0]),
            task: id(&task),
            proof: id(&proof),
            flagged: id(&queue.expect(200)["data"][0]),
            disputed: id(&disputed),
            quote: id(&quote),
            notification: id(&notifications.expect(200)["data"][0]),
            begun: id(&begun),
            upload,
            test_task: id(&test_task),
            dev,
            holder,
            applicant,
        }
    }

    /// What nobody else may ever read.
    pub fn private(&self) -> [&str; 8] {
        [
            &self.dev.account_id,
            &self.key,
            &self.delivery,
            &self.task,
            &self.proof,
            &self.disputed,
            &self.quote,
            &self.test_task,
        ]
    }

    /// What the path of a route names here.
    fn path(&self, path: &str) -> String {
        let named = match path {
            _ if path.starts_with("/v1/test_helpers/tasks") => &self.test_task,
            _ if path.contains("dispute") => &self.disputed,
            _ if path.starts_with("/v1/quotes") => &self.quote,
            _ if path.starts_with("/v1/worker/notifications") => &self.notification,
            _ if path.starts_with("/v1/worker/uploads") => &self.upload,
            _ if path.starts_with("/v1/account/keys") => &self.key,
            _ if path.starts_with("/v1/account/webhook/deliveries") => &self.delivery,
            _ if path.starts_with("/v1/admin/queue") => &self.flagged,
            _ if path.starts_with("/v1/admin/accounts") => &self.dev.account_id,
            _ if path.starts_with("/v1/admin/workers") => &self.applicant.id,
            _ => &self.task,
        };
        let path = path.replace("{id}", named);
        let path = path.replace("{proof_id}", &self.proof);
        let path = path.replace("{key_id}", &self.key);
        match path.as_str() {
            "/v1/admin/report" => format!("{path}?month=2025-11"),
            _ => path,
        }
    }

    /// Sends the request of a route, which is right in every part but who sends it.
    pub async fn send(&self, client: &Client, route: &str) -> Reply {
        let (method, template) = route.split_once(' ').unwrap();
        let path = self.path(template);
        if template == "/v1/events/stream" {
            return stream(client, &path).await;
        }
        if template.ends_with("/verification") {
            let (identity, selfie) = (photo("identity"), photo("selfie"));
            let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
            return client.send_form(&path, &parts).await;
        }
        if template.starts_with("/v1/worker/uploads") {
            return uploads(client, method, &path, &self.begun).await;
        }
        if route == "POST /v1/worker/tasks/{id}/proofs" {
            let photo = photo("another");
            return client.send_form(&path, &[("photo", &photo)]).await;
        }
        let body = body(route).to_string();
        let body = if method == "GET" { String::new() } else { body };
        client.send(method, &path, &[], body).await
    }

    /// What the owner sees of what the strangers tried to change.
    pub async fn state(&self) -> Vec<Value> {
        let mut state = Vec::new();
        for (client, path) in [
            (&self.dev.live, "/v1/tasks"),
            (&self.dev.test, "/v1/tasks"),
            (&self.dev.live, "/v1/account/webhook"),
            (&self.dev.live, "/v1/account/payment_method"),
            (&self.dev.live, "/v1/account/usage"),
            (&self.dev.test, "/v1/test_helpers/clock"),
            (&self.holder.client, "/v1/worker"),
            (&self.holder.client, "/v1/worker/tasks"),
        ] {
            state.push(client.get(path).await.expect(200));
        }
        state
    }
}

/// A request about an upload, with all headers that any of them needs.
async fn uploads(client: &Client, method: &str, path: &str, task: &str) -> Reply {
    let (task, kind) = (STANDARD.encode(task), STANDARD.encode("photo"));
    let metadata = format!("task_id {task},proof_type {kind}");
    let mut headers = vec![
        ("tus-resumable", "1.0.0"),
        ("upload-length", "10"),
        ("upload-metadata", &metadata),
        ("upload-offset", "0"),
    ];
    let mut bytes = "";
    if method == "PATCH" {
        headers.push(("content-type", "application/offset+octet-stream"));
        bytes = "0123";
    }
    client.send(method, path, &headers, bytes).await
}

async fn apply(worker: &Worker) {
    let (identity, selfie) = (photo("an identity"), photo("a selfie"));
    let parts: [(&str, &[u8]); 2] = [("identity", &identity), ("selfie", &selfie)];
    let sent = worker.client.send_form("/v1/worker/verification", &parts);
    sent.await.expect(201);
}

/// A live task with a proof from far away.
async fn flagged_task(dev: &Developer, worker: &Worker) -> (Value, Value) {
    let task = dev.create_paid_task().await;
    worker.begin(&task).await;
    let photo = photo(&id(&task));
    let parts: [(&str, &[u8]); 3] = [
        ("photo", &photo),
        ("gps_latitude", b"41.7163"),
        ("gps_longitude", b"-73.9595"),
    ];
    let sent = worker.send_proof(&task, &parts).await.expect(201);
    (task, sent["data"][0].clone())
}

/// A valid body.
fn body(route: &str) -> Value {
    match route {
        "POST /v1/tasks" | "POST /v1/quotes" => crate::support::storefront(),
        "POST /v1/tasks/batch" => json!({"tasks": [crate::support::storefront()]}),
        "PATCH /v1/tasks/{id}" => json!({"title": "Photograph a storefront by daylight"}),
        "POST /v1/tasks/{id}/proofs/{proof_id}/reject" => json!({"reason": "Too dark."}),
        "POST /v1/tasks/{id}/dispute/statement" => json!({"statement": "It is another door."}),
        "POST /v1/account/webhook/deliveries/recover" => json!({"since": "2025-11-15T09:30:00Z"}),
        "POST /v1/accounts/sign_up" => {
            let random: [u8; 8] = legwork::ambient::random();
            let email = format!("{:016x}@example.org", u64::from_be_bytes(random));
            json!({"email": email, "password": crate::support::PASSWORD, "name": "Ada"})
        }
        "POST /v1/accounts/confirm" => json!({"token": "none", "password": "none"}),
        "POST /v1/accounts/password_reset" => json!({"email": "nobody@example.org"}),
        "POST /v1/accounts/password_reset/confirm" => {
            json!({"token": "none", "password": crate::support::PASSWORD})
        }
        "POST /v1/admin/accounts/{id}/keys" => json!({"name": "One more", "environment": "test"}),
        "POST /v1/account/keys" => json!({"name": "One more", "environment": "test"}),
        "PUT /v1/account/keys/{id}/mandate" => json!({"permissions": ["read"]}),
        "PUT /v1/account/security" => json!({"test_keys_manage": "all"}),
        "PUT /v1/account/payment_method" => json!({"payment_method": "pm_card_visa"}),
        "PUT /v1/account/webhook" => json!({"url": "https://127.0.0.1:9/other"}),
        "DELETE /v1/account" => json!({"confirm": "somebody@example.com"}),
        "POST /v1/test_helpers/clock" => json!({"advance_seconds": 1}),
        "POST /v1/test_helpers/tasks/{id}/advance" => json!({"to": "proof_submitted"}),
        "DELETE /v1/worker" => json!({"password": "wrong horse battery"}),
        "PATCH /v1/worker" => json!({"name": "Grace H."}),
        "POST /v1/worker/push_subscriptions" => json!({
            "endpoint": "https://push.example.net/1", "keys": crate::support::browser_keys()}),
        "PUT /v1/worker/push_settings" => json!({"muted": ["bounties"]}),
        "DELETE /v1/worker/push_subscriptions" => json!({"endpoint": "https://push.example.net/1"}),
        "POST /v1/worker/tasks/{id}/dispute" => json!({"statement": "It is in the picture."}),
        "POST /v1/admin/accounts" => {
            let random: [u8; 8] = legwork::ambient::random();
            let email = format!("{:016x}@example.org", u64::from_be_bytes(random));
            json!({"email": email, "name": "Grace"})
        }
        "POST /v1/admin/keys" => json!({"name": "Grace", "role": "viewer"}),
        "DELETE /v1/admin/accounts/{id}/keys/{key_id}" => json!({"confirm": true}),
        "POST /v1/admin/accounts/{id}/tier" => json!({"tier": "pro"}),
        "POST /v1/admin/disputes/{id}/decide" => json!({"decision": "pay", "note": "It is."}),
        "POST /v1/admin/jobs/retry" => json!({"kind": "refund", "subject": "none"}),
        "POST /v1/admin/workers/{id}/skills" => json!({"confirmed": ["notary"]}),
        "POST /v1/admin/refunds/{id}/settle" => json!({"note": "By cheque."}),
        "POST /v1/admin/queue/{id}/note" => json!({"note": "Known place."}),
        "PUT /v1/worker/password" => json!({
            "current_password": crate::support::PASSWORD, "password": crate::support::PASSWORD}),
        "PUT /v1/worker/email" => {
            let random: [u8; 8] = legwork::ambient::random();
            let email = format!("{:016x}@example.net", u64::from_be_bytes(random));
            json!({"password": crate::support::PASSWORD, "email": email})
        }
        "POST /v1/workers/confirm" => json!({"token": "none", "password": "none"}),
        "POST /v1/workers/password_reset" => json!({"email": "nobody@example.org"}),
        "POST /v1/workers/password_reset/confirm" => {
            json!({"token": "none", "password": crate::support::PASSWORD})
        }
        "POST /v1/worker/second_factor/confirm"
        | "POST /v1/worker/second_factor/recovery_codes"
        | "DELETE /v1/worker/second_factor"
        | "POST /v1/admin/second_factor/confirm"
        | "POST /v1/admin/second_factor/recovery_codes"
        | "DELETE /v1/admin/second_factor"
        | "POST /v1/admin/sessions" => json!({"code": "000000"}),
        "POST /v1/workers" => {
            let random: [u8; 8] = legwork::ambient::random();
            let email = format!("{:016x}@example.org", u64::from_be_bytes(random));
            json!({"email": email, "password": crate::support::PASSWORD, "name": "Grace"})
        }
        "POST /v1/workers/sessions" => {
            json!({"email": "nobody@example.org", "password": "not this one"})
        }
        _ => json!({}),
    }
}

/// A stream that is let in goes on for ever, so only its head is read.
async fn stream(client: &Client, path: &str) -> Reply {
    match tokio::time::timeout(std::time::Duration::from_secs(60), client.head_of(path)).await {
        Ok(reply) => reply,
        Err(_) => panic!("{path} did not answer"),
    }
}
