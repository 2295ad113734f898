//! Rules for the fields of a task.

use crate::domain::rules::{self, IntegerRule, ListRule, TextRule};
use crate::domain::tasks::pricing::{MAX_BUDGET_CENTS, MIN_BUDGET_CENTS};
use crate::domain::tasks::{MAX_METADATA_BYTES, ProofType};

pub const TITLE: TextRule = TextRule::plain(1, 200);
pub const DESCRIPTION: TextRule = TextRule::plain(1, 2_000);
pub const INSTRUCTIONS: TextRule = TextRule::plain(0, 5_000);
pub const ADDRESS: TextRule = TextRule::plain(0, 500);
/// What a search looks for.
pub const SEARCH_WORDS: TextRule = TextRule::plain(1, 200);
pub const CITY: TextRule = TextRule::plain(1, 200);

/// Stored in upper case.
pub const STATE: TextRule = TextRule {
    min: 2,
    max: 2,
    pattern: Some("^[A-Za-z]{2}$"),
    format: None,
    check: |_, text| {
        if text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic()) {
            Ok(text.to_ascii_uppercase())
        } else {
            Err("must be a two-letter state code".to_owned())
        }
    },
};

pub const BUDGET_CENTS: IntegerRule = IntegerRule {
    min: MIN_BUDGET_CENTS,
    max: MAX_BUDGET_CENTS,
};

pub const REFUND_CENTS: IntegerRule = IntegerRule {
    min: 0,
    max: MAX_BUDGET_CENTS,
};

pub const PROOF_TYPES: ListRule<ProofType> = ListRule {
    min: 1,
    unique: true,
    check: |types| {
        if types.is_empty() {
            return Err("must name at least one proof type".to_owned());
        }
        rules::distinct(&types)?;
        Ok(types)
    },
};

/// Metadata as it is stored: JSON text.
pub fn metadata(serialized: String) -> Result<String, String> {
    if serialized.len() > MAX_METADATA_BYTES {
        return Err(format!(
            "must be at most {MAX_METADATA_BYTES} bytes as JSON"
        ));
    }
    Ok(serialized)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_two_letters_in_upper_case() {
        assert_eq!(STATE.check("ny"), Ok("NY".to_owned()));
        for text in ["", "N", "NYC", "N1", "ÑY", "é", "N "] {
            assert!(STATE.check(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_budget_has_a_floor_and_a_ceiling() {
        assert!(BUDGET_CENTS.check(499).is_err());
        assert!(BUDGET_CENTS.check(500).is_ok());
        assert!(BUDGET_CENTS.check(99_999_999).is_ok());
        assert!(BUDGET_CENTS.check(100_000_000).is_err());
        assert!(BUDGET_CENTS.check(i64::MIN).is_err());
    }

    #[test]
    fn proof_types_are_one_to_three_without_repeats() {
        let check = PROOF_TYPES.check;
        assert!(check(vec![]).is_err());
        assert!(check(ProofType::ALL.to_vec()).is_ok());
        assert!(check(vec![ProofType::Photo, ProofType::Photo]).is_err());
    }
}
