//! Which passwords people may choose. Every place where a password is set uses these rules.

use crate::domain::rules::TextRule;
use crate::domain::sha256::Sha256;

/// The first bytes of the SHA-256 of each of the 10,000 commonest passwords of eight or more
/// characters, in lower case, sorted. The words are from a public count of leaked passwords. A hash
/// cut to 40 bits says no more than that a word is common, and a word that is not in the list is taken
/// for one about once in a hundred million times.
const COMMON: &[u8] = include_bytes!("common_passwords.bin");
const HASH_BYTES: usize = 5;

/// A part of an address that is shorter may be in a password by accident.
const SHORTEST_NAME: usize = 4;

/// Long enough to withstand guessing, short enough to hash. `check` does not know whose password it is:
/// see `reveals_address`.
pub const PASSWORD: TextRule = TextRule {
    min: 8,
    max: 200,
    pattern: None,
    format: Some("password"),
    check: |rule, text| {
        if !(rule.min..=rule.max).contains(&text.chars().count()) {
            return Err("must be 8 to 200 characters".to_owned());
        }
        if is_common(text) {
            return Err("is one of the most common passwords".to_owned());
        }
        Ok(text.to_owned())
    },
};

/// Said of a password that contains the e-mail address.
pub const REVEALS_ADDRESS: &str = "must not contain the e-mail address";

/// Whether a password contains the address that belongs to it, or the part before the @.
pub fn reveals_address(password: &str, email: &str) -> bool {
    let (password, email) = (password.to_lowercase(), email.to_lowercase());
    let name = email.split('@').next().unwrap_or_default();
    let long = name.chars().count() >= SHORTEST_NAME;
    !email.is_empty() && (password.contains(&email) || long && password.contains(name))
}

fn is_common(password: &str) -> bool {
    let digest = Sha256::digest(password.to_lowercase());
    let (hashes, _) = COMMON.as_chunks::<HASH_BYTES>();
    let wanted = &digest[..HASH_BYTES];
    hashes.binary_search_by(|hash| hash[..].cmp(wanted)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_has_bounds() {
        assert!(PASSWORD.check("qzv7wkp").is_err());
        assert!(PASSWORD.check("qzv7wkpx").is_ok());
        assert!(PASSWORD.check(&"ä".repeat(200)).is_ok());
        assert!(PASSWORD.check(&"ä".repeat(201)).is_err());
    }

    #[test]
    fn a_common_password_is_refused_however_it_is_capitalised() {
        for common in ["12345678", "password", "PassWord", "qwertyuiop", "iloveyou"] {
            let refused = PASSWORD.check(common).unwrap_err();
            assert_eq!(refused, "is one of the most common passwords", "{common}");
        }
        assert!(PASSWORD.check("correct horse battery").is_ok());
    }

    #[test]
    fn the_list_is_sorted_and_has_ten_thousand_words() {
        let (hashes, rest) = COMMON.as_chunks::<HASH_BYTES>();
        assert_eq!((hashes.len(), rest.len()), (10_000, 0));
        assert!(hashes.is_sorted_by(|a, b| a < b));
    }

    #[test]
    fn a_password_does_not_contain_the_address() {
        let email = "grace@example.com";
        for bad in ["grace1906", "xGRACEx-hopper", "my grace@example.com"] {
            assert!(reveals_address(bad, email), "{bad}");
        }
        assert!(!reveals_address("gracious-hopper", email));
        assert!(!reveals_address("adamant rock", "ada@example.com"));
        assert!(reveals_address("1ada@example.com", "Ada@Example.com"));
        assert!(!reveals_address("anything at all", ""));
    }
}
