//! A body as it arrives: counted, and not waited for if its sender is too slow.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::body::Body;
use bytes::Bytes;
use http_body_util::BodyExt;

use super::reader::{Fault, Source};
use crate::domain::proofs::uploads::MIN_BYTES_A_SECOND;

pub struct Arriving<'a> {
    pub body: Body,
    pace: Pace,
    received: &'a AtomicU64,
}

impl<'a> Arriving<'a> {
    /// The sender must keep up over every window of this length.
    pub fn new(body: Body, window: Duration, received: &'a AtomicU64) -> Self {
        let pace = Pace::new(window);
        Self {
            body,
            pace,
            received,
        }
    }
}

impl Source for Arriving<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, Fault> {
        loop {
            let asked = Instant::now();
            let frame = tokio::time::timeout(self.pace.window, self.body.frame()).await;
            let Some(frame) = frame.map_err(|_| Fault::TooSlow)? else {
                return Ok(None);
            };
            let Ok(data) = frame.map_err(|_| Fault::CutOff)?.into_data() else {
                continue;
            };
            let bytes = data.len() as u64;
            self.received.fetch_add(bytes, Ordering::Relaxed);
            if !self.pace.keeps_up(asked.elapsed(), bytes) {
                return Err(Fault::TooSlow);
            }
            return Ok(Some(data));
        }
    }
}

/// How fast a sender is while we wait for it. Our own work does not count.
struct Pace {
    window: Duration,
    waited: Duration,
    bytes: u64,
    /// The first window may be slow: connections need a while to get going.
    first: bool,
}

impl Pace {
    fn new(window: Duration) -> Self {
        Self {
            window,
            waited: Duration::ZERO,
            bytes: 0,
            first: true,
        }
    }

    fn keeps_up(&mut self, waited: Duration, bytes: u64) -> bool {
        self.waited += waited;
        self.bytes += bytes;
        if self.waited < self.window {
            return true;
        }
        let needed = MIN_BYTES_A_SECOND as f64 * self.waited.as_secs_f64();
        let fast = self.bytes as f64 >= needed;
        (self.waited, self.bytes) = (Duration::ZERO, 0);
        fast || std::mem::take(&mut self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_has_to_keep_up_after_the_first_window() {
        const SECOND: Duration = Duration::from_secs(1);
        let mut pace = Pace::new(30 * SECOND);
        let slow = (0..100).position(|_| !pace.keeps_up(SECOND, 999));
        assert_eq!(slow, Some(59), "at the end of the second window");
        let mut pace = Pace::new(30 * SECOND);
        assert!((0..10_000).all(|_| pace.keeps_up(SECOND, 1_000)));
        // In bursts, too.
        let mut pace = Pace::new(30 * SECOND);
        assert!((0..100).all(|n| pace.keeps_up(29 * SECOND, if n % 2 == 0 { 58_000 } else { 0 })));
    }
}
