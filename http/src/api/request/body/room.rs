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
/// What those who are known may hold beside the first body of each, and those of one network.
const KNOWN: Size = Size(48 << 20, 24 << 20);
/// What an account may hold in all.
const OF_ACCOUNT: usize = 12 << 20;
/// So much an account has whatever others hold: the largest body, and a request that waits for it.
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

/// In bytes: of a room, and of what one network may have of it.
#[derive(Clone, Copy)]
struct Size(usize, usize);

/// Cheap to clone.
#[derive(Clone)]
pub struct Room(Arc<Rooms>);

struct Rooms {
    strangers: Pool,
    known: Pool,
    /// For accounts that hold nothing else.
    first: Arc<Semaphore>,
    by_account: Places<AccountId>,
}

struct Pool {
    free: Arc<Semaphore>,
    waiters: Semaphore,
    most_to_network: usize,
    by_network: Places<Network>,
}

/// Who sends a body: from where, and for whom if that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Sender {
    network: Network,
    account: Option<AccountId>,
}

impl Default for Room {
    fn default() -> Self {
        Self::new(STRANGERS, KNOWN)
    }
}

impl Room {
    fn new(strangers: Size, known: Size) -> Self {
        Self(Arc::new(Rooms {
            strangers: Pool::new(strangers),
            known: Pool::new(known),
            first: Arc::new(Semaphore::new(FIRST_OF_ALL)),
            by_account: Places::default(),
        }))
    }

    async fn take(&self, sender: Sender, bytes: usize) -> Result<Taken, ApiError> {
        let Some(account) = sender.account else {
            return self.0.strangers.take(sender.network, bytes).await;
        };
        let place = self.0.by_account.take_some(account, bytes, OF_ACCOUNT);
        let place = place.ok_or(TOO_MUCH)?;
        let is_first = self.0.by_account.held(account) <= FIRST_BYTES;
        let first = is_first.then(|| self.0.first.clone().try_acquire_many_owned(permits(bytes)));
        let taken = match first {
            Some(Ok(permit)) => Taken::from(permit),
            _ => self.0.known.take(sender.network, bytes).await?,
        };
        Ok(Taken {
            _account: Some(place),
            ..taken
        })
    }
}

/// The sender holds as much as anybody may.
const TOO_MUCH: ApiError = ApiError::RateLimited {
    retry_after_seconds: 5,
};

fn permits(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

impl Pool {
    fn new(Size(all, most_to_network): Size) -> Self {
        Self {
            free: Arc::new(Semaphore::new(all)),
            waiters: Semaphore::new(WAITING),
            most_to_network,
            by_network: Places::default(),
        }
    }

    async fn take(&self, network: Network, bytes: usize) -> Result<Taken, ApiError> {
        let place = self
            .by_network
            .take_some(network, bytes, self.most_to_network);
        let place = place.ok_or(TOO_MUCH)?;
        let permit = match self.free.clone().try_acquire_many_owned(permits(bytes)) {
            Ok(permit) => permit,
            Err(_) => self.wait(permits(bytes)).await?,
        };
        Ok(Taken {
            _network: Some(place),
            ..Taken::from(permit)
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
    _account: Option<Place<AccountId>>,
    _network: Option<Place<Network>>,
    _permit: OwnedSemaphorePermit,
}

impl From<OwnedSemaphorePermit> for Taken {
    fn from(permit: OwnedSemaphorePermit) -> Self {
        Self {
            _account: None,
            _network: None,
            _permit: permit,
        }
    }
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
            sender: Sender {
                network: client.network(),
                account: None,
            },
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
        claim.sender.account = Some(account);
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

    fn network(number: u8) -> Network {
        ClientAddress::from(IpAddr::from([192, 0, 2, number])).network()
    }

    fn stranger(from: u8) -> Sender {
        Sender {
            network: network(from),
            account: None,
        }
    }

    fn known(number: u8, from: u8) -> Sender {
        Sender {
            network: network(from),
            account: Some(account(number)),
        }
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
        (extensions, move || {
            free.0.strangers.free.available_permits()
        })
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
        let known = room.take(known(1, 1), FIRST_BYTES);
        assert!(known.now_or_never().is_some_and(|taken| taken.is_ok()));
        drop(held);
        assert!(room.take(stranger(99), most).await.is_ok());
    }

    #[tokio::test]
    async fn an_account_has_a_part_and_another_one_body_in_any_case() {
        let room = Room::default();
        let take = |number, bytes| room.take(known(number, number), bytes);
        let mut held = Vec::new();
        for number in 0..(KNOWN.0 / OF_ACCOUNT) as u8 {
            held.push(take(number, OF_ACCOUNT).await.unwrap());
            assert_eq!(code(take(number, 1).await), Some(ErrorCode::RateLimited));
        }
        // Piece by piece, as bodies come.
        let _half = take(99, FIRST_BYTES / 2).await.unwrap();
        let _rest = take(99, FIRST_BYTES / 2).await.unwrap();
        assert!(take(99, 1).now_or_never().is_none(), "it waits");
        drop(held);
        assert!(take(99, 1).await.is_ok());
    }

    #[tokio::test]
    async fn many_accounts_of_one_network_keep_out_nobody() {
        let room = Room::default();
        let take = |number, from, bytes| room.take(known(number, from), bytes);
        let mut held = Vec::new();
        for number in 0..(KNOWN.1 / OF_ACCOUNT) as u8 {
            held.push(take(number, 1, OF_ACCOUNT).await.unwrap());
        }
        let more = take(98, 1, FIRST_BYTES + 1).await;
        assert_eq!(code(more), Some(ErrorCode::RateLimited));
        // But for its first body, which each account has.
        assert!(take(98, 1, FIRST_BYTES).await.is_ok());
        assert!(take(99, 2, OF_ACCOUNT).await.is_ok());
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
        assert_eq!(room.0.strangers.free.available_permits(), most);
    }

    #[test]
    fn who_is_known_is_no_longer_a_stranger() {
        let room = Room::default();
        let mut request = claim(&room, None);
        note_known(&mut request, account(1));
        let sender = request.get::<Claim>().map(|claim| claim.sender);
        assert_eq!(sender, Some(known(1, 1)));
        note_known(&mut Extensions::new(), account(1));
    }
}
