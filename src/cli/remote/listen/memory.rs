//! Where `legwork listen` goes on when it is started again.

use std::fs;

use legwork_client::EventType;

use super::mac;
use crate::cli::remote::stored::{folder, write_private};

/// Kept when nothing had ever happened.
const START: &str = "start";

/// A position in the events of an account.
#[derive(Clone)]
pub enum Position {
    /// Before the first event.
    Start,
    After(String),
}

/// The position of those who listen to the same server with the same key, for the same types and the same program: the
/// others have not seen what these have.
pub struct Memory {
    name: String,
}

impl Memory {
    pub fn of(server: &str, key: &str, types: &[EventType], forward_to: Option<&str>) -> Self {
        let mut types: Vec<_> = types.iter().map(EventType::as_str).collect();
        types.sort_unstable();
        types.dedup();
        let parts = [server, &types.join(","), forward_to.unwrap_or_default()];
        let message = format!("legwork listen: position at {}", parts.join("\n"));
        let hash = mac(key, message.as_bytes());
        let short = hash.iter().take(8).map(|byte| format!("{byte:02x}"));
        Self {
            name: format!("listen-{}", short.collect::<String>()),
        }
    }

    pub fn recall(&self) -> Option<Position> {
        let text = fs::read_to_string(folder().ok()?.join(&self.name)).ok()?;
        let id = text.trim();
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        match id {
            START => Some(Position::Start),
            _ => is_id.then(|| Position::After(id.to_owned())),
        }
    }

    /// No id is the place before the first event. Who cannot keep it begins anew next time; that is no reason to stop now.
    pub fn keep(&self, id: Option<&str>) {
        let _ = write_private(&self.name, id.unwrap_or(START).as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_to_listen_has_a_position_of_its_own() {
        let (one, other) = (EventType::TaskCreated, EventType::TaskFunded);
        let (few, all) = ([one.clone()], [other.clone(), one.clone()]);
        let usual = Memory::of("http://a", "k", &[one, other], None).name;
        assert_eq!(usual, Memory::of("http://a", "k", &all, None).name);
        for other in [
            Memory::of("http://b", "k", &all, None),
            Memory::of("http://a", "l", &all, None),
            Memory::of("http://a", "k", &few, None),
            Memory::of("http://a", "k", &[], None),
            Memory::of("http://a", "k", &all, Some("http://localhost:3000")),
        ] {
            assert_ne!(usual, other.name);
        }
    }
}
