//! The program that stands for S3. It is started once for all tests, and ends when they do: its
//! standard input closes then.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// It is there from the start.
pub const BUCKET: &str = "legwork";

pub fn address() -> SocketAddr {
    static RUNNING: OnceLock<(u16, Child)> = OnceLock::new();
    let (port, _) = RUNNING.get_or_init(start);
    ([127, 0, 0, 1], *port).into()
}

fn start() -> (u16, Child) {
    let python = std::env::var("LEGWORK_TEST_MOTO").unwrap_or_else(|_| {
        panic!("LEGWORK_TEST_MOTO is not set: run ./test, or scripts/with-s3 cargo test")
    });
    let mut child = Command::new(python)
        .arg(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/it/files/serve_s3.py"
        ))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    (line.trim().parse().expect("the port of the peer"), child)
}

/// The variables of somebody who uses S3 at this address.
pub fn environment(address: SocketAddr) -> Vec<(String, String)> {
    [
        ("AWS_ACCESS_KEY_ID", "tests".to_owned()),
        (
            "AWS_SECRET_ACCESS_KEY",
            "the secret of the tests".to_owned(),
        ),
        ("AWS_REGION", "us-east-1".to_owned()),
        ("AWS_ENDPOINT_URL", format!("http://{address}")),
        ("AWS_PAGER", "less".to_owned()),
        ("PATH", "/bin".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
