//! Whether an allocation is healthy, for its deployment or its migration (`docs/spec/client.md §14`).

use super::lifecycle::Stage;
use encamp_model::{Allocation, JobType, SECOND, SortedMap, TaskState, TaskStatus, format_duration};

/// The rules of health for one allocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HealthRules {
    /// How long it has to be well, in nanoseconds.
    pub min_healthy_time: i64,
    /// How long it may take, in nanoseconds from the start of the allocation.
    pub healthy_deadline: i64,
    /// A deployment wants to know; else only a drain does.
    pub in_deployment: bool,
    /// Checks have to pass, where there are any.
    pub by_checks: bool,
}

impl HealthRules {
    /// The rules of an allocation; none if nobody asks or somebody decided already.
    pub(crate) fn of(alloc: &Allocation) -> Option<HealthRules> {
        let job = alloc.job.as_ref()?;
        if !matches!(job.r#type, JobType::Service | JobType::System) || alloc.health().is_some() {
            return None;
        }
        let group = alloc.group()?;
        if alloc.deployment_id.is_empty() {
            let migrate = group.migrate.as_ref();
            return Some(HealthRules {
                min_healthy_time: migrate.map_or(10 * SECOND, |m| m.min_healthy_time),
                healthy_deadline: migrate.map_or(300 * SECOND, |m| m.healthy_deadline),
                in_deployment: false,
                by_checks: migrate.is_none_or(|m| m.health_check == "checks"),
            });
        }
        let update = group.update.as_ref().filter(|u| !u.is_empty() && u.health_check != "manual")?;
        Some(HealthRules {
            min_healthy_time: update.min_healthy_time,
            healthy_deadline: update.healthy_deadline,
            in_deployment: true,
            by_checks: update.health_check == "checks",
        })
    }
}

/// The verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing yet; look again at this moment (Unix nanoseconds), or when a task changes.
    Wait(i64),
    /// It is well.
    Healthy,
    /// It is not. Texts of the events `Alloc Unhealthy` by task.
    Unhealthy(Vec<(String, String)>),
    /// It is to stop: nobody asks any more.
    Ended,
}

/// Watches one allocation.
#[derive(Debug, Clone)]
pub(crate) struct HealthTracker {
    rules: HealthRules,
    deadline: i64,
    latest: i64,
    healthy_at: Option<i64>,
    /// Since when all checks pass.
    passing_since: Option<i64>,
}

/// How often checks are evaluated.
const LOOK: i64 = SECOND / 2;

impl HealthTracker {
    /// A tracker that starts at `now` (Unix nanoseconds).
    pub(crate) fn new(rules: HealthRules, now: i64) -> HealthTracker {
        let deadline = now.saturating_add(rules.healthy_deadline);
        HealthTracker { rules, deadline, latest: 0, healthy_at: None, passing_since: None }
    }

    /// Looks at the tasks. `checks`: whether all checks pass, none without checks. `stopping`: the servers want the
    /// allocation to stop; `failed`: it failed as a whole.
    pub(crate) fn step(
        &mut self,
        now: i64,
        stopping: bool,
        failed: bool,
        checks: Option<bool>,
        stage: impl Fn(&str) -> Stage,
        states: &SortedMap<TaskState>,
    ) -> Verdict {
        if stopping {
            return Verdict::Ended;
        }
        let watched: Vec<_> = states
            .iter()
            .map(|(name, state)| (name, stage(name), state))
            .filter(|(_, stage, state)| match stage {
                Stage::Poststop => false,
                Stage::PoststartEphemeral | Stage::PoststartSidecar => state.state != TaskStatus::Dead || state.failed,
                _ => true,
            })
            .collect();
        let prestart = |s: Stage| matches!(s, Stage::PrestartEphemeral | Stage::PrestartSidecar);
        let broken = watched.iter().any(|(_, s, t)| t.failed || (!t.finished_at.is_zero() && !prestart(*s)));
        if failed || broken || now >= self.deadline {
            return Verdict::Unhealthy(if failed { Vec::new() } else { self.reasons(&watched) });
        }
        if watched.is_empty() || watched.iter().any(|(_, _, t)| t.state == TaskStatus::Pending) {
            self.healthy_at = None;
            self.latest = 0;
            return Verdict::Wait(self.deadline);
        }
        let latest = watched.iter().filter_map(|(_, _, t)| t.started_at.unix_nanos()).max().unwrap_or(0);
        let at = match self.healthy_at {
            Some(at) if latest == self.latest => at,
            _ => now.saturating_add(self.rules.min_healthy_time),
        };
        self.latest = latest;
        self.healthy_at = Some(at);
        let tasks_well = now >= at;
        let Some(passing) = checks.filter(|_| self.rules.by_checks) else {
            return if tasks_well { Verdict::Healthy } else { Verdict::Wait(at.min(self.deadline)) };
        };
        let since = if passing { *self.passing_since.get_or_insert(now) } else { now };
        let checks_well = passing && now >= since.saturating_add(self.rules.min_healthy_time);
        if !passing || (checks_well && !tasks_well) {
            self.passing_since = None;
        }
        if checks_well && tasks_well {
            Verdict::Healthy
        } else {
            Verdict::Wait(now.saturating_add(LOOK).min(self.deadline))
        }
    }

    fn reasons(&self, tasks: &[(&String, Stage, &TaskState)]) -> Vec<(String, String)> {
        if !self.rules.in_deployment {
            return Vec::new();
        }
        let deadline = format_duration(self.rules.healthy_deadline);
        let least = format_duration(self.rules.min_healthy_time);
        let text = |stage: Stage, t: &TaskState| match t.state {
            _ if t.failed => Some("Unhealthy because of failed task".to_string()),
            TaskStatus::Pending => Some(format!("Task not running by healthy_deadline of {deadline}")),
            TaskStatus::Dead if stage == Stage::Main || stage.is_sidecar() => {
                Some("Unhealthy because of dead task".into())
            }
            TaskStatus::Running => {
                Some(format!("Task not running for min_healthy_time of {least} by healthy_deadline of {deadline}"))
            }
            TaskStatus::Dead | TaskStatus::Unset | TaskStatus::Other(_) => None,
        };
        tasks.iter().filter_map(|(name, stage, t)| Some(((*name).clone(), text(*stage, t)?))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TaskStatus::{Dead, Pending, Running};
    use encamp_model::Time;

    fn tracker() -> HealthTracker {
        let rules = HealthRules {
            min_healthy_time: 10 * SECOND,
            healthy_deadline: 60 * SECOND,
            in_deployment: true,
            by_checks: true,
        };
        HealthTracker::new(rules, 0)
    }

    type Task = (&'static str, TaskStatus, i64, bool);

    fn states(list: &[Task]) -> SortedMap<TaskState> {
        let make = |state: &TaskStatus, started: i64, finished: bool| TaskState {
            state: state.clone(),
            started_at: if started > 0 { Time::from_unix_nanos(started * SECOND) } else { Time::ZERO },
            finished_at: if finished { Time::from_unix_nanos(SECOND) } else { Time::ZERO },
            ..TaskState::default()
        };
        list.iter().map(|(n, s, at, f)| (n.to_string(), make(s, *at, *f))).collect()
    }

    fn stage(name: &str) -> Stage {
        match name {
            "init" => Stage::PrestartEphemeral,
            "post" => Stage::PoststartEphemeral,
            "stop" => Stage::Poststop,
            _ => Stage::Main,
        }
    }

    #[test]
    fn every_restart_begins_the_wait_anew() {
        let mut t = tracker();
        let mut see = |now: i64, list: &[Task]| t.step(now * SECOND, false, false, None, stage, &states(list));
        assert_eq!(see(0, &[("a", Pending, 0, false)]), Verdict::Wait(60 * SECOND));
        let up = |at| [("init", Dead, 1, true), ("a", Running, at, false), ("post", Dead, 3, true)];
        assert_eq!(see(5, &up(5)), Verdict::Wait(15 * SECOND));
        assert_eq!(see(14, &up(5)), Verdict::Wait(15 * SECOND));
        assert_eq!(see(14, &up(14)), Verdict::Wait(24 * SECOND));
        assert_eq!(see(20, &[("a", Pending, 14, false)]), Verdict::Wait(60 * SECOND));
        assert_eq!(see(22, &up(22)), Verdict::Wait(32 * SECOND));
        assert_eq!(see(32, &up(22)), Verdict::Healthy);
    }

    #[test]
    fn failures_and_the_deadline() {
        let see = |now: i64, list: &[Task]| tracker().step(now * SECOND, false, false, None, stage, &states(list));
        let texts = |v: Verdict| match v {
            Verdict::Unhealthy(r) => r.into_iter().map(|(n, t)| format!("{n}: {t}")).collect::<Vec<_>>(),
            other => vec![format!("{other:?}")],
        };
        let mut failed = states(&[("a", Dead, 1, true)]);
        failed.values_mut().for_each(|t| t.failed = true);
        let failed = tracker().step(SECOND, false, false, None, stage, &failed);
        assert_eq!(texts(failed), ["a: Unhealthy because of failed task"]);
        assert_eq!(texts(see(1, &[("a", Dead, 1, true)])), ["a: Unhealthy because of dead task"]);
        assert_eq!(texts(see(60, &[("a", Pending, 0, false)])), ["a: Task not running by healthy_deadline of 1m0s"]);
        let late = "a: Task not running for min_healthy_time of 10s by healthy_deadline of 1m0s";
        assert_eq!(texts(see(60, &[("a", Running, 2, false), ("stop", Pending, 0, false)])), [late]);
        assert_eq!(tracker().step(0, true, false, None, stage, &states(&[])), Verdict::Ended);
        assert_eq!(tracker().step(0, false, true, None, stage, &states(&[])), Verdict::Unhealthy(vec![]));
    }

    #[test]
    fn checks_have_to_pass_all_the_time() {
        let mut t = tracker();
        let up = states(&[("a", Running, 1, false)]);
        let mut see = |now: i64, passing| t.step(now * SECOND, false, false, Some(passing), stage, &up);
        assert!(matches!(see(1, true), Verdict::Wait(_)) && matches!(see(10, false), Verdict::Wait(_)));
        assert!(matches!(see(12, true), Verdict::Wait(_)) && matches!(see(21, true), Verdict::Wait(_)));
        assert_eq!(see(22, true), Verdict::Healthy);
        let mut t = tracker();
        let stopped = states(&[("a", Pending, 0, false)]);
        assert!(matches!(t.step(0, false, false, Some(true), stage, &stopped), Verdict::Wait(_)));
        assert!(matches!(t.step(60 * SECOND, false, false, Some(true), stage, &stopped), Verdict::Unhealthy(_)));
    }
}
