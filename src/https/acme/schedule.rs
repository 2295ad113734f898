//! When to order next.

use std::time::Duration;

use crate::domain::Timestamp;

const FIRST_RETRY: Duration = Duration::from_secs(2 * 60);
const LONGEST_RETRY: Duration = Duration::from_secs(6 * 60 * 60);
/// An authority may ask for more patience than that, but not for ever.
const LONGEST_ASKED: Duration = Duration::from_secs(24 * 60 * 60);
/// A certificate that ends at once, or a clock that is wrong, must not make us order in a loop.
const LEAST_BETWEEN: Duration = Duration::from_secs(60 * 60);

/// When a certificate is to be renewed: with a third of its lifetime left, or up to a thirtieth of
/// it earlier. `random` spreads the orders of many services.
pub fn renewal(
    not_before: Timestamp,
    not_after: Timestamp,
    now: Timestamp,
    random: u16,
) -> Timestamp {
    let lifetime = not_after.since(not_before);
    let earlier = part(lifetime / 30, random);
    let renewal = not_after.minus(lifetime / 3 + earlier);
    renewal.max(now.plus(LEAST_BETWEEN))
}

/// How long to wait after so many failures in a row, this one included: 2, 6, 18, 54 minutes, then
/// hours, and up to a tenth more. The fifth failure within an hour would make some authorities
/// refuse us for the rest of it.
pub fn retry(failures: i64, asked: Option<Duration>, random: u16) -> Duration {
    let steps = u32::try_from(failures - 1).unwrap_or(0).min(10);
    let wait = (FIRST_RETRY * 3_u32.pow(steps)).min(LONGEST_RETRY);
    let asked = asked.unwrap_or_default().min(LONGEST_ASKED);
    (wait + part(wait / 10, random)).max(asked)
}

fn part(whole: Duration, random: u16) -> Duration {
    whole * u32::from(random) / u32::from(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn a_certificate_is_renewed_when_a_third_of_its_lifetime_is_left() {
        let start = Timestamp::from_millis(1_794_700_000_000);
        let renewed =
            |days: u32, random| renewal(start, start.plus(DAY * days), start, random).since(start);
        assert_eq!(renewed(90, 0), DAY * 60);
        assert_eq!(renewed(90, u16::MAX), DAY * 57);
        assert_eq!(renewed(6, 0), DAY * 4);
        assert_eq!(renewed(0, 0), HOUR);
        // Our clock is far ahead: the certificate seems to have ended.
        let now = start.plus(DAY * 400);
        assert_eq!(renewal(start, start.plus(DAY * 90), now, 7), now.plus(HOUR));
    }

    #[test]
    fn failures_are_followed_by_ever_longer_waits() {
        let minutes = |failures| retry(failures, None, 0).as_secs() / 60;
        assert_eq!([1, 2, 3, 4, 5, 6].map(minutes), [2, 6, 18, 54, 162, 360]);
        assert_eq!(minutes(1_000_000), 360);
        assert_eq!(minutes(0), 2);
        assert_eq!(retry(1, None, u16::MAX).as_secs(), 132);
        let asked = |wait| retry(1, Some(wait), 0);
        assert_eq!(asked(HOUR * 3), HOUR * 3);
        assert_eq!(asked(Duration::from_secs(1)), FIRST_RETRY);
        assert_eq!(asked(DAY * 30), DAY);
    }
}
