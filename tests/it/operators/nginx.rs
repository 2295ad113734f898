//! The nginx example of the documentation, run by nginx.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use legwork::domain::tasks::ProofType;
use legwork::media;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::docs::markdown::{blocks, read};
use crate::support::{
    Client, Command, Database, Developer, Engine, Server, TestApp, Worker, eventually, free_port,
    photo, runtime, storefront, until,
};

/// So long that it ends only in a test that fails.
const LATE: Duration = Duration::from_secs(60);

/// The block of a document that is for nginx.
fn example(document: &str) -> String {
    let blocks = blocks(&read(document)).into_iter();
    let mut found = blocks.filter(|block| block.info == "nginx");
    let (Some(block), None) = (found.next(), found.next()) else {
        panic!("{document} must have one block for nginx");
    };
    block.text
}

/// A text with something exchanged that must be in it.
#[track_caller]
fn exchanged(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "{from} is not in\n{text}");
    text.replace(from, to)
}

/// nginx with the documented configuration: only addresses, names and files are those of the test.
struct Nginx {
    address: SocketAddr,
    tls: Arc<ClientConfig>,
    child: Child,
    folder: tempfile::TempDir,
}

impl Nginx {
    fn before_one(server: SocketAddr) -> Self {
        let example = example("docs/guides/going-live.md");
        Self::start(&exchanged(&example, "127.0.0.1:8080", &server.to_string()))
    }

    /// The upstream of the page about several servers takes the place of the one.
    fn before_two(servers: [SocketAddr; 2]) -> Self {
        let one = example("docs/guides/going-live.md");
        let (_, server) = one.split_once("\n}\n").unwrap();
        let mut several = example("docs/operating/running.md");
        for (documented, server) in ["10.0.0.11:8080", "10.0.0.12:8080"].iter().zip(servers) {
            several = exchanged(&several, documented, &server.to_string());
        }
        assert!(several.contains("max_fails=0"));
        // The drain phase of the test is shorter, too.
        let several = exchanged(&several, "keepalive_timeout 10s", "keepalive_timeout 1s");
        Self::start(&format!("{several}{server}"))
    }

    fn start(documented: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (certificate, key) = (
            folder.path().join("cert.pem"),
            folder.path().join("key.pem"),
        );
        std::fs::write(&certificate, made.cert.pem()).unwrap();
        std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let mut text = exchanged(
            documented,
            "listen 443 ssl",
            &format!("listen {address} ssl"),
        );
        text = exchanged(
            &text,
            "server_name legwork.example.com",
            "server_name localhost",
        );
        for (documented, file) in [
            ("/etc/ssl/legwork/fullchain.pem", &certificate),
            ("/etc/ssl/legwork/privkey.pem", &key),
        ] {
            text = exchanged(&text, documented, file.to_str().unwrap());
        }
        let config = folder.path().join("nginx.conf");
        std::fs::write(&config, frame(folder.path(), &text)).unwrap();
        let child = std::process::Command::new("nginx")
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&config)
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("nginx: {error}; run scripts/with-peers cargo test"));
        let nginx = Self {
            address,
            tls: trusting(made.cert.der().clone()),
            child,
            folder,
        };
        nginx.wait();
        nginx
    }

    /// Until it listens.
    fn wait(&self) {
        let started = std::time::Instant::now();
        while std::net::TcpStream::connect(self.address).is_err() {
            let log = self.folder.path().join("error.log");
            let log = std::fs::read_to_string(log).unwrap_or_default();
            assert!(started.elapsed() < LATE, "nginx does not start: {log}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A connection from another address of this machine than nginx itself has.
    async fn connect(&self) -> TlsStream<TcpStream> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(self.tls.clone());
        connector.connect(name, stream).await.unwrap()
    }

    /// Sends the head of a request.
    async fn ask(&self, request: &str, key: &str, headers: &str) -> TlsStream<TcpStream> {
        let mut stream = self.connect().await;
        let head = format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    async fn answer(mut stream: TlsStream<TcpStream>) -> String {
        let mut answer = Vec::new();
        let reading = stream.read_to_end(&mut answer);
        let _ = tokio::time::timeout(LATE, reading)
            .await
            .expect("an answer");
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn client(&self) -> reqwest::Client {
        let config = ClientConfig::clone(&self.tls);
        reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .no_proxy()
            .timeout(LATE)
            .resolve("localhost", self.address)
            .build()
            .unwrap()
    }

    fn url(&self, path: &str) -> String {
        format!("https://localhost:{}{path}", self.address.port())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // SIGTERM, so that its workers end too.
        let pid = self.child.id().to_string();
        let _ = std::process::Command::new("kill")
            .args(["-TERM", &pid])
            .status();
        let _ = self.child.wait();
    }
}

/// What is around a site's configuration. Everything that nginx writes stays in the folder.
fn frame(folder: &Path, site: &str) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let mut temporary = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        temporary.push_str(&format!("{kind}_temp_path {};\n", at(kind)));
    }
    format!(
        "daemon off;\nuser root;\nworker_processes 2;\npid {};\nerror_log {} info;\n\
         events {{ worker_connections 512; }}\nhttp {{\naccess_log off;\n{temporary}{site}\n}}\n",
        at("pid"),
        at("error.log"),
    )
}

fn trusting(certificate: CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let config = ClientConfig::builder_with_provider(default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Arc::new(config)
}

fn serve(database: &Database, listen: &str, log: &Path) -> Server {
    let arguments = ["--listen", listen, "--log-format", "json"];
    let mut command = Command::new(&arguments)
        .on(database)
        .env("LEGWORK_PUBLIC_URL", "https://legwork.example.com")
        .env("LEGWORK_ALLOW_SANDBOX", "on")
        .env("LEGWORK_TRUSTED_PROXIES", "127.0.0.1/32")
        .env("LEGWORK_RATE_LIMITS", "off")
        .env("LEGWORK_DRAIN_SECONDS", "3");
    let log = File::options().create(true).append(true).open(log).unwrap();
    command.0.stderr(log);
    Server::spawn(command)
}

/// A developer whose requests go to the program: its clock is the machine's.
async fn developer(app: &TestApp, server: &Server) -> Developer {
    let dev = app.developer().await;
    Developer {
        test: server.client(&dev.test_key),
        live: server.client(&dev.live_key),
        ..dev
    }
}

/// The line of the log about a route. It is written after the answer was sent.
async fn logged(log: &Path, route: &str) -> Value {
    until("the line of the log", async || {
        let text = std::fs::read_to_string(log).unwrap();
        let mut lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines.find(|line: &Value| line["route"] == route)
    })
    .await
}

#[test]
fn clients_behind_nginx_keep_their_address_and_their_streams() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        let log = database.folder.path().join("log");
        let server = serve(&database, "127.0.0.1:0", &log);
        let dev = developer(&app, &server).await;
        let nginx = Nginx::before_one(server.address);

        let forged = "x-forwarded-for: 203.0.113.7\r\nconnection: close\r\n";
        let asked = nginx.ask("GET /v1/account", &dev.test_key, forged).await;
        let answer = Nginx::answer(asked).await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert_eq!(logged(&log, "/v1/account").await["client"], "127.0.0.2");

        let asked = nginx.ask("GET /metrics", &dev.test_key, "connection: close\r\n");
        let answer = Nginx::answer(asked.await).await;
        assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");

        // An event is there before the next heartbeat, which would push it through a buffer.
        let stream = nginx.ask("GET /v1/events/stream", &dev.test_key, "").await;
        let mut lines = BufReader::new(stream).lines();
        let status = lines.next_line().await.unwrap().unwrap();
        assert!(status.starts_with("HTTP/1.1 200 "), "{status}");
        let task = dev.create_task().await;
        let id = task["id"].as_str().unwrap();
        let arrives = async {
            while let Some(line) = lines.next_line().await.unwrap() {
                if line.contains("task.created") || line.contains(id) {
                    return;
                }
            }
            panic!("the stream ended");
        };
        let before_the_heartbeat = Duration::from_secs(10);
        tokio::time::timeout(before_the_heartbeat, arrives)
            .await
            .unwrap();
    });
}

async fn sign_up(server: &Server) -> Worker {
    let email = "grace@example.com".to_owned();
    let body = json!({"email": email, "password": crate::support::PASSWORD, "name": "Grace"});
    let client = Client::new(server.address, None);
    let reply = client.post("/v1/workers", &body).await.expect(201);
    Worker {
        client: server.client(reply["token"].as_str().unwrap()),
        id: reply["worker"]["id"].as_str().unwrap().to_owned(),
        email,
    }
}

/// A worker of the program who has begun a live task with these proofs.
async fn begun(app: &TestApp, server: &Server, proofs: Value) -> (Worker, Value) {
    let dev = developer(app, server).await;
    let mut task = storefront();
    task["proof_types"] = proofs;
    let created = dev.live.post("/v1/tasks", &task).await.expect(201);
    let secret = created["payment_client_secret"].as_str().unwrap();
    let paid = dev.live.pay(secret, crate::support::GOOD_CARD).await;
    assert_eq!(paid.status, 200, "{}", paid.text);
    let worker = sign_up(server).await;
    worker.become_ready(app).await;
    worker.begin(&created).await;
    (worker, created)
}

/// A film as large as one may be: the rest of it is padding, in a box for that.
fn large_film() -> Vec<u8> {
    let mut film = media::sample(ProofType::Video, b"nginx").0;
    let padding = 99_900_000 - film.len();
    film.extend_from_slice(&u32::try_from(padding).unwrap().to_be_bytes());
    film.extend_from_slice(b"free");
    film.resize(99_900_000, 0);
    film
}

/// A photo as large as one may be, with comments for padding.
fn large_photo() -> Vec<u8> {
    let photo = photo("nginx");
    let mut large = photo[..2].to_vec();
    for _ in 0..150 {
        large.extend_from_slice(b"\xff\xfe\xff\xff");
        large.resize(large.len() + 65_533, b'x');
    }
    large.extend_from_slice(&photo[2..]);
    large
}

fn form(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, content) in parts {
        let file = if content.len() > 100 {
            "; filename=\"f\""
        } else {
            ""
        };
        let head =
            format!("--boundary\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(b"--boundary--\r\n");
    body
}

/// How much of uploads has arrived.
fn received(incoming: &Path) -> u64 {
    let entries = std::fs::read_dir(incoming).unwrap();
    let size = |entry: std::io::Result<std::fs::DirEntry>| entry.ok()?.metadata().ok();
    entries.filter_map(size).map(|file| file.len()).sum()
}

#[test]
fn an_upload_of_110_mb_goes_straight_through_nginx() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Sqlite));
        let app = TestApp::start(&database).await;
        let log = database.folder.path().join("log");
        let server = serve(&database, "127.0.0.1:0", &log);
        let nginx = Nginx::before_one(server.address);
        let (worker, task) = begun(&app, &server, json!(["photo", "video"])).await;
        let (film, photo) = (large_film(), large_photo());
        let body = form(&[
            ("gps_latitude", b"40.7163"),
            ("gps_longitude", b"-73.9595"),
            ("video", &film),
            ("photo", &photo),
        ]);
        assert!(body.len() > 109_000_000, "{}", body.len());
        let path = format!(
            "POST /v1/worker/tasks/{}/proofs",
            task["id"].as_str().unwrap()
        );
        let headers = format!(
            "content-type: multipart/form-data; boundary=boundary\r\ncontent-length: {}\r\n\
             connection: close\r\n",
            body.len()
        );
        let mut stream = nginx.ask(&path, worker.client.key(), &headers).await;
        let (first, rest) = body.split_at(40_000_000);
        stream.write_all(first).await.unwrap();
        stream.flush().await.unwrap();
        // Legwork has got most of it before the rest is sent: nginx keeps nothing back.
        let incoming: PathBuf = database.folder.path().join("incoming");
        eventually("most of it arrives", async || {
            received(&incoming) >= 30_000_000
        })
        .await;
        stream.write_all(rest).await.unwrap();
        stream.flush().await.unwrap();
        let answer = Nginx::answer(stream).await;
        assert!(answer.starts_with("HTTP/1.1 201 "), "{answer:.2000}");
        let line = logged(&log, "/v1/worker/tasks/{id}/proofs").await;
        assert_eq!(line["bytes_in"], body.len());
        assert_eq!(line["client"], "127.0.0.2");
    });
}

/// Reads and creates tasks until told to stop. Returns what went wrong.
async fn use_it(
    nginx: Arc<Nginx>,
    key: String,
    stop: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
) -> Vec<String> {
    let client = nginx.client();
    let mut failures = Vec::new();
    while !stop.load(Ordering::SeqCst) {
        let body = storefront().to_string();
        let read = client.get(nginx.url("/v1/account"));
        let create = client.post(nginx.url("/v1/tasks")).body(body);
        for (request, expected) in [(read, 200), (create, 201)] {
            let sent = request
                .header("authorization", format!("Bearer {key}"))
                .send();
            match sent.await {
                Ok(response) if response.status() == expected => {
                    done.fetch_add(1, Ordering::SeqCst);
                }
                Ok(response) => failures.push(format!("{response:?}")),
                Err(error) => failures.push(format!("{error:?}")),
            }
        }
    }
    failures
}

/// Waits until some more requests were served.
async fn meanwhile(done: &AtomicUsize) {
    let enough = done.load(Ordering::SeqCst) + 20;
    eventually("more are served", async || {
        done.load(Ordering::SeqCst) >= enough
    })
    .await;
}

#[test]
fn servers_are_restarted_one_after_the_other_without_a_failed_request() {
    runtime().block_on(async {
        let database = Arc::new(Database::migrated(Engine::Postgres));
        let app = TestApp::start(&database).await;
        let dev = app.developer_on(legwork::domain::Tier::Enterprise).await;
        let log = database.folder.path().join("log");
        let start = |listen: &str| serve(&database, listen, &log);
        let new = || start(&format!("127.0.0.1:{}", free_port()));
        let servers = [new(), new()];
        let nginx = Nginx::before_two([servers[0].address, servers[1].address]);
        let nginx = Arc::new(nginx);
        let (stop, done) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicUsize::new(0)),
        );
        let clients: Vec<_> = (0..4)
            .map(|_| {
                let (stop, done) = (stop.clone(), done.clone());
                tokio::spawn(use_it(nginx.clone(), dev.test_key.clone(), stop, done))
            })
            .collect();
        meanwhile(&done).await;
        let mut restarted = Vec::new();
        for server in servers {
            let address = server.address;
            let stopped = tokio::task::spawn_blocking(move || server.terminate());
            assert_eq!(stopped.await.unwrap(), Some(0));
            // One of two is away, and requests are served.
            meanwhile(&done).await;
            let server = start(&address.to_string());
            let ready = Client::new(address, None).get("/readyz").await;
            assert_eq!(ready.status, 200);
            restarted.push(server);
            meanwhile(&done).await;
        }
        stop.store(true, Ordering::SeqCst);
        for client in clients {
            let failures = client.await.unwrap();
            assert!(failures.is_empty(), "{failures:#?}");
        }
        let count = "SELECT COUNT(*)::text FROM tasks";
        let created: usize = database.column(count).await[0].parse().unwrap();
        assert_eq!(created * 2, done.load(Ordering::SeqCst), "each task once");
    });
}
