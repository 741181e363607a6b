//! In-place updates and placements of system and sysbatch jobs (`docs/spec/reconciliation.md §9.3`).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::reconcile::{Entry, Reconciled};
use super::rollout::Rollout;
use super::{Outcome, count};
use crate::candidates::{ReadyNodes, covers};
use crate::stack::{RankedNode, SelectOptions, Selection, Stack, StackKind};
use crate::tasks_updated::tasks_updated;
use crate::working_plan::WorkingPlan;
use crate::{Context, common, descriptions};
use encamp_model::*;
use encamp_state::{NodeEntry, Snapshot};

/// The result of placing one group.
#[derive(Debug, Default)]
struct Tally {
    /// Destructive updates that may still be made.
    limit: i64,
    /// Some allocation of the group stays.
    kept: bool,
    /// The metrics of the filtered nodes: their number and the reasons.
    filtered: AllocMetric,
    refused: u64,
    /// Evicted allocations.
    victims: u64,
}

/// Makes the changes of one attempt, node by node.
pub(crate) struct Placer<'a, 'p> {
    snapshot: &'a Snapshot,
    eval: &'a Evaluation,
    job: &'a Arc<Job>,
    sysbatch: bool,
    ready: &'a ReadyNodes,
    plan: &'p mut WorkingPlan,
    rollout: &'p mut Rollout<'a>,
    stack: Stack,
    groups: BTreeMap<&'a str, Tally>,
    /// Whether tasks differ, by create index and version of the old job and by group.
    differs: HashMap<(u64, u64, &'a str), bool>,
    queued: BTreeMap<String, i64>,
    failed: BTreeMap<String, AllocMetric>,
    blocked: Vec<Evaluation>,
    preempted: Vec<AllocListStub>,
}

impl<'a, 'p> Placer<'a, 'p> {
    /// A placer for the job, which is not stopped.
    pub(crate) fn new(
        snapshot: &'a Snapshot,
        eval: &'a Evaluation,
        job: &'a Arc<Job>,
        ready: &'a ReadyNodes,
        plan: &'p mut WorkingPlan,
        rollout: &'p mut Rollout<'a>,
    ) -> Placer<'a, 'p> {
        let sysbatch = eval.r#type == JobType::Sysbatch;
        let mut stack = Stack::new(if sysbatch { StackKind::SysBatch } else { StackKind::System }, snapshot.clone());
        stack.set_job(job);
        Placer {
            snapshot,
            eval,
            job,
            sysbatch,
            ready,
            plan,
            rollout,
            stack,
            groups: BTreeMap::new(),
            differs: HashMap::new(),
            queued: BTreeMap::new(),
            failed: BTreeMap::new(),
            blocked: Vec::new(),
            preempted: Vec::new(),
        }
    }

    /// Updates in place what can be; returns the entries that stay and those that have to be replaced. An entry that
    /// stays gives its place in the list to the last one, which decides who comes first under a limit.
    pub(crate) fn update_in_place(
        &mut self,
        mut entries: Vec<Entry<'a>>,
        ctx: &mut Context,
    ) -> (Vec<Entry<'a>>, Vec<Entry<'a>>) {
        let (mut stay, mut i) = (Vec::new(), 0);
        while let Some(e) = entries.get(i) {
            if self.stays(e, ctx) {
                stay.push(entries.swap_remove(i));
            } else {
                i += 1;
            }
        }
        (stay, entries)
    }

    fn stays(&mut self, entry: &Entry<'a>, ctx: &mut Context) -> bool {
        let Some(alloc) = &entry.alloc else { return false };
        if self.tasks_differ(alloc, entry.group) {
            return false;
        }
        if alloc.terminal() {
            return true;
        }
        let Some(node) = self.snapshot.node(entry.node_id) else { return false };
        if !covers(self.job, &node.node) {
            return false;
        }
        self.plan.append_stop(alloc, descriptions::IN_PLACE, ClientStatus::Unset, "");
        let selection = self.select(entry, node, ctx);
        self.plan.pop_stop(alloc);
        let Some(option) = selection.option else { return false };
        let mut updated = common::updated_in_place(alloc, self.eval, &option);
        updated.metrics = Some(selection.metrics.into());
        updated.deployment_id = self.rollout.deployment_id().into();
        updated.deployment_status = None;
        self.plan.append_alloc(updated, None);
        true
    }

    fn tasks_differ(&mut self, alloc: &Allocation, group: &'a TaskGroup) -> bool {
        let Some(old) = &alloc.job else { return true };
        let key = (old.create_index, old.version, group.name.as_str());
        *self.differs.entry(key).or_insert_with(|| tasks_updated(old, self.job, &group.name))
    }

    fn select(&mut self, entry: &Entry, node: &Arc<NodeEntry>, ctx: &mut Context) -> Selection {
        self.stack.set_node(node);
        let options = SelectOptions { alloc_name: entry.name, ..Default::default() };
        let started = (ctx.stopwatch)();
        let mut selection = self.stack.select(self.plan, entry.group, &options, ctx.random);
        selection.metrics.allocation_time = (ctx.stopwatch)().saturating_sub(started);
        selection
    }

    /// Counts the entries of each group, and sets the limits of its destructive updates.
    fn count(&mut self, found: &Reconciled<'a>, stay: &[Entry<'a>], destructive: &[Entry<'a>]) {
        for e in found.place.iter().chain(stay).chain(&found.ignore).chain(destructive) {
            self.rollout.group(&e.group.name).candidates += 1;
        }
        for e in destructive {
            self.rollout.group(&e.group.name).destructive += 1;
        }
        let everything = i64::try_from(destructive.len()).unwrap_or(i64::MAX);
        for g in &self.job.task_groups {
            let own = g.update.as_ref().filter(|_| !self.sysbatch);
            let strategies = own.into_iter().chain([&self.job.update]);
            let limit = strategies.map(|u| u.max_parallel).find(|n| *n > 0).unwrap_or(everything);
            self.groups.insert(&g.name, Tally { limit, ..Default::default() });
        }
        for e in stay.iter().chain(&found.ignore) {
            self.tally(e).kept = true;
        }
        for e in &found.ignore {
            let Some(a) = &e.alloc else { continue };
            if self.rollout.awaits_health(a) {
                self.tally(e).limit -= 1;
            }
            if a.is_canary() {
                self.rollout.group(&e.group.name).kept_canaries.push(a.id.to_string());
            }
        }
    }

    /// Stops the allocations of as many destructive updates as the limits allow, and adds those to what is to be placed.
    fn replace_within_limits(&mut self, destructive: Vec<Entry<'a>>, list: &mut Vec<Entry<'a>>) {
        for e in destructive {
            let tally = self.tally(&e);
            if tally.limit <= 0 {
                continue;
            }
            if !e.canary {
                tally.limit -= 1;
            }
            if let Some(a) = &e.alloc {
                self.plan.append_stop(a, descriptions::UPDATING, ClientStatus::Unset, "");
            }
            list.push(e);
        }
    }

    /// Places what is missing and as many destructive updates as the limits allow.
    pub(crate) fn place(
        &mut self,
        found: Reconciled<'a>,
        stay: &[Entry<'a>],
        destructive: Vec<Entry<'a>>,
        ctx: &mut Context,
    ) {
        self.count(&found, stay, &destructive);
        let mut list = found.place;
        self.replace_within_limits(destructive, &mut list);
        if list.is_empty() || !self.sysbatch {
            self.queued.extend(self.job.task_groups.iter().map(|g| (g.name.clone(), 0)));
        }
        for e in &list {
            *self.queued.entry(e.group.name.clone()).or_default() += 1;
        }
        self.rollout.note_replaced_canaries(&list);
        for e in &list {
            let Some(node) = e.node else { continue };
            let mut selection = self.select(e, node, ctx);
            selection.metrics.nodes_available = Some(self.ready.available.clone());
            selection.metrics.nodes_in_pool = self.ready.in_pool;
            match selection.option {
                Some(option) => self.add(e, option, selection.metrics, ctx),
                None => self.fail(e, selection.metrics, ctx),
            }
        }
    }

    fn tally(&mut self, entry: &Entry<'a>) -> &mut Tally {
        self.groups.entry(&entry.group.name).or_default()
    }

    /// Plans the new allocation.
    fn add(&mut self, entry: &Entry<'a>, option: RankedNode, metrics: AllocMetric, ctx: &mut Context) {
        let mut alloc = common::new_alloc(self.eval, self.job, entry.group, entry.name, &option, metrics, ctx);
        alloc.deployment_id = self.rollout.active_deployment_id().into();
        if let Some(previous) = &entry.alloc {
            alloc.previous_allocation = Text::from(&previous.id);
        }
        if entry.canary && !self.rollout.deployment_id().is_empty() {
            alloc.deployment_status = Some(Box::new(AllocDeploymentStatus { canary: true, ..Default::default() }));
        }
        for victim in &option.preempted {
            self.plan.append_preempted(&victim.alloc, &alloc.id);
            alloc.preempted_allocations.push(Text::from(&victim.alloc.id));
            if self.eval.annotate_plan {
                self.preempted.push(victim.alloc.stub());
                self.tally(entry).victims += 1;
            }
        }
        self.rollout.placed(entry, &alloc);
        self.plan.append_alloc(alloc, None);
    }

    /// Records that the node cannot take the allocation. A node that was filtered is no failure as long as the group
    /// runs elsewhere; the stop of a destructive update stays.
    fn fail(&mut self, entry: &Entry<'a>, mut metrics: AllocMetric, ctx: &mut Context) {
        let group = &entry.group.name;
        let counts = self.rollout.group(group);
        counts.candidates -= 1;
        if entry.alloc.is_some() {
            counts.destructive -= 1;
        }
        if metrics.nodes_filtered > 0 {
            let queued = self.queued.entry(group.clone()).or_default();
            *queued -= 1;
            let nothing_left = *queued <= 0;
            let tally = self.tally(entry);
            tally.refused += 1;
            merge_filtered(&mut tally.filtered, metrics);
            if nothing_left && !tally.kept {
                let merged = tally.filtered.clone();
                self.failed.insert(group.clone(), merged);
            }
            return;
        }
        if let Some(first) = self.failed.get_mut(group) {
            first.coalesced_failures += 1;
            common::add_exhausted_resources(first, entry.group);
            return;
        }
        metrics.node_pool = self.job.node_pool.clone();
        common::add_exhausted_resources(&mut metrics, entry.group);
        self.failed.insert(group.clone(), metrics);
        let classes = if self.stack.escaped() { None } else { Some(self.stack.class_eligibility()) };
        let missing = self.stack.missing_non_node_resources();
        let mut blocked = common::blocked_eval(self.eval, ctx, &self.failed, classes, missing);
        blocked.node_id = entry.node_id.into();
        self.blocked.push(blocked);
    }

    /// Hands over what was counted; returns the blocked evaluations.
    pub(crate) fn finish(
        self,
        desired: &mut BTreeMap<String, DesiredUpdates>,
        outcome: &mut Outcome,
    ) -> Vec<Evaluation> {
        for (name, tally) in self.groups {
            if self.sysbatch && tally.refused > 0 {
                // Unsigned in Nomad too: destructive updates on filtered nodes were never counted as places.
                let updates = count(desired, name);
                updates.place = updates.place.wrapping_sub(tally.refused);
            }
            if tally.victims > 0 {
                count(desired, name).preemptions += tally.victims;
            }
        }
        let mut blocked = self.blocked;
        // Each names all groups that failed in the end, also those that failed after it was made.
        blocked.iter_mut().for_each(|e| e.failed_tg_allocs = self.failed.clone());
        outcome.queued = self.queued;
        outcome.failed = self.failed;
        outcome.annotations.preempted_allocs = self.preempted;
        blocked
    }
}

/// Adds what another filtered node said. What is not a count of filtered nodes stays empty
/// (`docs/spec/scheduling.md §10`).
fn merge_filtered(sum: &mut AllocMetric, m: AllocMetric) {
    sum.nodes_evaluated += m.nodes_evaluated;
    sum.nodes_filtered += m.nodes_filtered;
    sum.allocation_time = sum.allocation_time.saturating_add(m.allocation_time);
    for (class, n) in m.class_filtered {
        *sum.class_filtered.entry(class).or_default() += n;
    }
    for (reason, n) in m.constraint_filtered {
        *sum.constraint_filtered.entry(reason).or_default() += n;
    }
}
