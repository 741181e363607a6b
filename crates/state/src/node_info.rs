//! The fixed facts of a node, derived from its record.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

use super::ports::{PortSet, parse_port_list};
use encamp_model::{Core, Node};

/// The host network of ports that name none.
pub const DEFAULT_NETWORK: &str = "default";

/// A host address and the ports that are reserved on it.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Address {
    /// The IP address.
    pub ip: String,
    /// Ports jobs cannot have there.
    pub reserved: PortSet,
}

/// The fixed facts of a node (`docs/spec/scheduling.md §2.3, 7.2`).
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct NodeInfo {
    /// MHz jobs can have: capacity less what is reserved.
    pub cpu: i64,
    /// MB of memory jobs can have.
    pub memory: i64,
    /// MB of disk jobs can have.
    pub disk: i64,
    /// The most allocations it takes; 0 if there is no limit.
    pub max_allocs: i64,
    /// Enabled cores with their MHz, ascending: what tasks are given cores from, reserved ones included.
    pub cores: Vec<(u16, i64)>,
    /// Enabled cores that are not reserved, ascending: what allocations may hold.
    pub usable_cores: Vec<u16>,
    /// Host addresses.
    pub addresses: Vec<Address>,
    /// Host network alias and its addresses (indexes into `addresses`), in node order.
    pub host_networks: Vec<(String, Vec<usize>)>,
    /// The first address of the host network [`DEFAULT_NETWORK`], and how many ports are reserved there.
    pub default_address: Option<(usize, usize)>,
    /// Bandwidth in MBit/s per network device.
    pub bandwidth: Vec<(String, i64)>,
    /// A list of reserved ports does not parse: the node can't take anything.
    pub invalid_ports: bool,
    /// First and last dynamic port.
    pub dynamic_range: (u16, u16),
    /// First instance number of each device group of the node, in node order, and the total at the end.
    pub devices: Vec<usize>,
    /// Vendor, type and name of each device group, and the IDs of its instances.
    device_groups: Vec<((String, String, String), Vec<String>)>,
    /// The node's computed class is the one its properties give, so that what holds for the class holds for the node.
    pub class_holds: bool,
    /// A hash of what checks of drivers, networks and secrets depend on: nodes of one hash are alike to them.
    pub traits: u64,
}

/// [`NodeInfo::traits`] of a node.
fn traits_of(node: &Node) -> u64 {
    // Equal in all runs of a build: side indexes hold it.
    let mut hasher = DefaultHasher::new();
    for (name, driver) in node.drivers.iter() {
        (name, driver.detected && driver.healthy).hash(&mut hasher);
    }
    // Drivers of old clients are attributes, and so are releases; of all others it matters whether they are there.
    let decides = |name: &str| name == "nomad.version" || name.starts_with("driver.");
    let attributes = node.attributes.iter().map(|(name, value)| (name, Some(value).filter(|_| decides(name))));
    attributes.collect::<Vec<_>>().hash(&mut hasher);
    let resources = || node.node_resources.iter();
    resources().flat_map(|r| &r.networks).map(|n| &n.mode).collect::<Vec<_>>().hash(&mut hasher);
    let networks = resources().flat_map(|r| r.node_networks.iter().flatten());
    networks.flat_map(|n| &n.addresses).map(|a| &a.alias).collect::<Vec<_>>().hash(&mut hasher);
    hasher.finish()
}

/// MHz of one core.
fn core_speed(c: &Core) -> i64 {
    let v = [c.base_speed, c.max_speed, c.guess_speed].into_iter().find(|v| *v > 0).unwrap_or(0);
    i64::try_from(v).unwrap_or(i64::MAX)
}

impl NodeInfo {
    /// Derives the facts of a node.
    pub fn new(node: &Node) -> NodeInfo {
        let class_holds = node.computed_class == node.compute_class();
        let max_allocs = node.node_max_allocs;
        let mut info = NodeInfo { dynamic_range: (20_000, 32_000), class_holds, max_allocs, ..Default::default() };
        info.traits = traits_of(node);
        let Some(r) = &node.node_resources else { return info };
        let reserved = node.reserved_resources.clone().unwrap_or_default();
        let mut cores: Vec<(u16, i64)> = Vec::new();
        let mut cpu = 0i64;
        let id = |v: u64| u16::try_from(v).ok();
        match &r.processors.topology {
            Some(t) => {
                cpu = t.cores.iter().fold(0, |sum: i64, c| sum.saturating_add(core_speed(c)));
                if t.override_total_compute > 0 {
                    cpu = i64::try_from(t.override_total_compute).unwrap_or(i64::MAX);
                }
                cores.extend(t.cores.iter().filter(|c| !c.disable).filter_map(|c| Some((id(c.id)?, core_speed(c)))));
            }
            None if r.cpu.cpu_shares != 0 && r.cpu.total_cpu_cores != 0 => {
                cpu = r.cpu.cpu_shares;
                let ids: Vec<u64> = if r.cpu.reservable_cpu_cores.is_empty() {
                    (0..r.cpu.total_cpu_cores.min(u64::from(u16::MAX))).collect()
                } else {
                    r.cpu.reservable_cpu_cores.clone()
                };
                let speed = cpu / i64::try_from(ids.len()).unwrap_or(1).max(1);
                cores.extend(ids.into_iter().filter_map(|c| Some((id(c)?, speed))));
            }
            None => {}
        }
        cores.sort_unstable();
        let held = &reserved.cpu.reserved_cpu_cores;
        info.usable_cores = cores.iter().map(|(c, _)| *c).filter(|c| !held.contains(&u64::from(*c))).collect();
        info.cores = cores;
        info.cpu = cpu.saturating_sub(reserved.cpu.cpu_shares);
        info.memory = r.memory.memory_mb.saturating_sub(reserved.memory.memory_mb);
        info.disk = r.disk.disk_mb.saturating_sub(reserved.disk.disk_mb);
        info.add_addresses(node, &reserved.networks.reserved_host_ports);
        let first = info.host_network(DEFAULT_NETWORK).first();
        info.default_address = first.map(|a| (*a, info.addresses[*a].reserved.len()));
        let port = |v: i64, default: u16| if v > 0 { u16::try_from(v).unwrap_or(u16::MAX) } else { default };
        info.dynamic_range = (port(r.min_dynamic_port, 20_000), port(r.max_dynamic_port, 32_000));
        let mut first = 0;
        for d in &r.devices {
            info.devices.push(first);
            first += d.instances.len();
            let group = (d.vendor.clone(), d.r#type.clone(), d.name.clone());
            info.device_groups.push((group, d.instances.iter().map(|i| i.id.clone()).collect()));
        }
        info.devices.push(first);
        info
    }

    fn add_addresses(&mut self, node: &Node, reserved_host_ports: &str) {
        let Some(r) = &node.node_resources else { return };
        let reserved = match parse_port_list(reserved_host_ports) {
            Ok(p) => p,
            Err(_) => {
                self.invalid_ports = true;
                return;
            }
        };
        for n in r.networks.iter().filter(|n| !n.device.is_empty()) {
            let i = self.address(&n.ip);
            self.addresses[i].reserved.extend(&reserved);
            match self.bandwidth.iter_mut().find(|(d, _)| *d == n.device) {
                Some((_, b)) => *b = n.mbits,
                None => self.bandwidth.push((n.device.clone(), n.mbits)),
            }
        }
        for a in r.node_networks.iter().flatten().flat_map(|n| &n.addresses) {
            let i = self.address(&a.address);
            self.addresses[i].reserved.extend(&reserved);
            match parse_port_list(&a.reserved_ports) {
                Ok(p) => self.addresses[i].reserved.extend(&p),
                Err(_) => self.invalid_ports = true,
            }
            match self.host_networks.iter_mut().find(|(alias, _)| *alias == a.alias) {
                Some((_, list)) => list.push(i),
                None => self.host_networks.push((a.alias.clone(), vec![i])),
            }
        }
    }

    fn address(&mut self, ip: &str) -> usize {
        self.address_index(ip).unwrap_or_else(|| {
            self.addresses.push(Address { ip: ip.to_string(), reserved: PortSet::default() });
            self.addresses.len() - 1
        })
    }

    /// The position of an address.
    pub fn address_index(&self, ip: &str) -> Option<usize> {
        self.addresses.iter().position(|a| a.ip == ip)
    }

    /// The addresses of a host network, none if the node does not have it.
    pub fn host_network(&self, alias: &str) -> &[usize] {
        self.host_networks.iter().find(|(a, _)| a == alias).map_or(&[], |(_, list)| list)
    }

    /// How many dynamic ports an address surely has free if so many ports are taken there.
    pub fn free_dynamic_ports(&self, taken: usize) -> usize {
        let (min, max) = self.dynamic_range;
        usize::from(max.saturating_sub(min)).saturating_sub(taken)
    }

    /// The number of a device instance on this node.
    pub(crate) fn device_instance(&self, group: &(String, String, String), id: &str) -> Option<usize> {
        let g = self.device_groups.iter().position(|(name, _)| name == group)?;
        let i = self.device_groups[g].1.iter().position(|i| i == id)?;
        Some(self.devices[g] + i)
    }

    /// How many device instances the node has.
    pub(crate) fn instance_count(&self) -> usize {
        self.devices.last().copied().unwrap_or(0)
    }
}
