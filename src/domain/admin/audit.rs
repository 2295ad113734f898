//! The audit log: who did what to which resource, and when. Each line carries a hash that covers
//! the previous line, so no line can be changed, removed or inserted without breaking the chain.

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

    fn hash(&self, number: i64, previous: &str) -> String {
        api_key::hash(&format!("{previous}\n{}", self.canonical(number)))
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
    /// The next line of the chain.
    pub fn next(&self, entry: AuditEntry) -> AuditLine {
        let number = self.number + 1;
        AuditLine {
            number,
            hash: entry.hash(number, &self.hash),
            entry,
        }
    }

    /// Advances to `line` if it is the next one.
    pub fn follow(&mut self, line: &AuditLine) -> Result<(), BrokenChain> {
        let number = self.number + 1;
        if line.number != number {
            let what = "is missing";
            return Err(BrokenChain { number, what });
        }
        if line.hash != line.entry.hash(number, &self.hash) {
            let what = "or a line before it was changed";
            return Err(BrokenChain { number, what });
        }
        self.number = number;
        self.hash.clone_from(&line.hash);
        Ok(())
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
        let mut head = AuditHead::default();
        let mut lines = Vec::new();
        for action in actions {
            let line = head.next(entry(action));
            head.follow(&line).unwrap();
            lines.push(line);
        }
        (lines, head)
    }

    fn check(lines: &[AuditLine], end: &AuditHead) -> Result<(), BrokenChain> {
        let mut head = AuditHead::default();
        lines.iter().try_for_each(|line| head.follow(line))?;
        head.ends_at(end)
    }

    /// Old logs must stay verifiable forever, so this hash never changes.
    #[test]
    fn the_hash_is_fixed() {
        let line = AuditHead::default().next(entry("account.created"));
        let text = r#"[1,1763200000000,"command_line",null,"account.created","account","1","{}"]"#;
        assert_eq!(line.entry.canonical(1), text);
        assert_eq!(line.hash, api_key::hash(&format!("\n{text}")));
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
        assert_ne!(one.hash(1, ""), other.hash(1, ""));
    }
}
