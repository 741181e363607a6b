//! Ports and networks of one placement on one node (`docs/spec/scheduling.md §7.2, 7.3`).

use std::net::Ipv4Addr;

use thiserror::Error;

use super::Random;
use crate::constraint::Target;
use encamp_model::{AllocatedPortMapping, NetworkResource, Node, Port};
use encamp_state::ports::MAX_PORT;
use encamp_state::{DEFAULT_NETWORK, NodeInfo, NodeUsage};

/// How often a dynamic port is drawn before all free ports are listed.
const MAX_DRAWS: usize = 20;

/// Why a node can't give ports or networks.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum NetworkProblem {
    /// The node has no address in the host network.
    #[error("no addresses available for {0} network")]
    NoAddress(String),
    /// The number is none of a port.
    #[error("invalid port {0} (out of range)")]
    OutOfRange(i64),
    /// The reserved port is used.
    #[error("reserved port collision {label}={port}")]
    Collision { label: String, port: i64 },
    /// All dynamic ports are used.
    #[error("dynamic port selection failed")]
    NoDynamicPort,
    /// The node has no device with an address.
    #[error("no networks available")]
    NoNetwork,
    /// The devices have too little bandwidth left.
    #[error("bandwidth exceeded")]
    Bandwidth,
}

impl NetworkProblem {
    fn collision(port: &Port) -> NetworkProblem {
        NetworkProblem::Collision { label: port.label.clone(), port: port.value }
    }
}

/// The resources offered to one placement so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Offers {
    ports: Vec<(String, i64)>,
    mbits: Vec<(String, i64)>,
}

/// The ports of a node as one placement sees them: what is used, and what was already offered to this placement.
pub(crate) struct PortView<'a> {
    /// The node's addresses.
    pub info: &'a NodeInfo,
    /// The usage of other allocations.
    pub usage: &'a NodeUsage,
    /// The resources of this placement.
    pub offers: &'a mut Offers,
}

/// Bandwidth of a device that is in use: by others, and by what the placement was offered so far.
pub(crate) fn used_mbits(usage: &NodeUsage, offers: &Offers, device: &str) -> i64 {
    let offered = offers.mbits.iter().filter(|(d, _)| d == device);
    offered.fold(usage.mbits.get(device).copied().unwrap_or(0), |sum, (_, m)| sum.saturating_add(*m))
}

impl PortView<'_> {
    fn used(&self, ip: &str, port: i64) -> bool {
        let Ok(p) = u16::try_from(port) else { return true };
        if self.offers.ports.iter().any(|(i, v)| *v == port && i == ip) {
            return true;
        }
        match self.info.address_index(ip) {
            Some(i) => {
                self.info.addresses[i].reserved.contains(p) || self.usage.ports.get(i).is_some_and(|s| s.contains(p))
            }
            None => self.usage.foreign_ports.iter().any(|(i, s)| i == ip && s.contains(p)),
        }
    }

    /// A free dynamic port of an address: random draws first, then a uniform choice of all that are free.
    fn dynamic(&self, ip: &str, taken: &dyn Fn(i64) -> bool, random: &mut Random) -> Option<i64> {
        let (min, max) = (i64::from(self.info.dynamic_range.0), i64::from(self.info.dynamic_range.1));
        let free = |p: &i64| !taken(*p) && !self.used(ip, *p);
        let width = u64::try_from(max - min).unwrap_or(0);
        for _ in 0..MAX_DRAWS {
            let p = if width == 0 { min } else { min + random(width) as i64 };
            if free(&p) {
                return Some(p);
            }
        }
        let all: Vec<i64> = (min..=max).filter(free).collect();
        if all.is_empty() { None } else { all.get(random(all.len() as u64) as usize).copied() }
    }

    /// Assigns the ports of a group network: reserved ones first, then dynamic ones, each on the first address of its
    /// host network that has it. `hosts` are the resolved host networks of the ports in that order.
    pub(crate) fn assign_group(
        &mut self,
        ask: &NetworkResource,
        hosts: &[String],
        random: &mut Random,
    ) -> Result<Vec<AllocatedPortMapping>, NetworkProblem> {
        let mut offer: Vec<AllocatedPortMapping> = Vec::new();
        let (reserved_hosts, dynamic_hosts) = hosts.split_at(ask.reserved_ports.len().min(hosts.len()));
        for (p, host) in ask.reserved_ports.iter().zip(reserved_hosts) {
            let addresses = self.info.host_network(host);
            if addresses.is_empty() {
                return Err(NetworkProblem::NoAddress(host.clone()));
            }
            if !(0..=MAX_PORT).contains(&p.value) {
                return Err(NetworkProblem::OutOfRange(p.value));
            }
            let ip = addresses
                .iter()
                .map(|a| &self.info.addresses[*a].ip)
                .find(|ip| p.ignore_collision || !self.used(ip, p.value));
            offer.push(mapping(p, p.value, ip.ok_or_else(|| NetworkProblem::collision(p))?));
        }
        for (p, host) in ask.dynamic_ports.iter().zip(dynamic_hosts) {
            let addresses = self.info.host_network(host);
            if addresses.is_empty() {
                return Err(NetworkProblem::NoAddress(host.clone()));
            }
            let taken = |v: i64| {
                offer.iter().any(|o| o.value == v)
                    || ask.reserved_ports.iter().zip(reserved_hosts).any(|(r, h)| r.value == v && h == host)
            };
            let found = addresses.iter().find_map(|a| {
                let ip = &self.info.addresses[*a].ip;
                Some((self.dynamic(ip, &taken, random)?, ip))
            });
            let (value, ip) = found.ok_or(NetworkProblem::NoDynamicPort)?;
            offer.push(mapping(p, value, ip));
        }
        self.offers.ports.extend(offer.iter().map(|o| (o.host_ip.clone(), o.value)));
        Ok(offer)
    }

    /// Assigns a (deprecated) task network: the first device and address on which bandwidth and ports suffice.
    pub(crate) fn assign_task(
        &mut self,
        node: &Node,
        ask: &NetworkResource,
        random: &mut Random,
    ) -> Result<NetworkResource, NetworkProblem> {
        let mut last = NetworkProblem::NoNetwork;
        let networks = node.node_resources.as_ref().map_or(&[][..], |r| &r.networks);
        for n in networks.iter().filter(|n| !n.device.is_empty()) {
            let available = self.info.bandwidth.iter().find(|(d, _)| *d == n.device).map_or(0, |(_, b)| *b);
            for ip in addresses_of(&n.cidr, &n.ip) {
                if used_mbits(self.usage, self.offers, &n.device).saturating_add(ask.mbits) > available {
                    last = NetworkProblem::Bandwidth;
                    break;
                }
                match self.task_ports(&ip, ask, random) {
                    Ok((reserved_ports, dynamic_ports)) => {
                        let ports = reserved_ports.iter().chain(&dynamic_ports);
                        self.offers.ports.extend(ports.map(|p| (ip.clone(), p.value)));
                        self.offers.mbits.push((n.device.clone(), ask.mbits));
                        return Ok(NetworkResource {
                            mode: ask.mode.clone(),
                            device: n.device.clone(),
                            ip,
                            mbits: ask.mbits,
                            dns: ask.dns.clone(),
                            reserved_ports,
                            dynamic_ports,
                            ..Default::default()
                        });
                    }
                    Err(e) => last = e,
                }
            }
        }
        Err(last)
    }

    fn task_ports(
        &self,
        ip: &str,
        ask: &NetworkResource,
        random: &mut Random,
    ) -> Result<(Vec<Port>, Vec<Port>), NetworkProblem> {
        for p in &ask.reserved_ports {
            if !(0..=MAX_PORT).contains(&p.value) {
                return Err(NetworkProblem::OutOfRange(p.value));
            }
            if self.used(ip, p.value) {
                return Err(NetworkProblem::collision(p));
            }
        }
        let mut dynamic: Vec<Port> = Vec::new();
        for p in &ask.dynamic_ports {
            let taken =
                |v: i64| dynamic.iter().any(|d| d.value == v) || ask.reserved_ports.iter().any(|r| r.value == v);
            let value = self.dynamic(ip, &taken, random).ok_or(NetworkProblem::NoDynamicPort)?;
            dynamic.push(with_value(p, value));
        }
        Ok((ask.reserved_ports.clone(), dynamic))
    }
}

fn mapping(p: &Port, value: i64, ip: &str) -> AllocatedPortMapping {
    AllocatedPortMapping {
        label: p.label.clone(),
        value,
        to: if p.to == -1 { value } else { p.to },
        host_ip: ip.to_string(),
        ignore_collision: p.ignore_collision,
    }
}

fn with_value(p: &Port, value: i64) -> Port {
    Port { value, to: if p.to == -1 { value } else { p.to }, ..p.clone() }
}

/// The addresses of a block from its network address up, or the single address when there is no block.
fn addresses_of(cidr: &str, ip: &str) -> Box<dyn Iterator<Item = String>> {
    let block = cidr.split_once('/').and_then(|(a, bits)| {
        let (a, bits) = (a.parse::<Ipv4Addr>().ok()?, bits.parse::<u32>().ok().filter(|b| *b <= 32)?);
        let size = 1u64 << (32 - bits);
        let first = u64::from(u32::from(a)) & !(size - 1);
        Some(first..first + size)
    });
    match block {
        Some(range) => Box::new(range.filter_map(|a| Some(Ipv4Addr::from(u32::try_from(a).ok()?).to_string()))),
        None => Box::new(std::iter::once(ip.to_string())),
    }
}

/// The group's network as the allocation gets it (`docs/spec/scheduling.md §7.1` step 4).
pub(crate) fn group_network(node: &Node, ask: &NetworkResource, ports: &[AllocatedPortMapping]) -> NetworkResource {
    let ip = node.node_resources.as_ref().map_or("", |r| match &r.node_networks {
        Some(networks) if !networks.is_empty() => {
            let host = networks.iter().find(|n| n.mode == "host");
            host.and_then(|n| n.addresses.first()).map_or("", |a| &a.address)
        }
        _ => r.networks.iter().rev().find(|n| n.mode == "host").map_or("", |n| &n.ip),
    });
    let mut n = ask.clone();
    n.device = String::new();
    n.ip = ip.to_string();
    let mut values = ports.iter().skip(n.reserved_ports.len());
    for p in &mut n.dynamic_ports {
        if let Some(m) = values.next() {
            *p = with_value(p, m.value);
        }
    }
    n
}

/// The host networks of a network's ports, reserved ones first; `None` if a template can't be resolved on the node.
pub(crate) fn resolve_hosts(node: &Node, ask: &NetworkResource) -> Option<Vec<String>> {
    ask.reserved_ports
        .iter()
        .chain(&ask.dynamic_ports)
        .map(|p| match Target::parse(&p.host_network).resolve(node) {
            Some("") => Some(DEFAULT_NETWORK.to_string()),
            found => found.map(str::to_string),
        })
        .collect()
}

/// The host networks of a network's ports, reserved ones first, if they do not depend on the node.
pub(crate) fn fixed_hosts(ask: &NetworkResource) -> Option<Vec<String>> {
    let ports = ask.reserved_ports.iter().chain(&ask.dynamic_ports);
    ports
        .map(|p| match Target::parse(&p.host_network) {
            Target::Literal(s) if s.is_empty() => Some(DEFAULT_NETWORK.to_string()),
            Target::Literal(s) => Some(s),
            _ => None,
        })
        .collect()
}

/// Whether [`PortView::assign_group`] is sure to succeed on an empty offer: every reserved port has a free address,
/// and every dynamic port more free ports than can be taken. `false` says nothing.
pub(crate) fn surely_assignable(info: &NodeInfo, usage: &NodeUsage, ask: &NetworkResource, hosts: &[String]) -> bool {
    let (reserved_hosts, dynamic_hosts) = hosts.split_at(ask.reserved_ports.len().min(hosts.len()));
    let used = |a: usize, port: u16| {
        info.addresses[a].reserved.contains(port) || usage.ports.get(a).is_some_and(|s| s.contains(port))
    };
    let reserved = ask.reserved_ports.iter().zip(reserved_hosts).all(|(p, host)| {
        let Some(value) = u16::try_from(p.value).ok() else { return false };
        info.host_network(host).iter().any(|a| p.ignore_collision || !used(*a, value))
    });
    let asked = ask.reserved_ports.len() + ask.dynamic_ports.len();
    let dynamic = |a: &usize| has_dynamic(info, usage, *a, info.addresses[*a].reserved.len(), asked);
    reserved && dynamic_hosts.iter().all(|host| info.host_network(host).first().is_some_and(dynamic))
}

/// The same for dynamic ports of the network [`encamp_state::DEFAULT_NETWORK`] alone.
pub(crate) fn surely_dynamic(info: &NodeInfo, usage: &NodeUsage, asked: usize) -> bool {
    asked == 0 || info.default_address.is_some_and(|(a, reserved)| has_dynamic(info, usage, a, reserved, asked))
}

/// Whether an address has more free dynamic ports than can be taken.
fn has_dynamic(info: &NodeInfo, usage: &NodeUsage, address: usize, reserved: usize, asked: usize) -> bool {
    let suffices = |held: usize| info.free_dynamic_ports(reserved + held) > asked;
    // No address has more than all have, which is known without the sets.
    suffices(usage.held_ports) || suffices(usage.ports.get(address).map_or(0, |s| s.len()))
}
