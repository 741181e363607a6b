//! `alloc status`: everything about an allocation (`docs/spec/cli.md §9.1`).

use serde_json::Value;

use super::checks::task;
use super::tasks;
use crate::data;
use crate::lookup::LookupError;
use crate::objects;
use crate::prelude::*;
use crate::render::metrics::metric_lines;
use crate::render::table::{Form, pairs, table};
use crate::render::values::{self, Clock};
use crate::web::hint::UiPage;
use encamp_api::Query;
use encamp_api::types::AllocCheck;
use encamp_model::stats::AllocResourceUsage;
use encamp_model::{Allocation, NetworkResource, PackedMetric, Text, format_duration, quoted};

/// The maximum number of preempted allocations that are shown without -verbose: each requires a request.
const MOST_VICTIMS: usize = 8;

/// Display allocation status
///
/// Shows the status of an allocation and of its tasks: resource usage, events, and addresses. For a preempted
/// allocation it shows the allocation that preempted it; for a preempting one, the allocations that it preempted. The
/// argument is the allocation ID or a prefix of it.
///
/// With -json or -t, the argument is optional: without it, all allocations are printed.
#[derive(Debug, clap::Parser)]
pub struct AllocStatus {
    /// Show brief output
    #[arg(long)]
    pub short: bool,
    /// Show detailed resource usage statistics
    #[arg(long)]
    pub stats: bool,
    /// Show full identifiers, timestamps and placement metrics
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "allocation", add = CompleteWith::Live(Objects::Allocations))]
    pub(crate) args: Vec<String>,
}

impl Run for AllocStatus {
    const META: Meta =
        Meta::new("alloc status").former_names(&[FormerName::accepted("alloc-status")]).paged().examples(&[
            ("Show an allocation", "encamp alloc status 8ba85cef"),
            ("Show its resource usage as well", "encamp alloc status -stats 8ba85cef"),
            ("Print the name of the node that runs it", "encamp alloc status -t '{{.NodeName}}' 8ba85cef"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = match self.args.as_slice() {
            [] if self.format.wanted() != Ok(false) => {
                return context.connected(&self.general, |c, context| {
                    let list = c.wait(c.client.rows::<Value>("/v1/allocations", &Query::default()));
                    let (mut rows, _) = list.context("Error querying allocations")?;
                    data::newest_first(&mut rows);
                    self.format.wanted()?;
                    self.format.print(context.ui, &rows, "[]*api.AllocationListStub")
                });
            }
            [prefix] => prefix,
            _ => {
                return context.argument_error(
                    "This command takes one of the following argument conditions:\n * A single <allocation>\n * No \
                     arguments, with output format specified",
                );
            }
        };
        if let Err(e) = objects::long_enough(prefix, "Identifier") {
            return context.failure(&e.to_string());
        }
        context.connected(&self.general, |c, context| self.show(c, context, prefix))
    }
}

impl AllocStatus {
    fn show(&self, c: &Connection, context: &mut Context<'_, '_>, prefix: &str) -> CommandResult<u8> {
        let clock = context.clock();
        let stub = match objects::allocation(c, prefix, self.verbose, &clock) {
            Ok(stub) => stub,
            Err(e @ LookupError::Ambiguous { .. }) => {
                let text = e.to_string();
                if let Some(code) = context.choose_instead(&e.into()) {
                    return Ok(code);
                }
                context.ui.output(&text);
                return Ok(0);
            }
            Err(e @ (LookupError::TooShort { .. } | LookupError::Request { .. } | LookupError::NotFound(_))) => {
                return Err(e.into());
            }
        };
        let read = c.wait(c.client.allocation_value(&stub.namespace, &stub.id));
        let (mut value, _) = read.context("Error querying allocation")?;
        if self.format.wanted()? {
            data::complete(&mut value, data::ALLOCATION);
            return self.format.print(context.ui, &value, "*api.Allocation");
        }
        let alloc: Allocation = data::typed(&value)?;
        if self.short {
            context.ui.output(&short_header(&alloc, &clock));
            context.ui.section("Tasks", &tasks::short_table(&alloc, &c.zone));
            return Ok(0);
        }
        context.ui.output(&self.header(c, &alloc, &clock));
        if let Some(text) = addresses(&alloc) {
            context.ui.output(&text);
        }
        if let Some(text) = checks(c, &alloc.id) {
            context.ui.output(&text);
        }
        let stats = match c.wait(c.client.allocation_stats(&alloc.id)) {
            Ok((stats, _)) => Some(stats),
            Err(e) => {
                context.ui.output("");
                context.ui.error(&format!("Couldn't retrieve stats: {e}"));
                None
            }
        };
        self.tasks(c, context, &alloc, stats.as_ref());
        if self.verbose {
            context.ui.heading("Placement Metrics");
            let metrics = alloc.metrics.as_ref().map(PackedMetric::unpack).unwrap_or_default();
            let lines = metric_lines(&metrics, "  ", true, context.ui.colours_on());
            context.ui.output(&lines);
        }
        UiPage::allocation(&alloc.id).show(c, self.ui, context);
        Ok(0)
    }

    fn tasks(
        &self,
        c: &Connection,
        context: &mut Context<'_, '_>,
        alloc: &Allocation,
        stats: Option<&AllocResourceUsage>,
    ) {
        for task in tasks::ordered(alloc) {
            context.ui.output_markup(&task.heading());
            let usage = stats.and_then(|s| s.tasks.get(&task.name)).map(|t| &t.resource_usage);
            for part in task.parts(alloc, usage, self.stats) {
                context.ui.output(&part);
            }
            for part in tasks::volumes(c, alloc, &task, self.verbose) {
                context.ui.output(&part);
            }
            context.ui.output(&task.history(&c.zone));
        }
    }

    /// The first block.
    fn header(&self, c: &Connection, alloc: &Allocation, clock: &Clock) -> String {
        let id = |id: &str| values::id(id, self.verbose).to_string();
        let when = |nanos| clock.shown(nanos, self.verbose);
        let mut rows: Vec<(&str, String)> = vec![
            ("ID", alloc.id.to_string()),
            ("Eval ID", id(&alloc.eval_id)),
            ("Name", alloc.name.to_string()),
            ("Node ID", id(&alloc.node_id)),
            ("Node Name", alloc.node_name.to_string()),
            ("Job ID", alloc.job_id.to_string()),
            ("Job Version", alloc.job_version().map(|v| v.to_string()).unwrap_or_default()),
            ("Client Status", alloc.client_status.to_string()),
            ("Client Description", alloc.client_description.to_string()),
            ("Desired Status", alloc.desired_status.to_string()),
            ("Desired Description", alloc.desired_description.to_string()),
            ("Created", when(alloc.create_time)),
            ("Modified", when(alloc.modify_time)),
        ];
        if let Some(deadline) = tasks::deadline(alloc) {
            rows.push(("Max Run Deadline", when(deadline)));
        }
        if !alloc.deployment_id.is_empty() {
            let health = match alloc.health() {
                Some(true) => "healthy",
                Some(false) => "unhealthy",
                None => "unset",
            };
            rows.extend([("Deployment ID", id(&alloc.deployment_id)), ("Deployment Health", health.into())]);
            if alloc.is_canary() {
                rows.push(("Canary", "true".into()));
            }
        }
        if let Some(attempts) = reschedule_attempts(alloc) {
            rows.push(("Reschedule Attempts", attempts));
        }
        if !alloc.next_allocation.is_empty() {
            rows.push(("Replacement Alloc ID", id(&alloc.next_allocation)));
        }
        if let Some(at) = self.eligible_again(c, alloc, clock.now) {
            rows.push(("Reschedule Eligibility", clock.age(at)));
        }
        if !alloc.preempted_by_allocation.is_empty() {
            rows.push(("Preempted By", self.other(c, &alloc.preempted_by_allocation)));
        }
        if !alloc.preempted_allocations.is_empty() {
            rows.push(("Preempted", self.victims(c, &alloc.preempted_allocations)));
        }
        if let (true, Some(metrics)) = (self.verbose, &alloc.metrics) {
            let metrics = metrics.unpack();
            rows.extend([
                ("Evaluated Nodes", metrics.nodes_evaluated.to_string()),
                ("Filtered Nodes", metrics.nodes_filtered.to_string()),
                ("Exhausted Nodes", metrics.nodes_exhausted.to_string()),
                ("Allocation Time", format_duration(metrics.allocation_time)),
                ("Failures", metrics.coalesced_failures.to_string()),
            ]);
        }
        pairs(&rows)
    }

    /// Describes an allocation by its ID, job and task group; by the ID only if it was garbage collected.
    fn other(&self, c: &Connection, id: &str) -> String {
        let short = values::id(id, self.verbose);
        match c.wait(c.client.allocation(id)) {
            Ok((a, _)) => format!("{short} (job {}, group {})", quoted(&a.job_id), quoted(&a.task_group)),
            Err(_) => short.to_string(),
        }
    }

    /// The allocations that this one preempted.
    fn victims(&self, c: &Connection, ids: &[Text]) -> String {
        let named = if self.verbose { ids.len() } else { MOST_VICTIMS };
        let mut out: Vec<String> = ids.iter().take(named).map(|id| self.other(c, id)).collect();
        if ids.len() > named {
            out.push(format!("and {} more; -verbose lists them", ids.len() - named));
        }
        out.join(", ")
    }

    /// When a failed allocation may be rescheduled, if that is in the future.
    fn eligible_again(&self, c: &Connection, alloc: &Allocation, now: i64) -> Option<i64> {
        if alloc.followup_eval_id.is_empty() {
            return None;
        }
        let (eval, _) = c.wait(c.client.evaluation(&alloc.followup_eval_id)).ok()?;
        eval.wait_until.unix_nanos().filter(|at| *at > now)
    }
}

fn short_header(alloc: &Allocation, clock: &Clock) -> String {
    let mut rows = vec![
        ("ID", alloc.id.to_string()),
        ("Name", alloc.name.to_string()),
        ("Created", clock.age(alloc.create_time)),
        ("Modified", clock.age(alloc.modify_time)),
    ];
    if let Some(deadline) = tasks::deadline(alloc) {
        rows.push(("Max Run Deadline", clock.age(deadline)));
    }
    pairs(&rows)
}

/// The number of reschedule attempts within the interval of the policy, and the maximum.
fn reschedule_attempts(alloc: &Allocation) -> Option<String> {
    let events = alloc.reschedule_tracker.as_ref()?.events.as_ref().filter(|events| !events.is_empty())?;
    let job = alloc.job.as_ref()?;
    let policy = job.lookup_group(&alloc.task_group)?.reschedule_policy.as_ref().filter(|p| p.attempts > 0)?;
    let recent = |time: i64| alloc.modify_time.saturating_sub(time) < policy.interval;
    let done = events.iter().filter(|event| recent(event.reschedule_time)).count();
    Some(format!("{done}/{}", policy.attempts))
}

/// The ports of the group's network.
fn addresses(alloc: &Allocation) -> Option<String> {
    let shared = &alloc.allocated_resources.as_ref()?.shared;
    let network = shared.networks.first()?;
    let forwarded = |to: i64| if to > 0 { format!(" -> {to}") } else { String::new() };
    let mut lines = vec!["Label|Dynamic|Address".to_string()];
    if shared.ports.is_empty() {
        let ports = network.dynamic_ports.iter().chain(&network.reserved_ports);
        lines.extend(ports.map(|p| format!("{}|yes|{}{}", p.label, endpoint(&network, p.value), forwarded(p.to))));
    } else {
        let ports = shared.ports.iter();
        lines.extend(ports.map(|p| format!("*{}|yes|{}:{}{}", p.label, p.host_ip, p.value, forwarded(p.to))));
    }
    if lines.len() == 1 {
        return None;
    }
    let mode = match network.mode.as_str() {
        "" => String::new(),
        mode => format!(" (mode = {})", quoted(mode)),
    };
    Some(format!("\nAllocation Addresses{mode}:\n{}", table(&lines, Form::List)))
}

/// An address in a network.
pub(super) fn endpoint(network: &NetworkResource, port: i64) -> String {
    format!("{}:{port}", network.ip)
}

/// The latest results of service checks; none if the node cannot be reached.
fn checks(c: &Connection, id: &str) -> Option<String> {
    let (results, _) = c.wait(c.client.allocation_checks(None, id)).ok()?;
    let mut lines: Vec<String> = results.values().map(|check| check_line(check)).collect();
    if lines.is_empty() {
        return None;
    }
    lines.sort();
    lines.insert(0, "Service|Task|Name|Mode|Status".into());
    Some(format!("\nNomad Service Checks:\n{}", table(&lines, Form::List)))
}

fn check_line(check: &AllocCheck) -> String {
    [&check.service, task(check), &check.check, &check.mode, &check.status].join("|")
}
