//! Which tools a key may use. A key without a mandate may use all, one that is paused or expired none but the one that says so.

use serde_json::Value;

use super::{TOOLS, Tool};
use crate::mcp::reach::Reach;

pub enum Access {
    All,
    Only(Vec<String>),
}

impl Access {
    /// Fails where the server does not say.
    pub async fn of(api: &dyn Reach) -> Result<Self, Value> {
        let mandate = match api.call("GET", "/v1/mandate", None).await {
            Err(error) if error["code"] == "MANDATE_NOT_FOUND" => return Ok(Self::All),
            answered => answered?,
        };
        let granted = mandate["permissions"].as_array().into_iter().flatten();
        let granted = granted.filter(|_| mandate["status"] == "active");
        let named = granted.filter_map(Value::as_str).map(str::to_owned);
        Ok(Self::Only(named.collect()))
    }

    fn allows(&self, tool: &Tool) -> bool {
        match (self, tool.permission) {
            (Self::All, _) | (_, None) => true,
            (Self::Only(granted), Some(permission)) => {
                granted.iter().any(|name| name == permission)
            }
        }
    }

    /// In the order of the table, which never changes.
    pub fn tools(&self, is_test: bool) -> impl Iterator<Item = &'static Tool> {
        TOOLS
            .iter()
            .filter(move |tool| self.allows(tool) && (is_test || tool.permission != Some("test")))
    }
}
