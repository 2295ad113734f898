//! Recovery codes: each opens once what a code of the app opens, for whoever has lost the app.

use crate::domain::accounts::api_key;
use crate::domain::second_factor::{base32, name_of};
use crate::domain::{Person, Secret};

/// How many are handed out at a time.
pub const COUNT: usize = 10;
/// Too many to guess, even from the stored hashes.
const RANDOM_BYTES: usize = 10;

/// A set of codes, to be shown once.
#[derive(Clone, Debug)]
pub struct RecoveryCodes(Vec<Secret>);

impl RecoveryCodes {
    pub fn new(random: &[u8; COUNT * RANDOM_BYTES]) -> Self {
        let code = |random: &[u8]| Secret::presented(&base32::encode(random).to_ascii_lowercase());
        Self(random.chunks(RANDOM_BYTES).map(code).collect())
    }

    /// As they are shown: `abcd-efgh-ijkl-mnop`.
    pub fn shown(&self) -> Vec<String> {
        let grouped = |code: &Secret| {
            let groups = code.expose().as_bytes().chunks(4);
            let groups = groups.map(|group| String::from_utf8_lossy(group).into_owned());
            groups.collect::<Vec<_>>().join("-")
        };
        self.0.iter().map(grouped).collect()
    }

    /// What is stored of them.
    pub fn hashes(&self, holder: Person) -> Vec<String> {
        self.0.iter().map(|code| hash(holder, code)).collect()
    }
}

/// What is stored of a code. It has 80 random bits, so no slow hash is needed.
pub fn hash(holder: Person, code: &Secret) -> String {
    api_key::hash(&format!(
        "recovery code of {}: {}",
        name_of(holder),
        code.expose()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::second_factor::GivenCode;
    use crate::domain::{Timestamp, WorkerId};

    #[test]
    fn what_is_shown_has_the_hash_that_is_stored() {
        let holder = |n| Person::Worker(WorkerId::new(Timestamp::from_millis(n), &[1; 10]));
        let codes = RecoveryCodes::new(&std::array::from_fn(|place| place as u8));
        let (shown, stored) = (codes.shown(), codes.hashes(holder(1)));
        assert_eq!((shown.len(), stored.len()), (COUNT, COUNT));
        assert_eq!(shown[0], "aaaq-eaye-auda-ocaj");
        for (shown, stored) in shown.iter().zip(&stored) {
            let Ok(GivenCode::Recovery(given)) = GivenCode::RULE.check(&shown.to_uppercase())
            else {
                panic!("{shown} is no recovery code");
            };
            assert_eq!(hash(holder(1), &given), *stored);
            assert_ne!(hash(holder(2), &given), *stored);
        }
    }
}
