//! Signals: SIGINT, SIGTERM, SIGHUP and SIGQUIT end the loop, SIGTSTP suspends it, SIGCONT and SIGWINCH draw again.
//!
//! While a command in a task has the terminal, the signals of keys are for that command.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use super::inbox::Sender;
use crate::messages::Message;

/// Signals that came and that the loop has not seen.
#[derive(Debug, Default)]
pub(super) struct Pending {
    stopped: AtomicBool,
    continued: AtomicBool,
    resized: AtomicBool,
    /// Whether another program has the terminal.
    away: AtomicBool,
}

/// One of the flags.
type Flag = fn(&Pending) -> &AtomicBool;

impl Pending {
    /// Whether the process is to be suspended.
    pub(super) fn take_stopped(&self) -> bool {
        self.stopped.swap(false, Ordering::AcqRel)
    }

    /// Another program has the terminal from now on, or not any more.
    pub(super) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::Release);
    }

    /// Whether the process was continued.
    pub(super) fn take_continued(&self) -> bool {
        self.continued.swap(false, Ordering::AcqRel)
    }

    /// Whether the terminal has another size.
    pub(super) fn take_resized(&self) -> bool {
        self.resized.swap(false, Ordering::AcqRel)
    }
}

/// Watches the signals. Must be called inside a runtime.
pub(super) fn watch(sender: &Sender) -> io::Result<Arc<Pending>> {
    let pending = Arc::new(Pending::default());
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
        let (mut signals, sender, pending) = (signal(kind)?, sender.clone(), pending.clone());
        let of_key = [SignalKind::interrupt(), SignalKind::quit()].contains(&kind);
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if of_key && pending.away.load(Ordering::Acquire) {
                    continue;
                }
                if !sender.send(Message::End) {
                    break;
                }
            }
        });
    }
    let of = |signal: Signal| SignalKind::from_raw(signal.as_raw());
    let flags: [(SignalKind, Flag); 3] = [
        (of(Signal::TSTP), |pending| &pending.stopped),
        (of(Signal::CONT), |pending| &pending.continued),
        (SignalKind::window_change(), |pending| &pending.resized),
    ];
    for (kind, flag) in flags {
        let (mut signals, sender, pending) = (signal(kind)?, sender.clone(), pending.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                flag(&pending).store(true, Ordering::Release);
                sender.wake();
            }
        });
    }
    Ok(pending)
}
