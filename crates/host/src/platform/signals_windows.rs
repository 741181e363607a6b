//! Events of the console that end a process.

use std::io;

use tokio::signal::windows::{CtrlBreak, CtrlC, CtrlClose, ctrl_break, ctrl_c, ctrl_close};

/// An event that asks a process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-Break.
    Terminate,
    /// The window is closed.
    Hangup,
}

impl EndSignal {
    /// The number of the signal that it corresponds to.
    pub fn number(self) -> i32 {
        match self {
            EndSignal::Interrupt => 2,
            EndSignal::Terminate => 15,
            EndSignal::Hangup => 1,
        }
    }
}

/// The events that ask this process to end.
#[derive(Debug)]
pub struct EndSignals {
    interrupt: Option<CtrlC>,
    terminate: Option<CtrlBreak>,
    hangup: Option<CtrlClose>,
}

impl EndSignals {
    /// Receives the events from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// The system refuses to deliver them.
    pub fn listen() -> io::Result<EndSignals> {
        Ok(EndSignals { interrupt: Some(ctrl_c()?), terminate: Some(ctrl_break()?), hangup: Some(ctrl_close()?) })
    }

    /// The same, without those that the system refuses to deliver.
    pub fn listen_unless_ignored() -> EndSignals {
        EndSignals { interrupt: ctrl_c().ok(), terminate: ctrl_break().ok(), hangup: ctrl_close().ok() }
    }

    /// Waits for one of them.
    pub async fn next(&mut self) -> EndSignal {
        let interrupt = async {
            match &mut self.interrupt {
                Some(event) => drop(event.recv().await),
                None => std::future::pending().await,
            }
        };
        let terminate = async {
            match &mut self.terminate {
                Some(event) => drop(event.recv().await),
                None => std::future::pending().await,
            }
        };
        let hangup = async {
            match &mut self.hangup {
                Some(event) => drop(event.recv().await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = interrupt => EndSignal::Interrupt,
            () = terminate => EndSignal::Terminate,
            () = hangup => EndSignal::Hangup,
        }
    }
}
