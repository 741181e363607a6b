//! An evaluation that is processed again after its plan was applied finds nothing to do.
//!
//! A group may only change the second time for one of the reasons the specification gives: see [`excuse`].

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use encamp_model::*;
use encamp_scheduler::descriptions;
use encamp_state::{Snapshot, State};

use super::apply::{Outcome, Terms, apply, run};
use super::replayed;

/// After so many repetitions nothing may change any more where changes are only put off.
const MOST_REPETITIONS: u64 = 6;

/// Processes the evaluation on the state its plan leads to. True if nothing changed, false if what changed is excused.
pub fn check(before: &State, job: &Job, eval: &Evaluation, terms: &Terms, first: &Outcome) -> Result<bool, String> {
    let after = apply(before, &first.plan, terms.now).snapshot();
    let second = repeat(&after, eval, terms, 1)?;
    let facts = Facts { before, now: terms.now, after: &after, job, first, second: &second };
    let mut changes = changes(&second.plan).filter(|a| !facts.noted_again(a)).peekable();
    if changes.peek().is_none() {
        return if second.plan.node_preemptions.is_empty() { Ok(true) } else { Err("only preempts".into()) };
    }
    let mut unsettled = BTreeSet::new();
    for a in changes {
        if facts.updated_late(a).is_some() || facts.excuse(&a.task_group).is_some() {
            continue;
        }
        if facts.put_off(&a.task_group).is_none() {
            return Err(format!("the second time it plans {} {}, group {}", a.desired_status, a.id, a.task_group));
        }
        unsettled.insert(a.task_group.to_string());
    }
    if !unsettled.is_empty() {
        settle(&after, job, eval, terms, second.clone(), unsettled)?;
    }
    Ok(false)
}

/// Processes the evaluation again and again until none of the groups changes.
fn settle(
    after: &State,
    job: &Job,
    eval: &Evaluation,
    terms: &Terms,
    mut last: Outcome,
    mut groups: BTreeSet<String>,
) -> Result<(), String> {
    let mut state = after.clone();
    for number in 2..=MOST_REPETITIONS {
        let next = apply(&state, &last.plan, terms.now).snapshot();
        let outcome = repeat(&next, eval, terms, number)?;
        let facts = Facts { before: &state, now: terms.now, after: &next, job, first: &last, second: &outcome };
        let changed: BTreeSet<&str> =
            changes(&outcome.plan).filter(|a| !facts.noted_again(a)).map(|a| a.task_group.as_str()).collect();
        groups.retain(|g| changed.contains(g.as_str()) && facts.excuse(g).is_none());
        if groups.is_empty() {
            return Ok(());
        }
        (state, last) = (State::clone(&next), outcome);
    }
    Err(format!("still plans changes of {groups:?} the {MOST_REPETITIONS}th time"))
}

fn repeat(state: &Snapshot, eval: &Evaluation, terms: &Terms, number: u64) -> Result<Outcome, String> {
    let outcome = run(state, eval, &Terms { seed: terms.seed ^ (0xffff * number), ..terms.clone() })?;
    if replayed() {
        println!("again: {}", outcome.sketch(state));
    }
    Ok(outcome)
}

/// Everything a plan stops, places or changes.
fn changes(plan: &Plan) -> impl Iterator<Item = &Arc<Allocation>> {
    plan.node_update.values().chain(plan.node_allocation.values()).flatten()
}

struct Facts<'a> {
    before: &'a State,
    now: i64,
    after: &'a State,
    job: &'a Job,
    first: &'a Outcome,
    second: &'a Outcome,
}

impl Facts<'_> {
    /// What is written once more as it is: a failed allocation that still finds no node (`docs/spec/reconciliation.md
    /// §8.5`), and stops of batch allocations that are over (§5.4 rule 2).
    fn noted_again(&self, a: &Allocation) -> bool {
        let Some(stored) = self.after.alloc(&a.id).map(|e| &e.alloc) else { return false };
        if a.server_terminal() && stored.server_terminal() && stored.client_terminal() {
            return true;
        }
        self.failed(&a.task_group)
            && !a.server_terminal()
            && *a == Allocation { job: a.job.clone(), ..Allocation::clone(stored) }
    }

    /// No node was found for the group; evaluations handed back to the blocked queue do not say for which.
    fn failed(&self, group: &str) -> bool {
        !self.first.reblocked.is_empty() || self.first.failed().iter().any(|g| g == group)
    }

    /// Allocations of a group that hold its places.
    fn live(&self, group: &str) -> usize {
        let all = self.after.allocs_of_job(&self.job.namespace, &self.job.id);
        // What a batch job has finished counts, too.
        let over = |a: &Allocation| matches!(a.client_status, ClientStatus::Complete | ClientStatus::Lost);
        // So do drained batch allocations (`docs/spec/reconciliation.md §5.4` rule 2).
        let holds = |a: &Allocation| match self.job.r#type {
            JobType::Batch => !a.server_terminal() || a.desired_transition.migrate_disable_placement(),
            _ => !a.server_terminal() && !over(a),
        };
        all.iter().filter(|a| a.alloc.task_group == group && holds(&a.alloc)).count()
    }

    /// Why an allocation may be updated in place by the second plan only.
    fn updated_late(&self, a: &Allocation) -> Option<&'static str> {
        let stored = self.after.alloc(&a.id)?;
        if a.server_terminal() || stored.phase.terminal() {
            return None;
        }
        let first = self.first.planned().find(|p| p.id == a.id);
        if first.is_some_and(|p| p.client_status == ClientStatus::Unknown) {
            return Some("§5.7, §5.11: what is replaced because it lost contact is not compared with the job before");
        }
        let room = !self.first.plan.node_update.is_empty() || !self.first.plan.node_preemptions.is_empty();
        room.then_some("§7: whether an allocation fits its node is found without the room the same evaluation makes")
    }

    /// Why a group may change in the second plan (`docs/spec/reconciliation.md`, `docs/spec/scheduling.md`).
    fn excuse(&self, group: &str) -> Option<&'static str> {
        let system = matches!(self.job.r#type, JobType::System | JobType::Sysbatch);
        let failed = self.failed(group);
        let stopped = || self.first.plan.node_update.values().flatten().filter(|a| a.task_group == group);
        if failed && (!self.first.plan.node_update.is_empty() || !self.first.plan.node_preemptions.is_empty()) {
            return Some("it failed, and room was made after it had been tried");
        }
        // System jobs do not report groups that nodes filtered as failed.
        if failed && self.mixed_classes() || (failed || system) && self.mixed_networks() {
            return Some("scheduling §5.4, §6.4: what is found depends on the node that is visited first");
        }
        if failed && self.first.planned().any(|a| a.client_terminal()) {
            return Some("scheduling §2.4: what the plan writes is in the way even if it is over");
        }
        let tg = self.job.lookup_group(group);
        let task_networks =
            tg.is_some_and(|g| g.tasks.iter().flat_map(|t| &t.resources).any(|r| !r.networks.is_empty()));
        if failed && task_networks {
            return Some("scheduling §7.2: dynamic ports are drawn without regard to what the tasks ask for");
        }
        if self.first.plan.deployment_updates.iter().any(|u| u.status != DeploymentStatus::Running) {
            return Some("§6.4, §5.1: the deployment that held back or caused changes is over");
        }
        let updates = self.first.updated.iter().filter_map(|e| e.plan_annotations.as_ref());
        let updates: BTreeMap<&str, &DesiredUpdates> =
            updates.flat_map(|p| p.desired_tg_updates.iter().map(|(g, d)| (g.as_str(), d))).collect();
        let done = stopped().filter(|a| a.desired_description == descriptions::UPDATING).count() as u64;
        let unknown = |a: &&Arc<Allocation>| a.task_group == group && a.client_status == ClientStatus::Unknown;
        if self.first.planned().filter(unknown).any(|a| self.expired(a)) {
            return Some("§2.3, Q4: an allocation whose lost_after is over is lost for the next evaluation");
        }
        if system {
            if updates.get(group).is_some_and(|d| d.destructive_update > done) {
                return Some("§9.3 step 6: max_parallel holds back updates");
            }
            let replaced = self.first.placed(self.before).filter(|a| a.task_group == group).count() as u64;
            if done > replaced {
                return Some("§9.3 Q12: an update is stopped also where the new allocation finds no room");
            }
            let ready = |a: &&Arc<Allocation>| self.before.node(&a.node_id).is_some_and(|n| n.node.ready());
            if stopped().filter(ready).any(|a| a.desired_description != descriptions::UPDATING) {
                return Some(
                    "§9.2 rows 2 and 3: a name that is stopped on a ready node is placed by the next evaluation",
                );
            }
            return None;
        }
        if stopped().any(|a| !a.followup_eval_id.is_empty()) {
            return Some("§5.8 Q5, E9: any other evaluation replaces what was stopped to be replaced later");
        }
        if self.first.placed(self.before).any(|a| a.task_group == group && a.job.is_some()) {
            return Some("§8.4: a replacement of an older version is updated as soon as it can be");
        }
        let both = |a: &Arc<Allocation>| {
            let t = self.before.alloc(&a.id).map(|e| &e.alloc.desired_transition);
            t.is_some_and(|t| t.should_migrate() && (t.should_reschedule() || t.should_force_reschedule()))
        };
        if changes(&self.first.plan).filter(|a| a.task_group == group).any(both) {
            return Some(
                "§5.3 step 7, §5.13: what is migrated and rescheduled counts twice, so that one too few is placed",
            );
        }
        let keeps_slot = |a: &Arc<Allocation>| {
            self.before.alloc(&a.id).is_some_and(|e| e.alloc.desired_transition.migrate_disable_placement())
        };
        if stopped().any(keeps_slot) {
            return Some("§5.4 rule 2: a drained batch allocation counts also when it was stopped for another reason");
        }
        let update = self.job.lookup_group(group).and_then(|g| g.update.as_ref());
        if update.is_some_and(|u| u.is_empty() && u.canary > 0) {
            return Some("§5.3 step 18, §5.15: canaries without max_parallel have no deployment that knows them");
        }
        let count = self.job.lookup_group(group).map_or(0, |g| g.count.max(0) as usize);
        if update.is_some_and(|u| u.canary > 0 && u.canary as usize > count) {
            return Some("§5.3 step 26, Q3: not more than the count is placed at once, canaries included");
        }
        let outdated = |a: &Arc<Allocation>| {
            let old = self.before.alloc(&a.id).and_then(|e| e.alloc.job.clone());
            a.task_group == group && old.is_some_and(|j| j.job_modify_index != self.job.job_modify_index)
        };
        if self.first.planned().any(|a| outdated(a) && a.client_status == ClientStatus::Unknown) {
            return Some("§5.7, §5.11: what is replaced because it lost contact is not compared with the job before");
        }
        let placed = self.first.placed(self.before).filter(|a| a.task_group == group).count();
        let limit = update.filter(|u| !u.is_empty()).map_or(count, |u| u.max_parallel.max(0) as usize);
        let unlimited = update.is_none_or(|u| u.is_empty());
        if (placed > done as usize || unlimited) && placed >= limit {
            return Some("§5.12, §5.14: placements use up the number of updates there may be");
        }
        let only_stops = !self.second.planned().any(|a| a.task_group == group);
        let rescheduled = self.first.planned().any(|a| a.task_group == group && a.reschedule_tracker.is_some());
        if rescheduled && only_stops && self.live(group) > count {
            return Some("§5.13: reschedules are replaced also while scaling down, the surplus goes next");
        }
        None
    }

    /// Why what the second plan changes in a group may change later than in the first one, but not for ever.
    fn put_off(&self, group: &str) -> Option<&'static str> {
        if self.distinct_property() {
            return Some("scheduling §6.9: counts of values depend on what else the plan writes");
        }
        let update = self.job.lookup_group(group).and_then(|g| g.update.as_ref());
        if update.is_some_and(|u| u.canary > 0) && changes(&self.first.plan).any(|a| a.task_group == group) {
            return Some("§5.3 steps 5 and 18, §5.15: canaries are settled over several evaluations");
        }
        None
    }

    /// Lost contact counts from the first of the latest entries in a row that say so, and without lost_after at once.
    fn expired(&self, a: &Allocation) -> bool {
        let Some(stored) = self.before.alloc(&a.id).map(|e| &e.alloc) else { return false };
        let lost_after = stored.group().and_then(|g| g.disconnect.as_ref()).map_or(0, |d| d.lost_after);
        let entries = a.alloc_states.iter().rev().take_while(|s| s.value == ClientStatus::Unknown);
        entries.last().and_then(|s| s.time.unix_nanos()).is_some_and(|t| t + lost_after <= self.now)
    }

    /// Nodes of one computed class that differ in what the class does not cover.
    fn mixed_classes(&self) -> bool {
        let facts = |n: &Node| {
            let r = n.node_resources.clone().unwrap_or_default();
            let healthy: Vec<usize> =
                r.devices.iter().map(|d| d.instances.iter().filter(|i| i.healthy).count()).collect();
            let modes: Vec<String> = r.networks.iter().map(|n| n.mode.clone()).collect();
            let aliases: BTreeSet<String> =
                r.node_networks.iter().flatten().flat_map(|n| &n.addresses).map(|a| a.alias.clone()).collect();
            format!("{:?} {healthy:?} {modes:?} {aliases:?}", n.drivers)
        };
        let mut seen: BTreeMap<&str, String> = BTreeMap::new();
        self.after.nodes().any(|n| {
            let facts = facts(&n.node);
            *seen.entry(&n.node.computed_class).or_insert_with(|| facts.clone()) != facts
        })
    }

    fn distinct_property(&self) -> bool {
        let groups = self.job.task_groups.iter().flat_map(|g| &g.constraints);
        self.job.constraints.iter().chain(groups).any(|c| c.operand == "distinct_property")
    }

    /// Groups with and without a network.
    fn mixed_networks(&self) -> bool {
        let with = self.job.task_groups.iter().filter(|g| !g.networks.is_empty()).count();
        with > 0 && with < self.job.task_groups.len()
    }
}
