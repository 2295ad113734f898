//! A developer looks for tasks: by metadata, words, category, status and time. What has no index is found
//! by reading on from the newest task, within bounds.

use crate::domain::tasks::{Category, metadata};
use crate::domain::{Owner, Status, Timestamp};
use crate::store::{Candidate, SEARCHED_AT_ONCE, SearchedTask, Tx};
use crate::usecases::UseCaseError;

/// So many tasks are looked at for one page, at most. The next page goes on from there.
const MAX_SCANNED: usize = 2_000;
const SCANNED_AT_ONCE: usize = 250;

/// What to look for. All of it must hold.
#[derive(Clone, Debug, Default)]
pub struct TaskSearch {
    /// In lower case. Each must occur in the title or the place.
    pub words: Vec<String>,
    pub category: Option<Category>,
    /// Any of these; all when there is none.
    pub statuses: Vec<Status>,
    pub created_from: Option<Timestamp>,
    pub created_to: Option<Timestamp>,
    /// Keys and values, as `domain::tasks::metadata` writes them.
    pub metadata: Vec<(String, String)>,
    /// Only tasks with a smaller number.
    pub before: Option<i64>,
    pub limit: usize,
}

/// Tasks that were found, newest first, and before which number to go on if there may be more. The page
/// may hold fewer than the limit, even none.
#[derive(Clone, Debug, Default)]
pub struct SearchedPage {
    pub tasks: Vec<SearchedTask>,
    pub next: Option<i64>,
}

impl TaskSearch {
    fn matches(&self, task: &Candidate) -> bool {
        self.category.is_none_or(|wanted| wanted == task.category)
            && (self.statuses.is_empty() || self.statuses.contains(&task.status))
            && self.created_from.is_none_or(|from| from <= task.created_at)
            && self.created_to.is_none_or(|to| task.created_at <= to)
            && self.has_words(task)
    }

    fn has_words(&self, task: &Candidate) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let address = task.location_address.as_deref().unwrap_or_default();
        let (city, state) = (&task.location_city, &task.location_state);
        let text = format!("{}\n{address}\n{city}\n{state}", task.title).to_lowercase();
        self.words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// In a snapshot.
pub fn search_tasks(
    tx: &mut Tx<'_>,
    owner: Owner,
    search: &TaskSearch,
) -> Result<SearchedPage, UseCaseError> {
    let mut page = SearchedPage::default();
    let mut before = search.before.unwrap_or(i64::MAX);
    let mut scanned = 0;
    loop {
        let with = search.metadata.first();
        let found = tx.tasks_to_search(owner, with, before, SCANNED_AT_ONCE as i64)?;
        if add_matching(tx, owner, search, &found, &mut page)? {
            return Ok(page);
        }
        scanned += found.len();
        let Some(last) = found.last().filter(|_| found.len() == SCANNED_AT_ONCE) else {
            return Ok(page);
        };
        before = last.number;
        if scanned >= MAX_SCANNED {
            page.next = Some(before);
            return Ok(page);
        }
    }
}

/// Reads those that match. True when the page is full and there is one more.
fn add_matching(
    tx: &mut Tx<'_>,
    owner: Owner,
    search: &TaskSearch,
    found: &[Candidate],
    page: &mut SearchedPage,
) -> Result<bool, UseCaseError> {
    let matching = found.iter().filter(|task| search.matches(task));
    let numbers: Vec<_> = matching.map(|task| task.number).collect();
    // The first of the metadata was found by the index.
    let rest = search.metadata.get(1..).unwrap_or_default();
    for numbers in numbers.chunks(SEARCHED_AT_ONCE) {
        for (task, more) in tx.tasks_by_number(owner, numbers)? {
            if !metadata::has_all(&more.metadata, rest) {
                continue;
            }
            if page.tasks.len() == search.limit {
                page.next = page.tasks.last().map(|(_, last)| last.number);
                return Ok(true);
            }
            page.tasks.push((task, more));
        }
    }
    Ok(false)
}
