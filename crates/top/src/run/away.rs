//! A command in a task, which has the terminal until it ends.

use std::io;
use std::process::Command;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};

use super::inbox::Sender;
use crate::messages::Message;

/// What has the terminal.
#[derive(Debug)]
pub(super) struct Away {
    /// The process, until it has ended.
    process: Option<Pid>,
}

impl Away {
    /// Starts the process; the loop gets a message when it ends.
    pub(super) fn start(mut command: Command, sender: Sender) -> io::Result<Away> {
        let mut child = command.spawn()?;
        let process = Pid::from_child(&child);
        thread::Builder::new().name("exec".into()).spawn(move || {
            // A process that a signal ended has no code.
            let ended = child.wait().map(|status| status.code().unwrap_or(-1)).map_err(|e| e.to_string());
            sender.send(Message::Executed(ended));
        })?;
        Ok(Away { process: Some(process) })
    }

    /// Whether the process still runs.
    pub(super) fn runs(&self) -> bool {
        self.process.is_some()
    }

    /// The process has ended; the terminal is taken again after a key.
    pub(super) fn ended(&mut self) {
        self.process = None;
    }

    /// Ends the process, because the program ends.
    pub(super) fn end(&self) {
        if let Some(process) = self.process {
            // It may have ended at this moment.
            let _ = kill_process(process, Signal::HUP);
        }
    }
}
