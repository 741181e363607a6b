//! `namespace apply`, `namespace delete` (`docs/spec/cli.md §12.1`).

use serde_json::{Value, json};

use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::text;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::general::GeneralFlags;
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
            let done = c.wait(c.client.put_namespace(&namespace));
            done.context("Error applying namespace")?;
            context.ui.output(&format!("Successfully applied namespace {}!", quoted(text(&namespace, "Name"))));
            Ok(0)
        })
    }
}

impl NamespaceApply {
    fn read_file(&self, input: &str, context: &Context<'_, '_>) -> CommandResult<Value> {
        let bytes = spec_file::read(input, context.env)?;
        let read = if self.json { serde_json::from_slice(&bytes).map_err(SpecError::from) } else { hcl(&bytes, input) };
        let namespace = read.context("Error reading namespace specification")?;
        if text(&namespace, "Name").is_empty() {
            return Err(CommandError::new("Namespace name required"));
        }
        Ok(namespace)
    }

    /// The existing namespace with the changes of the flags.
    fn flagged(&self, c: &Connection, name: &str) -> CommandResult<Value> {
        let mut namespace = match c.wait(c.client.namespace(name)) {
            Ok((namespace, _)) => namespace,
            Err(e) if e.is_not_found() => json!({"Name": name}),
            Err(e) => return Err(CommandError::from(e).within("Error looking up namespace")),
        };
        for (member, value) in [("Description", &self.description), ("Quota", &self.quota)] {
            if let Some(value) = value {
                namespace[member] = json!(value);
            }
        }
        Ok(namespace)
    }
}

/// A namespace in the form that servers read.
fn hcl(bytes: &[u8], path: &str) -> Result<Value, SpecError> {
    const CHOICES: [(&str, &str); 3] = [
        ("node_pool_config", "NodePoolConfiguration"),
        ("vault", "VaultConfiguration"),
        ("consul", "ConsulConfiguration"),
    ];
    let file = Spec::hcl(bytes, path)?;
    file.only(&["name", "description", "quota", "capabilities", "meta", "node_pool_config", "vault", "consul"])?;
    let mut out = json!({
        "Name": file.text("name")?.unwrap_or_default(),
        "Description": file.text("description")?.unwrap_or_default(),
        "Quota": file.text("quota")?.unwrap_or_default(),
        "Meta": file.text_map("meta")?,
    });
    if let Some(block) = file.block("capabilities")? {
        block.only(&[
            "enabled_task_drivers",
            "disabled_task_drivers",
            "enabled_network_modes",
            "disabled_network_modes",
        ])?;
        out["Capabilities"] = json!({
            "EnabledTaskDrivers": block.texts("enabled_task_drivers")?,
            "DisabledTaskDrivers": block.texts("disabled_task_drivers")?,
            "EnabledNetworkModes": block.texts("enabled_network_modes")?,
            "DisabledNetworkModes": block.texts("disabled_network_modes")?,
        });
    }
    for (name, member) in CHOICES {
        if let Some(block) = file.block(name)? {
            block.only(&["default", "allowed", "denied"])?;
            out[member] = json!({
                "Default": block.text("default")?.unwrap_or_default(),
                "Allowed": block.texts("allowed")?,
                "Denied": block.texts("denied")?,
            });
        }
    }
    Ok(out)
}

/// Delete a namespace
///
/// The argument is the name of the namespace. A namespace with jobs, allocations, volumes or variables cannot be
/// deleted.
#[derive(Debug, clap::Parser)]
pub struct NamespaceDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "namespace", add = CompleteWith::Live(Objects::Namespaces))]
    pub(crate) name: String,
}

impl Run for NamespaceDelete {
    const META: Meta = Meta::new("namespace delete").examples(&[
        ("Delete a namespace", "encamp namespace delete staging"),
        (
            "Delete a namespace with the token of an administrator",
            "encamp namespace delete -token $ADMIN_TOKEN testing",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = &self.name;
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.delete_namespace(name));
            done.context("Error deleting namespace")?;
            context.ui.output(&format!("Successfully deleted namespace {}!", quoted(name)));
            Ok(0)
        })
    }
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
