//! `node pool apply`, `node pool delete`, `node pool init` (`docs/spec/cli.md §10.3`).

use serde_json::{Value, json};

use crate::examples::{Files, InitFlags};
use crate::lookup_name::in_specification;
use crate::object_commands::changed;
use crate::prelude::*;
use crate::spec_file::{self, Spec, SpecError};
use encamp_model::duration::parse_duration;
use encamp_model::quoted;

/// Create or update a node pool
///
/// Creates or updates a node pool. The argument is the path of a specification file, or - for standard input.
#[derive(Debug, clap::Parser)]
pub struct NodePoolApply {
    /// Parse the file as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "input", add = CompleteWith::HCL_OR_JSON)]
    pub(crate) path: String,
}

impl Run for NodePoolApply {
    const META: Meta = Meta::new("node pool apply").examples(&[
        ("Create or update a node pool", "encamp node pool apply gpu.hcl"),
        ("Create a node pool from standard input", "echo 'node_pool \"batch\" {}' | encamp node pool apply -"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let path = &self.path;
        let pool = spec_file::read(path, context.env).and_then(|bytes| {
            let read =
                if self.json { serde_json::from_slice(&bytes).map_err(SpecError::from) } else { hcl(&bytes, path) };
            read.context("Failed to parse input content")
        });
        let pool = match pool {
            Ok(pool) => pool,
            Err(e) => return context.report(&e),
        };
        context.connected(&self.general, |c, context| {
            c.ask(c.client.put_node_pool(&pool), "Error applying node pool")?;
            context.ui.output(&format!("Successfully applied node pool {}!", quoted(in_specification(&pool))));
            Ok(0)
        })
    }
}

/// A node pool in the form that servers read.
fn hcl(bytes: &[u8], path: &str) -> Result<Value, SpecError> {
    let file = Spec::hcl(bytes, path)?;
    file.only(&["node_pool"])?;
    let (name, pool) = file.labelled("node_pool")?.ok_or(SpecError::Missing("node_pool"))?;
    pool.only(&["description", "meta", "node_identity_ttl", "scheduler_config"])?;
    let described = json!({
        "Name": name,
        "Description": pool.text("description")?.unwrap_or_default(),
        "Meta": pool.text_map("meta")?,
    });
    let ttl = pool.text("node_identity_ttl")?.map(|ttl| parse_duration(&ttl)).transpose();
    let ttl = ttl.map_err(|e| SpecError::Value { name: "node_identity_ttl", reason: e.to_string() })?;
    let config = pool.block("scheduler_config")?.map(scheduler_config).transpose()?;
    Ok(changed(described, json!({ "NodeIdentityTTL": ttl, "SchedulerConfiguration": config })))
}

fn scheduler_config(block: Spec) -> Result<Value, SpecError> {
    block.only(&["scheduler_algorithm", "memory_oversubscription_enabled"])?;
    Ok(json!({
        "SchedulerAlgorithm": block.text("scheduler_algorithm")?.unwrap_or_default(),
        "MemoryOversubscriptionEnabled": block.bool("memory_oversubscription_enabled")?,
    }))
}

/// Create an example node pool specification
///
/// The default file name is pool.nomad.hcl or pool.nomad.json. An existing file is not overwritten.
#[derive(Debug, clap::Parser)]
pub struct NodePoolInit {
    #[command(flatten)]
    pub(crate) init: InitFlags,
}

impl Run for NodePoolInit {
    const META: Meta = Meta::new("node pool init").offline_examples(&[
        ("Create pool.nomad.hcl, an example specification with comments", "encamp node pool init"),
        (
            "Create an example specification as JSON, without comments",
            "encamp node pool init -out json -quiet gpu.nomad.json",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let files = Files {
            hcl: ("pool.nomad.hcl", include_str!("../../examples/pool.nomad.hcl")),
            json: ("pool.nomad.json", include_str!("../../examples/pool.nomad.json")),
            what: "node pool",
        };
        self.init.write(context, &files)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_what_servers_read() {
        let text = include_bytes!("../../examples/pool.nomad.hcl");
        let pool = hcl(text, "pool.nomad.hcl").unwrap();
        let same: Value = serde_json::from_str(include_str!("../../examples/pool.nomad.json")).unwrap();
        assert_eq!(pool, same);
        assert!(hcl(b"node_pool \"a\" { nope = 1 }", "x").unwrap_err().to_string().contains("nope"));
        assert!(hcl(b"", "x").unwrap_err().to_string().contains("missing"));
        assert!(
            hcl(b"node_pool \"a\" { node_identity_ttl = \"soon\" }", "x")
                .unwrap_err()
                .to_string()
                .contains("node_identity_ttl")
        );
    }
}
