//! A pseudo terminal with a program on it: keys go in, and what the terminal shows comes out of a screen model.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use pty_process::blocking::{Command, Pts, open};
use rustix::termios::{Termios, tcgetattr};

/// The longest wait for anything.
pub const LIMIT: Duration = Duration::from_secs(60);

/// Rows and columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub columns: u16,
    pub rows: u16,
}

/// The sizes every command is tried with.
pub const SIZES: [Size; 2] = [Size { columns: 80, rows: 24 }, Size { columns: 120, rows: 40 }];

/// Keys that are not characters.
pub const CTRL_C: &str = "\x03";
pub const CTRL_D: &str = "\x04";
pub const ENTER: &str = "\r";

/// What a terminal got so far.
struct Received {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

type Shared = Arc<(Mutex<Received>, Condvar)>;

/// A program on a terminal. It is killed at the end.
pub struct Screen {
    child: Child,
    keyboard: OwnedFd,
    /// Held so that output is not lost when the program ends, and to read the modes of the terminal.
    terminal: Option<Pts>,
    modes_before: Modes,
    received: Shared,
    reader: Option<std::thread::JoinHandle<()>>,
    command: String,
}

impl Screen {
    /// Starts a program in a directory with just these environment variables.
    pub fn start(size: Size, directory: &Path, env: &[(&str, &str)], program: &str, args: &[&str]) -> Screen {
        let (pty, terminal) = open().expect("a pseudo terminal");
        pty.resize(pty_process::Size::new(size.rows, size.columns)).expect("a size");
        let modes_before = Modes::of(&terminal);
        let mut command = Command::new(program).args(args).current_dir(directory).env_clear().envs(env.iter().copied());
        let child = command.spawn_borrowed(&terminal).unwrap_or_else(|e| panic!("{program}: {e}"));
        let cells = |n: u16| std::num::NonZeroU16::new(n).expect("a size");
        let parser = vt100::Parser::new(cells(size.rows), cells(size.columns), 1000);
        let received: Shared = Arc::new((Mutex::new(Received { parser, raw: Vec::new() }), Condvar::new()));
        let output: OwnedFd = pty.into();
        let keyboard = output.try_clone().expect("a keyboard");
        let shared = received.clone();
        let reader = std::thread::spawn(move || read(output, &shared));
        let command = format!("{program} {}", args.join(" "));
        Screen { child, keyboard, terminal: Some(terminal), modes_before, received, reader: Some(reader), command }
    }

    /// Presses keys.
    pub fn press(&self, keys: &str) {
        let mut keyboard = std::fs::File::from(self.keyboard.try_clone().expect("a keyboard"));
        keyboard.write_all(keys.as_bytes()).expect("keys");
    }

    /// What the terminal shows, row by row.
    pub fn contents(&self) -> String {
        self.received.0.lock().unwrap().parser.screen().contents()
    }

    /// Waits until the terminal shows a text.
    pub fn wait_for(&self, text: &str) {
        self.wait_until(&format!("{text:?} on the screen"), |screen, _| screen.contents().contains(text));
    }

    /// Waits until the terminal got some bytes.
    pub fn wait_for_raw(&self, bytes: &[u8]) {
        let contains = |raw: &[u8]| raw.windows(bytes.len()).any(|w| w == bytes);
        self.wait_until(&format!("{:?}", String::from_utf8_lossy(bytes)), |_, raw| contains(raw));
    }

    /// Waits until a condition on the screen and the received bytes holds.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&vt100::Screen, &[u8]) -> bool) {
        let (received, changed) = &*self.received;
        let end = Instant::now() + LIMIT;
        let mut now = received.lock().unwrap();
        while !holds(now.parser.screen(), &now.raw) {
            let left = end.saturating_duration_since(Instant::now());
            assert!(!left.is_zero(), "{}: no {what} on\n{}", self.command, now.parser.screen().contents());
            now = changed.wait_timeout(now, left).unwrap().0;
        }
    }

    /// Waits until the program ended, and checks that it left the terminal as it was.
    pub fn ends(mut self) -> Ended {
        let end = Instant::now() + LIMIT;
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(Instant::now() < end, "{}: does not end; the screen:\n{}", self.command, self.contents());
            std::thread::sleep(Duration::from_millis(2));
        };
        let modes_after = Modes::of(self.terminal.as_ref().expect("the terminal"));
        // The reader ends once it has everything.
        self.terminal = None;
        self.reader.take().expect("a reader").join().expect("a reader");
        let received = self.received.0.lock().unwrap();
        let (screen, command) = (received.parser.screen(), &self.command);
        let (row, column) = screen.cursor_position();
        let contents = screen.contents();
        let rest = screen.rows(0, screen.size().1.get()).nth(row.into()).unwrap_or_default();
        assert_eq!((column, rest.trim()), (0, ""), "{command}: a line is half drawn:\n{contents}");
        assert!(!screen.hide_cursor(), "{command}: the cursor is hidden");
        assert!(!screen.alternate_screen(), "{command}: the alternate screen is left on");
        assert!(!screen.application_keypad() && !screen.application_cursor(), "{command}: the keypad is changed");
        assert!(!screen.bracketed_paste(), "{command}: bracketed paste is left on");
        assert_eq!(modes_after, self.modes_before, "{command}: the modes of the terminal are changed");
        Ended { status, contents, raw: received.raw.clone(), command: self.command.clone() }
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(output: OwnedFd, shared: &Shared) {
    let mut output = std::fs::File::from(output);
    let mut bytes = [0; 4096];
    // Reading fails once nothing has the terminal open any more.
    while let Ok(n @ 1..) = output.read(&mut bytes) {
        let mut received = shared.0.lock().unwrap();
        received.parser.process(&bytes[..n]);
        received.raw.extend_from_slice(&bytes[..n]);
        shared.1.notify_all();
    }
}

/// The modes of a terminal, as a text that can be compared.
#[derive(Debug, PartialEq, Eq)]
struct Modes(String);

impl Modes {
    fn of(terminal: &Pts) -> Modes {
        let Termios { input_modes, output_modes, control_modes, local_modes, .. } = tcgetattr(terminal).expect("modes");
        Modes(format!("{input_modes:?} {output_modes:?} {control_modes:?} {local_modes:?}"))
    }
}

/// How a program ended.
pub struct Ended {
    status: ExitStatus,
    /// What the terminal shows.
    pub contents: String,
    /// All bytes that the terminal got.
    pub raw: Vec<u8>,
    command: String,
}

impl Ended {
    /// Checks the exit code.
    pub fn with(self, code: i32) -> Ended {
        assert_eq!(self.status.code(), Some(code), "{}: {:?}\n{}", self.command, self.status, self.contents);
        self
    }

    /// Checks that the terminal shows a text at the end.
    pub fn showing(self, text: &str) -> Ended {
        assert!(self.contents.contains(text), "{}: no {text:?} on\n{}", self.command, self.contents);
        self
    }

    /// Checks that the terminal does not show a text at the end.
    pub fn without(self, text: &str) -> Ended {
        assert!(!self.contents.contains(text), "{}: {text:?} on\n{}", self.command, self.contents);
        self
    }

    /// Checks that the terminal got no control characters but line ends and tabs.
    pub fn without_escape_sequences(self) -> Ended {
        let text = String::from_utf8_lossy(&self.raw);
        let bad = text.chars().find(|c| c.is_control() && !"\r\n\t".contains(*c));
        assert_eq!(bad, None, "{}: {text:?}", self.command);
        self
    }
}
