//! The times of evaluations.

use encamp_model::Evaluation;

/// The ModifyTime of an evaluation that is changed now: always after its creation (`docs/spec/server.md §3.1`).
pub(crate) fn modify_time(eval: &Evaluation, now: i64) -> i64 {
    if now <= eval.create_time { eval.create_time.saturating_add(1) } else { now }
}
