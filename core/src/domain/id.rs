//! Ids: a UUIDv7 written as 32 lower-case hex digits, one type for each resource.

use std::time::Duration;

use uuid::{Builder, Uuid};

use crate::domain::Timestamp;

macro_rules! id_types {
    ($($(#[$meta:meta])* $name:ident),+ $(,)?) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(Uuid);

        impl $name {
            /// Built from a timestamp and ten random bytes, so ids sort by creation.
            pub fn new(now: Timestamp, random: &[u8; 10]) -> Self {
                Self(uuid_v7(now, random))
            }

            /// Reads exactly the form that `Display` writes.
            pub fn parse(text: &str) -> Option<Self> {
                parse_hex(text).map(Self)
            }

            pub fn as_u128(self) -> u128 {
                self.0.as_u128()
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.0.simple().encode_lower(&mut Uuid::encode_buffer()))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    )+ };
}

id_types!(
    AccountId,
    AdminKeyId,
    ApiKeyId,
    ChallengeId,
    EventId,
    ExportId,
    LogId,
    MailLinkId,
    NotificationId,
    PasskeyId,
    ProofId,
    PushSubscriptionId,
    QueueItemId,
    QuoteId,
    RequestId,
    SessionId,
    TaskId,
    UploadId,
    VerificationFileId,
    WorkerId,
);

impl AccountId {
    /// The id under which a worker's records are kept where accounts keep theirs, such as replayed
    /// responses.
    pub fn of_worker(worker: WorkerId) -> Self {
        Self(worker.0)
    }

    /// The same for those of an admin key.
    pub fn of_admin(admin: AdminKeyId) -> Self {
        Self(admin.0)
    }

    /// The same for those of somebody who signs up, made from a hash of the address.
    pub fn of_stranger(hash: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(hash))
    }

    /// The id under which the requests of an account's limited keys are counted.
    pub fn of_limited_keys(self) -> Self {
        self.apart(1)
    }

    /// The same for pages that people of the account ask for.
    pub fn of_pages(self) -> Self {
        self.apart(2)
    }

    /// An id that nothing else has: it is of a time after the year 4000, when no id is made.
    fn apart(self, part: u128) -> Self {
        Self(Uuid::from_u128(self.0.as_u128() ^ (part << 126)))
    }
}

impl ApiKeyId {
    /// Stands where a key is asked for when the person of an account acts without one.
    pub fn of_account(account: AccountId) -> Self {
        Self(account.0)
    }
}

impl ProofId {
    /// When the id was made, by the clock of the server.
    pub fn made_at(self) -> Timestamp {
        made_at(self.0)
    }

    /// Later than all that are made in the same millisecond.
    pub fn next_moment(self) -> Self {
        Self(Uuid::from_u128(((self.0.as_u128() >> 80) + 1) << 80))
    }
}

impl LogId {
    /// Later than all.
    pub const LAST: Self = Self(Uuid::max());

    /// Later than all that are made within this time after it.
    pub fn followed_within(self, time: Duration) -> Self {
        let millis = time.as_millis() + 1;
        Self(Uuid::from_u128(
            self.0.as_u128().saturating_add(millis << 80),
        ))
    }

    /// The same for a request: when it was answered.
    pub fn made_at(self) -> Timestamp {
        made_at(self.0)
    }
}

impl WorkerId {
    /// The simulated worker of an account in the test environment: always the same one, made from the
    /// random part of the account's id.
    pub fn simulated(account: AccountId) -> Self {
        const MASK: u128 = 0x5157_4f52_4b45;
        Self(Uuid::from_u128(account.0.as_u128() ^ MASK))
    }
}

fn uuid_v7(now: Timestamp, random: &[u8; 10]) -> Uuid {
    Builder::from_unix_timestamp_millis(now.as_millis().unsigned_abs(), random).into_uuid()
}

fn made_at(id: Uuid) -> Timestamp {
    let millis = id.as_u128() >> 80;
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
}

fn parse_hex(text: &str) -> Option<Uuid> {
    // Of this length the parser takes hexadecimal digits alone, but in upper case too. All bytes are
    // looked at: that is faster than a branch for each.
    let lower = |lower: bool, byte: u8| lower & !byte.is_ascii_uppercase();
    let canonical = text.len() == 32 && text.bytes().fold(true, lower);
    canonical.then(|| Uuid::try_parse(text).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_32_lower_case_hex_digits_and_reads_back() {
        let id = TaskId::new(Timestamp::from_millis(1_763_200_000_000), &[7; 10]);
        let text = id.to_string();
        assert_eq!(text.len(), 32);
        assert_eq!(TaskId::parse(&text), Some(id));
        assert_eq!(&text[12..13], "7", "version 7");
    }

    #[test]
    fn ids_sort_by_the_moment_they_were_made() {
        let early = TaskId::new(Timestamp::from_millis(1_000), &[255; 10]);
        let late = TaskId::new(Timestamp::from_millis(1_001), &[0; 10]);
        assert!(early < late);
        assert!(early.to_string() < late.to_string());
    }

    #[test]
    fn the_id_of_a_proof_tells_when_it_was_made() {
        let now = Timestamp::from_millis(1_763_200_000_123);
        let last = ProofId::new(now, &[255; 10]);
        assert_eq!(last.made_at(), now);
        let next = ProofId::new(now, &[0; 10]).next_moment();
        assert!(next > last && next < ProofId::new(now.plus(Duration::from_millis(1)), &[0; 10]));
    }

    #[test]
    fn the_simulated_worker_has_an_id_of_its_own() {
        let now = Timestamp::from_millis(1_763_200_000_000);
        let [first, second] = [1, 2].map(|byte| AccountId::new(now, &[byte; 10]));
        let simulated = WorkerId::simulated(first).to_string();
        assert_ne!(simulated, first.to_string());
        assert_ne!(simulated, WorkerId::simulated(second).to_string());
        assert_eq!(simulated, WorkerId::simulated(first).to_string());
        assert_eq!(&simulated[..16], &first.to_string()[..16]);
    }

    #[test]
    fn anything_else_is_no_id() {
        for text in [
            "",
            "0",
            "019A0B1C2D3E4F5061728394A5B6C7D8",
            "019a0b1c-2d3e-4f50-6172-8394a5b6c7d8",
            "019a0b1c2d3e4f5061728394a5b6c7d\0",
            "019a0b1c2d3e4f5061728394a5b6c7d8 ",
            "zzza0b1c2d3e4f5061728394a5b6c7d8",
        ] {
            assert_eq!(TaskId::parse(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        #![proptest_config(crate::domain::testing::cases(256))]

        #[test]
        fn any_text_is_an_id_or_not(text in "([0-9a-fA-F]{30,34}|.{0,40})") {
            if let Some(id) = TaskId::parse(&text) {
                proptest::prop_assert_eq!(id.to_string(), text);
            }
        }

        #[test]
        fn any_id_reads_back(millis in 0_i64..1 << 47, random: [u8; 10]) {
            let id = ProofId::new(Timestamp::from_millis(millis), &random);
            proptest::prop_assert_eq!(ProofId::parse(&id.to_string()), Some(id));
            proptest::prop_assert_eq!(id.made_at().as_millis(), millis);
        }
    }
}
