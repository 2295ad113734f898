//! Reads a multipart body part by part. Whatever is sent, it holds little more than the chunk that
//! came last, and gives up as soon as a bound is passed.

use bytes::{Buf, Bytes, BytesMut};

/// What may come before the first boundary, and after the last one.
pub const MAX_OUTSIDE_BYTES: usize = 4 * 1024;
/// The header lines of a part.
pub const MAX_HEAD_BYTES: usize = 8 * 1024;
pub const MAX_PARTS: usize = 32;

/// Why a body cannot be read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    CutOff,
    TooSlow,
    /// The whole body is larger than its limit.
    TooLarge,
    Malformed(&'static str),
}

const MALFORMED: Fault = Fault::Malformed("is not a well-formed multipart body");

/// Where the bytes come from.
pub trait Source {
    /// The next bytes; none at the end.
    fn next(&mut self) -> impl Future<Output = Result<Option<Bytes>, Fault>> + Send;
}

pub struct Reader<'a, S> {
    source: &'a mut S,
    buffer: BytesMut,
    /// A line break, two hyphens and the boundary.
    delimiter: Vec<u8>,
    place: Place,
    parts: usize,
    received: u64,
    limit: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Before the first boundary.
    Preamble,
    /// In the content of a part.
    Content,
    /// Right after a boundary.
    Boundary,
    End,
}

impl<'a, S: Source> Reader<'a, S> {
    /// Takes a body of at most `limit` bytes.
    pub fn new(source: &'a mut S, boundary: &str, limit: u64) -> Self {
        Self {
            source,
            // The first boundary needs no line break before it.
            buffer: BytesMut::from(&b"\r\n"[..]),
            delimiter: format!("\r\n--{boundary}").into_bytes(),
            place: Place::Preamble,
            parts: 0,
            received: 0,
            limit,
        }
    }

    /// Goes to the next part, over what is left of this one, and returns its name. After the last
    /// part it reads the body to its end.
    pub async fn next_part(&mut self) -> Result<Option<String>, Fault> {
        match self.place {
            Place::Preamble => self.skip_preamble().await?,
            Place::Content => while self.chunk().await?.is_some() {},
            Place::Boundary => {}
            Place::End => return Ok(None),
        }
        while self.buffer.len() < 2 {
            self.fill().await?;
        }
        if self.buffer.starts_with(b"--") {
            self.place = Place::End;
            return self.skip_rest().await.map(|()| None);
        }
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(Fault::Malformed("has more than 32 parts"));
        }
        let head = self.head().await?;
        self.place = Place::Content;
        name(&head).map(Some)
    }

    /// The next bytes of this part; none at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Fault> {
        if self.place != Place::Content {
            return Ok(None);
        }
        loop {
            match find(&self.buffer, &self.delimiter, 0) {
                Ok(0) => {
                    self.pass_boundary(0);
                    return Ok(None);
                }
                Err(0) => self.fill().await?,
                Ok(content) | Err(content) => {
                    return Ok(Some(self.buffer.split_to(content).freeze()));
                }
            }
        }
    }

    async fn skip_preamble(&mut self) -> Result<(), Fault> {
        let mut searched = 0;
        loop {
            let found = find(&self.buffer, &self.delimiter, searched);
            let (Ok(passed) | Err(passed)) = found;
            if passed > MAX_OUTSIDE_BYTES {
                return Err(Fault::Malformed("does not begin with its boundary"));
            }
            if found.is_ok() {
                self.pass_boundary(passed);
                return Ok(());
            }
            searched = passed;
            self.fill().await?;
        }
    }

    fn pass_boundary(&mut self, at: usize) {
        self.buffer.advance(at + self.delimiter.len());
        self.place = Place::Boundary;
    }

    /// From the boundary to the empty line that ends the head.
    async fn head(&mut self) -> Result<Bytes, Fault> {
        let mut searched = 0;
        loop {
            let found = find(&self.buffer, b"\r\n\r\n", searched);
            let (Ok(passed) | Err(passed)) = found;
            if passed > MAX_HEAD_BYTES {
                return Err(Fault::Malformed("has a part whose head is too long"));
            }
            if found.is_ok() {
                let head = self.buffer.split_to(passed).freeze();
                self.buffer.advance(4);
                return Ok(head);
            }
            searched = passed;
            self.fill().await?;
        }
    }

    async fn skip_rest(&mut self) -> Result<(), Fault> {
        let mut after = self.buffer.len();
        self.buffer.clear();
        while after <= MAX_OUTSIDE_BYTES {
            match self.source.next().await? {
                Some(bytes) => after += bytes.len(),
                None => return Ok(()),
            }
        }
        Err(Fault::Malformed("goes on after its last boundary"))
    }

    async fn fill(&mut self) -> Result<(), Fault> {
        let bytes = self.source.next().await?.ok_or(Fault::CutOff)?;
        self.received += bytes.len() as u64;
        if self.received > self.limit {
            return Err(Fault::TooLarge);
        }
        self.buffer.extend_from_slice(&bytes);
        Ok(())
    }
}

/// Where the needle is, or up to where it is not: it may begin there and go on in what comes later.
/// Linear in what is searched: all that follows the first byte of a needle is passed over once.
fn find(haystack: &[u8], needle: &[u8], from: usize) -> Result<usize, usize> {
    let mut at = from.min(haystack.len());
    while let Some(next) = haystack[at..].iter().position(|byte| *byte == b'\r') {
        let rest = &haystack[at + next..];
        if rest.starts_with(needle) {
            return Ok(at + next);
        }
        if needle.starts_with(rest) {
            return Err(at + next);
        }
        at += next + 1;
    }
    Err(haystack.len())
}

/// The name in the head of a part. A part without one has an empty name, which no form knows.
fn name(head: &[u8]) -> Result<String, Fault> {
    let head = std::str::from_utf8(head).map_err(|_| MALFORMED)?;
    let (padding, lines) = match head.split_once("\r\n") {
        Some((padding, lines)) => (padding, lines),
        None => (head, ""),
    };
    if !padding.trim_matches([' ', '\t']).is_empty() {
        return Err(MALFORMED);
    }
    for line in lines.split("\r\n").filter(|line| !line.is_empty()) {
        let (header, value) = line.split_once(':').ok_or(MALFORMED)?;
        if header.trim().eq_ignore_ascii_case("content-disposition") {
            return Ok(parameter(value, "name").unwrap_or_default());
        }
    }
    Ok(String::new())
}

/// The boundary in the content type of a form.
pub fn boundary(content_type: &str) -> Option<String> {
    let kind = content_type.split(';').next()?.trim();
    if !kind.eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(content_type, "boundary")?;
    let fits = (1..=70).contains(&boundary.len());
    let plain = boundary.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    (fits && plain).then_some(boundary)
}

/// The value of a parameter, such as `name` in `form-data; name="photo"`.
fn parameter(header: &str, wanted: &str) -> Option<String> {
    let (_, mut rest) = header.split_once(';')?;
    loop {
        let (name, value) = rest.split_once('=')?;
        let value = value.trim_start();
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => unquoted(quoted)?,
            None => {
                let end = value.find(';').unwrap_or(value.len());
                (value[..end].trim_end().to_owned(), &value[end..])
            }
        };
        if name
            .trim_matches([';', ' ', '\t'])
            .eq_ignore_ascii_case(wanted)
        {
            return Some(value);
        }
        rest = after;
    }
}

/// The text up to the closing quote, and what follows.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            other => value.push(other),
        }
    }
    None
}

#[cfg(test)]
mod tests;
