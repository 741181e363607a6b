//! A program in a process group of its own.

use std::io;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{Child, Command};

/// How often the end of a program is looked for. Output usually ends with it, so that it is there at the first look.
const LOOK: Duration = Duration::from_millis(10);

/// A program that runs, with the processes that it started. Until it is reaped its ID, and with it that of its group, is
/// not used again.
pub(super) struct Processes {
    child: Child,
    pid: Pid,
    /// Whether the group was killed.
    killed: bool,
}

impl Processes {
    /// Starts a program.
    ///
    /// # Errors
    /// The system does not start it.
    pub(super) fn start(program: &mut Command) -> io::Result<Processes> {
        let child = program.process_group(0).spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let pid = pid.ok_or_else(|| io::Error::other("the program has no process ID"))?;
        Ok(Processes { child, pid, killed: false })
    }

    /// The program.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Ends everything that is in the program's process group.
    pub(super) fn kill(&mut self) {
        if !self.killed {
            self.killed = true;
            // A group that has ended by itself is none to end.
            let _ = kill_process_group(self.pid, Signal::KILL);
        }
    }

    /// Waits until the program has ended, and leaves it to be reaped.
    ///
    /// # Errors
    /// The system does not tell.
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        loop {
            let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
            match waitid(WaitId::Pid(self.pid), options) {
                Ok(Some(_)) => return Ok(()),
                Ok(None) | Err(Errno::INTR) => tokio::time::sleep(LOOK).await,
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}
