//! Writes the log on a thread of its own: whoever logs never waits for a pipe that nobody reads, and a
//! full disk costs lines of the log and nothing else.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use metrics::counter;
use tracing_subscriber::fmt::MakeWriter;

/// What waits to be written at most. Lines beyond it are lost.
const LONGEST: usize = 8 * 1024 * 1024;

#[derive(Clone, Default)]
pub struct LogWriter(Arc<Shared>);

#[derive(Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    /// Something waits to be written.
    filled: Condvar,
    /// Everything is written.
    emptied: Condvar,
}

#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The thread has taken some and not written them yet.
    writing: bool,
    /// Lines that were lost since the last one that was not.
    lost: u64,
}

impl LogWriter {
    /// Begins to write to `out`.
    pub fn start(out: impl Write + Send + 'static) -> io::Result<Self> {
        let log = Self::default();
        let writing = log.clone();
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || writing.write_all_to(out))?;
        Ok(log)
    }

    fn write_all_to(&self, mut out: impl Write) {
        let mut batch = Vec::new();
        loop {
            self.take(&mut batch);
            // Nobody can be told but by the metric: this is where everybody is told.
            if out.write_all(&batch).and_then(|()| out.flush()).is_err() {
                counter!("legwork_log_failures_total").increment(1);
            }
            batch.clear();
        }
    }

    /// Waits for something to write.
    fn take(&self, batch: &mut Vec<u8>) {
        let mut waiting = self.lock();
        waiting.writing = false;
        while waiting.bytes.is_empty() {
            self.0.emptied.notify_all();
            let woken = self.0.filled.wait(waiting);
            waiting = woken.unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut waiting.bytes, batch);
        waiting.writing = true;
    }

    fn add(&self, line: &[u8]) {
        let mut waiting = self.lock();
        if waiting.bytes.len() + line.len() > LONGEST {
            waiting.lost += 1;
            counter!("legwork_log_failures_total").increment(1);
            return;
        }
        let was_empty = waiting.bytes.is_empty();
        let lost = std::mem::take(&mut waiting.lost);
        if lost > 0 {
            // Writing to memory cannot fail.
            let _ = writeln!(
                waiting.bytes,
                "{{\"level\":\"WARN\",\"lost_lines\":{lost}}}"
            );
        }
        waiting.bytes.extend_from_slice(line);
        drop(waiting);
        if was_empty {
            self.0.filled.notify_one();
        }
    }

    /// Waits until everything is written, but not for longer than this.
    pub fn flush_within(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut waiting = self.lock();
        while waiting.writing || !waiting.bytes.is_empty() {
            let Some(left) = until.checked_duration_since(Instant::now()) else {
                return;
            };
            let woken = self.0.emptied.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        let waiting = self.0.waiting.lock();
        waiting.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Each event arrives in one write.
impl Write for LogWriter {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.add(line);
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, Sender, channel};

    /// Tells of each write, and goes on when it is told to.
    struct Slow(Sender<String>, Receiver<io::Result<()>>);

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            let _ = self.0.send(text);
            match self.1.recv() {
                Ok(Err(error)) => Err(error),
                _ => Ok(bytes.len()),
            }
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (LogWriter, Receiver<String>, Sender<io::Result<()>>) {
        let (told, written) = channel();
        let (go_on, waits) = channel();
        (LogWriter::start(Slow(told, waits)).unwrap(), written, go_on)
    }

    #[test]
    fn what_comes_while_one_is_written_is_written_together() {
        let (mut log, written, go_on) = slow();
        log.write_all(b"one\n").unwrap();
        assert_eq!(written.recv().unwrap(), "one\n");
        log.write_all(b"two\n").unwrap();
        log.write_all(b"three\n").unwrap();
        go_on.send(Ok(())).unwrap();
        assert_eq!(written.recv().unwrap(), "two\nthree\n");
        go_on.send(Ok(())).unwrap();
        log.flush_within(Duration::from_secs(30));
        assert!(log.lock().bytes.is_empty());
    }

    #[test]
    fn whoever_logs_never_waits_and_lost_lines_are_counted() {
        let (mut log, written, go_on) = slow();
        log.write_all(b"stuck\n").unwrap();
        assert_eq!(written.recv().unwrap(), "stuck\n");
        let long = vec![b'x'; LONGEST];
        log.write_all(&long).unwrap();
        log.write_all(b"lost\n").unwrap();
        log.flush_within(Duration::ZERO);
        go_on.send(Ok(())).unwrap();
        assert_eq!(written.recv().unwrap().len(), LONGEST);
        log.write_all(b"next\n").unwrap();
        go_on.send(Ok(())).unwrap();
        let next = written.recv().unwrap();
        assert!(next.ends_with("\nnext\n") && next.contains("\"lost_lines\":1"));
        go_on.send(Ok(())).unwrap();
    }

    #[test]
    fn a_write_that_fails_costs_its_lines_and_nothing_else() {
        let (mut log, written, go_on) = slow();
        log.write_all(b"one\n").unwrap();
        assert_eq!(written.recv().unwrap(), "one\n");
        go_on
            .send(Err(io::Error::other("the disk is full")))
            .unwrap();
        log.write_all(b"two\n").unwrap();
        assert_eq!(written.recv().unwrap(), "two\n");
        go_on.send(Ok(())).unwrap();
    }
}
