//! When a search for the worst loss ends: once its time is up, or on Ctrl-C.

use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::terminal::{Interrupt, Terminal};
use encamp_plan::stop::Stop;

/// A command with a search ends about so long after its start. Ten seconds are promised; reading the cluster, the last
/// step of a search and printing take time too.
const WHOLE: Duration = Duration::from_millis(8000);
/// The shortest time for a search, however long reading the cluster took.
const LEAST: Duration = Duration::from_millis(2500);

/// Ends a search some time after it has begun, which is when it first asks. Ctrl-C ends the process.
pub(crate) fn timed() -> Stop {
    let began = OnceLock::new();
    Stop::when(move || began.get_or_init(Instant::now).elapsed() >= WHOLE - LEAST)
}

/// A search ends after that many times the processor time that it may take, on however busy a machine.
const BUSY: u32 = 8;

/// Ends a search of this thread that has taken so much processor time.
pub(crate) fn within(time: Duration) -> Stop {
    let (began, used) = (Instant::now(), processor_time());
    Stop::when(move || {
        let elapsed = began.elapsed();
        // Processor time is at most the time that has passed, and takes longer to read.
        let taken = || processor_time().zip(used).map_or(elapsed, |(now, before)| now.saturating_sub(before));
        elapsed >= time && (elapsed >= time * BUSY || taken() >= time)
    })
}

/// The processor time of this thread, if the kernel tells.
fn processor_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}

/// The time and the signals that end the searches of a command.
pub(crate) struct SearchLimit {
    deadline: Option<Instant>,
    interrupt: Interrupt,
}

impl SearchLimit {
    /// For a command that began then. With `exact`, only a signal ends a search.
    pub(crate) fn new(began: Instant, exact: bool, terminal: &Terminal) -> SearchLimit {
        let deadline = (began + WHOLE).max(Instant::now() + LEAST);
        SearchLimit { deadline: (!exact).then_some(deadline), interrupt: terminal.note_interrupt() }
    }

    /// For a command that began then and is to end its search after this time.
    pub(crate) fn after(began: Instant, time: Duration, terminal: &Terminal) -> SearchLimit {
        SearchLimit { deadline: began.checked_add(time), interrupt: terminal.note_interrupt() }
    }

    /// Ends one of so many searches that are left, including this one: they share the time that is left.
    pub(crate) fn stop(&self, searches: u32) -> Stop {
        let noted = self.interrupt.noted();
        let now = Instant::now();
        let deadline = self.deadline.map(|d| now + d.saturating_duration_since(now) / searches.max(1));
        Stop::when(move || noted.load(Ordering::Acquire) || deadline.is_some_and(|d| Instant::now() >= d))
    }
}
