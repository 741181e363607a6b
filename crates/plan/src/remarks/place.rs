//! Remarks in words, with their places in the job file.

use encamp_jobspec::explain::outline::{Element, Outline};
use encamp_jobspec::explain::repair::{Edits, Repair};
use encamp_jobspec::explain::{Finding, Place, Span, Stage, in_order};
use encamp_model::{format_duration, quoted};

use super::{At, Block, Fact, Never, OnePerNode, Remark, RolloutSetting};

/// The remarks as warnings, in the order of the file.
pub fn findings(outline: &Outline, remarks: &[Remark]) -> Vec<Finding> {
    in_order(remarks.iter().map(|remark| finding(outline, remark)).collect())
}

fn finding(outline: &Outline, remark: &Remark) -> Finding {
    let path = path(outline, &remark.at);
    let (message, help) = words(&remark.fact);
    let span = path.last().map(|element| narrowed(outline, element, &remark.fact));
    let place = span.map(|span| Place::of(outline, span));
    Finding {
        suggestion: Some(help),
        repair: repair(outline, &path, &remark.fact),
        ..Finding::warning(Stage::Validate, message, place, &path)
    }
}

/// The change after which a remark does not apply any more.
fn repair(outline: &Outline, path: &[&Element], fact: &Fact) -> Option<Repair> {
    let edits = Edits::of(outline)?;
    let block = *path.last()?;
    // Where the file does not have the block itself, the path ends at one around it.
    let is_own = matches!(block.kind.as_str(), "spread" | "affinity" | "constraint" | "scaling") && !block.dynamic;
    let whole = || is_own.then(|| edits.remove_block(block));
    let setting = |name: &str| block.setting(name).map(|s| edits.remove_setting(s));
    let group = path.iter().rev().find(|e| e.kind == "group");
    let fallback = |repair: Option<Repair>| repair.map(|r| Repair { is_certain: false, ..r });
    match fact {
        Fact::SpreadOneValue { .. }
        | Fact::SpreadOneTarget { .. }
        | Fact::SpreadNoShares
        | Fact::AffinityConstant { .. } => fallback(whole()),
        Fact::SpreadShadowed { .. } | Fact::DistinctHostsOfSystem | Fact::NothingToScale { .. } => whole(),
        Fact::TooFewHosts { nodes, .. } if *nodes > 0 => edits.set(group?, "count", &nodes.to_string()),
        Fact::TooFewValues { each, values, .. } => {
            let fits = each.saturating_mul(i64::try_from(*values).ok()?);
            edits.set(group?, "count", &fits.to_string())
        }
        Fact::CountResets { registered, .. } => edits.set(group?, "count", &registered.to_string()),
        Fact::RolloutOff { setting: off } => setting(off.name()),
        Fact::ManualPromotion => setting("auto_promote"),
        Fact::CheckTooSlow { .. } => fallback(setting("success_before_passing")),
        Fact::NoNodesForCanaries { .. } => setting("canary"),
        Fact::CronNever { .. } | Fact::AffinitiesCancel { .. } | Fact::TooFewHosts { .. } => None,
    }
}

/// The blocks down to the one of a remark, as far as the file has them.
fn path<'o>(outline: &'o Outline, at: &At) -> Vec<&'o Element> {
    let Some(job) = outline.job() else { return Vec::new() };
    let mut path = vec![job];
    // Tasks and groups of `dynamic` blocks have no labels.
    let labelled = |holder: &'o Element, kind: &'static str, label: &str| {
        let mut all = holder.blocks.iter().filter(|b| b.kind == kind);
        all.clone().find(|b| b.labels.first().is_some_and(|l| l == label)).or_else(|| all.find(|b| b.dynamic))
    };
    if let Some(name) = &at.group {
        // A task outside of any group is a group of its own.
        let group = labelled(job, "group", name).or_else(|| labelled(job, "task", name));
        path.extend(group);
    }
    if let Some(name) = &at.task {
        path.extend(path.last().and_then(|group| labelled(group, "task", name)));
    }
    let inner = path.last().copied().unwrap_or(job);
    match at.block {
        Block::Periodic => path.extend(nth(inner, "periodic", 0)),
        Block::Spread(n) => path.extend(nth(inner, "spread", n)),
        Block::Affinity(n) => path.extend(nth(inner, "affinity", n)),
        Block::Constraint(n) => path.extend(nth(inner, "constraint", n)),
        Block::Scaling => path.extend(nth(inner, "scaling", 0)),
        Block::Update => match nth(inner, "update", 0) {
            Some(update) => path.push(update),
            None => {
                if let Some(update) = nth(job, "update", 0) {
                    path = vec![job, update];
                }
            }
        },
        Block::Check { service, check } => {
            if let Some(service) = nth(inner, "service", service) {
                path.push(service);
                path.extend(nth(service, "check", check));
            }
        }
    }
    path
}

/// The block of a type with a number. A `dynamic` block makes several, so that the numbers behind it are not known.
fn nth<'o>(holder: &'o Element, kind: &str, n: usize) -> Option<&'o Element> {
    let of_kind: Vec<&Element> = holder.blocks.iter().filter(|b| b.kind == kind).collect();
    let dynamic = of_kind.iter().position(|b| b.dynamic).filter(|at| *at <= n);
    of_kind.get(dynamic.unwrap_or(n)).copied()
}

/// The attribute that a fact is about, in a block; else the block's header.
fn narrowed(outline: &Outline, element: &Element, fact: &Fact) -> Span {
    let names: &[&str] = match fact {
        Fact::CronNever { .. } => &["crons", "cron"],
        Fact::SpreadOneValue { .. } | Fact::SpreadShadowed { .. } | Fact::AffinityConstant { .. } => &["attribute"],
        Fact::TooFewValues { .. } => &["distinct_property", "attribute"],
        Fact::TooFewHosts { .. } | Fact::DistinctHostsOfSystem => &["distinct_hosts", "operator"],
        Fact::RolloutOff { setting: RolloutSetting::Canary } => &["canary"],
        Fact::RolloutOff { setting: RolloutSetting::AutoRevert } => &["auto_revert"],
        Fact::ManualPromotion => &["auto_promote", "health_check"],
        Fact::CheckTooSlow { .. } => &["success_before_passing"],
        Fact::NoNodesForCanaries { .. } => &["canary"],
        Fact::NothingToScale { .. } => &["max", "min"],
        Fact::SpreadOneTarget { .. }
        | Fact::SpreadNoShares
        | Fact::AffinitiesCancel { .. }
        | Fact::CountResets { .. } => &[],
    };
    let Some(setting) = names.iter().find_map(|name| element.setting(name)) else { return element.header };
    let whole = setting.name_span.to(setting.value);
    let Fact::CronNever { spec, .. } = fact else { return whole };
    let quoted = quoted(spec);
    let found = outline.slice(setting.value).find(&quoted);
    let found = found.and_then(|at| Some((u32::try_from(at).ok()?, u32::try_from(quoted.len()).ok()?)));
    found.map_or(whole, |(at, length)| {
        let start = setting.value.start.saturating_add(at);
        Span { start, end: start.saturating_add(length), ..setting.value }
    })
}

/// `1 node`, `3 nodes`.
fn count(n: impl TryInto<u64>, one: &str, more: &str) -> String {
    let n = n.try_into().unwrap_or(u64::MAX);
    if n == 1 { format!("{n} {one}") } else { format!("{n} {more}") }
}

/// `1 node`, `3 nodes`.
fn nodes(n: usize) -> String {
    count(n, "node", "nodes")
}

/// What a fact says, and what to do.
fn words(fact: &Fact) -> (String, String) {
    match fact {
        Fact::CronNever { spec, why } => cron_never(spec, *why),
        Fact::SpreadOneValue { attribute, value, nodes: among } => {
            spread_one_value(attribute, value.as_deref(), *among)
        }
        Fact::SpreadOneTarget { value } => (
            format!("this spread has one target with 100 %: it prefers {}, and cannot spread", quoted(value)),
            "give each value a target with its percentage, or leave targets out for an even spread; to prefer one \
             value, write an affinity"
                .into(),
        ),
        Fact::SpreadNoShares => (
            "this spread cannot spread: each of its targets has 0 %".into(),
            "give the targets percentages that sum up to 100, or leave them out for an even spread".into(),
        ),
        Fact::SpreadShadowed { attribute, by_job } => spread_shadowed(attribute, *by_job),
        Fact::AffinityConstant { condition, holds, nodes } => affinity_constant(condition, *holds, *nodes),
        Fact::AffinitiesCancel { nodes: among } => (
            format!(
                "the affinities of this group prefer no node: their weights sum up to the same on all {}",
                nodes(*among)
            ),
            "change a weight, or remove those that cancel each other".into(),
        ),
        Fact::DistinctHostsOfSystem => (
            "distinct_hosts has no effect: a system job runs once on each node".into(),
            "remove this constraint".into(),
        ),
        Fact::TooFewHosts { count, nodes } => too_few_hosts(*count, *nodes),
        Fact::TooFewValues { attribute, count, each, values } => too_few_values(attribute, *count, *each, *values),
        Fact::NothingToScale { count: fixed } => (
            format!("this scaling policy cannot change the count: min and max are both {fixed}"),
            "raise max, or remove the scaling block".into(),
        ),
        Fact::CountResets { registered, count } => (
            format!("the count of {registered} that the group was scaled to goes back to {count} with this job"),
            "keep it with job run -preserve-counts".into(),
        ),
        Fact::RolloutOff { setting } => {
            let name = setting.name();
            (
                format!(
                    "{name} has no effect: max_parallel = 0 replaces all allocations at once, without a deployment"
                ),
                format!("write max_parallel = 1 or more, or remove {name}"),
            )
        }
        Fact::ManualPromotion => (
            "auto_promote waits for healthy canaries, and health_check = \"manual\" never says that one is".into(),
            "write health_check = \"checks\" or \"task_states\", or remove auto_promote".into(),
        ),
        Fact::CheckTooSlow { needed, deadline } => (
            format!(
                "no allocation can become healthy: this check and min_healthy_time take {}, healthy_deadline is {}",
                format_duration(*needed),
                format_duration(*deadline)
            ),
            "raise healthy_deadline (and progress_deadline), or lower success_before_passing or interval".into(),
        ),
        Fact::NoNodesForCanaries { count, canaries, nodes, because } => {
            no_nodes_for_canaries(*count, *canaries, *nodes, *because)
        }
    }
}

fn cron_never(spec: &str, why: Never) -> (String, String) {
    let (why, help) = match why {
        Never::NoSuchDay => (
            "none of its months has such a day",
            "write a day that the month has; L stands for the last day of a month: \"0 0 L 2 *\"",
        ),
        Never::Past => (
            "all of its launches have passed",
            "write * for the year, or a year to come; launch the job by hand with job periodic force",
        ),
    };
    (format!("cron {} never fires: {why}", quoted(spec)), help.into())
}

fn spread_shadowed(attribute: &str, by_job: bool) -> (String, String) {
    let other = if by_job { "the job has a spread" } else { "there is a later spread" };
    (
        format!("weight and targets of this spread do not count: {other} over {attribute}, and those count"),
        "keep one of the two".into(),
    )
}

/// `among`: how many nodes the job may use, if those of the cluster decide.
fn affinity_constant(condition: &str, holds: bool, among: Option<usize>) -> (String, String) {
    let subject = match among {
        Some(n) if holds => format!("for all {} that the job may use", nodes(n)),
        Some(n) => format!("for none of the {} that the job may use", nodes(n)),
        None if holds => "on every node, because of the job's own datacenters or node_pool".into(),
        None => "on no node, because of the job's own datacenters or node_pool".into(),
    };
    let help = match holds {
        true => "remove it, or name a value that some of the nodes do not have",
        false => "remove it, or name a value that some of the nodes have: node status -verbose NODE lists them",
    };
    (format!("this affinity prefers no node: {condition} holds {subject}"), help.into())
}

fn too_few_hosts(wanted: i64, among: usize) -> (String, String) {
    (
        format!(
            "distinct_hosts needs {} for {}: {} the job's datacenters, node pool and constraints",
            count(wanted, "node", "nodes"),
            count(wanted, "allocation", "allocations"),
            match among {
                1 => "1 ready node satisfies".to_string(),
                n => format!("{n} ready nodes satisfy"),
            }
        ),
        format!("lower count to {among}, add nodes, or widen datacenters, node_pool or constraints"),
    )
}

fn too_few_values(attribute: &str, wanted: i64, each: i64, values: usize) -> (String, String) {
    (
        format!(
            "distinct_property has places for {} of {}: {attribute} has {}, each for {}",
            each.saturating_mul(i64::try_from(values).unwrap_or(i64::MAX)),
            count(wanted, "allocation", "allocations"),
            count(values, "value", "values"),
            count(each, "allocation", "allocations"),
        ),
        "lower count, raise the constraint's value, or add nodes with further values".into(),
    )
}

fn no_nodes_for_canaries(wanted: i64, canaries: i64, among: usize, because: OnePerNode) -> (String, String) {
    let because = match because {
        OnePerNode::DistinctHosts => "distinct_hosts",
        OnePerNode::StaticPort => "the static port",
    };
    (
        format!(
            "an update cannot finish: {} beside {} need a node each because of {because}, and there are {}",
            count(canaries, "canary", "canaries"),
            count(wanted, "allocation", "allocations"),
            nodes(among)
        ),
        "remove canary (updates then stop an old allocation first), or add nodes".into(),
    )
}

fn spread_one_value(attribute: &str, value: Option<&str>, among: Option<usize>) -> (String, String) {
    match (value, among) {
        (None, among) => (
            format!(
                "this spread cannot spread: none of the {} that the job may use has {attribute}",
                nodes(among.unwrap_or_default())
            ),
            "name an attribute that the nodes have: node status -verbose NODE lists them".into(),
        ),
        (Some(value), Some(among)) => (
            format!(
                "this spread cannot spread: {attribute} is {} on all {} that the job may use",
                quoted(value),
                nodes(among)
            ),
            "spread over an attribute in which they differ, such as ${node.unique.name}, or remove it".into(),
        ),
        (Some(value), None) => (
            format!("this spread cannot spread: {attribute} is {} for every node of the job", quoted(value)),
            "widen the job's datacenters or node_pool, or spread over another attribute".into(),
        ),
    }
}
