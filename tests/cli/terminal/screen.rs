//! The program on a pseudo terminal: keys go in, and what the terminal shows is compared.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use crate::pty::{self, Terminal};

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

/// A program on a terminal. It is killed at the end.
pub struct Screen {
    terminal: Terminal,
    command: String,
}

impl Screen {
    /// Starts a program in a directory with just these environment variables.
    pub fn start(size: Size, directory: &Path, env: &[(&str, &str)], program: &str, args: &[&str]) -> Screen {
        let mut command = pty::command(program);
        command.args(args).current_dir(directory).env_clear().envs(env.iter().copied());
        let terminal = Terminal::spawn(command, size.rows, size.columns);
        Screen { terminal, command: format!("{program} {}", args.join(" ")) }
    }

    /// Presses keys.
    pub fn press(&self, keys: &str) {
        self.terminal.send(keys);
    }

    /// Sends a signal to the program.
    pub fn signal(&self, signal: rustix::process::Signal) {
        self.terminal.signal(signal);
    }

    /// The ID of the process.
    pub fn process(&self) -> u32 {
        self.terminal.process()
    }

    /// What the terminal shows, row by row.
    pub fn contents(&self) -> String {
        self.terminal.inspect(vt100::Screen::contents)
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
        let came = self.terminal.holds(LIMIT, holds);
        assert!(came, "{}: no {what} on\n{}", self.command, self.contents());
    }

    /// Whether the terminal shows what a condition asks for, within a time.
    pub fn shows_within(&self, bound: Duration, holds: impl Fn(&str) -> bool) -> bool {
        self.terminal.holds(bound, |screen, _| holds(&screen.contents()))
    }

    /// Waits until the program ended, and checks that it left the terminal as it was.
    pub fn ends(mut self) -> Ended {
        let exit = self.terminal.wait_for_exit(LIMIT);
        let command = self.command.clone();
        let exit = exit.unwrap_or_else(|screen| panic!("{command}: does not end; the screen:\n{}", screen.text()));
        let contents = self.contents();
        self.terminal.inspect(|screen| {
            let (row, column) = screen.cursor_position();
            let rest = screen.rows(0, screen.size().1.get()).nth(row.into()).unwrap_or_default();
            assert_eq!((column, rest.trim()), (0, ""), "{command}: a line is half drawn:\n{contents}");
            assert!(!screen.hide_cursor(), "{command}: the cursor is hidden");
            assert!(!screen.alternate_screen(), "{command}: the alternate screen is left on");
            assert!(!screen.application_keypad() && !screen.application_cursor(), "{command}: the keypad is changed");
            assert!(!screen.bracketed_paste(), "{command}: bracketed paste is left on");
        });
        assert!(exit.modes_restored, "{command}: the modes of the terminal are changed");
        Ended { status: exit.status, contents, raw: self.terminal.raw(), command }
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

    /// The exit code.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or(-1)
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
