//! Messages of tasks to the loop, which wakes when one comes.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc;

use rustix::event::{EventfdFlags, eventfd};

use crate::messages::Message;

/// The side of tasks.
#[derive(Debug, Clone)]
pub(super) struct Sender {
    messages: mpsc::Sender<Message>,
    bell: Arc<OwnedFd>,
}

/// The side of the loop.
#[derive(Debug)]
pub(super) struct Inbox {
    messages: mpsc::Receiver<Message>,
    bell: Arc<OwnedFd>,
}

/// Makes both sides.
pub(super) fn channel() -> io::Result<(Sender, Inbox)> {
    let bell = Arc::new(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?);
    let (sender, receiver) = mpsc::channel();
    Ok((Sender { messages: sender, bell: bell.clone() }, Inbox { messages: receiver, bell }))
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
        // A counter that is full has woken it already.
        let _ = rustix::io::write(&*self.bell, &1_u64.to_ne_bytes());
    }
}

impl Inbox {
    /// The next message, if there is one.
    pub(super) fn next(&self) -> Option<Message> {
        // The counter is read first: what is sent after this wakes the loop again.
        let _ = rustix::io::read(&*self.bell, &mut [0_u8; 8]);
        self.messages.try_recv().ok()
    }

    /// Becomes readable when a message comes.
    pub(super) fn fd(&self) -> &OwnedFd {
        &self.bell
    }
}
