//! Somebody asks for a link. Whoever asks learns nothing: the same job is written whether or not the
//! address is known, and the job finds out.

use crate::domain::{JobKind, JobName, LinkPurpose, PersonKind, Timestamp};
use crate::store::Tx;
use crate::usecases::UseCaseError;

/// `whom` is an id or an address, as the purpose needs. Asking again before the job has run changes
/// nothing.
pub fn request_link(
    tx: &mut Tx<'_>,
    purpose: LinkPurpose,
    kind: PersonKind,
    whom: &str,
    now: Timestamp,
) -> Result<(), UseCaseError> {
    let subject = format!("{purpose}/{kind}/{whom}");
    Ok(tx.add_job(&JobName::new(JobKind::SendLink, subject), now)?)
}
