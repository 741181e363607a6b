//! Signals that end or suspend the loop.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};

use crate::model::Message;

/// SIGINT, SIGTERM, SIGHUP and SIGQUIT end the loop, SIGTSTP sets that it is to be suspended. Must be called inside a
/// runtime.
///
/// # Errors
/// The system refuses to deliver them.
pub(crate) fn watch(sender: Sender<Message>, stopped: Arc<AtomicBool>) -> io::Result<()> {
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup(), SignalKind::quit()] {
        let (mut signals, sender) = (signal(kind)?, sender.clone());
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if sender.send(Message::End).is_err() {
                    break;
                }
            }
        });
    }
    let mut stop = signal(SignalKind::from_raw(Signal::TSTP.as_raw()))?;
    tokio::spawn(async move {
        while stop.recv().await.is_some() {
            stopped.store(true, Ordering::Release);
        }
    });
    Ok(())
}

/// Stops this process until it is told to continue.
///
/// # Errors
/// The system refuses.
pub(crate) fn stop_process() -> io::Result<()> {
    kill_process(getpid(), Signal::STOP).map_err(io::Error::from)
}
