//! `legwork listen`: nothing is missed, whatever happens to the connection.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use legwork_client::Webhook;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::User;
use crate::support::{Developer, TestApp, eventually, on_both_engines};

on_both_engines!(
    every_event_arrives_although_the_connection_is_cut,
    it_says_when_the_connection_is_lost_and_when_it_is_back,
    it_goes_on_where_it_stopped,
    it_goes_on_although_nothing_had_happened,
    a_program_that_hangs_up_does_not_hold_up_the_rest
);

const CUTS: usize = 50;

/// A wire to the server that can be cut. It works again at once.
struct Wire {
    address: SocketAddr,
    cuts: Arc<watch::Sender<usize>>,
}

impl Wire {
    async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cuts = Arc::new(watch::Sender::new(0));
        let told = cuts.clone();
        tokio::spawn(async move {
            while let Ok((mut from, _)) = listener.accept().await {
                let mut told = told.subscribe();
                tokio::spawn(async move {
                    let mut to = TcpStream::connect(server).await.unwrap();
                    tokio::select! {
                        _ = tokio::io::copy_bidirectional(&mut from, &mut to) => {}
                        _ = told.changed() => {}
                    }
                });
            }
        });
        Self { address, cuts }
    }

    fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

/// The program of a developer, on loopback and without TLS.
#[derive(Clone, Default)]
struct Receiver {
    received: Arc<Mutex<Vec<(String, Value)>>>,
    secret: Arc<Mutex<String>>,
}

impl Receiver {
    async fn start(&self) -> SocketAddr {
        let router = Router::new()
            .route("/hook", post(receive))
            .with_state(self.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, router).await });
        address
    }

    fn ids(&self) -> Vec<String> {
        self.received
            .lock()
            .unwrap()
            .iter()
            .map(|(id, _)| id.clone())
            .collect()
    }
}

async fn receive(State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes) {
    let header = |name: &str| {
        headers
            .get(name)
            .map(|value| value.to_str().unwrap().to_owned())
    };
    let webhook = Webhook::new(&receiver.secret.lock().unwrap()).unwrap();
    let event = webhook.verify(header, &body).unwrap();
    let own = |name: &str| {
        if name.starts_with("x-service") {
            header(name)
        } else {
            None
        }
    };
    webhook.verify(own, &body).unwrap();
    receiver
        .received
        .lock()
        .unwrap()
        .push((event.id, Value::Object(event.data)));
}

/// Ended when dropped, as by Ctrl-C of somebody impatient.
struct Listening(Child);

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl User {
    fn listen(&self, arguments: &[&str], address: SocketAddr) -> Listening {
        let forward = format!("http://{address}/hook");
        let mut command =
            self.command(&[&["listen", "--forward-to", &forward], arguments].concat());
        Listening(
            command
                .0
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    }

    /// What is kept of where `listen` was.
    fn positions(&self) -> Vec<String> {
        let kept = std::fs::read_dir(self.home.path().join("legwork")).unwrap();
        let files = kept.map(|entry| entry.unwrap().path());
        // Not those that are being written.
        let is_kept = |path: &std::path::PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("listen-") && !name.contains('.')
        };
        let texts = files.filter(is_kept).map(std::fs::read_to_string);
        texts.map(Result::unwrap).collect()
    }

    async fn secret(&self) -> String {
        let printed = self.run(&["listen", "--print-secret"]).await;
        String::from_utf8(printed.stdout).unwrap().trim().to_owned()
    }
}

/// Every event of the account after the first ones, oldest first.
async fn events(developer: &Developer, after: i64) -> Vec<Value> {
    let mut found = Vec::new();
    let mut path = "/v1/events?limit=100".to_owned();
    loop {
        let page = developer.test.get(&path).await.expect(200);
        found.extend(page["data"].as_array().unwrap().clone());
        match page["meta"]["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/events?limit=100&cursor={cursor}"),
            None => break,
        }
    }
    found.retain(|event| event["number"].as_i64().unwrap() > after);
    found.reverse();
    found
}

fn id(object: &Value) -> String {
    object["id"].as_str().unwrap().to_owned()
}

async fn every_event_arrives_although_the_connection_is_cut(app: TestApp) {
    let developer = app.developer().await;
    let wire = Wire::to(app.address).await;
    let user = User::at(format!("http://{}", wire.address));
    user.log_in(&developer.test_key).await;
    let receiver = Receiver::default();
    let address = receiver.start().await;
    *receiver.secret.lock().unwrap() = user.secret().await;
    developer.create_task().await;
    let begun = events(&developer, 0).await;
    let last = begun.last().unwrap();
    let _listening = user.listen(&["--since", &id(last)], address);

    // Two at a time, and a cut in the middle of it.
    for _ in 0..CUTS {
        let move_on = || async {
            let task = developer.create_task().await;
            let path = format!("/v1/test_helpers/tasks/{}/advance", id(&task));
            developer
                .test
                .post(&path, &json!({"to": "in_progress"}))
                .await
                .expect(200);
        };
        let cut = async { wire.cut() };
        tokio::join!(move_on(), cut, move_on());
        wire.cut();
    }
    let expected = events(&developer, last["number"].as_i64().unwrap()).await;
    assert!(expected.len() >= CUTS * 2 * 5, "{}", expected.len());
    let count = expected.len();
    eventually("all events arrive", || {
        let arrived = receiver.ids().len() >= count;
        async move { arrived }
    })
    .await;
    let arrived = receiver.ids();
    let wanted: Vec<_> = expected.iter().map(id).collect();
    assert_eq!(arrived, wanted, "each once, in order, none missing");
    // Numbers without gaps.
    let numbers: Vec<_> = expected
        .iter()
        .map(|event| event["number"].as_i64().unwrap())
        .collect();
    assert!(numbers.windows(2).all(|two| two[1] == two[0] + 1));
    // In order for each task.
    let mut moments: BTreeMap<String, String> = BTreeMap::new();
    for (_, data) in receiver.received.lock().unwrap().iter() {
        let now = data["updated_at"].as_str().unwrap().to_owned();
        let before = moments.insert(id(data), now.clone());
        assert!(before.is_none_or(|before| before <= now));
    }
}

/// Everything that a program says on standard error, as it comes.
fn said_by(program: &mut Child) -> Arc<Mutex<String>> {
    let said = Arc::new(Mutex::new(String::new()));
    let (heard, stderr) = (said.clone(), program.stderr.take().unwrap());
    std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            heard.lock().unwrap().push_str(&format!("{line}\n"));
        }
    });
    said
}

async fn it_says_when_the_connection_is_lost_and_when_it_is_back(app: TestApp) {
    let developer = app.developer().await;
    let wire = Wire::to(app.address).await;
    let user = User::at(format!("http://{}", wire.address));
    user.log_in(&developer.test_key).await;
    let mut command = user.command(&["listen", "--format", "json"]);
    let piped = command.0.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut listening = Listening(piped.spawn().unwrap());
    let said = said_by(&mut listening.0);
    let is_said = |what: &'static str| {
        let is_said = said.lock().unwrap().contains(what);
        async move { is_said }
    };
    eventually("it listens", || {
        let kept = !user.positions().is_empty();
        async move { kept }
    })
    .await;
    wire.cut();
    eventually("it is connected again", || is_said("again")).await;
    let said = said.lock().unwrap().clone();
    let lines: Vec<_> = said.lines().collect();
    let lost = format!("legwork: the connection to {} was lost: ", user.server);
    assert!(lines[0].starts_with(&lost), "{said}");
    let back = format!("legwork: connected to {} again", user.server);
    assert!(lines[1].starts_with(&back), "{said}");
    assert_eq!(lines.len(), 2, "{said}");
}

async fn it_goes_on_where_it_stopped(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let receiver = Receiver::default();
    let address = receiver.start().await;
    *receiver.secret.lock().unwrap() = user.secret().await;
    developer.create_task().await;
    let first = events(&developer, 0).await.remove(0);
    let listening = user.listen(&["--since", &id(&first)], address);
    let arrived = |count: usize| {
        let receiver = receiver.clone();
        move || {
            let arrived = receiver.ids().len() >= count;
            async move { arrived }
        }
    };
    eventually("the event after the first arrives", arrived(1)).await;
    let second = events(&developer, 1).await.remove(0);
    let is_kept = || {
        let kept = user.positions().contains(&id(&second));
        async move { kept }
    };
    eventually("the position is kept", is_kept).await;
    drop(listening);

    // Meanwhile things happen, and nobody listens.
    developer.create_task().await;
    let _listening = user.listen(&[], address);
    eventually("what happened meanwhile arrives", arrived(3)).await;
    let wanted: Vec<_> = events(&developer, 1).await.iter().map(id).collect();
    assert_eq!(receiver.ids(), wanted);
}

async fn it_goes_on_although_nothing_had_happened(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let (receiver, others) = (Receiver::default(), Receiver::default());
    let (address, elsewhere) = (receiver.start().await, others.start().await);
    for each in [&receiver, &others] {
        *each.secret.lock().unwrap() = user.secret().await;
    }
    let funded = ["--events", "task.funded"];
    let keeps = |count: usize| {
        let kept = user.positions().len() == count;
        async move { kept }
    };
    let listening = user.listen(&[], address);
    eventually("it listens", || keeps(1)).await;
    drop(listening);
    let filtered = user.listen(&funded, elsewhere);
    eventually("the other listens", || keeps(2)).await;
    drop(filtered);

    // Nobody listens. What the one has seen then says nothing about the other.
    developer.create_task().await;
    let all = events(&developer, 0).await;
    let _listening = user.listen(&[], address);
    eventually("all of it arrives", || {
        let arrived = receiver.ids().len() >= all.len();
        async move { arrived }
    })
    .await;
    assert_eq!(receiver.ids(), all.iter().map(id).collect::<Vec<_>>());
    let _filtered = user.listen(&funded, elsewhere);
    let mut funded = all.iter().filter(|event| event["event"] == "task.funded");
    let funded = id(funded.next().unwrap());
    eventually("what the other waits for arrives", || {
        let arrived = others.ids() == [funded.clone()];
        async move { arrived }
    })
    .await;
}

/// A program that reads and hangs up, without an answer. It counts.
async fn hanging_up(count: Arc<Mutex<Vec<String>>>) -> SocketAddr {
    use tokio::io::AsyncReadExt;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut connection, _)) = listener.accept().await {
            let mut asked = vec![0; 1 << 16];
            let length = connection.read(&mut asked).await.unwrap();
            let asked = String::from_utf8_lossy(&asked[..length]).to_lowercase();
            let (_, rest) = asked.split_once("webhook-id: ").unwrap();
            count.lock().unwrap().push(rest[..32].to_owned());
        }
    });
    address
}

async fn a_program_that_hangs_up_does_not_hold_up_the_rest(app: TestApp) {
    let developer = app.developer().await;
    let user = User::of(&app);
    user.log_in(&developer.test_key).await;
    let tried = Arc::new(Mutex::new(Vec::new()));
    let address = hanging_up(tried.clone()).await;
    developer.create_task().await;
    let all = events(&developer, 0).await;
    let _listening = user.listen(&["--since", &id(&all[0])], address);
    developer.create_task().await;
    let all = events(&developer, 1).await;
    let wanted: Vec<_> = all.iter().flat_map(|event| vec![id(event); 3]).collect();
    eventually("each event is tried three times", || {
        let done = *tried.lock().unwrap() == wanted;
        async move { done }
    })
    .await;
}
