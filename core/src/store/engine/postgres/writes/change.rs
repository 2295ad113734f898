//! An UPDATE or a DELETE that one statement does for several rows.

use tokio_postgres::types::Type;

use crate::store::engine::postgres::writes::shape::{
    given_rows, highest, most_rows, number_and_rest, numbered, words,
};
use crate::store::engine::{Statement, Value};

/// The tables of which several rows are changed by one statement: those that grow and are not emptied. PostgreSQL keeps the
/// plan that it has made for a table of three rows, which is to read all of it, also when there are a hundred thousand.
const GROWING: [&str; 5] = ["mandates", "payments", "task_totals", "tasks", "workers"];

/// What looks at other rows, or is answered.
const ELSEWHERE: [&str; 4] = ["SELECT", "FROM", "WHERE", "RETURNING"];
/// In these, conditions are not a list of which all must hold.
const NO_LIST: [&str; 3] = ["OR", "BETWEEN", "CASE"];

pub struct RowChange {
    verb: Verb,
    pub table: &'static str,
    /// Up to the conditions.
    before: &'static str,
    conditions: &'static str,
    /// The key: columns that are compared with a value and stay as they are, with the place of that value. Empty, if the
    /// conditions are no plain list.
    key: Vec<(&'static str, usize)>,
    values: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Verb {
    Update,
    Delete,
}

impl RowChange {
    /// None if several of the statement cannot become one.
    pub fn of(statement: Statement) -> Option<Self> {
        let sql = statement.sql();
        let (before, conditions) = sql.split_once("WHERE ")?;
        let mut first = words(before);
        let (verb, table, looks_elsewhere) = match (first.next()?, first.next()?) {
            ("UPDATE", table) => (
                Verb::Update,
                table,
                first.any(|word| ELSEWHERE.contains(&word)),
            ),
            ("DELETE", _) => (Verb::Delete, first.next()?, first.next().is_some()),
            _ => return None,
        };
        let looks_elsewhere =
            looks_elsewhere || words(conditions).any(|word| ELSEWHERE.contains(&word));
        (!looks_elsewhere).then(|| Self {
            verb,
            table,
            before,
            conditions,
            key: key(before, conditions),
            values: highest(sql),
        })
    }

    /// Whether two sets of values change different rows, whatever else is changed between them.
    pub fn differ(&self, one: &[Value<'_>], other: &[Value<'_>]) -> bool {
        self.key.iter().any(|(_, at)| one[*at] != other[*at])
    }

    /// The columns of the key, with the values that they are compared with.
    pub fn key<'v>(
        &self,
        values: &'v [Value<'_>],
    ) -> impl Iterator<Item = (&'static str, &'v Value<'v>)> {
        let columns = self.key.iter();
        columns.filter_map(|(column, at)| Some((*column, values.get(*at)?)))
    }

    /// The value of a column of the key.
    pub fn key_value<'v>(&self, column: &str, values: &'v [Value<'_>]) -> Option<&'v Value<'v>> {
        let mut found = self.key(values).filter(|(name, _)| *name == column);
        found.next().map(|(_, value)| value)
    }

    /// The most rows that one statement changes.
    pub fn most_rows(&self) -> usize {
        match GROWING.contains(&self.table) {
            true => most_rows(self.values),
            false => 1,
        }
    }

    /// The statement for that many sets of values of these types.
    pub fn text(&self, rows: usize, types: &[Type]) -> String {
        let given = |text| numbered(text, |value| format!("given.v{value}"));
        let joins = match self.verb {
            Verb::Update => "FROM",
            Verb::Delete => "USING",
        };
        format!(
            "{}{joins} {} WHERE {}",
            given(self.before),
            given_rows(rows, self.values, types),
            given(self.conditions)
        )
    }

    /// The same, and it fails unless as many rows are changed: nobody has to wait for its answer before the commit.
    pub fn checked_text(&self, rows: usize, types: &[Type]) -> String {
        format!(
            "WITH changed AS ({} RETURNING 1) \
             SELECT 1 / CASE WHEN COUNT(*) = {rows} THEN 1 ELSE 0 END AS all_changed FROM changed",
            self.text(rows, types)
        )
    }
}

/// The columns that the conditions compare with a value, without those that are set.
fn key(before: &'static str, conditions: &'static str) -> Vec<(&'static str, usize)> {
    let conditions = outside_parentheses(conditions);
    if conditions.iter().any(|word| NO_LIST.contains(word)) {
        return Vec::new();
    }
    let before: Vec<_> = before.split_whitespace().collect();
    let is_set = |column: &str| before.windows(2).any(|pair| pair == [column, "="]);
    let conditions = conditions.split(|word| *word == "AND");
    let compared = conditions.filter_map(|condition| match condition {
        [column, "=", value] => Some((*column, place(value)?)),
        _ => None,
    });
    compared.filter(|(column, _)| !is_set(column)).collect()
}

/// Its words, without those that touch a parenthesis.
fn outside_parentheses(text: &'static str) -> Vec<&'static str> {
    let mut depth = 0;
    let mut outside = Vec::new();
    for word in text.split_whitespace() {
        if depth == 0 && !word.contains(['(', ')']) {
            outside.push(word);
        }
        depth += word.matches('(').count();
        depth = depth.saturating_sub(word.matches(')').count());
    }
    outside
}

fn place(value: &str) -> Option<usize> {
    let (number, rest) = number_and_rest(value.strip_prefix('?')?);
    number.checked_sub(1).filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOTALS: Statement = Statement::new("UPDATE task_totals SET n = n + ?1 WHERE id = ?2");
    const MOVE: Statement =
        Statement::new("UPDATE tasks SET status = ?1, n = ?2 WHERE id = ?3 AND status = ?4");
    const FINISH: Statement = Statement::new("DELETE FROM jobs WHERE kind = ?1 AND subject = ?2");

    fn values(texts: [&'static str; 4]) -> Vec<Value<'static>> {
        texts.map(Value::from).to_vec()
    }

    #[test]
    fn several_rows_are_changed_together_or_not_at_all() {
        let update = RowChange::of(TOTALS).unwrap();
        let text = "UPDATE task_totals SET n = n + given.v1 \
             FROM (VALUES (CAST($1 AS int8), CAST($2 AS text)), (CAST($3 AS int8), CAST($4 AS text))) \
             AS given (v1, v2) WHERE id = given.v2";
        let types = [Type::INT8, Type::TEXT];
        assert_eq!(update.text(2, &types), text);
        assert_eq!(
            update.checked_text(2, &types),
            format!(
                "WITH changed AS ({text} RETURNING 1) \
                 SELECT 1 / CASE WHEN COUNT(*) = 2 THEN 1 ELSE 0 END AS all_changed FROM changed"
            )
        );
        let delete = RowChange::of(FINISH).unwrap();
        assert_eq!(
            delete.text(1, &[Type::TEXT, Type::TEXT]),
            "DELETE FROM jobs USING (VALUES (CAST($1 AS text), CAST($2 AS text))) AS given (v1, v2) \
             WHERE kind = given.v1 AND subject = given.v2"
        );
    }

    #[test]
    fn what_is_set_is_no_key() {
        let change = RowChange::of(MOVE).unwrap();
        let first = values(["posted", "1", "one", "pending"]);
        let next = values(["assigned", "2", "one", "posted"]);
        let other = values(["posted", "1", "two", "pending"]);
        assert!(!change.differ(&first, &next), "the same task, moved on");
        assert!(change.differ(&first, &other));
        assert_eq!(change.key_value("id", &other), Some(&Value::from("two")));
        assert_eq!(change.key_value("status", &other), None);
        assert_eq!(change.table, "tasks");
    }

    #[test]
    fn alternatives_in_parentheses_are_one_condition() {
        let keys = |sql| RowChange::of(Statement::new(sql)).unwrap().key;
        let limited =
            "UPDATE a SET b = b + ?1 WHERE c = ?2 AND (d IS NULL OR (b + ?1) <= d) AND e = ?3";
        assert_eq!(keys(limited), [("c", 1), ("e", 2)]);
        for sql in [
            "UPDATE a SET b = ?1 WHERE c = ?2 AND (d = ?3) OR e = ?3",
            "UPDATE a SET b = ?1 WHERE COALESCE(c, ?3) = ?2",
            "UPDATE a SET b = ?1 WHERE (c = ?2 OR d = ?2)",
        ] {
            assert_eq!(keys(sql), [], "{sql}");
        }
    }

    #[test]
    fn what_looks_elsewhere_or_has_no_key_stays_alone() {
        for sql in [
            "UPDATE a SET b = ?1",
            "UPDATE a SET b = ?1 FROM d WHERE c = ?2",
            "UPDATE a SET b = (SELECT d FROM e) WHERE c = ?2",
            "UPDATE a SET b = ?1 WHERE c IN (SELECT d FROM e WHERE f = ?2)",
            "UPDATE a SET b = ?1 WHERE c = ?2 RETURNING b",
            "DELETE FROM a",
            "DELETE FROM a USING d WHERE b = ?1",
            "INSERT INTO a (b) SELECT c FROM d WHERE e = ?1",
        ] {
            assert!(RowChange::of(Statement::new(sql)).is_none(), "{sql}");
        }
        for sql in [
            "UPDATE tasks SET b = ?1 WHERE b = ?2",
            "UPDATE tasks SET b = ?1 WHERE c > ?2",
            "UPDATE tasks SET b = ?1 WHERE c = ?2 OR d = ?3",
            "UPDATE tasks SET b = ?1 WHERE c = CASE WHEN d = ?2 AND e = ?3 THEN 1 END",
        ] {
            let change = RowChange::of(Statement::new(sql)).unwrap();
            let [one, other] = [["a", "b", "c", "d"], ["e", "f", "g", "h"]].map(values);
            assert!(!change.differ(&one, &other), "{sql}");
        }
    }

    #[test]
    fn tables_that_are_emptied_are_written_row_by_row() {
        assert!(RowChange::of(MOVE).unwrap().most_rows() > 1);
        assert_eq!(RowChange::of(FINISH).unwrap().most_rows(), 1);
    }
}
