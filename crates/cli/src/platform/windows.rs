//! The console of Windows.

use std::io::{self, IsTerminal};
use std::time::Duration;

use console::Term;
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::{Stream, WindowSize};

/// How often the size of the console is read: a process is not told of changes unless it reads keys as events.
const LOOK: Duration = Duration::from_millis(500);

/// The size of the console that a stream is connected to; `None` if it has none.
pub(crate) fn window_size(stream: Stream) -> Option<WindowSize> {
    let term = match stream {
        Stream::Stdout => Term::stdout(),
        Stream::Stderr => Term::stderr(),
    };
    term.size_checked().map(|(rows, columns)| WindowSize { columns, rows })
}

/// The modes of the console.
#[derive(Debug, Clone)]
pub(crate) struct Modes;

impl Modes {
    /// The current modes.
    ///
    /// # Errors
    /// Standard input is not a console.
    pub(crate) fn current() -> io::Result<Modes> {
        if io::stdin().is_terminal() { Ok(Modes) } else { Err(io::Error::other("standard input is not a console")) }
    }

    /// Passes every key on to the program from now on.
    ///
    /// # Errors
    /// The console is gone.
    pub(crate) fn pass_keys(&self) -> io::Result<()> {
        enable_raw_mode()
    }

    /// Passes every key on to a question.
    ///
    /// # Errors
    /// The console is gone.
    pub(crate) fn pass_keys_to_question(&self) -> io::Result<()> {
        enable_raw_mode()
    }

    /// Sets the usual modes again.
    pub(crate) fn restore(&self) {
        // A closed console has no modes.
        let _ = disable_raw_mode();
    }
}

/// Does nothing: the next read waits for a key.
///
/// # Errors
/// None.
pub(crate) fn await_key() -> io::Result<()> {
    Ok(())
}

/// Whether standard input is a console.
pub(crate) fn is_device() -> bool {
    io::stdin().is_terminal()
}

/// Changes of the console's size.
#[derive(Debug)]
pub(crate) struct Resizes {
    ticks: Interval,
    last: Option<WindowSize>,
}

impl Resizes {
    /// Notes changes from now on. Must be called inside a runtime.
    ///
    /// # Errors
    /// None.
    pub(crate) fn listen() -> io::Result<Resizes> {
        let mut ticks = interval(LOOK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Resizes { ticks, last: window_size(Stream::Stdout) })
    }

    /// Waits for a change.
    pub(crate) async fn next(&mut self) {
        loop {
            self.ticks.tick().await;
            let now = window_size(Stream::Stdout);
            if now != self.last {
                self.last = now;
                return;
            }
        }
    }
}
