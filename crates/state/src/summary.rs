//! A few numbers of each node, side by side in memory: searches pass over most full nodes without reading their
//! entries, which are all over the memory.

use serde::{Deserialize, Serialize};

use super::node::NodeEntry;
use super::usage::AllocUsage;

/// What decides about most placements on a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSummary {
    /// MHz that no allocation uses; negative if too much is used.
    cpu: i64,
    /// MB of memory.
    memory: i64,
    /// MB of disk.
    disk: i64,
    /// How many dynamic ports of the default network are surely free.
    ports: usize,
    /// Whether CPU, memory and disk decide alone about what asks for nothing but those and ports.
    amounts_decide: bool,
    /// [`NodeInfo::class_holds`](super::node_info::NodeInfo::class_holds).
    class_holds: bool,
}

impl NodeSummary {
    /// The summary of a node.
    pub(super) fn of(node: &NodeEntry) -> NodeSummary {
        let (info, usage) = (&*node.info, &node.usage);
        let free = |has: i64, used: i64| has.checked_sub(used).filter(|_| has < i64::MAX);
        let (cpu, memory, disk) =
            (free(info.cpu, usage.cpu), free(info.memory, usage.memory), free(info.disk, usage.disk));
        let unlimited = info.max_allocs == 0 && usage.cores.is_empty() && !usage.core_overlap;
        let valid_ports = !info.invalid_ports && !usage.port_collision;
        let countable = cpu.is_some() && memory.is_some() && disk.is_some();
        NodeSummary {
            cpu: cpu.unwrap_or_default(),
            memory: memory.unwrap_or_default(),
            disk: disk.unwrap_or_default(),
            ports: info.default_address.map_or(0, |(_, n)| info.free_dynamic_ports(n + usage.held_ports)),
            amounts_decide: countable && unlimited && valid_ports,
            class_holds: info.class_holds,
        }
    }

    /// The dimension that does not suffice for a request of CPU, memory and disk, and of so many dynamic ports of the
    /// default network. `None` if all suffice, or if that depends on more than the summary.
    pub fn lacks(&self, ask: &AllocUsage, ports: usize) -> Option<&'static str> {
        if !self.amounts_decide || ports > 0 && self.ports <= ports {
            return None;
        }
        if ask.cpu > self.cpu {
            Some("cpu")
        } else if ask.memory > self.memory {
            Some("memory")
        } else if ask.disk > self.disk {
            Some("disk")
        } else {
            None
        }
    }

    /// Whether what holds for the node's computed class holds for the node.
    pub fn class_holds(&self) -> bool {
        self.class_holds
    }
}
