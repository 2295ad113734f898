//! What the text of a statement tells: which table it writes, whether its order matters, and how it
//! inserts several rows.

use std::fmt::Write as _;

use crate::store::engine::Statement;

/// The rows of one statement have at most so many values in all.
const VALUES: usize = 1_000;

/// Rewrites `?1` to `$1`. Statements contain no other question mark.
pub fn numbered_with_dollar(sql: &str) -> String {
    sql.replace('?', "$")
}

/// Whether one of two statements may notice in which order they run. A word of one that is also the
/// name of the table that the other one writes is reason enough to think so.
pub fn order_matters(one: Statement, other: Statement) -> bool {
    meddles(one.sql(), other.sql()) || meddles(other.sql(), one.sql())
}

fn meddles(writes: &str, with: &str) -> bool {
    match written(writes) {
        Written::Nothing => false,
        Written::Table(table) => words(with).any(|word| word == table),
        Written::Unknown => true,
    }
}

enum Written<'a> {
    Nothing,
    Table(&'a str),
    Unknown,
}

fn written(sql: &str) -> Written<'_> {
    let mut words = words(sql);
    let table = match (words.next(), words.next(), words.next()) {
        (Some("SELECT"), _, _) => return Written::Nothing,
        (Some("INSERT"), Some("INTO"), table) | (Some("DELETE"), Some("FROM"), table) => table,
        (Some("UPDATE"), table, _) => table,
        _ => None,
    };
    table.map_or(Written::Unknown, Written::Table)
}

fn words(sql: &str) -> impl Iterator<Item = &str> {
    let parts = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|word| !word.is_empty())
}

/// Whether a statement only reads.
pub fn only_reads(statement: Statement) -> bool {
    matches!(written(statement.sql()), Written::Nothing)
}

/// Whether a statement may run before deferred ones whose tables it does not mention. An INSERT or a
/// DELETE may not: a foreign key may refer to a row of theirs.
pub fn may_overtake(statement: Statement) -> bool {
    matches!(words(statement.sql()).next(), Some("SELECT" | "UPDATE"))
}

/// An INSERT of one row, in parts.
pub struct RowInsert {
    before: &'static str,
    row: &'static str,
    after: &'static str,
    values: usize,
}

impl RowInsert {
    /// None if several of the statement cannot become one.
    pub fn of(statement: Statement) -> Option<Self> {
        let sql = statement.sql();
        if words(sql).next() != Some("INSERT") {
            return None;
        }
        let (before, _) = sql.split_once("VALUES (")?;
        let from = before.len() + "VALUES ".len();
        let end = from + end_of_brackets(&sql[from..])?;
        let (row, after) = (&sql[from..end], &sql[end..]);
        let rest = after.trim();
        let plain =
            rest.is_empty() || (rest.starts_with("ON CONFLICT") && rest.ends_with("NOTHING"));
        let all_in_row = !before.contains('?') && !after.contains('?');
        (plain && all_in_row).then(|| Self {
            before,
            row,
            after,
            values: highest(row),
        })
    }

    /// The most rows that one statement inserts: a power of two.
    pub fn most_rows(&self) -> usize {
        let fitting = (VALUES / self.values.max(1)).clamp(1, 32);
        1 << fitting.ilog2()
    }

    /// The statement for that many rows.
    pub fn text(&self, rows: usize) -> String {
        let mut text = format!("{}VALUES ", self.before);
        for row in 0..rows {
            if row > 0 {
                text.push_str(", ");
            }
            self.write_row(&mut text, row * self.values);
        }
        text.push_str(self.after);
        text
    }

    fn write_row(&self, text: &mut String, first: usize) {
        let mut parts = self.row.split('?');
        text.push_str(parts.next().unwrap_or_default());
        for part in parts {
            let (number, rest) = number_and_rest(part);
            // Writing to a string cannot fail.
            let _ = write!(text, "${}{rest}", first + number);
        }
    }
}

/// Where the first brackets of a text end.
fn end_of_brackets(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(at + 1);
        }
    }
    None
}

fn highest(row: &str) -> usize {
    let numbers = row.split('?').skip(1).map(|part| number_and_rest(part).0);
    numbers.max().unwrap_or(0)
}

fn number_and_rest(part: &str) -> (usize, &str) {
    let digits = part.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = part.split_at(digits);
    (number.parse().unwrap_or(0), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTALS: Statement = Statement::new("UPDATE task_totals SET n = n + ?1 WHERE id = ?2");
    const TASK: Statement = Statement::new("INSERT INTO tasks (id, title, n) VALUES (?1, ?2, 0)");
    const READ: Statement = Statement::new("SELECT id FROM tasks WHERE id = ?1");

    #[test]
    fn placeholders_are_rewritten() {
        assert_eq!(
            numbered_with_dollar("SELECT a FROM b WHERE c = ?1 AND d < ?12"),
            "SELECT a FROM b WHERE c = $1 AND d < $12"
        );
    }

    #[test]
    fn order_matters_where_a_table_is_written() {
        assert!(!order_matters(TASK, TOTALS));
        assert!(order_matters(TASK, READ));
        assert!(order_matters(READ, TASK));
        assert!(order_matters(TASK, TASK));
        assert!(!order_matters(READ, READ));
        let counted = Statement::new("UPDATE other SET n = (SELECT COUNT(*) FROM tasks)");
        assert!(order_matters(counted, TASK));
        let unknown = Statement::new("WITH gone AS (DELETE FROM a) SELECT 1");
        assert!(order_matters(unknown, READ));
    }

    #[test]
    fn what_may_refer_to_a_row_overtakes_nothing() {
        assert!(may_overtake(READ) && may_overtake(TOTALS));
        assert!(!may_overtake(TASK));
    }

    #[test]
    fn rows_are_inserted_together() {
        let insert = RowInsert::of(TASK).unwrap();
        assert_eq!(
            insert.text(3),
            "INSERT INTO tasks (id, title, n) VALUES ($1, $2, 0), ($3, $4, 0), ($5, $6, 0)"
        );
        let job = Statement::new(
            "INSERT INTO jobs (a, b) VALUES (?1, CAST(?2 AS TEXT) || ?1) ON CONFLICT (a) DO NOTHING",
        );
        assert_eq!(
            RowInsert::of(job).unwrap().text(2),
            "INSERT INTO jobs (a, b) VALUES ($1, CAST($2 AS TEXT) || $1), \
             ($3, CAST($4 AS TEXT) || $3) ON CONFLICT (a) DO NOTHING"
        );
    }

    #[test]
    fn other_writes_stay_alone() {
        for sql in [
            "UPDATE tasks SET n = ?1",
            "INSERT INTO a (b) SELECT c FROM d WHERE e = ?1",
            "INSERT INTO a (b) VALUES (?1) RETURNING b",
            "INSERT INTO a (b) VALUES (?1) ON CONFLICT (b) DO UPDATE SET b = ?1",
            "INSERT INTO a (b) VALUES (?1) ON CONFLICT (b) DO UPDATE SET b = 'NOTHING'",
        ] {
            assert!(RowInsert::of(Statement::new(sql)).is_none(), "{sql}");
        }
    }

    #[test]
    fn every_statement_of_the_store_has_a_shape() {
        for statement in crate::store::all_statements() {
            let known = !matches!(written(statement.sql()), Written::Unknown);
            assert!(known, "{}", statement.sql());
            if let Some(insert) = RowInsert::of(statement) {
                assert!(insert.most_rows() >= 1, "{}", statement.sql());
                assert!(!insert.text(2).contains('?'));
            }
        }
    }
}
