//! Whether a failing check restarts its task (`docs/spec/client.md §16.4`).

use serde::{Deserialize, Serialize};

/// When a check that fails restarts its task. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRestartRule {
    /// Failures in a row that are needed, at least 1.
    pub limit: i64,
    /// How long failures after the start of the task do not count.
    pub grace: i64,
    /// From one run of the check to the next.
    pub interval: i64,
}

/// The result of the last run of a check.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckOutcome {
    /// It has not run yet.
    #[default]
    Pending,
    /// It passed.
    Success,
    /// It failed.
    Failure,
}

/// Watches one check of one task.
#[derive(Debug, Clone, Default)]
pub(crate) struct CheckRestartTracker {
    started: Option<i64>,
    first_failure: Option<i64>,
}

impl CheckRestartTracker {
    /// Evaluates the check at `now` (Unix nanoseconds). `started`: when the task started, none while it does not run.
    /// True: the task is to be restarted.
    pub(crate) fn step(
        &mut self,
        now: i64,
        started: Option<i64>,
        outcome: CheckOutcome,
        rule: &CheckRestartRule,
    ) -> bool {
        if started != self.started {
            *self = CheckRestartTracker { started, first_failure: None };
        }
        let Some(started) = started else { return false };
        match outcome {
            CheckOutcome::Success => self.first_failure = None,
            CheckOutcome::Failure if now >= started.saturating_add(rule.grace) => {
                let first = *self.first_failure.get_or_insert(now);
                let wait = rule.interval.saturating_mul(rule.limit.saturating_sub(1));
                if now >= first.saturating_add(wait) {
                    self.first_failure = None;
                    return true;
                }
            }
            CheckOutcome::Failure | CheckOutcome::Pending => {}
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::CheckOutcome::*;
    use super::*;

    #[test]
    fn failures_in_a_row_after_the_grace_restart_the_task() {
        let rule = CheckRestartRule { limit: 3, grace: 10, interval: 5 };
        let mut t = CheckRestartTracker::default();
        let mut see = |now, outcome| t.step(now, Some(100), outcome, &rule);
        assert!(!see(105, Failure), "within the grace");
        assert!(!see(110, Failure) && !see(119, Failure) && !see(119, Success), "a success resets the count");
        assert!(!see(120, Failure) && !see(125, Pending) && see(130, Failure));
        assert!(!see(131, Failure), "the count restarts");
        assert!(!t.step(150, Some(149), Failure, &rule), "a new start has a new grace");
        assert!(!t.step(200, None, Failure, &rule) && !t.step(201, Some(149), Failure, &rule));
        let once = CheckRestartRule { limit: 1, grace: 0, interval: 5 };
        assert!(CheckRestartTracker::default().step(1, Some(0), Failure, &once));
        assert!(!CheckRestartTracker::default().step(1, Some(0), Pending, &once));
    }
}
