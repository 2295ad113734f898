//! Sessions of people on the pages. The token is never here, only its hash.

use crate::domain::people::session::{MAX_FOR_PERSON, Origin, Session};
use crate::domain::{Person, SessionId, Timestamp};
use crate::store::people::person;
use crate::store::{Lookup, StoreError, Tx, columns};

columns! {
    macro session;
    table sessions;
    fn session_values<'a>(session: &'a Session, token_hash: &'a str);
    columns {
        id: session.id,
        person_kind: session.person.kind(),
        person_id: session.person.id(),
        created_at: session.created_at,
        signed_in_at: session.signed_in_at,
        last_seen_at: session.last_seen_at,
        expires_at: session.expires_at,
        ends_at: session.ends_at,
        address: session.origin.address(),
        user_agent: session.origin.user_agent(),
        second_factor: session.second_factor,
    }
    inserted { token_hash: token_hash }
    row Session = Session {
        id,
        person: person(person_kind, person_id)?,
        created_at,
        signed_in_at,
        last_seen_at,
        expires_at,
        ends_at,
        origin: origin(address, user_agent),
        second_factor,
    };
}

crate::store::statements! {
    ADD = session!(insert);
    BY_TOKEN = concat!("SELECT ", session!(columns), " FROM sessions
        WHERE token_hash = ?1 AND expires_at > ?2");
    OF_PERSON = concat!("SELECT ", session!(columns), " FROM sessions
        WHERE person_kind = ?1 AND person_id = ?2 AND expires_at > ?3 ORDER BY id DESC LIMIT ?4");
    SEEN = "UPDATE sessions SET last_seen_at = ?2, expires_at = ?3
        WHERE id = ?1 AND last_seen_at < ?2";
    MARK = "UPDATE sessions SET second_factor = 1 WHERE token_hash = ?1";
    UNMARK = "UPDATE sessions SET second_factor = 0 WHERE person_kind = ?1 AND person_id = ?2";
    SIGNED_IN = "UPDATE sessions SET signed_in_at = ?2 WHERE id = ?1";
    REVOKE = "DELETE FROM sessions WHERE person_kind = ?1 AND person_id = ?2 AND id = ?3";
    REVOKE_OTHERS = "DELETE FROM sessions WHERE person_kind = ?1 AND person_id = ?2 AND id <> ?3";
    PRUNE = "DELETE FROM sessions WHERE id IN (
            SELECT id FROM sessions WHERE expires_at <= ?1 ORDER BY expires_at LIMIT 500)";
}

impl Lookup<Session> {
    /// The session with this token, if it has not ended.
    pub fn session(token_hash: String, now: Timestamp) -> Self {
        Self::new(BY_TOKEN, vec![token_hash.into(), now.into()])
    }
}

impl Tx<'_> {
    pub fn add_session(&mut self, session: &Session, token_hash: &str) -> Result<(), StoreError> {
        self.defer(ADD, &session_values(session, token_hash))
    }

    pub fn session_by_token(
        &mut self,
        token_hash: &str,
        now: Timestamp,
    ) -> Result<Option<Session>, StoreError> {
        self.optional(BY_TOKEN, &[token_hash.into(), now.into()])
    }

    /// The sessions of a person that have not ended, newest first.
    pub fn sessions_of(
        &mut self,
        person: Person,
        now: Timestamp,
    ) -> Result<Vec<Session>, StoreError> {
        let (kind, id) = (person.kind().into(), person.id().into());
        self.all(OF_PERSON, &[kind, id, now.into(), MAX_FOR_PERSON.into()])
    }

    /// Writes when a session was last used. Nothing, if it has ended or was used later.
    pub fn session_seen(&mut self, session: &Session) -> Result<(), StoreError> {
        let (seen, expires) = (session.last_seen_at.into(), session.expires_at.into());
        self.defer(SEEN, &[session.id.into(), seen, expires])
    }

    /// A factor was given in this session. False if there is none.
    pub fn mark_session(&mut self, token_hash: &str) -> Result<bool, StoreError> {
        Ok(self.execute(MARK, &[token_hash.into()])? == 1)
    }

    /// A factor that is gone was given in no session.
    pub fn unmark_sessions(&mut self, person: Person) -> Result<(), StoreError> {
        self.defer(UNMARK, &[person.kind().into(), person.id().into()])
    }

    /// The password was given again. False when the session has ended.
    pub fn session_signed_in(&mut self, id: SessionId, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(SIGNED_IN, &[id.into(), now.into()])? == 1)
    }

    /// False when the person has no such session.
    pub fn revoke_session(&mut self, person: Person, id: SessionId) -> Result<bool, StoreError> {
        let values = [person.kind().into(), person.id().into(), id.into()];
        Ok(self.execute(REVOKE, &values)? == 1)
    }

    /// Ends all sessions of a person but one, if one is named.
    pub fn revoke_sessions(
        &mut self,
        person: Person,
        except: Option<SessionId>,
    ) -> Result<(), StoreError> {
        let kept = except.map(|id| id.to_string()).unwrap_or_default();
        let values = [person.kind().into(), person.id().into(), kept.into()];
        self.defer(REVOKE_OTHERS, &values)
    }

    /// Deletes a batch of sessions that have ended; returns how many.
    pub fn prune_sessions(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[now.into()])
    }
}

fn origin(address: String, user_agent: String) -> Origin {
    Origin::new(&address, &user_agent)
}
