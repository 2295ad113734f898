//! The audit log: who did what to which resource, and when. Each line carries a hash that covers
//! the previous line, so no line can be changed, removed or inserted without breaking the chain.

use ring::hmac;
use serde_json::json;

use crate::domain::accounts::api_key;
use crate::domain::rules::TextRule;
use crate::domain::{Actor, Timestamp};

/// What lines of the log are searched by.
pub const SUBJECT_ID: TextRule = TextRule::plain(1, 255);
pub const AUDIT_ACTION: TextRule = TextRule::plain(1, 255);

/// Something that was done, and by whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: Timestamp,
    pub by: Actor,
    /// For example `worker.verified`.
    pub action: String,
    /// The kind of resource, for example `worker`.
    pub subject: String,
    pub subject_id: String,
    /// A JSON object, serialized. The hash covers exactly the stored text.
    pub details: String,
}

/// An entry with its position in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    pub number: i64,
    pub entry: AuditEntry,
    pub hash: String,
}

impl AuditEntry {
    /// The canonical text of an entry. It is a JSON array, so two different entries never have the
    /// same text.
    fn canonical(&self, number: i64) -> String {
        json!([
            number,
            self.at.as_millis(),
            self.by.kind,
            self.by.id,
            self.action,
            self.subject,
            self.subject_id,
            self.details,
        ])
        .to_string()
    }

    /// `None` if the key of the line is lost.
    fn hash(&self, number: i64, previous: &str, keys: &AuditKeys) -> Option<String> {
        let text = format!("{previous}\n{}", self.canonical(number));
        match keys.of_line(number) {
            LineKey::None => Some(api_key::hash(&text)),
            LineKey::Key(key) => {
                let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_bytes());
                Some(api_key::hex(hmac::sign(&key, text.as_bytes()).as_ref()))
            }
            LineKey::Lost => None,
        }
    }
}

/// The keys of the chain, each with the first line that it is for. Lines before the first one have
/// plain hashes, which whoever can write to the database can make too.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct AuditKeys(Vec<(i64, Option<String>)>);

enum LineKey<'a> {
    None,
    Key(&'a str),
    Lost,
}

impl AuditKeys {
    /// Reads what `to_text` wrote.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok().map(Self)
    }

    /// The keys as text. It is secret.
    pub fn to_text(&self) -> String {
        json!(self.0).to_string()
    }

    /// Lines from this one on have a new key.
    pub fn from_line(mut self, number: i64, key: &[u8; 32]) -> Self {
        self.0.push((number, Some(api_key::hex(key))));
        self
    }

    /// The keys of all lines so far are lost.
    pub fn lost() -> Self {
        Self(vec![(1, None)])
    }

    /// The first line that has a keyed hash.
    pub fn first_keyed(&self) -> Option<i64> {
        let keyed = self.0.iter().find(|(_, key)| key.is_some());
        keyed.map(|(number, _)| *number)
    }

    /// Names the first line that has a keyed hash, and its key without telling it.
    pub fn start(&self) -> Option<String> {
        let mut keyed = self.0.iter();
        let (number, key) = keyed.find_map(|(number, key)| Some((number, key.as_ref()?)))?;
        let name = api_key::hash(&format!("legwork audit start v1\n{key}"));
        Some(format!("{number}:{name}"))
    }

    pub fn any_lost(&self) -> bool {
        self.0.iter().any(|(_, key)| key.is_none())
    }

    fn of_line(&self, number: i64) -> LineKey<'_> {
        let from = self.0.iter().rev().find(|(from, _)| *from <= number);
        match from {
            None => LineKey::None,
            Some((_, Some(key))) => LineKey::Key(key),
            Some((_, None)) => LineKey::Lost,
        }
    }
}

impl std::fmt::Debug for AuditKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("AuditKeys(..)")
    }
}

/// A position in the chain: the last line written, or the last line checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditHead {
    pub number: i64,
    pub hash: String,
}

/// Where the chain is broken, and how.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {number} {what}")]
pub struct BrokenChain {
    pub number: i64,
    pub what: &'static str,
}

impl AuditHead {
    /// Reads `NUMBER:HASH`.
    pub fn parse(text: &str) -> Option<Self> {
        let (number, hash) = text.split_once(':')?;
        let number = number.parse().ok().filter(|number| *number >= 1)?;
        let is_hash = hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hash.then(|| Self {
            number,
            hash: hash.to_ascii_lowercase(),
        })
    }

    /// The next line of the chain. `None` if its key is lost.
    pub fn next(&self, entry: AuditEntry, keys: &AuditKeys) -> Option<AuditLine> {
        let number = self.number + 1;
        Some(AuditLine {
            number,
            hash: entry.hash(number, &self.hash, keys)?,
            entry,
        })
    }

    /// Advances to `line` if it is the next one. A line whose key is lost cannot be checked.
    pub fn follow(&mut self, line: &AuditLine, keys: &AuditKeys) -> Result<(), BrokenChain> {
        let number = self.number + 1;
        if line.number != number {
            let what = "is missing";
            return Err(BrokenChain { number, what });
        }
        let hash = line.entry.hash(number, &self.hash, keys);
        if hash.is_some_and(|hash| line.hash != hash) {
            let what = "or a line before it was changed";
            return Err(BrokenChain { number, what });
        }
        self.number = number;
        self.hash.clone_from(&line.hash);
        Ok(())
    }

    /// Checks this line if it is the one that was kept.
    pub fn agrees_with(&self, kept: &Self) -> Result<(), BrokenChain> {
        if self.number != kept.number || self.hash == kept.hash {
            return Ok(());
        }
        let what = "does not have the hash that was expected";
        let number = self.number;
        Err(BrokenChain { number, what })
    }

    /// Checks that the chain is at least as long as when a line was kept.
    pub fn reaches(&self, kept: &Self) -> Result<(), BrokenChain> {
        if self.number >= kept.number {
            return Ok(());
        }
        let (number, what) = (kept.number, "was expected, but the chain ends before it");
        Err(BrokenChain { number, what })
    }

    /// Checks that the chain followed so far ends at `end`.
    pub fn ends_at(&self, end: &Self) -> Result<(), BrokenChain> {
        if self == end {
            return Ok(());
        }
        let (number, what) = if self.number < end.number {
            (self.number + 1, "is missing")
        } else if self.number > end.number {
            (end.number + 1, "is beyond the end of the chain")
        } else {
            (end.number, "is not the recorded end of the chain")
        };
        Err(BrokenChain { number, what })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(action: &str) -> AuditEntry {
        AuditEntry {
            at: Timestamp::from_millis(1_763_200_000_000),
            by: Actor::COMMAND_LINE,
            action: action.to_owned(),
            subject: "account".to_owned(),
            subject_id: "1".to_owned(),
            details: "{}".to_owned(),
        }
    }

    fn chain(actions: &[&str]) -> (Vec<AuditLine>, AuditHead) {
        chain_with(actions, &AuditKeys::default())
    }

    fn chain_with(actions: &[&str], keys: &AuditKeys) -> (Vec<AuditLine>, AuditHead) {
        let mut head = AuditHead::default();
        let mut lines = Vec::new();
        for action in actions {
            let line = head.next(entry(action), keys).unwrap();
            head.follow(&line, keys).unwrap();
            lines.push(line);
        }
        (lines, head)
    }

    fn check(lines: &[AuditLine], end: &AuditHead) -> Result<(), BrokenChain> {
        check_with(lines, end, &AuditKeys::default())
    }

    fn check_with(
        lines: &[AuditLine],
        end: &AuditHead,
        keys: &AuditKeys,
    ) -> Result<(), BrokenChain> {
        let mut head = AuditHead::default();
        lines.iter().try_for_each(|line| head.follow(line, keys))?;
        head.ends_at(end)
    }

    /// Old logs must stay verifiable forever, so this hash never changes.
    #[test]
    fn the_hash_is_fixed() {
        let head = AuditHead::default();
        let line = head.next(entry("account.created"), &AuditKeys::default());
        let line = line.unwrap();
        let text = r#"[1,1763200000000,"command_line",null,"account.created","account","1","{}"]"#;
        assert_eq!(line.entry.canonical(1), text);
        assert_eq!(line.hash, api_key::hash(&format!("\n{text}")));
        // printf '\n[1,...]' | openssl dgst -sha256 -hmac 0707...07
        let keys = AuditKeys::default().from_line(1, &[7; 32]);
        let line = head.next(entry("account.created"), &keys).unwrap();
        assert_eq!(line.hash, KEYED);
    }

    const KEYED: &str = "c1337e7942f651b1ff0a2f95bb6f00fbdff06c0dd662d4540e1d1c320821f002";

    #[test]
    fn keyed_lines_follow_plain_ones_and_nobody_else_can_write_them() {
        let keys = AuditKeys::default().from_line(3, &[7; 32]);
        let (lines, end) = chain_with(&["a", "b", "c", "d"], &keys);
        assert_eq!(check_with(&lines, &end, &keys), Ok(()));
        assert_eq!(keys.first_keyed(), Some(3));
        // Who writes the chain anew without the key is found where the key begins.
        let (forged, forged_end) = chain(&["a", "b", "c", "x"]);
        let broken = check_with(&forged, &forged_end, &keys).unwrap_err();
        assert_eq!(broken.number, 3);
        let other = AuditKeys::default().from_line(3, &[8; 32]);
        let (forged, forged_end) = chain_with(&["a", "b", "c", "x"], &other);
        assert!(check_with(&forged, &forged_end, &keys).is_err());
    }

    #[test]
    fn after_the_keys_are_lost_a_new_one_continues_the_chain() {
        let (mut lines, mut head) =
            chain_with(&["a", "b"], &AuditKeys::default().from_line(1, &[7; 32]));
        let keys = AuditKeys::lost().from_line(3, &[9; 32]);
        assert!(keys.any_lost() && !AuditKeys::default().any_lost());
        let line = head.next(entry("c"), &keys).unwrap();
        head.follow(&line, &keys).unwrap();
        lines.push(line);
        assert_eq!(check_with(&lines, &head, &keys), Ok(()));
        lines[1].hash = "0".repeat(64);
        assert_eq!(check_with(&lines, &head, &keys).unwrap_err().number, 3);
        assert_eq!(
            AuditHead::default().next(entry("a"), &AuditKeys::lost()),
            None
        );
    }

    #[test]
    fn keys_read_back_and_are_never_shown() {
        let keys = AuditKeys::lost().from_line(3, &[9; 32]);
        assert_eq!(AuditKeys::parse(&keys.to_text()), Some(keys.clone()));
        assert_eq!(format!("{keys:?}"), "AuditKeys(..)");
        assert_eq!(AuditKeys::parse("x"), None);
    }

    #[test]
    fn a_position_is_a_number_and_a_hash() {
        let hash = "0f".repeat(32);
        let head = AuditHead::parse(&format!("12:{}", hash.to_uppercase())).unwrap();
        assert_eq!((head.number, head.hash), (12, hash.clone()));
        for text in [
            "",
            "12",
            "12:",
            &hash,
            &format!("0:{hash}"),
            &format!("x:{hash}"),
            &format!("1:{hash}0"),
        ] {
            assert_eq!(AuditHead::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_chain_that_nobody_touched_is_right() {
        let (lines, end) = chain(&["a", "b", "c"]);
        assert_eq!(check(&lines, &end), Ok(()));
        assert_eq!(check(&[], &AuditHead::default()), Ok(()));
    }

    #[test]
    fn every_field_is_part_of_the_hash() {
        let (lines, end) = chain(&["a", "b", "c"]);
        let changes: [fn(&mut AuditEntry); 7] = [
            |entry| entry.at = Timestamp::from_millis(1),
            |entry| entry.by = Actor::SERVICE,
            |entry| entry.by.id = Some("1".to_owned()),
            |entry| entry.action.push('x'),
            |entry| entry.subject.push('x'),
            |entry| entry.subject_id.push('x'),
            |entry| entry.details = r#"{"a":1}"#.to_owned(),
        ];
        for change in changes {
            let mut changed = lines.clone();
            change(&mut changed[1].entry);
            assert_eq!(check(&changed, &end).unwrap_err().number, 2);
        }
    }

    #[test]
    fn lines_that_are_missing_moved_or_added_are_named() {
        let (lines, end) = chain(&["a", "b", "c"]);
        let without_second = [lines[0].clone(), lines[2].clone()];
        assert_eq!(check(&without_second, &end).unwrap_err().number, 2);
        assert_eq!(check(&lines[..2], &end).unwrap_err().number, 3);
        let (longer, _) = chain(&["a", "b", "c", "d"]);
        assert_eq!(check(&longer, &end).unwrap_err().number, 4);
        let (other, _) = chain(&["a", "b", "x"]);
        assert_eq!(check(&other, &end).unwrap_err().number, 3);
    }

    #[test]
    fn fields_cannot_lend_each_other_letters() {
        let mut one = entry("a");
        (one.subject, one.subject_id) = ("ab".to_owned(), "c".to_owned());
        let mut other = entry("a");
        (other.subject, other.subject_id) = ("a".to_owned(), "bc".to_owned());
        let keys = AuditKeys::default();
        assert_ne!(one.hash(1, "", &keys), other.hash(1, "", &keys));
    }
}
