//! Soon.

use crate::pages::routes::PageRoute;

pub fn routes() -> Vec<PageRoute> {
    Vec::new()
}
