//! Quotes, with the tasks that they are for.

pub(super) mod coverage;

use crate::domain::quotes::{GOOD_FOR, Redeemed};
use crate::domain::tasks::Location;
use crate::domain::{ApiKeyId, NewTask, Owner, Quote, QuoteId, TaskId, Timestamp};
use crate::store::{StoreError, Tx, Value, columns};

columns! {
    macro quote;
    table quotes;
    fn quote_values<'a>(quote: &'a Quote, kept_until: Timestamp);
    columns {
        id: quote.id,
        account_id: quote.owner.account,
        environment: quote.owner.environment,
        key_id: quote.bound_to,
        fee_percent: quote.fee_percent,
        title: &quote.new.title,
        description: &quote.new.description,
        instructions: &quote.new.instructions,
        category: quote.new.category,
        required_skills: &quote.new.required_skills,
        location_address: &quote.new.location.address,
        location_city: &quote.new.location.city,
        location_state: &quote.new.location.state,
        location_latitude: quote.new.location.latitude,
        location_longitude: quote.new.location.longitude,
        budget_cents: quote.new.budget_cents,
        task_type: quote.new.task_type,
        priority: quote.new.priority,
        deadline: quote.new.deadline,
        proof_types: &quote.new.proof_types,
        metadata: &quote.new.metadata,
        body: &quote.body,
        expires_at: quote.expires_at,
        task_id: quote.redeemed.as_ref().map(|redeemed| redeemed.task),
        answer: quote.redeemed.as_ref().map(|redeemed| &redeemed.answer),
        gave_secret: quote.redeemed.as_ref().is_some_and(|redeemed| redeemed.gave_secret),
    }
    inserted { kept_until: kept_until }
    row Quote = Quote {
        id,
        owner: Owner { account: account_id, environment },
        bound_to: key_id,
        fee_percent,
        new: NewTask {
            title,
            description,
            instructions,
            category,
            required_skills,
            location: Location {
                address: location_address,
                city: location_city,
                state: location_state,
                latitude: location_latitude,
                longitude: location_longitude,
            },
            budget_cents,
            task_type,
            priority,
            deadline,
            proof_types,
            metadata,
            quoted_fee_percent: None,
        },
        body,
        expires_at,
        redeemed: redeemed(task_id, answer, gave_secret),
    };
}

crate::store::statements! {
    INSERT = quote!(insert);
    /// The owner is compared as an expression, which has no index: the id finds the row.
    ONE = concat!("SELECT ", quote!(columns), " FROM quotes
        WHERE id = ?1 AND account_id || '' = ?2 AND environment || '' = ?3");
    /// No more than may be open.
    OPEN = "SELECT COUNT(*), MIN(expires_at) FROM (SELECT expires_at FROM quotes
        WHERE account_id = ?1 AND environment = ?2 AND key_id IS NULL AND task_id IS NULL AND expires_at > ?3
        LIMIT 200) found";
    OPEN_OF_KEY = "SELECT COUNT(*), MIN(expires_at) FROM (SELECT expires_at FROM quotes
        WHERE account_id = ?1 AND environment = ?2 AND key_id = ?4 AND task_id IS NULL AND expires_at > ?3
        LIMIT 200) found";
    /// Those of a test clock that was ahead.
    CLOSE_AHEAD = "UPDATE quotes SET expires_at = ?3
        WHERE account_id = ?1 AND environment = ?2 AND task_id IS NULL AND expires_at > ?4";
    REDEEM = "UPDATE quotes SET task_id = ?2, answer = ?3, gave_secret = ?4, kept_until = ?5
        WHERE id = ?1 AND task_id IS NULL";
    PRUNE = "DELETE FROM quotes WHERE id IN (
            SELECT id FROM quotes WHERE kept_until <= ?1 ORDER BY kept_until LIMIT 500)";
}

/// What was answered to whoever redeemed a quote.
fn redeemed(task: Option<TaskId>, answer: Option<String>, gave_secret: bool) -> Option<Redeemed> {
    let (task, answer) = task.zip(answer)?;
    Some(Redeemed {
        task,
        answer,
        gave_secret,
    })
}

impl Tx<'_> {
    pub fn insert_quote(&mut self, quote: &Quote, kept_until: Timestamp) -> Result<(), StoreError> {
        self.defer(INSERT, &quote_values(quote, kept_until))
    }

    pub fn quote(&mut self, owner: Owner, id: QuoteId) -> Result<Option<Quote>, StoreError> {
        self.optional(ONE, &one(owner, id))
    }

    /// The quote, locked until this transaction ends. It is locked before everything else.
    pub fn quote_to_redeem(
        &mut self,
        owner: Owner,
        id: QuoteId,
    ) -> Result<Option<Quote>, StoreError> {
        self.optional_locked(ONE, &one(owner, id))
    }

    /// How many quotes can be redeemed at that time, and when the first of them expires: those of a key with a mandate,
    /// or of all keys of an owner without one.
    pub fn open_quotes(
        &mut self,
        owner: Owner,
        limited: Option<ApiKeyId>,
        now: Timestamp,
    ) -> Result<(i64, Option<Timestamp>), StoreError> {
        let mut values = crate::store::owned_by(owner);
        values.push(now.into());
        let found = match limited {
            None => self.optional(OPEN, &values)?,
            Some(key) => {
                values.push(key.into());
                self.optional(OPEN_OF_KEY, &values)?
            }
        };
        Ok(found.unwrap_or_default())
    }

    /// Ends the quotes that a test clock has made for a time to come, after it was set back.
    pub fn close_quotes_ahead(&mut self, owner: Owner, now: Timestamp) -> Result<(), StoreError> {
        let mut values = crate::store::owned_by(owner);
        values.extend([now.into(), now.plus(GOOD_FOR).into()]);
        self.defer(CLOSE_AHEAD, &values)
    }

    /// Records the task of a quote that this transaction has locked.
    pub fn quote_redeemed(
        &mut self,
        id: QuoteId,
        redeemed: &Redeemed,
        kept_until: Timestamp,
    ) -> Result<(), StoreError> {
        let values = [
            id.into(),
            redeemed.task.into(),
            (&redeemed.answer).into(),
            redeemed.gave_secret.into(),
            kept_until.into(),
        ];
        self.change_locked(REDEEM, &values)
    }

    /// Deletes a batch of quotes that are kept no longer; returns how many.
    pub fn prune_quotes(&mut self, now: Timestamp) -> Result<u64, StoreError> {
        self.execute(PRUNE, &[now.into()])
    }
}

fn one(owner: Owner, id: QuoteId) -> [Value<'static>; 3] {
    [id.into(), owner.account.into(), owner.environment.into()]
}
