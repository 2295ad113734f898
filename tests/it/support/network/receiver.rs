//! Somebody who is called: a server with TLS, which notes what it is sent and answers as a test
//! tells it to.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd,
};
use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// The names in a good certificate.
const NAMES: [&str; 3] = ["127.0.0.1", "localhost", "hooks.example"];

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Counted from 1, in the order in which connections were accepted.
    pub connection: usize,
    pub method: String,
    /// With the query.
    pub path: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(given, _)| given == name);
        found.map(|(_, value)| value.as_str())
    }
}

#[derive(Clone, Debug)]
pub struct Response {
    held: Option<watch::Receiver<bool>>,
    bytes: Vec<u8>,
    then: Then,
}

/// Holds answers back until it is opened.
#[derive(Default)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub fn handle(&self) -> GateHandle {
        GateHandle(self.0.subscribe())
    }
}

/// For the function that answers.
#[derive(Clone)]
pub struct GateHandle(watch::Receiver<bool>);

#[derive(Clone, Debug)]
enum Then {
    /// The connection waits for the next request.
    Next,
    /// Not another byte, until the caller hangs up.
    Silence,
    Close,
    /// Like `Close`, but TLS is not told.
    HangUp,
    /// The piece again and again, with a pause before each.
    Again(Vec<u8>, Duration),
}

impl Response {
    pub fn status(status: u16) -> Self {
        Self::with(status, &[], b"")
    }

    pub fn with(status: u16, headers: &[(&str, &str)], body: &[u8]) -> Self {
        let mut head = format!(
            "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n",
            body.len()
        );
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let bytes = [head.as_bytes(), b"\r\n", body].concat();
        Self::new(bytes, Then::Next)
    }

    fn new(bytes: Vec<u8>, then: Then) -> Self {
        Self {
            held: None,
            bytes,
            then,
        }
    }

    /// Says nothing before the gate is open.
    pub fn behind(self, gate: &GateHandle) -> Self {
        Self {
            held: Some(gate.0.clone()),
            ..self
        }
    }

    pub fn redirect(to: &str) -> Self {
        Self::with(307, &[("location", to)], b"")
    }

    /// Says no more than this, and keeps the connection open.
    pub fn hang(after: &str) -> Self {
        Self::new(after.into(), Then::Silence)
    }

    /// Says no more than this, and closes the connection.
    pub fn close(after: &str) -> Self {
        Self::new(after.into(), Then::Close)
    }

    /// Says no more than this, and drops the connection without ending TLS.
    pub fn hang_up(after: &str) -> Self {
        Self {
            then: Then::HangUp,
            ..Self::close(after)
        }
    }

    /// Never comes to an end.
    pub fn endless(start: &str, piece: &str) -> Self {
        Self::drip(start, piece, Duration::ZERO)
    }

    /// Never comes to an end, and takes its time.
    pub fn drip(start: &str, piece: &str, pause: Duration) -> Self {
        Self::new(start.into(), Then::Again(piece.into(), pause))
    }
}

/// What is wrong with the certificate of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certificate {
    Good,
    Expired,
    NotYetValid,
    OfAnotherName,
    SelfSigned,
    OfAnotherAuthority,
    /// As `openssl req -x509` makes it: an authority that shows itself.
    ItsOwnAuthority,
    ItsOwnAuthorityExpired,
    ItsOwnAuthorityOfAnotherName,
}

type Answering = Box<dyn FnMut(&Received) -> Response + Send>;

struct State {
    received: watch::Sender<Vec<Received>>,
    connections: watch::Sender<usize>,
    queue: Mutex<VecDeque<Response>>,
    otherwise: Mutex<Answering>,
}

pub struct Receiver {
    pub address: SocketAddr,
    /// The authority that signed its certificate, in PEM.
    pub ca_file: PathBuf,
    state: Arc<State>,
    _folder: TempDir,
}

impl Receiver {
    /// Answers 200 until it is told otherwise.
    pub async fn start() -> Self {
        Self::with_certificate(Certificate::Good).await
    }

    pub async fn with_certificate(certificate: Certificate) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        let (authority, config) = identity(certificate);
        std::fs::write(&ca_file, authority).unwrap();
        let state = Arc::new(State {
            received: watch::Sender::default(),
            connections: watch::Sender::default(),
            queue: Mutex::default(),
            otherwise: Mutex::new(Box::new(|_| Response::status(200))),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(accept(listener, TlsAcceptor::from(config), state.clone()));
        Self {
            address,
            ca_file,
            state,
            _folder: folder,
        }
    }

    pub fn url(&self, path: &str) -> String {
        self.url_at("127.0.0.1", path)
    }

    /// By a name of its certificate, or by another.
    pub fn url_at(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.address.port())
    }

    /// Answers the next requests with these, one by one.
    pub fn queue(&self, responses: impl IntoIterator<Item = Response>) {
        self.state.queue.lock().unwrap().extend(responses);
    }

    /// Answers with this whenever the queue is empty.
    pub fn answer(&self, with: impl FnMut(&Received) -> Response + Send + 'static) {
        *self.state.otherwise.lock().unwrap() = Box::new(with);
    }

    pub fn received(&self) -> Vec<Received> {
        self.state.received.borrow().clone()
    }

    /// How many connections there have been, with or without a request.
    pub fn connections(&self) -> usize {
        *self.state.connections.borrow()
    }

    /// Waits until so many requests have come, and gives all that have.
    pub async fn until(&self, count: usize) -> Vec<Received> {
        let mut received = self.state.received.subscribe();
        let wait = received.wait_for(|received| received.len() >= count);
        match tokio::time::timeout(Duration::from_secs(30), wait).await {
            Ok(enough) => enough.unwrap().clone(),
            Err(_) => panic!("{} of {count} requests came", self.received().len()),
        }
    }
}

/// The authority in PEM, and what the receiver shows.
fn identity(certificate: Certificate) -> (String, Arc<ServerConfig>) {
    let (ours, other) = (authority("Throw-away CA"), authority("Another CA"));
    let names = match certificate {
        Certificate::OfAnotherName | Certificate::ItsOwnAuthorityOfAnotherName => {
            vec!["another.example".to_owned()]
        }
        _ => NAMES.map(str::to_owned).to_vec(),
    };
    let mut wanted = CertificateParams::new(names).unwrap();
    match certificate {
        Certificate::Expired | Certificate::ItsOwnAuthorityExpired => {
            wanted.not_after = date_time_ymd(2020, 1, 1);
        }
        Certificate::NotYetValid => wanted.not_before = date_time_ymd(4000, 1, 1),
        _ => {}
    }
    let key = KeyPair::generate().unwrap();
    if matches!(
        certificate,
        Certificate::ItsOwnAuthority
            | Certificate::ItsOwnAuthorityExpired
            | Certificate::ItsOwnAuthorityOfAnotherName
    ) {
        wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let shown = wanted.self_signed(&key).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        return (shown.pem(), config(shown.der().clone(), key));
    }
    let shown = match certificate {
        Certificate::SelfSigned => wanted.self_signed(&key),
        Certificate::OfAnotherAuthority => wanted.signed_by(&key, &other),
        _ => wanted.signed_by(&key, &ours),
    };
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    (ours.pem(), config(shown.unwrap().der().clone(), key))
}

fn authority(name: &str) -> CertifiedIssuer<'static, KeyPair> {
    let mut wanted = CertificateParams::default();
    let subject = &mut wanted.distinguished_name;
    subject.push(DnType::CommonName, name);
    wanted.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(wanted, KeyPair::generate().unwrap()).unwrap()
}

fn config(certificate: CertificateDer<'static>, key: PrivateKeyDer<'static>) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key)
        .unwrap();
    // Who understands HTTP/2 is not understood here.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Arc::new(config)
}

async fn accept(listener: TcpListener, tls: TlsAcceptor, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let mut connection = 0;
        state.connections.send_modify(|count| {
            *count += 1;
            connection = *count;
        });
        let (tls, state) = (tls.clone(), state.clone());
        tokio::spawn(async move {
            // Who does not trust the certificate hangs up.
            if let Ok(stream) = tls.accept(stream).await {
                let _ = serve(BufReader::new(stream), connection, &state).await;
            }
        });
    }
}

type Stream = BufReader<TlsStream<TcpStream>>;

async fn serve(mut stream: Stream, connection: usize, state: &State) -> io::Result<()> {
    while let Some(received) = read(&mut stream, connection).await? {
        let queued = state.queue.lock().unwrap().pop_front();
        let response = queued.unwrap_or_else(|| state.otherwise.lock().unwrap()(&received));
        state.received.send_modify(|all| all.push(received));
        if let Some(mut held) = response.held {
            let _ = held.wait_for(|open| *open).await;
        }
        stream.write_all(&response.bytes).await?;
        stream.flush().await?;
        match response.then {
            Then::Next => {}
            Then::Close => return stream.shutdown().await,
            Then::HangUp => return Ok(()),
            Then::Silence => {
                stream.read_u8().await?;
            }
            Then::Again(piece, pause) => loop {
                // The shortest of sleeps takes a millisecond.
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                stream.write_all(&piece).await?;
                stream.flush().await?;
            },
        }
    }
    Ok(())
}

/// The next request of a connection, if there is one.
async fn read(stream: &mut Stream, connection: usize) -> io::Result<Option<Received>> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Ok(None);
        }
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut first = lines[0].split(' ').map(str::to_owned);
    let mut received = Received {
        connection,
        method: first.next().unwrap(),
        path: first.next().unwrap(),
        headers: lines[1..].iter().map(|line| header(line)).collect(),
        body: Vec::new(),
    };
    let length = received
        .header("content-length")
        .map_or(0, |text| text.parse().unwrap());
    received.body.resize(length, 0);
    stream.read_exact(&mut received.body).await?;
    Ok(Some(received))
}

fn header(line: &str) -> (String, String) {
    let (name, value) = line.split_once(':').unwrap();
    (name.to_ascii_lowercase(), value.trim().to_owned())
}
