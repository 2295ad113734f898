//! What pages need.

use std::sync::Arc;

use crate::api::App;
use crate::api::inside::Inside;
use crate::domain::MapTiles;
use crate::sign_in::SignIns;

#[derive(Clone)]
pub struct Pages {
    pub app: App,
    /// The API, asked without HTTP.
    pub api: Inside,
    /// Every request has a copy of all this, so it is shared.
    pub sign_ins: Arc<SignIns>,
}

impl Pages {
    pub fn new(app: &App) -> Self {
        Self {
            app: app.clone(),
            api: Inside::new(app),
            sign_ins: Arc::new(app.sign_ins()),
        }
    }

    /// What lies under maps, if the operator has named it.
    pub fn tiles(&self) -> Option<&MapTiles> {
        self.app.pages.tiles.as_ref()
    }

    /// Pages say that no money moves if the processor is the sandbox.
    pub fn banner(&self) -> bool {
        self.app.sandbox_banner && self.app.payments.sandbox.is_some()
    }
}
