//! The program that stands for S3.

use std::net::SocketAddr;
use std::sync::OnceLock;

use crate::support::peer::{Peer, python};

/// It is there from the start.
pub const BUCKET: &str = "legwork";

pub fn address() -> SocketAddr {
    static RUNNING: OnceLock<(u16, Peer)> = OnceLock::new();
    let (port, _) = RUNNING.get_or_init(|| {
        let mut peer = Peer::start(&mut python("serve_s3.py"));
        (peer.port(), peer)
    });
    ([127, 0, 0, 1], *port).into()
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
