//! Soon.

use crate::pages::kit::route::PageRoute;

pub fn routes() -> Vec<PageRoute> {
    Vec::new()
}
