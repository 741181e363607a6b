//! `namespace list`, `namespace status`, `namespace inspect` (`docs/spec/cli.md §12.1`).

use std::cmp::Reverse;

use serde_json::Value;

use super::{Choice, Namespace};
use crate::lookup_name;
use crate::object_commands::{Object, Verb};
use crate::prelude::*;
use crate::render::table::{Columns, pairs};
use encamp_api::{Query, Received};
use encamp_model::quoted;

/// Gives a namespace the members that clients show: servers omit those that have no value.
fn complete(namespace: &mut Received<Namespace>) {
    let all = serde_json::to_value(encamp_model::Namespace::default());
    if let (Value::Object(members), Ok(Value::Object(all))) = (&mut namespace.json, all) {
        for (name, zero) in all {
            members.entry(name).or_insert(zero);
        }
        // The hash is for servers alone: clients have no such member, also if a server sends it.
        members.remove("Hash");
    }
}

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error retrieving namespaces";

impl Object for Namespace {
    const ARGUMENT: (&'static str, CompleteWith) = ("namespace", CompleteWith::Live(Objects::Namespaces));
    const TYPE_NAME: &'static str = "*api.Namespace";
    const SHOW: Verb = Verb {
        help: "Display the status of a namespace\n\nThe argument is the name of the namespace or a prefix of it.",
        failed: FAILED,
        meta: Meta::new("namespace status").examples(&[
            ("Show a namespace", "encamp namespace status prod"),
            ("Print a namespace as JSON", "encamp namespace status -json prod"),
        ]),
    };
    const LIST: Verb = Verb {
        help: "List namespaces\n\nLists the namespaces that the token has access to.",
        failed: FAILED,
        meta: Meta::new("namespace list").examples(&[
            ("List the namespaces", "encamp namespace list"),
            ("Print their names", "encamp namespace list -t '{{range .}}{{.Name}} {{end}}'"),
        ]),
    };
    const LIST_TYPE_NAME: &'static str = "[]*api.Namespace";
    const NONE: Option<&'static str> = None;
    const COLUMNS: &'static Columns<'static, Namespace> =
        &[("Name", &|n| n.name.clone()), ("Description", &|n| n.description.clone())];
    const DELETE: Verb = Verb {
        help: "Delete a namespace\n\nThe argument is the name of the namespace. A namespace with jobs, allocations, \
             volumes or variables cannot be deleted.",
        failed: "Error deleting namespace",
        meta: Meta::new("namespace delete").examples(&[
            ("Delete a namespace", "encamp namespace delete staging"),
            (
                "Delete a namespace with the token of an administrator",
                "encamp namespace delete -token $ADMIN_TOKEN testing",
            ),
        ]),
    };
    const DELETED: fn(&str) -> String = |name| format!("Successfully deleted namespace {}!", quoted(name));

    fn print(&self, context: &mut Context<'_, '_>) {
        context.ui.output(&block(self));
        if !self.meta.is_empty() {
            context.ui.output_markup("\n[bold]Metadata[reset]");
            context.ui.output(&pairs(&self.meta.iter().collect::<Vec<_>>()));
        }
        for (heading, choice) in [
            ("Node Pool Configuration", &self.node_pool_configuration),
            ("Vault Configuration", &self.vault_configuration),
            ("Consul Configuration", &self.consul_configuration),
        ] {
            if let Some(choice) = choice {
                context.ui.output_markup(&format!("\n[bold]{heading}[reset]"));
                context.ui.output(&choice_block(choice));
            }
        }
    }

    /// The namespace with that name, or the only one with that prefix.
    fn find(c: &Connection, prefix: &str) -> CommandResult<Received<Namespace>> {
        let mut found = c.ask(c.client.objects::<Namespace>(&Query::default().with("prefix", prefix)), FAILED)?;
        found.sort_by_key(|namespace| Reverse(namespace.create_index));
        let none = CommandError::new(format!("Namespace {} matched no namespaces", quoted(prefix))).within(FAILED);
        let mut namespace = lookup_name::by_name(found, |n| n.name == prefix, Objects::Namespaces, none)?;
        complete(&mut namespace);
        Ok(namespace)
    }

    fn arranged(mut rows: Vec<Received<Namespace>>) -> Vec<Received<Namespace>> {
        rows.sort_by(|a, b| a.name.cmp(&b.name));
        rows.iter_mut().for_each(complete);
        rows
    }
}

fn block(namespace: &Namespace) -> String {
    let can = &namespace.capabilities;
    let or_all = |names: &[String]| if names.is_empty() { "*".into() } else { names.join(",") };
    pairs(&[
        ("Name", namespace.name.clone()),
        ("Description", namespace.description.clone()),
        ("Quota", namespace.quota.clone()),
        ("Enabled Drivers", or_all(&can.enabled_task_drivers)),
        ("Disabled Drivers", can.disabled_task_drivers.join(",")),
        ("Enabled Network Modes", or_all(&can.enabled_network_modes)),
        ("Disabled Network Modes", can.disabled_network_modes.join(",")),
    ])
}

/// The default, and the allowed values.
fn choice_block(choice: &Choice) -> String {
    let mut rows = vec![("Default", choice.default.clone())];
    let lists = [("Allowed", &choice.allowed), ("Denied", &choice.denied)];
    rows.extend(lists.iter().filter(|(_, names)| !names.is_empty()).map(|(title, names)| (*title, names.join(", "))));
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
            let namespace = Namespace::find(c, &self.prefix)?;
            let format = FormatFlags { json: false, template: self.template };
            format.print(context.ui, &namespace, Namespace::TYPE_NAME)
        })
    }
}
