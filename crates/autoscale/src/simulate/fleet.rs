//! The simulated cluster and the instances it runs on.

use std::collections::BTreeSet;
use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::{Allocation, ClientStatus, JobType, Node, NodeEligibility};
use encamp_plan::what_if::{Cause, Change, ChangeError, Displaced, Fate, Timeline, copy_of, missing};
use encamp_state::State;

use super::trace::{GroupKey, Row};
use super::{Overrides, SimulateError};
use crate::operation::Observation;
use crate::operation::demand::needs_back;
use crate::provider::{Instance, InstanceState, ScalingGroup};
use crate::record::Operation;
use crate::registry::{Fallbacks, Pool, Registry};
use crate::view::{INSTANCE_ID, instance_id};

/// Time between launch and registration varies by so many percent in both directions.
const JITTER_PERCENT: u64 = 10;

/// An instance that was launched.
pub(super) struct Launched {
    /// Its ID.
    pub instance: String,
    /// How long it takes to register, in nanoseconds; `None`: it never does.
    pub boot: Option<i64>,
}

/// The cluster with its scaling group.
pub(super) struct Fleet {
    timeline: Timeline,
    registry: Registry,
    pool_name: String,
    overrides: Overrides,
    pool: Option<Pool>,
    /// The scaling group of the pool.
    pub group: ScalingGroup,
    /// The node that new ones are copies of.
    model: Arc<Node>,
    /// Instances that left the group and keep running.
    detached: i64,
    launched: u64,
    random: Random,
    /// No allocation failed or is unknown, so that nothing depends on the time.
    settled: bool,
}

impl Fleet {
    /// Takes over a cluster. Nodes of the pool that name no instance get one.
    pub(super) fn new(state: State, pool: &str, overrides: Overrides, seed: u64) -> Result<Fleet, SimulateError> {
        let mut registry = Registry::default();
        registry.update(&state, &Fallbacks::new());
        let found = registry.pools().get(pool).ok_or_else(|| SimulateError::NoPool(pool.to_string()))?;
        let nodes: Vec<Arc<Node>> =
            found.nodes.iter().filter_map(|id| state.node(id)).map(|e| e.node.clone()).collect();
        let newest = nodes.iter().max_by(|a, b| (a.create_index, &a.id).cmp(&(b.create_index, &b.id))).cloned();
        let model = newest.ok_or_else(|| SimulateError::NoPool(pool.to_string()))?;
        let mut fleet = Fleet {
            timeline: Timeline::new(state),
            registry,
            pool_name: pool.to_string(),
            overrides,
            pool: None,
            group: ScalingGroup::default(),
            model,
            detached: 0,
            launched: 0,
            random: Random::new(seed, "instances"),
            settled: false,
        };
        fleet.name_instances(&nodes);
        fleet.look();
        Ok(fleet)
    }

    fn name_instances(&mut self, nodes: &[Arc<Node>]) {
        let mut state = self.timeline.state().clone();
        let mut seen: BTreeSet<String> = BTreeSet::new();
        for node in nodes {
            let own = instance_id(node).map(str::to_string).filter(|id| !seen.contains(id));
            let id = own.unwrap_or_else(|| {
                let mut node = Node::clone(node);
                let id = format!("i-{}", node.id);
                set_instance(&mut node, &id);
                state.replace_node_record(Arc::new(node));
                id
            });
            seen.insert(id.clone());
            self.group.instances.push(Instance { id, state: InstanceState::Active });
        }
        self.group.desired = i64::try_from(nodes.len()).unwrap_or(i64::MAX);
        self.timeline.go_back(state);
    }

    /// Reads the pool again after the cluster changed.
    fn look(&mut self) {
        self.registry.update(self.timeline.state(), &Fallbacks::new());
        let found = self.registry.pools().get(&self.pool_name).cloned();
        self.pool = found.map(|mut pool| {
            self.overrides.apply(&mut pool.parameters);
            pool
        });
        if let Some(pool) = &self.pool {
            (self.group.min, self.group.max) = (pool.parameters.min, pool.parameters.max);
        }
        self.settled = self
            .timeline
            .state()
            .allocs()
            .all(|e| !matches!(e.alloc.client_status, ClientStatus::Failed | ClientStatus::Unknown));
    }

    /// The cluster.
    pub(super) fn state(&self) -> &State {
        self.timeline.state()
    }

    /// The pool; `None` while it has no nodes.
    pub(super) fn pool(&self) -> Option<&Pool> {
        self.pool.as_ref()
    }

    /// Whether an evaluation of this state is the same at another time, the cooldown left aside.
    pub(super) fn settled(&self) -> bool {
        self.settled
    }

    /// Registered nodes.
    pub(super) fn registered(&self) -> i64 {
        self.pool.as_ref().map_or(0, |p| i64::try_from(p.nodes.len()).unwrap_or(i64::MAX))
    }

    /// Instances that run: in the group, or detached from it.
    pub(super) fn instances(&self) -> i64 {
        let active = i64::try_from(self.group.active().count()).unwrap_or(i64::MAX);
        active.saturating_add(self.detached)
    }

    /// Sets counts as the rows say. False: they are as they were.
    pub(super) fn load(&mut self, rows: &[Row], now: i64) -> Result<bool, ChangeError> {
        let mut changes: Vec<Change> = Vec::new();
        let mut seen: BTreeSet<&GroupKey> = BTreeSet::new();
        for row in rows.iter().rev().filter(|r| seen.insert(&r.group)) {
            let (namespace, id, group) = &row.group;
            let job = self.state().job(namespace, id);
            let now = job.and_then(|j| j.lookup_group(group)).map(|g| g.count);
            if now != Some(row.count) {
                let job = format!("{id}@{namespace}");
                changes.push(Change::Scale { job, group: group.clone(), count: row.count });
            }
        }
        changes.reverse();
        if changes.is_empty() {
            return Ok(false);
        }
        self.timeline.change(&changes, "", now)?;
        self.look();
        Ok(true)
    }

    /// Counts of groups, and how many allocations of them have no node.
    pub(super) fn demand(&self, groups: &BTreeSet<GroupKey>) -> (i64, i64) {
        let (mut wanted, mut unplaced) = (0_i64, 0_i64);
        for (namespace, id, name) in groups {
            let Some(job) = self.state().job(namespace, id) else { continue };
            let Some(group) = job.lookup_group(name) else { continue };
            wanted = wanted.saturating_add(group.count);
            unplaced = unplaced.saturating_add(missing(self.state(), job, group));
        }
        (wanted, unplaced)
    }

    /// Sets the desired size and launches instances up to it. Each registers after about `boot` nanoseconds, or, in so
    /// many of a hundred cases, never.
    pub(super) fn grow(&mut self, target: i64, boot: i64, failures: u64) -> Vec<Launched> {
        let missing = target.saturating_sub(self.group.desired).max(0);
        self.group.desired = self.group.desired.max(target);
        (0..missing).map(|_| self.launch(boot, failures)).collect()
    }

    /// Launches an instance.
    pub(super) fn launch(&mut self, boot: i64, failures: u64) -> Launched {
        self.launched = self.launched.saturating_add(1);
        let instance = format!("i-simulated-{:06}", self.launched);
        self.group.instances.push(Instance { id: instance.clone(), state: InstanceState::Active });
        let fails = self.random.below(100) < failures;
        let percent = 100_u64.saturating_sub(JITTER_PERCENT).saturating_add(self.random.below(2 * JITTER_PERCENT + 1));
        let boot = i128::from(boot).saturating_mul(percent.into()) / 100;
        Launched { instance, boot: (!fails).then(|| i64::try_from(boot).unwrap_or(i64::MAX)) }
    }

    /// The node of a launched instance registers; gives its name.
    pub(super) fn join(&mut self, instance: &str, now: i64) -> String {
        let number = instance.rsplit('-').next().unwrap_or(instance);
        let name = format!("{}-{number}", self.pool_name);
        let id = format!("ffffffff-0000-4000-9000-{number:0>12}");
        let mut node = copy_of(&self.model, &name, &id);
        set_instance(&mut node, instance);
        self.timeline.join(node, now);
        self.look();
        name
    }

    /// Terminates an instance; the group's desired size stays.
    pub(super) fn terminate(&mut self, instance: &str) {
        self.group.instances.retain(|i| i.id != instance);
    }

    /// Takes an instance out of the group, which then has one less; it keeps running.
    pub(super) fn detach(&mut self, instance: &str) {
        self.terminate(instance);
        self.group.desired = self.group.desired.saturating_sub(1);
        self.detached = self.detached.saturating_add(1);
    }

    /// Drains a node to its end. Where something but system jobs stays on it or finds no place the drain is undone,
    /// which is false.
    pub(super) fn drain(&mut self, node: &str, now: i64) -> bool {
        let before = self.state().clone();
        let left = |d: &Displaced| match (d.cause, d.fate) {
            (Cause::Drained, Fate::Unplaced | Fate::Stays) | (Cause::Preempted, Fate::Unplaced) => true,
            (Cause::Drained, Fate::Moved | Fate::Stopped) => false,
            (Cause::Preempted, Fate::Moved | Fate::Stopped | Fate::Stays) => false,
            (Cause::Lost | Cause::Migrated | Cause::Updated | Cause::Stopped, _) => false,
        };
        let drained = self.timeline.drain(node, now);
        let drained =
            drained.is_ok_and(|o| !o.displaced.iter().any(|d| d.owner.job_type != JobType::System && left(d)));
        let stays = |a: &Allocation| a.job.as_ref().is_none_or(|j| j.r#type != JobType::System);
        let empty = self.state().node(node).is_some_and(|e| !e.live_allocs().any(|a| stays(&a.alloc)));
        if !(drained && empty) {
            self.timeline.go_back(before);
        }
        self.look();
        drained && empty
    }

    /// Whether the pool needs the node of a scale-in back.
    pub(super) fn needs_back(&self, operation: &Operation) -> bool {
        let Some(node) = self.state().node(&operation.node_id) else { return false };
        let Some(pool) = &self.pool else { return true };
        let seen = Observation { state: self.state(), group: &self.group };
        needs_back(&seen, operation, &pool.parameters, &node.node).is_some()
    }

    /// A drained node becomes eligible again; what waits for capacity is tried again.
    pub(super) fn take_back(&mut self, node: &str, now: i64) {
        let Some(entry) = self.state().node(node) else { return };
        let mut node = Node::clone(&entry.node);
        (node.drain_strategy, node.scheduling_eligibility) = (None, NodeEligibility::Eligible);
        self.timeline.join(node, now);
        self.look();
    }

    /// Terminates the instance of a drained node with the group's place for it, and purges the node.
    pub(super) fn remove(&mut self, node: &str) {
        let instance = self.state().node(node).and_then(|e| instance_id(&e.node)).map(str::to_string);
        if let Some(instance) = instance {
            self.terminate(&instance);
        }
        self.group.desired = self.group.desired.saturating_sub(1);
        self.timeline.remove_node(node);
        self.look();
    }

    /// The name of a node.
    pub(super) fn name_of(&self, node: &str) -> String {
        self.state().node(node).map_or_else(|| node.to_string(), |e| e.node.name.clone())
    }
}

fn set_instance(node: &mut Node, instance: &str) {
    node.meta.remove(INSTANCE_ID);
    node.attributes.insert(INSTANCE_ID.to_string(), instance.to_string());
}
