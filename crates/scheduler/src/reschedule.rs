//! When a failed or disconnected allocation is replaced (`docs/spec/reconciliation.md §6`).

use super::disconnect;
use encamp_model::*;

/// Two moments this close to each other are one.
const NOW_WINDOW: i64 = SECOND;
/// Allocations due within this time of the first share a follow-up evaluation.
const BATCH_WINDOW: i64 = 5 * SECOND;
/// How many earlier events a tracker keeps when attempts are not limited.
const KEPT_EVENTS: usize = 5;

/// The decision about an allocation that may be rescheduled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Verdict {
    /// Replace it in this plan.
    Now,
    /// Replace it at that time, Unix nanoseconds.
    Later(i64),
    /// Leave it.
    Neither,
}

/// The reschedule policy of the job version the allocation was placed with.
pub fn policy(alloc: &Allocation) -> Option<&ReschedulePolicy> {
    alloc.group()?.reschedule_policy.as_ref()
}

fn events(alloc: &Allocation) -> &[RescheduleEvent] {
    alloc.reschedule_tracker.as_ref().and_then(|t| t.events.as_deref()).unwrap_or(&[])
}

/// The delay before the next replacement in nanoseconds (`docs/spec/reconciliation.md §6.2`); 0 without a policy.
pub(crate) fn next_delay(alloc: &Allocation) -> i64 {
    let Some(p) = policy(alloc) else { return 0 };
    let events = events(alloc);
    let Some(last) = events.last() else { return p.delay };
    let delay = match p.delay_function.as_str() {
        "exponential" => last.delay.saturating_mul(2),
        "fibonacci" => match events.iter().nth_back(1) {
            None => p.delay,
            Some(before) if before.delay == p.max_delay && last.delay == p.delay => last.delay,
            Some(before) => last.delay.saturating_add(before.delay),
        },
        _ => return p.delay,
    };
    if p.max_delay <= 0 || delay <= p.max_delay {
        return delay;
    }
    // An allocation that ran longer than the longest delay starts the series over.
    let ran = alloc.last_event_time().map_or(0, |t| t.saturating_sub(last.reschedule_time));
    if ran > p.max_delay { p.delay } else { p.max_delay }
}

/// When a replacement of an allocation that failed at `failed_at` is due, and whether the policy allows it
/// (`docs/spec/reconciliation.md §6.3` step 3).
fn due(alloc: &Allocation, p: &ReschedulePolicy, failed_at: i64) -> (i64, bool) {
    let delay = next_delay(alloc);
    let tracker = alloc.reschedule_tracker.as_ref();
    let mut eligible = p.unlimited || (p.attempts > 0 && tracker.is_none());
    // A tracker whose events are null makes limited attempts ineligible; an empty list does not
    // (`docs/spec/reconciliation.md §6.3` Q7).
    if p.attempts > 0
        && let Some(events) = tracker.and_then(|t| t.events.as_deref())
    {
        let recent = events.iter().filter(|e| failed_at.saturating_sub(e.reschedule_time) < p.interval).count();
        eligible = i64::try_from(recent).is_ok_and(|n| n < p.attempts) && delay < p.interval;
    }
    (failed_at.saturating_add(delay), eligible)
}

/// The ordinary test: the allocation failed by itself.
fn due_after_failure(alloc: &Allocation) -> Option<(i64, bool)> {
    let p = policy(alloc).filter(|p| p.attempts != 0 || p.unlimited)?;
    let failed_at = alloc.last_event_time()?;
    let stopped = alloc.desired_status == DesiredStatus::Stop && !alloc.last_reschedule_failed();
    let failed = matches!(alloc.client_status, ClientStatus::Failed | ClientStatus::Lost);
    let asked = alloc.of_batch_job() && alloc.desired_transition.should_reschedule();
    if stopped || !(failed || asked) {
        return None;
    }
    Some(due(alloc, p, failed_at))
}

/// Whether servers make an evaluation when the allocation fails (`docs/spec/reconciliation.md §6.4`, the server's
/// test).
pub fn eligible_on_server(alloc: &Allocation, now: i64) -> bool {
    let Some(p) = policy(alloc).filter(|p| p.attempts != 0 || p.unlimited) else { return false };
    let events = alloc.reschedule_tracker.as_ref().and_then(|t| t.events.as_deref()).unwrap_or_default();
    if p.unlimited || (events.is_empty() && p.attempts > 0) {
        return true;
    }
    let recent = events.iter().filter(|e| now.saturating_sub(e.reschedule_time) < p.interval).count();
    i64::try_from(recent).is_ok_and(|n| n < p.attempts)
}

/// Whether an allocation is replaced now, later or not at all (`docs/spec/reconciliation.md §6.4`).
pub fn verdict(
    alloc: &Allocation,
    now: i64,
    eval_id: &str,
    current: Option<&Deployment>,
    disconnecting: bool,
) -> Verdict {
    let transition = &alloc.desired_transition;
    // The deployment's own verdict comes first: its watcher marks what may be replaced.
    if current.is_some_and(|d| d.active() && d.id == alloc.deployment_id) && !transition.should_reschedule() {
        return Verdict::Neither;
    }
    let forced = if transition.should_force_reschedule() { Verdict::Now } else { Verdict::Neither };
    if disconnecting && !disconnect::replace(alloc) {
        return forced;
    }
    let own_follow_up = !alloc.followup_eval_id.is_empty() && alloc.followup_eval_id == eval_id;
    let due = if disconnecting {
        policy(alloc).map(|p| due(alloc, p, now))
    } else if alloc.client_status == ClientStatus::Unknown && own_follow_up {
        policy(alloc).map(|p| due(alloc, p, disconnect::last_unknown(alloc).unwrap_or(0)))
    } else {
        due_after_failure(alloc)
    };
    match due {
        Some((at, true)) if own_follow_up || at.saturating_sub(now) <= NOW_WINDOW => Verdict::Now,
        Some((at, true)) if alloc.followup_eval_id.is_empty() && forced == Verdict::Neither => Verdict::Later(at),
        _ => forced,
    }
}

/// The tracker of the allocation that replaces `previous` (`docs/spec/reconciliation.md §6.6`).
pub(crate) fn tracker_of_replacement(previous: &Allocation, now: i64) -> RescheduleTracker {
    let (attempts, interval) = policy(previous).map_or((0, 0), |p| (p.attempts, p.interval));
    let old = events(previous);
    let mut kept: Vec<RescheduleEvent> = if attempts > 0 {
        let recent = |e: &&RescheduleEvent| interval > 0 && now.saturating_sub(e.reschedule_time) <= interval;
        old.iter().filter(recent).cloned().collect()
    } else {
        old.iter().skip(old.len().saturating_sub(KEPT_EVENTS)).cloned().collect()
    };
    kept.push(RescheduleEvent {
        reschedule_time: now,
        prev_alloc_id: Text::from(&previous.id),
        prev_node_id: previous.node_id.clone(),
        delay: next_delay(previous),
    });
    RescheduleTracker { events: Some(kept), last_reschedule: "ok".into() }
}

/// The trigger and description of follow-up evaluations.
#[derive(Debug, Clone)]
pub struct FollowUpKind {
    /// Trigger of the first evaluation.
    pub trigger: EvalTrigger,
    /// Description of the first evaluation.
    pub description: &'static str,
    /// Whether later evaluations carry the same two; else they are triggered by `alloc-failure` and say nothing.
    pub uniform: bool,
}

/// Groups what is due at about the same time under one delayed evaluation each (`docs/spec/reconciliation.md §6.5`).
/// `due` holds a key and a time; the result holds the evaluations and the evaluation ID of each key.
pub fn follow_ups(
    job: &Job,
    priority: i64,
    kind: FollowUpKind,
    mut due: Vec<(usize, i64)>,
    new_id: &mut dyn FnMut() -> String,
) -> (Vec<Evaluation>, Vec<(usize, String)>) {
    due.sort_by_key(|(_, at)| *at);
    let mut evals: Vec<(i64, Evaluation)> = Vec::new();
    let mut by_key = Vec::with_capacity(due.len());
    for (key, at) in due {
        if evals.last().is_none_or(|(start, _)| at.saturating_sub(*start) >= BATCH_WINDOW) {
            let first = kind.uniform || evals.is_empty();
            let eval = Evaluation {
                priority,
                job_modify_index: job.modify_index,
                status_description: if first { kind.description } else { "" }.into(),
                wait_until: Time::from_unix_nanos(at),
                ..Evaluation::pending(
                    job,
                    if first { kind.trigger.clone() } else { EvalTrigger::AllocFailure },
                    0,
                    new_id(),
                )
            };
            evals.push((at, eval));
        }
        if let Some((_, e)) = evals.last() {
            by_key.push((key, e.id.to_string()));
        }
    }
    (evals.into_iter().map(|(_, e)| e).collect(), by_key)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn alloc(policy: ReschedulePolicy, delays: &[i64]) -> Allocation {
        let group = TaskGroup { name: "g".into(), reschedule_policy: Some(policy), ..Default::default() };
        let event = |d: &i64| RescheduleEvent { delay: *d, reschedule_time: 1000 * SECOND, ..Default::default() };
        let tracker = RescheduleTracker { events: Some(delays.iter().map(event).collect()), ..Default::default() };
        Allocation {
            task_group: "g".into(),
            job: Some(Arc::new(Job { task_groups: vec![group], ..Default::default() })),
            client_status: ClientStatus::Failed,
            modify_time: 1001 * SECOND,
            reschedule_tracker: (!delays.is_empty()).then(|| Box::new(tracker)),
            ..Default::default()
        }
    }

    fn policy(function: &str, delay: i64, max_delay: i64) -> ReschedulePolicy {
        ReschedulePolicy { delay, max_delay, delay_function: function.into(), unlimited: true, ..Default::default() }
    }

    /// The delays of a series of failures.
    fn series(p: &ReschedulePolicy, n: usize) -> Vec<i64> {
        let mut delays = Vec::new();
        for _ in 0..n {
            delays.push(next_delay(&alloc(p.clone(), &delays)));
        }
        delays
    }

    #[test]
    fn delays_grow_to_the_limit() {
        let minutes = [30, 60, 120, 240, 480, 960, 1920, 3600, 3600].map(|s| s * SECOND);
        assert_eq!(series(&policy("exponential", 30 * SECOND, HOUR), 9), minutes);
        assert_eq!(series(&policy("fibonacci", 5, 0), 6), [5, 5, 10, 15, 25, 40]);
        assert_eq!(series(&policy("constant", 5, 3), 3), [5, 5, 5]);
        assert_eq!(next_delay(&Allocation::default()), 0);
    }

    #[test]
    fn a_long_run_starts_the_series_over() {
        let mut a = alloc(policy("exponential", 30 * SECOND, HOUR), &[HOUR]);
        assert_eq!(next_delay(&a), HOUR);
        a.modify_time = 1000 * SECOND + HOUR + 1;
        assert_eq!(next_delay(&a), 30 * SECOND);
    }

    #[test]
    fn limited_attempts() {
        let p = ReschedulePolicy {
            attempts: 2,
            interval: HOUR,
            delay: SECOND,
            delay_function: "constant".into(),
            ..Default::default()
        };
        let now = |a: &Allocation| verdict(a, 1002 * SECOND, "e", None, false);
        assert_eq!(now(&alloc(p.clone(), &[])), Verdict::Now);
        assert_eq!(now(&alloc(p.clone(), &[1])), Verdict::Now);
        assert_eq!(now(&alloc(p.clone(), &[1, 1])), Verdict::Neither);
        let mut a = alloc(p.clone(), &[]);
        a.reschedule_tracker =
            Some(Box::new(RescheduleTracker { events: None, last_reschedule: "no placement".into() }));
        assert_eq!(now(&a), Verdict::Neither);
        a.reschedule_tracker = Some(Box::new(RescheduleTracker { events: Some(vec![]), ..Default::default() }));
        assert_eq!(now(&a), Verdict::Now);
        a.desired_transition.force_reschedule = Some(true);
        a.reschedule_tracker = None;
        assert_eq!(verdict(&a, 0, "e", None, false), Verdict::Now);
        assert_eq!(now(&alloc(ReschedulePolicy { attempts: 0, ..p }, &[])), Verdict::Neither);
    }

    #[test]
    fn the_deployment_decides_first() {
        let mut a = alloc(policy("constant", 0, 0), &[]);
        a.deployment_id = "d".into();
        let d = Deployment { id: "d".into(), status: DeploymentStatus::Running, ..Default::default() };
        assert_eq!(verdict(&a, 2000 * SECOND, "e", Some(&d), false), Verdict::Neither);
        a.desired_transition.reschedule = Some(true);
        assert_eq!(verdict(&a, 2000 * SECOND, "e", Some(&d), false), Verdict::Now);
    }

    #[test]
    fn trackers_keep_what_counts() {
        let a = alloc(policy("constant", 7, 0), &[1, 2, 3, 4, 5, 6]);
        let t = tracker_of_replacement(&a, 2000 * SECOND);
        let delays: Vec<i64> = t.events.unwrap().iter().map(|e| e.delay).collect();
        assert_eq!(delays, [2, 3, 4, 5, 6, 7]);
        let mut limited = policy("constant", 7, 0);
        (limited.attempts, limited.interval, limited.unlimited) = (3, HOUR, false);
        let a = alloc(limited, &[1, 2]);
        let kept = |now| tracker_of_replacement(&a, now).events.unwrap().len();
        assert_eq!((kept(1000 * SECOND + HOUR), kept(1001 * SECOND + HOUR)), (3, 1));
    }
}
