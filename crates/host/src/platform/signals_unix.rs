//! Signals that end a process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal that asks a process to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndSignal {
    /// SIGINT.
    Interrupt,
    /// SIGTERM.
    Terminate,
    /// SIGHUP.
    Hangup,
}

impl EndSignal {
    const ALL: [EndSignal; 3] = [EndSignal::Interrupt, EndSignal::Terminate, EndSignal::Hangup];

    fn kind(self) -> SignalKind {
        match self {
            EndSignal::Interrupt => SignalKind::interrupt(),
            EndSignal::Terminate => SignalKind::terminate(),
            EndSignal::Hangup => SignalKind::hangup(),
        }
    }

    /// Its number.
    pub fn number(self) -> i32 {
        self.kind().as_raw_value()
    }
}

/// The signals that ask this process to end.
#[derive(Debug)]
pub struct EndSignals([Option<Signal>; 3]);

impl EndSignals {
    /// Receives the signals from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// The system refuses to deliver them.
    pub fn listen() -> io::Result<EndSignals> {
        let [interrupt, terminate, hangup] = EndSignal::ALL.map(|one| signal(one.kind()));
        Ok(EndSignals([Some(interrupt?), Some(terminate?), Some(hangup?)]))
    }

    /// The same, without those that the process was started to ignore (`nohup`, background jobs of scripts), as far as the
    /// system tells which these are, and without those that it refuses to deliver.
    pub fn listen_unless_ignored() -> EndSignals {
        let ignored = ignored();
        EndSignals(EndSignal::ALL.map(|one| if ignored & bit(one) == 0 { signal(one.kind()).ok() } else { None }))
    }

    /// Waits for one of them.
    pub async fn next(&mut self) -> EndSignal {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            () = arrives(interrupt) => EndSignal::Interrupt,
            () = arrives(terminate) => EndSignal::Terminate,
            () = arrives(hangup) => EndSignal::Hangup,
        }
    }
}

/// Waits for a signal; forever if nothing listens.
async fn arrives(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

/// The bit of a signal in a set of signals.
fn bit(signal: EndSignal) -> u64 {
    1_u64.checked_shl(signal.number().unsigned_abs().saturating_sub(1)).unwrap_or(0)
}

/// The signals that the process was started to ignore, one bit each, from 1 up.
#[cfg(target_os = "linux")]
fn ignored() -> u64 {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    status.map_or(0, |status| status.sigign)
}

/// None: only `/proc` tells.
#[cfg(not(target_os = "linux"))]
fn ignored() -> u64 {
    0
}
