//! Task events with their messages, and how they change the state of a task (`docs/spec/client.md §28`).

use std::collections::BTreeMap;

use super::policy::restart::WITHIN_POLICY;
use super::policy::status::KillCause;
use encamp_model::{TaskEvent, TaskEventType, TaskState, TaskStatus, Time, format_duration};

/// How many events of a task are kept.
const KEPT: usize = 10;

fn make(r#type: TaskEventType, display: impl Into<String>) -> TaskEvent {
    TaskEvent { r#type, display_message: display.into(), ..TaskEvent::default() }
}

fn details<const N: usize>(entries: [(&str, String); N]) -> BTreeMap<String, String> {
    entries.into_iter().map(|(k, v)| (k.to_string(), v)).collect()
}

/// An event of a type whose text is its message.
pub fn message(r#type: TaskEventType, text: impl Into<String>) -> TaskEvent {
    let text = text.into();
    TaskEvent { message: text.clone(), details: details([("message", text.clone())]), ..make(r#type, text) }
}

/// `Received`.
pub fn received() -> TaskEvent {
    make(TaskEventType::Received, "Task received by client")
}

/// `Task Setup`.
pub fn setup() -> TaskEvent {
    message(TaskEventType::TaskSetup, "Building Task Directory")
}

/// `Started`.
pub fn started() -> TaskEvent {
    make(TaskEventType::Started, "Task started by client")
}

/// `Terminated`; a signal of 0 and an empty text mean none.
pub fn terminated(code: i64, signal: i64, oom: bool, text: &str) -> TaskEvent {
    let mut display = format!("Exit Code: {code}");
    if signal != 0 {
        display += &format!(", Signal: {signal}");
    }
    let mut out = TaskEvent { exit_code: code, signal, message: text.into(), ..make(TaskEventType::Terminated, "") };
    out.details =
        details([("exit_code", code.to_string()), ("signal", signal.to_string()), ("oom_killed", oom.to_string())]);
    if !text.is_empty() {
        display += &format!(", Exit Message: \"{text}\"");
        out.details.insert("exit_message".into(), text.into());
    }
    out.display_message = display;
    out
}

/// `Killing`; the timeout in nanoseconds.
pub fn killing(timeout: i64) -> TaskEvent {
    let wait = format_duration(timeout);
    let display = match timeout {
        0 => "Sent interrupt".to_string(),
        _ => format!("Sent interrupt. Waiting {wait} before force killing"),
    };
    let set = if timeout == 0 { BTreeMap::new() } else { details([("kill_timeout", wait)]) };
    TaskEvent { kill_timeout: timeout, details: set, ..make(TaskEventType::Killing, display) }
}

/// `Killing` for a reason that is not the task's; the timeout in nanoseconds.
pub(crate) fn killing_for(timeout: i64, reason: &str) -> TaskEvent {
    let mut event = killing(timeout);
    event.kill_reason = reason.into();
    event.details.insert("kill_reason".into(), reason.into());
    TaskEvent { display_message: reason.into(), ..event }
}

/// `Killing` of a task that fails.
pub(crate) fn killing_failed(reason: &str) -> TaskEvent {
    let set = details([("kill_reason", reason.into()), ("fails_task", "true".into())]);
    TaskEvent { kill_reason: reason.into(), fails_task: true, details: set, ..make(TaskEventType::Killing, reason) }
}

/// `Killed`, with what went wrong, if anything did.
pub fn killed(error: &str) -> TaskEvent {
    if error.is_empty() {
        return make(TaskEventType::Killed, "Task successfully killed");
    }
    TaskEvent {
        kill_error: error.into(),
        details: details([("kill_error", error.into())]),
        ..make(TaskEventType::Killed, error)
    }
}

/// `Restarting` after a delay in nanoseconds.
pub fn restarting(reason: &str, delay: i64) -> TaskEvent {
    let text = format!("Task restarting in {}", format_duration(delay));
    let display = if matches!(reason, "" | WITHIN_POLICY) { text } else { format!("{reason} - {text}") };
    let set = details([("restart_reason", reason.into()), ("start_delay", delay.to_string())]);
    TaskEvent {
        restart_reason: reason.into(),
        start_delay: delay,
        details: set,
        ..make(TaskEventType::Restarting, display)
    }
}

/// `Not Restarting`, which fails the task.
pub(crate) fn not_restarting(reason: &str) -> TaskEvent {
    let set = details([("restart_reason", reason.into()), ("fails_task", "true".into())]);
    TaskEvent {
        restart_reason: reason.into(),
        fails_task: true,
        details: set,
        ..make(TaskEventType::NotRestarting, reason)
    }
}

/// `Restart Signaled`.
pub(crate) fn restart_signaled(reason: &str) -> TaskEvent {
    let set = details([("restart_reason", reason.into())]);
    TaskEvent { restart_reason: reason.into(), details: set, ..make(TaskEventType::RestartSignaled, reason) }
}

/// `Signaling`. The name of the signal is only among the details.
pub(crate) fn signaling(signal: &str) -> TaskEvent {
    TaskEvent {
        details: details([("signal", signal.into())]),
        ..make(TaskEventType::Signaling, "Task being sent a signal")
    }
}

/// `Signaling`, for a reason that the display tells.
pub(crate) fn signaling_because(signal: &str, reason: &str) -> TaskEvent {
    TaskEvent { display_message: reason.into(), ..signaling(signal) }
}

/// The event that goes before the kill of the live tasks.
pub(crate) fn of_cause(cause: &KillCause) -> TaskEvent {
    match cause {
        KillCause::SiblingFailed(task) => TaskEvent {
            failed_sibling: task.clone(),
            details: details([("failed_sibling", task.clone())]),
            ..make(TaskEventType::SiblingTaskFailed, format!("Task's sibling \"{task}\" failed"))
        },
        KillCause::LeaderDead => make(TaskEventType::LeaderTaskDead, "Leader Task in Group dead"),
        KillCause::MainDead => make(TaskEventType::MainTasksDead, "Main tasks in the group died"),
    }
}

/// `Driver`: what a driver says of a start that lasts.
pub(crate) fn driver(text: &str) -> TaskEvent {
    let set = details([("driver_message", text.into())]);
    TaskEvent { driver_message: text.into(), details: set, ..make(TaskEventType::Driver, text) }
}

/// `Driver Failure`.
pub(crate) fn driver_failure(error: &str) -> TaskEvent {
    let display = if error.is_empty() { "Failed to start task" } else { error };
    let set = details([("driver_error", error.into())]);
    TaskEvent { driver_error: error.into(), details: set, ..make(TaskEventType::DriverFailure, display) }
}

/// `Downloading Artifacts`.
pub(crate) fn downloading_artifacts() -> TaskEvent {
    make(TaskEventType::DownloadingArtifacts, "Client is downloading artifacts")
}

/// `Failed Artifact Download`.
pub(crate) fn failed_artifact_download(error: &str) -> TaskEvent {
    let set = details([("download_error", error.into())]);
    TaskEvent { download_error: error.into(), details: set, ..make(TaskEventType::FailedArtifactDownload, error) }
}

/// `Failed Validation`, which fails the task.
pub(crate) fn failed_validation(error: &str) -> TaskEvent {
    let set = details([("validation_error", error.into()), ("fails_task", "true".into())]);
    TaskEvent {
        validation_error: error.into(),
        fails_task: true,
        details: set,
        ..make(TaskEventType::FailedValidation, error)
    }
}

/// `Setup Failure`, which fails the task.
pub(crate) fn setup_failure(error: &str) -> TaskEvent {
    let set = details([("setup_error", error.into()), ("fails_task", "true".into())]);
    TaskEvent { setup_error: error.into(), fails_task: true, details: set, ..make(TaskEventType::SetupFailure, error) }
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
    task.events.push(event);
    let surplus = task.events.len().saturating_sub(KEPT);
    task.events.drain(..surplus);
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

    #[test]
    fn texts() {
        for (event, want) in [
            (terminated(0, 0, false, ""), "Exit Code: 0"),
            (terminated(130, 2, false, "x"), "Exit Code: 130, Signal: 2, Exit Message: \"x\""),
            (killing(5_000_000_000), "Sent interrupt. Waiting 5s before force killing"),
            (killing(0), "Sent interrupt"),
            (killing_for(5_000_000_000, "exceeded max_run_duration"), "exceeded max_run_duration"),
            (killed(""), "Task successfully killed"),
            (restarting(WITHIN_POLICY, 1_050_000_000), "Task restarting in 1.05s"),
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
        assert_eq!((t.events.len(), t.events[0].time, t.restarts), (10, 2, 12));
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
