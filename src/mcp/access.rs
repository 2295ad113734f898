//! Which tools a key may use. A key without a mandate may use all.

use serde_json::Value;

use super::reach::Reach;
use super::tools::{TOOLS, Tool};

pub enum Access {
    All,
    Only(Vec<String>),
}

impl Access {
    pub async fn of(api: &dyn Reach) -> Self {
        let Ok(mandate) = api.call("GET", "/v1/mandate", None).await else {
            return Self::All;
        };
        let granted = mandate["permissions"].as_array();
        granted.map_or(Self::All, |granted| {
            let named = granted.iter().filter_map(Value::as_str);
            Self::Only(named.map(str::to_owned).collect())
        })
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
