//! The encoding of plans that a follower's worker sends to the leader, and of the answers (`docs/spec/server.md §7.1`).
//! Parts that the other side already has are left out.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::queues::PlanAnswer;
use crate::queues::pipeline_error::PipelineError;
use encamp_model::*;
use encamp_scheduler::plan_check::{ByNode, Checked};
use encamp_state::State;

/// The result of a plan, without the parts that the submitter has.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    answer: PlanAnswer,
    /// Lists that were accepted in full and are therefore left out, in the order of [`sizes`].
    full: [bool; 3],
}

/// The numbers of allocations that a plan stops, places and preempts.
pub(crate) fn sizes(plan: &Plan) -> [usize; 3] {
    [&plan.node_update, &plan.node_allocation, &plan.node_preemptions].map(size)
}

fn size(list: &ByNode) -> usize {
    list.values().map(Vec::len).sum()
}

fn lists(accepted: &mut Checked) -> [&mut ByNode; 3] {
    [&mut accepted.node_update, &mut accepted.node_allocation, &mut accepted.node_preemptions]
}

impl Verdict {
    /// Encodes the answer to a plan that stopped, placed and preempted these numbers of allocations.
    pub(crate) fn new(mut answer: PlanAnswer, sizes: [usize; 3]) -> Verdict {
        let mut full = [false; 3];
        for ((list, planned), full) in lists(&mut answer.accepted).into_iter().zip(sizes).zip(&mut full) {
            // The check never adds anything to a plan.
            *full = size(list) == planned;
            if *full {
                list.clear();
            }
            without_jobs(list, |_| true);
        }
        Verdict { answer, full }
    }

    /// Decodes the answer, with the allocations as the scheduler made them.
    pub(crate) fn of(self, plan: &Plan) -> PlanAnswer {
        let Verdict { mut answer, full } = self;
        let made = [&plan.node_update, &plan.node_allocation, &plan.node_preemptions];
        for ((list, made), full) in lists(&mut answer.accepted).into_iter().zip(made).zip(full) {
            if full {
                list.clone_from(made);
                continue;
            }
            let made: HashMap<&str, &Arc<Allocation>> = made.values().flatten().map(|a| (a.id.as_str(), a)).collect();
            for alloc in list.values_mut().flatten() {
                if let Some(own) = made.get(alloc.id.as_str()) {
                    *alloc = Arc::clone(own);
                }
            }
        }
        answer
    }
}

/// Whether two records of a job belong to the same registration.
pub(crate) fn same_version(a: &Job, b: &Job) -> bool {
    a.version == b.version && a.create_index == b.create_index
}

/// The stored record of the job version that a plan was made for. `docs/spec/server.md §7.1` step 2 takes the current
/// version, which may be newer than the version the scheduler saw: its allocations would count as up to date with the
/// resources of the old version, and would get those of the new one by an in-place update, for which capacity is not
/// checked (`§7.4` rule 6). `None` if that version is not retained any more, or if the job was purged and registered
/// again: the evaluation is then retried.
pub(crate) fn planned_for<'a>(state: &'a State, job: &Job) -> Option<&'a Arc<Job>> {
    let same = |j: &&Arc<Job>| same_version(j, job);
    let current = state.job(&job.namespace, &job.id);
    let older = || state.job_version(&job.namespace, &job.id, job.version).filter(same);
    current.filter(same).or_else(older)
}

/// The error for a plan whose job version does not exist.
pub(crate) fn not_found(job: &Job) -> PipelineError {
    PipelineError::JobVersionGone { version: job.version, job: job.id.clone(), namespace: job.namespace.clone() }
}

/// Attaches the job to a plan that was sent without it.
pub(crate) fn attach_job(state: &State, plan: &mut Plan) -> Result<(), PipelineError> {
    let Some(job) = &plan.job else { return Ok(()) };
    let job = planned_for(state, job).cloned().ok_or_else(|| not_found(job))?;
    for alloc in plan.node_allocation.values_mut().flatten().filter(|a| a.job.is_none()) {
        Arc::make_mut(alloc).job = Some(job.clone());
    }
    plan.job = Some(job);
    Ok(())
}

fn without_jobs(list: &mut ByNode, drop: impl Fn(&Allocation) -> bool) {
    for alloc in list.values_mut().flatten() {
        if alloc.job.is_some() && drop(alloc) {
            Arc::make_mut(alloc).job = None;
        }
    }
}

/// The plan as it is sent: only jobs that the leader cannot derive from the plan's own job are included.
pub(crate) fn for_transfer(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    plan.annotations = None;
    let own = plan.job.clone();
    let same = |a: &Allocation| match (&a.job, &own) {
        (Some(a), Some(own)) => same_version(a, own),
        _ => false,
    };
    without_jobs(&mut plan.node_update, |_| true);
    without_jobs(&mut plan.node_preemptions, |_| true);
    without_jobs(&mut plan.node_allocation, same);
    let tuple = |j: Arc<Job>| Job {
        id: j.id.clone(),
        namespace: j.namespace.clone(),
        version: j.version,
        create_index: j.create_index,
        ..Job::default()
    };
    plan.job = own.map(|j| Arc::new(tuple(j)));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn plans_keep_the_job_version_that_they_were_made_for() {
        use crate::tests::{Dir, job, put_job, start};
        let dir = Dir::new();
        let server = start(&dir, &encamp_host::ids::uuid()).await;
        put_job(&server, job("web", 1)).await;
        let old = server.snapshot().state().job("default", "web").cloned().unwrap();
        let alloc = Arc::new(Allocation { id: "a".into(), job: Some(old.clone()), ..Default::default() });
        let node_allocation = ByNode::from([("n".to_string(), vec![alloc])]);
        let plan = Plan { job: Some(old.clone()), node_allocation, ..Plan::default() };
        put_job(&server, job("web", 2)).await;
        let mut arrived = for_transfer(&plan);
        attach_job(server.snapshot().state(), &mut arrived).unwrap();
        let embedded = arrived.node_allocation["n"][0].job.as_ref().unwrap();
        assert_eq!((arrived.job.as_ref().unwrap().version, embedded.version), (0, 0));
        assert_eq!(embedded.task_groups, old.task_groups);
        let snapshot = server.snapshot();
        let version = |version, create_index| {
            planned_for(snapshot.state(), &Job { version, create_index, ..Job::clone(&old) }).map(|j| j.version)
        };
        let [now, gone, other] = [version(1, old.create_index), version(7, old.create_index), version(0, 1_000_000)];
        assert_eq!((now, gone, other), (Some(1), None, None), "the version is not stored");
        server.shutdown().await;
    }

    #[test]
    fn plans_are_sent_without_the_parts_that_the_leader_has() {
        let job = |version| Arc::new(Job { id: "j".into(), version, ..Job::default() });
        let alloc =
            |id: &str, version| Arc::new(Allocation { id: id.into(), job: Some(job(version)), ..Default::default() });
        let on = |list: Vec<Arc<Allocation>>| ByNode::from([("n".to_string(), list)]);
        let plan = Plan {
            job: Some(job(2)),
            node_update: on(vec![alloc("stop", 1)]),
            node_allocation: on(vec![alloc("new", 2), alloc("old", 1)]),
            ..Plan::default()
        };
        let sent = for_transfer(&plan);
        let jobs = |list: &ByNode| list.values().flatten().map(|a| a.job.is_some()).collect::<Vec<_>>();
        assert_eq!((jobs(&sent.node_update), jobs(&sent.node_allocation)), (vec![false], vec![false, true]));
        let bytes = encamp_ops::codec::encode(&sent).expect("written");
        let read: Plan = encamp_ops::codec::decode(&bytes).expect("read");
        assert_eq!(read.node_allocation, sent.node_allocation);

        let with = |placed: Vec<Arc<Allocation>>| {
            let (node_update, node_allocation) = (on(vec![alloc("stop", 1)]), on(placed));
            let accepted = Checked { node_update, node_allocation, ..Checked::default() };
            let sent = Verdict::new(PlanAnswer { accepted, ..PlanAnswer::default() }, sizes(&plan));
            let bytes = encamp_ops::codec::encode(&sent).expect("written");
            (bytes.len(), encamp_ops::codec::decode::<Verdict>(&bytes).expect("read").of(&plan).accepted)
        };
        let [new, old] = [0, 1].map(|n| plan.node_allocation["n"][n].clone());
        let (long, part) = with(vec![new.clone()]);
        assert_eq!((part.node_update["n"].len(), &part.node_allocation["n"]), (1, &vec![new.clone()]));
        let (short, all) = with(vec![new.clone(), old.clone()]);
        assert_eq!((&all.node_update, &all.node_allocation), (&plan.node_update, &plan.node_allocation));
        assert!(short < long, "lists that were accepted in full are not sent back");
    }
}
