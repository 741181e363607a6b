//! The decision about every object at one time, by all ways in which it can be deleted: by its own kind's run, or
//! together with its job. Dry runs and explanations are made of it (`docs/spec/garbage-collection.md §19`).

use std::collections::{HashMap, HashSet};

use super::keys::{self, Step};
use super::rules::{self, Ignored, Sink};
use super::select::TOKENS;
use super::verdict::{Decision, Hold, Looking, Named, Thresholds, Verdict, also};
use encamp_model::gc::{GcKind, GcReason};
use encamp_model::*;
use encamp_state::{AllocEntry, JobEntry, StateStore};

/// A state, and what of it is known.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The state.
    pub store: &'a StateStore,
    /// The kinds that the source of the state shows.
    pub visible: &'a [GcKind],
    /// How old objects have to be.
    pub thresholds: Thresholds,
    /// The time of the run, in Unix nanoseconds.
    pub now: i64,
}

/// Keeps the verdict about one allocation.
struct One<'a> {
    id: &'a str,
    verdict: Option<Verdict<'a>>,
}

impl<'a> Sink<'a> for One<'a> {
    fn alloc(&mut self, alloc: &'a Allocation, verdict: Verdict<'a>) {
        if alloc.id == self.id {
            self.verdict = Some(verdict);
        }
    }

    fn eval(&mut self, _: &Evaluation) {}
}

/// Keeps the verdicts about the allocations of an evaluation.
#[derive(Default)]
struct Each<'a>(Vec<(&'a Allocation, Verdict<'a>)>);

impl<'a> Sink<'a> for Each<'a> {
    fn alloc(&mut self, alloc: &'a Allocation, verdict: Verdict<'a>) {
        self.0.push((alloc, verdict));
    }

    fn eval(&mut self, _: &Evaluation) {}
}

impl<'a> View<'a> {
    fn shows(&self, kind: GcKind) -> bool {
        self.visible.contains(&kind)
    }

    /// What the rule of jobs says about a job.
    fn job_verdict(&self, entry: &'a JobEntry) -> Verdict<'a> {
        let mut whole = rules::job(self.store, entry, self.thresholds.job, Looking::Everywhere, &mut Ignored);
        if self.shows(GcKind::Evaluation) {
            return whole;
        }
        // Allocations stand for the evaluations that the source does not show.
        let job = &entry.current;
        for a in self.store.state().allocs_of_job(&job.namespace, &job.id) {
            let Some(a) = self.store.state().alloc(&a.alloc.id) else { continue };
            let alone = rules::alloc_of(&a.alloc, &job.r#type, Some(job), self.thresholds.job, true);
            whole = also(whole, alone, Named::alloc(&a.alloc), GcReason::AllocationOfJob);
        }
        whole
    }

    /// The verdict of what is deleted together with a job.
    fn with_job(&self, namespace: &str, id: &str) -> Option<Verdict<'a>> {
        let entry = self.store.state().job_entry(namespace, id)?;
        rules::with_job(&entry.current, self.job_verdict(entry))
    }

    /// The verdict about an allocation whose evaluation the state does not have: it is gone, or the source does not show
    /// evaluations.
    fn alloc_without_eval(&self, a: &'a Allocation) -> Verdict<'a> {
        if self.shows(GcKind::Evaluation) {
            return Err(Hold::new(GcReason::EvaluationGone));
        }
        let job = self.store.state().job(&a.namespace, &a.job_id);
        let of = job.map_or(JobType::Service, |j| j.r#type.clone());
        rules::alloc_of(a, &of, job, self.thresholds.of_eval(&of), false)
    }

    /// The decision about an evaluation.
    pub fn eval(&self, e: &'a Evaluation) -> Decision<'a> {
        let age = self.thresholds.of_eval(&e.r#type);
        let own = rules::eval(self.store, e, age, false, Looking::Everywhere, &mut Ignored);
        Decision::of(own, self.with_job(&e.namespace, &e.job_id), self.now)
    }

    /// The decision about an allocation.
    pub fn alloc(&self, a: &'a Allocation) -> Decision<'a> {
        let own = match self.store.eval(&a.eval_id) {
            Some(e) => {
                let (age, mut one) = (self.thresholds.of_eval(&e.r#type), One { id: &a.id, verdict: None });
                // The verdict about the evaluation is of no interest here.
                let _ = rules::eval(self.store, e, age, false, Looking::Everywhere, &mut one);
                one.verdict.unwrap_or(Err(Hold::new(GcReason::EvaluationGone)))
            }
            None => self.alloc_without_eval(a),
        };
        Decision::of(own, self.with_job(&a.namespace, &a.job_id), self.now)
    }

    /// The decision about a job.
    pub fn job(&self, entry: &'a JobEntry) -> Decision<'a> {
        Decision::of(self.job_verdict(entry), None, self.now)
    }

    /// The decision about a deployment.
    pub fn deployment(&self, d: &'a Deployment) -> Decision<'a> {
        let own = rules::deployment(self.store, d, self.thresholds.deployment, Looking::Everywhere);
        Decision::of(own, self.with_job(&d.namespace, &d.job_id), self.now)
    }

    /// The decision about a node.
    pub fn node(&self, entry: &'a encamp_state::NodeEntry) -> Decision<'a> {
        Decision::of(rules::node(entry, self.thresholds.node, Looking::Everywhere), None, self.now)
    }

    /// The decision about a token, without the limit of one run.
    pub fn token(&self, t: &'a AclToken) -> Decision<'a> {
        let verdict = match rules::token(t, self.thresholds.token) {
            Ok(_) if !self.thresholds.acl => Err(Hold::new(GcReason::AclDisabled)),
            Ok(_) if t.global && !self.thresholds.authoritative => Err(Hold::new(GcReason::OtherRegion)),
            verdict => verdict,
        };
        Decision::of(verdict, None, self.now)
    }

    /// The decision about a one-time token.
    pub fn one_time_token(&self, t: &'a OneTimeToken) -> Decision<'a> {
        let verdict =
            if self.thresholds.acl { rules::one_time_token(t) } else { Err(Hold::new(GcReason::AclDisabled)) };
        Decision::of(verdict, None, self.now)
    }

    /// The decision about a CSI plugin.
    pub fn csi_plugin(&self, p: &'a CsiPlugin) -> Decision<'a> {
        Decision::of(rules::csi_plugin(p, self.thresholds.csi_plugin), None, self.now)
    }

    /// The decision about the claims on a CSI volume.
    pub fn csi_claims(&self, v: &'a CsiVolume) -> Decision<'a> {
        let verdict = rules::csi_claims(self.store, v, self.thresholds.csi_claim, Looking::Everywhere);
        Decision::of(verdict, None, self.now)
    }

    /// The decision about a root key.
    pub fn key(&self, k: &'a WrappedRootKey) -> Decision<'a> {
        let verdict = rules::key(self.store, k, self.thresholds.key, Looking::Everywhere);
        match Decision::of(verdict, None, self.now) {
            Decision::Collect(_) if self.rotates() => Decision::Held(Hold::new(GcReason::RotationFirst)),
            decision => decision,
        }
    }

    /// Whether the run rotates keys, and therefore deletes none.
    fn rotates(&self) -> bool {
        let next = || keys::rotation(self.store, self.now, self.thresholds.rotation);
        !self.thresholds.forced && matches!(next(), Some(Step::Activate(_) | Step::Prepublish(_)))
    }

    /// Calls `each` for every object of the kinds that the source shows.
    pub fn all(&self, mut each: impl FnMut(Named<'a>, Decision<'a>)) {
        let jobs: HashMap<(&str, &str), Verdict<'a>> = self
            .store
            .state()
            .jobs()
            .map(|e| ((e.current.namespace.as_str(), e.current.id.as_str()), self.job_verdict(e)))
            .collect();
        let with_job = |namespace: &str, id: &str| {
            let verdict = jobs.get(&(namespace, id))?;
            rules::with_job(self.store.state().job(namespace, id)?, *verdict)
        };
        for entry in self.store.state().jobs() {
            let job = &*entry.current;
            let verdict = jobs.get(&(job.namespace.as_str(), job.id.as_str()));
            if let Some(verdict) = verdict {
                each(Named::job(job), Decision::of(*verdict, None, self.now));
            }
        }
        for e in self.store.evals_by_create() {
            let (age, mut allocs) = (self.thresholds.of_eval(&e.r#type), Each::default());
            let own = rules::eval(self.store, e, age, false, Looking::Everywhere, &mut allocs);
            let job = with_job(&e.namespace, &e.job_id);
            each(Named::eval(e), Decision::of(own, job, self.now));
            for (a, verdict) in allocs.0 {
                let job = if a.job_id == e.job_id { job } else { with_job(&a.namespace, &a.job_id) };
                each(Named::alloc(a), Decision::of(verdict, job, self.now));
            }
        }
        let orphan = |a: &&AllocEntry| self.store.eval(&a.alloc.eval_id).is_none();
        for entry in self.store.state().allocs().map(|a| &**a).filter(orphan) {
            let a = &*entry.alloc;
            let own = self.alloc_without_eval(a);
            each(Named::alloc(a), Decision::of(own, with_job(&a.namespace, &a.job_id), self.now));
        }
        for d in self.store.deployments_by_create() {
            let own = rules::deployment(self.store, d, self.thresholds.deployment, Looking::Everywhere);
            each(Named::deployment(d), Decision::of(own, with_job(&d.namespace, &d.job_id), self.now));
        }
        self.store.state().nodes().for_each(|n| each(Named::node(&n.node), self.node(n)));
        self.tokens(&mut each);
        self.store.one_time_tokens().for_each(|t| each(Named::one_time_token(t), self.one_time_token(t)));
        self.store.root_keys().for_each(|k| each(Named::key(k), self.key(k)));
        self.store.csi_plugins().for_each(|p| each(Named::csi_plugin(p), self.csi_plugin(p)));
        self.store.state().csi_volumes().for_each(|v| each(Named::csi_claims(v), self.csi_claims(v)));
    }

    /// The tokens: those that expire in the order of runs, which stop at their limit.
    fn tokens(&self, each: &mut impl FnMut(Named<'a>, Decision<'a>)) {
        let mut seen = HashSet::new();
        for global in [false, true] {
            let mut taken = 0;
            for t in self.store.acl_tokens_by_expiry(global) {
                let mut decision = self.token(t);
                taken += usize::from(decision.collects());
                if decision.collects() && taken > TOKENS {
                    decision = Decision::Held(Hold::new(GcReason::NextRun));
                }
                seen.insert(t.accessor_id.as_str());
                each(Named::token(t), decision);
            }
        }
        for t in self.store.acl_tokens().filter(|t| !seen.contains(t.accessor_id.as_str())) {
            each(Named::token(t), self.token(t));
        }
    }
}
