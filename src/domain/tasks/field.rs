//! Rules for the fields of a task.

use crate::domain::rules;
use crate::domain::tasks::pricing::{MAX_BUDGET_CENTS, MIN_BUDGET_CENTS};
use crate::domain::tasks::{MAX_METADATA_BYTES, ProofType, Skill};

pub fn title(text: &str) -> Result<String, String> {
    rules::text(text, 1, 200)
}

pub fn description(text: &str) -> Result<String, String> {
    rules::text(text, 1, 2_000)
}

pub fn instructions(text: &str) -> Result<String, String> {
    rules::text(text, 0, 5_000)
}

pub fn address(text: &str) -> Result<String, String> {
    rules::text(text, 0, 500)
}

pub fn city(text: &str) -> Result<String, String> {
    rules::text(text, 1, 200)
}

pub fn state(text: &str) -> Result<String, String> {
    if text.len() == 2 && text.bytes().all(|b| b.is_ascii_alphabetic()) {
        Ok(text.to_ascii_uppercase())
    } else {
        Err("must be a two-letter state code".to_owned())
    }
}

pub fn latitude(number: f64) -> Result<f64, String> {
    rules::between(number, -90.0, 90.0)
}

pub fn longitude(number: f64) -> Result<f64, String> {
    rules::between(number, -180.0, 180.0)
}

pub fn budget_cents(cents: i64) -> Result<i64, String> {
    if (MIN_BUDGET_CENTS..=MAX_BUDGET_CENTS).contains(&cents) {
        Ok(cents)
    } else {
        Err(format!(
            "must be between {MIN_BUDGET_CENTS} and {MAX_BUDGET_CENTS}"
        ))
    }
}

/// Removes duplicates.
pub fn required_skills(mut skills: Vec<Skill>) -> Result<Vec<Skill>, String> {
    let mut seen = Vec::with_capacity(skills.len());
    skills.retain(|skill| {
        let new = !seen.contains(skill);
        seen.push(*skill);
        new
    });
    Ok(skills)
}

pub fn proof_types(types: Vec<ProofType>) -> Result<Vec<ProofType>, String> {
    if types.is_empty() {
        return Err("must name at least one proof type".to_owned());
    }
    rules::distinct(&types)?;
    Ok(types)
}

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
        assert_eq!(state("ny"), Ok("NY".to_owned()));
        for text in ["", "N", "NYC", "N1", "ÑY", "é", "N "] {
            assert!(state(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_budget_has_a_floor_and_a_ceiling() {
        assert!(budget_cents(499).is_err());
        assert!(budget_cents(500).is_ok());
        assert!(budget_cents(99_999_999).is_ok());
        assert!(budget_cents(100_000_000).is_err());
        assert!(budget_cents(i64::MIN).is_err());
    }

    #[test]
    fn proof_types_are_one_to_three_without_repeats() {
        assert!(proof_types(vec![]).is_err());
        assert!(proof_types(ProofType::ALL.to_vec()).is_ok());
        assert!(proof_types(vec![ProofType::Photo, ProofType::Photo]).is_err());
    }

    #[test]
    fn a_skill_named_twice_is_asked_for_once() {
        let skills = vec![Skill::Driving, Skill::Notary, Skill::Driving];
        assert_eq!(
            required_skills(skills),
            Ok(vec![Skill::Driving, Skill::Notary])
        );
    }
}
