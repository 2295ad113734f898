//! Tables of a part, for spreadsheets. The JSON documents hold the same and more.

/// A table, and the names of its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    Tasks,
    WorkedTasks,
    Proofs,
    Ledger,
    Keys,
    Earnings,
}

impl Table {
    const ALL: [Self; 6] = [
        Self::Tasks,
        Self::WorkedTasks,
        Self::Proofs,
        Self::Ledger,
        Self::Keys,
        Self::Earnings,
    ];

    const fn file(self) -> &'static str {
        match self {
            Self::Tasks | Self::WorkedTasks => "tasks.csv",
            Self::Proofs => "proofs.csv",
            Self::Ledger => "ledger.csv",
            Self::Keys => "api_keys.csv",
            Self::Earnings => "earnings.csv",
        }
    }

    const fn columns(self) -> &'static str {
        match self {
            Self::Tasks => {
                "id,environment,status,title,category,budget_cents,created_at,completed_at"
            }
            Self::WorkedTasks => {
                "id,status,title,category,worker_payout_cents,assigned_at,completed_at"
            }
            Self::Proofs => "id,task_id,attempt_number,type,status,file,created_at",
            Self::Ledger => "task_id,type,account,amount_cents,created_at",
            Self::Keys => "id,name,key_prefix,environment,created_at,last_used_at,revoked_at",
            Self::Earnings => "task_id,type,amount_cents,created_at",
        }
    }
}

/// A row of a table.
#[derive(Clone, Debug)]
pub struct CsvRow {
    pub table: Table,
    pub cells: Vec<String>,
}

/// What is absent is an empty cell.
pub fn optional(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// A text that somebody wrote. A spreadsheet would take some beginnings for a formula.
pub fn written(text: &str) -> String {
    match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{text}"),
        false => text.to_owned(),
    }
}

#[derive(Default)]
pub struct Tables(Vec<(Table, String)>);

impl Tables {
    pub fn add(&mut self, row: &CsvRow) {
        let line = row.cells.iter().map(|cell| quoted(cell));
        let line = line.collect::<Vec<_>>().join(",");
        let text = match self.0.iter_mut().find(|(table, _)| *table == row.table) {
            Some((_, text)) => text,
            None => {
                let text = format!("{}\r\n", row.table.columns());
                self.0.push((row.table, text));
                match self.0.last_mut() {
                    Some((_, text)) => text,
                    None => return,
                }
            }
        };
        text.push_str(&line);
        text.push_str("\r\n");
    }

    /// The files, in a fixed order.
    pub fn into_files(mut self) -> Vec<(String, String)> {
        let order = |table: Table| Table::ALL.iter().position(|known| *known == table);
        self.0.sort_by_key(|(table, _)| order(*table));
        let files = self.0.into_iter();
        files
            .map(|(table, text)| (table.file().to_owned(), text))
            .collect()
    }
}

fn quoted(cell: &str) -> String {
    match cell.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_formulas_are_not() {
        let mut tables = Tables::default();
        let cells = [
            "a",
            "two, \"2\"",
            &written("=1+1"),
            &optional(None::<i64>),
            "-5",
        ];
        tables.add(&CsvRow {
            table: Table::Earnings,
            cells: cells.map(str::to_owned).to_vec(),
        });
        let files = tables.into_files();
        let text = "task_id,type,amount_cents,created_at\r\na,\"two, \"\"2\"\"\",'=1+1,,-5\r\n";
        assert_eq!(files, [("earnings.csv".to_owned(), text.to_owned())]);
    }
}
