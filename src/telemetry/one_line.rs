//! Keeps every event of a text log on one line.

use std::io::{self, Write};

/// Some values come from outside: a line break in one of them could fake a line of the log. Each
/// event arrives in one write that ends with a line break.
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (event, end) = match bytes.split_last() {
            Some((b'\n', event)) => (event, "\n"),
            _ => (bytes, ""),
        };
        if !event.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
            self.0.write_all(bytes)?;
            return Ok(bytes.len());
        }
        let mut line = Vec::with_capacity(bytes.len() + 16);
        for byte in event {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                byte => line.push(*byte),
            }
        }
        line.extend_from_slice(end.as_bytes());
        self.0.write_all(&line)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};

    fn written(text: &str) -> String {
        let mut line = OneLine(Vec::new());
        line.write_all(text.as_bytes()).unwrap();
        String::from_utf8(line.0).unwrap()
    }

    #[test]
    fn only_the_last_line_break_stays() {
        assert_eq!(written("one\n"), "one\n");
        assert_eq!(written("one\ntwo\r\nthree\n"), "one\\ntwo\\r\\nthree\n");
        assert_eq!(written("\n"), "\n");
        assert_eq!(written(""), "");
    }

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// As the program logs, in the form of text: what peers answer reaches the log with `%`.
    #[test]
    fn a_value_from_outside_cannot_fake_a_line() {
        let log = Shared::default();
        let to = log.clone();
        let logger = tracing_subscriber::fmt()
            .with_ansi(false)
            .with_writer(move || OneLine(to.clone()))
            .finish();
        tracing::subscriber::with_default(logger, || {
            let error = "refused\n2026-11-15T04:00:56Z ERROR legwork: all is lost\r\x1b[2J";
            tracing::warn!(%error, "a peer answers");
            tracing::warn!(error, "a peer answers {error}");
        });
        let text = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(!text.contains('\r') && !text.contains('\x1b'), "{text:?}");
    }
}
