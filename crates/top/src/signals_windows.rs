//! Events of the console that end the loop. Nothing suspends a process.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Sender;

use encamp_host::platform::signals::EndSignals;

use crate::model::Message;

/// Ctrl-C, Ctrl-Break and the end of the window end the loop. Must be called inside a runtime.
///
/// # Errors
/// The system refuses to deliver them.
pub(crate) fn watch(sender: Sender<Message>, _: Arc<AtomicBool>) -> io::Result<()> {
    let mut signals = EndSignals::listen()?;
    tokio::spawn(async move {
        loop {
            signals.next().await;
            if sender.send(Message::End).is_err() {
                break;
            }
        }
    });
    Ok(())
}

/// Does nothing: this system cannot stop a process for a while.
///
/// # Errors
/// None.
pub(crate) fn stop_process() -> io::Result<()> {
    Ok(())
}
