//! The usage of an allocation, and the usage of a node.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::node_info::NodeInfo;
use super::ports::{MAX_PORT, PortSet};
use encamp_model::{
    AllocatedResources, AllocatedTaskResources, Allocation, ClientStatus, DesiredStatus, LifecycleHook,
    NetworkResource, Text, ThinVec,
};

/// A port an allocation holds on an address.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedPort {
    /// The host address.
    pub ip: Text,
    /// The port value; may be out of range in broken input.
    pub value: i64,
    /// The allocation does not mind sharing it.
    pub ignore_collision: bool,
}

/// A device instance an allocation holds.
#[derive(Debug, Clone, PartialEq)]
pub struct UsedDevice {
    /// Vendor, type and name of the device group.
    pub group: (String, String, String),
    /// The instance.
    pub id: String,
}

/// The usage of one allocation on its node: flattened over task lifecycles (`docs/spec/scheduling.md §2.3`).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AllocUsage {
    /// MHz.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
    /// MB; never takes part in fitting.
    pub memory_max: i64,
    /// MB.
    pub disk: i64,
    /// Ports on host addresses.
    pub ports: ThinVec<UsedPort>,
    /// What few allocations hold; none: nothing of it.
    pub rare: Option<Box<RareUsage>>,
}

/// What few allocations hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RareUsage {
    /// Reserved cores, ascending.
    pub cores: Vec<u16>,
    /// Bandwidth per network device in MBit/s; group networks have no device.
    pub mbits: Vec<(String, i64)>,
    /// Device instances.
    pub devices: Vec<UsedDevice>,
}

/// Sums of one lifecycle phase.
#[derive(Default, Clone, Copy)]
struct Phase {
    cpu: i64,
    memory: i64,
    memory_max: i64,
}

impl AllocUsage {
    /// Reserved cores, ascending.
    pub fn cores(&self) -> &[u16] {
        self.rare.as_ref().map_or(&[], |rare| &rare.cores)
    }

    /// Bandwidth per network device in MBit/s; group networks have no device.
    pub fn mbits(&self) -> &[(String, i64)] {
        self.rare.as_ref().map_or(&[], |rare| &rare.mbits)
    }

    /// Device instances.
    pub fn devices(&self) -> &[UsedDevice] {
        self.rare.as_ref().map_or(&[], |rare| &rare.devices)
    }

    /// Flattens allocated resources.
    pub fn new(r: &AllocatedResources) -> AllocUsage {
        let mut out = AllocUsage { disk: r.shared.disk_mb, ..Default::default() };
        let (mut prestart, mut main, mut poststop) = (Phase::default(), Phase::default(), Phase::default());
        let mut reserved_cpu = 0i64;
        for (name, t) in &r.tasks {
            let cpu = if t.cpu.reserved_cores.is_empty() {
                t.cpu.cpu_shares
            } else {
                reserved_cpu = reserved_cpu.saturating_add(t.cpu.cpu_shares);
                let cores = t.cpu.reserved_cores.iter().filter_map(|c| u16::try_from(*c).ok());
                out.rare.get_or_insert_default().cores.extend(cores);
                0
            };
            let add = |p: &mut Phase| {
                p.cpu = p.cpu.saturating_add(cpu);
                p.memory = p.memory.saturating_add(t.memory.memory_mb);
                let max = if t.memory.memory_max_mb == 0 { t.memory.memory_mb } else { t.memory.memory_max_mb };
                p.memory_max = p.memory_max.saturating_add(max);
            };
            match r.lifecycle(name) {
                Some((LifecycleHook::Prestart, sidecar)) => {
                    add(&mut prestart);
                    if sidecar {
                        add(&mut main);
                    }
                }
                Some((LifecycleHook::Poststop, _)) => add(&mut poststop),
                _ => add(&mut main),
            }
            out.add_task_devices(t);
        }
        if let Some(rare) = &mut out.rare {
            rare.cores.sort_unstable();
        }
        out.cpu = reserved_cpu.saturating_add(prestart.cpu.max(main.cpu).max(poststop.cpu));
        out.memory = prestart.memory.max(main.memory).max(poststop.memory);
        out.memory_max = prestart.memory_max.max(main.memory_max).max(poststop.memory_max);
        out.add_networks(r);
        out
    }

    fn add_task_devices(&mut self, t: &AllocatedTaskResources) {
        for d in &t.devices {
            let group = (d.vendor.clone(), d.r#type.clone(), d.name.clone());
            let instances = d.device_ids.iter().map(|id| UsedDevice { group: group.clone(), id: id.clone() });
            self.rare.get_or_insert_default().devices.extend(instances);
        }
    }

    /// Shared ports if there are any, else the ports of group networks and of each task's first network
    /// (`docs/spec/scheduling.md §7.2`).
    fn add_networks(&mut self, r: &AllocatedResources) {
        if !r.shared.ports.is_empty() {
            // Growing would make room for four.
            self.ports.reserve_exact(r.shared.ports.len());
            self.ports.extend(r.shared.ports.iter().map(|p| UsedPort {
                ip: p.host_ip.into(),
                value: p.value,
                ignore_collision: p.ignore_collision,
            }));
            return;
        }
        let task_networks = r.tasks.values().filter_map(|t| t.networks.first());
        r.shared.networks.iter().for_each(|n| self.add_network(&n));
        task_networks.for_each(|n| self.add_network(n));
    }

    fn add_network(&mut self, n: &NetworkResource) {
        let ip = Text::from(&n.ip);
        self.ports.reserve_exact(n.reserved_ports.len() + n.dynamic_ports.len());
        self.ports.extend(n.reserved_ports.iter().chain(&n.dynamic_ports).map(|p| UsedPort {
            ip: ip.clone(),
            value: p.value,
            ignore_collision: p.ignore_collision,
        }));
        self.rare.get_or_insert_default().mbits.push((n.device.clone(), n.mbits));
    }
}

/// The combined statuses of an allocation: read once, so that counting allocations compares no statuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AllocPhase {
    /// It is meant to run, and its client says that it does.
    Running,
    /// It is neither running nor terminal: pending, or its client is unknown or disconnected.
    Live,
    /// It has been stopped or evicted, but its client has not said that it ended.
    Stopping,
    /// Its client says that it ended.
    Ended,
}

impl AllocPhase {
    /// The phase of an allocation.
    pub fn of(alloc: &Allocation) -> AllocPhase {
        AllocPhase::of_statuses(&alloc.desired_status, &alloc.client_status)
    }

    /// The phase of an allocation with these statuses.
    pub fn of_statuses(desired: &DesiredStatus, client: &ClientStatus) -> AllocPhase {
        if client.ends_allocations() {
            AllocPhase::Ended
        } else if desired.ends_allocations() {
            AllocPhase::Stopping
        } else if *client == ClientStatus::Running && *desired == DesiredStatus::Run {
            AllocPhase::Running
        } else {
            AllocPhase::Live
        }
    }

    /// Server- or client-terminal: [`Allocation::terminal`].
    pub fn terminal(self) -> bool {
        match self {
            AllocPhase::Running | AllocPhase::Live => false,
            AllocPhase::Stopping | AllocPhase::Ended => true,
        }
    }

    /// Its client says that it ended: [`Allocation::client_terminal`].
    pub fn client_terminal(self) -> bool {
        self == AllocPhase::Ended
    }
}

/// An allocation with what it counts for, computed once when it is stored.
#[derive(Debug, Clone)]
pub struct AllocEntry {
    /// The allocation.
    pub alloc: Arc<Allocation>,
    /// Its flattened resources.
    pub usage: AllocUsage,
    /// The phase according to its statuses.
    pub phase: AllocPhase,
}

impl AllocEntry {
    /// Flattens the allocation's resources.
    pub fn new(alloc: Arc<Allocation>) -> AllocEntry {
        let usage = alloc.allocated_resources.as_deref().map(AllocUsage::new).unwrap_or_default();
        AllocEntry { phase: AllocPhase::of(&alloc), alloc, usage }
    }

    /// The same for an allocation that replaces another: their resources are mostly the same.
    pub fn after(alloc: Arc<Allocation>, old: Option<&AllocEntry>) -> AllocEntry {
        match (&alloc.allocated_resources, old.and_then(|o| Some((o, o.alloc.allocated_resources.as_ref()?)))) {
            (Some(new), Some((entry, old))) if Arc::ptr_eq(new, old) => {
                AllocEntry { usage: entry.usage.clone(), phase: AllocPhase::of(&alloc), alloc }
            }
            _ => AllocEntry::new(alloc),
        }
    }

    /// The priority of the job version the allocation runs, 50 when it is unknown.
    pub fn priority(&self) -> i64 {
        self.alloc.job.as_ref().map_or(50, |j| j.priority)
    }
}

/// Everything that is used on one node by a set of allocations. Client-terminal ones count in `count` alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeUsage {
    /// MHz.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
    /// MB.
    pub disk: i64,
    /// Number of allocations.
    pub count: i64,
    /// Cores, ascending.
    pub cores: Vec<u16>,
    /// A core is used twice.
    pub core_overlap: bool,
    /// Ports per address of the node, in the order of [`NodeInfo::addresses`], without the reserved ones.
    pub ports: Vec<PortSet>,
    /// How many ports allocations hold on these addresses; one that is held twice counts twice.
    pub held_ports: usize,
    /// Ports on addresses the node does not have.
    pub foreign_ports: Vec<(Text, PortSet)>,
    /// Two allocations (or an allocation and a reservation) hold the same port, or a port is out of range.
    pub port_collision: bool,
    /// Bandwidth per network device in MBit/s.
    pub mbits: BTreeMap<String, i64>,
    /// Uses per device instance, in the order of [`NodeInfo::devices`]; empty on nodes without devices.
    pub devices: Vec<u16>,
    /// A device instance is used twice.
    pub device_overlap: bool,
}

impl NodeUsage {
    /// Sums up the given allocations.
    pub fn of<'a>(info: &NodeInfo, allocs: impl IntoIterator<Item = &'a AllocEntry>) -> NodeUsage {
        let mut u = NodeUsage::default();
        u.extend(info, allocs);
        u
    }

    /// Adds more allocations.
    pub fn extend<'a>(&mut self, info: &NodeInfo, allocs: impl IntoIterator<Item = &'a AllocEntry>) {
        for a in allocs {
            self.count += 1;
            if !a.phase.client_terminal() {
                self.add(info, &a.usage);
            }
        }
        self.settle_cores();
    }

    /// Adds an allocation; false if the sum has to be computed again, because it depends on the order of the allocations.
    pub fn try_add(&mut self, info: &NodeInfo, a: &AllocUsage) -> bool {
        let ordinary = |p: &UsedPort| {
            let port = u16::try_from(p.value).ok().filter(|_| p.value <= MAX_PORT);
            let (Some(port), Some(i)) = (port, info.address_index(&p.ip)) else { return false };
            !info.addresses[i].reserved.contains(port) && !self.ports.get(i).is_some_and(|used| used.contains(port))
        };
        if !self.is_moderate(a) || !a.ports.iter().all(ordinary) || a.ports.len() > 1 && repeated(&a.ports) {
            return false;
        }
        self.count += 1;
        self.add(info, a);
        if !a.cores().is_empty() {
            self.settle_cores();
        }
        true
    }

    /// Takes off an allocation that was added; false if the sum has to be computed again.
    pub(super) fn try_sub(&mut self, info: &NodeInfo, a: &AllocUsage) -> bool {
        let plain =
            a.cores().is_empty() && a.devices().is_empty() && a.mbits().iter().all(|(device, _)| device.is_empty());
        if !plain || !self.is_moderate(a) || !self.try_sub_ports(info, &a.ports) {
            return false;
        }
        self.count -= 1;
        self.cpu -= a.cpu;
        self.memory -= a.memory;
        self.disk -= a.disk;
        true
    }

    /// Takes off ports; false, without a change, unless every port on the node is held once.
    fn try_sub_ports(&mut self, info: &NodeInfo, ports: &[UsedPort]) -> bool {
        if ports.is_empty() {
            return true;
        }
        let held: usize = self.ports.iter().map(PortSet::len).sum();
        let place = |p: &UsedPort| Some((info.address_index(&p.ip)?, u16::try_from(p.value).ok()?));
        let places: Option<Vec<(usize, u16)>> = ports.iter().map(place).collect();
        let Some(places) = places.filter(|_| held == self.held_ports && !self.port_collision) else { return false };
        for (address, port) in places {
            self.held_ports -= usize::from(self.ports.get_mut(address).is_some_and(|set| set.remove(port)));
        }
        if self.held_ports == 0 {
            self.ports.clear();
        }
        true
    }

    /// Nothing is so large that sums end at the largest number.
    fn is_moderate(&self, a: &AllocUsage) -> bool {
        const LARGE: u64 = 1 << 60;
        let bandwidths = a.mbits().iter().map(|(_, mbits)| *mbits).chain(self.mbits.values().copied());
        let amounts = [self.cpu, self.memory, self.disk, a.cpu, a.memory, a.disk];
        amounts.into_iter().chain(bandwidths).all(|n| n.unsigned_abs() < LARGE)
    }

    /// Adds a live allocation; [`NodeUsage::settle_cores`] has to follow.
    pub(super) fn count_in(&mut self, info: &NodeInfo, a: &AllocUsage) {
        self.count += 1;
        self.add(info, a);
    }

    /// Orders the cores that were added.
    pub(super) fn settle_cores(&mut self) {
        self.cores.sort_unstable();
        self.core_overlap = self.cores.windows(2).any(|w| w[0] == w[1]);
    }

    fn add(&mut self, info: &NodeInfo, a: &AllocUsage) {
        self.cpu = self.cpu.saturating_add(a.cpu);
        self.memory = self.memory.saturating_add(a.memory);
        self.disk = self.disk.saturating_add(a.disk);
        self.cores.extend_from_slice(a.cores());
        for p in &a.ports {
            self.add_port(info, p);
        }
        for (device, mbits) in a.mbits() {
            if !device.is_empty() {
                let used = self.mbits.entry(device.clone()).or_default();
                *used = used.saturating_add(*mbits);
            }
        }
        for d in a.devices() {
            if let Some(i) = info.device_instance(&d.group, &d.id) {
                if self.devices.is_empty() {
                    self.devices = vec![0; info.instance_count()];
                }
                self.devices[i] = self.devices[i].saturating_add(1);
                self.device_overlap |= self.devices[i] > 1;
            }
        }
    }

    fn add_port(&mut self, info: &NodeInfo, p: &UsedPort) {
        let Some(port) = u16::try_from(p.value).ok().filter(|_| p.value <= MAX_PORT) else {
            self.port_collision = true;
            return;
        };
        let fresh = match info.address_index(&p.ip) {
            Some(i) => {
                self.held_ports += 1;
                if self.ports.is_empty() {
                    self.ports = vec![PortSet::default(); info.addresses.len()];
                }
                !info.addresses[i].reserved.contains(port) & self.ports[i].insert(port)
            }
            None => {
                let i = self.foreign_ports.iter().position(|(ip, _)| *ip == p.ip).unwrap_or_else(|| {
                    self.foreign_ports.push((p.ip.clone(), PortSet::default()));
                    self.foreign_ports.len() - 1
                });
                self.foreign_ports[i].1.insert(port)
            }
        };
        self.port_collision |= !fresh && !p.ignore_collision;
    }
}

/// Whether an allocation holds a port twice on an address.
fn repeated(ports: &[UsedPort]) -> bool {
    ports.iter().enumerate().any(|(i, p)| ports[..i].iter().any(|q| q.value == p.value && q.ip == p.ip))
}
