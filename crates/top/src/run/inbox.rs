//! Messages of tasks to the loop, which wakes when one comes.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc;

use crate::messages::Message;

/// The side of tasks.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    messages: mpsc::Sender<Message>,
    bell: Arc<UnixStream>,
}

/// The side of the loop.
#[derive(Debug)]
pub(super) struct Inbox {
    messages: mpsc::Receiver<Message>,
    bell: UnixStream,
}

/// Makes both sides.
pub(super) fn channel() -> io::Result<(Sender, Inbox)> {
    let (ring, bell) = UnixStream::pair()?;
    ring.set_nonblocking(true)?;
    bell.set_nonblocking(true)?;
    let (sender, receiver) = mpsc::channel();
    Ok((Sender { messages: sender, bell: Arc::new(ring) }, Inbox { messages: receiver, bell }))
}

impl Sender {
    /// Sends a message and wakes the loop. Whether the loop still runs.
    pub(super) fn send(&self, message: Message) -> bool {
        let sent = self.messages.send(message).is_ok();
        self.wake();
        sent
    }

    /// Wakes the loop.
    pub(super) fn wake(&self) {
        // A stream that is full has woken it already.
        let _ = (&*self.bell).write(&[1]);
    }
}

impl Inbox {
    /// The next message, if there is one.
    pub(super) fn next(&self) -> Option<Message> {
        // The stream is read first: what is sent after this wakes the loop again.
        let _ = (&self.bell).read(&mut [0; 64]);
        self.messages.try_recv().ok()
    }

    /// Becomes readable when a message comes.
    pub(super) fn fd(&self) -> &UnixStream {
        &self.bell
    }
}
