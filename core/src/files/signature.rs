//! URLs that give access to one file for an hour. Used for the folder; S3 has its own.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::hmac;
use subtle::ConstantTimeEq;

use super::FileKey;
use crate::domain::Timestamp;
use crate::domain::accounts::api_key::hex;
use crate::domain::sha256::Sha256;

/// How long a signed URL is valid.
pub const GOOD_FOR: Duration = Duration::from_secs(60 * 60);

/// The characters of a content type that need no escaping in a query.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'/')
    .remove(b'-')
    .remove(b'.')
    .remove(b'_');

/// The file that a signed URL names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedFile {
    pub key: FileKey,
    pub content_type: String,
}

/// Why a URL is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignatureError {
    #[error("the URL has expired")]
    Expired,
    #[error("the URL was not issued by this service")]
    Altered,
}

/// The keys that sign URLs, the newest first, each with the time from which it signs.
#[derive(Clone, Debug)]
pub struct SigningKeys(Vec<(Timestamp, hmac::Key)>);

impl SigningKeys {
    /// Reads `secret` or `secret@milliseconds`, separated by commas, the newest first.
    pub fn parse(text: &str) -> Self {
        let key = |part: &str| {
            let (secret, from) = part.split_once('@').unwrap_or((part, "0"));
            let from = Timestamp::from_millis(from.parse().unwrap_or(0));
            let key = Sha256::digest(secret);
            (from, hmac::Key::new(hmac::HMAC_SHA256, &key))
        };
        Self(text.split(',').map(key).collect())
    }

    /// The text with a new secret that signs from then on, and without those whose URLs have ended.
    pub fn rotated(text: &str, new_secret: &str, from: Timestamp, now: Timestamp) -> String {
        let keys = Self::parse(text);
        let newer = std::iter::once(None).chain(keys.0.iter().map(|(from, _)| Some(*from)));
        let kept = text.split(',').zip(newer);
        let kept = kept.filter(|(_, replaced)| may_be_valid(*replaced, now));
        let kept = kept.map(|(secret, _)| format!(",{secret}"));
        let new = format!("{new_secret}@{}", from.as_millis());
        std::iter::once(new).chain(kept).collect()
    }

    fn signing(&self, now: Timestamp) -> Option<&hmac::Key> {
        let begun = self.0.iter().find(|(from, _)| *from <= now);
        begun.or(self.0.last()).map(|(_, key)| key)
    }

    /// The keys whose URLs may still be valid. Servers may learn of a new key at different times, so
    /// it counts before it signs.
    fn valid(&self, now: Timestamp) -> impl Iterator<Item = &hmac::Key> {
        let newer = std::iter::once(None).chain(self.0.iter().map(|(from, _)| Some(*from)));
        let keys = self.0.iter().zip(newer);
        keys.filter(move |(_, replaced)| may_be_valid(*replaced, now))
            .map(|((_, key), _)| key)
    }
}

/// Whether URLs of a key may still be valid that was replaced then.
fn may_be_valid(replaced: Option<Timestamp>, now: Timestamp) -> bool {
    replaced.is_none_or(|at| now < at.plus(GOOD_FOR + MARGIN))
}

impl From<[u8; 32]> for SigningKeys {
    fn from(key: [u8; 32]) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA256, &key);
        Self(vec![(Timestamp::from_millis(0), key)])
    }
}

/// For clocks that differ, and the time that servers take to learn of a new key.
const MARGIN: Duration = Duration::from_secs(60);

pub struct Signatures {
    public_url: String,
    keys: RwLock<SigningKeys>,
}

impl Signatures {
    pub fn public_url(&self) -> &str {
        &self.public_url
    }

    pub fn new(public_url: &str, keys: impl Into<SigningKeys>) -> Self {
        Self {
            public_url: public_url.trim_end_matches('/').to_owned(),
            keys: RwLock::new(keys.into()),
        }
    }

    pub fn set_keys(&self, keys: SigningKeys) {
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }

    fn keys(&self) -> RwLockReadGuard<'_, SigningKeys> {
        self.keys.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn url(&self, key: FileKey, content_type: &str, now: Timestamp) -> String {
        // Rounded up, so that the URL is valid for at least an hour.
        let expires = (now.plus(GOOD_FOR).as_millis() + 999).div_euclid(1000);
        let content_type = utf8_percent_encode(content_type, PLAIN);
        let query = format!("expires={expires}&type={content_type}");
        let keys = self.keys();
        let signature = keys.signing(now).map(|by| signature(by, key, &query));
        let signature = signature.unwrap_or_default();
        format!(
            "{}/files/{key}?{query}&signature={signature}",
            self.public_url
        )
    }

    /// The signature covers the raw text, so a URL has exactly one spelling.
    pub fn check(
        &self,
        key: &str,
        query: &str,
        now: Timestamp,
    ) -> Result<SignedFile, SignatureError> {
        let key = FileKey::parse(key).ok_or(SignatureError::Altered)?;
        let (query, given) = query
            .rsplit_once("&signature=")
            .ok_or(SignatureError::Altered)?;
        let is_by = |by: &hmac::Key| {
            let expected = signature(by, key, query);
            bool::from(expected.as_bytes().ct_eq(given.as_bytes()))
        };
        if !self.keys().valid(now).any(is_by) {
            return Err(SignatureError::Altered);
        }
        let (expires, content_type) = parts(query).ok_or(SignatureError::Altered)?;
        if now.as_millis().div_euclid(1000) >= expires {
            return Err(SignatureError::Expired);
        }
        Ok(SignedFile { key, content_type })
    }
}

fn signature(by: &hmac::Key, key: FileKey, query: &str) -> String {
    let text = format!("/files/{key}?{query}");
    hex(hmac::sign(by, text.as_bytes()).as_ref())
}

fn parts(query: &str) -> Option<(i64, String)> {
    let (expires, content_type) = query.strip_prefix("expires=")?.split_once("&type=")?;
    let content_type = percent_decode_str(content_type).decode_utf8().ok()?;
    Some((expires.parse().ok()?, content_type.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Prefix;

    const NOW: Timestamp = Timestamp::from_millis(1_763_200_000_123);

    fn signatures() -> Signatures {
        Signatures::new("https://legwork.example/", [7; 32])
    }

    fn key(id: u128) -> FileKey {
        FileKey::new(Prefix::Proofs, id)
    }

    /// The path and the query, as a server gets them.
    fn seen(url: &str) -> (String, String) {
        let path = url.strip_prefix("https://legwork.example/files/").unwrap();
        let (key, query) = path.split_once('?').unwrap();
        (key.to_owned(), query.to_owned())
    }

    fn check(text: &str, now: Timestamp) -> Result<SignedFile, SignatureError> {
        let (key, query) = text.split_once('?').unwrap_or((text, ""));
        signatures().check(key, query, now)
    }

    #[test]
    fn a_url_says_what_it_opens() {
        for content_type in [
            "image/jpeg",
            "image/svg+xml",
            "text/plain; charset=\"utf-8\"",
            "a&signature=b",
        ] {
            let url = signatures().url(key(1), content_type, NOW);
            let (path, query) = seen(&url);
            let signed = signatures().check(&path, &query, NOW).unwrap();
            assert_eq!(signed.key, key(1));
            assert_eq!(signed.content_type, content_type);
        }
        let url = signatures().url(key(1), "image/jpeg", NOW);
        assert!(url.contains("?expires=1763203601&type=image/jpeg&signature="));
    }

    #[test]
    fn it_is_good_for_an_hour() {
        let url = signatures().url(key(1), "image/jpeg", NOW);
        let (path, query) = seen(&url);
        let after = |seconds| {
            let now = NOW.plus(Duration::from_secs(seconds));
            signatures().check(&path, &query, now)
        };
        assert!(after(3600).is_ok());
        assert_eq!(after(3601), Err(SignatureError::Expired));
        assert_eq!(after(1_000_000), Err(SignatureError::Expired));
    }

    #[test]
    fn altered_by_any_one_character_it_opens_nothing() {
        let (path, query) = seen(&signatures().url(key(0x1a), "video/mp4", NOW));
        let whole = format!("{path}?{query}");
        assert!(check(&whole, NOW).is_ok());
        let others = ['0', '9', 'a', 'A', 'f', '/', '.', '%', '&', '=', ' ', '\0'];
        for at in 0..whole.len() {
            let (before, rest) = whole.split_at(at);
            let missing = format!("{before}{}", &rest[1..]);
            assert_eq!(check(&missing, NOW), Err(SignatureError::Altered));
            let swapped_case = rest[..1].to_uppercase();
            let changed = others.iter().map(char::to_string).chain([swapped_case]);
            for other in changed.filter(|other| *other != rest[..1]) {
                let replaced = format!("{before}{other}{}", &rest[1..]);
                assert_eq!(check(&replaced, NOW), Err(SignatureError::Altered));
                let inserted = format!("{before}{other}{rest}");
                assert_eq!(check(&inserted, NOW), Err(SignatureError::Altered));
            }
        }
    }

    #[test]
    fn a_signature_is_for_one_file_and_from_one_server() {
        let (_, query) = seen(&signatures().url(key(1), "image/png", NOW));
        let other = key(2).to_string();
        assert_eq!(
            signatures().check(&other, &query, NOW),
            Err(SignatureError::Altered)
        );
        let (path, query) =
            seen(&Signatures::new("https://legwork.example", [8; 32]).url(key(1), "a/b", NOW));
        assert_eq!(
            signatures().check(&path, &query, NOW),
            Err(SignatureError::Altered)
        );
    }

    #[test]
    fn urls_of_a_replaced_key_end_with_their_hour() {
        let changed = NOW.plus(Duration::from_secs(60));
        let text = SigningKeys::rotated("old", "new", changed, NOW);
        let both = Signatures::new("https://legwork.example", SigningKeys::parse(&text));
        let [old, new] = ["old", "new"]
            .map(|secret| Signatures::new("https://legwork.example", SigningKeys::parse(secret)));
        let checked = |by: &Signatures, url: &str, now| {
            let (path, query) = seen(url);
            by.check(&path, &query, now).is_ok()
        };
        // Until the change the old key signs. Who knows only that one can check it.
        let before = both.url(key(1), "image/png", NOW);
        assert!(checked(&old, &before, NOW) && checked(&both, &before, NOW));
        // A server that already signs with the new key is understood.
        assert!(checked(&both, &new.url(key(1), "image/png", NOW), NOW));
        let after = both.url(key(1), "image/png", changed);
        assert!(checked(&new, &after, changed) && !checked(&old, &after, changed));
        // The last URL of the old key is valid for its hour. Then nothing of the old key is.
        let last = old.url(key(1), "image/png", changed);
        assert!(checked(&both, &last, changed.plus(GOOD_FOR)));
        let later = changed.plus(GOOD_FOR + MARGIN);
        assert!(!checked(&both, &old.url(key(1), "image/png", later), later));
        assert!(checked(&both, &both.url(key(1), "image/png", later), later));
    }

    #[test]
    fn a_change_keeps_the_keys_whose_urls_are_still_valid() {
        let at = NOW.as_millis();
        let text = SigningKeys::rotated("old", "new", NOW, NOW);
        assert_eq!(text, format!("new@{at},old"));
        let text = SigningKeys::rotated(&text, "newest", NOW, NOW);
        assert_eq!(text, format!("newest@{at},new@{at},old"));
        let later = NOW.plus(GOOD_FOR + MARGIN);
        let text = SigningKeys::rotated(&text, "last", later, later);
        assert_eq!(text, format!("last@{},newest@{at}", later.as_millis()));
    }

    proptest::proptest! {
        #![proptest_config(crate::domain::testing::cases(256))]

        #[test]
        fn any_url_reads_back(
            id: u128, content_type in ".{0,40}", millis in 0_i64..1 << 47, other in "[0-9a-f]{8}",
        ) {
            let now = Timestamp::from_millis(millis);
            let url = signatures().url(key(id), &content_type, now);
            let (path, query) = seen(&url);
            let file = SignedFile { key: key(id), content_type };
            proptest::prop_assert_eq!(signatures().check(&path, &query, now), Ok(file));
            let stranger = Signatures::new("https://legwork.example/", SigningKeys::parse(&other));
            let refused = stranger.check(&path, &query, now);
            proptest::prop_assert_eq!(refused, Err(SignatureError::Altered));
        }

        #[test]
        fn any_other_url_opens_nothing(
            path in "(proofs/)?[0-9a-f/.%]{0,40}",
            query in "(expires=[0-9-]{0,25})?(&type=.{0,20})?(&signature=[0-9a-f]{0,70})?.{0,20}",
        ) {
            let refused = signatures().check(&path, &query, NOW);
            proptest::prop_assert_eq!(refused, Err(SignatureError::Altered));
        }
    }
}
