//! Money that leaves a payment, and whether the processor has moved it already.

use super::{Attempt, ProcessorError};
use crate::domain::AccountId;

/// Money out of a payment: a refund to the developer or a transfer to a worker.
#[derive(Clone, Debug)]
pub struct Outgoing {
    pub attempt: Attempt,
    /// Who paid.
    pub account: AccountId,
    /// The processor's id of the payment that the money came from.
    pub payment: String,
    pub cents: i64,
    /// What the ledger knows to have been moved by this step before, and not to have come back.
    pub already_cents: i64,
    /// The processor's ids of what the ledger knows, for a look.
    pub recorded: Vec<String>,
}

/// A movement that a processor has made, by its own records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    pub id: String,
    pub cents: i64,
    /// How much of it has come back.
    pub returned_cents: i64,
}

impl Made {
    const fn moved_cents(&self) -> i64 {
        self.cents - self.returned_cents
    }
}

/// What a processor has done of an outgoing movement, by its own records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Look {
    /// It was made, and perhaps came back before it was recorded.
    Made(Made),
    /// It was not made. So many earlier requests of this step did not move the money or were
    /// reversed.
    NotMade { earlier: usize },
}

impl Outgoing {
    /// Compares with what the processor says it made by this step of this task, newest first.
    pub(super) fn look(&self, found: &[Made]) -> Result<Look, ProcessorError> {
        let moved: i64 = found.iter().map(Made::moved_cents).sum();
        let is_this = |made: &&Made| {
            made.cents == self.cents
                && !self.recorded.contains(&made.id)
                && moved == self.already_cents + made.moved_cents()
        };
        if let Some(made) = found.iter().find(is_this) {
            return Ok(Look::Made(made.clone()));
        }
        if moved == self.already_cents {
            return Ok(Look::NotMade {
                earlier: found.len(),
            });
        }
        Err(ProcessorError::Refused {
            code: "amount_mismatch".to_owned(),
            message: format!(
                "The processor has moved {moved} cents, but the ledger knows of {} and {} are owed.",
                self.already_cents, self.cents
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{TaskId, Timestamp};

    fn outgoing(cents: i64, already_cents: i64, recorded: &[&str]) -> Outgoing {
        Outgoing {
            attempt: Attempt::first(TaskId::new(Timestamp::from_millis(1), &[1; 10])),
            account: AccountId::new(Timestamp::from_millis(1), &[1; 10]),
            payment: "pi_1".to_owned(),
            cents,
            already_cents,
            recorded: recorded.iter().map(|id| (*id).to_owned()).collect(),
        }
    }

    fn made(id: &str, cents: i64, returned_cents: i64) -> Made {
        Made {
            id: id.to_owned(),
            cents,
            returned_cents,
        }
    }

    fn look(outgoing: &Outgoing, found: &[Made]) -> Result<Look, String> {
        outgoing.look(found).map_err(|error| match error {
            ProcessorError::Refused { code, .. } => code,
            ProcessorError::Unavailable(_) => "unavailable".to_owned(),
        })
    }

    #[test]
    fn a_look_tells_what_was_made_by_its_amount() {
        let this = |id: &str, cents| Ok(Look::Made(made(id, cents, 0)));
        let not_made = |earlier| Ok(Look::NotMade { earlier });
        let mismatch = || Err("amount_mismatch".to_owned());
        for (cents, already, found, expected) in [
            (1250, 0, vec![], not_made(0)),
            (1250, 0, vec![("re_1", 1250)], this("re_1", 1250)),
            // The first one failed; the second one was made or was not.
            (1250, 0, vec![("re_1", 0)], not_made(1)),
            (
                1250,
                0,
                vec![("re_2", 1250), ("re_1", 0)],
                this("re_2", 1250),
            ),
            // A part of a transfer was reversed and is owed again.
            (500, 1600, vec![("tr_1", 1600)], not_made(1)),
            (
                500,
                1600,
                vec![("tr_2", 500), ("tr_1", 1600)],
                this("tr_2", 500),
            ),
            // Neither: somebody has to look.
            (1250, 0, vec![("re_1", 2500)], mismatch()),
            (1250, 0, vec![("re_2", 1250), ("re_1", 1250)], mismatch()),
            (2100, 0, vec![("tr_1", 1600)], mismatch()),
            (500, 1600, vec![("tr_1", 2100)], mismatch()),
        ] {
            let found = found.into_iter().map(|(id, cents)| made(id, cents, 0));
            let found: Vec<_> = found.collect();
            let looked = look(&outgoing(cents, already, &[]), &found);
            assert_eq!(looked, expected, "{cents} {found:?}");
        }
    }

    #[test]
    fn what_came_back_before_it_was_recorded_was_made() {
        let this = |made: Made| Ok(Look::Made(made));
        let whole = made("tr_1", 2100, 2100);
        let part = made("tr_1", 2100, 100);
        for found in [&whole, &part] {
            let looked = look(&outgoing(2100, 0, &[]), std::slice::from_ref(found));
            assert_eq!(looked, this(found.clone()));
        }
        // The ledger knows it: it is sent again.
        let again = look(&outgoing(2100, 0, &["tr_1"]), std::slice::from_ref(&whole));
        assert_eq!(again, Ok(Look::NotMade { earlier: 1 }));
        // And the second one came back, too.
        let second = made("tr_2", 2100, 2100);
        let looked = look(&outgoing(2100, 0, &["tr_1"]), &[second.clone(), whole]);
        assert_eq!(looked, this(second));
        let rest = look(&outgoing(100, 2000, &["tr_1"]), &[part]);
        assert_eq!(rest, Ok(Look::NotMade { earlier: 1 }));
    }
}
