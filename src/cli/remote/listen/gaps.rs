//! What is said of events that did not come by themselves: how many, since when, and what to do.

use legwork_client::Error;

/// Nothing is to be done about these.
pub fn filled(count: u64) -> String {
    let (events, were) = counted(count);
    format!(
        "{events} did not come over the stream and {were} read from the event list: nothing is missing"
    )
}

/// What somebody who listens does with events.
pub struct Listening {
    pub forwards: bool,
    /// Only events of some types.
    pub filters: bool,
}

impl Listening {
    /// About events that the server no longer keeps. `since` is the time of the last one that came.
    pub fn lost(&self, lost: &Error, since: Option<&str>) -> String {
        let Error::EventsLost { after, before } = lost else {
            return lost.to_string();
        };
        let count = before.saturating_sub(*after).saturating_sub(1);
        let (events, were) = counted(count.unsigned_abs());
        // Nobody knows of which types they were.
        let up_to = if self.filters { "up to " } else { "" };
        let since = match since {
            Some(time) => format!("since {time}"),
            None => "after the last one that you have".to_owned(),
        };
        format!(
            "{up_to}{events} {since} {were} not {}: the server no longer keeps them. {LOOK}",
            self.done()
        )
    }

    /// About a place to go on from that the server no longer knows.
    pub fn unknown_place(&self) -> String {
        format!(
            "the server no longer keeps the event after which this would go on. Events since then were not {}, and nobody \
             can say how many. {LOOK}. Listening from now on",
            self.done()
        )
    }

    fn done(&self) -> &'static str {
        match self.forwards {
            true => "forwarded",
            false => "shown",
        }
    }
}

const LOOK: &str = "`legwork tasks list` shows how your tasks are now";

fn counted(count: u64) -> (String, &'static str) {
    match count {
        1 => ("1 event".to_owned(), "was"),
        count => (format!("{count} events"), "were"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_many_events_were_not_forwarded_since_when_and_what_to_do() {
        let lost = |after, before| Error::EventsLost { after, before };
        let time = Some("2026-11-15T09:30:00.123Z");
        for (forwards, filters, error, since, expected) in [
            (
                true,
                false,
                lost(4, 17),
                time,
                "12 events since 2026-11-15T09:30:00.123Z were not forwarded: ",
            ),
            (
                false,
                true,
                lost(4, 6),
                None,
                "up to 1 event after the last one that you have was not shown: ",
            ),
        ] {
            let said = Listening { forwards, filters }.lost(&error, since);
            assert!(said.starts_with(expected), "{said}");
            assert!(said.ends_with(LOOK), "{said}");
        }
        let said = "3 events did not come over the stream and were read from the event list: nothing is missing";
        assert_eq!(filled(3), said);
    }
}
