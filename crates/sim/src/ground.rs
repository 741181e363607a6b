//! The free capacity of the nodes while allocations are placed. No node is ever over-committed: the state's own rules
//! compute the capacity of a node and the usage of an allocation.

use std::sync::Arc;

use super::nodes::Condition;
use encamp_model::random::Random;
use encamp_model::*;
use encamp_state::ports::PortSet;
use encamp_state::{AllocUsage, NodeInfo};

/// The requirements of one allocation of a group.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ask {
    /// MHz without reserved cores.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
    disk: i64,
    cores: usize,
    statics: Vec<u16>,
    dynamics: usize,
    /// Vendor, type, count.
    device: Option<(String, String, usize)>,
    /// Not two of the job on one node.
    distinct: bool,
    /// The group keeps running when its node is disconnected.
    survives: bool,
    /// The group must not be placed on a node that is draining or ineligible.
    eligible: bool,
}

impl Ask {
    /// The resources that the group requests. `eligible`: only of nodes that take new allocations.
    pub(crate) fn new(job: &Job, group: &TaskGroup, eligible: bool) -> Ask {
        let usage = AllocUsage::new(&template(group));
        let resources = || group.tasks.iter().filter_map(|t| t.resources.as_ref());
        let device = resources().flat_map(|r| &r.devices).next().map(|d| {
            let mut parts = d.name.split('/');
            let mut part = || parts.next().unwrap_or_default().to_string();
            (part(), part(), usize::try_from(d.count).unwrap_or(usize::MAX))
        });
        let ports = |list: &[Port]| list.iter().filter_map(|p| u16::try_from(p.value).ok()).collect();
        let network = group.networks.first();
        let mut constraints = job.constraints.iter().chain(&group.constraints);
        Ask {
            cpu: usage.cpu,
            memory: usage.memory,
            disk: usage.disk,
            cores: resources().filter_map(|r| usize::try_from(r.cores).ok()).sum(),
            statics: network.map(|n| ports(&n.reserved_ports)).unwrap_or_default(),
            dynamics: network.map_or(0, |n| n.dynamic_ports.len()),
            device,
            distinct: constraints.any(|c| c.operand == "distinct_hosts"),
            survives: group.disconnect.is_some(),
            eligible,
        }
    }
}

/// The resources of an allocation of the group, before a node adds ports, cores and devices.
pub(crate) fn template(group: &TaskGroup) -> AllocatedResources {
    let mut out = AllocatedResources::default();
    out.shared.disk_mb = group.ephemeral_disk.as_ref().map_or(0, |d| d.size_mb);
    for task in &group.tasks {
        let asked = task.resources.clone().unwrap_or_default();
        let given = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: asked.cpu, ..Default::default() },
            memory: AllocatedMemoryResources { memory_mb: asked.memory_mb, memory_max_mb: asked.memory_max_mb },
            ..Default::default()
        };
        out.tasks.insert(task.name.clone(), given);
        if let Some(lifecycle) = &task.lifecycle {
            out.task_lifecycles.insert(task.name.clone(), Some(lifecycle.clone()));
        }
    }
    out
}

/// The share of one allocation in a node besides sums: positions among its cores and device instances, and dynamic
/// ports.
#[derive(Debug, Clone, Copy, Default)]
pub struct Share {
    /// First of the node's usable cores, and how many.
    pub cores: (u16, u16),
    /// First instance of the node's first device group, and how many.
    pub devices: (u8, u8),
    /// Dynamic ports, in the order of the ask.
    pub ports: [u16; 2],
}

/// A node and what is used on it.
#[derive(Debug)]
pub(crate) struct Spot {
    /// Position of its class.
    pub class: usize,
    /// How it is doing.
    pub condition: Condition,
    /// How full it should get, in thousandths of the scarcer of CPU and memory.
    pub target: i64,
    /// Its facts.
    pub info: NodeInfo,
    /// Its datacenter.
    pub datacenter: String,
    core_speed: i64,
    healthy_devices: usize,
    device: (String, String),
    cpu: i64,
    memory: i64,
    disk: i64,
    cores: usize,
    devices: usize,
    ports: PortSet,
    /// Number of the last job that was put here.
    last_job: Option<usize>,
}

impl Spot {
    /// An empty node.
    pub(crate) fn new(node: Arc<Node>, class: usize, condition: Condition, target: i64) -> Spot {
        let group = node.node_resources.as_ref().and_then(|r| r.devices.first());
        let info = NodeInfo::new(&node);
        Spot {
            class,
            condition,
            target,
            datacenter: node.datacenter.clone(),
            core_speed: info.cores.first().map_or(0, |(_, speed)| *speed),
            healthy_devices: group.map_or(0, |g| g.instances.iter().take_while(|i| i.healthy).count()),
            device: group.map(|g| (g.vendor.clone(), g.r#type.clone())).unwrap_or_default(),
            info,
            cpu: 0,
            memory: 0,
            disk: 0,
            cores: 0,
            devices: 0,
            ports: PortSet::default(),
            last_job: None,
        }
    }

    /// How full the node is, in thousandths of the scarcer of CPU and memory.
    pub(crate) fn fill(&self) -> i64 {
        self.filled(0, 0)
    }

    /// How much the node asks for more. Those that are to be full come first, so that there are some in an emptier
    /// cluster.
    fn pull(&self) -> i64 {
        let missing = self.target.saturating_sub(self.fill());
        if self.target > 900 { missing.saturating_mul(4) } else { missing }
    }

    /// MHz and MB in use.
    pub(crate) fn used(&self) -> (i64, i64) {
        (self.cpu, self.memory)
    }

    fn filled(&self, cpu: i64, memory: i64) -> i64 {
        let part = |used: i64, all: i64| used.saturating_mul(1000).checked_div(all).unwrap_or(1000);
        part(self.cpu.saturating_add(cpu), self.info.cpu)
            .max(part(self.memory.saturating_add(memory), self.info.memory))
    }

    fn cpu_of(&self, ask: &Ask) -> i64 {
        ask.cpu.saturating_add(self.core_speed.saturating_mul(i64::try_from(ask.cores).unwrap_or(i64::MAX)))
    }

    fn reserved(&self, port: u16) -> bool {
        self.info.addresses.first().is_some_and(|a| a.reserved.contains(port))
    }

    /// Whether the node can take one more, and stays below its target or, without `targeted`, just fits it.
    pub(crate) fn fits(&self, ask: &Ask, job: usize, targeted: bool) -> bool {
        let open = match self.condition {
            Condition::Ready => true,
            Condition::Ineligible | Condition::Draining => !ask.eligible,
            Condition::Down => false,
            Condition::Disconnected => ask.survives && !ask.eligible,
        };
        let cpu = self.cpu.saturating_add(self.cpu_of(ask));
        let memory = self.memory.saturating_add(ask.memory);
        open && cpu <= self.info.cpu
            && memory <= self.info.memory
            && (!targeted || self.filled(self.cpu_of(ask), ask.memory) <= self.target)
            && self.disk.saturating_add(ask.disk) <= self.info.disk
            && self.cores.saturating_add(ask.cores) <= self.info.usable_cores.len()
            && ask.statics.iter().all(|p| !self.reserved(*p) && !self.ports.contains(*p))
            && self.ports.len().saturating_add(ask.dynamics) < self.dynamic_ports() / 2
            && !(ask.distinct && self.last_job == Some(job))
            && ask.device.as_ref().is_none_or(|(vendor, kind, count)| {
                (vendor, kind) == (&self.device.0, &self.device.1)
                    && self.devices.saturating_add(*count) <= self.healthy_devices
            })
    }

    fn dynamic_ports(&self) -> usize {
        let (first, last) = self.info.dynamic_range;
        usize::from(last.saturating_sub(first))
    }

    fn dynamic_port(&self, random: &mut Random) -> u16 {
        let (first, last) = self.info.dynamic_range;
        let width = last.saturating_sub(first).max(1);
        first.saturating_add(u16::try_from(random.below(u64::from(width))).unwrap_or(0))
    }

    /// Takes what fits; call [`Spot::fits`] before.
    pub(crate) fn take(&mut self, ask: &Ask, job: usize, random: &mut Random) -> Share {
        let mut share = self.past(ask, random);
        share.cores.0 = u16::try_from(self.cores).unwrap_or(u16::MAX);
        share.devices.0 = u8::try_from(self.devices).unwrap_or(u8::MAX);
        self.cpu = self.cpu.saturating_add(self.cpu_of(ask));
        self.memory = self.memory.saturating_add(ask.memory);
        self.disk = self.disk.saturating_add(ask.disk);
        self.cores = self.cores.saturating_add(ask.cores);
        self.devices = self.devices.saturating_add(usize::from(share.devices.1));
        self.ports.extend(&ask.statics);
        for port in share.ports.iter_mut().take(ask.dynamics) {
            // At most half of the range is used, so this ends.
            while self.reserved(*port) || !self.ports.insert(*port) {
                *port = self.dynamic_port(random);
            }
        }
        self.last_job = Some(job);
        share
    }

    /// The share that a terminal allocation may have had.
    pub(crate) fn past(&self, ask: &Ask, random: &mut Random) -> Share {
        let mut share = Share::default();
        share.cores.1 = u16::try_from(ask.cores).unwrap_or(0);
        share.devices.1 = ask.device.as_ref().and_then(|(_, _, n)| u8::try_from(*n).ok()).unwrap_or(0);
        for port in share.ports.iter_mut().take(ask.dynamics) {
            *port = self.dynamic_port(random);
        }
        share
    }
}

/// All nodes, by class.
#[derive(Debug)]
pub(crate) struct Ground {
    /// The nodes, in the order of the file.
    pub spots: Vec<Spot>,
    /// The nodes of each class that are below their target.
    open: Vec<Vec<u32>>,
    /// The nodes of each class.
    all: Vec<Vec<u32>>,
}

/// Pairs of nodes that are tried before all nodes are scanned.
const TRIES: usize = 12;
/// Nodes that are scanned after that, so that a large, crowded cluster does not take forever.
const SCAN: usize = 2000;

impl Ground {
    /// The nodes, empty.
    pub(crate) fn new(spots: Vec<Spot>, classes: usize) -> Ground {
        let mut all = vec![Vec::new(); classes];
        for (i, spot) in (0..).zip(&spots) {
            if let Some(list) = all.get_mut(spot.class) {
                list.push(i);
            }
        }
        Ground { spots, open: all.clone(), all }
    }

    /// The nodes of a class.
    pub(crate) fn of_class(&self, class: usize) -> &[u32] {
        self.all.get(class).map_or(&[], Vec::as_slice)
    }

    /// Finds room for one allocation below the targets and takes it.
    pub(crate) fn place(
        &mut self,
        ask: &Ask,
        classes: &[usize],
        datacenters: &[String],
        job: usize,
        random: &mut Random,
    ) -> Option<(u32, Share)> {
        let here = |spot: &Spot| datacenters.iter().any(|d| d == "*" || *d == spot.datacenter);
        let mut found = None;
        for _ in 0..TRIES {
            let pair = [self.sample(classes, random), self.sample(classes, random)];
            let fitting = pair.into_iter().flatten().filter_map(|i| Some((i, self.spot(i)?)));
            let fitting = fitting.filter(|(_, spot)| here(spot) && spot.fits(ask, job, true));
            found = fitting.max_by_key(|(i, spot)| (spot.pull(), *i)).map(|(i, _)| i);
            if found.is_some() {
                break;
            }
        }
        let found = match found {
            Some(i) => i,
            None => {
                let total = self.open_in(classes);
                let start = usize::try_from(random.below(u64::try_from(total).ok()?)).ok()?;
                let looked = (0..total.min(SCAN)).filter_map(|n| self.open_at(classes, (start + n) % total));
                let mut fitting = looked.filter_map(|(class, at)| {
                    let i = *self.open.get(class)?.get(at)?;
                    Some((i, self.spot(i)?))
                });
                fitting.find(|(_, spot)| here(spot) && spot.fits(ask, job, true))?.0
            }
        };
        let share = self.take(found, ask, job, random)?;
        Some((found, share))
    }

    /// Takes room on a certain node. `None` if there is no such node.
    pub(crate) fn take(&mut self, node: u32, ask: &Ask, job: usize, random: &mut Random) -> Option<Share> {
        let spot = self.spots.get_mut(usize::try_from(node).ok()?)?;
        Some(spot.take(ask, job, random))
    }

    /// The node at a position.
    pub(crate) fn spot(&self, node: u32) -> Option<&Spot> {
        self.spots.get(usize::try_from(node).ok()?)
    }

    /// How many nodes of the classes are below their target.
    fn open_in(&self, classes: &[usize]) -> usize {
        classes.iter().filter_map(|c| self.open.get(*c)).map(Vec::len).sum()
    }

    /// Class, and position in its list, of one of those.
    fn open_at(&self, classes: &[usize], mut at: usize) -> Option<(usize, usize)> {
        for class in classes {
            let len = self.open.get(*class)?.len();
            if at < len {
                return Some((*class, at));
            }
            at -= len;
        }
        None
    }

    /// One of the nodes below their target. Full ones that come up are dropped from the lists.
    fn sample(&mut self, classes: &[usize], random: &mut Random) -> Option<u32> {
        let total = self.open_in(classes);
        if total == 0 {
            return None;
        }
        let at = usize::try_from(random.below(u64::try_from(total).ok()?)).ok()?;
        let (class, at) = self.open_at(classes, at)?;
        let node = *self.open.get(class)?.get(at)?;
        let spot = self.spot(node)?;
        if spot.condition == Condition::Down || spot.fill() >= spot.target {
            self.open.get_mut(class)?.swap_remove(at);
            return None;
        }
        Some(node)
    }

    /// Lets the nodes of these classes get fuller: all but the nearly empty ones first, then all.
    pub(crate) fn relax(&mut self, classes: &[usize], nearly_empty: i64, all: bool) {
        for class in classes {
            let Some(nodes) = self.all.get(*class) else { continue };
            for i in nodes {
                let spot = usize::try_from(*i).ok().and_then(|i| self.spots.get_mut(i));
                if let Some(spot) = spot.filter(|s| all || s.target > nearly_empty) {
                    spot.target = 1000;
                }
            }
            if let Some(open) = self.open.get_mut(*class) {
                open.clone_from(nodes);
            }
        }
    }
}
