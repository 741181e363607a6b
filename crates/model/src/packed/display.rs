//! The sentences of task events that follow from the rest of the event (`docs/spec/client.md §28`).

use std::fmt::{self, Write};

use crate::alloc::TaskEvent;
use crate::modes::TaskEventType;
use crate::time::format_duration;

/// The reason of a restart that the display message does not repeat.
pub const RESTART_WITHIN_POLICY: &str = "Restart within policy";

impl TaskEvent {
    /// The sentence for operators that follows from the type and the other members. Events with another reason have a
    /// `display_message` of their own.
    pub fn composed_display(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        let _ = self.write_display(&mut out);
        out
    }

    /// Whether the display message is the composed one.
    pub(super) fn has_composed_display(&self) -> bool {
        let mut rest = Expected(&self.display_message);
        self.write_display(&mut rest).is_ok() && rest.0.is_empty()
    }

    fn write_display(&self, out: &mut impl Write) -> fmt::Result {
        let mut or = |text: &str, otherwise: &str| out.write_str(if text.is_empty() { otherwise } else { text });
        match &self.r#type {
            TaskEventType::Received => or("Task received by client", ""),
            TaskEventType::TaskSetup => or("Building Task Directory", ""),
            TaskEventType::Started => or("Task started by client", ""),
            TaskEventType::Killing if !self.kill_reason.is_empty() || self.kill_timeout == 0 => {
                or(&self.kill_reason, "Sent interrupt")
            }
            TaskEventType::Killed => or(&self.kill_error, "Task successfully killed"),
            TaskEventType::NotRestarting => or(&self.restart_reason, "Task exceeded restart policy"),
            TaskEventType::RestartSignaled => or(&self.restart_reason, "Task signaled to restart"),
            TaskEventType::Signaling => or("Task being sent a signal", ""),
            TaskEventType::LeaderTaskDead => or("Leader Task in Group dead", ""),
            TaskEventType::MainTasksDead => or("Main tasks in the group died", ""),
            TaskEventType::DriverFailure => or(&self.driver_error, "Failed to start task"),
            TaskEventType::FailedValidation => or(&self.validation_error, "Validation of task failed"),
            TaskEventType::SetupFailure => or(&self.setup_error, "Task setup failed"),
            TaskEventType::DownloadingArtifacts => or("Client is downloading artifacts", ""),
            TaskEventType::FailedArtifactDownload => or(&self.download_error, "Failed to download artifacts"),
            TaskEventType::Driver => or(&self.driver_message, ""),
            TaskEventType::Reconnected => or("Client reconnected", ""),
            TaskEventType::Killing => {
                let wait = format_duration(self.kill_timeout);
                write!(out, "Sent interrupt. Waiting {wait} before force killing")
            }
            TaskEventType::SiblingTaskFailed => write!(out, "Task's sibling \"{}\" failed", self.failed_sibling),
            TaskEventType::Terminated => self.write_exit(out),
            TaskEventType::Restarting => {
                if !matches!(self.restart_reason.as_str(), "" | RESTART_WITHIN_POLICY) {
                    write!(out, "{} - ", self.restart_reason)?;
                }
                write!(out, "Task restarting in {}", format_duration(self.start_delay))
            }
            _ => or(&self.message, ""),
        }
    }

    fn write_exit(&self, out: &mut impl Write) -> fmt::Result {
        write!(out, "Exit Code: {}", self.exit_code)?;
        if self.signal != 0 {
            write!(out, ", Signal: {}", self.signal)?;
        }
        if self.message.is_empty() { Ok(()) } else { write!(out, ", Exit Message: \"{}\"", self.message) }
    }
}

/// What is left of a text that is expected to be written; writing another one fails.
struct Expected<'a>(&'a str);

impl Write for Expected<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SECOND;

    #[test]
    fn sentences_of_all_kinds() {
        let event = |r#type: &str| TaskEvent { r#type: r#type.into(), ..Default::default() };
        for (event, want) in [
            (TaskEvent { message: "x".into(), ..event("Received") }, "Task received by client"),
            (event("Killing"), "Sent interrupt"),
            (
                TaskEvent { kill_timeout: 5 * SECOND, ..event("Killing") },
                "Sent interrupt. Waiting 5s before force killing",
            ),
            (TaskEvent { kill_timeout: SECOND, kill_reason: "why".into(), ..event("Killing") }, "why"),
            (TaskEvent { exit_code: 2, ..event("Terminated") }, "Exit Code: 2"),
            (
                TaskEvent { exit_code: 130, signal: 2, message: "x".into(), ..event("Terminated") },
                "Exit Code: 130, Signal: 2, Exit Message: \"x\"",
            ),
            (TaskEvent { start_delay: SECOND, ..event("Restarting") }, "Task restarting in 1s"),
            (TaskEvent { restart_reason: "Why".into(), ..event("Restarting") }, "Why - Task restarting in 0s"),
            (TaskEvent { failed_sibling: "a".into(), ..event("Sibling Task Failed") }, "Task's sibling \"a\" failed"),
            (event("Failed Validation"), "Validation of task failed"),
            (TaskEvent { message: "x".into(), ..event("Template") }, "x"),
            (TaskEvent { message: "x".into(), ..event("of a newer client") }, "x"),
            (event("Driver"), ""),
        ] {
            assert_eq!(event.composed_display(), want);
            let with = |text: String| TaskEvent { display_message: text, ..event.clone() }.has_composed_display();
            assert!(with(want.into()));
            assert!(!with(format!("{want}.")) && !with(format!(".{want}")), "{want}");
        }
    }
}
