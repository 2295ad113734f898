//! Idempotency-Keys of whoever signs up, and has no key or token yet.

use super::{Post, Requester};
use crate::ambient;
use crate::api::App;
use crate::api::error::ApiError;
use crate::domain::accounts::api_key::hex;
use crate::domain::people::SIGN_UP_SECRET;
use crate::domain::sha256::Sha256;
use crate::domain::{AccountId, Environment, Owner};
use crate::store::Tx;

/// The keys are scoped to what is done and to the address. Only the same request, password included, opens
/// the stored response.
pub async fn stranger(
    app: &App,
    what: &str,
    email: &str,
    post: Post,
) -> Result<(Requester, Post), ApiError> {
    let secret = if post.has_key() {
        let new = hex(&ambient::random::<32>());
        let kept = move |tx: &mut Tx<'_>| tx.service_secret(SIGN_UP_SECRET, &new);
        app.store.write(kept).await?
    } else {
        String::new()
    };
    let (post, key) = post.keyed(&secret);
    let hash = Sha256::digest(format!("{what}\n{email}"));
    let (scope, _) = hash.as_chunks::<16>();
    let owner = Owner {
        account: AccountId::of_stranger(scope[0]),
        environment: Environment::Live,
    };
    Ok((Requester { owner, key }, post))
}
