//! Text output of `autoscale plan`.

use super::plan::{Plan, PoolPlan};
use super::pools::Pools;
use super::{counted, print_protected, wrapped};
use crate::render::table::{Form, table};
use crate::render::ui::Ui;
use crate::render::wrap::indented;
use encamp_autoscale::arithmetic::Arithmetic;
use encamp_autoscale::checks::Check;
use encamp_autoscale::cycle::{Evaluation, Outcome};
use encamp_autoscale::record::{Direction, Operation, Record};
use encamp_autoscale::view::Metric;
use encamp_model::quoted;

/// Prints a plan.
pub(super) fn print(ui: &mut Ui<'_>, plan: &Plan) {
    if plan.pools.is_empty() {
        ui.output("No worker pools: no ready node is configured for scaling");
    }
    for (i, pool) in plan.pools.iter().enumerate() {
        if i > 0 {
            ui.output("");
        }
        print_pool(ui, pool);
    }
    if !plan.problems.is_empty() {
        ui.heading("Nodes that belong to no pool");
        for problem in &plan.problems {
            ui.output(&wrapped(problem, 2));
        }
    }
}

fn print_pool(ui: &mut Ui<'_>, p: &PoolPlan) {
    let a = &p.arithmetic;
    ui.output_markup("[bold]Worker Pool[reset]");
    ui.output(&format!("  {}: {}, {} to {} allowed", quoted(&p.pool), counted(a.nodes, "node"), p.min, p.max));
    ui.section("Resources", &resources(a));
    ui.heading("Decision");
    for line in decision(a) {
        ui.output(&wrapped(&line, 2));
    }
    if !p.checks.is_empty() {
        ui.heading("Checks");
    }
    for check in &p.checks {
        let verdict = if check.passed { "passed" } else { "failed" };
        ui.output(&format!("  {verdict}: {}", check_name(check.check)));
        ui.output(&wrapped(&check.detail, 10));
    }
    if let Some(first) = p.candidates.first() {
        ui.heading("Removal");
        let short = encamp_model::short_id(&first.id);
        ui.output(&wrapped(&format!("candidate: {} ({short})", first.name), 2));
        let others: Vec<&str> = p.candidates.iter().skip(1).map(|c| c.name.as_str()).collect();
        if !others.is_empty() {
            ui.output(&wrapped(&format!("next: {}", others.join(", ")), 2));
        }
    }
    if let Some(proof) = &p.proof {
        let moved = counted(i64::try_from(proof.moved).unwrap_or(i64::MAX), "allocation");
        ui.output(&format!("  drain: {moved} would be moved, {} would be stopped", proof.stopped));
        for g in &proof.unplaced {
            let text =
                format!("group {} of job {} in namespace {}", quoted(&g.group), quoted(&g.job), quoted(&g.namespace));
            ui.output(&wrapped(&format!("unplaced: {} of {text}", counted(g.count, "allocation")), 2));
        }
    }
    print_protected(ui, &p.protected);
    if !p.problems.is_empty() {
        ui.heading("Problems");
        for problem in &p.problems {
            ui.output(&wrapped(problem, 2));
        }
    }
    ui.output("");
    ui.output(&wrapped(&p.sentence, 0));
}

/// The values of all resources; only those of the selected metric decide.
fn resources(a: &Arithmetic) -> String {
    let mut rows = vec!["Resource|Unit|Total|Used|Share|Reserve|Average Node|Allowed".to_string()];
    for metric in Metric::ALL {
        let (total, used, reserve) = (a.total.get(metric), a.consumed.get(metric), a.reserve.get(metric));
        let mark = if a.metric == Some(metric) { " *" } else { "" };
        let average = total.checked_div(a.nodes).unwrap_or(0);
        rows.push(format!(
            "{}{mark}|{}|{total}|{used}|{}|{reserve}|{average}|{}",
            metric.name(),
            metric.unit(),
            share(used, total),
            allowed(total, reserve, average, a.fault_tolerance),
        ));
    }
    indented(&table(&rows, Form::List))
}

fn share(part: i64, of: i64) -> String {
    if of > 0 { format!("{:.1} %", part as f64 * 100.0 / of as f64) } else { "-".into() }
}

fn allowed(total: i64, reserve: i64, average: i64, tolerance: i64) -> i128 {
    let bound = i128::from(total) - i128::from(reserve) - i128::from(average) * i128::from(tolerance);
    bound.max(0)
}

/// Steps 5 to 7 of `docs/spec/cluster-scaling.md §3` with their values.
fn decision(a: &Arithmetic) -> Vec<String> {
    let metric = a.metric.unwrap_or(Metric::Cpu);
    let (total, used, reserve) = (a.total.get(metric), a.consumed.get(metric), a.reserve.get(metric));
    let unit = metric.unit();
    let mut lines = vec![match a.metric {
        Some(m) => format!("metric: {}, the resource with the highest share ({})", m.name(), share(used, total)),
        None => "metric: none, nothing is used; the CPU limit applies".to_string(),
    }];
    lines.push(format!(
        "allowed: ({total} total - {reserve} reserve) - {} average node * {} fault tolerance = {} {unit}",
        a.average_node, a.fault_tolerance, a.max_allowed
    ));
    if a.too_small {
        lines.push("the limit is negative and counts as 0: the pool cannot provide this fault tolerance".into());
    }
    lines.push(match (a.direction, a.metric) {
        (Direction::In, None) => "direction: in, nothing is used".to_string(),
        (Direction::In, Some(_)) => format!("direction: in, {used} {unit} used < {} {unit} allowed", a.max_allowed),
        (Direction::Out, _) => format!("direction: out, {used} {unit} used >= {} {unit} allowed", a.max_allowed),
    });
    lines.push(format!("step: {}", counted(a.step, "node")));
    lines
}

/// The name of a check in text output.
pub(super) fn check_name(check: Check) -> &'static str {
    match check {
        Check::SimulatedRemoval => "simulated removal",
        Check::ProviderLimits => "limits of the provider",
        Check::PoolLimits => "limits of the pool",
        Check::Cooldown => "cooldown",
        Check::ConsecutiveRequests => "consecutive requests",
    }
}

/// The outcome as a sentence.
pub(super) fn sentence(pools: &Pools, record: &Record, e: &Evaluation) -> String {
    match &e.outcome {
        Outcome::Failsafe => {
            let who = if record.failsafe_admin.is_empty() { "" } else { " since " };
            format!("Nothing would happen: the pool is in failsafe mode{who}{}", record.failsafe_admin)
        }
        Outcome::InProgress => match &record.operation {
            Some(operation) => format!("Nothing would happen: {} is in progress", in_words(pools, operation)),
            None => "Nothing would happen: an operation is in progress".into(),
        },
        Outcome::Denied { reason, .. } => format!("Nothing would happen: {reason}"),
        Outcome::Requested { requests, threshold } => {
            let way = match e.arithmetic.direction {
                Direction::In => "shrink",
                Direction::Out => "grow",
            };
            format!("Nothing would happen yet: this would be {requests} of {threshold} consecutive requests to {way}")
        }
        Outcome::Begin(operation) => match operation.direction {
            Direction::Out => format!("The pool would grow by {}", counted(e.arithmetic.step, "node")),
            Direction::In => format!("The pool would shrink by 1 node: {}", pools.node(&operation.node_id)),
        },
    }
}

/// Describes an operation in progress.
pub(super) fn in_words(pools: &Pools, operation: &Operation) -> String {
    match operation.direction {
        Direction::Out => {
            format!("a scale-out to {} (step {})", counted(operation.target, "instance"), step(operation))
        }
        Direction::In => format!("the removal of node {} (step {})", pools.node(&operation.node_id), step(operation)),
    }
}

/// The name of the step, as stored.
fn step(operation: &Operation) -> String {
    serde_json::to_value(operation.step).ok().and_then(|v| v.as_str().map(String::from)).unwrap_or_default()
}
