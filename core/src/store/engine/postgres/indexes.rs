//! Which indexes of pending migrations can be built before, while others write.
//!
//! `CREATE INDEX` in a transaction keeps everybody from writing to the table until the commit, and ten million
//! rows take a minute. So an index on a table that is there already is built `CONCURRENTLY`, under a name of
//! its own, and the migration renames it. What a later step drops again is not built at all.

use std::collections::{HashMap, HashSet};

use crate::domain::accounts::api_key::hash;

/// All indexes that are being built ahead have names that begin so.
pub const PREFIX: &str = "ahead_";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Index {
    pub name: String,
    pub table: String,
    unique: bool,
    /// From `ON`.
    definition: String,
}

impl Index {
    /// Of another definition, so of another version of this program, it is another one.
    pub fn working_name(&self) -> String {
        let text = format!("{} {} {}", self.name, self.unique, self.definition);
        format!("{PREFIX}{}", &hash(&text)[..24])
    }

    pub fn build(&self) -> String {
        let unique = if self.unique { "UNIQUE " } else { "" };
        let (name, definition) = (self.working_name(), &self.definition);
        format!("CREATE {unique}INDEX CONCURRENTLY {name} {definition}")
    }
}

/// What a statement of a migration does, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
enum Change {
    Create(Index),
    Drop(String),
    /// Makes, removes or renames a table, or removes or renames a column of it.
    Tables(Vec<String>),
    Other,
}

impl Change {
    fn of(statement: &str) -> Self {
        let text = without_comments(statement);
        let text = text.trim_end_matches(';').trim_end();
        let words: Vec<&str> = text.split(' ').collect();
        match words[..] {
            ["CREATE", "INDEX", name, "ON", table, ..] => {
                Self::Create(index(text, name, table, false))
            }
            ["CREATE", "UNIQUE", "INDEX", name, "ON", table, ..] => {
                Self::Create(index(text, name, table, true))
            }
            ["DROP", "INDEX", name] => Self::Drop(name.to_owned()),
            ["CREATE" | "DROP", "TABLE", table, ..] => Self::Tables(vec![table.to_owned()]),
            ["ALTER", "TABLE", table, "RENAME", "TO", renamed] => {
                // Whichever of the two has the index.
                Self::Tables(vec![table.to_owned(), renamed.to_owned()])
            }
            ["ALTER", "TABLE", table, "DROP" | "RENAME", ..] => {
                Self::Tables(vec![table.to_owned()])
            }
            _ => Self::Other,
        }
    }
}

fn index(text: &str, name: &str, table: &str, unique: bool) -> Index {
    let (_, definition) = text.split_once(" ON ").unwrap_or_default();
    Index {
        name: name.to_owned(),
        table: table.to_owned(),
        unique,
        definition: format!("ON {definition}"),
    }
}

/// The words with one space between them.
fn without_comments(statement: &str) -> String {
    let lines = statement.lines().map(|line| line.split("--").next());
    let words = lines.flatten().flat_map(str::split_whitespace);
    words.collect::<Vec<_>>().join(" ")
}

/// The statements of a migration, each with the comments before it. In our texts, a semicolon that ends a
/// statement ends its line.
fn statements(sql: &'static str) -> Vec<&'static str> {
    let (mut statements, mut begin, mut end) = (Vec::new(), 0, 0);
    for line in sql.split_inclusive('\n') {
        end += line.len();
        let text = line.split("--").next().unwrap_or_default();
        if text.trim_end().ends_with(';') {
            statements.push(&sql[begin..end]);
            begin = end;
        }
    }
    if !without_comments(&sql[begin..]).is_empty() {
        statements.push(&sql[begin..]);
    }
    statements
}

enum Step {
    Run(&'static str),
    /// Run, unless the index is there under its working name.
    Build(Index, &'static str),
}

/// How pending migrations are run.
#[derive(Default)]
pub struct Plan(HashMap<&'static str, Vec<Option<Step>>>);

impl Plan {
    pub fn of(pending: &[&'static str]) -> Self {
        let mut plan = Self::default();
        let mut tables = HashSet::new();
        // Where the index of a name is made, if a pending step makes it.
        let mut made: HashMap<String, (&'static str, usize)> = HashMap::new();
        for sql in pending {
            plan.0.insert(sql, Vec::new());
            for statement in statements(sql) {
                let change = Change::of(statement);
                let place = (*sql, plan.steps(sql).len());
                let step = match change {
                    Change::Create(index) => {
                        made.insert(index.name.clone(), place);
                        Some(Step::Build(index, statement))
                    }
                    Change::Drop(name) => match made.remove(&name) {
                        Some((sql, at)) => {
                            plan.steps(sql)[at] = None;
                            None
                        }
                        None => Some(Step::Run(statement)),
                    },
                    Change::Tables(names) => {
                        tables.extend(names);
                        Some(Step::Run(statement))
                    }
                    Change::Other => Some(Step::Run(statement)),
                };
                plan.steps(sql).push(step);
            }
        }
        plan.leave(&tables);
        plan
    }

    /// Whether there is nothing to run.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn steps(&mut self, sql: &'static str) -> &mut Vec<Option<Step>> {
        self.0.entry(sql).or_default()
    }

    /// Indexes of tables that are not there yet, or will not be the same, are built in their turn.
    fn leave(&mut self, tables: &HashSet<String>) {
        for step in self.0.values_mut().flatten() {
            if let Some(Step::Build(index, statement)) = step
                && tables.contains(&index.table)
            {
                *step = Some(Step::Run(statement));
            }
        }
    }

    /// What can be built ahead.
    pub fn indexes(&self) -> Vec<&Index> {
        let steps = self.0.values().flatten().flatten();
        let mut indexes: Vec<_> = steps
            .filter_map(|step| match step {
                Step::Build(index, _) => Some(index),
                Step::Run(_) => None,
            })
            .collect();
        indexes.sort_by(|a, b| a.name.cmp(&b.name));
        indexes
    }

    /// The text of a migration when these indexes are built.
    pub fn text(&self, sql: &'static str, built: &HashSet<String>) -> String {
        let Some(steps) = self.0.get(sql) else {
            return sql.to_owned();
        };
        let texts = steps.iter().flatten().map(|step| match step {
            Step::Build(index, _) if built.contains(&index.working_name()) => {
                let (working, name) = (index.working_name(), &index.name);
                format!("ALTER INDEX {working} RENAME TO {name};\n")
            }
            Step::Build(_, statement) | Step::Run(statement) => (*statement).to_owned(),
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::migrations::MIGRATIONS;

    const FIRST: &str = "-- Words; and more.\nCREATE TABLE new (id TEXT);\n
CREATE INDEX of_new ON new (id);
CREATE INDEX in_vain ON old (a);
-- Also of an old table.
CREATE UNIQUE INDEX kept ON old (a, b)
    WHERE b IS NOT NULL; -- or so
DROP INDEX before;
";
    const SECOND: &str =
        "DROP INDEX in_vain;\nCREATE INDEX in_vain ON old (b);\nUPDATE old SET a = 1;";

    fn built(plan: &Plan) -> HashSet<String> {
        let names = plan.indexes().into_iter().map(Index::working_name);
        names.collect()
    }

    #[test]
    fn indexes_of_tables_that_are_there_are_built_ahead_if_they_stay() {
        let plan = Plan::of(&[FIRST, SECOND]);
        let builds: Vec<_> = plan.indexes().into_iter().map(Index::build).collect();
        let [in_vain, kept] = &builds[..] else {
            panic!("{builds:?}")
        };
        let ahead =
            |text: &str| text.replace(|c: char| c.is_ascii_hexdigit() && c.is_ascii_digit(), "");
        assert!(in_vain.ends_with(" ON old (b)"), "{in_vain}");
        assert!(ahead(in_vain).starts_with("CREATE INDEX CONCURRENTLY ahead_"));
        let unique = "CREATE UNIQUE INDEX CONCURRENTLY ahead_";
        assert!(kept.starts_with(unique), "{kept}");
        assert!(
            kept.ends_with(" ON old (a, b) WHERE b IS NOT NULL"),
            "{kept}"
        );
    }

    #[test]
    fn what_is_built_is_renamed_and_the_rest_is_run() {
        let plan = Plan::of(&[FIRST, SECOND]);
        let names: Vec<_> = plan
            .indexes()
            .into_iter()
            .map(Index::working_name)
            .collect();
        let texts = [FIRST, SECOND].map(|sql| without_comments(&plan.text(sql, &built(&plan))));
        let first = format!(
            "CREATE TABLE new (id TEXT); CREATE INDEX of_new ON new (id); \
             ALTER INDEX {} RENAME TO kept; DROP INDEX before;",
            names[1]
        );
        let second = format!(
            "ALTER INDEX {} RENAME TO in_vain; UPDATE old SET a = 1;",
            names[0]
        );
        assert_eq!(texts, [first, second]);
    }

    #[test]
    fn what_could_not_be_built_is_built_in_its_turn() {
        let plan = Plan::of(&[SECOND]);
        assert_eq!(plan.text(SECOND, &HashSet::new()), SECOND);
        assert_eq!(plan.text("SELECT 1", &HashSet::new()), "SELECT 1");
    }

    #[test]
    fn an_index_of_a_table_that_loses_a_column_is_built_in_its_turn() {
        for change in [
            "ALTER TABLE old DROP COLUMN a;",
            "ALTER TABLE old RENAME COLUMN a TO b;",
            "ALTER TABLE old RENAME TO older;",
        ] {
            let plan = Plan::of(&["CREATE INDEX of_old ON old (a);", change]);
            assert_eq!(plan.indexes(), Vec::<&Index>::new(), "{change}");
        }
        let added = "ALTER TABLE old ADD COLUMN c BIGINT;";
        let plan = Plan::of(&["CREATE INDEX of_old ON old (a);", added]);
        assert_eq!(plan.indexes().len(), 1);
    }

    #[test]
    fn an_index_of_another_definition_has_another_working_name() {
        let all = [
            "CREATE INDEX a ON t (x);",
            "CREATE INDEX a ON t (y);",
            "CREATE INDEX b ON t (x);",
        ];
        let names = all.map(|sql| Plan::of(&[sql]).indexes()[0].working_name());
        assert_eq!(HashSet::from(names).len(), 3);
    }

    #[test]
    fn every_migration_is_split_into_its_statements() {
        for migration in MIGRATIONS {
            let statements = statements(migration.sql);
            let name = migration.name;
            for statement in &statements {
                let ends = without_comments(statement).matches(';').count();
                assert_eq!(ends, 1, "{name}: {statement}");
            }
            let rest = migration.sql.strip_prefix(&statements.concat());
            assert_eq!(rest.map(str::trim), Some(""), "{name}");
        }
    }
}
