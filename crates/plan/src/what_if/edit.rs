//! Applies changes to a state and creates the evaluations they trigger (`docs/spec/server.md §10`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::change::{Change, ChangeError, ChangeProblem, Nodes};
use super::find;
use crate::dry_run::stored_form;
use crate::settings;
use encamp_model::*;
use encamp_scheduler::candidates::covers;
use encamp_state::State;

/// A job an evaluation is to be made for, and why. Later reasons do not replace earlier ones.
pub(crate) type Triggers = BTreeMap<JobKey, Trigger>;
/// Namespace and ID of a job.
pub(crate) type JobKey = (String, String);

/// Why a job is evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Trigger {
    /// `TriggeredBy` of the evaluation.
    pub reason: EvalTrigger,
    /// The scheduler.
    pub r#type: JobType,
    /// Its priority.
    pub priority: i64,
}

/// The changed state before anything was evaluated.
#[derive(Debug, Clone)]
pub(crate) struct Edited {
    pub state: State,
    /// IDs of nodes that drain.
    pub draining: BTreeSet<String>,
    /// IDs of nodes that went down.
    pub down: BTreeSet<String>,
    pub triggers: Triggers,
    /// Nodes were added or settings changed: jobs that wait are worth another try.
    pub gained: bool,
    /// The changes in words.
    pub descriptions: Vec<String>,
    pub notes: Vec<String>,
}

/// Writes the changes: settings first, then what goes, and last the new nodes, which nothing else is about.
pub(crate) fn edit(before: &State, changes: &[Change], namespace: &str, now: i64) -> Result<Edited, ChangeError> {
    let mut e = Edited::unchanged(before);
    let turn = |c: &Change| match c {
        Change::Config { .. } => 0,
        Change::Stop(_) => 1,
        Change::Scale { .. } => 2,
        Change::Down(_) => 3,
        Change::Drain(_) => 4,
        Change::Add { .. } => 5,
    };
    let mut ordered: Vec<&Change> = changes.iter().collect();
    ordered.sort_by_key(|c| turn(c));
    for change in ordered {
        let (flag, value) = written(change);
        e.write(before, change, namespace, now).map_err(|problem| ChangeError { flag, value, problem })?;
    }
    // The nodes as they are in the end decide what is evaluated.
    let system = e.system_jobs();
    for id in e.down.clone() {
        e.trigger_node(&id, &system);
    }
    Ok(e)
}

fn written(change: &Change) -> (&'static str, String) {
    let of = |nodes: &Nodes| match nodes {
        Nodes::One(name) => name.clone(),
        Nodes::Datacenter(name) => format!("dc={name}"),
        Nodes::Class(name) => format!("class={name}"),
        Nodes::Pool(name) => format!("pool={name}"),
    };
    match change {
        Change::Drain(nodes) => ("drain", of(nodes)),
        Change::Down(nodes) => ("down", of(nodes)),
        Change::Add { count, like } => ("add", format!("{count}:like={like}")),
        Change::Scale { job, group, count } => ("scale", format!("{job}/{group}={count}")),
        Change::Stop(job) => ("stop", job.clone()),
        Change::Config { key, value } => ("config", format!("{key}={value}")),
    }
}

/// A state with one more node, and the evaluations that causes.
pub(crate) fn join(before: &State, node: Node) -> Edited {
    let mut e = Edited::unchanged(before);
    let id = node.id.clone();
    let index = e.next_index();
    e.state.upsert_node(Arc::new(Node { create_index: index, modify_index: index, ..node }));
    let system = e.system_jobs();
    e.trigger_node(&id, &system);
    e.gained = true;
    e
}

/// A ready node that differs from its model in what is its own: ID, name, what says its name. Dynamic host volumes stay
/// where they are.
pub fn copy_of(model: &Node, name: &str, id: &str) -> Node {
    let mut n = model.clone();
    (n.name, n.id) = (name.to_string(), id.to_string());
    for (key, value) in n.attributes.iter_mut().chain(n.meta.iter_mut()).filter(|(k, _)| k.starts_with("unique.")) {
        if *value == model.name {
            value.clone_from(&n.name);
        } else if key == "unique.consul.name" || *value == model.id {
            value.clone_from(&n.id);
        }
    }
    n.host_volumes.retain(|_, v| v.id.is_empty());
    n.status = NodeStatus::Ready;
    n.scheduling_eligibility = NodeEligibility::Eligible;
    (n.drain_strategy, n.last_drain) = (None, None);
    (n.last_missed_heartbeat_index, n.last_alloc_update_index) = (0, 0);
    n.drivers.values_mut().filter(|d| d.detected && model.status != NodeStatus::Ready).for_each(|d| d.healthy = true);
    n.events.clear();
    n
}

impl Edited {
    /// A state in which nothing has happened yet.
    pub(crate) fn unchanged(before: &State) -> Edited {
        Edited {
            state: before.clone(),
            draining: BTreeSet::new(),
            down: BTreeSet::new(),
            triggers: Triggers::new(),
            gained: false,
            descriptions: Vec::new(),
            notes: Vec::new(),
        }
    }

    fn write(&mut self, before: &State, change: &Change, namespace: &str, now: i64) -> Result<(), ChangeProblem> {
        match change {
            Change::Drain(which) => self.drain(which),
            Change::Down(which) => self.down(which, now),
            Change::Add { count, like } => self.add(before, *count, like),
            Change::Scale { job, group, count } => self.scale((job, namespace), group, *count, now),
            Change::Stop(job) => self.stop((job, namespace), now),
            Change::Config { key, value } => self.configure(key, value),
        }
    }

    /// Sets the drain strategy, which makes the node ineligible (`docs/spec/server.md §12.1`); evaluations follow when
    /// allocations are marked for migration.
    fn drain(&mut self, which: &Nodes) -> Result<(), ChangeProblem> {
        let nodes = find::nodes(&self.state, which)?;
        for node in &nodes {
            if self.down.contains(&node.id) || node.status == NodeStatus::Down {
                return Err(ChangeProblem::NodeDown { name: node.name.clone() });
            }
            let mut node = Node::clone(node);
            node.drain_strategy.get_or_insert_default();
            node.scheduling_eligibility = NodeEligibility::Ineligible;
            node.modify_index = self.next_index();
            self.draining.insert(node.id.clone());
            self.state.replace_node_record(Arc::new(node));
        }
        self.describe("drain", &nodes);
        Ok(())
    }

    /// Sets nodes down, as they are once their heartbeats are missing for good (`docs/spec/server.md §9.2`).
    fn down(&mut self, which: &Nodes, now: i64) -> Result<(), ChangeProblem> {
        let nodes = find::nodes(&self.state, which)?;
        for node in &nodes {
            if node.status == NodeStatus::Down {
                continue;
            }
            let mut node = Node::clone(node);
            node.status = NodeStatus::Down;
            node.status_updated_at = now / SECOND;
            node.modify_index = self.next_index();
            node.last_missed_heartbeat_index = node.modify_index;
            self.down.insert(node.id.clone());
            self.state.replace_node_record(Arc::new(node));
        }
        if nodes.iter().all(|n| !self.down.contains(&n.id)) {
            self.notes.push(format!("{} was down already", listed(&nodes)));
        }
        self.describe("down", &nodes);
        Ok(())
    }

    /// Marks a node eligible or ineligible; a node that becomes eligible is evaluated.
    pub(crate) fn mark(&mut self, id: &str, eligible: bool) {
        let Some(entry) = self.state.node(id) else { return };
        let wanted = if eligible { NodeEligibility::Eligible } else { NodeEligibility::Ineligible };
        if entry.node.scheduling_eligibility == wanted {
            return;
        }
        let node = Node { scheduling_eligibility: wanted, ..Node::clone(&entry.node) };
        let modify_index = self.next_index();
        self.state.replace_node_record(Arc::new(Node { modify_index, ..node }));
        if eligible {
            let system = self.system_jobs();
            self.trigger_node(id, &system);
            self.gained = true;
        }
    }

    /// Adds nodes like one of the cluster as it was, so that what is lost can be replaced.
    fn add(&mut self, before: &State, count: usize, like: &str) -> Result<(), ChangeProblem> {
        let model = find::node(before, like)?;
        let system = self.system_jobs();
        for number in 1..=count {
            let copy = self.copy_of(&model, number);
            let id = copy.id.clone();
            self.state.upsert_node(Arc::new(copy));
            self.trigger_node(&id, &system);
        }
        self.gained = true;
        self.descriptions.push(format!("add {count} like {}", named(&model)));
        Ok(())
    }

    /// A copy of a node under the first name that is free.
    fn copy_of(&mut self, model: &Node, number: usize) -> Node {
        let free = |state: &State, k: usize| !state.nodes().any(|e| e.node.name == format!("{}-new-{k}", model.name));
        let k = (number..).find(|k| free(&self.state, *k)).unwrap_or(number);
        let index = self.next_index();
        let mut n =
            copy_of(model, &format!("{}-new-{k}", model.name), &format!("ffffffff-0000-4000-8000-{index:012x}"));
        (n.create_index, n.modify_index) = (index, index);
        n
    }

    /// Sets the count of a group, as the scaling endpoint does (`docs/spec/server.md §16`).
    fn scale(&mut self, (id, namespace): (&str, &str), group: &str, count: i64, now: i64) -> Result<(), ChangeProblem> {
        let old = find::job(&self.state, id, namespace)?;
        let mut job = Job::clone(&old);
        let names: BTreeSet<&str> = old.task_groups.iter().map(|g| g.name.as_str()).collect();
        let Some(g) = job.task_groups.iter_mut().find(|g| g.name == group) else {
            return Err(ChangeProblem::NoGroup {
                job: old.id.to_string(),
                group: group.to_string(),
                hint: find::instead(group, &names),
            });
        };
        if old.r#type == JobType::System && count > 1 {
            return Err(ChangeProblem::SystemCount);
        }
        if let Some(policy) = g.scaling.as_ref() {
            if count < policy.min {
                return Err(ChangeProblem::BelowMinimum { count, min: policy.min });
            }
            if count > policy.max {
                return Err(ChangeProblem::AboveMaximum { count, max: policy.max });
            }
        }
        let was = std::mem::replace(&mut g.count, count);
        let latest = self.state.latest_deployment(&old.namespace, &old.id);
        if latest.is_some_and(|d| d.active() && d.job_create_index == old.create_index) {
            self.notes.push(format!("Servers refuse to scale {} while its deployment is active", named_job(&old)));
        }
        if old.stop {
            self.notes.push(format!("{} is stopped: scaling it starts nothing", named_job(&old)));
        }
        self.store(&old, &job, EvalTrigger::JobScaling, old.r#type.clone(), now);
        self.descriptions.push(format!("scale group {} of {} from {was} to {count}", quoted(group), named_job(&old)));
        Ok(())
    }

    /// Stops a job. Whatever its type, the generic scheduler takes its allocations away (`docs/spec/server.md §10`).
    fn stop(&mut self, (id, namespace): (&str, &str), now: i64) -> Result<(), ChangeProblem> {
        let old = find::job(&self.state, id, namespace)?;
        if old.stop {
            self.notes.push(format!("{} was stopped already", named_job(&old)));
        }
        let stopped = Job { stop: true, ..Job::clone(&old) };
        self.store(&old, &stopped, EvalTrigger::JobDeregister, JobType::Service, now);
        self.descriptions.push(format!("stop {}", named_job(&old)));
        Ok(())
    }

    /// Stores a new version; periodic and parameterized jobs get no evaluation.
    fn store(&mut self, old: &Job, new: &Job, reason: EvalTrigger, r#type: JobType, now: i64) {
        let stored = stored_form(Some(old), new, now);
        self.state.upsert_job(stored.clone());
        if !stored.is_template() {
            let trigger = Trigger { reason, r#type, priority: stored.priority };
            // Stops are written first: what is stopped is evaluated as that, whatever else happens to it.
            self.triggers.entry(key(&stored)).or_insert(trigger);
        }
    }

    fn configure(&mut self, name: &str, value: &str) -> Result<(), ChangeProblem> {
        let mut config = settings::current(&self.state);
        settings::set(&mut config, name, value)?;
        config.modify_index = self.next_index();
        self.state.set_scheduler_config(Arc::new(config));
        self.gained = true;
        self.descriptions.push(format!("set {name} to {value}"));
        Ok(())
    }

    /// The evaluations that a changed node causes (`docs/spec/server.md §9.6`).
    fn trigger_node(&mut self, id: &str, system: &[Arc<Job>]) {
        let Some(entry) = self.state.node(id).cloned() else { return };
        for a in entry.allocs.iter().map(|e| &e.alloc) {
            let Some(job) = &a.job else { continue };
            let over = match job.r#type {
                JobType::Service => a.server_terminal() && a.client_terminal(),
                JobType::Batch => a.client_terminal(),
                JobType::System | JobType::Sysbatch | JobType::Core | JobType::Unset | JobType::Other(_) => true,
            };
            if !over {
                self.trigger((a.namespace.to_string(), a.job_id.to_string()), job);
            }
        }
        for job in system.iter().filter(|j| targets(j, &entry.node)) {
            self.trigger(key(job), job);
        }
    }

    fn system_jobs(&self) -> Vec<Arc<Job>> {
        self.state.jobs().map(|e| &e.current).filter(|j| j.r#type == JobType::System).cloned().collect()
    }

    fn trigger(&mut self, key: JobKey, job: &Job) {
        let trigger = Trigger { reason: EvalTrigger::NodeUpdate, r#type: job.r#type.clone(), priority: job.priority };
        self.triggers.entry(key).or_insert(trigger);
    }

    fn describe(&mut self, verb: &str, nodes: &[Arc<Node>]) {
        self.descriptions.push(format!("{verb} {}", listed(nodes)));
    }

    /// The index of the next change.
    pub(crate) fn next_index(&mut self) -> u64 {
        self.state.index += 1;
        self.state.index
    }
}

/// Namespace and ID of a job.
pub(crate) fn key(job: &Job) -> JobKey {
    (job.namespace.clone(), job.id.clone())
}

/// Whether a job that runs wants to be on a node's pool and datacenter.
pub(crate) fn targets(job: &Job, node: &Node) -> bool {
    !job.stop && covers(job, node)
}

fn named(node: &Node) -> String {
    format!("node {} ({})", quoted(&node.name), short_id(&node.id))
}

fn named_job(job: &Job) -> String {
    match job.namespace.as_str() {
        "default" | "" => format!("job {}", quoted(&job.id)),
        namespace => format!("job {} of namespace {}", quoted(&job.id), quoted(namespace)),
    }
}

fn listed(nodes: &[Arc<Node>]) -> String {
    match nodes {
        [one] => named(one),
        [first, ..] => format!("{} nodes, {} among them", nodes.len(), quoted(&first.name)),
        [] => "no node".into(),
    }
}
