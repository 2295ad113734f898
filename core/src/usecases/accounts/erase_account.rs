//! Erases the remaining data of a deleted account: first its tasks, a page at a time, then
//! everything else. Each step may be repeated. The last one sets `erased_at`.

use serde_json::json;

use crate::domain::{
    AccountId, Actor, Environment, JobKind, JobName, Owner, Person, TaskId, Timestamp,
};
use crate::store::{StoreError, Tx};
use crate::usecases::UseCaseError;
use crate::usecases::accounts::delete_account::drop_means;
use crate::usecases::admin::audit;

/// Tasks erased in one transaction.
const TASKS_PAGE: i64 = 50;

/// Notifications about a task have these prefixes in their occasion.
const OCCASIONS_OF_TASK: [&str; 10] = [
    "assigned",
    "rejected",
    "bounty",
    "payout",
    "payment_failed",
    "cancelled",
    "expired",
    "decided",
    "written_off",
    "payout_failed",
];

/// What a job erases next.
pub enum ErasedPage {
    Tasks {
        /// The keys of the files of these tasks.
        files: Vec<String>,
        page: TasksPage,
    },
    /// All tasks are erased.
    Rest(AccountId),
}

#[derive(Clone, Debug)]
pub struct TasksPage {
    place: Place,
    tasks: Vec<(TaskId, i64)>,
}

/// How far the erasure of an account has come: up to a task in an environment.
#[derive(Clone, Copy, Debug)]
struct Place {
    owner: Owner,
    after: i64,
}

impl Place {
    /// Parses the subject of a job. At the start it is the account alone.
    fn parse(subject: &str) -> Option<Self> {
        let mut parts = subject.split('/');
        let account = AccountId::parse(parts.next()?)?;
        let (environment, after) = match (parts.next(), parts.next()) {
            (None, None) => (Environment::Live, 0),
            (Some(environment), Some(after)) => {
                (Environment::parse(environment)?, after.parse().ok()?)
            }
            _ => return None,
        };
        let owner = Owner {
            account,
            environment,
        };
        Some(Self { owner, after })
    }

    fn subject(self) -> String {
        let Owner {
            account,
            environment,
        } = self.owner;
        format!("{account}/{environment}/{}", self.after)
    }

    /// When all tasks of one environment are erased, continues with the other.
    fn next(self, last: Option<i64>) -> Self {
        match last {
            Some(after) => Self { after, ..self },
            None => Self {
                owner: Owner {
                    environment: Environment::Test,
                    ..self.owner
                },
                after: 0,
            },
        }
    }
}

/// The next page to erase.
pub fn page_to_erase(tx: &mut Tx<'_>, subject: &str) -> Result<ErasedPage, UseCaseError> {
    let place =
        Place::parse(subject).ok_or_else(|| StoreError::Failed("malformed job subject".into()))?;
    let tasks = tx.tasks_to_erase(place.owner, place.after, TASKS_PAGE)?;
    if tasks.is_empty() && place.owner.environment == Environment::Test {
        return Ok(ErasedPage::Rest(place.owner.account));
    }
    let mut files = Vec::new();
    for (task, _) in &tasks {
        files.extend(tx.files_of_task(*task)?);
    }
    let page = TasksPage { place, tasks };
    Ok(ErasedPage::Tasks { files, page })
}

/// Erases tasks whose files are already deleted, and queues a job for the next page.
pub fn erase_page(tx: &mut Tx<'_>, page: &TasksPage, now: Timestamp) -> Result<(), UseCaseError> {
    for (task, _) in &page.tasks {
        tx.erase_task(*task)?;
        tx.erase_notes_about(&task.to_string())?;
        for kind in OCCASIONS_OF_TASK {
            tx.drop_notifications_of(&format!("{kind}:{task}"))?;
        }
    }
    let last = page.tasks.last().map(|(_, number)| *number);
    let next = page.place.next(last);
    Ok(tx.add_job(&JobName::new(JobKind::EraseAccount, next.subject()), now)?)
}

/// Erases some of the account's events, deliveries and notifications. Returns whether there may be
/// more.
pub fn erase_traces(tx: &mut Tx<'_>, account: AccountId) -> Result<bool, UseCaseError> {
    Ok(tx.drop_traces(account)?)
}

/// The last step.
pub fn erase_account(
    tx: &mut Tx<'_>,
    account: AccountId,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    drop_means(tx, account, now)?;
    tx.drop_all_mail_links(Person::Account(account))?;
    if tx.erase_account(account, now)? {
        let (by, id) = (Actor::CLOCK, account.to_string());
        tx.erase_notes_about(&id)?;
        audit(tx, &by, "account.erased", "account", &id, json!({}), now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let id = "019a8574c1f07c2e9d1b3a5f60718293";
        let begin = Place::parse(id).unwrap();
        assert_eq!(begin.subject(), format!("{id}/live/0"));
        assert_eq!(begin.next(Some(7)).subject(), format!("{id}/live/7"));
        let test = begin.next(None);
        assert_eq!(test.subject(), format!("{id}/test/0"));
        assert_eq!(
            Place::parse(&test.subject()).unwrap().subject(),
            test.subject()
        );
        for bad in [
            "",
            "x",
            "x/live/0",
            &format!("{id}/live"),
            &format!("{id}/else/0"),
        ] {
            assert!(Place::parse(bad).is_none(), "{bad}");
        }
    }
}
