//! `service list`, `service info`, `service delete` (`docs/spec/cli.md §12.4`).

use super::format::without_token;
use super::prelude::*;
use super::render::table::{Column, Columns, columns, pairs};
use super::render::values;
use encamp_api::types::NamespaceServices;
use encamp_api::{Query, Received};
use encamp_model::{ServiceRegistration, quoted};

/// A service.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    namespace: String,
    name: String,
    tags: Vec<String>,
}

fn rows(answer: &[Received<NamespaceServices>]) -> Vec<Row> {
    let services = answer.iter().flat_map(|entry| {
        entry.services.iter().map(|service| {
            let mut tags = service.tags.clone();
            tags.sort();
            Row { namespace: entry.namespace.clone(), name: service.service_name.clone(), tags }
        })
    });
    let mut rows: Vec<Row> = services.collect();
    rows.sort();
    rows
}

/// The table of services.
fn listed(rows: &[Row], namespaces: bool) -> String {
    let mut shown: Vec<Column<'_, Row>> = vec![("Service Name", &|row| row.name.clone())];
    if namespaces {
        shown.push(("Namespace", &|row| row.namespace.clone()));
    }
    shown.push(("Tags", &|row| format!("[{}]", row.tags.join(","))));
    columns(rows, &shown)
}

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error listing service registrations";

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
            let answer = c.ask(c.client.services(), FAILED)?;
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

/// The selected service.
fn find(c: &Connection, prefix: &str) -> CommandResult<Row> {
    let mut found = rows(&c.ask(c.client.services(), FAILED)?);
    found.retain(|row| row.name.starts_with(prefix));
    let exact: Vec<usize> = (0..).zip(&found).filter(|(_, row)| row.name == prefix).map(|(n, _)| n).collect();
    match (exact.as_slice(), found.len()) {
        ([only], _) => Ok(found.swap_remove(*only)),
        ([], 1) => Ok(found.swap_remove(0)),
        ([], 0) => {
            let none = format!("No service registrations with prefix {} found", quoted(prefix));
            Err(CommandError::new(none).within(FAILED))
        }
        _ => Err(CommandError::new(format!("Prefix matched multiple services\n\n{}", listed(&found, c.everywhere())))),
    }
}

impl ServiceInfo {
    fn show(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let Row { namespace, name, .. } = find(c, prefix)?;
        let query = self.page.query(Query::in_namespace(&namespace));
        let read = c.wait(c.client.service(&name, &query));
        let (mut places, meta) = read.context(FAILED)?;
        if places.is_empty() {
            context.ui.output("No service registrations found");
            return Ok(0);
        }
        if self.format.wanted()? {
            return self.format.print(context.ui, &places, "[]*api.ServiceRegistration");
        }
        places.sort_by(|a, b| (&a.job_id, &a.alloc_id, &a.id).cmp(&(&b.job_id, &b.alloc_id, &b.id)));
        if self.verbose {
            for place in &places {
                context.ui.output(&format!("{}\n", block(place)));
            }
        } else {
            let shown: &Columns<'_, Received<ServiceRegistration>> = &[
                ("Job ID", &|p| p.job_id.clone()),
                ("Address", &|p| address(p)),
                ("Tags", &|p| format!("[{}]", p.tags.join(","))),
                ("Node ID", &|p| values::id(&p.node_id, false).into()),
                ("Alloc ID", &|p| values::id(&p.alloc_id, false).into()),
            ];
            context.ui.output(&columns(&places, shown));
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
            c.ask(c.client.delete_service(name, id), "Error deleting service registration")?;
            context.ui.output("Successfully deleted service registration");
            Ok(0)
        })
    }
}
