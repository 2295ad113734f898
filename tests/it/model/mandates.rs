//! Keys with a mandate: what they have spent, by the ledgers of their tasks.

mod approvals;
pub mod quotes;

use serde_json::{Value, json};

use super::developers::{moment, month};
use super::people::Who;
use super::task::Task;
use super::world::World;
use crate::support::Developer;

const DAY_CENTS: i64 = 25_000;
const MONTH_CENTS: i64 = 60_000;
const TOTAL_CENTS: i64 = 150_000;
const OPEN_TASKS: i64 = 6;
/// Above it, a person has to agree.
pub const APPROVAL_CENTS: i64 = 6_000;

/// A key with a mandate.
pub struct Agent {
    pub id: String,
    pub key: String,
}

impl Agent {
    pub async fn create(developer: &Developer, environment: &str) -> Self {
        let mandate = json!({
            "permissions": ["read", "create"],
            "spending_limits": [
                {"interval": "day", "cents": DAY_CENTS},
                {"interval": "month", "cents": MONTH_CENTS},
                {"interval": "total", "cents": TOTAL_CENTS},
            ],
            "max_open_tasks": OPEN_TASKS,
            "approval_above_cents": APPROVAL_CENTS,
            "expires_at": "2099-01-01T00:00:00Z",
        });
        let new = json!({"name": "Agent", "environment": environment, "mandate": mandate});
        let made = developer.live.post("/v1/account/keys", &new).await;
        let made = made.expect(201);
        let text = |field: &str| made[field].as_str().unwrap().to_owned();
        Self {
            id: text("id"),
            key: text("key"),
        }
    }
}

/// What a task has cost its key so far: all of its budget, until it is known what goes back.
fn spent(task: &Task) -> i64 {
    match (task.is_final(), task.funded_at) {
        (false, _) => task.budget,
        (true, None) => 0,
        (true, Some(_)) => task.budget - task.refund(),
    }
}

/// The day.
fn day(millis: i64) -> String {
    moment(millis)[..10].to_owned()
}

/// What the limits of a key are held against: the day, the month, in all, and open tasks.
#[derive(Debug, PartialEq, Eq)]
struct Counted {
    day: i64,
    month: i64,
    total: i64,
    open: i64,
}

impl World {
    pub fn agent(&self, account: usize, test: bool) -> &Agent {
        &self.accounts[account].agents[usize::from(test)]
    }

    fn tasks_of_agent(&self, account: usize, test: bool) -> impl Iterator<Item = &Task> {
        let own = move |task: &&Task| (task.developer, task.test) == (account, test);
        self.tasks.iter().filter(own).filter(|task| task.limited)
    }

    fn counted(&self, account: usize, test: bool) -> Counted {
        let now = self.time_of(account, test);
        let tasks: Vec<_> = self.tasks_of_agent(account, test).collect();
        let sum = |counts: &dyn Fn(&Task) -> bool| {
            let counted = tasks.iter().filter(|task| counts(task));
            counted.map(|task| spent(task)).sum()
        };
        Counted {
            day: sum(&|task| day(task.created_at) == day(now)),
            month: sum(&|task| month(task.created_at) == month(now)),
            total: sum(&|_| true),
            open: tasks.iter().filter(|task| !task.is_final()).count() as i64,
        }
    }

    pub fn mandate_allows(&self, task: &Task) -> bool {
        let counted = self.counted(task.developer, task.test);
        counted.day + task.budget <= DAY_CENTS
            && counted.month + task.budget <= MONTH_CENTS
            && counted.total + task.budget <= TOTAL_CENTS
            && counted.open < OPEN_TASKS
    }

    /// After every step: what is kept of each key against the ledgers of its tasks.
    pub async fn check_mandates(&mut self) {
        let kept = "SELECT key_id || ' ' || total_cents || ' ' || open_tasks || ' ' || open_cents
            FROM mandates ORDER BY key_id";
        let kept = self.app.database.column(kept).await;
        let mut expected = Vec::new();
        for (account, test, _) in self.everybody() {
            let open = self.tasks_of_agent(account, test);
            let open = open.filter(|task| !task.is_final());
            let open: i64 = open.map(|task| task.budget).sum();
            let counted = self.counted(account, test);
            let id = &self.agent(account, test).id;
            expected.push(format!("{id} {} {} {open}", counted.total, counted.open));
        }
        expected.sort();
        assert_eq!(kept, expected);
        self.check_approvals().await;
    }

    /// What the key reads of itself: used, and left.
    pub async fn check_mandate(&mut self, account: usize, test: bool) {
        let mandate = self.get(Who::Agent(account, test), "/v1/mandate").await;
        self.expect_usage(account, test, &mandate["usage"]);
    }

    /// Each limit, what is used of it, and what is left.
    fn expect_usage(&self, account: usize, test: bool, usage: &Value) {
        let counted = self.counted(account, test);
        let expected = [
            ("spending_limits.day", DAY_CENTS, counted.day),
            ("spending_limits.month", MONTH_CENTS, counted.month),
            ("spending_limits.total", TOTAL_CENTS, counted.total),
            ("max_open_tasks", OPEN_TASKS, counted.open),
        ];
        let shown = usage.as_array().unwrap().iter();
        let field = |counted: &Value| {
            json!([
                counted["field"],
                counted["limit"],
                counted["used"],
                counted["left"]
            ])
        };
        let shown: Vec<_> = shown.map(field).collect();
        let expected =
            expected.map(|(field, limit, used)| json!([field, limit, used, limit - used]));
        assert_eq!(shown, expected, "{account} {test}");
    }
}
