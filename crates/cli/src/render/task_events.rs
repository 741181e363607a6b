//! The events of a task, in words (`docs/spec/cli.md §9.1`).

use encamp_model::{TaskEvent, format_duration, quoted};

/// The words the server sent, or such as fit the event.
pub fn describe(event: &TaskEvent) -> String {
    if !event.display_message.is_empty() {
        return event.display_message.clone();
    }
    let or = |text: &str, otherwise: &str| if text.is_empty() { otherwise.to_string() } else { text.to_string() };
    match event.r#type.as_str() {
        "Started" => "Task started by client".into(),
        "Received" => "Task received by client".into(),
        "Failed Validation" => or(&event.validation_error, "Validation of task failed"),
        "Setup Failure" => or(&event.setup_error, "Task setup failed"),
        "Driver Failure" => or(&event.driver_error, "Failed to start task"),
        "Failed Artifact Download" => or(&event.download_error, "Failed to download artifacts"),
        "Downloading Artifacts" => "Client is downloading artifacts".into(),
        "Killing" if !event.kill_reason.is_empty() => format!("Killing task: {}", event.kill_reason),
        "Killing" if event.kill_timeout != 0 => {
            format!("Sent interrupt. Waiting {} before force killing", format_duration(event.kill_timeout))
        }
        "Killing" => "Sent interrupt".into(),
        "Killed" => or(&event.kill_error, "Task successfully killed"),
        "Terminated" => terminated(event),
        "Restarting" => {
            let text = format!("Task restarting in {}", format_duration(event.start_delay));
            match event.restart_reason.as_str() {
                "" | "Restart within policy" => text,
                reason => format!("{reason} - {text}"),
            }
        }
        "Not Restarting" => or(&event.restart_reason, "Task exceeded restart policy"),
        "Sibling Task Failed" if !event.failed_sibling.is_empty() => {
            format!("Task's sibling {} failed", quoted(&event.failed_sibling))
        }
        "Sibling Task Failed" => "Task's sibling failed".into(),
        "Signaling" => match (event.task_signal.as_str(), event.task_signal_reason.as_str()) {
            ("", "") => "Task being sent a signal".into(),
            ("", reason) => reason.into(),
            (signal, "") => format!("Task being sent signal {signal}"),
            (signal, reason) => format!("Task being sent signal {signal}: {reason}"),
        },
        "Restart Signaled" => or(&event.restart_reason, "Task signaled to restart"),
        "Driver" => event.driver_message.clone(),
        "Leader Task Dead" => "Leader Task in Group dead".into(),
        "Reconnected" => "Client reconnected".into(),
        _ => event.message.clone(),
    }
}

fn terminated(event: &TaskEvent) -> String {
    let mut text = format!("Exit Code: {}", event.exit_code);
    if event.signal != 0 {
        text.push_str(&format!(", Signal: {}", event.signal));
    }
    if !event.message.is_empty() {
        text.push_str(&format!(", Exit Message: {}", quoted(&event.message)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::SECOND;

    #[test]
    fn each_kind_has_its_words() {
        let event = |r#type: &str| TaskEvent { r#type: r#type.into(), ..TaskEvent::default() };
        let cases = [
            (TaskEvent { display_message: "as sent".into(), ..event("Killing") }, "as sent"),
            (TaskEvent { message: "Building".into(), ..event("Task Setup") }, "Building"),
            (event("Failed Validation"), "Validation of task failed"),
            (TaskEvent { driver_error: "no such file".into(), ..event("Driver Failure") }, "no such file"),
            (TaskEvent { kill_reason: "sibling".into(), ..event("Killing") }, "Killing task: sibling"),
            (
                TaskEvent { kill_timeout: 5 * SECOND, ..event("Killing") },
                "Sent interrupt. Waiting 5s before force killing",
            ),
            (event("Killing"), "Sent interrupt"),
            (
                TaskEvent { exit_code: 1, signal: 9, message: "x".into(), ..event("Terminated") },
                "Exit Code: 1, Signal: 9, Exit Message: \"x\"",
            ),
            (
                TaskEvent {
                    start_delay: SECOND,
                    restart_reason: "Restart within policy".into(),
                    ..event("Restarting")
                },
                "Task restarting in 1s",
            ),
            (
                TaskEvent { start_delay: SECOND, restart_reason: "Exceeded".into(), ..event("Restarting") },
                "Exceeded - Task restarting in 1s",
            ),
            (event("Not Restarting"), "Task exceeded restart policy"),
            (TaskEvent { failed_sibling: "a".into(), ..event("Sibling Task Failed") }, "Task's sibling \"a\" failed"),
            (
                TaskEvent { task_signal: "SIGHUP".into(), task_signal_reason: "why".into(), ..event("Signaling") },
                "Task being sent signal SIGHUP: why",
            ),
            (event("Signaling"), "Task being sent a signal"),
            (event("Restart Signaled"), "Task signaled to restart"),
            (TaskEvent { driver_message: "pulling".into(), ..event("Driver") }, "pulling"),
            (event("Leader Task Dead"), "Leader Task in Group dead"),
        ];
        for (event, want) in cases {
            assert_eq!(describe(&event), want);
        }
    }
}
