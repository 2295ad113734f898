//! How much memory bodies hold that are on their way, and requests that wait for one.
//!
//! Whoever sends a body decides how long that takes. So strangers have a room of their own, and nobody has more than a
//! part of a room.

use std::sync::Arc;
use std::time::Duration;

use axum::body::HttpBody;
use axum::extract::Request;
use axum::http::Extensions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::api::error::ApiError;
use crate::api::server::FirstToWait;
use crate::domain::AccountId;
use crate::limits::{ClientAddress, Network, Place, Places};

/// What all strangers together may hold, and those of one network.
const STRANGERS: Size = Size(16 << 20, 2 << 20);
/// What all may hold who are known, and one of them.
const KNOWN: Size = Size(48 << 20, 12 << 20);
/// So much everybody gets who is known and holds nothing else, even if others hold all that there is: the largest body,
/// and a request that waits for it.
const FIRST_BYTES: usize = 320 << 10;
/// Of that, all together. Whoever has many accounts does not have more.
const FIRST_OF_ALL: usize = 48 << 20;
/// How long a body waits for room.
const ROOM_WITHIN: Duration = Duration::from_secs(1);
/// How many wait for room at the same time. Each holds what its connection has read, so there must not be any number of
/// them.
const WAITING: usize = 64;
/// What a request takes that waits for its body, its head aside: its state, and what comes of a body without asking.
const REQUEST_BYTES: usize = 32 << 10;
/// What a header takes beside its name and its value, in a map that has grown.
const HEADER_BYTES: usize = 200;

/// In bytes: of a room, and of what one may have of it.
#[derive(Clone, Copy)]
struct Size(usize, usize);

/// Cheap to clone.
#[derive(Clone)]
pub struct Room(Arc<(Pool, Pool)>);

struct Pool {
    free: Arc<Semaphore>,
    /// For those who hold nothing else.
    first: Arc<Semaphore>,
    waiters: Semaphore,
    most_to_one: usize,
    by_sender: Places<Sender>,
}

/// Who sends a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Sender {
    Stranger(Network),
    Known(AccountId),
}

impl Default for Room {
    fn default() -> Self {
        Self::new(STRANGERS, KNOWN)
    }
}

impl Room {
    fn new(strangers: Size, known: Size) -> Self {
        Self(Arc::new((Pool::new(strangers), Pool::new(known))))
    }

    async fn take(&self, sender: Sender, bytes: usize) -> Result<Taken, ApiError> {
        let (strangers, known) = &*self.0;
        match sender {
            Sender::Stranger(_) => strangers.take(sender, bytes, 0).await,
            Sender::Known(_) => known.take(sender, bytes, FIRST_BYTES).await,
        }
    }
}

impl Pool {
    fn new(Size(all, most_to_one): Size) -> Self {
        Self {
            free: Arc::new(Semaphore::new(all)),
            first: Arc::new(Semaphore::new(FIRST_OF_ALL)),
            waiters: Semaphore::new(WAITING),
            most_to_one,
            by_sender: Places::default(),
        }
    }

    /// Whoever holds no more than `anyway` with this gets it from what is kept for those when there is no room.
    async fn take(&self, sender: Sender, bytes: usize, anyway: usize) -> Result<Taken, ApiError> {
        let place = self.by_sender.take_some(sender, bytes, self.most_to_one);
        let place = place.ok_or(ApiError::RateLimited {
            retry_after_seconds: 5,
        })?;
        let permits = u32::try_from(bytes).unwrap_or(u32::MAX);
        let first = || {
            let is_first = self.by_sender.held(sender) <= anyway;
            let first = is_first.then(|| self.first.clone().try_acquire_many_owned(permits));
            first?.ok()
        };
        let free = self.free.clone().try_acquire_many_owned(permits).ok();
        let permit = match free.or_else(first) {
            Some(permit) => permit,
            None => self.wait(permits).await?,
        };
        Ok(Taken {
            _place: place,
            _permit: permit,
        })
    }

    async fn wait(&self, permits: u32) -> Result<OwnedSemaphorePermit, ApiError> {
        let _waiter = self.waiters.try_acquire().map_err(|_| ApiError::Busy)?;
        let permit = self.free.clone().acquire_many_owned(permits);
        let permit = tokio::time::timeout(ROOM_WITHIN, permit).await;
        permit
            .map_err(|_| ApiError::Busy)?
            .map_err(|_| ApiError::Busy)
    }
}

/// A part of a room. Dropping it gives it back.
struct Taken {
    _place: Place<Sender>,
    _permit: OwnedSemaphorePermit,
}

/// On every request with a body: for whom it counts, and how much of it.
#[derive(Clone)]
pub struct Claim {
    room: Room,
    sender: Sender,
    /// With HTTP/2, whose connections have many requests: whether it is the first, and what it takes if it is not.
    beside: Option<(FirstToWait, usize)>,
}

impl Claim {
    /// Everybody is a stranger at first.
    pub fn put_on(request: &mut Request, room: &Room, client: ClientAddress) {
        if request.body().is_end_stream() {
            return;
        }
        let first = request.extensions().get::<FirstToWait>().cloned();
        let claim = Self {
            room: room.clone(),
            sender: Sender::Stranger(client.network()),
            beside: first.map(|first| (first, REQUEST_BYTES + head_bytes(request))),
        };
        request.extensions_mut().insert(claim);
    }
}

/// What the head of a request takes. Only a little of it may have been sent: HTTP/2 packs what is repeated.
fn head_bytes(request: &Request) -> usize {
    let headers = request.headers().iter();
    let headers = headers.map(|(name, value)| name.as_str().len() + value.len() + HEADER_BYTES);
    // The log line has a copy of the path.
    let target = request.uri().path_and_query();
    let target = 2 * target.map_or(0, |target| target.as_str().len());
    headers.sum::<usize>() + target
}

/// Notes that a request is of somebody with an account. Workers and admins have accounts of their own here.
pub fn note_known(request: &mut Extensions, account: AccountId) {
    if let Some(claim) = request.get_mut::<Claim>() {
        claim.sender = Sender::Known(account);
    }
}

/// What a request holds while its body comes. Without a claim there was nothing to wait for, and nothing counts.
pub struct Holding<'a> {
    claim: Option<&'a Claim>,
    taken: Vec<Taken>,
    first: Option<OwnedSemaphorePermit>,
    waits: bool,
}

impl<'a> Holding<'a> {
    pub fn of(request: &'a Extensions) -> Self {
        Self {
            claim: request.get(),
            taken: Vec::new(),
            first: None,
            waits: false,
        }
    }

    /// Asks whether the request may wait for its body.
    pub async fn wait(&mut self) -> Result<(), ApiError> {
        if std::mem::replace(&mut self.waits, true) {
            return Ok(());
        }
        let Some((first, bytes)) = self.claim.and_then(|claim| claim.beside.as_ref()) else {
            return Ok(());
        };
        self.first = first.take();
        match self.first {
            Some(_) => Ok(()),
            None => self.add(*bytes).await,
        }
    }

    /// Adds to what the request holds.
    pub async fn add(&mut self, bytes: usize) -> Result<(), ApiError> {
        if let (Some(claim), 1..) = (self.claim, bytes) {
            self.taken.push(claim.room.take(claim.sender, bytes).await?);
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod tests {
    use std::convert::Infallible;
    use std::net::IpAddr;

    use axum::body::Body;
    use futures_util::FutureExt;

    use super::*;
    use crate::api::error::codes::ErrorCode;
    use crate::domain::Timestamp;

    fn account(number: u8) -> AccountId {
        AccountId::new(Timestamp::from_millis(1), &[number; 10])
    }

    fn stranger(network: u8) -> Sender {
        let client = ClientAddress::from(IpAddr::from([192, 0, 2, network]));
        Sender::Stranger(client.network())
    }

    /// What a request has on it that comes to a room for so much of strangers.
    pub fn extensions(all: usize) -> (Extensions, impl Fn() -> usize) {
        let room = Room::new(Size(all, all), Size(0, 0));
        let free = room.clone();
        let mut extensions = Extensions::new();
        extensions.insert(Claim {
            room,
            sender: stranger(1),
            beside: None,
        });
        (extensions, move || free.0.0.free.available_permits())
    }

    fn code<T>(taken: Result<T, ApiError>) -> Option<ErrorCode> {
        taken.err().map(|error| error.code())
    }

    #[tokio::test]
    async fn a_network_has_a_part_and_strangers_together_keep_out_nobody_who_is_known() {
        let room = Room::default();
        let Size(all, most) = STRANGERS;
        let mut held = Vec::new();
        for network in 0..(all / most) as u8 {
            held.push(room.take(stranger(network), most).await.unwrap());
            let more = room.take(stranger(network), 1).await;
            assert_eq!(code(more), Some(ErrorCode::RateLimited));
        }
        let waits = room.take(stranger(99), 1).now_or_never();
        assert!(waits.is_none());
        let known = room.take(Sender::Known(account(1)), FIRST_BYTES);
        assert!(known.now_or_never().is_some_and(|taken| taken.is_ok()));
        drop(held);
        assert!(room.take(stranger(99), most).await.is_ok());
    }

    #[tokio::test]
    async fn an_account_has_a_part_and_another_one_body_in_any_case() {
        let room = Room::default();
        let Size(all, most) = KNOWN;
        let take = |number, bytes| room.take(Sender::Known(account(number)), bytes);
        let mut held = Vec::new();
        for number in 0..(all / most) as u8 {
            held.push(take(number, most).await.unwrap());
            assert_eq!(code(take(number, 1).await), Some(ErrorCode::RateLimited));
        }
        // Piece by piece, as bodies come.
        let _half = take(99, FIRST_BYTES / 2).await.unwrap();
        let _rest = take(99, FIRST_BYTES / 2).await.unwrap();
        assert!(take(99, 1).now_or_never().is_none(), "it waits");
        drop(held);
        assert!(take(99, 1).await.is_ok());
    }

    /// A request of a connection with a header of a few kilobytes.
    fn claim(room: &Room, connection: Option<&FirstToWait>) -> Extensions {
        let mut request = Request::post("/v1/tasks").header("x", "x".repeat(4_000));
        if let Some(first) = connection {
            request = request.extension(first.clone());
        }
        let body = Body::from_stream(futures_util::stream::pending::<Result<&str, Infallible>>());
        let mut request = request.body(body).unwrap();
        let client = IpAddr::from([192, 0, 2, 1]).into();
        Claim::put_on(&mut request, room, client);
        request.into_parts().0.extensions
    }

    #[tokio::test]
    async fn the_first_that_waits_costs_nothing_and_the_others_their_heads() {
        let most = 3 * (REQUEST_BYTES + 4_000 + HEADER_BYTES);
        let room = Room::new(Size(most, most), Size(0, 0));
        let first = FirstToWait::default();
        let waiting: Vec<_> = (0..4).map(|_| claim(&room, Some(&first))).collect();
        let mut held: Vec<_> = waiting.iter().map(Holding::of).collect();
        // The path is in it as well, so the fourth does not fit.
        for (number, holding) in held.iter_mut().enumerate() {
            let refused = (number == 3).then_some(ErrorCode::RateLimited);
            assert_eq!(code(holding.wait().await), refused);
            // Only once.
            assert!(holding.wait().await.is_ok());
        }
        let plain = claim(&room, None);
        assert!(Holding::of(&plain).wait().await.is_ok());
        let other = claim(&room, Some(&FirstToWait::default()));
        assert!(Holding::of(&other).wait().await.is_ok());
        drop(held);
        assert_eq!(room.0.0.free.available_permits(), most);
    }

    #[test]
    fn who_is_known_is_no_longer_a_stranger() {
        let room = Room::default();
        let mut request = claim(&room, None);
        note_known(&mut request, account(1));
        let sender = request.get::<Claim>().map(|claim| claim.sender);
        assert_eq!(sender, Some(Sender::Known(account(1))));
        note_known(&mut Extensions::new(), account(1));
    }
}
