//! Seals what an older program wrote as plain text.

use crate::store::{SEALED_COLUMNS, SealedColumn, StoreError, Tx};

/// How many texts are sealed in one transaction.
const AT_ONCE: usize = 200;

/// Seals some of the texts that an older program wrote. Returns whether there may be more. Several
/// servers may do this at the same time.
pub fn seal_plain_texts(tx: &mut Tx<'_>) -> Result<bool, StoreError> {
    for column in SEALED_COLUMNS {
        let plain = tx.plain_texts(*column, AT_ONCE as i64)?;
        let sealed = reseal_all(tx, *column, &plain)?;
        if sealed == AT_ONCE {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns how many were not sealed under the current key before.
fn reseal_all(
    tx: &mut Tx<'_>,
    column: SealedColumn,
    texts: &[(String, String)],
) -> Result<usize, StoreError> {
    let mut resealed = 0;
    for (id, stored) in texts {
        if tx.reseal(column, id, stored)? {
            resealed += 1;
        }
    }
    Ok(resealed)
}
