//! Who has which evaluation, counted beside the broker: nobody has one that somebody else has, and of one job there is
//! one at most.

use std::collections::BTreeMap;

use super::sim::{self, Bug, Sim};
use encamp_model::Evaluation;

/// Namespace and ID of a job.
type JobKey = (String, String);

/// What a broker has handed out. It goes with the broker's memory.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    out: BTreeMap<String, JobKey>,
}

impl Ledger {
    /// An evaluation is handed out. True if it is to be handed out again, which is a bug made on purpose.
    pub(crate) fn handed_out(&mut self, eval: &Evaluation, job: JobKey) -> bool {
        if !sim::running() {
            return false;
        }
        let sim = Sim::current();
        if let Some(other) = self.out.iter().find(|(_, key)| **key == job) {
            let (other, id, job) = (other.0, &eval.id, &eval.job_id);
            sim.broken(&format!("evaluation {id} of job {job} is handed out while {other} is out"));
        }
        self.out.insert(eval.id.clone(), job);
        sim::has(Bug::DoubleDequeue)
    }

    /// A delivery ended.
    pub(crate) fn ended(&mut self, id: &str) {
        self.out.remove(id);
    }
}
