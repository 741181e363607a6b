//! Commands about node pools (`docs/spec/cli.md §10.3`).
//!
//! [`list`]: pools. [`members`]: their jobs and nodes. [`change`]: writing and deleting them.

pub mod change;
pub mod list;
pub mod members;

use serde_json::{Value, json};

use crate::connection::Connection;
use crate::data::{self, text};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::lookup_name::by_name;
use crate::object_kinds::Objects;
use encamp_model::{format_duration, quoted};

/// The pool with that name, or the only one with that prefix.
fn find(c: &Connection, prefix: &str) -> CommandResult<Value> {
    const FAILED: &str = "Error retrieving node pool";
    let (pools, _) = c.wait(c.client.node_pools_with_prefix(prefix)).context(FAILED)?;
    by_name(&pools, prefix, Objects::NodePools, || {
        CommandError::new(format!("No node pool with prefix {} found", quoted(prefix))).within(FAILED)
    })
}

/// The validity of the identities of the pool's nodes; servers send a number or a string.
fn identity_ttl(pool: &Value) -> String {
    match pool.get("NodeIdentityTTL") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(n)) if n.as_i64() != Some(0) => format_duration(n.as_i64().unwrap_or(0)),
        _ => String::new(),
    }
}

/// The pool as shown by clients.
fn as_shown(pool: &Value) -> Value {
    let member = |name: &str| pool.get(name).cloned().unwrap_or_default();
    let ttl = Some(identity_ttl(pool)).filter(|t| !t.is_empty()).unwrap_or_else(|| "0s".into());
    json!({
        "NodeIdentityTTL": ttl,
        "Name": text(pool, "Name"),
        "Description": text(pool, "Description"),
        "Meta": member("Meta"),
        "SchedulerConfiguration": member("SchedulerConfiguration"),
        "CreateIndex": data::number(pool, "CreateIndex"),
        "ModifyIndex": data::number(pool, "ModifyIndex"),
    })
}

/// A pool as JSON on one line, its members in their own order (`docs/spec/cli.md §3.6`).
fn compact(pool: &Value) -> String {
    const ORDER: [&str; 7] =
        ["NodeIdentityTTL", "Name", "Description", "Meta", "SchedulerConfiguration", "CreateIndex", "ModifyIndex"];
    let shown = as_shown(pool);
    let members = ORDER.map(|name| format!("\"{name}\":{}", shown.get(name).unwrap_or(&Value::Null)));
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_json_keeps_its_order_and_reads_both_forms_of_durations() {
        for ttl in [json!("24h0m0s"), json!(86_400_000_000_000i64)] {
            let pool = json!({"Name": "gpu", "Description": "d", "NodeIdentityTTL": ttl, "Meta": {"k": "v"}, "CreateIndex": 1});
            assert_eq!(
                compact(&pool),
                "{\"NodeIdentityTTL\":\"24h0m0s\",\"Name\":\"gpu\",\"Description\":\"d\",\"Meta\":{\"k\":\"v\"},\
                 \"SchedulerConfiguration\":null,\"CreateIndex\":1,\"ModifyIndex\":0}"
            );
        }
        assert_eq!(identity_ttl(&json!({})), "");
    }
}
