//! The jobs to evaluate after allocation updates of nodes (`docs/spec/server.md §11`).

use std::collections::HashSet;
use std::sync::Arc;

use encamp_model::{Allocation, ClientStatus, DesiredStatus, EvalTrigger, Evaluation};
use encamp_scheduler::reschedule;
use encamp_state::State;

/// The evaluations that follow from the allocation updates of nodes: one per job (`docs/spec/server.md §11`).
pub fn report_evals(
    state: &State,
    updates: &[Arc<Allocation>],
    now: i64,
    new_id: &mut dyn FnMut() -> String,
) -> Vec<Evaluation> {
    let mut seen = HashSet::new();
    let mut out = Vec::new();
    for update in updates {
        let Some(stored) = state.alloc(&update.id).map(|e| &e.alloc) else { continue };
        let unknown = stored.client_status == ClientStatus::Unknown;
        if !update.client_terminal() && !unknown {
            continue;
        }
        let job = state.job(&stored.namespace, &stored.job_id);
        let (mut trigger, of) = match job {
            None => {
                if stored.desired_status != DesiredStatus::Stop {
                    continue;
                }
                let Some(own) = &stored.job else { continue };
                (Some(EvalTrigger::JobDeregister), own)
            }
            Some(job) => {
                let failed = update.client_status == ClientStatus::Failed && stored.followup_eval_id.is_empty();
                let replaced = failed
                    && job.lookup_group(&stored.task_group).is_some()
                    && reschedule::eligible_on_server(stored, now);
                (replaced.then_some(EvalTrigger::AllocFailure), job)
            }
        };
        if unknown && job.is_some() {
            trigger = Some(EvalTrigger::Reconnect);
        }
        let Some(trigger) = trigger else { continue };
        if seen.insert(stored.job_key()) {
            out.push(Evaluation::pending(of, trigger, now, new_id()));
        }
    }
    out
}
