//! `service list`, `service info`, `service delete` (`docs/spec/cli.md §12.4`).

use serde_json::Value;

use super::command::Run;
use super::command_meta::Meta;
use super::connection::Connection;
use super::context::Context;
use super::data::{self, list, text};
use super::error::{CommandError, CommandResult, ErrorContext};
use super::format::{FormatFlags, PageFlags, without_token};
use super::general::GeneralFlags;
use super::render::table::{Form, pairs, table};
use super::render::values;
use encamp_api::Query;
use encamp_model::{ServiceRegistration, quoted};

/// A service: namespace, name, tags.
type Row = (String, String, Vec<String>);

fn rows(answer: &[Value]) -> Vec<Row> {
    let services = answer.iter().flat_map(|entry| {
        let namespace = text(entry, "Namespace");
        list(entry, "Services").iter().map(move |service| {
            let mut tags: Vec<String> =
                list(service, "Tags").iter().filter_map(Value::as_str).map(String::from).collect();
            tags.sort();
            (namespace.to_string(), text(service, "ServiceName").to_string(), tags)
        })
    });
    let mut rows: Vec<Row> = services.collect();
    rows.sort();
    rows
}

/// The table of services.
fn listed(rows: &[Row], namespaces: bool) -> String {
    let column = |text: &str| if namespaces { format!("|{text}") } else { String::new() };
    let mut lines = vec![format!("Service Name{}|Tags", column("Namespace"))];
    lines
        .extend(rows.iter().map(|(namespace, name, tags)| format!("{name}{}|[{}]", column(namespace), tags.join(","))));
    table(&lines, Form::List)
}

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error listing service registrations";

fn read(c: &Connection) -> CommandResult<Vec<Value>> {
    let read = c.wait(c.client.services());
    Ok(read.context(FAILED)?.0)
}

/// Display all registered services
///
/// Lists the services that are registered with the provider nomad.
#[derive(Debug, clap::Parser)]
pub struct ServiceList {
    /// Accepted for compatibility
    #[arg(long, value_name = "name")]
    pub name: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for ServiceList {
    const META: Meta = Meta::new("service list").paged().examples(&[
        ("List the registered services", "encamp service list"),
        ("List those of all namespaces", "encamp service list -namespace '*'"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let answer = read(c)?;
            if answer.is_empty() {
                context.ui.output("No service registrations found");
                return Ok(0);
            }
            if self.format.wanted()? {
                return self.format.print(context.ui, &answer, "[]*api.ServiceRegistrationListStub");
            }
            context.ui.output(&listed(&rows(&answer), c.everywhere()));
            Ok(0)
        })
    }
}

/// Display the registrations of a service
///
/// The argument is the name of the service or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct ServiceInfo {
    /// Show all details of each registration
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) page: PageFlags,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "service")]
    pub(crate) prefix: String,
}

impl Run for ServiceInfo {
    const META: Meta =
        Meta::new("service info").argument_error("This command takes one argument: <service_name>").examples(&[
            ("Show the registrations of a service", "encamp service info web"),
            (
                "Print their addresses and ports",
                "encamp service info \\
    -t '{{range .}}{{.Address}}:{{.Port}} {{end}}' web",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| self.show(c, context, &self.prefix))
    }
}

/// The namespace and name of the selected service.
fn find(c: &Connection, prefix: &str) -> CommandResult<(String, String)> {
    let found: Vec<Row> = rows(&read(c)?).into_iter().filter(|(_, name, _)| name.starts_with(prefix)).collect();
    let exact: Vec<&Row> = found.iter().filter(|(_, name, _)| name == prefix).collect();
    match (exact.as_slice(), found.as_slice()) {
        ([(namespace, name, _)], _) | ([], [(namespace, name, _)]) => Ok((namespace.clone(), name.clone())),
        ([], []) => {
            let none = format!("No service registrations with prefix {} found", quoted(prefix));
            Err(CommandError::new(none).within(FAILED))
        }
        _ => Err(CommandError::new(format!("Prefix matched multiple services\n\n{}", listed(&found, c.everywhere())))),
    }
}

impl ServiceInfo {
    fn show(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let (namespace, name) = find(c, prefix)?;
        let query = self.page.query(Query::in_namespace(&namespace));
        let read = c.wait(c.client.service(&name, &query));
        let (places, meta) = read.context(FAILED)?;
        if places.is_empty() {
            context.ui.output("No service registrations found");
            return Ok(0);
        }
        if self.format.wanted()? {
            return self.format.print(context.ui, &places, "[]*api.ServiceRegistration");
        }
        let mut places: Vec<ServiceRegistration> = places.iter().map(data::typed).collect::<Result<_, _>>()?;
        places.sort_by(|a, b| (&a.job_id, &a.alloc_id, &a.id).cmp(&(&b.job_id, &b.alloc_id, &b.id)));
        if self.verbose {
            for place in &places {
                context.ui.output(&format!("{}\n", block(place)));
            }
        } else {
            let mut lines = vec!["Job ID|Address|Tags|Node ID|Alloc ID".to_string()];
            lines.extend(places.iter().map(|p| {
                let (node, alloc) = (values::id(&p.node_id, false), values::id(&p.alloc_id, false));
                format!("{}|{}|[{}]|{node}|{alloc}", p.job_id, address(p), p.tags.join(","))
            }));
            context.ui.output(&table(&lines, Form::List));
        }
        if let Some(next) = &meta.next_token {
            let line = without_token(context.args);
            let (before, last) = line.rsplit_once(' ').unwrap_or(("", &line));
            let line = format!("encamp {before} -page-token={next} {last}");
            context.ui.output(&format!("\nResults have been paginated. To get the next page run:\n\n{line}"));
        }
        Ok(0)
    }
}

/// The address, with a port if there is one.
fn address(place: &ServiceRegistration) -> String {
    if place.port > 0 { format!("{}:{}", place.address, place.port) } else { place.address.clone() }
}

fn block(place: &ServiceRegistration) -> String {
    pairs(&[
        ("ID", place.id.clone()),
        ("Service Name", place.service_name.clone()),
        ("Namespace", place.namespace.clone()),
        ("Job ID", place.job_id.clone()),
        ("Alloc ID", place.alloc_id.clone()),
        ("Node ID", place.node_id.clone()),
        ("Datacenter", place.datacenter.clone()),
        ("Address", address(place)),
        ("Tags", format!("[{}]", place.tags.join(","))),
    ])
}

/// Deregister a service
///
/// Deletes a registration that was not removed automatically. The arguments are the name of the service and the ID of
/// the registration.
#[derive(Debug, clap::Parser)]
pub struct ServiceDelete {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<service> <registration>")]
    pub(crate) args: Vec<String>,
}

impl Run for ServiceDelete {
    const META: Meta = Meta::new("service delete").examples(&[
        (
            "Delete a registration of a service",
            "encamp service delete web \\
    _nomad-task-8ba85cef-34de-4c2d-8a2d-7f6e6a2a5c31-group-front-web-http",
        ),
        (
            "Delete the first registration of a service",
            "encamp service delete web \\
    $(encamp service info -t '{{(index . 0).ID}}' web)",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [name, id] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <service_name> and <service_id>");
        };
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.delete_service(name, id));
            done.context("Error deleting service registration")?;
            context.ui.output("Successfully deleted service registration");
            Ok(0)
        })
    }
}
