//! A program. Processes that it started are not ended with it: that would need a job object.

use std::io;

use tokio::process::{Child, Command};

/// A program that runs.
pub(super) struct Processes {
    child: Child,
}

impl Processes {
    /// Starts a program.
    ///
    /// # Errors
    /// The system does not start it.
    pub(super) fn start(program: &mut Command) -> io::Result<Processes> {
        Ok(Processes { child: program.spawn()? })
    }

    /// The program.
    pub(super) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// Ends the program.
    pub(super) fn kill(&mut self) {
        // A program that has ended by itself is none to end.
        let _ = self.child.start_kill();
    }

    /// Waits until the program has ended.
    ///
    /// # Errors
    /// The system does not tell.
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        self.child.wait().await.map(drop)
    }
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.kill();
    }
}
