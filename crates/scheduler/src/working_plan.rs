//! The plan being made: the plan itself plus, for each node it touches, the allocations that the node would have if the
//! plan were applied. Nodes that the plan does not touch cost nothing.

use std::sync::Arc;

use encamp_model::*;
use encamp_state::{AllocEntry, Id, NodeEntry, NodeUsage, Snapshot};

/// The changes of the plan on one node.
#[derive(Debug, Clone, Default)]
struct Overlay {
    /// IDs of stopped and preempted allocations.
    removed: Vec<UniqueText>,
    /// Planned allocations in plan order; one with the ID of a stored allocation replaces it.
    added: Vec<Arc<AllocEntry>>,
    /// Usage of the proposed allocations, and how many of `added` it includes; `None` if it is to be summed up.
    usage: Option<Box<(NodeUsage, usize)>>,
}

/// A change of the plan that concerns counts of the job's own allocations.
#[derive(Debug, Clone)]
pub enum Change {
    /// An allocation was appended to `NodeAllocation`.
    Placed(Arc<Allocation>),
    /// An allocation was appended to `NodeUpdate`.
    Stopped(Arc<Allocation>),
    /// The stop was taken back.
    Unstopped(Arc<Allocation>),
}

/// A plan with the proposed state of the nodes it touches.
#[derive(Debug)]
pub struct WorkingPlan {
    /// The plan so far.
    pub plan: Plan,
    state: Snapshot,
    /// One more than the place in `overlays` by node slot; 0 for nodes the plan does not touch.
    touched: Vec<u32>,
    overlays: Vec<Overlay>,
    changes: Vec<Change>,
    now: i64,
}

impl WorkingPlan {
    /// An empty plan for an evaluation; `now` stamps allocation states.
    pub fn new(eval: &Evaluation, job: Option<Arc<Job>>, state: Snapshot, now: i64) -> WorkingPlan {
        let plan = Plan {
            eval_id: eval.id.to_string(),
            priority: eval.priority,
            all_at_once: job.as_ref().is_some_and(|j| j.all_at_once),
            job,
            ..Default::default()
        };
        let touched = vec![0; state.slot_count()];
        WorkingPlan { plan, state, touched, overlays: Vec::new(), changes: Vec::new(), now }
    }

    /// Plans a stop: desired status `stop`, the description, the client status and follow-up evaluation if given
    /// (`docs/spec/reconciliation.md §2.7`).
    pub(crate) fn append_stop(
        &mut self,
        alloc: &Allocation,
        description: &str,
        client_status: ClientStatus,
        followup_eval: &str,
    ) {
        let mut a = alloc.clone();
        a.job = None;
        a.stored_job_version = alloc.job_version();
        a.resources = None;
        a.desired_status = DesiredStatus::Stop;
        a.desired_description = description.into();
        if !client_status.is_unset() {
            a.client_status = client_status.clone();
        }
        let time = Time::from_unix_nanos(self.now);
        a.alloc_states.push(AllocState { field: 0, value: client_status, time });
        if !followup_eval.is_empty() {
            a.followup_eval_id = followup_eval.into();
        }
        self.push_stop(Arc::new(a));
    }

    /// Puts a stop entry into the plan as it is.
    pub(crate) fn push_stop(&mut self, alloc: Arc<Allocation>) {
        if let Some(o) = self.overlay(&alloc.node_id) {
            o.removed.push(alloc.id.clone());
        }
        self.changes.push(Change::Stopped(alloc.clone()));
        self.plan.node_update.entry(alloc.node_id.to_string()).or_default().push(alloc);
    }

    /// Takes back the last stop of that node if it is this allocation's; true if it was.
    pub(crate) fn pop_stop(&mut self, alloc: &Allocation) -> bool {
        let Some(list) = self.plan.node_update.get_mut(&*alloc.node_id) else { return false };
        if list.last().is_none_or(|a| a.id != alloc.id) {
            return false;
        }
        let popped = list.pop();
        if list.is_empty() {
            self.plan.node_update.remove(&*alloc.node_id);
        }
        self.changes.extend(popped.map(Change::Unstopped));
        if let Some(o) = self.overlay(&alloc.node_id)
            && let Some(i) = o.removed.iter().rposition(|id| *id == alloc.id)
        {
            o.removed.remove(i);
        }
        true
    }

    /// Replaces the planned stop of an allocation by another record; false if no stop is planned.
    pub(crate) fn replace_stop(&mut self, alloc: Arc<Allocation>) -> bool {
        let list = self.plan.node_update.get_mut(&*alloc.node_id);
        match list.and_then(|l| l.iter_mut().find(|a| a.id == alloc.id)) {
            Some(slot) => {
                *slot = alloc;
                true
            }
            None => false,
        }
    }

    /// Plans an allocation (new, updated in place, annotated). `job` is set when it is not the plan's job.
    pub fn append_alloc(&mut self, mut alloc: Allocation, job: Option<Arc<Job>>) {
        alloc.job = job;
        self.push_alloc(Arc::new(alloc));
    }

    /// Puts an allocation into the plan as it is.
    pub(crate) fn push_alloc(&mut self, alloc: Arc<Allocation>) {
        if let Some(o) = self.overlay_to_add(&alloc.node_id) {
            o.added.push(Arc::new(AllocEntry::new(alloc.clone())));
        }
        self.changes.push(Change::Placed(alloc.clone()));
        self.plan.node_allocation.entry(alloc.node_id.to_string()).or_default().push(alloc);
    }

    /// Replaces a planned allocation with the same ID; false if there is none.
    pub(crate) fn replace_alloc(&mut self, alloc: Arc<Allocation>) -> bool {
        let list = self.plan.node_allocation.get_mut(&*alloc.node_id);
        let Some(slot) = list.and_then(|l| l.iter_mut().find(|a| a.id == alloc.id)) else { return false };
        *slot = alloc.clone();
        if let Some(o) = self.overlay(&alloc.node_id)
            && let Some(e) = o.added.iter_mut().find(|e| e.alloc.id == alloc.id)
        {
            *e = Arc::new(AllocEntry::new(alloc));
        }
        true
    }

    /// Drops planned allocations and stops that `keep` refuses; keys with empty lists stay.
    pub fn retain(
        &mut self,
        mut keep_alloc: impl FnMut(&Allocation) -> bool,
        mut keep_stop: impl FnMut(&Allocation) -> bool,
    ) {
        let mut plan = std::mem::take(&mut self.plan);
        for (node, list) in &mut plan.node_allocation {
            list.retain(|a| keep_alloc(a));
            if let Some(o) = self.overlay(node) {
                o.added.retain(|e| list.iter().any(|a| a.id == e.alloc.id));
            }
        }
        for (node, list) in &mut plan.node_update {
            let before: Vec<UniqueText> = list.iter().map(|a| a.id.clone()).collect();
            list.retain(|a| keep_stop(a));
            if let Some(o) = self.overlay(node) {
                o.removed.retain(|id| !before.contains(id) || list.iter().any(|a| a.id == *id));
            }
        }
        self.plan = plan;
    }

    /// Plans the eviction of `victim` in favour of allocation `by`.
    pub(crate) fn append_preempted(&mut self, victim: &Allocation, by: &str) {
        let a = Allocation {
            id: victim.id.clone(),
            job_id: victim.job_id.clone(),
            namespace: victim.namespace.clone(),
            node_id: victim.node_id.clone(),
            desired_status: DesiredStatus::Evict,
            desired_description: Text::unshared(&format!("Preempted by alloc ID {by}")),
            preempted_by_allocation: by.into(),
            allocated_resources: victim.allocated_resources.clone(),
            ..Default::default()
        };
        if let Some(o) = self.overlay(&victim.node_id) {
            o.removed.push(victim.id.clone());
        }
        self.plan.node_preemptions.entry(victim.node_id.to_string()).or_default().push(Arc::new(a));
    }

    /// The allocations the node would hold: stored ones by ID, then planned ones in plan order
    /// (`docs/spec/scheduling.md §2.4`).
    pub fn proposed(&self, node: &NodeEntry) -> Vec<Arc<AllocEntry>> {
        match self.changes_on(node) {
            None => node.live_allocs().cloned().collect(),
            Some(o) => o.proposed(node).cloned().collect(),
        }
    }

    /// Given some of the node's live stored allocations: those that stay, and all that are planned there.
    pub(crate) fn proposed_of<'a>(
        &'a self,
        node: &NodeEntry,
        stored: impl Iterator<Item = &'a Arc<AllocEntry>>,
    ) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        let overlay = self.changes_on(node);
        let kept = move |a: &&Arc<AllocEntry>| overlay.is_none_or(|o| o.keeps(a));
        stored.filter(kept).chain(overlay.into_iter().flat_map(|o| &o.added))
    }

    /// Whether the plan changes anything on the node in a slot.
    pub(crate) fn touches(&self, slot: u32) -> bool {
        overlay_of(&self.touched, slot).is_some()
    }

    /// Brings the usage of a node up to date after changes; call before [`Self::usage_of`].
    pub fn refresh(&mut self, node: &NodeEntry) {
        if let Some(o) = overlay_of(&self.touched, node.slot).and_then(|i| self.overlays.get_mut(i)) {
            o.sum_up(node);
        }
    }

    /// The usage of the node's proposed allocations.
    pub(crate) fn usage_of<'a>(&'a self, node: &'a NodeEntry) -> &'a NodeUsage {
        self.changes_on(node).and_then(|o| o.usage.as_deref()).map_or(&node.usage, |(usage, _)| usage)
    }

    /// The changes so far, for readers that keep counts: remember how many were read.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn changes_on(&self, node: &NodeEntry) -> Option<&Overlay> {
        self.overlays.get(overlay_of(&self.touched, node.slot)?)
    }

    /// The changes of a node to be written to; `None` for a node that is not stored, which nobody asks about.
    fn overlay(&mut self, node_id: &str) -> Option<&mut Overlay> {
        let o = self.overlay_to_add(node_id)?;
        o.usage = None;
        Some(o)
    }

    /// The same if nothing but an allocation is added: what is summed up already stays.
    fn overlay_to_add(&mut self, node_id: &str) -> Option<&mut Overlay> {
        let slot = self.state.node(node_id)?.slot;
        let i = match overlay_of(&self.touched, slot) {
            Some(i) => i,
            None => {
                self.overlays.push(Overlay::default());
                *self.touched.get_mut(slot as usize)? = u32::try_from(self.overlays.len()).ok()?;
                self.overlays.len() - 1
            }
        };
        self.overlays.get_mut(i)
    }
}

/// The place of a node's overlay.
fn overlay_of(touched: &[u32], slot: u32) -> Option<usize> {
    (*touched.get(slot as usize)? as usize).checked_sub(1)
}

impl Overlay {
    /// Brings the usage up to date: what was added is added to it where that gives the same sums.
    fn sum_up(&mut self, node: &NodeEntry) {
        let count = self.added.len();
        if self.usage.as_ref().is_some_and(|known| known.1 == count) {
            return;
        }
        let (mut usage, included) = match self.usage.take() {
            Some(known) => *known,
            None if self.removed.is_empty() => (node.usage.clone(), 0),
            None => (self.usage_from_all(node), count),
        };
        let new = |a: &AllocEntry| !a.phase.client_terminal() && !node.allocs.contains(&Id::new(&a.alloc.id));
        let mut more = self.added.iter().skip(included);
        if !more.all(|a| new(a) && usage.try_add(&node.info, &a.usage)) {
            usage = self.usage_from_all(node);
        }
        self.usage = Some(Box::new((usage, count)));
    }

    fn usage_from_all(&self, node: &NodeEntry) -> NodeUsage {
        NodeUsage::of(&node.info, self.proposed(node).map(|a| a.as_ref()))
    }

    /// Whether a stored allocation is neither removed nor replaced.
    fn keeps(&self, a: &AllocEntry) -> bool {
        !self.removed.contains(&a.alloc.id) && !self.added.iter().any(|b| b.alloc.id == a.alloc.id)
    }

    fn proposed<'a>(&'a self, node: &'a NodeEntry) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        node.live_allocs().filter(|a| self.keeps(a)).chain(&self.added)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::random::Random;
    use encamp_state::State;

    fn alloc(id: u64, cpu: i64, port: Option<i64>) -> Allocation {
        let task = AllocatedTaskResources {
            cpu: AllocatedCpuResources { cpu_shares: cpu, ..Default::default() },
            ..Default::default()
        };
        let ports = port.map(|value| AllocatedPortMapping { value, host_ip: "10.0.0.1".into(), ..Default::default() });
        let resources = AllocatedResources {
            tasks: [("t".to_string(), task)].into_iter().collect(),
            shared: AllocatedSharedResources { ports: ports.into_iter().collect(), ..Default::default() },
            ..Default::default()
        };
        Allocation {
            id: format!("00000000-0000-0000-0000-{id:012x}").into(),
            node_id: "node".into(),
            desired_status: DesiredStatus::Run,
            client_status: ClientStatus::Running,
            allocated_resources: Some(Arc::new(resources)),
            ..Default::default()
        }
    }

    fn one_node(stored: u64) -> State {
        let address = NodeNetworkAddress { alias: "default".into(), address: "10.0.0.1".into(), ..Default::default() };
        let network = NodeNetworkResource { addresses: vec![address], ..Default::default() };
        let resources = NodeResources { node_networks: Some(vec![network]), ..Default::default() };
        let mut state = State::new();
        state.upsert_node(Arc::new(Node {
            id: "node".into(),
            node_resources: Some(resources.into()),
            ..Default::default()
        }));
        state.upsert_allocs((0..stored).map(|id| Arc::new(alloc(id, 100, Some(20_000 + id as i64)))));
        state
    }

    /// What is added to known sums gives the same as summing up all proposed allocations.
    #[test]
    fn the_usage_is_that_of_the_proposed_allocations_after_any_changes() {
        for seed in 0..200 {
            let mut random = Random::new(seed, "changes of a plan");
            let state = one_node(4).snapshot();
            let node = state.node("node").expect("stored").clone();
            let mut plan = WorkingPlan::new(&Evaluation::default(), None, state.clone(), 0);
            let mut next = 10;
            for _ in 0..12 {
                let stored = random.below(4);
                match random.below(7) {
                    // Ports collide at times.
                    0..=2 => {
                        next += 1;
                        let port = (random.below(2) == 0).then(|| 20_000 + random.below(40) as i64);
                        plan.append_alloc(alloc(next, 50 + next as i64, port), None);
                    }
                    // In place.
                    3 => plan.append_alloc(alloc(stored, 7, None), None),
                    4 => plan.append_stop(&alloc(stored, 100, None), "", ClientStatus::default(), ""),
                    5 => drop(plan.pop_stop(&alloc(stored, 100, None))),
                    _ => drop(plan.replace_alloc(Arc::new(alloc(next, 3, None)))),
                }
                if random.below(2) == 0 {
                    continue;
                }
                plan.refresh(&node);
                let proposed = plan.proposed(&node);
                let sum = NodeUsage::of(&node.info, proposed.iter().map(|a| a.as_ref()));
                assert_eq!(*plan.usage_of(&node), sum, "seed {seed}");
            }
        }
    }
}
