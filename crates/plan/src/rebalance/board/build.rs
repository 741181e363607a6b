//! A board as the cluster is before the first step.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::{Board, Item, Property, Spot};
use crate::rebalance::claims::Claims;
use crate::rebalance::kind::Kind;
use crate::rebalance::movable::{Movable, Stays};
use encamp_scheduler::constraint::Target;
use encamp_state::{AllocEntry, State};

impl Board {
    pub(in crate::rebalance) fn new(state: &State, mut movable: Movable, now: i64) -> Board {
        let (mut spots, mut items, mut at) = (Vec::new(), Vec::new(), Vec::new());
        for node in state.nodes() {
            let (has, used) = (&node.info, &node.usage);
            let slots = if has.max_allocs == 0 { i64::MAX } else { has.max_allocs.saturating_sub(used.count) };
            let free = [has.cpu - used.cpu, has.memory - used.memory, has.disk - used.disk];
            let (mut own, mut fixed) = (BTreeSet::new(), BTreeMap::new());
            for entry in node.live_allocs() {
                match movable.group_of(node, entry) {
                    Ok(group) => {
                        own.insert(items.len());
                        items.push(Item { entry: entry.clone(), group });
                        at.push(spots.len());
                    }
                    Err(Stays::PerNode) => {}
                    Err(reason) => *fixed.entry(reason).or_default() += 1,
                }
            }
            let open = node.node.ready();
            spots.push(Spot {
                node: node.clone(),
                open,
                free,
                slots,
                items: own,
                fixed,
                ports: BTreeMap::new(),
                odd: 0,
            });
        }
        let moved = vec![0; items.len()];
        let kinds: Vec<Kind> = movable.groups.into_iter().map(Kind::new).collect();
        let exact = kinds.iter().all(|k| !k.odd);
        let mut board = Board {
            state: state.snapshot(),
            now,
            spots,
            items,
            kinds,
            at,
            moved,
            trail: Vec::new(),
            properties: Vec::new(),
            of_job: BTreeMap::new(),
            of_group: BTreeMap::new(),
            refused: BTreeSet::new(),
            claims: Claims::new(),
            exact,
        };
        board.count_ports();
        board.count_jobs();
        board
    }

    /// Counts the static ports in use that some group asks for.
    fn count_ports(&mut self) {
        let wanted: BTreeSet<i64> = self.kinds.iter().flat_map(|k| k.ports.iter().copied()).collect();
        if wanted.is_empty() {
            return;
        }
        for spot in &mut self.spots {
            let held = spot.node.live_allocs().flat_map(|e| &e.usage.ports).filter(|p| wanted.contains(&p.value));
            for port in held {
                *spot.ports.entry(port.value).or_default() += 1;
            }
        }
    }

    /// Counts the allocations of jobs whose allocations may not share nodes or values of properties.
    fn count_jobs(&mut self) {
        let places: BTreeMap<&str, usize> =
            self.spots.iter().enumerate().map(|(n, s)| (s.node.node.id.as_str(), n)).collect();
        let mut known: BTreeMap<(String, String, Option<String>, String), usize> = BTreeMap::new();
        for (number, kind) in self.kinds.iter_mut().enumerate() {
            let (job, group) = (kind.group.job.clone(), kind.group.group.clone());
            let key = (job.namespace.clone(), job.id.clone());
            let live = || self.state.entries_of_job(&job.namespace, &job.id).filter(|e| !e.alloc.terminal());
            let spot = |e: &Arc<AllocEntry>| places.get(e.alloc.node_id.as_str()).copied();
            if kind.alone.0 && !self.of_job.contains_key(&key) {
                let counts = self.of_job.entry(key.clone()).or_default();
                live().filter_map(spot).for_each(|s| *counts.entry(s).or_default() += 1);
            }
            let counts = self.of_group.entry(number).or_default();
            let own = |e: &&Arc<AllocEntry>| e.alloc.task_group == group.name;
            live().filter(own).filter_map(spot).for_each(|s| *counts.entry(s).or_default() += 1);
            let of_group = group.constraints.iter().chain(group.tasks.iter().flat_map(|t| &t.constraints));
            let scoped =
                job.constraints.iter().map(|c| (None, c)).chain(of_group.map(|c| (Some(group.name.clone()), c)));
            for (scope, c) in scoped.filter(|(_, c)| c.operand == "distinct_property") {
                let id = (key.0.clone(), key.1.clone(), scope.clone(), c.ltarget.clone());
                let number = *known.entry(id).or_insert_with(|| {
                    let (target, allowed) = (Target::parse(&c.ltarget), c.rtarget.parse().unwrap_or(1));
                    let mut counts: BTreeMap<String, i64> = BTreeMap::new();
                    let own = live().filter(|e| scope.as_ref().is_none_or(|g| *g == e.alloc.task_group));
                    let values = own.filter_map(|e| target.resolve(&self.state.node(&e.alloc.node_id)?.node));
                    values.for_each(|v| *counts.entry(v.to_string()).or_default() += 1);
                    let owner = (key.0.clone(), key.1.clone(), scope.clone());
                    self.properties.push(Property { target, owner, allowed, counts });
                    self.properties.len() - 1
                });
                kind.properties.push(number);
            }
        }
    }
}
