//! Passkeys, and the challenges that they answer.

use crate::domain::second_factor::passkeys::{Algorithm, PublicKey};
use crate::domain::second_factor::{holder_of, name_of};
use crate::domain::{Challenge, ChallengeId, Passkey, PasskeyId, Person, Timestamp};
use crate::store::{StoreError, Tx, columns};

columns! {
    macro passkey;
    table passkeys;
    fn passkey_values<'a>(passkey: &'a Passkey, place: i64);
    columns {
        id: passkey.id,
        holder: name_of(passkey.holder),
        credential_id: passkey.credential_id.as_str(),
        algorithm: passkey.key.algorithm(),
        public_key: passkey.key.to_text(),
        counter: passkey.counter,
        name: passkey.name.as_str(),
        created_at: passkey.created_at,
        last_used_at: passkey.last_used_at,
    }
    inserted { place: place }
    row Passkey = Passkey {
        id,
        holder: whose(holder)?,
        credential_id,
        key: key(algorithm, public_key)?,
        counter,
        name,
        created_at,
        last_used_at,
    };
}

columns! {
    macro challenge;
    table passkey_challenges;
    fn challenge_values<'a>(challenge: &'a Challenge);
    columns {
        id: challenge.id,
        purpose: challenge.purpose,
        holder: challenge.holder.map(name_of),
        hash: challenge.hash.as_str(),
        expires_at: challenge.expires_at,
    }
    row Challenge = Challenge {
        id,
        purpose,
        holder: whose_if_known(holder)?,
        hash,
        expires_at,
    };
}

crate::store::statements! {
    ADD = concat!(passkey!(insert), " ON CONFLICT DO NOTHING");
    OF_HOLDER = concat!("SELECT ", passkey!(columns), " FROM passkeys WHERE holder = ?1 ORDER BY place");
    PLACES = "SELECT place FROM passkeys WHERE holder = ?1 ORDER BY place";
    BY_CREDENTIAL = concat!("SELECT ", passkey!(columns), " FROM passkeys WHERE credential_id = ?1");
    USED = "UPDATE passkeys SET counter = ?2, last_used_at = ?3 WHERE id = ?1";
    REMOVE = "DELETE FROM passkeys WHERE holder = ?1 AND id = ?2";
    DROP = "DELETE FROM passkeys WHERE holder = ?1";
    ADD_CHALLENGE = challenge!(insert);
    TAKE_CHALLENGE = concat!("DELETE FROM passkey_challenges WHERE id = ?1 RETURNING ", challenge!(columns));
    PRUNE_CHALLENGES = "DELETE FROM passkey_challenges WHERE id IN (
            SELECT id FROM passkey_challenges WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 500)";
}

impl Tx<'_> {
    /// A collision if somebody has just taken the place or the credential.
    pub fn add_passkey(&mut self, passkey: &Passkey, place: i64) -> Result<(), StoreError> {
        self.execute_one(ADD, &passkey_values(passkey, place))
    }

    pub fn passkeys_of(&mut self, holder: Person) -> Result<Vec<Passkey>, StoreError> {
        let mut found: Vec<Passkey> = self.all(OF_HOLDER, &[name_of(holder).into()])?;
        // A place is taken again, an id is not.
        found.sort_by_key(|passkey| passkey.id);
        Ok(found)
    }

    /// The places that are taken.
    pub fn passkey_places(&mut self, holder: Person) -> Result<Vec<i64>, StoreError> {
        self.all(PLACES, &[name_of(holder).into()])
    }

    pub fn passkey(&mut self, credential_id: &str) -> Result<Option<Passkey>, StoreError> {
        self.optional(BY_CREDENTIAL, &[credential_id.into()])
    }

    /// The same, locked until this transaction ends.
    pub fn passkey_to_change(
        &mut self,
        credential_id: &str,
    ) -> Result<Option<Passkey>, StoreError> {
        self.optional_locked(BY_CREDENTIAL, &[credential_id.into()])
    }

    pub fn passkey_used(
        &mut self,
        id: PasskeyId,
        counter: i64,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute_one(USED, &[id.into(), counter.into(), now.into()])
    }

    /// False if the holder has no such passkey.
    pub fn remove_passkey(&mut self, holder: Person, id: PasskeyId) -> Result<bool, StoreError> {
        Ok(self.execute(REMOVE, &[name_of(holder).into(), id.into()])? == 1)
    }

    /// How many there were.
    pub fn drop_passkeys(&mut self, holder: Person) -> Result<u64, StoreError> {
        self.execute(DROP, &[name_of(holder).into()])
    }

    pub fn add_challenge(&mut self, challenge: &Challenge) -> Result<(), StoreError> {
        self.defer(ADD_CHALLENGE, &challenge_values(challenge))
    }

    /// Takes a challenge away: it is answered once, rightly or not.
    pub fn take_challenge(&mut self, id: ChallengeId) -> Result<Option<Challenge>, StoreError> {
        self.optional(TAKE_CHALLENGE, &[id.into()])
    }

    /// Deletes a batch of challenges that have expired; returns how many.
    pub fn prune_challenges(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE_CHALLENGES, &[now.into()])
    }
}

fn whose(name: String) -> Result<Person, StoreError> {
    holder_of(&name).ok_or_else(|| StoreError::Failed("malformed holder of a passkey".into()))
}

fn whose_if_known(name: Option<String>) -> Result<Option<Person>, StoreError> {
    name.map(whose).transpose()
}

fn key(algorithm: Algorithm, text: String) -> Result<PublicKey, StoreError> {
    let malformed = || StoreError::Failed("malformed key of a passkey".into());
    PublicKey::parse(algorithm, &text).ok_or_else(malformed)
}
