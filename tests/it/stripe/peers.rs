//! The two programs that stand for Stripe: localstripe, which behaves like it, and a checker that
//! knows its documentation.

use std::sync::{Mutex, OnceLock};

use serde_json::Value;

use crate::support::Client;
use crate::support::peer::{Peer, python, variable};

/// localstripe, as somebody with this key reaches it.
pub fn localstripe(key: &str) -> Client {
    static RUNNING: OnceLock<(u16, Peer)> = OnceLock::new();
    let (port, _) = RUNNING.get_or_init(|| {
        let mut peer = Peer::start(&mut python("serve_localstripe.py"));
        (peer.port(), peer)
    });
    Client::new(([127, 0, 0, 1], *port).into(), Some(key))
}

/// What Stripe's documentation finds wrong with this; `tests/peers/check_stripe.py` says what it
/// may be.
pub fn faults(question: &Value) -> Vec<String> {
    static RUNNING: OnceLock<Mutex<Peer>> = OnceLock::new();
    let checker = RUNNING.get_or_init(|| {
        let document = variable("LEGWORK_TEST_STRIPE_OPENAPI");
        Mutex::new(Peer::start(python("check_stripe.py").arg(document)))
    });
    let found = checker.lock().unwrap().ask(question);
    serde_json::from_value(found).unwrap()
}
