//! New allocations are placed only on nodes that their job may use (`docs/spec/scheduling.md §3.1, 6`).

use std::collections::BTreeSet;
use std::sync::Arc;

use encamp_model::*;
use encamp_state::State;

use super::Verdict;
use super::capacity::after;

/// Checks every new allocation of a plan.
pub fn check(before: &State, plan: &Plan) -> Verdict {
    for a in plan.node_allocation.values().flatten().filter(|a| before.alloc(&a.id).is_none()) {
        check_alloc(before, plan, a).map_err(|e| format!("allocation {} on node {}: {e}", a.id, a.node_id))?;
    }
    Ok(())
}

fn check_alloc(before: &State, plan: &Plan, a: &Allocation) -> Verdict {
    let node = &before.node(&a.node_id).ok_or("the node is gone")?.node;
    let job = a.job.clone().or_else(|| plan.job.clone()).ok_or("nobody knows the job")?;
    let tg = job.task_groups.iter().find(|g| g.name == a.task_group).ok_or("the job has no such group")?;
    // A kept disk is looked for on its node, wherever that is by now, as long as it is ready (`docs/spec/scheduling.md
    // §4.1`).
    let disk = tg.ephemeral_disk.as_ref().is_some_and(|d| d.sticky || d.migrate);
    let kept = disk && before.alloc(&a.previous_allocation).is_some_and(|p| p.alloc.node_id == a.node_id);
    if !(available(&job, node) || kept && node.ready()) {
        return Err(format!("{} {} {} {}", node.status, node.scheduling_eligibility, node.node_pool, node.datacenter));
    }
    let system = matches!(job.r#type, JobType::System | JobType::Sysbatch);
    let broken = |c: &Constraint| format!("violates {} {} {}", c.ltarget, c.operand, c.rtarget);
    if let Some(c) = job.constraints.iter().find(|c| !holds(c, node)) {
        return Err(broken(c));
    }
    // For groups one node decides for its computed class, also where the class is not what the node's properties give,
    // and for all versions of the job together; only system jobs look at every node again (`docs/spec/scheduling.md
    // §5.3, §5.4, §4.2`).
    let twin = |n: &Node| !system && n.computed_class == node.computed_class && available(&job, n);
    let versions = || {
        let placed = plan.node_allocation.values().flatten().filter(|b| before.alloc(&b.id).is_none());
        let other = |b: &&Arc<Allocation>| of_other_version(before, plan, &job, b);
        placed.filter(|b| b.task_group == a.task_group).any(|b| other(&b))
    };
    let class_differs = || before.nodes().any(|n| twin(&n.node) && n.node.computed_class != n.node.compute_class());
    let for_class = |test: &dyn Fn(&Node) -> bool| {
        test(node) || before.nodes().any(|n| twin(&n.node) && test(&n.node)) || !system && versions()
    };
    let escapes = |c: &Constraint| [&c.ltarget, &c.rtarget].iter().any(|t| t.contains("{attr.unique."));
    let mut constraints = tg.constraints.iter().chain(tg.tasks.iter().flat_map(|t| &t.constraints));
    let kept = |c: &Constraint| {
        holds(c, node) || !escapes(c) && (class_differs() || versions()) && for_class(&|n| holds(c, n))
    };
    if let Some(c) = constraints.find(|c| !kept(c)) {
        return Err(broken(c));
    }
    if let Some(t) = tg.tasks.iter().find(|t| !for_class(&|n| has_driver(n, &t.driver))) {
        return Err(format!("no driver {}", t.driver));
    }
    if !for_class(&|n| has_mode(n, tg)) {
        return Err("no network of that mode".into());
    }
    check_devices(node, tg, a)?;
    check_volumes(before, node, &job, tg)?;
    check_distinct_hosts(before, plan, &job, tg, a, system)?;
    check_distinct_property(before, plan, &job, tg, a)
}

fn available(job: &Job, node: &Node) -> bool {
    let pool = matches!(job.node_pool.as_str(), "" | "all") || job.node_pool == node.node_pool;
    let matches = |pattern: &String| match pattern.split_once('*') {
        Some((start, end)) => node.datacenter.starts_with(start) && node.datacenter.ends_with(end),
        None => *pattern == node.datacenter,
    };
    let ready = node.status == NodeStatus::Ready
        && node.scheduling_eligibility == NodeEligibility::Eligible
        && node.drain_strategy.is_none();
    ready && pool && job.datacenters.iter().any(matches)
}

/// The value of a target on a node.
fn value(node: &Node, target: &str) -> Option<String> {
    let Some(inner) = target.strip_prefix("${").and_then(|t| t.strip_suffix('}')) else {
        return Some(target.to_string());
    };
    match inner.split_once('.')? {
        ("attr", key) => node.attributes.get(key).cloned(),
        ("meta", key) => node.meta.get(key).cloned(),
        ("node", "class") => Some(node.node_class.clone()),
        ("node", "datacenter") => Some(node.datacenter.clone()),
        _ => None,
    }
}

/// Whether a constraint holds, for the generated operands and values (`docs/spec/scheduling.md §6.1`).
pub fn holds(c: &Constraint, node: &Node) -> bool {
    let (left, right) = (value(node, &c.ltarget), value(node, &c.rtarget));
    let items = |s: &Option<String>| -> BTreeSet<String> {
        s.iter().flat_map(|s| s.split(',')).map(|p| p.trim().to_string()).collect()
    };
    let number = |s: &Option<String>| s.as_ref().and_then(|s| s.parse::<i64>().ok());
    let release = |s: &str| s.split('.').map(|p| p.parse::<u64>().expect("a number")).collect::<Vec<_>>();
    match c.operand.as_str() {
        "distinct_hosts" | "distinct_property" => true,
        "=" => left.is_some() && left == right,
        "!=" => left.unwrap_or_default() != right.unwrap_or_default(),
        ">=" => number(&left).zip(number(&right)).is_some_and(|(l, r)| l >= r),
        "<" => number(&left).zip(number(&right)).is_some_and(|(l, r)| l < r),
        "is_set" => left.is_some(),
        "is_not_set" => left.is_none(),
        "regexp" => left.is_some_and(|l| regex::Regex::new(&c.rtarget).expect("a pattern").is_match(&l)),
        "version" => left.is_some_and(|l| release(&l) >= release(c.rtarget.trim_start_matches(">= "))),
        "set_contains" => left.is_some() && items(&left).is_superset(&items(&right)),
        "set_contains_any" => !items(&left).is_disjoint(&items(&right)),
        other => panic!("no rule for {other}"),
    }
}

fn has_driver(node: &Node, driver: &str) -> bool {
    match node.drivers.get(driver) {
        Some(d) => d.detected && d.healthy,
        None => node.attributes.get(&format!("driver.{driver}")).is_some_and(|v| v == "1"),
    }
}

fn has_mode(node: &Node, tg: &TaskGroup) -> bool {
    let mode = tg.networks.first().map_or("host", |n| if n.mode.is_empty() { "host" } else { n.mode.as_str() });
    let networks = node.node_resources.iter().flat_map(|r| &r.networks);
    tg.networks.is_empty() || mode == "none" || networks.into_iter().any(|n| n.mode == mode)
}

/// Every request got its instances, of one device group with the right name; whose they are is a matter of capacity.
fn check_devices(node: &Node, tg: &TaskGroup, a: &Allocation) -> Verdict {
    let groups = node.node_resources.as_ref().map_or(&[][..], |r| &r.devices);
    for task in &tg.tasks {
        let asked = task.resources.as_ref().map_or(&[][..], |r| &r.devices);
        let resources = a.allocated_resources.as_ref().and_then(|r| r.tasks.get(&task.name));
        let got = resources.map_or(&[][..], |t| &t.devices);
        if asked.len() != got.len() {
            return Err(format!("task {} asked for {} devices and got {}", task.name, asked.len(), got.len()));
        }
        for (ask, d) in asked.iter().zip(got) {
            let parts =
                [&d.r#type, &format!("{}/{}", d.vendor, d.r#type), &format!("{}/{}/{}", d.vendor, d.r#type, d.name)];
            let group = groups.iter().find(|g| (&g.vendor, &g.r#type, &g.name) == (&d.vendor, &d.r#type, &d.name));
            let memory = group.and_then(|g| g.attributes.get("memory")).and_then(|m| m.int).unwrap_or(0);
            let named = parts.contains(&&ask.name) && d.device_ids.len() as u64 == ask.count;
            if !named || (!ask.constraints.is_empty() && memory < 16) {
                return Err(format!("{d:?} for {ask:?}"));
            }
        }
    }
    Ok(())
}

fn check_volumes(before: &State, node: &Node, job: &Job, tg: &TaskGroup) -> Verdict {
    for r in tg.volumes.iter().flatten().map(|(_, r)| r) {
        let v = node.host_volumes.get(&r.source).ok_or_else(|| format!("no host volume {}", r.source))?;
        let usable = if v.id.is_empty() {
            !v.read_only || r.read_only
        } else {
            before.host_volume(&v.id).is_some_and(|v| v.state == HostVolumeState::Ready && v.namespace == job.namespace)
        };
        if !usable {
            return Err(format!("host volume {} can't be used", r.source));
        }
    }
    Ok(())
}

/// A replacement of an older version goes by the constraints of that version (`docs/spec/reconciliation.md §8.4`).
fn of_other_version(before: &State, plan: &Plan, job: &Job, b: &Allocation) -> bool {
    let version = b.job.as_ref().or(plan.job.as_ref()).map(|j| j.version);
    before.alloc(&b.id).is_none() && version != Some(job.version)
}

fn check_distinct_hosts(
    before: &State,
    plan: &Plan,
    job: &Job,
    tg: &TaskGroup,
    a: &Allocation,
    system: bool,
) -> Verdict {
    let active = |list: &[Constraint]| {
        let first = list.iter().find(|c| c.operand == "distinct_hosts");
        first.is_some_and(|c| c.rtarget != "false")
    };
    let (whole, group) = (active(&job.constraints), active(&tg.constraints));
    if system || !(whole || group) {
        return Ok(());
    }
    let shares = |b: &&Arc<Allocation>| {
        b.id != a.id
            && !of_other_version(before, plan, job, b)
            && (&b.job_id, &b.namespace) == (&a.job_id, &a.namespace)
            && (whole || b.task_group == a.task_group)
    };
    match after(before, plan, &a.node_id).iter().find(shares) {
        Some(b) => Err(format!("shares its node with {}", b.id)),
        None => Ok(()),
    }
}

/// No more allocations than allowed share the value of a property (`docs/spec/scheduling.md §6.9`).
fn check_distinct_property(before: &State, plan: &Plan, job: &Job, tg: &TaskGroup, a: &Allocation) -> Verdict {
    let mine = |list: &'_ [Constraint]| -> Vec<Constraint> {
        list.iter().filter(|c| c.operand == "distinct_property").cloned().collect()
    };
    let whole = mine(&job.constraints).into_iter().map(|c| (c, false));
    for (c, grouped) in whole.chain(mine(&tg.constraints).into_iter().map(|c| (c, true))) {
        let at = |node: &str| before.node(node).and_then(|n| value(&n.node, &c.ltarget));
        let Some(here) = at(&a.node_id) else { return Err(format!("has no {}", c.ltarget)) };
        let counted = |b: &Allocation| {
            (&b.job_id, &b.namespace) == (&a.job_id, &a.namespace)
                && (!grouped || b.task_group == a.task_group)
                && at(&b.node_id).as_ref() == Some(&here)
                && !of_other_version(before, plan, job, b)
        };
        // Stops of what is over already are subtracted as well, also such as are taken back when no node is found
        // (`docs/spec/reconciliation.md §8.5`).
        let stops = plan.node_update.values().chain(plan.node_allocation.values()).flatten();
        if stops
            .filter(|s| before.alloc(&s.id).is_some())
            .filter(|s| counted(s))
            .any(|s| before.alloc(&s.id).is_none_or(|e| e.phase.terminal()))
        {
            continue;
        }
        let nodes = before.nodes().map(|n| n.node.id.clone());
        let held = nodes.flat_map(|n| after(before, plan, &n)).filter(|b| counted(b) && !b.terminal()).count();
        if held > c.rtarget.parse().unwrap_or(1) {
            return Err(format!("{held} allocations share {} {here}", c.ltarget));
        }
    }
    Ok(())
}
