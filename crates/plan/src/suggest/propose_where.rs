//! Proposals that let a job go to more places: constraints, datacenters, pools, ports.

use std::collections::BTreeSet;

use encamp_model::*;
use encamp_scheduler::candidates::{datacenter_matches, in_pool, ready_nodes};
use encamp_scheduler::constraint::{Check, Target};
use encamp_state::State;
use serde_json::Value;

use super::edit::{Edit, Holder};
use super::proposal::{Kind, Look, Proposal};
use super::search::Values;
use crate::capacity::constraints;

/// Datacenters and pools that are tried.
const MOST_PLACES: usize = 8;

const HOSTS: &str = "distinct_hosts";
const PROPERTY: &str = "distinct_property";

/// All of them.
pub(super) fn wider<'l>(look: &Look<'l>, out: &mut Vec<Proposal<'l>>) {
    of_constraints(look, out);
    let state = &look.scene.state;
    datacenters(look, state, out);
    pools(look, state, out);
    for group in look.groups() {
        ports(look, group, out);
        fewer_ports(look, group, out);
    }
}

/// A constraint of the job file.
struct Written {
    holder: Holder,
    number: usize,
    constraint: Constraint,
}

impl Written {
    fn text(&self) -> String {
        let Constraint { ltarget, operand, rtarget, .. } = &self.constraint;
        match operand.as_str() {
            HOSTS => HOSTS.into(),
            PROPERTY => format!("{PROPERTY} {ltarget}"),
            _ => format!("{ltarget} {operand} {rtarget}").trim().to_string(),
        }
    }
}

/// The constraints of the job file that concern groups that are not placed.
fn written(look: &Look<'_>) -> Vec<Written> {
    let mut out = Vec::new();
    let mut add = |holder: Holder, list: &Option<Vec<api::Constraint>>| {
        for (number, c) in list.iter().flatten().enumerate() {
            let api::Constraint { ltarget, rtarget, operand } = c.clone();
            let constraint = Constraint { ltarget, rtarget, operand };
            out.push(Written { holder: holder.clone(), number, constraint });
        }
    };
    let job = &look.scene.job;
    add(Holder::job(), &job.constraints);
    let concerned: BTreeSet<&str> = look.groups().iter().map(|g| g.name.as_str()).collect();
    for group in job.task_groups.iter().flatten() {
        let Some(name) = group.name.as_deref().filter(|name| concerned.contains(name)) else { continue };
        add(Holder::group(name), &group.constraints);
        for task in group.tasks.iter().flatten() {
            add(Holder::task(name, &task.name), &task.constraints);
        }
    }
    out
}

/// The ready nodes that satisfy all constraints of the groups but this one.
fn kept_out<'s>(look: &'s Look<'_>, written: &Written) -> Vec<&'s Node> {
    let (job, state) = (look.job(), &look.scene.state);
    let slots = ready_nodes(state, &job.datacenters, &job.node_pool).slots;
    let own = Check::from(&written.constraint);
    let groups = job.task_groups.iter().filter(|g| written.holder.group.as_ref().is_none_or(|name| *name == g.name));
    let others: Vec<Vec<Check>> =
        groups.map(|g| constraints(job, g).filter(|c| **c != written.constraint).map(Check::from).collect()).collect();
    let suits = |node: &Node| others.iter().any(|checks| checks.iter().all(|check| check.matches(node)));
    let nodes = slots.iter().filter_map(|slot| state.node_at(*slot)).map(|e| e.node.as_ref());
    nodes.filter(|node| !own.matches(node) && suits(node)).collect()
}

fn of_constraints<'l>(look: &Look<'l>, out: &mut Vec<Proposal<'l>>) {
    for w in written(look) {
        let (holder, number, text) = (w.holder.clone(), w.number, w.text());
        let distinct = matches!(w.constraint.operand.as_str(), HOSTS | PROPERTY);
        let gained = if distinct { Vec::new() } else { kept_out(look, &w) };
        if !distinct && gained.is_empty() {
            continue;
        }
        match w.constraint.operand.as_str() {
            PROPERTY => more_for_each_value(look, &w, out),
            ">=" | "<=" => nearer_limit(&w, &gained, out),
            _ => {}
        }
        let nodes = gained.len();
        out.push(Proposal::only(Kind::Wider, Edit::DropConstraint { holder, number, text, nodes }));
    }
}

/// More allocations for each value of a `distinct_property`.
fn more_for_each_value<'l>(look: &Look<'l>, w: &Written, out: &mut Vec<Proposal<'l>>) {
    let (holder, number, text, old) = (w.holder.clone(), w.number, w.text(), w.constraint.rtarget.clone());
    let each = if old.is_empty() { Some(1) } else { old.parse::<i64>().ok() };
    let Some(least) = each.map(|n| n.saturating_add(1)) else { return };
    let most = look.groups().iter().map(|g| g.count).fold(0, i64::saturating_add);
    let edit = move |new: i64| {
        let (holder, text, old) = (holder.clone(), text.clone(), old.clone());
        vec![Edit::ConstraintValue { holder, number, text, old, new: new.to_string() }]
    };
    out.push(Proposal::new(Kind::Wider, Values::Smallest { least, most, guess: Some(least) }, edit));
}

/// The values that nodes have beyond a limit, the nearest first.
fn nearer_limit<'l>(w: &Written, gained: &[&Node], out: &mut Vec<Proposal<'l>>) {
    let Ok(limit) = w.constraint.rtarget.parse::<i64>() else { return };
    let target = Target::parse(&w.constraint.ltarget);
    let values = gained.iter().filter_map(|n| target.resolve(n)?.parse::<i64>().ok());
    let mut values: Vec<i64> = values.collect::<BTreeSet<i64>>().into_iter().collect();
    values.sort_by_key(|v| v.abs_diff(limit));
    let (holder, number, old) = (w.holder.clone(), w.number, w.constraint.rtarget.clone());
    let text = format!("{} {}", w.constraint.ltarget, w.constraint.operand);
    let edit = move |new: i64| {
        let (holder, text, old) = (holder.clone(), text.clone(), old.clone());
        vec![Edit::ConstraintValue { holder, number, text, old, new: new.to_string() }]
    };
    out.push(Proposal::new(Kind::Wider, Values::Listed(values), edit));
}

/// The names of what ready nodes are in, most nodes first.
fn places(state: &State, of: impl Fn(&Node) -> Option<&str>) -> Vec<(String, usize)> {
    let mut all: std::collections::BTreeMap<&str, usize> = std::collections::BTreeMap::new();
    for entry in state.nodes().filter(|e| e.node.ready()) {
        if let Some(name) = of(&entry.node) {
            *all.entry(name).or_default() += 1;
        }
    }
    let mut all: Vec<(String, usize)> = all.into_iter().map(|(name, n)| (name.to_string(), n)).collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    all.truncate(MOST_PLACES);
    all
}

fn datacenters<'l>(look: &Look<'l>, state: &State, out: &mut Vec<Proposal<'l>>) {
    let Some(old) = look.scene.job.datacenters.clone().filter(|list| !list.is_empty()) else { return };
    let pool = &look.job().node_pool;
    let missing = |n: &Node| in_pool(pool, &n.node_pool) && !datacenter_matches(&old, &n.datacenter);
    for (new, nodes) in places(state, |n| missing(n).then_some(n.datacenter.as_str())) {
        // A name with a star would be a pattern.
        if !new.contains('*') {
            out.push(Proposal::only(Kind::Wider, Edit::Datacenter { old: old.clone(), new, nodes }));
        }
    }
}

fn pools<'l>(look: &Look<'l>, state: &State, out: &mut Vec<Proposal<'l>>) {
    let job = look.job();
    let other =
        |n: &Node| !in_pool(&job.node_pool, &n.node_pool) && datacenter_matches(&job.datacenters, &n.datacenter);
    for (new, nodes) in places(state, |n| other(n).then_some(n.node_pool.as_str())) {
        out.push(Proposal::only(Kind::Wider, Edit::Pool { old: job.node_pool.clone(), new, nodes }));
    }
}

/// The networks of a group of the job file and of its tasks, with their numbers.
fn networks<'j>(group: &'j api::TaskGroup, name: &str) -> Vec<(Holder, usize, &'j api::NetworkResource)> {
    let numbered = |holder: Holder, list: &'j Option<Vec<api::NetworkResource>>| {
        list.iter().flatten().enumerate().map(move |(n, network)| (holder.clone(), n, network))
    };
    let of_task = |task: &'j api::Task| {
        let list = task.resources.as_ref().map(|r| &r.networks);
        list.into_iter().flat_map(move |list| numbered(Holder::task(name, &task.name), list))
    };
    let of_tasks = group.tasks.iter().flatten().flat_map(of_task);
    numbered(Holder::group(name), &group.networks).chain(of_tasks).collect()
}

/// The group as the job file has it.
fn written_group<'s>(look: &'s Look<'_>, group: &TaskGroup) -> Option<&'s api::TaskGroup> {
    look.scene.job.task_groups.iter().flatten().find(|g| g.name.as_deref() == Some(&group.name))
}

/// Fixed ports of a group and of its tasks.
fn ports<'l>(look: &Look<'l>, group: &TaskGroup, out: &mut Vec<Proposal<'l>>) {
    let Some(written) = written_group(look, group) else { return };
    for (holder, network, n) in networks(written, &group.name) {
        for port in n.reserved_ports.iter().flatten() {
            let (holder, label, old) = (holder.clone(), port.label.clone(), port.value);
            out.push(Proposal::only(Kind::Wider, Edit::Port { holder, network, label, old }));
        }
    }
}

/// Fewer ports without fixed numbers: those that nothing else in the group names, the last ones first.
fn fewer_ports<'l>(look: &Look<'l>, group: &TaskGroup, out: &mut Vec<Proposal<'l>>) {
    let Some(written) = written_group(look, group) else { return };
    let names = named_by(written);
    let mut unnamed: Vec<Edit> = Vec::new();
    for (holder, network, n) in networks(written, &group.name) {
        for port in n.dynamic_ports.iter().flatten().filter(|p| !names.iter().any(|text| mentions(text, &p.label))) {
            unnamed.push(Edit::DropPort { holder: holder.clone(), network, label: port.label.clone() });
        }
    }
    let Some(most) = i64::try_from(unnamed.len()).ok().and_then(|n| n.checked_sub(1)) else { return };
    let edit = move |kept: i64| unnamed.iter().skip(usize::try_from(kept).unwrap_or(0)).cloned().collect();
    out.push(Proposal::new(Kind::Less, Values::Largest { least: 0, most, guess: None }, edit));
}

/// All texts of a group but those of its networks: what may name a port.
fn named_by(group: &api::TaskGroup) -> Vec<String> {
    let mut rest = api::TaskGroup { networks: None, ..group.clone() };
    for resources in rest.tasks.iter_mut().flatten().filter_map(|t| t.resources.as_mut()) {
        resources.networks = None;
    }
    let mut texts = Vec::new();
    let mut values = vec![serde_json::to_value(&rest).unwrap_or_default()];
    while let Some(value) = values.pop() {
        match value {
            Value::String(text) => texts.push(text),
            Value::Array(list) => values.extend(list),
            Value::Object(members) => members.into_iter().for_each(|(name, value)| {
                texts.push(name);
                values.push(value);
            }),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

/// Whether a text is the label of a port, or holds a variable that is named after it, as `NOMAD_PORT_http`.
fn mentions(text: &str, label: &str) -> bool {
    let variable = format!("_{label}");
    let whole = |(at, _): (usize, &str)| {
        let next = text.get(at.saturating_add(variable.len())..).and_then(|rest| rest.chars().next());
        next.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    };
    text == label || text.match_indices(&variable).any(whole)
}
