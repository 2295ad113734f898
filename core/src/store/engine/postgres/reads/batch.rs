//! Several lookups as one query.

use tokio_postgres::types::ToSql;

use super::{Asked, Found, Unanswered};
use crate::store::engine::{Statement, StoreError, Value};

/// The values of all lookups, by their place in the statement.
pub enum Values<'a> {
    Texts(Vec<&'a str>),
    Integers(Vec<i64>),
}

impl<'a> Values<'a> {
    /// One for each placeholder of the statement that all these ask.
    pub fn of(asked: &'a [Asked]) -> Result<Vec<Self>, StoreError> {
        let places = asked.first().map_or(0, |first| first.values.len());
        (0..places).map(|place| Self::at(place, asked)).collect()
    }

    fn at(place: usize, asked: &'a [Asked]) -> Result<Self, StoreError> {
        let values = asked.iter().map(|asked| asked.values.get(place));
        let mut texts = Vec::new();
        let mut integers = Vec::new();
        for value in values {
            match value {
                Some(Value::Text(text)) => texts.push(text.as_ref()),
                Some(Value::Int(integer)) => integers.push(*integer),
                _ => break,
            }
        }
        if texts.len() == asked.len() {
            Ok(Self::Texts(texts))
        } else if integers.len() == asked.len() {
            Ok(Self::Integers(integers))
        } else {
            let reason = "the values of a lookup are texts or integers";
            Err(StoreError::Failed(reason.into()))
        }
    }

    pub fn parameter(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Texts(texts) => texts,
            Self::Integers(integers) => integers,
        }
    }

    fn array(&self) -> &'static str {
        match self {
            Self::Texts(_) => "TEXT[]",
            Self::Integers(_) => "BIGINT[]",
        }
    }
}

/// The statement for as many sets of values as its arrays hold. Each row begins with the number of the
/// set that it was found for. `OFFSET 0` keeps the planner from joining whole tables with the sets: it
/// finds the rows of each set by the same indexes as the statement itself.
pub fn text(statement: Statement, values: &[Values<'_>]) -> String {
    let arrays = values.iter().zip(1..);
    let arrays = arrays.map(|(values, n)| format!("CAST(${n} AS {})", values.array()));
    let names = (1..=values.len()).map(|n| format!("v{n}"));
    format!(
        "SELECT asked.number, found.*
         FROM unnest({}) WITH ORDINALITY AS asked ({}, number)
         CROSS JOIN LATERAL ({} OFFSET 0) AS found",
        arrays.collect::<Vec<_>>().join(", "),
        names.collect::<Vec<_>>().join(", "),
        statement.sql().replace('?', "asked.v"),
    )
}

/// Gives each its row.
pub fn hand_out(asked: Vec<Asked>, rows: Vec<Found>) {
    let mut found: Vec<Option<Found>> = asked.iter().map(|_| None).collect();
    for row in rows {
        let number = row.try_get::<_, i64>(0).unwrap_or_default();
        let place = usize::try_from(number - 1).ok();
        if let Some(place) = place.and_then(|place| found.get_mut(place)) {
            place.get_or_insert(row);
        }
    }
    for (asked, found) in asked.into_iter().zip(found) {
        // The caller may have gone away.
        let _ = asked.reply.send(Ok(found));
    }
}

pub fn refuse(asked: Vec<Asked>, reason: &Unanswered) {
    for asked in asked {
        let _ = asked.reply.send(Err(reason.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use tokio::sync::oneshot;

    use super::*;

    const ONE: Statement = Statement::new("SELECT a FROM t WHERE b = ?1 AND c > ?2");

    fn asked(values: Vec<Value<'static>>) -> Asked {
        Asked {
            statement: ONE,
            values,
            since: Instant::now(),
            deadline: None,
            _place: None,
            reply: oneshot::channel().0,
        }
    }

    #[test]
    fn placeholders_become_columns_of_the_arrays() {
        let asked = [asked(vec!["x".into(), 7i64.into()])];
        let text = text(ONE, &Values::of(&asked).unwrap());
        assert!(text.contains("unnest(CAST($1 AS TEXT[]), CAST($2 AS BIGINT[]))"));
        assert!(text.contains("AS asked (v1, v2, number)"));
        assert!(text.contains("(SELECT a FROM t WHERE b = asked.v1 AND c > asked.v2 OFFSET 0)"));
    }

    #[test]
    fn what_is_neither_a_text_nor_an_integer_is_refused() {
        assert!(Values::of(&[asked(vec![Value::Null])]).is_err());
        assert!(Values::of(&[asked(vec!["x".into()]), asked(vec![1i64.into()])]).is_err());
    }
}
