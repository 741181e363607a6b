//! Task events with their messages, and how they change the state of a task (`docs/spec/client.md §28`).

use std::collections::BTreeMap;

use super::policy::status::KillCause;
use encamp_model::{TaskEvent, TaskEventType, TaskState, TaskStatus, Time, format_duration};

/// How many events of a task are kept.
const KEPT: usize = 10;

/// The event with the sentence that follows from it.
fn displayed(event: TaskEvent) -> TaskEvent {
    TaskEvent { display_message: event.composed_display(), ..event }
}

fn of_type(r#type: TaskEventType) -> TaskEvent {
    TaskEvent { r#type, ..TaskEvent::default() }
}

fn details<const N: usize>(entries: [(&str, String); N]) -> BTreeMap<String, String> {
    entries.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
}

/// An event of a type whose text is its message.
pub fn message(r#type: TaskEventType, text: impl Into<String>) -> TaskEvent {
    let text = text.into();
    displayed(TaskEvent { details: details([("message", text.clone())]), message: text, ..of_type(r#type) })
}

/// `Received`.
pub fn received() -> TaskEvent {
    displayed(of_type(TaskEventType::Received))
}

/// `Task Setup`.
pub fn setup() -> TaskEvent {
    message(TaskEventType::TaskSetup, "Building Task Directory")
}

/// `Started`.
pub fn started() -> TaskEvent {
    displayed(of_type(TaskEventType::Started))
}

/// `Terminated`; a signal of 0 and an empty text mean none.
pub fn terminated(code: i64, signal: i64, oom: bool, text: &str) -> TaskEvent {
    let mut set =
        details([("exit_code", code.to_string()), ("signal", signal.to_string()), ("oom_killed", oom.to_string())]);
    if !text.is_empty() {
        set.insert("exit_message".into(), text.into());
    }
    displayed(TaskEvent {
        exit_code: code,
        signal,
        message: text.into(),
        details: set,
        ..of_type(TaskEventType::Terminated)
    })
}

/// `Killing`; the timeout in nanoseconds.
pub fn killing(timeout: i64) -> TaskEvent {
    let set = if timeout == 0 { BTreeMap::new() } else { details([("kill_timeout", format_duration(timeout))]) };
    displayed(TaskEvent { kill_timeout: timeout, details: set, ..of_type(TaskEventType::Killing) })
}

/// `Killing` for a reason that is not the task's; the timeout in nanoseconds.
pub(crate) fn killing_for(timeout: i64, reason: &str) -> TaskEvent {
    let mut event = killing(timeout);
    event.kill_reason = reason.into();
    event.details.insert("kill_reason".into(), reason.into());
    displayed(event)
}

/// `Killing` of a task that fails.
pub(crate) fn killing_failed(reason: &str) -> TaskEvent {
    let set = details([("kill_reason", reason.into()), ("fails_task", "true".into())]);
    displayed(TaskEvent {
        kill_reason: reason.into(),
        fails_task: true,
        details: set,
        ..of_type(TaskEventType::Killing)
    })
}

/// `Killed`, with what went wrong, if anything did.
pub fn killed(error: &str) -> TaskEvent {
    let set = if error.is_empty() { BTreeMap::new() } else { details([("kill_error", error.into())]) };
    displayed(TaskEvent { kill_error: error.into(), details: set, ..of_type(TaskEventType::Killed) })
}

/// `Restarting` after a delay in nanoseconds.
pub fn restarting(reason: &str, delay: i64) -> TaskEvent {
    let set = details([("restart_reason", reason.into()), ("start_delay", delay.to_string())]);
    displayed(TaskEvent {
        restart_reason: reason.into(),
        start_delay: delay,
        details: set,
        ..of_type(TaskEventType::Restarting)
    })
}

/// `Not Restarting`, which fails the task.
pub(crate) fn not_restarting(reason: &str) -> TaskEvent {
    let set = details([("restart_reason", reason.into()), ("fails_task", "true".into())]);
    displayed(TaskEvent {
        restart_reason: reason.into(),
        fails_task: true,
        details: set,
        ..of_type(TaskEventType::NotRestarting)
    })
}

/// `Restart Signaled`.
pub(crate) fn restart_signaled(reason: &str) -> TaskEvent {
    let set = details([("restart_reason", reason.into())]);
    displayed(TaskEvent { restart_reason: reason.into(), details: set, ..of_type(TaskEventType::RestartSignaled) })
}

/// `Signaling`. The name of the signal is only among the details.
pub(crate) fn signaling(signal: &str) -> TaskEvent {
    displayed(TaskEvent { details: details([("signal", signal.into())]), ..of_type(TaskEventType::Signaling) })
}

/// `Signaling`, for a reason that the display tells.
pub(crate) fn signaling_because(signal: &str, reason: &str) -> TaskEvent {
    TaskEvent { display_message: reason.into(), ..signaling(signal) }
}

/// The event that goes before the kill of the live tasks.
pub(crate) fn of_cause(cause: &KillCause) -> TaskEvent {
    displayed(match cause {
        KillCause::SiblingFailed(task) => TaskEvent {
            failed_sibling: task.clone(),
            details: details([("failed_sibling", task.clone())]),
            ..of_type(TaskEventType::SiblingTaskFailed)
        },
        KillCause::LeaderDead => of_type(TaskEventType::LeaderTaskDead),
        KillCause::MainDead => of_type(TaskEventType::MainTasksDead),
    })
}

/// `Driver`: what a driver says of a start that lasts.
pub(crate) fn driver(text: &str) -> TaskEvent {
    let set = details([("driver_message", text.into())]);
    displayed(TaskEvent { driver_message: text.into(), details: set, ..of_type(TaskEventType::Driver) })
}

/// `Driver Failure`.
pub(crate) fn driver_failure(error: &str) -> TaskEvent {
    let set = details([("driver_error", error.into())]);
    displayed(TaskEvent { driver_error: error.into(), details: set, ..of_type(TaskEventType::DriverFailure) })
}

/// `Downloading Artifacts`.
pub(crate) fn downloading_artifacts() -> TaskEvent {
    displayed(of_type(TaskEventType::DownloadingArtifacts))
}

/// `Failed Artifact Download`.
pub(crate) fn failed_artifact_download(error: &str) -> TaskEvent {
    let set = details([("download_error", error.into())]);
    displayed(TaskEvent {
        download_error: error.into(),
        details: set,
        ..of_type(TaskEventType::FailedArtifactDownload)
    })
}

/// `Failed Validation`, which fails the task.
pub(crate) fn failed_validation(error: &str) -> TaskEvent {
    let set = details([("validation_error", error.into()), ("fails_task", "true".into())]);
    displayed(TaskEvent {
        validation_error: error.into(),
        fails_task: true,
        details: set,
        ..of_type(TaskEventType::FailedValidation)
    })
}

/// `Setup Failure`, which fails the task.
pub(crate) fn setup_failure(error: &str) -> TaskEvent {
    let set = details([("setup_error", error.into()), ("fails_task", "true".into())]);
    displayed(TaskEvent {
        setup_error: error.into(),
        fails_task: true,
        details: set,
        ..of_type(TaskEventType::SetupFailure)
    })
}

/// Appends an event to a task at `now` (Unix nanoseconds).
pub fn append(task: &mut TaskState, mut event: TaskEvent, now: i64) {
    event.time = now;
    match event.r#type {
        TaskEventType::Restarting => {
            task.restarts = task.restarts.saturating_add(1);
            task.last_restart = Time::from_unix_nanos(now);
        }
        _ => task.failed |= event.fails_task,
    }
    task.events.push(event, KEPT);
}

/// Moves a task into a state at `now` (Unix nanoseconds).
pub fn enter(task: &mut TaskState, state: TaskStatus, now: i64) {
    if task.state == state {
        return;
    }
    match state {
        TaskStatus::Running => task.started_at = Time::from_unix_nanos(now),
        TaskStatus::Dead if task.finished_at.is_zero() => task.finished_at = Time::from_unix_nanos(now),
        TaskStatus::Pending | TaskStatus::Dead | TaskStatus::Unset | TaskStatus::Other(_) => {}
    }
    task.state = state;
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::RESTART_WITHIN_POLICY;

    #[test]
    fn texts() {
        for (event, want) in [
            (terminated(0, 0, false, ""), "Exit Code: 0"),
            (terminated(130, 2, false, "x"), "Exit Code: 130, Signal: 2, Exit Message: \"x\""),
            (killing(5_000_000_000), "Sent interrupt. Waiting 5s before force killing"),
            (killing(0), "Sent interrupt"),
            (killing_for(5_000_000_000, "exceeded max_run_duration"), "exceeded max_run_duration"),
            (killed(""), "Task successfully killed"),
            (restarting(RESTART_WITHIN_POLICY, 1_050_000_000), "Task restarting in 1.05s"),
            (restarting("", 0), "Task restarting in 0s"),
            (restarting("Because", 0), "Because - Task restarting in 0s"),
            (of_cause(&KillCause::SiblingFailed("a".into())), "Task's sibling \"a\" failed"),
        ] {
            assert_eq!(event.display_message, want);
        }
        let e = terminated(7, 0, false, "");
        assert_eq!(
            serde_json::to_string(&e.details).unwrap(),
            r#"{"exit_code":"7","oom_killed":"false","signal":"0"}"#
        );
    }

    #[test]
    fn the_last_ten_events_stay() {
        let mut t = TaskState::default();
        (0..12).for_each(|n| append(&mut t, restarting("", n), n));
        assert_eq!((t.events.len(), t.events.iter().next().map(|e| e.time), t.restarts), (10, Some(2), 12));
        append(&mut t, not_restarting("x"), 20);
        append(&mut t, killed(""), 21);
        assert!(t.failed);
    }

    #[test]
    fn the_end_is_set_once_and_the_start_each_time() {
        let mut t = TaskState::default();
        use TaskStatus::{Dead, Running};
        for (state, at) in [(Running, 1), (Dead, 2), (Running, 3), (Running, 4), (Dead, 5)] {
            enter(&mut t, state, at);
        }
        assert_eq!((t.started_at.unix_nanos(), t.finished_at.unix_nanos()), (Some(3), Some(2)));
    }
}
