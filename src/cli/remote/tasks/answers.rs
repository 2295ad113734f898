//! `-i`: a field is asked for until the answer is one.

use crate::cli::remote::asking::ask;
use crate::cli::remote::failure::Failed;
use crate::cli::tell;
use crate::domain::rules::number;
use crate::domain::tasks::field;
use crate::domain::{Category, Priority, ProofType, Skill, TaskType, Timestamp, geo};

/// What somebody answers about a field. None leaves it out, if it is not needed.
pub async fn answer(flag: &str, help: &str, is_needed: bool) -> Result<Option<String>, Failed> {
    let name = flag.replace('-', " ");
    let question = question(&name, help, is_needed);
    loop {
        let text = ask(&question).await?;
        if text.is_empty() && !is_needed {
            return Ok(None);
        }
        match check(flag, &text) {
            Ok(()) => return Ok(Some(text)),
            Err(reason) => tell(format_args!("{name} {reason}")),
        }
    }
}

fn question(name: &str, help: &str, is_needed: bool) -> String {
    let categories = || Category::ALL.iter().map(|category| category.as_str());
    let help = match name {
        "category" => categories().collect::<Vec<_>>().join(", "),
        _ => help.to_owned(),
    };
    match is_needed {
        true => format!("{name} ({help})"),
        false => format!("{name} ({help}; Enter leaves it out)"),
    }
}

/// The rules of this version. The server may have others, and the last word.
fn check(flag: &str, text: &str) -> Result<(), String> {
    let mut words = text.split(',').map(str::trim);
    match flag {
        "title" => field::TITLE.check(text).map(drop),
        "description" => field::DESCRIPTION.check(text).map(drop),
        "instructions" => field::INSTRUCTIONS.check(text).map(drop),
        "category" => Category::rule(text).map(drop),
        "address" => field::ADDRESS.check(text).map(drop),
        "city" => field::CITY.check(text).map(drop),
        "state" => field::STATE.check(text).map(drop),
        "latitude" => geo::LATITUDE.check(number(text)?).map(drop),
        "longitude" => geo::LONGITUDE.check(number(text)?).map(drop),
        "budget-cents" => {
            let cents = text
                .parse::<i64>()
                .map_err(|_| "must be whole cents".to_owned())?;
            field::BUDGET_CENTS.check(cents).map(drop)
        }
        "priority" => Priority::rule(text).map(drop),
        "task-type" => TaskType::rule(text).map(drop),
        "deadline" => Timestamp::RULE.check(text).map(drop),
        "proof-types" => {
            let types = words.map(ProofType::rule).collect::<Result<_, _>>()?;
            (field::PROOF_TYPES.check)(types).map(drop)
        }
        "required-skills" => words.try_for_each(|word| Skill::rule(word).map(drop)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_what_can_be_answered() {
        let asked = question("category", "photography, ...", true);
        assert!(asked.contains("mystery_shopping") && asked.contains("notary"));
        let asked = question("deadline", "Such as tomorrow", false);
        assert_eq!(asked, "deadline (Such as tomorrow; Enter leaves it out)");
    }

    #[test]
    fn an_answer_that_a_server_would_refuse_is_told() {
        for (flag, right, wrong) in [
            ("title", "A photo", " "),
            ("category", "notary", "magic"),
            ("state", "ny", "New York"),
            ("latitude", "40.7", "north"),
            ("latitude", "-90", "90.5"),
            ("longitude", "-73.9", "-181"),
            ("budget-cents", "2500", "25.00"),
            ("budget-cents", "500", "1"),
            ("priority", "urgent", "high"),
            ("task-type", "bounty", "gift"),
            ("deadline", "2030-11-21T18:00:00Z", "tomorrow"),
            ("proof-types", "photo, video", "photo, photo"),
            ("required-skills", "notary,driving", "notary,magic"),
        ] {
            assert_eq!(check(flag, right), Ok(()), "{flag}");
            assert!(check(flag, wrong).is_err(), "{flag}: {wrong}");
        }
    }
}
