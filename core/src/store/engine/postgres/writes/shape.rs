//! What the text of a statement tells: which table it writes, whether its order matters, and how it
//! inserts several rows.

use tokio_postgres::types::Type;

use crate::store::engine::{Statement, Value};

/// The rows of one statement have at most so many values in all.
const VALUES: usize = 1_000;
/// For how many rows there are statements: so that two do for most numbers of rows.
const SIZES: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];

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
        Written::Table(table) => words(with).any(|word| word == table || goes_with(word, table)),
        Written::Unknown => true,
    }
}

/// Rows of the first table go with rows of the second, by a foreign key.
const CASCADES: [(&str, &str); 1] = [("push_subscriptions", "worker_tokens")];

fn goes_with(word: &str, table: &str) -> bool {
    CASCADES.contains(&(word, table))
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

pub(super) fn words(sql: &str) -> impl Iterator<Item = &str> {
    let parts = sql.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    parts.filter(|word| !word.is_empty())
}

/// Whether a statement only reads.
pub fn only_reads(statement: Statement) -> bool {
    matches!(written(statement.sql()), Written::Nothing)
}

/// The tables that foreign keys refer to.
const REFERENCED: [&str; 6] = [
    "accounts",
    "admin_keys",
    "tasks",
    "uploads",
    "worker_tokens",
    "workers",
];

/// Whether a statement must not run before one that came earlier: one may notice the other, or the row of
/// an INSERT may refer to a row that the earlier one makes.
pub fn must_follow(later: Statement, earlier: Statement) -> bool {
    order_matters(later, earlier) || (inserts(later) && makes_referenced(earlier))
}

fn inserts(statement: Statement) -> bool {
    words(statement.sql()).next() == Some("INSERT")
}

fn makes_referenced(statement: Statement) -> bool {
    match written(statement.sql()) {
        Written::Table(table) => inserts(statement) && REFERENCED.contains(&table),
        Written::Nothing => false,
        Written::Unknown => true,
    }
}

/// An INSERT of one row, or of what a SELECT finds for one set of values.
pub struct RowInsert {
    table: &'static str,
    form: Form,
    /// How many values a row has.
    values: usize,
    /// It adds to a row that is there, so two rows of one statement must not be the same.
    adds: bool,
}

enum Form {
    /// `INSERT INTO t (...) VALUES (...)`, in parts.
    Values {
        before: &'static str,
        row: &'static str,
        after: &'static str,
    },
    /// `INSERT INTO t (...) SELECT ... FROM ...`, up to the tables and from there.
    Select {
        before: &'static str,
        tables: &'static str,
    },
}

impl RowInsert {
    /// None if several of the statement cannot become one.
    pub fn of(statement: Statement) -> Option<Self> {
        let sql = statement.sql();
        let (verb, table) = (words(sql).next()?, words(sql).nth(2)?);
        if verb != "INSERT" {
            return None;
        }
        Some(Self {
            table,
            form: Form::of_values(sql).or_else(|| Form::of_select(sql))?,
            values: highest(sql),
            adds: words(sql).any(|word| word == "UPDATE"),
        })
    }

    pub fn table(&self) -> &'static str {
        self.table
    }

    /// Whether it adds to a row that is there.
    pub fn adds(&self) -> bool {
        self.adds
    }

    /// The value of a column, if that is the first. The key comes first.
    pub fn key_value<'v>(&self, column: &str, values: &'v [Value<'_>]) -> Option<&'v Value<'v>> {
        let Form::Values { before, row, .. } = self.form else {
            return None;
        };
        let is_first = words(before).nth(3) == Some(column) && row.starts_with("(?1,");
        values.first().filter(|_| is_first)
    }

    /// Whether it reads no other table.
    pub fn only_inserts(&self) -> bool {
        matches!(self.form, Form::Values { .. })
    }

    /// The most rows that one statement inserts.
    pub fn most_rows(&self) -> usize {
        most_rows(self.values)
    }

    /// The statement for that many rows of values of these types.
    pub fn text(&self, rows: usize, types: &[Type]) -> String {
        match self.form {
            Form::Values { before, row, after } => {
                let rows = (0..rows)
                    .map(|n| numbered(row, |value| format!("${}", n * self.values + value)));
                format!(
                    "{before}VALUES {}{after}",
                    rows.collect::<Vec<_>>().join(", ")
                )
            }
            Form::Select { before, tables } => {
                let given = |text| numbered(text, |value| format!("given.v{value}"));
                let rows = given_rows(rows, self.values, types);
                format!("{}FROM {rows}, {}", given(before), given(tables))
            }
        }
    }
}

/// Rows of values as a table.
pub(super) fn given_rows(rows: usize, values: usize, types: &[Type]) -> String {
    let rows: Vec<_> = (0..rows).map(|n| typed(types, n * values + 1)).collect();
    let names: Vec<_> = (1..=values).map(|n| format!("v{n}")).collect();
    format!(
        "(VALUES {}) AS given ({})",
        rows.join(", "),
        names.join(", ")
    )
}

/// The most rows of so many values that one statement takes.
pub(super) fn most_rows(values: usize) -> usize {
    size_for(VALUES / values.max(1))
}

/// The largest size of a statement for at most so many rows.
pub fn size_for(rows: usize) -> usize {
    let mut sizes = SIZES.into_iter().rev();
    sizes.find(|size| *size <= rows).unwrap_or(1)
}

impl Form {
    fn of_values(sql: &'static str) -> Option<Self> {
        let (before, _) = sql.split_once("VALUES (")?;
        let from = before.len() + "VALUES ".len();
        let end = from + end_of_brackets(&sql[from..])?;
        let (row, after) = (&sql[from..end], &sql[end..]);
        let rest = after.trim();
        let plain = rest.is_empty()
            || (rest.starts_with("ON CONFLICT") && rest.ends_with("DO NOTHING"))
            || is_addition(rest);
        let all_in_row = !before.contains('?') && !after.contains('?');
        (plain && all_in_row).then_some(Self::Values { before, row, after })
    }

    fn of_select(sql: &'static str) -> Option<Self> {
        const TELLS_ROWS_APART: [&str; 12] = [
            "VALUES",
            "UNION",
            "DISTINCT",
            "GROUP",
            "ORDER",
            "LIMIT",
            "UPDATE",
            "RETURNING",
            "COUNT",
            "SUM",
            "MIN",
            "MAX",
        ];
        let table = words(sql).nth(2)?;
        let count = |word: &str| words(sql).filter(|other| *other == word).count();
        let simple = count("SELECT") == 1
            && count("FROM") == 1
            && count(table) == 1
            && TELLS_ROWS_APART.iter().all(|word| count(word) == 0);
        let (before, tables) = sql.split_once("FROM ")?;
        // The condition of a join cannot name what comes before all joins.
        let joined = tables.split("WHERE ").next().unwrap_or_default();
        (simple && !joined.contains('?')).then_some(Self::Select { before, tables })
    }
}

/// `ON CONFLICT (...) DO UPDATE SET n = t.n + excluded.n`, of one column: it adds what a row says to the row that is
/// there.
fn is_addition(conflict: &str) -> bool {
    let words: Vec<_> = words(conflict).collect();
    let Some(update) = words.iter().position(|word| *word == "UPDATE") else {
        return false;
    };
    let is_sum = conflict.contains(" + excluded.") && conflict.matches('=').count() == 1;
    match words[update..] {
        ["UPDATE", "SET", column, _, same, "excluded", added] => {
            is_sum && column == same && column == added
        }
        _ => false,
    }
}

/// A row of placeholders, each with its type.
fn typed(types: &[Type], first: usize) -> String {
    let values = (first..).zip(types);
    let values = values.map(|(number, kind)| format!("CAST(${number} AS {kind})"));
    format!("({})", values.collect::<Vec<_>>().join(", "))
}

/// Replaces the placeholders.
pub(super) fn numbered(text: &str, with: impl Fn(usize) -> String) -> String {
    let mut parts = text.split('?');
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = number_and_rest(part);
        replaced.push_str(&with(number));
        replaced.push_str(rest);
    }
    replaced
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

pub(super) fn highest(row: &str) -> usize {
    let numbers = row.split('?').skip(1).map(|part| number_and_rest(part).0);
    numbers.max().unwrap_or(0)
}

pub(super) fn number_and_rest(part: &str) -> (usize, &str) {
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
    fn what_may_refer_to_a_row_follows_it() {
        let upload = Statement::new("INSERT INTO uploads (id, task_id) VALUES (?1, ?2)");
        let job = Statement::new("INSERT INTO jobs (id) VALUES (?1)");
        assert!(must_follow(upload, TASK) && must_follow(job, TASK));
        let moved = Statement::new("UPDATE tasks SET n = ?1 WHERE id = ?2");
        assert!(!must_follow(upload, moved), "it makes no row");
        assert!(!must_follow(upload, job) && !must_follow(TASK, job));
        assert!(must_follow(READ, TASK));
        assert!(!must_follow(TOTALS, TASK) && !must_follow(READ, TOTALS));
        let gone = Statement::new("DELETE FROM jobs WHERE id = ?1");
        assert!(must_follow(gone, job) && !must_follow(gone, TASK));
    }

    #[test]
    fn every_table_that_foreign_keys_refer_to_is_known() {
        let mut found: Vec<_> = crate::store::migrations::MIGRATIONS
            .iter()
            .flat_map(|migration| migration.sql.split("REFERENCES ").skip(1))
            .filter_map(|rest| words(rest).next())
            .collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, REFERENCED);
    }

    #[test]
    fn what_goes_with_a_row_is_written_with_it() {
        let gone = Statement::new("DELETE FROM worker_tokens WHERE token_hash = ?1");
        let told = Statement::new("INSERT INTO jobs (id) SELECT id FROM push_subscriptions");
        assert!(order_matters(gone, told) && order_matters(told, gone));
        // `ALTER TABLE child ADD COLUMN ... REFERENCES parent (...) ON DELETE CASCADE` is the only form there is.
        let found: Vec<_> = crate::store::migrations::MIGRATIONS
            .iter()
            .flat_map(|migration| migration.sql.split(';'))
            .filter(|sql| sql.contains("ON DELETE "))
            .filter_map(|sql| {
                let (child, parent) = (
                    sql.split("ALTER TABLE ").nth(1)?,
                    sql.split("REFERENCES ").nth(1)?,
                );
                Some((words(child).next()?, words(parent).next()?))
            })
            .collect();
        assert_eq!(found, CASCADES);
    }

    #[test]
    fn rows_are_inserted_together() {
        let insert = RowInsert::of(TASK).unwrap();
        assert_eq!(
            insert.text(3, &[]),
            "INSERT INTO tasks (id, title, n) VALUES ($1, $2, 0), ($3, $4, 0), ($5, $6, 0)"
        );
        let job = Statement::new(
            "INSERT INTO jobs (a, b) VALUES (?1, CAST(?2 AS TEXT) || ?1) ON CONFLICT (a) DO NOTHING",
        );
        assert_eq!(
            RowInsert::of(job).unwrap().text(2, &[]),
            "INSERT INTO jobs (a, b) VALUES ($1, CAST($2 AS TEXT) || $1), \
             ($3, CAST($4 AS TEXT) || $3) ON CONFLICT (a) DO NOTHING"
        );
    }

    #[test]
    fn rows_that_are_selected_are_inserted_together() {
        let sql = "INSERT INTO a (b, c) SELECT CAST(?1 AS TEXT), d.c FROM d JOIN e ON e.x = d.x \
            WHERE d.y = ?2";
        let insert = RowInsert::of(Statement::new(sql)).unwrap();
        assert_eq!(
            insert.text(2, &[Type::TEXT, Type::INT8]),
            "INSERT INTO a (b, c) SELECT CAST(given.v1 AS TEXT), d.c \
             FROM (VALUES (CAST($1 AS text), CAST($2 AS int8)), (CAST($3 AS text), CAST($4 AS int8))) \
             AS given (v1, v2), d JOIN e ON e.x = d.x WHERE d.y = given.v2"
        );
    }

    #[test]
    fn rows_that_add_to_what_is_there_are_known() {
        let sql = "INSERT INTO a (b, n) VALUES (?1, ?2) ON CONFLICT (b) DO UPDATE SET n = a.n + excluded.n";
        let insert = RowInsert::of(Statement::new(sql)).unwrap();
        assert!(insert.adds() && !RowInsert::of(TASK).unwrap().adds());
    }

    #[test]
    fn the_key_of_a_row_is_its_first_column() {
        let values = ["one", "title"].map(Value::from);
        let id = |sql| {
            let insert = RowInsert::of(Statement::new(sql)).unwrap();
            insert.key_value("id", &values).cloned()
        };
        let task = RowInsert::of(TASK).unwrap();
        assert_eq!(task.key_value("id", &values), Some(&values[0]));
        assert_eq!(task.key_value("title", &values), None);
        assert_eq!(id("INSERT INTO a (b, id) VALUES (?1, ?2)"), None);
        assert_eq!(id("INSERT INTO a (id, b) VALUES (?2, ?1)"), None);
        assert_eq!(
            id("INSERT INTO a (id, b) SELECT ?1, c FROM d WHERE e = ?2"),
            None
        );
    }

    #[test]
    fn two_statements_do_for_most_numbers_of_rows() {
        assert_eq!([1, 5, 7, 11, 31, 99].map(size_for), [1, 4, 6, 8, 24, 32]);
        assert_eq!([1, 50, 2_000].map(most_rows), [32, 16, 1]);
    }

    #[test]
    fn other_writes_stay_alone() {
        for sql in [
            "UPDATE tasks SET n = ?1",
            "INSERT INTO a (b) SELECT c FROM d WHERE e = ?1 LIMIT 1",
            "INSERT INTO a (b) SELECT c FROM d WHERE e = ?1 AND c NOT IN (SELECT b FROM a)",
            "INSERT INTO a (b) SELECT c FROM a WHERE e = ?1",
            "INSERT INTO a (b, n) SELECT ?1, COUNT(*) FROM d WHERE e = ?2",
            "INSERT INTO a (b) SELECT d.c FROM d JOIN e ON e.f = ?1 WHERE d.g = ?2",
            "INSERT INTO a (b) VALUES (?1) RETURNING b",
            "INSERT INTO a (b) VALUES (?1) ON CONFLICT (b) DO UPDATE SET b = ?1",
            "INSERT INTO a (b) VALUES (?1) ON CONFLICT (b) DO UPDATE SET b = 'NOTHING'",
            "INSERT INTO a (b, n) VALUES (?1, ?2) ON CONFLICT (b) DO UPDATE SET n = a.n - excluded.n",
            "INSERT INTO a (b, n) VALUES (?1, ?2) ON CONFLICT (b) DO UPDATE SET n = a.m + excluded.n",
            "INSERT INTO a (b) SELECT c FROM d WHERE e = ?1 ON CONFLICT (b) DO UPDATE SET b = c",
        ] {
            assert!(RowInsert::of(Statement::new(sql)).is_none(), "{sql}");
        }
    }

    #[test]
    fn every_statement_of_the_store_has_a_shape() {
        for statement in crate::store::all_statements() {
            let unknown = matches!(written(statement.sql()), Written::Unknown);
            assert_eq!(unknown, statement.sql().starts_with("WITH "));
            if let Some(insert) = RowInsert::of(statement) {
                assert!(insert.most_rows() >= 1, "{}", statement.sql());
                assert!(!insert.text(2, &[]).contains('?'));
            }
        }
    }
}
