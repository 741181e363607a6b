//! Commands about node pools (`docs/spec/cli.md §10.3`).
//!
//! [`list`]: pools. [`members`]: their jobs and nodes. [`change`]: writing and deleting them.

pub mod change;
pub mod list;
pub mod members;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::CommandResult;
use encamp_api::{ApiObject, Received};
use encamp_model::json::null_is_default;
use encamp_model::{NodePoolSchedulerConfiguration, format_duration};

/// A node pool as clients show it, its members in their own order (`docs/spec/cli.md §3.6`).
#[null_is_default]
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct NodePool {
    /// How long the identities of its nodes are valid.
    #[serde(rename = "NodeIdentityTTL", deserialize_with = "duration")]
    node_identity_ttl: String,
    name: String,
    description: String,
    meta: Option<BTreeMap<String, String>>,
    scheduler_configuration: Option<Received<NodePoolSchedulerConfiguration>>,
    create_index: u64,
    modify_index: u64,
}

/// Reads a duration that servers send as a number or as text.
fn duration<'de, D: Deserializer<'de>>(d: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Either {
        Nanos(i64),
        Text(String),
    }
    Ok(match Option::<Either>::deserialize(d)? {
        Some(Either::Nanos(nanos)) if nanos != 0 => format_duration(nanos),
        Some(Either::Text(text)) => text,
        _ => String::new(),
    })
}

impl NodePool {
    /// The pool with all members that clients show.
    fn as_shown(&self) -> NodePool {
        let ttl = if self.node_identity_ttl.is_empty() { "0s" } else { &self.node_identity_ttl };
        NodePool { node_identity_ttl: ttl.into(), ..self.clone() }
    }

    /// The pool as JSON on one line.
    fn compact(&self) -> CommandResult<String> {
        Ok(serde_json::to_string(&self.as_shown())?)
    }
}

impl ApiObject for NodePool {
    const ONE: &'static str = "/v1/node/pool";
    const ALL: &'static str = "/v1/node/pools";
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_short_json_keeps_its_order_and_reads_both_forms_of_durations() {
        let pool = |json| serde_json::from_value::<NodePool>(json).unwrap();
        for ttl in [json!("24h0m0s"), json!(86_400_000_000_000i64)] {
            let json = json!({"Name": "gpu", "Description": "d", "NodeIdentityTTL": ttl, "Meta": {"k": "v"}, "CreateIndex": 1});
            assert_eq!(
                pool(json).compact().unwrap(),
                "{\"NodeIdentityTTL\":\"24h0m0s\",\"Name\":\"gpu\",\"Description\":\"d\",\"Meta\":{\"k\":\"v\"},\
                 \"SchedulerConfiguration\":null,\"CreateIndex\":1,\"ModifyIndex\":0}"
            );
        }
        assert_eq!(pool(json!({})).node_identity_ttl, "");
    }
}
