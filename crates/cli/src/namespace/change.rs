//! `namespace apply`, `namespace delete` (`docs/spec/cli.md §12.1`).

use serde_json::{Value, json};

use super::Namespace;
use crate::lookup_name::in_specification;
use crate::object_commands::changed;
use crate::prelude::*;
use crate::spec_file::{self, Spec, SpecError};
use encamp_model::quoted;

/// Create or update a namespace
///
/// Creates or updates a namespace. The argument is the name of the namespace, the path of a specification file, or -
/// for standard input.
#[derive(Debug, clap::Parser)]
pub struct NamespaceApply {
    /// Description of the namespace
    #[arg(long, value_name = "text")]
    pub description: Option<String>,
    /// Quota of the namespace; not available in community clusters
    #[arg(long, value_name = "name")]
    pub quota: Option<String>,
    /// Parse the file as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "input", add = CompleteWith::HCL_OR_JSON)]
    pub(crate) input: String,
}

impl Run for NamespaceApply {
    const META: Meta = Meta::new("namespace apply").examples(&[
        ("Create or update a namespace", "encamp namespace apply -description \"Staging\" staging"),
        ("Create a namespace from a specification", "encamp namespace apply prod.hcl"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let input = &self.input;
        let is_file = input == "-" || context.env.directory.join(input).is_file();
        let given = if is_file {
            if self.description.is_some() || self.quota.is_some() {
                context.ui.warn("Flags are ignored when a file is specified!");
            }
            match self.read_file(input, context) {
                Ok(namespace) => Some(namespace),
                Err(e) => return context.report(&e),
            }
        } else {
            None
        };
        context.connected(&self.general, |c, context| {
            let namespace = given.map_or_else(|| self.flagged(c, input), Ok)?;
            c.ask(c.client.put_namespace(&namespace), "Error applying namespace")?;
            context.ui.output(&format!("Successfully applied namespace {}!", quoted(in_specification(&namespace))));
            Ok(0)
        })
    }
}

impl NamespaceApply {
    fn read_file(&self, input: &str, context: &Context<'_, '_>) -> CommandResult<Value> {
        let bytes = spec_file::read(input, context.env)?;
        let read = if self.json { serde_json::from_slice(&bytes).map_err(SpecError::from) } else { hcl(&bytes, input) };
        let namespace = read.context("Error reading namespace specification")?;
        if in_specification(&namespace).is_empty() {
            return Err(CommandError::new("Namespace name required"));
        }
        Ok(namespace)
    }

    /// The existing namespace with the changes of the flags.
    fn flagged(&self, c: &Connection, name: &str) -> CommandResult<Value> {
        let namespace = match c.wait(c.client.object::<Namespace>(name)) {
            Ok((namespace, _)) => namespace.json,
            Err(e) if e.is_not_found() => json!({"Name": name}),
            Err(e) => return Err(CommandError::from(e).within("Error looking up namespace")),
        };
        Ok(changed(namespace, json!({ "Description": self.description, "Quota": self.quota })))
    }
}

/// A namespace in the form that servers read.
pub(crate) fn hcl(bytes: &[u8], path: &str) -> Result<Value, SpecError> {
    let file = Spec::hcl(bytes, path)?;
    file.only(&["name", "description", "quota", "capabilities", "meta", "node_pool_config", "vault", "consul"])?;
    let namespace = json!({
        "Name": file.text("name")?.unwrap_or_default(),
        "Description": file.text("description")?.unwrap_or_default(),
        "Quota": file.text("quota")?.unwrap_or_default(),
        "Meta": file.text_map("meta")?,
    });
    let blocks = json!({
        "Capabilities": file.block("capabilities")?.map(capabilities).transpose()?,
        "NodePoolConfiguration": file.block("node_pool_config")?.map(choice).transpose()?,
        "VaultConfiguration": file.block("vault")?.map(choice).transpose()?,
        "ConsulConfiguration": file.block("consul")?.map(choice).transpose()?,
    });
    Ok(changed(namespace, blocks))
}

fn capabilities(block: Spec) -> Result<Value, SpecError> {
    block.only(&[
        "enabled_task_drivers",
        "disabled_task_drivers",
        "enabled_network_modes",
        "disabled_network_modes",
    ])?;
    Ok(json!({
        "EnabledTaskDrivers": block.texts("enabled_task_drivers")?,
        "DisabledTaskDrivers": block.texts("disabled_task_drivers")?,
        "EnabledNetworkModes": block.texts("enabled_network_modes")?,
        "DisabledNetworkModes": block.texts("disabled_network_modes")?,
    }))
}

/// Which node pools or clusters jobs may use.
fn choice(block: Spec) -> Result<Value, SpecError> {
    block.only(&["default", "allowed", "denied"])?;
    Ok(json!({
        "Default": block.text("default")?.unwrap_or_default(),
        "Allowed": block.texts("allowed")?,
        "Denied": block.texts("denied")?,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_what_servers_read() {
        let text = b"name = \"apps\"\ndescription = \"team\"\ncapabilities {\n  enabled_task_drivers = [\"raw_exec\"]\n}\nmeta {\n  owner = \"a\"\n}\n";
        let namespace = hcl(text, "ns.hcl").unwrap();
        assert_eq!(namespace["Capabilities"]["EnabledTaskDrivers"], json!(["raw_exec"]));
        assert_eq!(namespace["Capabilities"]["DisabledTaskDrivers"], Value::Null);
        assert_eq!((&namespace["Name"], &namespace["Meta"]["owner"]), (&json!("apps"), &json!("a")));
        assert!(hcl(b"nope = 1", "x").unwrap_err().to_string().contains("nope"));
    }
}
