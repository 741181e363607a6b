//! Policies of groups: disconnect, restart, reschedule, update, migrate, scaling (`docs/spec/jobspec.md §14.6-14.8`).

use super::errors::Errors;
use encamp_model::quoted;
use encamp_model::{
    DisconnectStrategy, JobType, MigrateStrategy, ReschedulePolicy, RestartMode, RestartPolicy, SECOND, ScalingPolicy,
    ScalingPolicyType, UpdateStrategy, format_duration,
};

const MIN_RESTART_INTERVAL: i64 = 5 * SECOND;
const MIN_RESCHEDULE_DELAY: i64 = 5 * SECOND;
const MIN_RESCHEDULE_INTERVAL: i64 = 15 * SECOND;

pub(super) fn disconnect(d: &DisconnectStrategy, job_type: &JobType) -> Vec<String> {
    let mut errors = Errors::default();
    if let Some(stop) = d.stop_on_client_after {
        errors.add_if(stop < 0, "stop_after cannot be a negative duration");
        errors.add_if(
            !matches!(job_type, JobType::Service | JobType::Batch),
            "stop_after can only be used with service or batch job types",
        );
    }
    errors.add_if(d.lost_after < 0, "lost_after cannot be a negative duration");
    errors.add_if(
        d.stop_on_client_after.is_some() && d.lost_after != 0,
        "Disconnect cannot be configured with both lost_after and stop_after",
    );
    let known = ["", "best_score", "longest_running", "keep_original", "keep_replacement"];
    errors.add_if(!known.contains(&d.reconcile.as_str()), format_args!("reconcile option is invalid: {}", d.reconcile));
    errors.into_items()
}

pub(super) fn restart(p: &RestartPolicy) -> Vec<String> {
    let mut errors = Errors::default();
    let mode = quoted(p.mode.as_str());
    errors.add_if(!p.mode.is_known(), format_args!("Unsupported restart mode: {mode}"));
    errors.add_if(
        p.attempts == 0 && p.mode != RestartMode::Fail,
        format_args!("Restart policy {mode} with 0 attempts is ambiguous"),
    );
    let interval = format_duration(p.interval);
    errors.add_if(
        p.interval < MIN_RESTART_INTERVAL,
        format_args!("Interval can not be less than {} (got {interval})", format_duration(MIN_RESTART_INTERVAL)),
    );
    errors.add_if(
        i128::from(p.attempts) * i128::from(p.delay) > i128::from(p.interval),
        format_args!(
            "Nomad can't restart the TaskGroup {} times in an interval of {interval} with a delay of {}",
            p.attempts,
            format_duration(p.delay)
        ),
    );
    errors.into_items()
}

/// A policy that never reschedules is not checked.
pub(super) fn reschedule(p: &ReschedulePolicy) -> Vec<String> {
    let mut errors = Errors::default();
    if p.attempts <= 0 && !p.unlimited {
        return errors.into_items();
    }
    let [interval, delay, max_delay] = [p.interval, p.delay, p.max_delay].map(format_duration);
    if p.attempts > 0 {
        errors.add_if(p.interval <= 0, "Interval must be a non zero value if Attempts > 0");
        if p.unlimited {
            errors.add(format!(
                "Reschedule Policy with Attempts = {}, Interval = {interval}, and Unlimited = true is ambiguous",
                p.attempts
            ));
            errors.add("If Attempts >0, Unlimited cannot also be set to true");
        }
    }
    let delays = reschedule_delays(p);
    let feasible = delays.is_empty();
    errors.flatten(delays);
    if !p.unlimited {
        errors.add_if(
            p.interval < MIN_RESCHEDULE_INTERVAL,
            format_args!("Interval cannot be less than {} (got {interval})", format_duration(MIN_RESCHEDULE_INTERVAL)),
        );
        if feasible && let Some((possible, need)) = infeasible(p) {
            let function = quoted(&p.delay_function);
            let ceiling = match p.delay_function.as_str() {
                "constant" => format!(" and delay function {function}"),
                _ => format!(", delay function {function}, and delay ceiling {max_delay}"),
            };
            errors.add(format!(
                "Nomad can only make {possible} attempts in {interval} with initial delay {delay}{ceiling}"
            ));
            errors.add(format!(
                "Set the interval to at least {} to accommodate {} attempts",
                format_duration(round_to_seconds(need)),
                p.attempts
            ));
        }
    }
    errors.into_items()
}

/// The errors of a policy about its delays.
fn reschedule_delays(p: &ReschedulePolicy) -> Vec<String> {
    let mut delays = Errors::default();
    let [delay, max_delay] = [p.delay, p.max_delay].map(format_duration);
    let least = format_duration(MIN_RESCHEDULE_DELAY);
    delays.add_if(p.delay < MIN_RESCHEDULE_DELAY, format_args!("Delay cannot be less than {least} (got {delay})"));
    delays.add_if(
        !matches!(p.delay_function.as_str(), "constant" | "exponential" | "fibonacci"),
        format_args!(
            "Invalid delay function {}, must be one of [\"constant\" \"exponential\" \"fibonacci\"]",
            quoted(&p.delay_function)
        ),
    );
    if p.delay_function != "constant" {
        // The text names the delay, not the ceiling it is about.
        delays.add_if(
            p.max_delay < MIN_RESCHEDULE_DELAY,
            format_args!("Max Delay cannot be less than {least} (got {delay})"),
        );
        delays.add_if(
            p.max_delay < p.delay,
            format_args!("Max Delay cannot be less than Delay {delay} (got {max_delay})"),
        );
    }
    delays.into_items()
}

/// Half a second and more rounds up; what does not fit a duration is cut to the longest.
fn round_to_seconds(nanos: i128) -> i64 {
    let second = i128::from(SECOND);
    let rounded = (nanos + second / 2) / second * second;
    i64::try_from(rounded).unwrap_or(i64::MAX / SECOND * SECOND)
}

/// How many attempts fit into the interval and how long it should be, when the attempts asked for do not fit.
///
/// Delays grow until they reach the ceiling M after a few steps (at least 5 s, doubled each time or nearly so), so only
/// those steps are walked; the rest, each M longer than the one before, is counted.
fn infeasible(p: &ReschedulePolicy) -> Option<(i128, i128)> {
    let [attempts, interval, delay, ceiling] = [p.attempts, p.interval, p.delay, p.max_delay].map(i128::from);
    match p.delay_function.as_str() {
        "constant" => {
            let need = attempts * delay;
            (interval < need).then(|| (interval / delay, need))
        }
        "exponential" => {
            let (mut possible, mut need, mut step, mut i) = (0, 0, delay, 0);
            while i < attempts && step <= ceiling {
                need = step;
                possible += i128::from(need < interval);
                step *= 2;
                i += 1;
            }
            let capped = attempts - i;
            // need + k * ceiling < interval, for k = 1..=capped
            possible += ((interval - need - 1) / ceiling).clamp(0, capped);
            need += capped * ceiling;
            (possible < attempts).then_some((possible, need))
        }
        _ => {
            let (mut before, mut slot, mut i) = (0, delay, 0);
            let mut first_over = None;
            // Slots are D, D, 2D, 3D, 5D, … as long as they do not exceed the ceiling.
            loop {
                if slot > interval && first_over.is_none() {
                    first_over = Some(i);
                }
                let next = if i == 0 { delay } else { before + slot };
                if i + 1 >= attempts || next > ceiling {
                    break;
                }
                (before, slot, i) = (slot, next, i + 1);
            }
            let capped = attempts - 1 - i;
            let need = if capped > 0 { capped * ceiling } else { slot };
            // Slot i + k is k * ceiling.
            let possible = first_over.unwrap_or(i + interval / ceiling + 1);
            (interval < need).then_some((possible, need))
        }
    }
}

pub(super) fn update(u: &UpdateStrategy) -> Vec<String> {
    let mut errors = Errors::default();
    let [min, deadline, progress] = [u.min_healthy_time, u.healthy_deadline, u.progress_deadline].map(format_duration);
    errors.add_if(
        !matches!(u.health_check.as_str(), "checks" | "task_states" | "manual"),
        format_args!("Invalid health check given: {}", quoted(&u.health_check)),
    );
    errors.add_if(u.max_parallel < 0, format_args!("Max parallel can not be less than zero: {} < 0", u.max_parallel));
    errors.add_if(u.canary < 0, format_args!("Canary count can not be less than zero: {} < 0", u.canary));
    errors.add_if(u.canary == 0 && u.auto_promote, "Auto Promote requires a Canary count greater than zero");
    errors.add_if(u.min_healthy_time < 0, format_args!("Minimum healthy time may not be less than zero: {min}"));
    errors.add_if(u.healthy_deadline <= 0, format_args!("Healthy deadline must be greater than zero: {deadline}"));
    errors.add_if(u.progress_deadline < 0, format_args!("Progress deadline must be zero or greater: {progress}"));
    errors.add_if(
        u.min_healthy_time >= u.healthy_deadline,
        format_args!("Minimum healthy time must be less than healthy deadline: {min} > {deadline}"),
    );
    errors.add_if(
        u.progress_deadline != 0 && u.healthy_deadline >= u.progress_deadline,
        format_args!("Healthy deadline must be less than progress deadline: {deadline} > {progress}"),
    );
    errors.add_if(u.stagger <= 0, format_args!("Stagger must be greater than zero: {}", format_duration(u.stagger)));
    errors.into_items()
}

pub(super) fn migrate(m: &MigrateStrategy) -> Vec<String> {
    let mut errors = Errors::default();
    errors.add_if(m.max_parallel < 0, format_args!("MaxParallel must be >= 0 but found {}", m.max_parallel));
    match m.health_check.as_str() {
        "checks" | "task_states" => {}
        "" => errors.add_if(m.max_parallel > 0, "Missing HealthCheck"),
        other => errors.add(format!("Invalid HealthCheck: {}", quoted(other))),
    }
    for (name, value) in [("MinHealthyTime", m.min_healthy_time), ("HealthyDeadline", m.healthy_deadline)] {
        errors.add_if(value < 0, format_args!("{name} is {} and must be >= 0", format_duration(value)));
    }
    errors.add_if(m.min_healthy_time > m.healthy_deadline, "MinHealthyTime must be less than HealthyDeadline");
    errors.into_items()
}

/// The scaling policy of a group with that count.
pub(super) fn scaling(p: &ScalingPolicy, count: i64) -> Vec<String> {
    let mut errors = Errors::default();
    let mut invalid = |condition: bool, text: &str| {
        errors.add_if(condition, format_args!("Scaling policy invalid: {text}"));
    };
    invalid(
        !matches!(p.r#type, ScalingPolicyType::Unset | ScalingPolicyType::Horizontal),
        "scaling policy type must be \"horizontal\"",
    );
    invalid(p.max < 0, "maximum count must be specified and non-negative");
    invalid(p.max >= 0 && p.max < p.min, "maximum count must not be less than minimum count");
    invalid(p.min < 0, "minimum count must be specified and non-negative");
    invalid(count > p.max, "task group count must not be greater than maximum count in scaling policy");
    invalid(count < p.min, "task group count must not be less than minimum count in scaling policy");
    errors.into_items()
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{HOUR, MINUTE};

    const NONE: [&str; 0] = [];

    #[test]
    fn disconnect_texts() {
        let both = "Disconnect cannot be configured with both lost_after and stop_after";
        let d = |lost_after, stop_on_client_after, reconcile: &str| DisconnectStrategy {
            lost_after,
            stop_on_client_after,
            reconcile: reconcile.into(),
            replace: None,
        };
        assert_eq!(
            disconnect(&d(-1, Some(-1), "coin"), &JobType::System),
            [
                "stop_after cannot be a negative duration",
                "stop_after can only be used with service or batch job types",
                "lost_after cannot be a negative duration",
                both,
                "reconcile option is invalid: coin",
            ]
        );
        assert_eq!(disconnect(&d(MINUTE, Some(MINUTE), "best_score"), &JobType::Batch), [both]);
        assert_eq!(disconnect(&d(MINUTE, None, "keep_original"), &JobType::System), NONE);
        assert_eq!(disconnect(&d(0, Some(0), "longest_running"), &JobType::Service), NONE);
    }

    #[test]
    fn restart_texts() {
        let p = |attempts, interval, delay, mode: &str| RestartPolicy {
            attempts,
            interval,
            delay,
            mode: mode.into(),
            render_templates: false,
        };
        assert_eq!(restart(&p(2, 30 * MINUTE, 15 * SECOND, "fail")), NONE);
        assert_eq!(restart(&p(0, 30 * MINUTE, 15 * SECOND, "fail")), NONE);
        assert_eq!(
            restart(&p(0, 30 * MINUTE, 15 * SECOND, "delay")),
            ["Restart policy \"delay\" with 0 attempts is ambiguous"]
        );
        assert_eq!(restart(&p(1, MINUTE, 0, "loop")), ["Unsupported restart mode: \"loop\""]);
        assert_eq!(restart(&p(1, 4 * SECOND, 0, "fail")), ["Interval can not be less than 5s (got 4s)"]);
        assert_eq!(
            restart(&p(5, MINUTE, 15 * SECOND, "fail")),
            ["Nomad can't restart the TaskGroup 5 times in an interval of 1m0s with a delay of 15s"]
        );
        assert_eq!(restart(&p(4, MINUTE, 15 * SECOND, "fail")), NONE);
    }

    fn policy(attempts: i64, interval: i64, delay: i64, function: &str, max_delay: i64) -> ReschedulePolicy {
        ReschedulePolicy { attempts, interval, delay, delay_function: function.into(), max_delay, unlimited: false }
    }

    #[test]
    fn reschedule_texts() {
        let unlimited = |p: ReschedulePolicy| ReschedulePolicy { unlimited: true, ..p };
        for (p, want) in [
            (policy(0, 0, 0, "", 0), vec![]),
            (policy(0, -1, -1, "?", -1), vec![]),
            (unlimited(policy(0, 0, 30 * SECOND, "exponential", HOUR)), vec![]),
            (policy(1, 24 * HOUR, 5 * SECOND, "constant", 0), vec![]),
            (
                unlimited(policy(2, 0, 30 * SECOND, "exponential", HOUR)),
                vec![
                    "Interval must be a non zero value if Attempts > 0",
                    "Reschedule Policy with Attempts = 2, Interval = 0s, and Unlimited = true is ambiguous",
                    "If Attempts >0, Unlimited cannot also be set to true",
                ],
            ),
            (
                unlimited(policy(0, 0, SECOND, "linear", 2 * SECOND)),
                vec![
                    "Delay cannot be less than 5s (got 1s)",
                    "Invalid delay function \"linear\", must be one of [\"constant\" \"exponential\" \"fibonacci\"]",
                    "Max Delay cannot be less than 5s (got 1s)",
                ],
            ),
            (
                unlimited(policy(0, 0, 30 * SECOND, "fibonacci", 10 * SECOND)),
                vec!["Max Delay cannot be less than Delay 30s (got 10s)"],
            ),
            (policy(1, 10 * SECOND, 5 * SECOND, "constant", 0), vec!["Interval cannot be less than 15s (got 10s)"]),
        ] {
            assert_eq!(reschedule(&p), want, "{p:?}");
        }
    }

    #[test]
    fn reschedule_attempts_must_fit() {
        let texts = |p: &ReschedulePolicy, n: i64, need: &str| {
            let [interval, delay, ceiling] = [p.interval, p.delay, p.max_delay].map(format_duration);
            let function = match p.delay_function.as_str() {
                "constant" => " and delay function \"constant\"".to_string(),
                f => format!(", delay function \"{f}\", and delay ceiling {ceiling}"),
            };
            vec![
                format!("Nomad can only make {n} attempts in {interval} with initial delay {delay}{function}"),
                format!("Set the interval to at least {need} to accommodate {} attempts", p.attempts),
            ]
        };
        let min = MINUTE;
        for (p, want) in [
            (policy(3, 20 * min, 6 * min, "constant", 0), None),
            (policy(5, 20 * min, 6 * min, "constant", 0), Some((3, "30m0s"))),
            // 1m, 2m, 4m, 8m: the last one must be below the interval
            (policy(4, 9 * min, min, "exponential", HOUR), None),
            (policy(4, 8 * min, min, "exponential", HOUR), Some((3, "8m0s"))),
            // 1m, 2m, then 2m + 3m, 5m + 3m
            (policy(4, 9 * min, min, "exponential", 3 * min), None),
            (policy(4, 6 * min, min, "exponential", 3 * min), Some((3, "8m0s"))),
            // 1m, 1m, 2m, 3m, 5m
            (policy(5, 5 * min, min, "fibonacci", HOUR), None),
            (policy(5, 4 * min, min, "fibonacci", HOUR), Some((4, "5m0s"))),
            // 1m, 1m, 2m, then 2m (the ceiling), 4m, 6m
            (policy(6, 6 * min, min, "fibonacci", 2 * min), None),
            (policy(6, 5 * min, min, "fibonacci", 2 * min), Some((5, "6m0s"))),
            (policy(1, min, 2 * min, "fibonacci", 2 * min), Some((0, "2m0s"))),
        ] {
            let want = want.map(|(n, need)| texts(&p, n, need)).unwrap_or_default();
            assert_eq!(reschedule(&p), want, "{p:?}");
        }
        // Absurd numbers neither overflow nor take long.
        for function in ["constant", "exponential", "fibonacci"] {
            assert_eq!(reschedule(&policy(i64::MAX, i64::MAX, i64::MAX, function, i64::MAX)).len(), 2);
        }
    }

    #[test]
    fn update_texts() {
        let ok = UpdateStrategy {
            stagger: 30 * SECOND,
            max_parallel: 1,
            health_check: "checks".into(),
            min_healthy_time: 10 * SECOND,
            healthy_deadline: 5 * MINUTE,
            progress_deadline: 10 * MINUTE,
            ..UpdateStrategy::default()
        };
        assert_eq!(update(&ok), NONE);
        assert_eq!(update(&UpdateStrategy { progress_deadline: 0, ..ok.clone() }), NONE);
        let bad = UpdateStrategy {
            stagger: 0,
            max_parallel: -1,
            health_check: "vibes".into(),
            min_healthy_time: -SECOND,
            healthy_deadline: -2 * SECOND,
            progress_deadline: -3 * SECOND,
            canary: -1,
            ..ok.clone()
        };
        assert_eq!(
            update(&bad),
            [
                "Invalid health check given: \"vibes\"",
                "Max parallel can not be less than zero: -1 < 0",
                "Canary count can not be less than zero: -1 < 0",
                "Minimum healthy time may not be less than zero: -1s",
                "Healthy deadline must be greater than zero: -2s",
                "Progress deadline must be zero or greater: -3s",
                "Minimum healthy time must be less than healthy deadline: -1s > -2s",
                "Healthy deadline must be less than progress deadline: -2s > -3s",
                "Stagger must be greater than zero: 0s",
            ]
        );
        assert_eq!(
            update(&UpdateStrategy { auto_promote: true, ..ok }),
            ["Auto Promote requires a Canary count greater than zero"]
        );
    }

    #[test]
    fn migrate_texts() {
        let m = |max_parallel, health_check: &str, min_healthy_time, healthy_deadline| MigrateStrategy {
            max_parallel,
            health_check: health_check.into(),
            min_healthy_time,
            healthy_deadline,
        };
        assert_eq!(
            migrate(&m(-1, "vibes", -SECOND, -2 * SECOND)),
            [
                "MaxParallel must be >= 0 but found -1",
                "Invalid HealthCheck: \"vibes\"",
                "MinHealthyTime is -1s and must be >= 0",
                "HealthyDeadline is -2s and must be >= 0",
                "MinHealthyTime must be less than HealthyDeadline",
            ]
        );
        assert_eq!(migrate(&m(1, "", 0, 0)), ["Missing HealthCheck"]);
        assert_eq!(migrate(&m(0, "", 0, 0)), NONE);
        assert_eq!(migrate(&m(1, "task_states", 0, 0)), NONE);
    }

    #[test]
    fn scaling_texts() {
        let p =
            |min, max| ScalingPolicy { min, max, r#type: ScalingPolicyType::Horizontal, ..ScalingPolicy::default() };
        assert_eq!(scaling(&p(1, 3), 2), NONE);
        assert_eq!(
            scaling(&p(6, 4), 5),
            [
                "Scaling policy invalid: maximum count must not be less than minimum count",
                "Scaling policy invalid: task group count must not be greater than maximum count in scaling policy",
                "Scaling policy invalid: task group count must not be less than minimum count in scaling policy",
            ]
        );
        assert_eq!(
            scaling(&p(-1, -2), 0),
            [
                "Scaling policy invalid: maximum count must be specified and non-negative",
                "Scaling policy invalid: minimum count must be specified and non-negative",
                "Scaling policy invalid: task group count must not be greater than maximum count in scaling policy",
            ]
        );
        assert_eq!(scaling(&ScalingPolicy { r#type: "sideways".into(), ..p(1, 3) }, 2).len(), 1);
    }
}
