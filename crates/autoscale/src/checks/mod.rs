//! The safety checks of an evaluation, in order (`docs/spec/cluster-scaling.md §4`). Each describes its comparison in
//! one sentence, which operators read in `autoscale plan` and as the reason of a decision.

use serde::Serialize;

use encamp_model::{SECOND, quoted};

use crate::arithmetic::{Arithmetic, REMOVAL_PERCENT, Removal, Verdict};
use crate::params::PoolParameters;
use crate::proof::{Proof, ProofError};
use crate::protection::ProtectedBy;
use crate::provider::{ProviderError, ScalingGroup};
use crate::record::{Direction, Record};
use crate::view::{INSTANCE_ID, Metric, NodeView};

/// A safety check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Check {
    /// The pool without one node, by arithmetic and by the scheduler.
    SimulatedRemoval,
    /// The bounds of the scaling group.
    ProviderLimits,
    /// The bounds of the pool.
    PoolLimits,
    /// The time since the last operation.
    Cooldown,
    /// Consecutive requests for the same direction.
    ConsecutiveRequests,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub struct CheckResult {
    /// Which check.
    pub check: Check,
    /// It passed, or did not apply.
    pub passed: bool,
    /// The figures it compared, as a sentence.
    pub detail: String,
}

impl CheckResult {
    fn new(check: Check, passed: bool, detail: String) -> CheckResult {
        CheckResult { check, passed, detail }
    }
}

/// Check 1 for a scale-out, which removes nothing.
pub fn no_removal() -> CheckResult {
    CheckResult::new(Check::SimulatedRemoval, true, "no node is removed by a scale-out".into())
}

/// The arithmetic of check 1: every resource of the pool without one average node.
pub fn removal(figures: &Arithmetic) -> CheckResult {
    let removals = figures.without_one_node();
    let passed = removals.iter().all(|r| r.verdict != Verdict::Denied);
    let mut detail: Vec<String> = removals.iter().map(removal_sentence).collect();
    if !passed {
        detail.push(format!("less than {REMOVAL_PERCENT} % is needed of each"));
    }
    CheckResult::new(Check::SimulatedRemoval, passed, detail.join("; "))
}

fn removal_sentence(r: &Removal) -> String {
    let unit = r.metric.unit();
    let left = match r.nodes {
        1 => "1 node".to_string(),
        n => format!("{n} nodes"),
    };
    let name = r.metric.name();
    match (r.verdict, r.percent()) {
        (Verdict::Skipped, _) => format!("{name}: the pool has none"),
        (Verdict::Allowed | Verdict::Denied, Some(percent)) => {
            format!("{name}: {} {unit} used, {} {unit} allowed with {left}, {percent} %", r.consumed, r.max_allowed)
        }
        (Verdict::Allowed | Verdict::Denied, None) => {
            format!("{name}: {} {unit} used, nothing allowed with {left} ({} {unit})", r.consumed, r.max_allowed)
        }
    }
}

/// Check 1 where no node may be removed.
pub fn all_protected(nodes: &[NodeView]) -> CheckResult {
    let counts = ProtectedBy::ALL.map(|reason| (reason, nodes.iter().filter(|n| n.protected == Some(reason)).count()));
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let counts: Vec<String> = counts
        .map(|(reason, count)| format!("{count} {} {}", if count == 1 { "runs" } else { "run" }, reason.runs()))
        .collect();
    let noun = if nodes.len() == 1 { "node" } else { "nodes" };
    let detail = format!("no node may be removed: of {} {noun} {}", nodes.len(), counts.join(", "));
    CheckResult::new(Check::SimulatedRemoval, false, detail)
}

/// The scheduler's part of check 1, about the node that was chosen.
pub fn proof(node: &NodeView, result: Result<&Proof, &ProofError>) -> CheckResult {
    let named = named(node);
    let (passed, detail) = match result {
        Err(e) => (false, format!("the drain of {named} could not be simulated: {e}")),
        Ok(proof) if proof.holds() => {
            let ended = match proof.stopped {
                0 => String::new(),
                n => format!(", {n} end without a replacement"),
            };
            (true, format!("{named} can be drained: {} allocations can be placed on other nodes{ended}", proof.moved))
        }
        Ok(proof) => {
            let group = |g: &crate::proof::UnplacedGroup| {
                let namespace = match g.namespace.as_str() {
                    "default" | "" => String::new(),
                    other => format!(" of namespace {}", quoted(other)),
                };
                format!("{} of group {} of job {}{namespace}", g.count, quoted(&g.group), quoted(&g.job))
            };
            let mut groups: Vec<String> = proof.unplaced.iter().take(MOST_GROUPS).map(group).collect();
            let more = proof.unplaced.len().saturating_sub(MOST_GROUPS);
            if more > 0 {
                groups.push(format!("{more} more groups"));
            }
            (false, format!("{named} cannot be drained: no other node takes {}", groups.join(", ")))
        }
    };
    CheckResult::new(Check::SimulatedRemoval, passed, detail)
}

/// The last part of check 1: whether the pool without the chosen node would have to grow again. `left` are its figures
/// without that node. Its capacity may be far from the average.
pub fn left_behind(node: &NodeView, left: &Arithmetic) -> CheckResult {
    let metric = left.metric.unwrap_or(Metric::Cpu);
    let (name, unit, used, allowed) = (metric.name(), metric.unit(), left.consumed.get(metric), left.max_allowed);
    let named = named(node);
    let detail = match left.direction {
        Direction::In => format!("{name}: {used} {unit} used, {allowed} {unit} allowed without {named}"),
        Direction::Out => {
            format!("without {named} the pool would grow again: {name}: {used} {unit} used, {allowed} {unit} allowed")
        }
    };
    CheckResult::new(Check::SimulatedRemoval, left.direction == Direction::In, detail)
}

/// Most groups that a sentence names.
const MOST_GROUPS: usize = 8;

/// Check 2: the limits of the scaling group, and for a scale-in the instance of the node that was chosen.
pub fn provider_limits(
    figures: &Arithmetic,
    group: Result<&ScalingGroup, &ProviderError>,
    chosen: Option<&NodeView>,
) -> CheckResult {
    let result = |passed, detail| CheckResult::new(Check::ProviderLimits, passed, detail);
    let group = match group {
        Err(e) => return result(false, format!("the scaling group could not be read: {e}")),
        Ok(group) => group,
    };
    let ScalingGroup { desired, min, max, .. } = *group;
    if desired != figures.nodes {
        let nodes = figures.nodes;
        return result(
            false,
            format!("the scaling group is to have {desired} instances, but {nodes} nodes are registered"),
        );
    }
    let target = target(desired, figures);
    let inside = match figures.direction {
        Direction::Out => target <= max,
        Direction::In => target >= min,
    };
    if !inside {
        return result(
            false,
            format!("the scaling group would go from {desired} to {target} instances; it allows {min} to {max}"),
        );
    }
    if let Some(node) = chosen {
        match &node.instance_id {
            None => return result(false, without_instance(node)),
            Some(id) if !group.has(id) => {
                let named = named(node);
                return result(
                    false,
                    format!("{named} runs on instance {}, which the scaling group does not have", quoted(id)),
                );
            }
            Some(_) => {}
        }
    }
    result(true, format!("the scaling group goes from {desired} to {target} instances; it allows {min} to {max}"))
}

/// Check 2 where there is no provider to ask: only what the cluster itself says about the chosen node.
pub fn provider_limits_unknown(chosen: Option<&NodeView>) -> CheckResult {
    match chosen.filter(|n| n.instance_id.is_none()) {
        Some(node) => CheckResult::new(Check::ProviderLimits, false, without_instance(node)),
        None => {
            let detail = "the limits of the scaling group are not known here".to_string();
            CheckResult::new(Check::ProviderLimits, true, detail)
        }
    }
}

fn without_instance(node: &NodeView) -> String {
    format!(
        "the instance of {} is not known: its attribute or client meta {} must name it",
        named(node),
        quoted(INSTANCE_ID)
    )
}

/// Check 3: the limits of the pool. A scale-out may not pass the upper one, a scale-in not the lower one.
pub fn pool_limits(figures: &Arithmetic, parameters: &PoolParameters) -> CheckResult {
    let PoolParameters { min, max, .. } = *parameters;
    let nodes = figures.nodes;
    let target = target(nodes, figures);
    let passed = match figures.direction {
        Direction::Out => figures.step > 0 && target <= max,
        Direction::In => target >= min,
    };
    let detail = match (passed, figures.direction) {
        (true, _) => format!("the pool goes from {nodes} to {target} nodes; it may have {min} to {max}"),
        (false, Direction::Out) => format!("the pool has {nodes} nodes and may have {max} at most"),
        (false, Direction::In) => format!("the pool has {nodes} nodes and may have no fewer than {min}"),
    };
    CheckResult::new(Check::PoolLimits, passed, detail)
}

/// How many there are after the operation.
pub(crate) fn target(count: i64, figures: &Arithmetic) -> i64 {
    match figures.direction {
        Direction::Out => count.saturating_add(figures.step),
        Direction::In => count.saturating_sub(figures.step),
    }
}

/// Check 4: the time since the last operation, or the last one of this direction where it has a cooldown of its own.
/// An operation that is dated in the future, since a clock was set back, counts as of now.
pub fn cooldown(record: &Record, direction: Direction, parameters: &PoolParameters, now: i64) -> CheckResult {
    let result = |passed, detail| CheckResult::new(Check::Cooldown, passed, detail);
    let cooldowns = &parameters.cooldown;
    let own = cooldowns.own(direction).is_some();
    let Some(state) = cooldowns.left(direction, record, now) else {
        let nothing = match (own, direction, record.last_scaling_event) {
            (true, Direction::Out, Some(_)) => "the pool was not scaled out yet",
            (true, Direction::In, Some(_)) => "the pool was not scaled in yet",
            (false, _, _) | (true, _, None) => "nothing was scaled yet",
        };
        return result(true, nothing.into());
    };
    let cooldown = match (own, direction) {
        (false, _) => "cooldown",
        (true, Direction::Out) => "scale-out cooldown",
        (true, Direction::In) => "scale-in cooldown",
    };
    let seconds = cooldowns.of(direction).as_secs();
    let note = if state.corrected { "; the last operation is dated in the future and counts as of now" } else { "" };
    if state.left <= 0 {
        return result(true, format!("the {cooldown} of {seconds} s is over{note}"));
    }
    let left = state.left / SECOND + i64::from(state.left % SECOND > 0);
    result(false, format!("{left} s of the {cooldown} of {seconds} s are left{note}"))
}

/// Check 5: `requests` consecutive ones for the same direction, this one included.
pub fn consecutive_requests(requests: i64, direction: Direction, parameters: &PoolParameters) -> CheckResult {
    let threshold = parameters.scaling_threshold;
    let detail = format!("request {requests} of {threshold} to scale {}", direction.name());
    CheckResult::new(Check::ConsecutiveRequests, requests >= threshold, detail)
}

fn named(node: &NodeView) -> String {
    format!("node {} ({})", quoted(&node.name), encamp_model::short_id(&node.id))
}

#[cfg(test)]
mod tests;
