//! Counts outstanding evaluations independently of the broker: an evaluation is never outstanding twice, and a job has
//! at most one outstanding evaluation.

use std::collections::BTreeMap;

use super::sim::{self, Bug, Sim};
use encamp_model::{Evaluation, JobKey};

/// The outstanding evaluations of a broker. Lost together with the broker's memory.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    out: BTreeMap<String, JobKey>,
}

impl Ledger {
    /// Records a delivery. Returns true if the evaluation has to be delivered a second time, which is a deliberate bug.
    pub(crate) fn delivered(&mut self, eval: &Evaluation, job: JobKey) -> bool {
        if !sim::running() {
            return false;
        }
        let sim = Sim::current();
        if let Some(other) = self.out.iter().find(|(_, key)| **key == job) {
            let (other, id, job) = (other.0, &eval.id, &eval.job_id);
            sim.broken(&format!("evaluation {id} of job {job} is delivered while {other} is outstanding"));
        }
        self.out.insert(eval.id.to_string(), job);
        sim::has(Bug::DoubleDequeue)
    }

    /// Records the end of a delivery.
    pub(crate) fn ended(&mut self, id: &str) {
        self.out.remove(id);
    }
}
