//! Whether a task restarts after it exited (`docs/spec/client.md §12`).

use encamp_model::random::Random;
use encamp_model::{
    JobType, LifecycleHook, RESTART_WITHIN_POLICY, RestartMode, RestartPolicy, TaskLifecycleConfig, format_duration,
};

/// How a task ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The process ended.
    Exited {
        /// With code 0, without a signal, without an error.
        success: bool,
    },
    /// It did not start.
    NotStarted {
        /// Whether another try may help.
        recoverable: bool,
    },
}

/// The decision after the end of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// The task was killed: it ends.
    Killed,
    /// The task did what it should: it ends.
    Finished,
    /// The task failed: it ends.
    Failed {
        /// Text of the event `Not Restarting`.
        reason: String,
    },
    /// The task starts again.
    Restart {
        /// Reason of the event `Restarting`, may be empty.
        reason: String,
        /// Nanoseconds to wait.
        delay: i64,
    },
}

/// Counts the restarts of one task.
#[derive(Debug, Clone)]
pub(crate) struct RestartTracker {
    policy: RestartPolicy,
    on_success: bool,
    interval_start: i64,
    count: i64,
    killed: bool,
    asked: Option<Asked>,
}

/// Why the next ending was brought about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asked {
    /// Somebody wanted a restart: it is no failure.
    ByUser,
    /// A check failed: it is a failure, however the task ends.
    ByCheck,
}

impl RestartTracker {
    /// A tracker for a task of a job of type `job_type`; `now` in Unix nanoseconds.
    pub(crate) fn new(
        policy: RestartPolicy,
        job_type: &JobType,
        lifecycle: Option<&TaskLifecycleConfig>,
        now: i64,
    ) -> Self {
        let on_success = match lifecycle {
            None => !matches!(job_type, JobType::Batch | JobType::Sysbatch),
            Some(l) => l.hook != LifecycleHook::Poststop && l.sidecar,
        };
        RestartTracker { policy, on_success, interval_start: now, count: 0, killed: false, asked: None }
    }

    /// The task is being killed: it will not start again.
    pub(crate) fn set_killed(&mut self) {
        self.killed = true;
    }

    /// Somebody asked for a restart: the next ending is no failure.
    pub(crate) fn ask(&mut self) {
        self.asked = Some(Asked::ByUser);
    }

    /// A check failed: the next ending is a failure, however the task ends.
    pub(crate) fn ask_failed(&mut self) {
        self.asked.get_or_insert(Asked::ByCheck);
    }

    /// Takes over the policy of an updated job; the counts stay.
    pub(crate) fn set_policy(&mut self, policy: RestartPolicy) {
        self.policy = policy;
    }

    /// Decides what follows an ending.
    pub(crate) fn decide(&mut self, ending: &Ending, now: i64, random: &mut Random) -> Decision {
        let failed = |reason: String| Decision::Failed { reason };
        if self.killed {
            return Decision::Killed;
        }
        let asked = self.asked.take();
        if asked == Some(Asked::ByUser) {
            return Decision::Restart { reason: String::new(), delay: 0 };
        }
        let success = *ending == Ending::Exited { success: true } && asked != Some(Asked::ByCheck);
        let done = success && !self.on_success;
        if self.policy.attempts == 0 {
            return if done { Decision::Finished } else { failed("Policy allows no restarts".into()) };
        }
        let end = self.interval_start.saturating_add(self.policy.interval);
        let end = if now > end {
            self.count = 0;
            self.interval_start = now;
            now.saturating_add(self.policy.interval)
        } else {
            end
        };
        self.count = self.count.saturating_add(1);
        if *ending == (Ending::NotStarted { recoverable: false }) {
            return failed("Error was unrecoverable".into());
        }
        if done {
            return Decision::Finished;
        }
        if self.count > self.policy.attempts {
            if self.policy.mode == RestartMode::Fail {
                let interval = format_duration(self.policy.interval);
                let attempts = self.policy.attempts;
                return failed(format!(
                    "Exceeded allowed attempts {attempts} in interval {interval} and mode is \"fail\""
                ));
            }
            let reason = "Exceeded allowed attempts, applying a delay".into();
            return Decision::Restart { reason, delay: end.saturating_sub(now).max(0) };
        }
        Decision::Restart { reason: RESTART_WITHIN_POLICY.into(), delay: self.jittered(random) }
    }

    /// The policy's delay and up to a quarter more.
    fn jittered(&self, random: &mut Random) -> i64 {
        let delay = self.policy.delay.max(0);
        let extra = random.below(u64::try_from(delay).unwrap_or(0));
        // A quarter of something below an i64 fits.
        delay.saturating_add(i64::try_from(extra / 4).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SECOND;

    fn policy(attempts: i64, mode: RestartMode) -> RestartPolicy {
        RestartPolicy { attempts, interval: 60 * SECOND, delay: SECOND, mode, render_templates: false }
    }

    fn tracker(attempts: i64, mode: RestartMode, job_type: JobType) -> RestartTracker {
        RestartTracker::new(policy(attempts, mode), &job_type, None, 0)
    }

    const FAILURE: Ending = Ending::Exited { success: false };
    const SUCCESS: Ending = Ending::Exited { success: true };

    #[test]
    fn failures_restart_until_the_attempts_are_used_up() {
        let (mut t, mut random) = (tracker(2, RestartMode::Fail, JobType::Service), Random::new(1, "t"));
        for n in 1..=2 {
            let Decision::Restart { reason, delay } = t.decide(&FAILURE, n * SECOND, &mut random) else { panic!() };
            assert_eq!(reason, RESTART_WITHIN_POLICY);
            assert!((SECOND..=SECOND + SECOND / 4).contains(&delay), "{delay}");
        }
        let reason = "Exceeded allowed attempts 2 in interval 1m0s and mode is \"fail\"".to_string();
        assert_eq!(t.decide(&FAILURE, 3 * SECOND, &mut random), Decision::Failed { reason });
        // A new interval counts from one.
        assert!(matches!(t.decide(&FAILURE, 70 * SECOND, &mut random), Decision::Restart { .. }));
    }

    #[test]
    fn mode_delay_waits_for_the_end_of_the_interval() {
        let (mut t, mut random) = (tracker(1, RestartMode::Delay, JobType::Service), Random::new(1, "t"));
        t.decide(&FAILURE, SECOND, &mut random);
        let want =
            Decision::Restart { reason: "Exceeded allowed attempts, applying a delay".into(), delay: 55 * SECOND };
        assert_eq!(t.decide(&FAILURE, 5 * SECOND, &mut random), want);
    }

    #[test]
    fn success_restarts_services_only() {
        let mut random = Random::new(1, "t");
        assert_eq!(tracker(3, RestartMode::Fail, JobType::Batch).decide(&SUCCESS, 1, &mut random), Decision::Finished);
        assert_eq!(
            tracker(0, RestartMode::Fail, JobType::Sysbatch).decide(&SUCCESS, 1, &mut random),
            Decision::Finished
        );
        assert!(matches!(
            tracker(3, RestartMode::Fail, JobType::System).decide(&SUCCESS, 1, &mut random),
            Decision::Restart { .. }
        ));
        let no = Decision::Failed { reason: "Policy allows no restarts".into() };
        assert_eq!(tracker(0, RestartMode::Fail, JobType::Service).decide(&SUCCESS, 1, &mut random), no);
        for (hook, sidecar, ends) in [
            (LifecycleHook::Prestart, false, true),
            (LifecycleHook::Poststart, true, false),
            (LifecycleHook::Poststop, false, true),
        ] {
            let l = TaskLifecycleConfig { hook, sidecar };
            let mut t = RestartTracker::new(policy(3, RestartMode::Fail), &JobType::Service, Some(&l), 0);
            assert_eq!(t.decide(&SUCCESS, 1, &mut random) == Decision::Finished, ends, "{l:?}");
        }
    }

    #[test]
    fn kills_and_requests_come_first() {
        let (mut t, mut random) = (tracker(0, RestartMode::Fail, JobType::Batch), Random::new(1, "t"));
        t.ask();
        assert_eq!(t.decide(&FAILURE, 1, &mut random), Decision::Restart { reason: String::new(), delay: 0 });
        assert!(matches!(t.decide(&FAILURE, 1, &mut random), Decision::Failed { .. }), "asked once");
        t.set_killed();
        assert_eq!(t.decide(&SUCCESS, 1, &mut random), Decision::Killed);
    }

    #[test]
    fn a_failed_check_makes_any_ending_a_failure() {
        let (mut t, mut random) = (tracker(1, RestartMode::Fail, JobType::Batch), Random::new(1, "t"));
        t.ask_failed();
        let again = t.decide(&SUCCESS, SECOND, &mut random);
        assert!(matches!(again, Decision::Restart { reason, .. } if reason == RESTART_WITHIN_POLICY));
        t.ask_failed();
        assert!(matches!(t.decide(&SUCCESS, 2 * SECOND, &mut random), Decision::Failed { .. }));
        assert_eq!(t.decide(&SUCCESS, 3 * SECOND, &mut random), Decision::Finished, "asked once");
    }

    #[test]
    fn errors_of_the_start() {
        let mut random = Random::new(1, "t");
        let start = |recoverable| Ending::NotStarted { recoverable };
        let want = Decision::Failed { reason: "Error was unrecoverable".into() };
        assert_eq!(tracker(3, RestartMode::Fail, JobType::Batch).decide(&start(false), 1, &mut random), want);
        assert!(matches!(
            tracker(3, RestartMode::Fail, JobType::Batch).decide(&start(true), 1, &mut random),
            Decision::Restart { .. }
        ));
    }
}
