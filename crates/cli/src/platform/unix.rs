//! Terminals and standard streams of Unix systems.

use std::fmt;
use std::io;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::FileType;
use rustix::io::Errno;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Stream, WindowSize};

/// The size of the terminal that a stream is connected to; `None` if it has none.
pub(crate) fn window_size(stream: Stream) -> Option<WindowSize> {
    let size = match stream {
        Stream::Stdout => tcgetwinsize(io::stdout()),
        Stream::Stderr => tcgetwinsize(io::stderr()),
    };
    size.ok().map(|size| WindowSize { columns: size.ws_col, rows: size.ws_row })
}

/// The modes of the terminal that standard input is connected to.
#[derive(Clone)]
pub(crate) struct Modes(Termios);

impl fmt::Debug for Modes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modes").finish_non_exhaustive()
    }
}

impl Modes {
    /// The current modes.
    ///
    /// # Errors
    /// Standard input is not a terminal.
    pub(crate) fn current() -> io::Result<Modes> {
        Ok(Modes(tcgetattr(io::stdin())?))
    }

    /// Passes every key on to the program from now on.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn pass_keys(&self) -> io::Result<()> {
        let mut raw = self.0.clone();
        raw.make_raw();
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &raw)?)
    }

    /// Passes every key on to a question: lines of output end as before, and what was typed before is forgotten.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn pass_keys_to_question(&self) -> io::Result<()> {
        let mut raw = self.0.clone();
        raw.make_raw();
        raw.output_modes = self.0.output_modes;
        Ok(tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?)
    }

    /// Sets these modes again.
    pub(crate) fn restore(&self) {
        // A closed terminal has no modes.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

/// Waits for a key. console takes a signal that arrives while it waits for Ctrl-C; what the signal does is decided
/// elsewhere.
///
/// # Errors
/// The terminal is gone.
pub(crate) fn await_key() -> io::Result<()> {
    let keys = io::stdin();
    let mut ready = [PollFd::new(&keys, PollFlags::IN)];
    loop {
        match poll(&mut ready, None) {
            Err(Errno::INTR) => {}
            Err(e) => return Err(e.into()),
            Ok(_) if ready.iter().any(|key| key.revents().contains(PollFlags::IN)) => return Ok(()),
            Ok(_) => return Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Whether standard input is a device, such as a terminal or `/dev/null`, or closed.
pub(crate) fn is_device() -> bool {
    let status = rustix::fs::fstat(io::stdin());
    status.map_or(true, |s| FileType::from_raw_mode(s.st_mode) == FileType::CharacterDevice)
}

/// Changes of the terminal's size.
#[derive(Debug)]
pub(crate) struct Resizes(Signal);

impl Resizes {
    /// Notes changes from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// The system refuses to tell.
    pub(crate) fn listen() -> io::Result<Resizes> {
        Ok(Resizes(signal(SignalKind::window_change())?))
    }

    /// Waits for a change.
    pub(crate) async fn next(&mut self) {
        // The stream of a signal does not end.
        let _ = self.0.recv().await;
    }
}
