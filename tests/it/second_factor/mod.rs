//! The second factor of workers, admin keys and developers.

mod admins;
mod codes;
mod developers;
mod required;
mod workers;

use std::time::Duration;

use legwork::domain::TotpSecret;
use serde_json::{Value, json};

use crate::support::{Client, Reply, TestApp};

/// The authenticator app of somebody, and the recovery codes.
pub struct Factor {
    pub secret: TotpSecret,
    pub recovery: Vec<String>,
}

impl Factor {
    /// What the app shows now.
    pub fn code(&self, app: &TestApp) -> Value {
        json!({"code": self.secret.code_at(app.clock.now())})
    }

    /// What the app shows next. Half a minute passes until then.
    pub fn next_code(&self, app: &TestApp) -> Value {
        pass(app, 30);
        self.code(app)
    }

    pub fn recovery_code(&self, number: usize) -> Value {
        json!({"code": self.recovery[number]})
    }
}

pub fn pass(app: &TestApp, seconds: u64) {
    let later = app.clock.now().plus(Duration::from_secs(seconds));
    app.clock.move_to(later);
}

pub fn secret_of(setup: &Value) -> TotpSecret {
    TotpSecret::from_base32(setup["secret"].as_str().unwrap()).unwrap()
}

pub fn codes_of(reply: &Value) -> Vec<String> {
    let codes = reply["recovery_codes"].as_array().unwrap().iter();
    codes
        .map(|code| code.as_str().unwrap().to_owned())
        .collect()
}

/// Sets up a second factor at `/v1/worker/second_factor` or `/v1/admin/second_factor`.
pub async fn set_up(app: &TestApp, client: &Client, path: &str) -> Factor {
    let setup = client.post(path, &json!({})).await.expect(201);
    let mut factor = Factor {
        secret: secret_of(&setup),
        recovery: Vec::new(),
    };
    let confirm = format!("{path}/confirm");
    let confirmed = client.post(&confirm, &factor.code(app)).await.expect(200);
    factor.recovery = codes_of(&confirmed);
    factor
}

pub async fn delete(client: &Client, path: &str, body: &Value) -> Reply {
    client.send("DELETE", path, &[], body.to_string()).await
}
