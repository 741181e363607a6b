//! Computes an allocation's status from the states of its tasks (`docs/spec/client.md §9.5` to `§9.7`).

use super::lifecycle::Stage;
use encamp_model::{ClientStatus, SortedMap, TaskState, TaskStatus};

/// Client status and its description, from the states of the tasks (`docs/spec/client.md §9.6`).
pub(crate) fn client_status_of(states: &SortedMap<TaskState>) -> (ClientStatus, &'static str) {
    let any = |wanted: TaskStatus| states.values().any(|t| t.state == wanted);
    if states.values().any(|t| t.state == TaskStatus::Dead && t.failed) {
        (ClientStatus::Failed, "Failed tasks")
    } else if any(TaskStatus::Running) {
        (ClientStatus::Running, "Tasks are running")
    } else if any(TaskStatus::Pending) {
        (ClientStatus::Pending, "No tasks have started")
    } else if any(TaskStatus::Dead) {
        (ClientStatus::Complete, "All tasks have completed")
    } else {
        (ClientStatus::Unset, "")
    }
}

/// Why the remaining tasks of an allocation are killed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KillCause {
    /// This task failed.
    SiblingFailed(String),
    /// The leader is dead.
    LeaderDead,
    /// Only sidecars live.
    MainDead,
}

/// The role of a task among the others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Role {
    /// Its name.
    pub name: String,
    /// Its stage.
    pub stage: Stage,
    /// Whether it leads.
    pub leader: bool,
}

/// The consequences of the states of the tasks (`docs/spec/client.md §9.7`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reaction {
    /// Live tasks are to be killed for this cause.
    pub kill: Option<KillCause>,
    /// Names of the live tasks, poststop ones not counted.
    pub live: Vec<String>,
}

/// Looks at all tasks that are not poststop tasks.
pub(crate) fn reaction(roles: &[Role], states: &SortedMap<TaskState>) -> Reaction {
    let tasks: Vec<_> = roles.iter().filter(|r| r.stage != Stage::Poststop).collect();
    let state = |r: &Role| states.get(&r.name);
    let dead = |r: &Role| state(r).is_some_and(|s| s.state == TaskStatus::Dead);
    let live: Vec<_> = tasks.iter().filter(|r| !dead(r)).collect();
    let failed = tasks.iter().find(|r| dead(r) && state(r).is_some_and(|s| s.failed));
    let dead_leader = tasks.iter().find(|r| r.leader && dead(r));
    let failed_leader = dead_leader.is_some_and(|r| state(r).is_some_and(|s| s.failed));
    let sidecars = tasks.iter().any(|r| r.stage.is_sidecar());
    let kill = match (dead_leader, failed) {
        (Some(leader), _) if failed_leader => Some(KillCause::SiblingFailed(leader.name.clone())),
        (Some(_), _) => Some(KillCause::LeaderDead),
        (None, Some(task)) => Some(KillCause::SiblingFailed(task.name.clone())),
        (None, None) => (sidecars && live.iter().all(|r| r.stage.is_sidecar())).then_some(KillCause::MainDead),
    };
    let live: Vec<_> = live.into_iter().map(|r| r.name.clone()).collect();
    Reaction { kill: kill.filter(|_| !live.is_empty()), live }
}

/// The order tasks are killed in: each step's tasks at once, and the next step after they are dead
/// (`docs/spec/client.md §9.5`). `poststop_too`: the allocation ran too long, its poststop tasks do not run.
pub(crate) fn kill_order(roles: &[Role], poststop_too: bool) -> Vec<Vec<String>> {
    let pick = |f: &dyn Fn(&Role) -> bool| roles.iter().filter(|r| f(r)).map(|r| r.name.clone()).collect::<Vec<_>>();
    let ordinary = |r: &Role| !r.leader && r.stage != Stage::Poststop && !r.stage.is_sidecar();
    let steps = [
        if poststop_too { pick(&|r| r.stage == Stage::Poststop) } else { Vec::new() },
        pick(&|r| r.leader && r.stage != Stage::Poststop),
        pick(&ordinary),
        pick(&|r| !r.leader && r.stage.is_sidecar()),
    ];
    steps.into_iter().filter(|s| !s.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PENDING: (TaskStatus, bool) = (TaskStatus::Pending, false);
    const RUNNING: (TaskStatus, bool) = (TaskStatus::Running, false);
    const DEAD: (TaskStatus, bool) = (TaskStatus::Dead, false);
    const FAILED: (TaskStatus, bool) = (TaskStatus::Dead, true);

    fn states(list: &[(&str, (TaskStatus, bool))]) -> SortedMap<TaskState> {
        let state = |(state, failed)| TaskState { state, failed, ..TaskState::default() };
        list.iter().map(|(n, s)| (n.to_string(), state(s.clone()))).collect()
    }

    fn role(name: &str, stage: Stage, leader: bool) -> Role {
        Role { name: name.into(), stage, leader }
    }

    #[test]
    fn the_worst_state_wins() {
        for (list, want) in [
            (&[("a", FAILED), ("b", RUNNING)][..], ClientStatus::Failed),
            (&[("a", DEAD), ("b", RUNNING), ("c", PENDING)], ClientStatus::Running),
            (&[("a", DEAD), ("c", PENDING)], ClientStatus::Pending),
            (&[("a", DEAD), ("c", DEAD)], ClientStatus::Complete),
            (&[], ClientStatus::Unset),
        ] {
            assert_eq!(client_status_of(&states(list)).0, want);
        }
    }

    #[test]
    fn siblings_leaders_and_sidecars() {
        let roles = [
            role("lead", Stage::Main, true),
            role("main", Stage::Main, false),
            role("side", Stage::PrestartSidecar, false),
            role("stop", Stage::Poststop, false),
        ];
        let see = |list: &[(&str, (TaskStatus, bool))]| reaction(&roles, &states(list)).kill;
        assert_eq!(see(&[("lead", RUNNING), ("main", DEAD), ("side", RUNNING)]), None);
        let failed = |n: &str| Some(KillCause::SiblingFailed(n.into()));
        assert_eq!(see(&[("lead", RUNNING), ("main", FAILED), ("side", RUNNING)]), failed("main"));
        assert_eq!(see(&[("lead", DEAD), ("main", FAILED), ("side", RUNNING)]), Some(KillCause::LeaderDead));
        assert_eq!(see(&[("lead", FAILED), ("main", RUNNING), ("side", RUNNING)]), failed("lead"));
        assert_eq!(see(&[("lead", DEAD), ("main", DEAD), ("side", DEAD), ("stop", RUNNING)]), None);
        let plain = [role("main", Stage::Main, false), role("side", Stage::PrestartSidecar, false)];
        let r = reaction(&plain, &states(&[("main", DEAD), ("side", RUNNING)]));
        assert_eq!((r.kill, r.live), (Some(KillCause::MainDead), vec!["side".to_string()]));
    }

    #[test]
    fn leaders_die_first_and_sidecars_last() {
        let roles = [
            role("side", Stage::PoststartSidecar, false),
            role("main", Stage::Main, false),
            role("lead", Stage::Main, true),
            role("stop", Stage::Poststop, false),
            role("init", Stage::PrestartEphemeral, false),
        ];
        assert_eq!(kill_order(&roles, false), [vec!["lead"], vec!["main", "init"], vec!["side"]]);
        assert_eq!(kill_order(&roles, true)[0], ["stop"]);
    }
}
