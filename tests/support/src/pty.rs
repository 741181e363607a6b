//! A command on a pseudo terminal, and what its screen shows.

use std::io::{Read, Write};
use std::num::NonZeroU16;
use std::os::fd::AsFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pty_process::Size;
use pty_process::blocking::{Pts, Pty, open};
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::tcgetattr;

/// The pause between two checks whether a child has ended.
const STATUS_INTERVAL: Duration = Duration::from_millis(5);

/// Rows that are kept after they scrolled away.
const SCROLLBACK: usize = 1000;

/// A command that runs on a pseudo terminal of its own. It is killed when this is dropped.
pub struct Terminal {
    pty: Arc<Pty>,
    child: Child,
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
    /// Held until the command has ended, so that no output is lost and the modes can be read.
    pts: Option<Pts>,
    modes_before: Modes,
}

/// A command for a terminal, without arguments.
///
/// The program `setsid` makes the terminal the controlling one: what does that in this process, between fork and exec,
/// copies the tables of its memory each time, which take longer than the command. The command takes signals as
/// commands of a shell do, also if this test ignores them: a shell starts what runs in the background that way, `nohup`
/// what outlives the terminal, and whatever these start inherits it.
pub fn command(program: &str) -> Command {
    let inner = interruptible(program);
    let mut command = Command::new("/usr/bin/setsid");
    command.arg("--ctty").arg(inner.get_program()).args(inner.get_args());
    command
}

/// A command that gets signals, also if the tests were started to ignore them, as background jobs of scripts are.
pub fn interruptible(program: &str) -> Command {
    if !ignores_signals() {
        return Command::new(program);
    }
    let mut command = Command::new("/usr/bin/env");
    command.arg("--default-signal=HUP,INT,QUIT,TERM").arg(program);
    command
}

/// Whether this process ignores a signal that ends commands.
fn ignores_signals() -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status());
    let ignored = status.map_or(0, |status| status.sigign);
    let ends = [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM];
    ends.iter().any(|signal| ignored >> (signal.as_raw() - 1) & 1 == 1)
}

/// Runs a command on a terminal, closes the terminal once it shows a text, and waits until the command has ended, each at
/// most for `bound`. A [`command()`] gets a signal as well; others have to notice that the terminal is gone.
pub fn hang_up(mut command: Command, shows: &str, bound: Duration) -> Result<ExitStatus, String> {
    let (pty, pts) = open().expect("a pseudo terminal");
    pty.resize(Size::new(24, 80)).expect("the size of the terminal");
    let stream = || pts.as_fd().try_clone_to_owned().expect("the terminal");
    let mut child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().expect("the command starts");
    drop((command, pts));
    let (end, mut seen) = (Instant::now() + bound, Vec::new());
    while !String::from_utf8_lossy(&seen).contains(shows) {
        let mut fds = [rustix::event::PollFd::new(&pty, rustix::event::PollFlags::IN)];
        let wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 50_000_000 };
        let ready = rustix::event::poll(&mut fds, Some(&wait)).expect("the terminal");
        let mut buffer = [0; 4096];
        let read = if ready > 0 { (&pty).read(&mut buffer).unwrap_or(0) } else { 0 };
        seen.extend_from_slice(buffer.get(..read).unwrap_or_default());
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("no {shows:?} in {:?}", String::from_utf8_lossy(&seen)));
        }
    }
    drop(pty);
    let end = Instant::now() + bound;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return Ok(status);
        }
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return Err("the command does not end".to_string());
        }
        std::thread::sleep(STATUS_INTERVAL);
    }
}

/// The modes of a terminal, as a text that can be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes(String);

impl Modes {
    fn of(pts: &Pts) -> Modes {
        let modes = tcgetattr(pts).expect("the modes of the terminal");
        let (input, output) = (modes.input_modes, modes.output_modes);
        Modes(format!("{input:?} {output:?} {:?} {:?}", modes.control_modes, modes.local_modes))
    }
}

/// How a command ended.
pub struct Exit {
    pub status: ExitStatus,
    /// Whether the modes of the terminal are those it had at first.
    pub modes_restored: bool,
}

/// What the thread that reads the terminal shares with the test.
struct Shared {
    output: Mutex<Output>,
    changed: Condvar,
}

/// What the command has written so far.
struct Output {
    parser: vt100::Parser<Queries>,
    raw: Vec<u8>,
    closed: bool,
}

/// Answers to the questions that programs ask terminals, not yet sent.
#[derive(Default)]
struct Queries {
    answers: Vec<u8>,
}

impl vt100::Callbacks for Queries {
    fn unhandled_csi(
        &mut self,
        screen: &mut vt100::Screen,
        first: Option<u8>,
        _: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        match (first, params, last) {
            // Primary device attributes: a VT100 with advanced video.
            (None, [] | [[0]], 'c') => self.answers.extend(b"\x1b[?1;2c"),
            // The position of the cursor.
            (None, [[6]], 'n') => {
                let (row, column) = screen.cursor_position();
                self.answers.extend(format!("\x1b[{};{}R", row.saturating_add(1), column.saturating_add(1)).bytes());
            }
            _ => {}
        }
    }
}

/// A screen at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Screen {
    /// The rows, without blanks at their ends.
    pub rows: Vec<String>,
    /// Row and column of the cursor, from 0.
    pub cursor: (u16, u16),
}

impl Screen {
    /// The row of the cursor up to the cursor.
    pub fn before_cursor(&self) -> String {
        let (row, column) = self.cursor;
        let text = self.rows.get(usize::from(row)).map_or("", String::as_str);
        let width = usize::from(column);
        format!("{:width$}", text.chars().take(width).collect::<String>())
    }

    /// All rows as one text.
    pub fn text(&self) -> String {
        self.rows.join("\n").trim_end().to_string()
    }
}

impl Terminal {
    /// Runs a [`command()`] on a terminal of this size. `command` decides about its environment and directory.
    pub fn spawn(mut command: Command, rows: u16, columns: u16) -> Terminal {
        let (pty, pts) = open().expect("a pseudo terminal");
        pty.resize(Size::new(rows, columns)).expect("the size of the terminal");
        let modes_before = Modes::of(&pts);
        let stream = || pts.as_fd().try_clone_to_owned().expect("the terminal");
        let child = command.stdin(stream()).stdout(stream()).stderr(stream()).spawn().expect("the command starts");
        // Its copies of the terminal are closed.
        drop(command);
        let size = |n| NonZeroU16::new(n).expect("a terminal with rows and columns");
        let parser = vt100::Parser::new_with_callbacks(size(rows), size(columns), SCROLLBACK, Queries::default());
        let output = Mutex::new(Output { parser, raw: Vec::new(), closed: false });
        let shared = Arc::new(Shared { output, changed: Condvar::new() });
        let pty = Arc::new(pty);
        let reader = std::thread::spawn({
            let (pty, shared) = (pty.clone(), shared.clone());
            move || shared.follow(&pty)
        });
        Terminal { pty, child, shared, reader: Some(reader), pts: Some(pts), modes_before }
    }

    /// The ID of the process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to the command.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the command runs");
    }

    /// Types keys.
    pub fn send(&self, keys: &str) {
        (&*self.pty).write_all(keys.as_bytes()).expect("keys are read");
    }

    /// The screen as it is now.
    pub fn screen(&self) -> Screen {
        self.shared.lock().screen()
    }

    /// All bytes that were written to the terminal.
    pub fn raw(&self) -> Vec<u8> {
        self.shared.lock().raw.clone()
    }

    /// Waits until the screen is as wanted, at most for `bound`. The error is the last screen.
    pub fn wait_until(&self, bound: Duration, wanted: impl Fn(&Screen) -> bool) -> Result<Screen, Screen> {
        let end = Instant::now() + bound;
        let mut output = self.shared.lock();
        loop {
            let screen = output.screen();
            if wanted(&screen) {
                return Ok(screen);
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || output.closed {
                return Err(screen);
            }
            output = self.shared.changed.wait_timeout(output, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// What a function makes of the state of the terminal.
    pub fn inspect<T>(&self, look: impl FnOnce(&vt100::Screen) -> T) -> T {
        look(self.shared.lock().parser.screen())
    }

    /// Waits until a condition on the terminal and the bytes it received holds, at most for `bound`.
    pub fn holds(&self, bound: Duration, wanted: impl Fn(&vt100::Screen, &[u8]) -> bool) -> bool {
        let end = Instant::now() + bound;
        let mut output = self.shared.lock();
        while !wanted(output.parser.screen(), &output.raw) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            output = self.shared.changed.wait_timeout(output, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Waits until the command has ended and everything it wrote was read, at most for `bound`. The error is the last
    /// screen.
    pub fn wait_for_exit(&mut self, bound: Duration) -> Result<Exit, Screen> {
        let end = Instant::now() + bound;
        loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                let modes_restored = self.pts.as_ref().is_none_or(|pts| Modes::of(pts) == self.modes_before);
                self.pts = None;
                let left = end.saturating_duration_since(Instant::now());
                let output = self.shared.lock();
                drop(self.shared.changed.wait_timeout_while(output, left, |output| !output.closed));
                return Ok(Exit { status, modes_restored });
            }
            if Instant::now() > end {
                return Err(self.screen());
            }
            std::thread::sleep(STATUS_INTERVAL);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.pts = None;
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Output> {
        self.output.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads until the other end is closed.
    fn follow(&self, mut pty: &Pty) {
        let mut buffer = [0; 4096];
        loop {
            // Reading fails once no process has the terminal open.
            let read = pty.read(&mut buffer).unwrap_or(0);
            let answers = {
                let mut output = self.lock();
                let new = buffer.get(..read).unwrap_or_default();
                output.parser.process(new);
                output.raw.extend_from_slice(new);
                output.closed = read == 0;
                std::mem::take(&mut output.parser.callbacks_mut().answers)
            };
            self.changed.notify_all();
            if read == 0 {
                return;
            }
            // This fails when the command has ended, which then needs no answer.
            let _ = pty.write_all(&answers);
        }
    }
}

impl Output {
    fn screen(&self) -> Screen {
        let screen = self.parser.screen();
        let (_, columns) = screen.size();
        let rows = screen.rows(0, columns.get()).map(|row| row.trim_end().to_string()).collect();
        Screen { rows, cursor: screen.cursor_position() }
    }
}
