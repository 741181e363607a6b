//! Sessions that connect this program's standard streams to a command in a task (`docs/spec/cli.md §8.11`, `§9.2`).

use std::io::{IsTerminal, Read, Write};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{MissedTickBehavior, interval};

use super::connection::Connection;
use super::error::{CommandError, CommandResult, ErrorContext};
use super::flags::FlagKind;
use super::platform::{Resizes, Stream, window_size};
use super::render::ui::Ui;
use encamp_api::exec::Event;
use encamp_api::{Client, Query};

/// The interval of keep-alive messages.
const KEEP_ALIVE: Duration = Duration::from_secs(10);

/// The flags of a session.
#[derive(Debug, clap::Args)]
pub struct SessionFlags {
    /// Pass standard input to the command
    #[arg(long = "i", switch = Some(true))]
    pub interactive: bool,
    /// Allocate a pseudo-terminal. Default: if standard input and output are terminals
    #[arg(long = "t", switch = None)]
    pub tty: Option<bool>,
    /// Escape character for sessions with a pseudo-terminal, or none
    #[arg(long = "e", value_name = "character", default_value = "~")]
    pub escape: String,
}

/// An error about the flags of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// A terminal without input.
    #[error("-i must be enabled if running with tty")]
    NoInput,
    /// The escape character is not one character.
    #[error("-e requires 'none' or a single character")]
    Escape,
}

impl SessionFlags {
    /// Creates the session from the flags; `both` stands for `-i -t`. Errors are usage errors.
    pub fn session(&self, both: bool) -> Result<Session, SessionError> {
        let tty = if both { Some(true) } else { self.tty };
        Session::new(self.interactive || both, tty, &self.escape)
    }
}

/// A session.
#[derive(Debug, Clone, Copy)]
pub struct Session {
    /// Whether standard input is passed to the command.
    pub interactive: bool,
    /// Whether the command has a terminal: this one, in raw mode.
    pub tty: bool,
    /// The escape character, which is recognised at the beginning of a line.
    pub escape: Option<u8>,
}

impl Session {
    /// Detects whether there is a terminal if no flag says so, and parses the escape character.
    fn new(interactive: bool, tty: Option<bool>, escape: &str) -> Result<Session, SessionError> {
        let both = || std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        let tty = tty.unwrap_or_else(|| interactive && both());
        if tty && !interactive {
            return Err(SessionError::NoInput);
        }
        let escape = match escape.as_bytes() {
            b"none" | b"" => None,
            [one] => Some(*one),
            _ => return Err(SessionError::Escape),
        };
        Ok(Session { interactive, tty, escape: escape.filter(|_| tty) })
    }

    /// Runs a command and returns its exit code; an error describes a broken stream.
    pub fn run(&self, connection: &Connection, ui: &mut Ui<'_>, path: &str, query: &Query) -> CommandResult<u8> {
        let query = query.clone().with("tty", self.tty.to_string());
        let raw = if self.tty { Some(ui.terminal().raw_mode()?) } else { None };
        let ended = connection.wait(self.stream(&connection.client, ui, path, &query));
        drop(raw);
        match ended? {
            Ended::Exited(code) => Ok(code),
            Ended::Escaped => {
                ui.error_plain("\nConnection closed");
                Ok(0)
            }
        }
    }

    async fn stream(&self, client: &Client, ui: &mut Ui<'_>, path: &str, query: &Query) -> CommandResult<Ended> {
        let (mut input, mut output) = client.exec(path, query).await?;
        let mut typed = if self.interactive { stdin() } else { unbounded_channel().1 };
        let mut reading = self.interactive;
        // A command may exit before it has read all of its input: its output and its exit code must still be read.
        let mut sent = if self.interactive { Ok(()) } else { input.close().await };
        let mut resized = Resizes::listen()?;
        if self.tty
            && sent.is_ok()
            && let Some(size) = window_size(Stream::Stdout)
        {
            sent = input.resize(size.rows, size.columns).await;
        }
        let mut escapes = Escapes::new(self.escape);
        let mut ticks = interval(KEEP_ALIVE);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                event = output.next() => match event {
                    Ok(Event::Stdout(bytes)) => write(ui.stdout(), &bytes)?,
                    Ok(Event::Stderr(bytes)) => write(ui.stderr(), &bytes)?,
                    Ok(Event::Exited(code)) => {
                        // The server need not receive this message.
                        let _ = input.end().await;
                        return Ok(Ended::Exited(u8::try_from(code.clamp(0, 255)).unwrap_or(255)));
                    }
                    Ok(Event::Closed(reason)) => return Err(broken(sent, reason)),
                    Err(e) => return Err(broken(sent, e)),
                },
                bytes = typed.recv(), if reading && sent.is_ok() => match bytes {
                    Some(bytes) => {
                        let (pass, ended) = escapes.filter(&bytes);
                        if !pass.is_empty() {
                            sent = input.send(&pass).await;
                        }
                        if ended {
                            let _ = input.end().await;
                            return Ok(Ended::Escaped);
                        }
                    }
                    None => {
                        reading = false;
                        sent = input.close().await;
                    }
                },
                () = resized.next(), if self.tty && sent.is_ok() => {
                    if let Some(size) = window_size(Stream::Stdout) {
                        sent = input.resize(size.rows, size.columns).await;
                    }
                }
                _ = ticks.tick(), if sent.is_ok() => sent = input.keep_alive().await,
            }
        }
    }
}

/// Why a stream ended.
enum Ended {
    Exited(u8),
    /// By the escape character.
    Escaped,
}

/// The error of a stream that has ended. An earlier failure to write to it explains more than `reason`.
fn broken(sent: std::io::Result<()>, reason: impl std::fmt::Display) -> CommandError {
    sent.context("the stream broke").err().unwrap_or_else(|| CommandError::new(reason))
}

fn write(to: &mut dyn Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes).and_then(|()| to.flush())
}

/// The typed input. The thread ends with the input or with the program.
fn stdin() -> UnboundedReceiver<Vec<u8>> {
    let (tell, typed) = unbounded_channel();
    std::thread::spawn(move || {
        let mut bytes = [0_u8; 4096];
        let mut stdin = std::io::stdin().lock();
        loop {
            match stdin.read(&mut bytes) {
                Ok(0) | Err(_) => return,
                Ok(n) if tell.send(bytes.get(..n).unwrap_or_default().to_vec()).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    typed
}

/// Detects the escape character at the beginning of lines.
struct Escapes {
    escape: Option<u8>,
    line_begins: bool,
    /// Whether the escape character was typed and not yet passed on.
    held: bool,
}

impl Escapes {
    fn new(escape: Option<u8>) -> Escapes {
        Escapes { escape, line_begins: true, held: false }
    }

    /// The part of the typed bytes to pass on, and whether to close the stream.
    fn filter(&mut self, bytes: &[u8]) -> (Vec<u8>, bool) {
        let Some(escape) = self.escape else { return (bytes.to_vec(), false) };
        let mut pass = Vec::with_capacity(bytes.len());
        for byte in bytes {
            if std::mem::take(&mut self.held) {
                match *byte {
                    b'.' => return (pass, true),
                    // Typed twice, the escape character is sent once.
                    b if b == escape => {}
                    _ => pass.push(escape),
                }
            } else if self.line_begins && *byte == escape {
                self.held = true;
                self.line_begins = false;
                continue;
            }
            pass.push(*byte);
            self.line_begins = matches!(byte, b'\n' | b'\r');
        }
        (pass, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_escape_character_counts_at_the_beginning_of_lines() {
        let typed = |parts: &[&str]| {
            let mut escapes = Escapes::new(Some(b'~'));
            let mut all = Vec::new();
            for part in parts {
                let (pass, ended) = escapes.filter(part.as_bytes());
                all.extend(pass);
                if ended {
                    all.extend(b"<end>");
                    break;
                }
            }
            String::from_utf8(all).unwrap()
        };
        assert_eq!(typed(&["a~.b\r", "~", ".x"]), "a~.b\r<end>");
        assert_eq!(typed(&["~~.\n~x"]), "~.\n~x");
        assert_eq!(typed(&["~", "."]), "<end>");
        let mut none = Escapes::new(None);
        assert_eq!(none.filter(b"~."), (b"~.".to_vec(), false));
    }

    #[test]
    fn a_terminal_needs_input_and_escapes_are_one_character() {
        assert_eq!(
            Session::new(false, Some(true), "~").unwrap_err().to_string(),
            "-i must be enabled if running with tty"
        );
        let error = Session::new(true, Some(false), "ab").unwrap_err();
        assert_eq!(error.to_string(), "-e requires 'none' or a single character");
        assert_eq!(Session::new(true, Some(true), "none").unwrap().escape, None);
        assert_eq!(Session::new(true, Some(true), "~").unwrap().escape, Some(b'~'));
    }
}
