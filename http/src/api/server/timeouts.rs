//! How long others may take.

use std::time::Duration;

/// How long others may take, so that slow ones cannot hold connections for ever.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// A TLS handshake must be over by then.
    pub handshake: Duration,
    /// A request's head must have arrived by then; an idle connection is closed as well.
    pub head: Duration,
    /// All of a JSON body must have arrived by then.
    pub body: Duration,
    /// The key of a request is looked up once more when its body takes longer than this. Nearly all bodies come with
    /// their head.
    pub recheck: Duration,
    /// The sender of a file must keep up over every window of this length.
    pub upload: Duration,
    /// How long writing may make no progress: the other side does not read, or reads nothing of
    /// this response.
    pub write: Duration,
    /// How long a request waits for the database, all its transactions together.
    pub request: Duration,
    /// How long a request waits for the payment processor.
    pub processor: Duration,
    /// How often a stream of events sends something even when nothing happens, since proxies close
    /// what is silent; and how often it checks its key, since one that was revoked must not go on.
    pub heartbeat: Duration,
    /// How long requests in flight may take once the service is asked to stop.
    pub grace: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            handshake: Duration::from_secs(10),
            head: Duration::from_secs(15),
            body: Duration::from_secs(20),
            recheck: Duration::from_secs(1),
            upload: Duration::from_secs(30),
            write: Duration::from_secs(20),
            request: Duration::from_secs(10),
            processor: Duration::from_secs(10),
            heartbeat: Duration::from_secs(15),
            grace: Duration::from_secs(17),
        }
    }
}
