//! What users do on a day: mostly they look.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::Result;
use crate::load::http;
use crate::test_bed::{Account, creation};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Get,
    List,
    Create,
    /// Updates, cancellations, and moves by workers.
    Rest,
}

use Kind::{Create, Get, List, Rest};

/// 60 % reads, 15 % lists, 15 % creations, 10 % the rest.
const ORDER: [Kind; 20] = [
    Get, Get, Create, Get, List, Get, Get, Rest, Get, Get, Create, Get, List, Get, Get, Create,
    Get, List, Get, Rest,
];

/// Prepared requests, in an order that repeats.
pub struct Mix {
    requests: Vec<(Kind, Vec<u8>)>,
    /// Where the next run begins, so that no two begin with the same tasks.
    next: AtomicUsize,
}

impl Mix {
    /// Of creations alone.
    pub fn of_creations(accounts: &[Account]) -> Self {
        let create = |account: &Account| (Create, creation(&account.test_key));
        Self::new(accounts.iter().map(create).collect())
    }

    /// Over all accounts and the newest hundred tasks of each.
    pub fn of_a_day(address: SocketAddr, accounts: &[Account]) -> Result<Self> {
        let mut tasks = Vec::new();
        for account in accounts {
            let key = account.test_key.as_str();
            let page = http::fetch_json(address, &http::get("/v1/tasks?limit=100", key), 200)?;
            let page = page["data"].as_array().cloned().unwrap_or_default();
            let ids = page.iter().filter_map(|task| task["id"].as_str());
            tasks.extend(ids.map(|id| (key.to_owned(), id.to_owned())));
        }
        if tasks.is_empty() {
            return Err("there are no tasks to read".into());
        }
        let mut requests = Vec::with_capacity(tasks.len() * 4);
        for number in 0..tasks.len() * 4 {
            // Neighbours are tasks of different accounts.
            let (key, id) = &tasks[number * 101 % tasks.len()];
            let kind = ORDER[number % ORDER.len()];
            requests.push((kind, request(kind, number, key, id)));
        }
        Ok(Self::new(requests))
    }

    fn new(requests: Vec<(Kind, Vec<u8>)>) -> Self {
        Self {
            requests,
            next: AtomicUsize::new(0),
        }
    }

    pub fn request(&self, number: usize) -> (Kind, &[u8]) {
        let (kind, request) = &self.requests[number % self.requests.len()];
        (*kind, request)
    }

    pub fn take(&self) -> usize {
        self.next.fetch_add(7_000, Ordering::Relaxed)
    }
}

fn request(kind: Kind, number: usize, key: &str, id: &str) -> Vec<u8> {
    match kind {
        Get => http::get(&format!("/v1/tasks/{id}"), key),
        List if number.is_multiple_of(2) => http::get("/v1/tasks", key),
        List => http::get("/v1/tasks?status=funded&offset=20", key),
        Create => creation(key),
        Rest => rest(number, key, id),
    }
}

fn rest(number: usize, key: &str, id: &str) -> Vec<u8> {
    let advance = format!("/v1/test_helpers/tasks/{id}/advance");
    match number / ORDER.len() % 5 {
        0 => http::post(&format!("/v1/tasks/{id}/cancel"), key, "{}"),
        1 | 2 => http::post(&advance, key, "{}"),
        _ => {
            let title = json!({"title": format!("Photograph the storefront, again: {number}")});
            let post = http::post(&format!("/v1/tasks/{id}"), key, &title.to_string());
            [b"PATCH".as_slice(), &post[b"POST".len()..]].concat()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_what_the_readme_says() {
        let share = |kind: Kind| ORDER.iter().filter(|other| **other == kind).count() * 5;
        assert_eq!([Get, List, Create, Rest].map(share), [60, 15, 15, 10]);
    }
}
