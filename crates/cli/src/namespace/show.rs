//! `namespace list`, `namespace status`, `namespace inspect` (`docs/spec/cli.md §12.1`).

use serde_json::Value;

use crate::command::Run;
use crate::command_meta::Meta;
use crate::completion::values::{CompleteWith, Objects};
use crate::connection::Connection;
use crate::context::Context;
use crate::data::{self, Zero, complete, joined, text};
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::format::FormatFlags;
use crate::general::GeneralFlags;
use crate::lookup_name;
use crate::render::table::pairs;
use encamp_model::quoted;

/// The members of a namespace.
const MEMBERS: &[(&str, Zero)] = &[
    ("Capabilities", Zero::Null),
    ("ConsulConfiguration", Zero::Null),
    ("CreateIndex", Zero::Number),
    ("Description", Zero::Text),
    ("Meta", Zero::Null),
    ("ModifyIndex", Zero::Number),
    ("Name", Zero::Text),
    ("NodePoolConfiguration", Zero::Null),
    ("OptionalExtraClaims", Zero::Null),
    ("Quota", Zero::Text),
    ("RequiredExtraClaims", Zero::Null),
    ("VaultConfiguration", Zero::Null),
];

/// The namespace as shown by clients.
fn as_shown(namespace: &Value) -> Value {
    let mut shown = namespace.clone();
    complete(&mut shown, MEMBERS);
    if let Value::Object(map) = &mut shown {
        map.remove("Hash");
    }
    shown
}

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error retrieving namespaces";

/// The namespace with that name, or the only one with that prefix.
fn find(c: &Connection, prefix: &str) -> CommandResult<Value> {
    let (mut found, _) = c.wait(c.client.namespaces_with_prefix(prefix)).context(FAILED)?;
    data::newest_first(&mut found);
    lookup_name::by_name(&found, prefix, Objects::Namespaces, || {
        CommandError::new(format!("Namespace {} matched no namespaces", quoted(prefix))).within(FAILED)
    })
}

/// List namespaces
///
/// Lists the namespaces that the token has access to.
#[derive(Debug, clap::Parser)]
pub struct NamespaceList {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for NamespaceList {
    const META: Meta = Meta::new("namespace list").examples(&[
        ("List the namespaces", "encamp namespace list"),
        ("Print their names", "encamp namespace list -t '{{range .}}{{.Name}} {{end}}'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let read = c.wait(c.client.namespace_values());
            let (mut namespaces, _) = read.context(FAILED)?;
            namespaces.sort_by(|a, b| text(a, "Name").cmp(text(b, "Name")));
            if self.format.wanted()? {
                let shown: Vec<Value> = namespaces.iter().map(as_shown).collect();
                return self.format.print(context.ui, &shown, "[]*api.Namespace");
            }
            context.ui.output(&lookup_name::listed(&namespaces));
            Ok(0)
        })
    }
}

/// Display the status of a namespace
///
/// The argument is the name of the namespace or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NamespaceStatus {
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "namespace", add = CompleteWith::Live(Objects::Namespaces))]
    pub(crate) prefix: String,
}

impl Run for NamespaceStatus {
    const META: Meta = Meta::new("namespace status").examples(&[
        ("Show a namespace", "encamp namespace status prod"),
        ("Print a namespace as JSON", "encamp namespace status -json prod"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = &self.prefix;
        context.connected(&self.general, |c, context| {
            let namespace = find(c, prefix)?;
            if self.format.wanted()? {
                return self.format.print(context.ui, &as_shown(&namespace), "*api.Namespace");
            }
            context.ui.output(&block(&namespace));
            let meta: Vec<(&String, &str)> =
                data::map(&namespace, "Meta").map(|(k, v)| (k, v.as_str().unwrap_or_default())).collect();
            if !meta.is_empty() {
                context.ui.output_markup("\n[bold]Metadata[reset]");
                context.ui.output(&pairs(&meta));
            }
            for (heading, member) in [
                ("Node Pool Configuration", "NodePoolConfiguration"),
                ("Vault Configuration", "VaultConfiguration"),
                ("Consul Configuration", "ConsulConfiguration"),
            ] {
                if let Some(choice) = namespace.get(member).filter(|v| v.is_object()) {
                    context.ui.output_markup(&format!("\n[bold]{heading}[reset]"));
                    context.ui.output(&choice_block(choice));
                }
            }
            Ok(0)
        })
    }
}

fn block(namespace: &Value) -> String {
    let none = Value::Null;
    let capabilities = namespace.get("Capabilities").unwrap_or(&none);
    let or_all = |name: &str| Some(joined(capabilities, name, ",")).filter(|t| !t.is_empty()).unwrap_or("*".into());
    pairs(&[
        ("Name", text(namespace, "Name").to_string()),
        ("Description", text(namespace, "Description").into()),
        ("Quota", text(namespace, "Quota").into()),
        ("Enabled Drivers", or_all("EnabledTaskDrivers")),
        ("Disabled Drivers", joined(capabilities, "DisabledTaskDrivers", ",")),
        ("Enabled Network Modes", or_all("EnabledNetworkModes")),
        ("Disabled Network Modes", joined(capabilities, "DisabledNetworkModes", ",")),
    ])
}

/// The default, and the allowed values.
fn choice_block(choice: &Value) -> String {
    let mut rows = vec![("Default", text(choice, "Default").to_string())];
    for name in ["Allowed", "Denied"] {
        let names = joined(choice, name, ", ");
        if !names.is_empty() {
            rows.push((name, names));
        }
    }
    pairs(&rows)
}

/// Inspect a namespace
///
/// The argument is the name of the namespace or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct NamespaceInspect {
    /// Format the namespace with this Go template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "namespace", add = CompleteWith::Live(Objects::Namespaces))]
    pub(crate) prefix: String,
}

impl Run for NamespaceInspect {
    const META: Meta = Meta::new("namespace inspect").examples(&[
        ("Print a namespace as JSON", "encamp namespace inspect prod"),
        ("Print its description", "encamp namespace inspect -t '{{.Description}}' prod"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let namespace = as_shown(&find(c, &self.prefix)?);
            let format = FormatFlags { json: false, template: self.template };
            format.print(context.ui, &namespace, "*api.Namespace")
        })
    }
}
