//! The resources that one node offers a group: ports, networks, devices, cores, capacity, and the fit score
//! (`docs/spec/scheduling.md §7.1`).

use std::borrow::Cow;
use std::sync::Arc;

use super::Random;
use super::compiled::{CompiledGroup, TaskAsk};
use super::devices::DeviceOffer;
use super::network::{self, NetworkProblem, Offers, PortView};
use super::preempt::{self, Asker};
use crate::fit;
use crate::working_plan::WorkingPlan;
use encamp_model::{AllocatedResources, AllocatedTaskResources, NetworkResource};
use encamp_state::{AllocEntry, AllocUsage, NodeEntry, NodeUsage};

/// Why a node that could run the group in principle can't now.
pub(crate) enum Refusal {
    /// Something is used up: the dimension.
    Exhausted(Cow<'static, str>),
    /// Skipped without a metric: a host network that can't be resolved past a cached class.
    Unreported,
}

fn exhausted(text: impl Into<Cow<'static, str>>) -> Refusal {
    Refusal::Exhausted(text.into())
}

/// A node with what it gives.
pub(crate) struct Fitted {
    /// Resources of the allocation; `None` where the node surely has the ports and they wait until it is chosen.
    pub resources: Option<Arc<AllocatedResources>>,
    /// Victims: ports and networks, then devices, then the rest.
    pub preempted: Vec<Arc<AllocEntry>>,
    /// Fit score in 0..1.
    pub score: f64,
    /// Device score, if any device affinity has a weight.
    pub device_score: Option<f64>,
}

/// How to look at the node.
pub(crate) struct Terms<'a> {
    /// The placement that requests resources.
    pub asker: Asker<'a>,
    /// May evict.
    pub preempt: bool,
    /// Emptier nodes score higher.
    pub spread: bool,
}

/// The proposed state of one node during one placement: shared until a victim changes it.
struct Proposed<'a> {
    node: &'a NodeEntry,
    plan: &'a WorkingPlan,
    usage: Cow<'a, NodeUsage>,
    /// The proposed allocations without victims, once anybody asked.
    entries: Option<Vec<Arc<AllocEntry>>>,
    victims: Vec<Arc<AllocEntry>>,
}

impl<'a> Proposed<'a> {
    fn entries(&mut self) -> &[Arc<AllocEntry>] {
        let (plan, node) = (self.plan, self.node);
        self.entries.get_or_insert_with(|| plan.proposed(node))
    }

    /// Takes victims away.
    fn evict(&mut self, victims: Vec<Arc<AllocEntry>>) {
        self.entries();
        if let Some(entries) = &mut self.entries {
            entries.retain(|e| !victims.iter().any(|v| v.alloc.id == e.alloc.id));
            self.usage = Cow::Owned(NodeUsage::of(&self.node.info, entries.iter().map(|e| e.as_ref())));
        }
        self.victims.extend(victims);
    }
}

/// Tries to place the group on the node.
pub(crate) fn fit_group(
    group: &CompiledGroup,
    node: &NodeEntry,
    plan: &WorkingPlan,
    terms: &Terms,
    random: &mut Random,
) -> Result<Fitted, Refusal> {
    if node.info.invalid_ports {
        return Err(exhausted("network: invalid node"));
    }
    let usage = Cow::Borrowed(plan.usage_of(node));
    if usage.port_collision {
        return Err(exhausted("network: port collision"));
    }
    let mut p = Proposed { node, plan, usage, entries: None, victims: Vec::new() };
    let mut resources = None;
    let mut weights = (0.0, 0.0);
    let assigned;
    let ask: &AllocUsage = if group.simple {
        resources = Some(group.template.clone());
        &group.usage
    } else if has_late_ports(group, node, &p.usage) {
        // Ports do not count for the fit.
        &group.usage
    } else {
        let mut r = AllocatedResources::clone(&group.template);
        assign(group, &mut p, terms, random, &mut r, &mut weights)?;
        assigned = AllocUsage::new(&r);
        resources = Some(Arc::new(r));
        &assigned
    };
    let (mut total, fit) = fit::fits(&node.info, &p.usage, ask);
    if let Err(dimension) = fit {
        let victims = if terms.preempt {
            p.entries();
            preempt::for_resources(terms.asker, node, p.entries.as_deref().unwrap_or_default(), ask)
        } else {
            None
        };
        match victims {
            Some(v) => p.victims.extend(v),
            None => return Err(exhausted(dimension)),
        }
        if dimension == "max allocation exceeded" {
            total = fit::Total::default();
        }
    }
    Ok(Fitted {
        resources,
        preempted: p.victims,
        score: fit::score(&node.info, total, terms.spread),
        device_score: (weights.1 > 0.0).then(|| weights.0 / weights.1),
    })
}

fn has_late_ports(group: &CompiledGroup, node: &NodeEntry, usage: &NodeUsage) -> bool {
    if let Some(ports) = group.late_default {
        return network::surely_dynamic(&node.info, usage, ports);
    }
    let (Some(hosts), Some(ask)) = (&group.late_hosts, &group.network) else { return false };
    network::surely_assignable(&node.info, usage, ask, hosts)
}

/// The resources of a placement whose ports waited until its node was chosen.
pub(crate) fn assign_late(
    group: &CompiledGroup,
    node: &NodeEntry,
    plan: &WorkingPlan,
    random: &mut Random,
) -> Option<Arc<AllocatedResources>> {
    let (ask, hosts) = (group.network.as_ref()?, group.late_hosts.as_ref()?);
    let mut offers = Offers::default();
    let mut view = PortView { info: &node.info, usage: plan.usage_of(node), offers: &mut offers };
    let ports = view.assign_group(ask, hosts, random).ok()?;
    let mut r = AllocatedResources::clone(&group.template);
    r.shared.networks = vec![network::group_network(&node.node, ask, &ports)].into();
    r.shared.ports = ports.into();
    Some(Arc::new(r))
}

/// Gives ports, networks, devices and cores. `weights`: matched and total weights of device affinities.
fn assign(
    group: &CompiledGroup,
    p: &mut Proposed,
    terms: &Terms,
    random: &mut Random,
    out: &mut AllocatedResources,
    weights: &mut (f64, f64),
) -> Result<(), Refusal> {
    let node = p.node;
    let mut offers = Offers::default();
    if let Some(ask) = &group.network {
        let hosts = network::resolve_hosts(&node.node, ask).ok_or(Refusal::Unreported)?;
        let ports = with_preemption(p, terms, ask, &Offers::default(), |usage| {
            let mut offers_now = offers.clone();
            let mut view = PortView { info: &node.info, usage, offers: &mut offers_now };
            let ports = view.assign_group(ask, &hosts, random)?;
            offers = offers_now;
            Ok(ports)
        })?;
        out.shared.networks = vec![network::group_network(&node.node, ask, &ports)].into();
        out.shared.ports = ports.into();
    }
    let mut cores_taken: Vec<u16> = Vec::new();
    let mut instances_taken: Vec<usize> = Vec::new();
    for task in &group.tasks {
        // Tasks that get nothing of their own stay shared with other allocations of the group.
        if task.network.is_none() && task.devices.is_empty() && task.cores == 0 {
            continue;
        }
        let Some(r) = out.tasks.get_mut(&task.name) else { continue };
        if let Some(ask) = &task.network {
            let before = offers.clone();
            let given = with_preemption(p, terms, ask, &before, |usage| {
                let mut offers_now = before.clone();
                let mut view = PortView { info: &node.info, usage, offers: &mut offers_now };
                let given = view.assign_task(&node.node, ask, random)?;
                offers = offers_now;
                Ok(given)
            })?;
            r.networks = vec![given];
        }
        assign_devices(task, p, terms, r, &mut instances_taken, weights)?;
        assign_cores(task, p, r, &mut cores_taken)?;
    }
    Ok(())
}

/// Tries an assignment, and once more without the victims that network preemption finds. `offers`: what this placement
/// has so far.
fn with_preemption<T>(
    p: &mut Proposed,
    terms: &Terms,
    ask: &NetworkResource,
    offers: &Offers,
    mut attempt: impl FnMut(&NodeUsage) -> Result<T, NetworkProblem>,
) -> Result<T, Refusal> {
    let problem = match attempt(&p.usage) {
        Ok(v) => return Ok(v),
        Err(e) => e,
    };
    let refuse = |e: NetworkProblem| exhausted(format!("network: {e}"));
    if !terms.preempt {
        return Err(refuse(problem));
    }
    p.entries();
    let entries = p.entries.as_deref().unwrap_or_default();
    match preempt::for_network(
        terms.asker,
        p.node,
        entries,
        |device| network::used_mbits(&p.usage, offers, device),
        ask,
    ) {
        None => Err(refuse(problem)),
        Some(victims) => {
            p.evict(victims);
            attempt(&p.usage).map_err(refuse)
        }
    }
}

fn assign_devices(
    task: &TaskAsk,
    p: &mut Proposed,
    terms: &Terms,
    out: &mut AllocatedTaskResources,
    taken: &mut Vec<usize>,
    weights: &mut (f64, f64),
) -> Result<(), Refusal> {
    if task.devices.is_empty() {
        return Ok(());
    }
    let node = p.node;
    let mut offers: Vec<DeviceOffer> = Vec::new();
    let mut problem = None;
    for ask in &task.devices {
        match ask.assign(node, in_use(&p.usage, taken, &offers)) {
            Ok(o) => offers.push(o),
            Err(e) => {
                problem = Some(e);
                break;
            }
        }
    }
    if let Some(problem) = problem {
        let refuse = |e: &'static str| exhausted(format!("devices: {e}"));
        if !terms.preempt {
            return Err(refuse(problem));
        }
        offers.clear();
        for ask in &task.devices {
            let offer = match ask.assign(node, in_use(&p.usage, taken, &offers)) {
                Ok(o) => o,
                Err(e) => {
                    p.entries();
                    let entries = p.entries.as_deref().unwrap_or_default();
                    let used = in_use(&p.usage, taken, &offers);
                    let victims = preempt::for_devices(terms.asker, node, entries, used, ask);
                    p.evict(victims.ok_or_else(|| refuse(e))?);
                    ask.assign(node, in_use(&p.usage, taken, &offers)).map_err(refuse)?
                }
            };
            offers.push(offer);
        }
    }
    for (ask, o) in task.devices.iter().zip(offers) {
        weights.0 += o.matched_weights;
        weights.1 += ask.total_weight();
        taken.extend(o.instances);
        out.devices.push(o.device);
    }
    Ok(())
}

/// Whether an instance is used by others, by earlier tasks or by earlier requests.
fn in_use<'a>(usage: &'a NodeUsage, taken: &'a [usize], offers: &'a [DeviceOffer]) -> impl Fn(usize) -> bool + 'a {
    move |n| {
        usage.devices.get(n).is_some_and(|c| *c > 0)
            || taken.contains(&n)
            || offers.iter().any(|o| o.instances.contains(&n))
    }
}

fn assign_cores(
    task: &TaskAsk,
    p: &Proposed,
    out: &mut AllocatedTaskResources,
    taken: &mut Vec<u16>,
) -> Result<(), Refusal> {
    if task.cores == 0 {
        return Ok(());
    }
    let free = p.node.info.cores.iter().filter(|(c, _)| !taken.contains(c) && p.usage.cores.binary_search(c).is_err());
    let chosen: Vec<(u16, i64)> = free.take(task.cores).copied().collect();
    if chosen.len() < task.cores {
        return Err(exhausted("cores"));
    }
    out.cpu.cpu_shares = chosen.iter().fold(0, |sum: i64, (_, speed)| sum.saturating_add(*speed));
    out.cpu.reserved_cores = chosen.iter().map(|(c, _)| u64::from(*c)).collect();
    taken.extend(chosen.iter().map(|(c, _)| *c));
    Ok(())
}
