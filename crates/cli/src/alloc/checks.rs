//! `alloc checks`: the newest results of an allocation's service checks (`docs/spec/cli.md §9.2`).

use crate::prelude::*;
use crate::render::table::{Form, table};
use crate::render::values;
use encamp_api::types::AllocCheck;
use encamp_model::SECOND;

/// Display the health checks of an allocation
///
/// Shows the latest result of each Nomad service check of an allocation.
#[derive(Debug, clap::Parser)]
pub struct AllocChecks {
    #[command(flatten)]
    pub(crate) list: ListFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "allocation", add = CompleteWith::Live(Objects::Allocations))]
    pub(crate) prefix: String,
}

impl Run for AllocChecks {
    const META: Meta =
        Meta::new("alloc checks").argument_error("This command takes one argument: <alloc-id>").examples(&[
            ("Show the health checks of an allocation", "encamp alloc checks 8ba85cef"),
            ("Print them as JSON", "encamp alloc checks -json 8ba85cef"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = &self.prefix;
        context.connected(&self.general, |c, context| {
            let stub = super::named(c, context, prefix, self.list.verbose)?;
            let read = c.wait(c.client.allocation_checks(Some(&stub.namespace), &stub.id));
            let (results, _) = read.context("Error querying allocation service checks")?;
            if self.list.format.wanted()? {
                return self.list.format.print(context.ui, &results, "api.AllocCheckStatuses");
            }
            context.ui.output(&format!("Status of {} Nomad Service Checks\n", results.len()));
            for check in results.values() {
                context.ui.output(&format!("{}\n", block(check, &c.zone)));
            }
            Ok(0)
        })
    }
}

/// The task of a check, or that it belongs to the group.
pub(super) fn task(check: &AllocCheck) -> &str {
    if check.task.is_empty() { "(group)" } else { &check.task }
}

fn block(check: &AllocCheck, zone: &jiff::tz::TimeZone) -> String {
    let mut rows = vec![
        ("ID", check.id.clone()),
        ("Name", check.check.clone()),
        ("Group", check.group.clone()),
        ("Task", task(check).into()),
        ("Service", check.service.clone()),
        ("Status", check.status.clone()),
    ];
    if check.status_code > 0 {
        rows.push(("StatusCode", check.status_code.to_string()));
    }
    rows.extend([
        ("Mode", check.mode.clone()),
        ("Timestamp", values::time(check.timestamp.saturating_mul(SECOND), zone)),
        ("Output", check.output.clone()),
    ]);
    let lines: Vec<String> = rows.into_iter().map(|(key, value)| format!("{key}|=|{value}")).collect();
    table(&lines, Form::List)
}
