//! `autoscale status`: worker pools and the last decisions about them (`docs/spec/cluster-scaling.md §11`).

use serde::Serialize;

use super::groups::{self, Groups};
use super::plan_text;
use super::pools::{Pools, unknown};
use super::{print_problems, print_protected, state, wrapped};
use crate::cluster::{ClusterFlags, FetchFlags, TimeFlags};
use crate::prelude::*;
use crate::render::table::{self, Columns, cell, pairs};
use crate::render::ui::Ui;
use crate::render::values::age;
use encamp_api::Query;
use encamp_autoscale::cycle::{Evaluation, Outcome};
use encamp_autoscale::protection::protected_nodes;
use encamp_autoscale::record::{Direction, Record};
use encamp_autoscale::registry::Pool;
use encamp_autoscale::status::{Action, Decision, PoolStatus};
use encamp_autoscale::view::Metric;
use encamp_model::{SECOND, Time, format_duration};

/// The note that is printed when the cluster does not report pools itself.
const OWN_EVALUATION: &str = "The cluster does not report worker pools: it has no autoscaling block, or is not an \
                              encamp cluster. They were evaluated locally, without the limits of the provider; the \
                              last decision of an autoscaler is not known";

/// Display the status of worker pools or job groups
///
/// Lists the worker pools: their nodes, the metric that decides, its usage and the allowed usage, the scaling direction
/// and the number of consecutive requests, the remaining cooldown, and the last decision and its reason. With the name
/// of a pool, all details of that pool are shown.
///
/// If the leader of the cluster does not scale pools, the command evaluates the pools itself, with the state objects
/// that an external autoscaler wrote to the Variables.
///
/// With -groups, the command shows the scaled job groups of the namespace instead: their counts, the usage of their
/// allocations, and the last decision. The argument is then JOB/GROUP.
#[derive(Debug, clap::Parser)]
pub struct AutoscaleStatus {
    /// Show job groups instead of worker pools
    #[arg(long)]
    pub groups: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    /// The worker pool, or the job group as JOB/GROUP
    #[arg(value_name = "pool")]
    pub(crate) optional_args: Vec<String>,
}

/// The pools, and notes about the result.
struct Read {
    pools: Vec<PoolStatus>,
    notes: Vec<String>,
}

impl AutoscaleStatus {
    fn read(&self, c: &Connection, context: &Context<'_, '_>) -> CommandResult<Read> {
        let answer = c.wait(c.client.rows::<PoolStatus>("/v1/autoscale/pools", &Query::default()));
        if let Some((pools, _)) = state::offered(answer, "querying worker pools")? {
            return Ok(Read { pools, notes: Vec::new() });
        }
        let flags = ClusterFlags { fetch: self.fetch.clone(), ..ClusterFlags::default() };
        let read = Pools::load(&flags, &TimeFlags::default(), &self.general, context.env)?;
        let mut notes = vec![OWN_EVALUATION.to_string()];
        notes.extend(read.notes.iter().cloned());
        notes.extend(read.stray_problems());
        let pools = read.registry.pools().values().filter_map(|pool| {
            let record = read.records.get(&pool.name)?;
            Some(evaluated(&read, pool, record))
        });
        Ok(Read { pools: pools.collect(), notes })
    }
}

impl AutoscaleStatus {
    fn of_groups(&self, c: &Connection, context: &mut Context<'_, '_>, wanted: Option<&str>) -> CommandResult<u8> {
        let formatted = self.format.wanted().map_err(CommandError::new)?;
        let read = Groups::read(c, &self.fetch, &self.general, context.env)?;
        for note in &read.notes {
            context.ui.warn(note);
        }
        let now = context.env.now;
        match (wanted, formatted) {
            (Some(name), true) => {
                return self.print(context, read.find(name)?, "*autoscale.GroupStatus");
            }
            (Some(name), false) => groups::details(context.ui, read.find(name)?, now),
            (None, true) => return self.print(context, &read.groups, "[]*autoscale.GroupStatus"),
            (None, false) => groups::list(context.ui, &read.groups, now),
        }
        Ok(0)
    }

    fn of_pools(&self, c: &Connection, context: &mut Context<'_, '_>, wanted: Option<&str>) -> CommandResult<u8> {
        let formatted = self.format.wanted().map_err(CommandError::new)?;
        let mut read = self.read(c, context)?;
        for note in &read.notes {
            context.ui.warn(note);
        }
        if let Some(name) = wanted {
            let found = read.pools.iter().position(|p| p.pool == name);
            let found = found.ok_or_else(|| unknown(name, read.pools.iter().map(|p| &p.pool)))?;
            let pool = read.pools.swap_remove(found);
            if formatted {
                return self.print(context, &pool, "*autoscale.PoolStatus");
            }
            details(context, &pool);
            return Ok(0);
        }
        if formatted {
            return self.print(context, &read.pools, "[]*autoscale.PoolStatus");
        }
        list(context, &read.pools);
        Ok(0)
    }

    /// Prints a result in the requested format.
    fn print(
        &self,
        context: &mut Context<'_, '_>,
        value: &(impl Serialize + ?Sized),
        type_name: &str,
    ) -> CommandResult<u8> {
        self.format.print(context.ui, value, type_name).map_err(CommandError::new)
    }
}

/// The status of a pool, evaluated here.
fn evaluated(pools: &Pools, pool: &Pool, record: &CommandResult<Record>) -> PoolStatus {
    let time = Time::from_unix_nanos(pools.now);
    let problems = pools.problems(Some(&pool.name));
    let record = match record {
        Ok(record) => record,
        Err(e) => {
            let last_decision = Decision { time, action: Action::Error, reason: e.to_string() };
            let unknown = PoolStatus::new(&pool.name, Some(pool), &Record::default(), None, pools.now);
            return PoolStatus { problems, last_decision, ..unknown };
        }
    };
    let e = pools.evaluate(pool, record, None);
    PoolStatus {
        problems,
        protected: protected_nodes(&e.view),
        operation: record.operation.as_ref().map(|o| plan_text::in_words(pools, o)).unwrap_or_default(),
        last_decision: Decision {
            time,
            action: action(&e),
            reason: match &e.outcome {
                Outcome::Denied { reason, .. } => reason.clone(),
                Outcome::Failsafe | Outcome::InProgress | Outcome::Requested { .. } | Outcome::Begin(_) => {
                    plan_text::sentence(pools, record, &e)
                }
            },
        },
        ..PoolStatus::new(&pool.name, Some(pool), record, Some(&e.arithmetic), pools.now)
    }
}

fn action(e: &Evaluation) -> Action {
    let direction = |d: Direction| match d {
        Direction::Out => Action::ScaleOut,
        Direction::In => Action::ScaleIn,
    };
    match &e.outcome {
        Outcome::Failsafe => Action::Failsafe,
        Outcome::InProgress => e.record.operation.as_ref().map_or(Action::None, |o| direction(o.direction)),
        Outcome::Denied { .. } => Action::Denied,
        Outcome::Requested { .. } => Action::Requested,
        Outcome::Begin(operation) => direction(operation.direction),
    }
}

impl Run for AutoscaleStatus {
    const META: Meta = Meta::new("autoscale status").examples(&[
        ("List the worker pools", "encamp autoscale status"),
        ("Show all details of a worker pool", "encamp autoscale status web-workers"),
        ("List the job groups that are scaled", "encamp autoscale status -groups"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let wanted = match self.optional_args.as_slice() {
            [] => None,
            [pool] => Some(pool.as_str()),
            _ => return context.usage_error("This command takes no arguments or one: <pool>"),
        };
        context.connected(&self.general, |c, context| {
            if self.groups { self.of_groups(c, context, wanted) } else { self.of_pools(c, context, wanted) }
        })
    }
}

/// Prints all pools: a table that fits the terminal, followed by the last decisions.
fn list(context: &mut Context<'_, '_>, pools: &[PoolStatus]) {
    let now = context.env.now;
    if pools.is_empty() {
        return context.ui.output("No worker pools");
    }
    let columns: &Columns<'_, PoolStatus> = &[
        ("Pool", &|p| cell(&p.pool)),
        ("Nodes", &|p| format!("{} ({}-{})", p.nodes, p.min, p.max)),
        ("Metric", &|p| if p.metric.is_empty() { "-".into() } else { p.metric.clone() }),
        ("Used", &|p| p.utilization.to_string()),
        ("Allowed", &|p| p.max_allowed.to_string()),
        ("Direction", &direction),
        ("Cooldown", &|p| left(p.cooldown_left)),
        ("Failsafe", &|p| p.failsafe.to_string()),
    ];
    context.ui.output(&table::columns(pools, columns));
    context.ui.heading("Last Decisions");
    for p in pools {
        context.ui.output(&wrapped(&format!("{}: {}", p.pool, decision(p, now)), 0));
        reason(context.ui, p, 2);
    }
    let problems: Vec<String> =
        pools.iter().flat_map(|p| p.problems.iter().map(|problem| format!("{}: {problem}", p.pool))).collect();
    print_problems(context.ui, &problems);
}

fn details(context: &mut Context<'_, '_>, p: &PoolStatus) {
    let now = context.env.now;
    let unit = [Metric::Cpu, Metric::Memory, Metric::Disk].into_iter().find(|m| m.name() == p.metric).map(Metric::unit);
    let unit = unit.map_or(String::new(), |u| format!(" {u}"));
    let failsafe = failsafe(p.failsafe, &p.failsafe_admin);
    let none = |text: &str| if text.is_empty() { "none".to_string() } else { text.to_string() };
    context.ui.output(&pairs(&[
        ("Pool", cell(&p.pool)),
        ("Nodes", p.nodes.to_string()),
        ("Min/Max", format!("{}/{}", p.min, p.max)),
        ("Metric", none(&p.metric)),
        ("Used", format!("{}{unit}", p.utilization)),
        ("Allowed", format!("{}{unit}", p.max_allowed)),
        ("Direction", none(&p.direction)),
        ("Scale-In Requests", p.scale_in_requests.to_string()),
        ("Scale-Out Requests", p.scale_out_requests.to_string()),
        ("Cooldown Left", cooldowns(p.cooldown_left, p.scale_out_cooldown_left, p.scale_in_cooldown_left)),
        ("Failures", p.failures.to_string()),
        ("Failsafe", cell(&failsafe)),
        ("Operation", none(&cell(&p.operation))),
    ]));
    context.ui.section("Last Decision", &decision(p, now));
    reason(context.ui, p, 2);
    print_protected(context.ui, &p.protected);
    print_problems(context.ui, &p.problems);
}

fn reason(ui: &mut Ui<'_>, p: &PoolStatus, indent: usize) {
    if !p.last_decision.reason.is_empty() {
        ui.output(&wrapped(&p.last_decision.reason, indent));
    }
    if !p.operation.is_empty() {
        ui.output(&wrapped(&p.operation, indent));
    }
}

/// The last decision and its time.
fn decision(p: &PoolStatus, now: i64) -> String {
    let at = p.last_decision.time.unix_nanos().map(|t| format!(", {}", age(t, now))).unwrap_or_default();
    format!("{}{at}", p.last_decision.action.name())
}

/// The scaling direction and the number of consecutive requests.
fn direction(p: &PoolStatus) -> String {
    let requests = match (p.scale_in_requests, p.scale_out_requests) {
        (0, 0) => String::new(),
        (0, out) => format!(" ({out})"),
        (inwards, _) => format!(" ({inwards})"),
    };
    if p.direction.is_empty() { "-".into() } else { format!("{}{requests}", p.direction) }
}

/// Failsafe mode, and who or what changed it last.
pub(super) fn failsafe(on: bool, admin: &str) -> String {
    if admin.is_empty() { on.to_string() } else { format!("{on}, since {admin}") }
}

/// The remaining cooldown, of each direction where they differ.
pub(super) fn cooldowns(any: i64, out: i64, r#in: i64) -> String {
    if out == r#in { left(any) } else { format!("out {}, in {}", left(out), left(r#in)) }
}

/// A remaining time in whole seconds.
pub(super) fn left(nanos: i64) -> String {
    format_duration(nanos.saturating_add(SECOND - 1).div_euclid(SECOND).saturating_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_texts() {
        // Servers of before tell one cooldown alone.
        assert_eq!(cooldowns(61 * SECOND, 0, 0), "1m1s");
        assert_eq!(cooldowns(SECOND, SECOND, SECOND), "1s");
        assert_eq!(cooldowns(0, 0, 600 * SECOND), "out 0s, in 10m0s");
        let mut p = PoolStatus::default();
        assert_eq!(direction(&p), "-");
        (p.direction, p.scale_in_requests) = ("in".into(), 2);
        assert_eq!(direction(&p), "in (2)");
        (p.direction, p.scale_in_requests, p.scale_out_requests) = ("out".into(), 0, 1);
        assert_eq!(direction(&p), "out (1)");
        assert_eq!([0, 1, 61 * SECOND].map(left), ["0s", "1s", "1m1s"]);
        p.last_decision =
            Decision { time: Time::from_unix_nanos(SECOND), action: Action::Denied, reason: String::new() };
        assert_eq!(decision(&p, 9 * SECOND), "denied, 8s ago");
    }
}
