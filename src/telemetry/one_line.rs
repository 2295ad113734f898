//! Keeps every event of a text log on one line.

use std::io::{self, Write};

/// Some values come from outside: a line break in one of them could fake a line of the log, and a
/// control sequence could rewrite the terminal of whoever reads it. Each event arrives in one write
/// that ends with a line break.
pub struct OneLine<W>(pub W);

impl<W: Write> Write for OneLine<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (mut event, end) = match bytes.split_last() {
            Some((b'\n', event)) => (event, "\n"),
            _ => (bytes, ""),
        };
        let mut line = Vec::with_capacity(bytes.len() + 16);
        while let Some((byte, rest)) = event.split_first() {
            let color = color_length(event);
            match byte {
                0x1b if color > 0 => line.extend_from_slice(&event[..color]),
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\r' => line.extend_from_slice(b"\\r"),
                b'\t' | 0x20..=0x7e | 0x80.. => line.push(*byte),
                byte => write!(line, "\\x{byte:02x}")?,
            }
            event = if color > 0 { &event[color..] } else { rest };
        }
        line.extend_from_slice(end.as_bytes());
        self.0.write_all(&line)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The length of the sequence at the beginning that changes color or weight and nothing else: on a
/// terminal the log itself is colored. 0 if there is none.
fn color_length(bytes: &[u8]) -> usize {
    let Some(parameters) = bytes.strip_prefix(b"\x1b[") else {
        return 0;
    };
    let numbers = |byte: &u8| byte.is_ascii_digit() || *byte == b';';
    let length = parameters.iter().take_while(|byte| numbers(byte)).count();
    match parameters.get(length) {
        Some(b'm') => length + 3,
        _ => 0,
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
        assert_eq!(written("tab\t, umlaut ü\n"), "tab\t, umlaut ü\n");
    }

    #[test]
    fn colors_stay_and_other_control_sequences_do_not() {
        assert_eq!(written("\x1b[1;31mred\x1b[0m\n"), "\x1b[1;31mred\x1b[0m\n");
        assert_eq!(written("\x1b[2J\x07\x1b\n"), "\\x1b[2J\\x07\\x1b\n");
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
