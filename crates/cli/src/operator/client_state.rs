//! `operator client-state`: what a stopped agent has stored about its node (`docs/spec/cli.md §14`).

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::prelude::*;
use encamp_client::store::Store;

/// Print the stored state of a stopped node
///
/// Prints the allocations that the agent of a node has stored, with the states of their tasks, as JSON on one line. The
/// argument is the state directory of the node, by default the directory client in its data directory. The agent must
/// not run. Tokens are not printed.
#[derive(Debug, clap::Parser)]
pub struct ClientState {
    #[arg(value_name = "<directory>")]
    pub(crate) directory: String,
}

impl Run for ClientState {
    const META: Meta = Meta::new("operator client-state").offline_examples(&[
        ("Print the stored state of a stopped node", "encamp operator client-state data/client"),
        ("Write it to a file", "encamp operator client-state data/client > state.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.print(state(&context.env.directory.join(&self.directory), &self.directory))
    }
}

fn state(directory: &Path, name: &str) -> CommandResult<String> {
    // Opening a store creates it.
    if !directory.join("allocs").is_dir() {
        return Err(CommandError::new(format!("Error opening client state: no state of a node found in {name}")));
    }
    let store = Store::open(directory).context("Error opening client state")?;
    let client = store.client().context("Error reading client state")?;
    let mut allocations = Map::new();
    for mut stored in store.load().context("Error reading client state")? {
        stored.record.identities.clear();
        let id = stored.alloc.id.to_string();
        allocations.insert(id, json!({ "Alloc": stored.alloc, "State": stored.record }));
    }
    let identity = if client.identity.is_empty() { "" } else { "[REDACTED]" };
    let whole = json!({ "Allocations": Value::Object(allocations), "NodeIdentity": identity });
    serde_json::to_string(&whole).context("Error printing client state")
}
