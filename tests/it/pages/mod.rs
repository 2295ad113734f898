//! Pages for people: the front door, signing in, and who may open what.

mod browser;
mod console;
mod dashboard;
mod forms;
mod front;
pub mod limited_keys;
mod local_link;
mod matrix;
mod month;
mod outcomes;
mod passkeys;
mod pictures;
mod signing_in;
mod whose;
pub mod worker;

use crate::support::{Client, Reply, TestApp};

/// A browser without scripts: it keeps its cookie, and says where its forms come from.
pub struct Browser {
    client: Client,
    origin: String,
    pub cookie: Option<String>,
    /// What it asks for, as `Accept-Language`.
    pub language: Option<&'static str>,
}

impl Browser {
    pub fn of(app: &TestApp) -> Self {
        Self {
            client: app.client(),
            origin: format!("http://{}", app.address),
            cookie: None,
            language: None,
        }
    }

    /// One that is signed in as a new developer.
    pub async fn signed_up(app: &TestApp, email: &str) -> Self {
        let mut browser = Self::of(app);
        let fields = [("name", "Ada"), ("email", email), ("password", PASSWORD)];
        let reply = browser.post("/sign-up", &fields).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        browser
    }

    pub async fn get(&mut self, path: &str) -> Reply {
        self.send("GET", path, &[]).await
    }

    pub async fn post(&mut self, path: &str, fields: &[(&str, &str)]) -> Reply {
        self.send("POST", path, fields).await
    }

    async fn send(&mut self, method: &str, path: &str, fields: &[(&str, &str)]) -> Reply {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(fields);
        let mut headers = vec![("accept", "text/html,*/*;q=0.8")];
        if method == "POST" {
            headers.push(("origin", &self.origin));
            headers.push(("content-type", "application/x-www-form-urlencoded"));
        }
        if let Some(language) = self.language {
            headers.push(("accept-language", language));
        }
        if let Some(cookie) = &self.cookie {
            headers.push(("cookie", cookie));
        }
        let reply = self
            .client
            .send(method, path, &headers, body.finish())
            .await;
        if let Some(set) = reply.headers.get("set-cookie") {
            let set = set.to_str().unwrap();
            let pair = set.split(';').next().unwrap();
            self.cookie = (!pair.ends_with('=')).then(|| pair.to_owned());
        }
        reply
    }

    /// A form with files.
    pub async fn send_files(&mut self, path: &str, parts: &[(&str, &[u8])]) -> Reply {
        let mut headers = vec![("accept", "text/html"), ("origin", &self.origin)];
        if let Some(cookie) = &self.cookie {
            headers.push(("cookie", cookie));
        }
        self.client.send_form_with(path, &headers, parts).await
    }

    /// Follows where a form has led.
    pub async fn follow(&mut self, reply: &Reply) -> Reply {
        assert_eq!(reply.status, 303, "{}", reply.text);
        let path = reply.header("location").to_owned();
        self.get(&path).await
    }
}

/// What stands in a page between two texts, the first time.
pub fn between(page: &str, before: &str, after: &str) -> String {
    let rest = page.split(before).nth(1);
    let rest = rest.unwrap_or_else(|| panic!("no {before} in {page}"));
    rest.split(after).next().unwrap().to_owned()
}

pub const PASSWORD: &str = "correct horse battery";
