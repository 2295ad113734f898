//! The statements that the server runs to create a test task, for the limits that run them without
//! the server. The first statement assigns the numbers. The others insert rows like those of a task
//! that the server created, except for the values that differ by task.

use crate::Result;

/// core/src/store/tasks/mod.rs
pub const NUMBER: &str = "UPDATE task_totals SET last_number = last_number + 1,
        month_tasks = CASE WHEN month >= ?3 THEN month_tasks + 1 ELSE 1 END,
        month = CASE WHEN month > ?3 THEN month ELSE ?3 END,
        pending = pending + ?5, funded = funded + ?6, processor_cents = processor_cents + ?7,
        last_event = last_event + ?8,
        last_event_at = CASE WHEN last_event_at > ?9 THEN last_event_at ELSE ?9 END
    WHERE account_id = ?1 AND environment = ?2 AND month >= 0
        AND (month < ?3 OR month_tasks < ?4)
    RETURNING last_number, last_event, last_event_at";

/// core/src/store/webhooks/deliveries.rs; no account has an endpoint here, as is usual.
const ADD_DELIVERY: &str =
    "INSERT INTO deliveries (event_id, account_id, environment, number, type, \
        task_id, status, tries, due_at, attempts, status_code, created_at, updated_at)
    SELECT CAST(?1 AS TEXT), e.account_id, CAST(?3 AS TEXT), CAST(?4 AS BIGINT),
        CAST(?5 AS TEXT), CAST(?6 AS TEXT), 'pending', 0,
        CAST(?7 AS BIGINT) - CASE WHEN CAST(?3 AS TEXT) = 'test' THEN a.test_ahead_ms ELSE 0 END,
        '[]', NULL, CAST(?7 AS BIGINT), CAST(?7 AS BIGINT)
    FROM webhook_endpoints e JOIN accounts a ON a.id = e.account_id
    WHERE e.account_id = ?2 AND e.disabled_at IS NULL AND a.webhook_url IS NOT NULL
        AND (a.webhook_events = '[]' OR a.webhook_events LIKE ?8)";

/// core/src/store/webhooks/mod.rs
const WAKE: &str = "UPDATE webhook_endpoints SET due_at =
        CASE WHEN due_at IS NULL OR due_at > t.at THEN t.at ELSE due_at END
    FROM (SELECT CAST(?3 AS BIGINT) - CASE WHEN CAST(?2 AS TEXT) = 'test' THEN test_ahead_ms
            ELSE 0 END AS at FROM accounts WHERE id = ?1) t
    WHERE account_id = ?1 AND disabled_at IS NULL";

/// A test task is funded at once. Moves are identified by the status they lead to.
pub const EVENTS: [&str; 2] = ["task.created", "task.funded"];
const MOVES_TO: [&str; 2] = ["pending", "funded"];

/// The values that differ by task. Events and moves are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    Account,
    Task,
    Number,
    Event(usize),
    EventNumber(usize),
    EventTime,
}

/// A value for a placeholder of a statement.
pub enum Cell<V> {
    Own(Own),
    /// The same for all tasks.
    Shared(V),
}

/// A statement, with a value for each placeholder.
pub struct Step<V> {
    pub sql: String,
    pub cells: Vec<Cell<V>>,
}

/// Everything after `NUMBER`, in the order of `Tx::insert_task`. `read` returns the row of a query
/// about the template's account, which is `?1`, with column names.
pub fn steps<V: From<String>>(
    mut read: impl FnMut(&str) -> Result<Vec<(String, V)>>,
) -> Result<Vec<Step<V>>> {
    let mut like = |table: &str, which: &str, own: &[(&str, Own)]| -> Result<Step<V>> {
        let row = read(&format!("SELECT * FROM {table} WHERE {which}"))?;
        insert(table, row, own)
    };
    let of_owner = |which: &str| format!("account_id = ?1 AND environment = 'test' AND {which}");
    let task = ("task_id", Own::Task);
    let account = ("account_id", Own::Account);
    let own = [("id", Own::Task), account, ("number", Own::Number)];
    let first = of_owner("number = 1");
    let mut steps = vec![
        like("tasks", &first, &own)?,
        like(
            "ledger_entries",
            &of_owner("step = 'payment'"),
            &[task, account],
        )?,
    ];
    for (event, event_type) in EVENTS.iter().enumerate() {
        let id = ("id", Own::Event(event));
        let number = ("number", Own::EventNumber(event));
        let own = [id, account, number, task, ("created_at", Own::EventTime)];
        let which = of_owner(&format!("type = '{event_type}'"));
        steps.push(like("events", &which, &own)?);
        steps.push(delivery(event, event_type));
    }
    steps.push(wake());
    for (index, status) in MOVES_TO.iter().enumerate() {
        let own = [task, ("number", Own::EventNumber(index))];
        let which =
            format!("task_id = (SELECT id FROM tasks WHERE {first}) AND to_status = '{status}'");
        steps.push(like("task_moves", &which, &own)?);
    }
    Ok(steps)
}

/// Inserts a row like this one, except for the columns that differ.
fn insert<V>(table: &str, row: Vec<(String, V)>, own: &[(&str, Own)]) -> Result<Step<V>> {
    let columns: Vec<_> = row.iter().map(|(column, _)| column.clone()).collect();
    if let Some((missing, _)) = own
        .iter()
        .find(|(name, _)| !columns.iter().any(|c| c == name))
    {
        return Err(format!("{table} has no column {missing}").into());
    }
    let places: Vec<_> = (1..=columns.len()).map(|n| format!("?{n}")).collect();
    let cell = |(column, value): (String, V)| {
        let found = own.iter().find(|(name, _)| *name == column);
        found.map_or(Cell::Shared(value), |(_, own)| Cell::Own(*own))
    };
    Ok(Step {
        sql: format!(
            "INSERT INTO {table} ({}) VALUES ({})",
            columns.join(", "),
            places.join(", ")
        ),
        cells: row.into_iter().map(cell).collect(),
    })
}

fn delivery<V: From<String>>(event: usize, event_type: &str) -> Step<V> {
    Step {
        sql: ADD_DELIVERY.to_owned(),
        cells: vec![
            Cell::Own(Own::Event(event)),
            Cell::Own(Own::Account),
            Cell::Shared("test".to_owned().into()),
            Cell::Own(Own::EventNumber(event)),
            Cell::Shared(event_type.to_owned().into()),
            Cell::Own(Own::Task),
            Cell::Own(Own::EventTime),
            Cell::Shared(format!("%\"{event_type}\"%").into()),
        ],
    }
}

fn wake<V: From<String>>() -> Step<V> {
    Step {
        sql: WAKE.to_owned(),
        cells: vec![
            Cell::Own(Own::Account),
            Cell::Shared("test".to_owned().into()),
            Cell::Own(Own::EventTime),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ignores line breaks and brackets.
    fn words(sql: &str) -> Vec<&str> {
        let parts = |c: char| c.is_whitespace() || "(),".contains(c);
        sql.split(parts).filter(|word| !word.is_empty()).collect()
    }

    fn runs(sql: &str) -> bool {
        let mut all = legwork::store::all_statements();
        all.any(|statement| words(statement.sql()) == words(sql))
    }

    #[test]
    fn the_statements_are_those_of_the_server() {
        for sql in [NUMBER, ADD_DELIVERY, WAKE] {
            assert!(runs(sql), "core/src/store/ has another one by now: {sql}");
        }
        assert!(!runs(&WAKE.replace("due_at > t.at", "due_at < t.at")));
    }

    fn made_by_the_server(sql: &str) -> Result<Vec<(String, String)>> {
        let columns: &[&str] = match sql.split(' ').nth(3) {
            Some("tasks") => &["number", "id", "title", "account_id"],
            Some("ledger_entries") => &["account_id", "task_id", "step"],
            Some("events") => &[
                "id",
                "account_id",
                "number",
                "task_id",
                "data",
                "created_at",
            ],
            _ => &["task_id", "number", "to_status"],
        };
        let value = |column: &&str| ((*column).to_owned(), format!("its {column}"));
        Ok(columns.iter().map(value).collect())
    }

    #[test]
    fn a_row_keeps_what_all_share() {
        let steps = steps(made_by_the_server).unwrap();
        let tables = steps.iter().map(|step| step.sql.split(' ').nth(2).unwrap());
        let expected =
            "tasks ledger_entries events deliveries events deliveries SET task_moves task_moves";
        assert_eq!(tables.collect::<Vec<_>>().join(" "), expected);
        let task = &steps[0];
        let sql = "INSERT INTO tasks (number, id, title, account_id) VALUES (?1, ?2, ?3, ?4)";
        assert_eq!(task.sql, sql);
        let cells = task.cells.iter().map(|cell| match cell {
            Cell::Own(own) => format!("{own:?}"),
            Cell::Shared(value) => value.clone(),
        });
        assert_eq!(
            cells.collect::<Vec<_>>(),
            ["Number", "Task", "its title", "Account"]
        );
    }

    #[test]
    fn a_column_that_is_gone_is_missed() {
        let without = |sql: &str| {
            let mut row = made_by_the_server(sql)?;
            row.retain(|(column, _)| column != "created_at");
            Ok(row)
        };
        let error = steps(without).err().unwrap();
        assert_eq!(error.to_string(), "events has no column created_at");
    }
}
