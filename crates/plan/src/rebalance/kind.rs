//! A group of allocations that may be moved, in numbers.

use std::cell::RefCell;
use std::sync::Arc;

use super::movable::Group;
use encamp_model::*;
use encamp_scheduler::stack::CompiledGroup;
use encamp_state::{AllocEntry, AllocUsage};

/// What a node says to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Suits {
    /// It can't run it.
    Never,
    /// It can, given room.
    WithRoom,
    /// It has room now.
    Now,
}

/// A group in numbers.
pub(super) struct Kind {
    /// The group.
    pub group: Group,
    /// What one allocation takes.
    pub ask: AllocUsage,
    /// Static ports.
    pub ports: Vec<i64>,
    /// Numbers do not decide.
    pub odd: bool,
    /// No other allocation of the job, or of the group, may be on its node.
    pub alone: (bool, bool),
    /// The numbers of its `distinct_property` constraints on the board.
    pub properties: Vec<usize>,
    /// Spots that suit it; found when first asked for.
    pub suits: RefCell<Option<Arc<Vec<Suits>>>>,
}

impl Kind {
    pub(super) fn new(group: Group) -> Kind {
        let compiled = CompiledGroup::new(&group.job, &group.group, false);
        let networks = compiled.network.iter().flat_map(|n| &n.reserved_ports);
        let ports = networks.filter(|p| !p.ignore_collision).map(|p| p.value).collect();
        let task_networks = compiled.tasks.iter().any(|t| t.network.is_some() || t.cores > 0);
        let csi = group.group.volumes.iter().flatten().any(|(_, v)| v.r#type == "csi");
        let odd = task_networks || csi || !compiled.devices.is_empty();
        let alone_of_job = alone(&group.job.constraints);
        Kind {
            ask: compiled.usage.clone(),
            ports,
            odd,
            alone: (alone_of_job, compiled.distinct_hosts),
            properties: Vec::new(),
            suits: RefCell::new(None),
            group,
        }
    }

    /// Whether an allocation holds no more than the static ports that a new one would hold.
    pub(super) fn ports_alike(&self, entry: &AllocEntry) -> bool {
        entry.usage.ports.iter().filter(|p| self.ports.contains(&p.value)).count() == self.ports.len()
    }

    /// Whether what one of its allocations takes from others is no more than room on the node it is placed on.
    pub(super) fn takes_one_spot(&self) -> bool {
        self.properties.is_empty() && !self.odd
    }
}

/// Whether the first `distinct_hosts` among the constraints is in force.
fn alone(constraints: &[Constraint]) -> bool {
    let c = constraints.iter().find(|c| c.operand == "distinct_hosts");
    c.is_some_and(|c| !matches!(c.rtarget.as_str(), "0" | "f" | "F" | "false" | "FALSE" | "False"))
}
