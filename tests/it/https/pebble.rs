//! Debian's pebble: a certificate authority for tests, on a loopback address of its own, so that
//! its ports are free.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use legwork::ambient;
use serde_json::json;

use super::Visitor;
use crate::support::peer::{Peer, ended_by_shell};
use crate::support::until;

const DIRECTORY_PORT: u16 = 14_000;
const MANAGEMENT_PORT: u16 = 15_000;
const NAMES_PORT: u16 = 8_053;
const NAMES_MANAGEMENT_PORT: u16 = 8_055;
const TLS_PORT: u16 = 5_001;

/// Where an authority will be.
pub struct Place {
    address: IpAddr,
    folder: tempfile::TempDir,
    certificate: String,
    /// How many of 100 good nonces it refuses all the same.
    pub refused_nonces: u8,
    /// Whether it checks a domain anew that it has checked before.
    pub checks_anew: bool,
}

/// An authority that runs. It ends when dropped.
pub struct Pebble {
    _authority: Peer,
    _names: Peer,
}

impl Place {
    pub fn new() -> Self {
        let [a, b, c]: [u8; 3] = ambient::random();
        let address = Ipv4Addr::new(127, a % 250 + 2, b, c % 250 + 2);
        let made = rcgen::generate_simple_self_signed([address.to_string()]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name, text: String| std::fs::write(folder.path().join(name), text).unwrap();
        write("cert.pem", made.cert.pem());
        write("key.pem", made.signing_key.serialize_pem());
        Self {
            address: address.into(),
            certificate: made.cert.pem(),
            folder,
            refused_nonces: 0,
            checks_anew: true,
        }
    }

    pub fn directory_address(&self) -> SocketAddr {
        (self.address, DIRECTORY_PORT).into()
    }

    pub fn directory(&self) -> String {
        format!("https://{}:{DIRECTORY_PORT}/dir", self.address)
    }

    /// A file with the authority to trust when its directory is called.
    pub fn authority_file(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Where the authority looks for every name.
    pub fn door(&self) -> SocketAddr {
        (self.address, TLS_PORT).into()
    }

    pub async fn start(&self) -> Pebble {
        let at = |port: u16| format!("{}:{port}", self.address);
        let path = |name: &str| self.folder.path().join(name).to_str().unwrap().to_owned();
        let settings = json!({"pebble": {
            "listenAddress": at(DIRECTORY_PORT),
            "managementListenAddress": at(MANAGEMENT_PORT),
            "certificate": path("cert.pem"),
            "privateKey": path("key.pem"),
            "httpPort": 5_002,
            "tlsPort": TLS_PORT,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": false,
        }});
        std::fs::write(path("pebble.json"), settings.to_string()).unwrap();
        let names = [
            ["-dns01", &at(NAMES_PORT)],
            ["-management", &at(NAMES_MANAGEMENT_PORT)],
            ["-defaultIPv4", &self.address.to_string()],
            ["-defaultIPv6", ""],
            ["-http01", ""],
            ["-https01", ""],
            ["-tlsalpn01", ""],
        ];
        let log = self.folder.path().join("log");
        let names = Peer::start(&mut ended_by_shell(
            "pebble-challtestsrv",
            names.as_flattened(),
            &log,
        ));
        let arguments = [
            "-config",
            &path("pebble.json"),
            "-dnsserver",
            &at(NAMES_PORT),
        ];
        let reuse = if self.checks_anew { "0" } else { "100" };
        let authority = Peer::start(
            ended_by_shell("pebble", &arguments, &log)
                .env("PEBBLE_VA_NOSLEEP", "1")
                .env("PEBBLE_VA_ALWAYS_VALID", "0")
                .env("PEBBLE_AUTHZREUSE", reuse)
                .env("PEBBLE_WFE_NONCEREJECT", self.refused_nonces.to_string()),
        );
        for port in [DIRECTORY_PORT, MANAGEMENT_PORT, NAMES_MANAGEMENT_PORT] {
            let address = SocketAddr::from((self.address, port));
            until("pebble listens", || async move {
                tokio::net::TcpStream::connect(address).await.ok()
            })
            .await;
        }
        Pebble {
            _authority: authority,
            _names: names,
        }
    }

    /// A client that trusts the certificates which are issued there.
    pub async fn visitor(&self) -> Visitor {
        let config = Visitor::trusting(&self.certificate).offering(&[]).config();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(config)
            .timeout(Duration::from_secs(30))
            .build()
            .unwrap();
        let url = format!("https://{}:{MANAGEMENT_PORT}/roots/0", self.address);
        let root = http.get(url).send().await.unwrap().text().await.unwrap();
        Visitor::trusting(&root)
    }
}
