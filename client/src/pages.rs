//! Lists, page by page.

use std::collections::VecDeque;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::http::Call;
use crate::{Client, Result};

/// The objects of a list, however many pages it has. The next page is asked for when it is needed.
pub struct Pages<T> {
    client: Client,
    call: Option<Call>,
    read: VecDeque<T>,
    total: Option<i64>,
}

#[derive(Deserialize)]
struct PageBody<T> {
    data: Vec<T>,
    #[serde(default)]
    meta: Meta,
}

#[derive(Deserialize, Default)]
struct Meta {
    total: Option<i64>,
    offset: Option<i64>,
    next_cursor: Option<String>,
}

impl<T: DeserializeOwned> Pages<T> {
    pub(crate) fn new(client: &Client, call: Call) -> Self {
        let (read, total) = (VecDeque::new(), None);
        Self {
            client: client.clone(),
            call: Some(call),
            read,
            total,
        }
    }

    /// The next object; none at the end.
    pub async fn next(&mut self) -> Result<Option<T>> {
        while self.read.is_empty() {
            match self.next_page().await? {
                Some(page) => self.read.extend(page),
                None => return Ok(None),
            }
        }
        Ok(self.read.pop_front())
    }

    /// The next page as a whole; none at the end.
    pub async fn next_page(&mut self) -> Result<Option<Vec<T>>> {
        let Some(call) = &self.call else {
            return Ok(None);
        };
        let bytes = self.client.bytes(call).await?;
        let page: PageBody<T> = self.client.decode(&bytes)?;
        self.total = page.meta.total;
        self.advance(&page.meta, page.data.len());
        Ok(Some(page.data))
    }

    /// Every object that is left, up to a number of them.
    pub async fn take(&mut self, most: usize) -> Result<Vec<T>> {
        let mut taken = Vec::new();
        while taken.len() < most
            && let Some(object) = self.next().await?
        {
            taken.push(object);
        }
        Ok(taken)
    }

    /// How many there are in the whole list, where the list says so and a page was read.
    pub fn total(&self) -> Option<i64> {
        self.total
    }

    fn advance(&mut self, meta: &Meta, count: usize) {
        let next = match (&meta.next_cursor, meta.offset, meta.total) {
            (Some(cursor), ..) => Some(("cursor", cursor.clone())),
            (None, Some(offset), Some(total)) => {
                let next = offset + i64::try_from(count).unwrap_or(i64::MAX);
                (count > 0 && next < total).then(|| ("offset", next.to_string()))
            }
            _ => None,
        };
        match (next, &mut self.call) {
            (Some((name, value)), Some(call)) => call.set(name, &value),
            _ => self.call = None,
        }
    }
}
