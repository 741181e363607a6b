//! `node identity`: the signed identities of nodes (`docs/spec/cli.md §10.2`).

use std::collections::BTreeMap;

use serde_json::Value;

use super::meant;
use crate::object_commands::ObjectFlags;
use crate::prelude::*;
use crate::prompt::confirm;
use crate::render::table::{Form, table};
use crate::render::values;
use encamp_model::{SECOND, quoted};

/// View the claims of a node identity
///
/// The argument is the node ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodeIdentityGet {
    #[command(flatten)]
    pub(crate) flags: ObjectFlags,
    #[arg(value_name = "node", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) prefix: String,
}

impl Run for NodeIdentityGet {
    const META: Meta =
        Meta::new("node identity get").argument_error("This command takes one argument: <node_id>").examples(&[
            ("Show the claims of the identity of a node", "encamp node identity get f7476465"),
            ("Print them as JSON", "encamp node identity get -json f7476465"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.flags.general, |c, context| {
            let id = meant(c, false, &self.prefix, "Node ID")?;
            let identity = c.ask(c.client.node_identity(&id), "Error requesting node identity")?;
            if self.flags.format.wanted()? {
                return self.flags.format.print(context.ui, &identity, "*api.NodeIdentityGetResp");
            }
            let text = claims(&identity.claims, &c.zone);
            context.ui.output(&text);
            Ok(0)
        })
    }
}

/// The registered claims, followed by those specific to node identities.
fn claims(claims: &BTreeMap<String, Value>, zone: &jiff::tz::TimeZone) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Number(n) => values::time(n.as_i64().unwrap_or(0).saturating_mul(SECOND), zone),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    };
    let mut lines = vec!["Claim Key|Claim Value".to_string()];
    for own in [false, true] {
        let some = claims.iter().filter(|(key, _)| key.starts_with("nomad") == own);
        lines.extend(some.map(|(key, value)| format!("{key}|{}", shown(value))));
    }
    table(&lines, Form::List)
}

/// Force the renewal of a node identity
///
/// The argument is the node ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodeIdentityRenew {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) prefix: String,
}

impl Run for NodeIdentityRenew {
    const META: Meta =
        Meta::new("node identity renew").argument_error("This command takes one argument: <node_id>").examples(&[
            ("Renew the identity of a node", "encamp node identity renew f7476465"),
            (
                "Renew the identities of all nodes of a class",
                "encamp node status -quiet -filter 'NodeClass == \"large\"' |
    xargs -n 1 encamp node identity renew",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, _| {
            let id = meant(c, false, &self.prefix, "Node ID")?;
            c.ask(c.client.renew_node_identity(&id), "Error requesting node identity renewal")?;
            Ok(0)
        })
    }
}

/// Revoke the identity of a node that was stolen
///
/// The servers refuse the secret and the identities of the node for good, mark the node as down and replace its
/// allocations. The node registers again with a new secret and an introduction token that is created after the
/// revocation. The argument is the node ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NodeIdentityRevoke {
    /// Do not ask for confirmation
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "node", add = CompleteWith::Live(Objects::Nodes))]
    pub(crate) prefix: String,
}

impl Run for NodeIdentityRevoke {
    const META: Meta =
        Meta::new("node identity revoke").argument_error("This command takes one argument: <node_id>").examples(&[
            ("Revoke the identity of a stolen node", "encamp node identity revoke -yes f7476465"),
            (
                "Revoke it, and create a token with which the node joins again",
                "encamp node identity revoke -yes f7476465 &&
    encamp node intro create -ttl 10m",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let id = meant(c, false, &self.prefix, "Node ID")?;
            if (self.prefix != id || context.object_was_chosen()) && !self.yes {
                let question = format!("Are you sure you want to revoke the identity of node {}? [y/N]", quoted(&id));
                if let Err(code) = confirm(context.ui, &question, "Canceling revocation") {
                    return Ok(code);
                }
            }
            c.ask(c.client.revoke_node_identity(&id), "Error revoking node identity")?;
            context.ui.output(&format!("Node {} identity revoked", quoted(&id)));
            Ok(0)
        })
    }
}
