//! Ids and times of the examples.

use crate::domain::{
    AccountId, AdminKeyId, ApiKeyId, EventId, NotificationId, ProofId, PushSubscriptionId,
    QueueItemId, QuoteId, TaskId, Timestamp, VerificationFileId, WorkerId,
};

/// 2026-11-15T08:10:00.000Z
pub const SIGNED_UP: Timestamp = Timestamp::from_millis(1_794_730_200_000);
/// 2026-11-15T09:30:00.123Z
pub const CREATED: Timestamp = Timestamp::from_millis(1_794_735_000_123);
/// 2026-11-15T09:30:04.512Z
pub const PAID: Timestamp = Timestamp::from_millis(1_794_735_004_512);
/// 2026-11-15T10:01:33.000Z
pub const TAKEN: Timestamp = Timestamp::from_millis(1_794_736_893_000);
/// 2026-11-15T10:02:41.870Z
pub const SUBMITTED: Timestamp = Timestamp::from_millis(1_794_736_961_870);
/// 2026-11-15T10:20:08.400Z
pub const REVIEWED: Timestamp = Timestamp::from_millis(1_794_738_008_400);

macro_rules! ids {
    ($($name:ident: $kind:ident = $digits:literal;)+) => { $(
        pub fn $name() -> $kind {
            let (at, random) = time_and_random($digits);
            $kind::new(at, &random)
        }
    )+ };
}

ids! {
    account_id: AccountId = 0x019a85702b4e7d31a2c4e6f801234567;
    admin_key_id: AdminKeyId = 0x019a85702b4e7f02b1d3c5e7f9012346;
    document_id: VerificationFileId = 0x019a85cfe0017a10b2c3d4e5f6071829;
    event_id: EventId = 0x019a8574c1f17a52b6c7d8e9f0a1b2c3;
    key_id: ApiKeyId = 0x019a85702b4e7f02b1d3c5e7f9012345;
    notification_id: NotificationId = 0x019a85d0aa517d10b2c3d4e5f607182a;
    proof_id: ProofId = 0x019a85c2aa517d10b2c3d4e5f6071829;
    quote_id: QuoteId = 0x019a8574b2d07c2e9d1b3a5f60718293;
    review_item_id: QueueItemId = 0x019a85d0aa517d10b2c3d4e5f6071829;
    subscription_id: PushSubscriptionId = 0x019a85a1d2c37b44a1b2c3d4e5f60719;
    task_id: TaskId = 0x019a8574c1f07c2e9d1b3a5f60718293;
    worker_id: WorkerId = 0x019a85a1d2c37b44a1b2c3d4e5f60718;
}

/// The parts from which an id is made.
fn time_and_random(digits: u128) -> (Timestamp, [u8; 10]) {
    let bytes = digits.to_be_bytes();
    let millis = bytes[..6]
        .iter()
        .fold(0, |sum, byte| sum << 8 | i64::from(*byte));
    (
        Timestamp::from_millis(millis),
        std::array::from_fn(|place| bytes[6 + place]),
    )
}

/// What a secret is made from.
pub fn secret_bytes() -> [u8; 32] {
    std::array::from_fn(|place| place as u8)
}
