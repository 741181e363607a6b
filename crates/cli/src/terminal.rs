//! The terminal of this process: progress on standard error, and the clean-up after a signal.
//!
//! Ordinary output and progress share one [`Terminal`]. Writers call [`Terminal::suspend`], which hides the progress
//! while they write. No stream is locked for longer than one write: a separate thread redraws progress.

use std::fmt;
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use encamp_host::platform::signals::{EndSignal, EndSignals};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle, TermLike};
use parking_lot::Mutex;

use super::error::{CommandResult, ErrorContext};
use super::platform::{Modes, Stream, WindowSize, window_size};
use super::render::styled::one_line;
use encamp_snapshot::{live, replace};

/// The interval at which progress is redrawn without changes.
const REDRAW: Duration = Duration::from_millis(200);
/// The time limit for the clean-up after a signal: a paused terminal accepts no output.
const CLEAN_UP: Duration = Duration::from_millis(500);

/// The target of progress: standard error, with space for `^C` at the end of the line. Terminals echo `^C` at the
/// cursor; on the next row it would remain when the progress is removed.
#[derive(Debug, Default)]
struct ProgressLine {
    pending: Mutex<String>,
}

/// Erases everything from the line of the cursor on, and shows the cursor.
const ERASE_QUESTION: &[u8] = b"\r\x1b[J\x1b[?25h";
/// The columns left free for `^C`.
const ECHO_WIDTH: u16 = 3;
/// The width of a terminal that does not report its size.
const DEFAULT_WIDTH: u16 = 80;

impl ProgressLine {
    fn push(&self, text: &str) -> io::Result<()> {
        self.pending.lock().push_str(text);
        Ok(())
    }

    fn push_move(&self, n: usize, direction: char) -> io::Result<()> {
        if n == 0 { Ok(()) } else { self.push(&format!("\x1b[{n}{direction}")) }
    }
}

impl TermLike for ProgressLine {
    fn width(&self) -> u16 {
        let size = window_size(Stream::Stderr).map_or(0, |size| size.columns);
        if size == 0 { DEFAULT_WIDTH } else { size }.saturating_sub(ECHO_WIDTH).max(1)
    }

    fn height(&self) -> u16 {
        window_size(Stream::Stderr).map_or(1, |size| size.rows.max(1))
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.push_move(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.push_move(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.push_move(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.push_move(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        self.push(text)?;
        self.push("\n")
    }

    /// Trailing spaces, which would only move the cursor to the right edge, are omitted.
    fn write_str(&self, text: &str) -> io::Result<()> {
        self.push(text.trim_end_matches(' '))
    }

    fn clear_line(&self) -> io::Result<()> {
        self.push("\r\x1b[2K")
    }

    fn flush(&self) -> io::Result<()> {
        let pending = std::mem::take(&mut *self.pending.lock());
        io::stderr().write_all(pending.as_bytes())
    }
}

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Columns.
    pub width: usize,
    /// Rows.
    pub height: usize,
}

impl Size {
    /// The size of the terminal that standard output is connected to; `None` if it has none.
    pub fn of_stdout() -> Option<Size> {
        Size::of(Stream::Stdout)
    }

    /// The size of the terminal that standard error is connected to; `None` if it has none.
    pub fn of_stderr() -> Option<Size> {
        Size::of(Stream::Stderr)
    }

    fn of(stream: Stream) -> Option<Size> {
        let WindowSize { columns, rows } = window_size(stream)?;
        (columns > 0 && rows > 0).then(|| Size { width: columns.into(), height: rows.into() })
    }
}

/// How progress is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// Hidden: standard error is not a terminal.
    #[default]
    Hidden,
    /// A line for each step, without escape sequences: `TERM=dumb` or `NO_COLOR`.
    Lines,
    /// A line that is redrawn in place.
    Redrawn,
}

/// The terminal of a process. Clones share their state.
#[derive(Clone, Default)]
pub struct Terminal(Arc<State>);

#[derive(Default)]
struct State {
    mode: ProgressMode,
    bars: MultiProgress,
    /// The progress that is currently shown.
    active: AtomicUsize,
    /// The modes of the terminal before a command changed them.
    modes: Mutex<Option<Modes>>,
    /// Whether the command handles signals itself.
    handled: AtomicBool,
    /// Whether a question is drawn at and below the cursor, which may be hidden.
    question: AtomicBool,
    /// Notes the next signal for a command that then ends by itself with what it has.
    interrupt: Mutex<Option<Noting>>,
}

/// The next signal is noted.
struct Noting {
    /// Set once it has arrived.
    noted: Arc<AtomicBool>,
    /// Also SIGTERM and SIGHUP, not SIGINT alone.
    all: bool,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminal").field("mode", &self.0.mode).finish_non_exhaustive()
    }
}

impl Terminal {
    /// A terminal that shows progress on standard error in this mode.
    pub fn new(mode: ProgressMode) -> Terminal {
        let target = match mode {
            ProgressMode::Redrawn => ProgressDrawTarget::term_like(Box::<ProgressLine>::default()),
            ProgressMode::Hidden | ProgressMode::Lines => ProgressDrawTarget::hidden(),
        };
        let bars = MultiProgress::with_draw_target(target);
        Terminal(Arc::new(State { mode, bars, ..State::default() }))
    }

    /// Runs a write to the terminal while no progress is drawn.
    pub fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        if self.0.active.load(Ordering::Acquire) == 0 { write() } else { self.0.bars.suspend(write) }
    }

    /// Progress through a known number of objects. It disappears when it is dropped.
    pub fn counter(&self) -> Progress {
        Progress::new(self, "Reading {msg} [{bar:30}] {pos}/{len} {eta}")
    }

    /// Progress of unknown length. It disappears when it is dropped.
    pub fn spinner(&self) -> Progress {
        Progress::new(self, "{spinner} {elapsed} {wide_msg}")
    }

    /// Leaves SIGINT, SIGTERM and SIGHUP to the command.
    pub fn handle_signals_in_command(&self) {
        self.0.handled.store(true, Ordering::Release);
    }

    /// Notes the next SIGINT instead of ending the process, until the guard is dropped: the command then ends early, with
    /// the result so far. A second SIGINT ends the process.
    pub fn note_interrupt(&self) -> Interrupt {
        self.note(false)
    }

    /// The same for SIGINT, SIGTERM and SIGHUP: the command then undoes what it has begun and ends.
    pub fn note_signals(&self) -> Interrupt {
        self.note(true)
    }

    fn note(&self, all: bool) -> Interrupt {
        let noted = Arc::new(AtomicBool::new(false));
        *self.0.interrupt.lock() = Some(Noting { noted: noted.clone(), all });
        Interrupt { terminal: self.clone(), noted }
    }

    /// Passes every key on to the program until the guard is dropped.
    ///
    /// # Errors
    /// Standard input is not a terminal.
    pub fn raw_mode(&self) -> CommandResult<RawMode> {
        const FAILED: &str = "the terminal can't be set up";
        let before = Modes::current().context(FAILED)?;
        *self.0.modes.lock() = Some(before.clone());
        let guard = RawMode(self.clone());
        before.pass_keys().context(FAILED)?;
        Ok(guard)
    }

    /// Passes every key on to a question that is drawn on standard error from the cursor on, until the guard is dropped.
    /// What was typed before does not answer it. The question is erased if a signal ends the process.
    ///
    /// # Errors
    /// Standard input is not a terminal.
    pub fn question_mode(&self) -> io::Result<RawMode> {
        let before = Modes::current()?;
        *self.0.modes.lock() = Some(before.clone());
        let guard = RawMode(self.clone());
        self.0.question.store(true, Ordering::Release);
        before.pass_keys_to_question()?;
        Ok(guard)
    }

    fn restore_modes(&self) {
        self.0.question.store(false, Ordering::Release);
        if let Some(before) = self.0.modes.lock().take() {
            before.restore();
        }
    }

    /// Ends the process on SIGINT, SIGTERM or SIGHUP, unless the command handles signals itself. The terminal is
    /// restored: progress is removed, its modes are reset, and the cursor is at the start of a line. Incomplete files
    /// are removed.
    pub fn watch_signals(&self) {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
        // They are caught from here on: a thread may start late on a busy machine, after the command has drawn something.
        let signals = {
            let _inside = runtime.enter();
            EndSignals::listen_unless_ignored()
        };
        let terminal = self.clone();
        let _ = std::thread::Builder::new()
            .name("signals".into())
            .spawn(move || runtime.block_on(terminal.react_to_signals(signals)));
    }

    async fn react_to_signals(&self, mut signals: EndSignals) {
        loop {
            let signal = signals.next().await;
            let is_noted = |noting: &Noting| noting.all || signal == EndSignal::Interrupt;
            let interrupt = self.0.interrupt.lock().take_if(|noting| is_noted(noting));
            match interrupt {
                Some(Noting { noted, .. }) => noted.store(true, Ordering::Release),
                None if self.0.handled.load(Ordering::Acquire) => {}
                None => self.end(signal),
            }
        }
    }

    /// Cleans up and ends the process with the exit code of the signal.
    fn end(&self, signal: EndSignal) -> ! {
        let code = 128 + signal.number();
        let terminal = self.clone();
        let cleaner = std::thread::Builder::new().spawn(move || {
            if terminal.0.question.load(Ordering::Acquire) {
                // The terminal may be closed.
                let _ = io::stderr().write_all(ERASE_QUESTION);
            }
            terminal.restore_modes();
            replace::abandon();
            if terminal.0.active.load(Ordering::Acquire) > 0 {
                // Progress cannot be redrawn while it is suspended.
                terminal.0.bars.suspend(|| exit(code));
            }
            // The current write is completed, and nothing is written after the end of the line: the lock is held until the
            // process has ended.
            let mut out = io::stdout().lock();
            let _ = end_line(&mut out);
            exit(code);
        });
        if cleaner.is_ok() {
            std::thread::sleep(CLEAN_UP);
        }
        exit(code)
    }
}

/// Moves the cursor to the start of a new line if text (such as `^C`) precedes it.
fn end_line(out: &mut StdoutLock<'_>) -> io::Result<()> {
    // Text that is still buffered is otherwise written at the end of the process, after the new line.
    let _ = out.flush();
    let mut err = io::stderr();
    if err.is_terminal() {
        err.write_all(b"\n")
    } else if out.is_terminal() {
        out.write_all(b"\n").and_then(|()| out.flush())
    } else {
        Ok(())
    }
}

/// The next SIGINT is noted ([`Terminal::note_interrupt`]).
pub struct Interrupt {
    terminal: Terminal,
    noted: Arc<AtomicBool>,
}

impl Interrupt {
    /// Set once the signal has arrived.
    pub fn noted(&self) -> Arc<AtomicBool> {
        self.noted.clone()
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        *self.terminal.0.interrupt.lock() = None;
    }
}

/// The terminal passes every key on. Its modes are restored when this is dropped, or when a signal ends the process.
pub struct RawMode(Terminal);

impl Drop for RawMode {
    fn drop(&mut self) {
        self.0.restore_modes();
    }
}

/// The progress of a long operation.
pub struct Progress {
    terminal: Terminal,
    bar: Option<ProgressBar>,
}

impl Progress {
    fn new(terminal: &Terminal, template: &str) -> Progress {
        let bar = match terminal.0.mode {
            ProgressMode::Hidden | ProgressMode::Lines => None,
            ProgressMode::Redrawn => {
                let bar = terminal.0.bars.add(ProgressBar::no_length());
                if let Ok(style) = ProgressStyle::with_template(template) {
                    bar.set_style(style.progress_chars("=> "));
                }
                terminal.0.active.fetch_add(1, Ordering::AcqRel);
                bar.enable_steady_tick(REDRAW);
                Some(bar)
            }
        };
        Progress { terminal: terminal.clone(), bar }
    }

    /// Sets the message about the current step.
    pub fn say(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(one_line(what).into_owned()),
            None => self.line(what),
        }
    }

    fn line(&self, what: &str) {
        if self.terminal.0.mode == ProgressMode::Lines {
            // Errors of the progress display are ignored.
            let _ = writeln!(io::stderr(), "{}", one_line(what));
        }
    }
}

impl live::Progress for Progress {
    fn begin(&self, what: &'static str, total: u64) {
        match &self.bar {
            Some(bar) => {
                bar.reset();
                bar.set_length(total);
                bar.set_message(what);
            }
            None => self.line(&format!("Reading {what} ({total})")),
        }
    }

    fn advance(&self) {
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
            self.terminal.0.bars.remove(bar);
            self.terminal.0.active.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
