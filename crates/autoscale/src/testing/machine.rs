//! Events in the world: instances start and become nodes, drains migrate allocations, Variables are written.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use encamp_model::{
    Allocation, ClientStatus, DesiredStatus, DesiredTransition, Job, JobType, Node, NodeStatus, SECOND,
};
use encamp_state::State;

use super::Crash;
use super::effects::Effect;
use super::faults::Faults;
use crate::cluster::{ClusterError, Items, Stored};
use crate::cooldown;
use crate::params::PoolParameters;
use crate::protection::Servers;
use crate::provider::{Instance, InstanceState, ScalingGroup};
use crate::record::{ITEM, Record};
use crate::test_cluster::{alloc, job, node, pool_meta};

/// Something that happens later by itself.
#[derive(Debug, Clone)]
pub(super) enum Later {
    Launch,
    Register(String),
    Gone(String),
    Drained(String),
    Start(String),
    /// The service gets as many allocations.
    Work(usize),
}

#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) state: State,
    pub(crate) group: ScalingGroup,
    pub(crate) leads: bool,
    /// The agents that are servers.
    pub(crate) servers: Servers,
    pub(crate) faults: Faults,
    /// Meta of new nodes.
    pub(crate) parameters: PoolParameters,
    /// So many new instances never become nodes.
    pub(crate) stillborn: usize,
    /// A second after the first drain the service gets as many allocations.
    pub(crate) surge: Option<usize>,
    /// When the last operation of each direction ended well; what was taken back counts as scaled in.
    pub(super) last_in: Option<i64>,
    pub(super) last_out: Option<i64>,
    /// The group's desired size when the operation began, whatever the provider said about it.
    pub(super) desired_before: i64,
    /// How many nodes were taken back.
    pub(crate) taken_back: usize,
    /// Drains never move anything.
    pub(crate) drains_hang: bool,
    /// Effects that changed something, in order.
    pub(crate) held: Vec<Effect>,
    /// The violations: events that must not happen.
    pub(crate) violations: Vec<String>,
    /// Points so far.
    pub(crate) points: usize,
    /// Operations that began, and those that ended.
    pub(crate) begun: usize,
    pub(crate) ended: usize,
    crash: Option<Crash>,
    variables: BTreeMap<String, Stored>,
    pub(super) later: Vec<(i64, Later)>,
    pending: i64,
    names: u64,
}

impl Machine {
    /// A pool of `nodes` nodes in a group of that size. `work` allocations of 1,000 MHz on each.
    pub(crate) fn new(nodes: usize, work: usize, parameters: PoolParameters, faults: Faults) -> Machine {
        let group = ScalingGroup { min: parameters.min, max: parameters.max, ..ScalingGroup::default() };
        let mut machine = Machine {
            state: State::new(),
            group,
            leads: true,
            servers: Servers::default(),
            faults,
            parameters,
            stillborn: 0,
            surge: None,
            last_in: None,
            last_out: None,
            desired_before: 0,
            taken_back: 0,
            drains_hang: false,
            held: Vec::new(),
            violations: Vec::new(),
            points: 0,
            begun: 0,
            ended: 0,
            crash: None,
            variables: BTreeMap::new(),
            later: Vec::new(),
            pending: 0,
            names: 0,
        };
        machine.state.index = 1;
        for _ in 0..nodes {
            let id = machine.name("i-");
            machine.group.instances.push(Instance { id: id.clone(), state: InstanceState::Active });
            machine.group.desired += 1;
            machine.register(&id);
        }
        machine.set_work(nodes * work);
        machine
    }

    /// The next free name.
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{:04}", self.names)
    }

    pub(super) fn index(&mut self) -> u64 {
        self.state.index += 1;
        self.state.index
    }

    /// Sets a crash.
    pub(crate) fn set_crash(&mut self, crash: Option<Crash>) {
        self.crash = crash;
    }

    /// Counts a point; whether a crash comes before (false) or after it (true).
    pub(crate) fn reach(&mut self) -> Option<bool> {
        self.points += 1;
        let (left, after) = self.crash.as_mut()?;
        if *left > 0 {
            *left -= 1;
            return None;
        }
        let after = *after;
        self.crash = None;
        Some(after)
    }

    /// Lets everything happen that is due.
    pub(crate) fn advance(&mut self, now: i64) {
        while let Some(at) = (0..self.later.len()).filter(|i| self.later[*i].0 <= now).min_by_key(|i| self.later[*i].0)
        {
            let (when, what) = self.later.remove(at);
            match what {
                Later::Launch => self.launch(when),
                Later::Register(instance) => {
                    if self.group.instances.iter().any(|i| i.id == instance) {
                        self.register(&instance);
                    }
                }
                Later::Gone(instance) => {
                    self.group.instances.retain(|i| i.id != instance);
                    self.change_node(&node_of(&instance), |n| n.status = NodeStatus::Down);
                }
                Later::Drained(node) => self.move_work(&node, when),
                Later::Start(id) => self.start(&id),
                Later::Work(count) => self.set_work(count),
            }
        }
        let active = i64::try_from(self.group.active().count()).unwrap();
        for _ in active + self.pending..self.group.desired {
            self.pending += 1;
            self.later.push((now + 5 * SECOND, Later::Launch));
        }
    }

    fn launch(&mut self, now: i64) {
        self.pending -= 1;
        let id = self.name("i-");
        self.group.instances.push(Instance { id: id.clone(), state: InstanceState::Active });
        if self.stillborn > 0 {
            self.stillborn -= 1;
        } else if !self.faults.happens(self.faults.stillborn) {
            self.later.push((now + 20 * SECOND, Later::Register(id)));
        }
    }

    fn register(&mut self, instance: &str) {
        let index = self.index();
        let p = &self.parameters;
        let mut meta = pool_meta(json!({
            "replicator_max": p.max.to_string(), "replicator_min": p.min.to_string(),
            "replicator_cooldown": p.cooldown.both.as_secs().to_string(),
            "replicator_scaling_threshold": p.scaling_threshold.to_string(),
            "replicator_retry_threshold": p.retry_threshold.to_string(),
            "replicator_scale_factor": p.scale_factor.to_string(), "replicator_provider": "local",
        }));
        for (key, own) in [(cooldown::SCALE_OUT, p.cooldown.scale_out), (cooldown::SCALE_IN, p.cooldown.scale_in)] {
            if let Some(own) = own {
                meta[key] = own.as_secs().to_string().into();
            }
        }
        let attributes = json!({"kernel.name": "linux", "unique.platform.aws.instance-id": instance});
        let more = json!({"Meta": meta, "Attributes": attributes, "CreateIndex": index, "ModifyIndex": index});
        self.state.upsert_node(node(&node_of(instance), more));
    }

    pub(crate) fn change_node(&mut self, id: &str, change: impl FnOnce(&mut Node)) {
        let Some(mut node) = self.state.node(id).map(|e| Node::clone(&e.node)) else { return };
        change(&mut node);
        node.modify_index = self.index();
        self.state.upsert_node(Arc::new(node));
    }

    /// An instance ends by itself with its node; the work on it starts elsewhere.
    pub(crate) fn lose(&mut self, node: &str, now: i64) {
        let instance = node.replace("n-", "i-");
        self.group.instances.retain(|i| i.id != instance);
        self.change_node(node, |n| n.status = NodeStatus::Down);
        self.move_work(node, now);
    }

    /// Makes the service `app` run so many allocations of 1,000 MHz, where there is room.
    pub(crate) fn set_work(&mut self, count: usize) {
        let index = self.index();
        let group = crate::test_cluster::group("g", i64::try_from(count).unwrap(), json!({}));
        self.state.upsert_job(job("app", JobType::Service, json!({"TaskGroups": [group], "ModifyIndex": index})));
        let live = self.live();
        for alloc in live.iter().skip(count) {
            self.change_alloc(&alloc.id, |a| {
                (a.desired_status, a.client_status) = (DesiredStatus::Stop, ClientStatus::Complete)
            });
        }
        for _ in live.len()..count {
            let Some(node) = self.place() else { return };
            let id = self.name("a-");
            self.put_alloc(&id, &node, ClientStatus::Running);
        }
    }

    fn live(&self) -> Vec<Arc<Allocation>> {
        let all = self.state.allocs_of_job("default", "app").into_iter().map(|e| e.alloc.clone());
        all.filter(|a| !a.terminal()).collect()
    }

    fn job(&self) -> Arc<Job> {
        self.state.job("default", "app").unwrap().clone()
    }

    /// The ready node with the fewest allocations, if it has room.
    fn place(&self) -> Option<String> {
        let ready = self.state.nodes().filter(|e| e.node.ready());
        let (count, id) = ready.map(|e| (e.live_allocs().count(), e.node.id.clone())).min()?;
        (count < 10).then_some(id)
    }

    fn put_alloc(&mut self, id: &str, node: &str, status: ClientStatus) {
        let index = self.index();
        let name = format!("app.g[{index}]");
        let more = json!({"ClientStatus": status, "CreateIndex": index, "ModifyIndex": index, "Name": name});
        self.state.upsert_allocs([alloc(id, &self.job(), node, (1000, 10, 10), more)]);
    }

    fn change_alloc(&mut self, id: &str, change: impl FnOnce(&mut Allocation)) {
        let mut alloc = (*self.state.alloc(id).unwrap().alloc).clone();
        change(&mut alloc);
        alloc.modify_index = self.index();
        self.state.upsert_allocs([Arc::new(alloc)]);
    }

    fn start(&mut self, id: &str) {
        if self.state.alloc(id).is_some_and(|e| e.alloc.client_status == ClientStatus::Pending) {
            self.change_alloc(id, |a| a.client_status = ClientStatus::Running);
        }
    }

    /// One allocation after the other leaves a node that drains or is down.
    fn move_work(&mut self, node: &str, now: i64) {
        let Some(entry) = self.state.node(node).cloned() else { return };
        if (entry.node.drain_strategy.is_none() && entry.node.status == NodeStatus::Ready) || self.drains_hang {
            return;
        }
        let Some(old) = entry.live_allocs().next().map(|a| a.alloc.id.to_string()) else {
            return self.change_node(node, |n| n.drain_strategy = None);
        };
        self.later.push((now + 3 * SECOND, Later::Drained(node.into())));
        let Some(target) = self.place() else { return };
        let new = self.name("a-");
        self.put_alloc(&new, &target, ClientStatus::Pending);
        self.later.push((now + 2 * SECOND, Later::Start(new.clone())));
        self.change_alloc(&old, |a| {
            (a.desired_status, a.client_status) = (DesiredStatus::Stop, ClientStatus::Complete);
            a.desired_transition = DesiredTransition { migrate: Some(true), ..DesiredTransition::default() };
            a.next_allocation = new.into();
        });
    }

    pub(crate) fn variable(&self, path: &str) -> Option<&Stored> {
        self.variables.get(path)
    }

    /// Writes a Variable as an operator does.
    pub(crate) fn put_variable(&mut self, path: &str, items: Items) {
        let modify_index = self.index();
        self.variables.insert(path.into(), Stored { items, modify_index });
    }

    /// Writes a state object.
    pub(crate) fn write(&mut self, path: &str, items: Items, check: u64) -> Result<u64, ClusterError> {
        let old = self.variables.get(path).cloned();
        if self.faults.disk_full {
            return Err(ClusterError::Failed("no space left on device".into()));
        }
        if self.faults.happens(self.faults.conflicts)
            && let Some(old) = &old
        {
            let index = self.index();
            self.variables.insert(path.into(), Stored { modify_index: index, ..old.clone() });
        }
        if self.variables.get(path).map_or(0, |s| s.modify_index) != check {
            return Err(ClusterError::Conflict(path.into()));
        }
        let record = |items: &Items| Record::read(path, items.get(ITEM).map(String::as_str)).unwrap();
        let old = old.map(|s| record(&s.items)).unwrap_or_default();
        self.check_write(&old, &record(&items));
        let modify_index = self.index();
        self.variables.insert(path.into(), Stored { items, modify_index });
        Ok(modify_index)
    }
}

/// The node of an instance.
pub(super) fn node_of(instance: &str) -> String {
    instance.replace("i-", "n-")
}
