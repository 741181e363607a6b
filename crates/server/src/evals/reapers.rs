//! The writes of the leader's reapers for evaluations that will not be processed (`docs/spec/server.md §5`).

use std::sync::Arc;

use crate::evals::broker::DELIVERY_LIMIT;
use crate::fsm::eval_times::modify_time;
use encamp_model::{EvalStatus, EvalTrigger, Evaluation, JobType, SECOND, Text};
use encamp_ops::Operation;

/// The minimum delay of the follow-up of a failed evaluation, in nanoseconds.
pub(crate) const FOLLOW_UP_DELAY: i64 = 60 * SECOND;
/// The random part of that delay, in nanoseconds.
pub(crate) const FOLLOW_UP_SPREAD: u64 = 300 * SECOND.unsigned_abs();
/// The maximum interval of the reaper of cancelable evaluations, in nanoseconds.
pub(crate) const REAP_INTERVAL: i64 = 5 * SECOND;

fn ended(eval: &Evaluation, status: EvalStatus, description: String, now: i64) -> Evaluation {
    Evaluation { status, status_description: description.into(), modify_time: modify_time(eval, now), ..eval.clone() }
}

/// The evaluations to write, in one entry, for an evaluation of the failed queue: itself as failed and, if its job
/// still exists, a follow-up that retries later. Empty for core evaluations, which are not stored. The caller acks the
/// evaluation after the write.
pub fn failed(
    eval: &Evaluation,
    job_exists: bool,
    now: i64,
    random: u64,
    new_id: impl FnOnce() -> String,
) -> Vec<Evaluation> {
    if eval.r#type == JobType::Core {
        return Vec::new();
    }
    let mut old = ended(eval, EvalStatus::Failed, format!("evaluation reached delivery limit ({DELIVERY_LIMIT})"), now);
    if !job_exists {
        return vec![old];
    }
    let next = Evaluation {
        id: new_id().into(),
        namespace: eval.namespace.clone(),
        priority: eval.priority,
        r#type: eval.r#type.clone(),
        triggered_by: EvalTrigger::FailedFollowUp,
        job_id: eval.job_id.clone(),
        job_modify_index: eval.job_modify_index,
        status: EvalStatus::Pending,
        wait: FOLLOW_UP_DELAY.saturating_add_unsigned(random % FOLLOW_UP_SPREAD),
        previous_eval: Text::unshared(&eval.id),
        create_time: now,
        modify_time: now,
        ..Evaluation::default()
    };
    old.next_eval = Text::unshared(&next.id);
    vec![old, next]
}

/// The operation that cancels evaluations that were superseded by newer ones of their jobs
/// ([`crate::evals::broker::Broker::take_cancelable`]).
pub fn cancelled(evals: &[Arc<Evaluation>], now: i64) -> Operation {
    let stored = evals.iter().filter(|e| e.r#type != JobType::Core);
    Operation::EvalCancel { evals: stored.map(|e| e.id.as_str()).collect(), now }
}

/// The records to write, in one entry, for duplicate blocked evaluations of a job
/// ([`crate::evals::blocked::BlockedEvals::take_duplicates`]).
pub fn duplicates(evals: &[Arc<Evaluation>], now: i64) -> Vec<Evaluation> {
    let text =
        |e: &Evaluation| format!("existing blocked evaluation exists for job {}", encamp_model::quoted(&e.job_id));
    evals.iter().map(|e| ended(e, EvalStatus::Canceled, text(e), now)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval() -> Evaluation {
        Evaluation {
            id: "old".into(),
            namespace: "ns".into(),
            job_id: "j".into(),
            job_modify_index: 7,
            priority: 60,
            r#type: JobType::Batch,
            triggered_by: EvalTrigger::JobRegister,
            status: EvalStatus::Pending,
            create_time: 100,
            modify_time: 100,
            ..Evaluation::default()
        }
    }

    #[test]
    fn failed_evaluations_are_followed_up_while_their_job_exists() {
        let written = failed(&eval(), true, 500, 0, || "new".into());
        let [old, new] = written.as_slice() else { panic!("{written:?}") };
        let want = Evaluation {
            status: EvalStatus::Failed,
            status_description: "evaluation reached delivery limit (3)".into(),
            next_eval: "new".into(),
            modify_time: 500,
            ..eval()
        };
        assert_eq!(*old, want);
        let want = Evaluation {
            id: "new".into(),
            triggered_by: EvalTrigger::FailedFollowUp,
            previous_eval: "old".into(),
            wait: 60 * SECOND,
            create_time: 500,
            modify_time: 500,
            ..eval()
        };
        assert_eq!(*new, want);
        let longest = failed(&eval(), true, 500, FOLLOW_UP_SPREAD - 1, || "new".into());
        assert_eq!(longest[1].wait, 360 * SECOND - 1);
        assert_eq!(failed(&eval(), true, 500, FOLLOW_UP_SPREAD, || "new".into())[1].wait, 60 * SECOND);

        let alone = failed(&eval(), false, 100, 0, || panic!("no ID is needed"));
        assert_eq!((alone.len(), alone[0].next_eval.as_str(), alone[0].modify_time), (1, "", 101));
        let core = Evaluation { r#type: JobType::Core, ..eval() };
        assert!(failed(&core, true, 500, 0, || panic!("no ID is needed")).is_empty());
    }

    #[test]
    fn cancelled_evaluations_are_named_and_duplicates_have_a_description() {
        let core = Evaluation { r#type: JobType::Core, ..eval() };
        let written = cancelled(&[Arc::new(eval()), Arc::new(core)], 50);
        let Operation::EvalCancel { evals, now: 50 } = written else { panic!("{written:?}") };
        assert_eq!(evals, ["old"].into_iter().collect(), "core evaluations are never stored");

        let written = duplicates(&[Arc::new(eval())], 200);
        assert_eq!(written[0].status, EvalStatus::Canceled);
        assert_eq!(written[0].status_description, r#"existing blocked evaluation exists for job "j""#);
        assert_eq!(written[0].modify_time, 200);
    }
}
