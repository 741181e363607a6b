//! One seed: a cluster, its jobs, and a few successive evaluations, each on the state that the previous ones left.

use std::sync::Arc;

use encamp_model::random::Random;
use encamp_model::*;
use encamp_scheduler::NodeOrder;
use encamp_state::State;

use super::apply::{Outcome, Terms, apply, run};
use super::tally::Tally;
use super::{Verdict, again, capacity, cluster, eligible, events, jobs, order, preemption, replayed};
use encamp_test_support::dice::Dice;

/// The start of the simulated time.
const START: i64 = 1_700_000_000 * SECOND;
/// Allocations at most, so that cases stay small.
const MOST_ALLOCS: usize = 150;
/// The same for clusters with room.
const MOST_ALLOCS_IN_ROOM: usize = 900;

struct Case {
    random: Random,
    state: State,
    now: i64,
    /// Follow-up evaluations that wait.
    waiting: Vec<Evaluation>,
    step: usize,
}

/// Runs the case of a seed; the error says which rule was broken, and where.
pub fn run_case(seed: u64, tally: &mut Tally) -> Verdict {
    let mut random = Random::new(seed, "scheduler properties");
    let roomy = random.one_in(3);
    let state = cluster::cluster(&mut random, roomy);
    let mut case = Case { random, state, now: START, waiting: Vec::new(), step: 0 };
    tally.cases += 1;
    for number in 0..case.random.between(1, 5) {
        let crowd = roomy && case.random.one_in(2);
        let draw = if crowd { jobs::crowd } else { jobs::job };
        let job = draw(&mut case.random, number as usize);
        let index = case.state.index + 1;
        let job = events::register(&mut case.state, job, index);
        case.evaluate(&job, tally)?;
    }
    for _ in 0..case.random.between(2, 10) {
        case.now += case.random.of(&[SECOND, 31 * SECOND, 6 * MINUTE, 2 * HOUR]);
        for _ in 0..case.random.between(1, 3) {
            events::happen(&mut case.random, &mut case.state, case.now);
        }
        let jobs: Vec<Arc<Job>> = case.state.jobs().map(|j| j.current.clone()).collect();
        let Some(job) = case.random.pick(&jobs).cloned() else { continue };
        let job = if roomy && case.random.one_in(2) { case.restart(&job) } else { job };
        case.evaluate(&job, tally)?;
        if case.state.allocs().count() > if roomy { MOST_ALLOCS_IN_ROOM } else { MOST_ALLOCS } {
            break;
        }
    }
    Ok(())
}

impl Case {
    /// Registers the job with something else to run, so that all of it is placed again.
    fn restart(&mut self, job: &Job) -> Arc<Job> {
        let mut job = job.clone();
        jobs::restart(&mut self.random, &mut job);
        let index = self.state.index + 1;
        events::register(&mut self.state, job, index)
    }

    fn evaluation(&mut self, job: &Job) -> Evaluation {
        let due = |e: &Evaluation| e.job_id == job.id && e.namespace == job.namespace;
        if let Some(i) = self.waiting.iter().position(due)
            && self.random.one_in(2)
        {
            let e = self.waiting.swap_remove(i);
            self.now = self.now.max(e.wait_until.unix_nanos().unwrap_or(0));
            return e;
        }
        if job.stop && self.random.one_in(2) {
            return Evaluation { r#type: JobType::Service, ..self.made(job, EvalTrigger::JobDeregister) };
        }
        let trigger = self.random.of(&[
            EvalTrigger::JobRegister,
            EvalTrigger::NodeUpdate,
            EvalTrigger::DeploymentWatcher,
            EvalTrigger::QueuedAllocs,
        ]);
        self.made(job, trigger)
    }

    fn made(&mut self, job: &Job, trigger: EvalTrigger) -> Evaluation {
        Evaluation {
            id: self.random.uuid().into(),
            namespace: Text::from(&job.namespace),
            priority: job.priority,
            r#type: job.r#type.clone(),
            triggered_by: trigger,
            job_id: Text::from(&job.id),
            job_modify_index: job.modify_index,
            status: if self.random.one_in(8) { EvalStatus::Blocked } else { EvalStatus::Pending },
            annotate_plan: self.random.one_in(4),
            ..Default::default()
        }
    }

    fn evaluate(&mut self, job: &Arc<Job>, tally: &mut Tally) -> Verdict {
        self.step += 1;
        let eval = self.evaluation(job);
        let terms = Terms { now: self.now, seed: self.random.number(), order: NodeOrder::Shuffle };
        let at = format!("step {}, {} {} v{}, {}", self.step, job.r#type, job.id, job.version, eval.triggered_by);
        let outcome = run(&self.state.snapshot(), &eval, &terms).map_err(|e| format!("{at}: {e}"))?;
        tally.observe(&self.state, &outcome, Some(job));
        if replayed() {
            println!("{}{at}, {}, now {}{}", self.describe(job), eval.id, self.now, outcome.sketch(&self.state));
        }
        self.check(job, &eval, &terms, &outcome, tally).map_err(|e| format!("{at}: {e}"))?;
        self.state = apply(&self.state, &outcome.plan, self.now);
        self.waiting.extend(outcome.created.into_iter().filter(|e| !e.wait_until.is_zero()));
        Ok(())
    }

    /// What the job has, for whoever looks into a failed case.
    fn describe(&self, job: &Job) -> String {
        let mut out = String::new();
        for g in &job.task_groups {
            let policies = (&g.update, &g.disconnect, &g.reschedule_policy);
            out += &format!("   group {} count {} {policies:?}\n", g.name, g.count);
        }
        for d in self.state.deployments_of_job(&job.namespace, &job.id) {
            out += &format!("   {d:?}\n");
        }
        for a in self.state.allocs_of_job(&job.namespace, &job.id) {
            let a = &a.alloc;
            out += &format!(
                "   alloc {} {} on {} v{:?} {} {} next {:?} deployment {:?} {:?} {:?}\n",
                a.name,
                a.id,
                a.node_id,
                a.job_version(),
                a.desired_status,
                a.client_status,
                a.next_allocation,
                a.deployment_id,
                a.deployment_status,
                a.desired_transition
            );
        }
        out
    }

    fn check(&mut self, job: &Job, eval: &Evaluation, terms: &Terms, outcome: &Outcome, tally: &mut Tally) -> Verdict {
        let (state, plan) = (&self.state, &outcome.plan);
        capacity::check(state, plan).map_err(|e| format!("capacity: {e}"))?;
        eligible::check(state, plan).map_err(|e| format!("eligibility: {e}"))?;
        preemption::check(state, plan, &eval.r#type).map_err(|e| format!("preemption: {e}"))?;
        let settled = again::check(state, job, eval, terms, outcome).map_err(|e| format!("again: {e}"))?;
        tally.add("settled evaluations", usize::from(settled));
        if self.random.one_in(5) {
            order::check_permuted(state, eval, terms, outcome, &mut self.random)?;
            tally.add("permuted states", 1);
        }
        if self.random.one_in(5)
            && let Some(node) = order::unused_node(state, job, &mut self.random)
        {
            order::check_without(state, job, &node, eval, terms, &mut self.random)?;
            tally.add("removed nodes", 1);
        }
        Ok(())
    }
}
