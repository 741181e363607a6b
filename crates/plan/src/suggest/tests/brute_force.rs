//! The smallest single edit, found by trying every value of everything that can be edited.

use std::collections::BTreeSet;
use std::sync::Arc;

use encamp_jobspec::admission::ServerContext;
use encamp_jobspec::convert::ConvertOptions;
use encamp_model::*;

use super::super::cluster::endings;
use super::super::edit::{Amount, Edit, Holder};
use super::super::*;
use crate::rebalance::RebalancePlan;
use crate::stop::Stop;
use crate::what_if::missing;

use super::misfit::{Misfit, NOW};

/// The cost of the cheapest single edit with which everything is placed, and the edit.
pub(super) fn smallest(m: &Misfit, options: &ConvertOptions, server: &ServerContext) -> Option<(f64, Edit)> {
    let question = Question {
        state: &m.state,
        job: &m.job,
        options,
        server,
        now: NOW,
        rollout: None,
        moves: false,
        stop: Stop::never(),
    };
    let mut best: Option<(f64, Edit)> = None;
    for list in all(m) {
        // Each list begins with the nearest value: what comes later in it costs more, evictions apart.
        for edit in list {
            if best.as_ref().is_some_and(|(least, _)| cost(std::slice::from_ref(&edit), 0) >= *least) {
                break;
            }
            let bench = Bench::new(&question);
            let scene = Scene { job: m.job.clone(), state: m.state.clone() };
            let Ok(Some(trial)) = bench.after(&scene, std::slice::from_ref(&edit)) else { continue };
            if !trial.reaches(Goal::Everything) {
                continue;
            }
            let points = cost(std::slice::from_ref(&edit), trial.evicted().count());
            if best.as_ref().is_none_or(|(least, _)| points < *least) {
                best = Some((points, edit));
            }
            if trial.evicted().count() == 0 {
                break;
            }
        }
    }
    let moved = moved(m, &question);
    if let Some(points) = moved.filter(|points| best.as_ref().is_none_or(|(least, _)| points < least)) {
        let plan = Arc::new(RebalancePlan { moves: 1, ..RebalancePlan::default() });
        best = Some((points, Edit::Moves { plan, now: NOW }));
    }
    best
}

/// The cost of the cheapest move of a single allocation with which everything is placed, if no other job waits for
/// capacity.
fn moved(m: &Misfit, question: &Question<'_>) -> Option<f64> {
    let jobs = || m.state.jobs().map(|e| &e.current).filter(|j| j.id != m.job.id.clone().unwrap_or_default());
    if jobs().any(|j| j.task_groups.iter().any(|g| missing(&m.state, j, g) > 0)) {
        return None;
    }
    let plan = Arc::new(RebalancePlan { moves: 1, ..RebalancePlan::default() });
    let edit = Edit::Moves { plan, now: NOW };
    let mut best: Option<f64> = None;
    let movable = m.state.allocs().filter(|e| !e.alloc.terminal() && e.alloc.job_id.starts_with("other-"));
    for entry in movable {
        let holds_port = entry.usage.ports.iter().any(|p| p.value == 8080);
        for node in m.state.nodes().filter(|n| n.node.ready() && n.node.id != entry.alloc.node_id) {
            let (has, used, asks) = (&node.info, &node.usage, &entry.usage);
            let room = used.cpu + asks.cpu <= has.cpu
                && used.memory + asks.memory <= has.memory
                && used.disk + asks.disk <= has.disk;
            let held = node.live_allocs().any(|o| o.usage.ports.iter().any(|p| p.value == 8080));
            if !room || holds_port && held {
                continue;
            }
            let mut state = m.state.clone();
            let (node_id, node_name) = (node.node.id.clone(), node.node.name.clone());
            state.upsert_allocs([Arc::new(Allocation {
                node_id: node_id.into(),
                node_name: node_name.into(),
                ..Allocation::clone(&entry.alloc)
            })]);
            let bench = Bench::new(question);
            let Ok(Some(trial)) = bench.plan(&Scene { job: m.job.clone(), state }) else { continue };
            if trial.reaches(Goal::Everything) {
                let points = cost(std::slice::from_ref(&edit), trial.evicted().count());
                best = Some(best.map_or(points, |b| b.min(points)));
            }
        }
    }
    best
}

/// All edits: a list for each thing that can be edited.
fn all(m: &Misfit) -> Vec<Vec<Edit>> {
    let mut out = Vec::new();
    let job = &m.job;
    of_constraints(m, &Holder::job(), &job.constraints, &mut out);
    for group in job.task_groups.iter().flatten() {
        of_group(m, group, &mut out);
    }
    let datacenters: BTreeSet<String> = m.state.nodes().map(|e| e.node.datacenter.clone()).collect();
    let old = job.datacenters.clone().expect("all files have it");
    out.push(datacenters.into_iter().map(|new| Edit::Datacenter { old: old.clone(), new, nodes: 0 }).collect());
    for pool in ["default", "big"] {
        out.push(vec![Edit::Pool { old: String::new(), new: pool.into(), nodes: 0 }]);
    }
    let old = job.priority.unwrap_or(50);
    out.push((old + 1..=100).map(|new| Edit::Priority { old, new }).collect());
    out.push(vec![Edit::Preemption { job_type: JobType::Service }]);
    let mut kinds = BTreeSet::new();
    for entry in m.state.nodes().filter(|e| kinds.insert((&e.node.node_class, &e.node.node_pool))) {
        let (like, class, pool) = (&entry.node.name, &entry.node.node_class, &entry.node.node_pool);
        let add = |count| Edit::AddNodes { count, like: like.clone(), class: class.clone(), pool: pool.clone() };
        out.push((1..=20).map(add).collect());
    }
    let ending = endings(&m.state, NOW);
    let wait = |n: usize| Edit::Wait {
        until: ending[n - 1].at,
        ends: ending[..n].iter().map(|e| e.id.clone()).collect(),
        last: String::new(),
    };
    out.push((1..=ending.len()).map(wait).collect());
    out
}

fn of_group(m: &Misfit, group: &api::TaskGroup, out: &mut Vec<Vec<Edit>>) {
    let name = || group.name.clone().expect("a name");
    for task in group.tasks.iter().flatten() {
        let r = task.resources.as_ref().expect("resources");
        for (amount, old) in [(Amount::Cpu, r.cpu), (Amount::Memory, r.memory_mb)] {
            let old = old.expect("an amount");
            let edit = |new| Edit::Task { group: name(), task: task.name.clone(), amount, old, new };
            out.push((1..old).rev().map(edit).collect());
        }
        if m.kind == "reserve" {
            let old = r.memory_mb.expect("an amount");
            let edit = |new| Edit::Reserve { group: name(), task: task.name.clone(), old, new };
            out.push((1..old).rev().map(edit).collect());
        }
        for (number, d) in r.devices.iter().flatten().enumerate() {
            let old = i64::try_from(d.count.expect("a count")).expect("a small number");
            let edit = |new| {
                let (task, device) = (task.name.clone(), d.name.clone());
                Edit::Device { group: name(), task, number, name: device, old, new }
            };
            out.push((1..old).rev().map(edit).collect());
        }
        of_constraints(m, &Holder::task(&name(), &task.name), &task.constraints, out);
    }
    let old = group.ephemeral_disk.as_ref().and_then(|d| d.size_mb).unwrap_or(300);
    out.push((1..old).rev().map(|new| Edit::Disk { group: name(), old, new }).collect());
    let old = group.count.expect("a count");
    out.push((1..old).rev().map(|new| Edit::Count { group: name(), old, new }).collect());
    of_constraints(m, &Holder::group(&name()), &group.constraints, out);
    for (network, n) in group.networks.iter().flatten().enumerate() {
        for port in n.reserved_ports.iter().flatten() {
            let (label, old) = (port.label.clone(), port.value);
            out.push(vec![Edit::Port { holder: Holder::group(&name()), network, label, old }]);
        }
        // A variable names the first one.
        for port in n.dynamic_ports.iter().flatten().skip(1) {
            let label = port.label.clone();
            out.push(vec![Edit::DropPort { holder: Holder::group(&name()), network, label }]);
        }
    }
    if let Some(old) = group.update.as_ref().and_then(|u| u.canary) {
        out.push((0..old).rev().map(|new| Edit::Canaries { group: name(), in_job: false, old, new }).collect());
    }
}

fn of_constraints(m: &Misfit, holder: &Holder, list: &Option<Vec<api::Constraint>>, out: &mut Vec<Vec<Edit>>) {
    for (number, c) in list.iter().flatten().enumerate() {
        let (holder, old) = (holder.clone(), c.rtarget.clone());
        out.push(vec![Edit::DropConstraint { holder: holder.clone(), number, text: String::new(), nodes: 0 }]);
        let values: Vec<String> = match c.operand.as_str() {
            "distinct_property" => (1..20).map(|n: i64| n.to_string()).collect(),
            ">=" => m.state.nodes().filter_map(|e| e.node.attributes.get("cpu.numcores").cloned()).collect(),
            _ => Vec::new(),
        };
        let value =
            |new| Edit::ConstraintValue { holder: holder.clone(), number, text: String::new(), old: old.clone(), new };
        out.extend(values.into_iter().map(|new| vec![value(new)]));
    }
}
