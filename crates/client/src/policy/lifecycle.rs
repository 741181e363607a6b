//! Which tasks of an allocation may start (`docs/spec/client.md §11`).

use std::collections::BTreeMap;

use encamp_model::{LifecycleHook, SortedMap, Task, TaskState, TaskStatus};

/// Where in the life of the allocation a task belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Runs to its end before the main tasks.
    PrestartEphemeral,
    /// Starts before the main tasks and stays.
    PrestartSidecar,
    /// The tasks without a lifecycle.
    Main,
    /// Runs to its end after the main tasks started.
    PoststartEphemeral,
    /// Starts after the main tasks and stays.
    PoststartSidecar,
    /// Runs after all others ended.
    Poststop,
}

impl Stage {
    /// The stage of a task.
    pub fn of(task: &Task) -> Stage {
        match task.lifecycle.as_ref().map(|l| (&l.hook, l.sidecar)) {
            Some((LifecycleHook::Prestart, false)) => Stage::PrestartEphemeral,
            Some((LifecycleHook::Prestart, true)) => Stage::PrestartSidecar,
            Some((LifecycleHook::Poststart, false)) => Stage::PoststartEphemeral,
            Some((LifecycleHook::Poststart, true)) => Stage::PoststartSidecar,
            Some((LifecycleHook::Poststop, _)) => Stage::Poststop,
            Some((LifecycleHook::Unset | LifecycleHook::Other(_), _)) | None => Stage::Main,
        }
    }

    /// Stays beside the main tasks.
    pub(crate) fn is_sidecar(self) -> bool {
        matches!(self, Stage::PrestartSidecar | Stage::PoststartSidecar)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Init,
    Prestart,
    Main,
    Poststart,
    WaitAlloc,
    Poststop,
}

/// Opens and closes the gates that tasks start through.
#[derive(Debug, Clone)]
pub(crate) struct Coordinator {
    phase: Phase,
    stages: BTreeMap<String, Stage>,
}

impl Coordinator {
    /// A coordinator for these tasks; `restored`: the agent restarted while they were running.
    pub(crate) fn new(tasks: &[Task], restored: bool) -> Coordinator {
        let stages = tasks.iter().map(|t| (t.name.clone(), Stage::of(t))).collect();
        Coordinator { phase: if restored { Phase::Prestart } else { Phase::Init }, stages }
    }

    /// The stage of a task; main for an unknown one.
    pub(crate) fn stage(&self, task: &str) -> Stage {
        self.stages.get(task).copied().unwrap_or(Stage::Main)
    }

    /// All tasks are restarted.
    pub(crate) fn restart(&mut self) {
        self.phase = Phase::Init;
    }

    /// Takes in the states of the tasks; a task without a state is pending.
    pub(crate) fn update(&mut self, states: &SortedMap<TaskState>) {
        while let Some(next) = self.next(states) {
            self.phase = next;
        }
    }

    /// Whether a task of this stage may start now.
    pub(crate) fn open(&self, stage: Stage) -> bool {
        use Stage::*;
        match self.phase {
            Phase::Init => false,
            Phase::Prestart => matches!(stage, PrestartEphemeral | PrestartSidecar),
            Phase::Main => matches!(stage, PrestartSidecar | Main),
            Phase::Poststart => matches!(stage, PrestartSidecar | Main | PoststartEphemeral | PoststartSidecar),
            Phase::WaitAlloc => matches!(stage, PrestartSidecar | Main | PoststartSidecar),
            Phase::Poststop => stage == Poststop,
        }
    }

    fn next(&self, states: &SortedMap<TaskState>) -> Option<Phase> {
        let of = |wanted: Stage| {
            self.stages.iter().filter(move |(_, s)| **s == wanted).map(|(name, _)| {
                let state = states.get(name);
                (state.map_or(&TaskStatus::Pending, |s| &s.state), state.is_some_and(|s| s.failed))
            })
        };
        let none_left = |stage| of(stage).all(|(state, _)| *state == TaskStatus::Dead);
        let others = [Stage::PrestartEphemeral, Stage::PrestartSidecar, Stage::Main];
        let late = [Stage::PoststartEphemeral, Stage::PoststartSidecar];
        if self.phase != Phase::Poststop && others.into_iter().chain(late).all(none_left) {
            return Some(Phase::Poststop);
        }
        match self.phase {
            Phase::Init => {
                let all = self.stages.keys().all(|t| states.get(t).is_none_or(|s| s.state == TaskStatus::Pending));
                all.then_some(Phase::Prestart)
            }
            Phase::Prestart => (of(Stage::PrestartEphemeral).all(|(s, failed)| *s == TaskStatus::Dead && !failed)
                && of(Stage::PrestartSidecar).all(|(s, _)| *s == TaskStatus::Running))
            .then_some(Phase::Main),
            Phase::Main => of(Stage::Main).all(|(s, _)| *s != TaskStatus::Pending).then_some(Phase::Poststart),
            Phase::Poststart => none_left(Stage::PoststartEphemeral).then_some(Phase::WaitAlloc),
            Phase::WaitAlloc | Phase::Poststop => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use LifecycleHook::{Poststart, Poststop, Prestart};
    use TaskStatus::{Dead, Pending, Running};
    use encamp_model::TaskLifecycleConfig;

    fn task(name: &str, hook: impl Into<Option<LifecycleHook>>, sidecar: bool) -> Task {
        let lifecycle = hook.into().map(|hook| TaskLifecycleConfig { hook, sidecar });
        Task { name: name.into(), lifecycle, ..Task::default() }
    }

    fn states(list: &[(&str, TaskStatus)]) -> SortedMap<TaskState> {
        let state = |state| TaskState { state, ..TaskState::default() };
        list.iter().map(|(n, s)| (n.to_string(), state(s.clone()))).collect()
    }

    fn open(c: &Coordinator) -> String {
        c.stages.iter().filter(|(_, s)| c.open(**s)).map(|(n, _)| n.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_stages_follow_each_other() {
        let tasks = [
            task("init", Prestart, false),
            task("side", Prestart, true),
            task("main", None, false),
            task("post", Poststart, false),
            task("stop", Poststop, false),
        ];
        let mut c = Coordinator::new(&tasks, false);
        assert_eq!(open(&c), "");
        let mut now = states(&[("init", Pending), ("side", Pending), ("main", Pending), ("post", Pending)]);
        let mut step = |name: &str, state: TaskStatus| {
            now.extend(states(&[(name, state)]));
            c.update(&now);
            open(&c)
        };
        assert_eq!(step("stop", Pending), "init side");
        assert_eq!(step("init", Running), "init side");
        assert_eq!(step("side", Running), "init side");
        assert_eq!(step("init", Dead), "main side");
        assert_eq!(step("main", Running), "main post side");
        assert_eq!(step("post", Running), "main post side");
        assert_eq!(step("post", Dead), "main side");
        assert_eq!(step("main", Dead), "main side", "the sidecar lives");
        assert_eq!(step("side", Dead), "stop");
        assert_eq!(step("stop", Dead), "stop");
    }

    #[test]
    fn a_failed_prestart_task_keeps_the_gate_shut() {
        let mut c = Coordinator::new(&[task("init", Prestart, false), task("main", None, false)], false);
        c.update(&states(&[("init", Pending), ("main", Pending)]));
        let mut failed = states(&[("init", Dead), ("main", Pending)]);
        failed.values_mut().for_each(|t| t.failed = t.state == Dead);
        c.update(&failed);
        assert_eq!(open(&c), "init");
    }

    #[test]
    fn restarts_and_restores() {
        let tasks = [task("init", Prestart, false), task("main", None, false)];
        let mut c = Coordinator::new(&tasks, true);
        c.update(&states(&[("init", Dead), ("main", Running)]));
        assert_eq!(open(&c), "main");
        c.restart();
        c.update(&states(&[("init", Dead), ("main", Running)]));
        assert_eq!(open(&c), "", "until all are pending");
        c.update(&states(&[("init", Pending), ("main", Pending)]));
        assert_eq!(open(&c), "init");
    }
}
