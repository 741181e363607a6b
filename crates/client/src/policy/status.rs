//! Computes an allocation's status from the states of its tasks (`docs/spec/client.md §9.5` to `§9.7`).

use super::lifecycle::Stage;
use encamp_model::{SortedMap, TaskState, client_status};

/// Client status and its description, from the states of the tasks (`docs/spec/client.md §9.6`).
pub(crate) fn client_status_of(states: &SortedMap<TaskState>) -> (&'static str, &'static str) {
    let any = |wanted: &str| states.values().any(|t| t.state == wanted);
    if states.values().any(|t| t.state == "dead" && t.failed) {
        (client_status::FAILED, "Failed tasks")
    } else if any("running") {
        (client_status::RUNNING, "Tasks are running")
    } else if any("pending") {
        (client_status::PENDING, "No tasks have started")
    } else if any("dead") {
        (client_status::COMPLETE, "All tasks have completed")
    } else {
        ("", "")
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
    let dead = |r: &Role| state(r).is_some_and(|s| s.state == "dead");
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

    fn states(list: &[(&str, &str)]) -> SortedMap<TaskState> {
        let state = |s: &str| {
            let (s, failed) = s.strip_suffix('!').map_or((s, false), |s| (s, true));
            TaskState { state: s.into(), failed, ..TaskState::default() }
        };
        list.iter().map(|(n, s)| (n.to_string(), state(s))).collect()
    }

    fn role(name: &str, stage: Stage, leader: bool) -> Role {
        Role { name: name.into(), stage, leader }
    }

    #[test]
    fn the_worst_state_wins() {
        for (list, want) in [
            (&[("a", "dead!"), ("b", "running")][..], "failed"),
            (&[("a", "dead"), ("b", "running"), ("c", "pending")], "running"),
            (&[("a", "dead"), ("c", "pending")], "pending"),
            (&[("a", "dead"), ("c", "dead")], "complete"),
            (&[], ""),
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
        let see = |list: &[(&str, &str)]| reaction(&roles, &states(list)).kill;
        assert_eq!(see(&[("lead", "running"), ("main", "dead"), ("side", "running")]), None);
        let failed = |n: &str| Some(KillCause::SiblingFailed(n.into()));
        assert_eq!(see(&[("lead", "running"), ("main", "dead!"), ("side", "running")]), failed("main"));
        assert_eq!(see(&[("lead", "dead"), ("main", "dead!"), ("side", "running")]), Some(KillCause::LeaderDead));
        assert_eq!(see(&[("lead", "dead!"), ("main", "running"), ("side", "running")]), failed("lead"));
        assert_eq!(see(&[("lead", "dead"), ("main", "dead"), ("side", "dead"), ("stop", "running")]), None);
        let plain = [role("main", Stage::Main, false), role("side", Stage::PrestartSidecar, false)];
        let r = reaction(&plain, &states(&[("main", "dead"), ("side", "running")]));
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
