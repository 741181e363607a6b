//! The terminal while it shows the views. It is restored when the screen is dropped, and when the program panics.

use std::io::{self, Stdout, Write as _, stdout};
use std::panic;
use std::sync::Once;

use crossterm::cursor::Show;
use crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::{Backend as _, CrosstermBackend};
use ratatui::layout::Size;
use ratatui::{Frame, Terminal};
use rustix::io::Errno;

/// The most bytes of keys that are read at once.
const MAX_READ: usize = 4096;

/// The terminal.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    /// Takes the terminal.
    pub(super) fn open() -> io::Result<Screen> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |information| {
                restore();
                before(information);
            }));
        });
        let opened = take().and_then(|()| terminal());
        Ok(Screen { terminal: opened.inspect_err(|_| restore())? })
    }

    /// Draws what has changed.
    pub(super) fn draw(&mut self, content: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(content).map(drop)
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> io::Result<Size> {
        self.terminal.backend().size()
    }

    /// Takes the terminal again, after another program used it, and forgets what it showed.
    pub(super) fn reopen(&mut self) -> io::Result<()> {
        take()?;
        self.terminal = terminal()?;
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

/// What was typed; `None`: the terminal is gone.
pub(super) fn read() -> io::Result<Option<Vec<u8>>> {
    let mut bytes = vec![0; MAX_READ];
    match rustix::io::read(rustix::stdio::stdin(), bytes.as_mut_slice()) {
        Ok(0) | Err(Errno::IO) => Ok(None),
        Ok(length) => {
            bytes.truncate(length);
            Ok(Some(bytes))
        }
        Err(Errno::INTR | Errno::AGAIN) => Ok(Some(Vec::new())),
        Err(e) => Err(e.into()),
    }
}

/// Writes a line while the terminal is not taken.
pub(super) fn say(text: &str) -> io::Result<()> {
    writeln!(stdout(), "{text}")
}

/// Takes the terminal: keys come as they are pressed, and the screen is another one than that of the shell.
fn take() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(stdout(), EnterAlternateScreen, EnableMouseCapture, Clear(ClearType::All))
}

/// A screen that shows nothing. `Terminal::clear` is not used: it asks the terminal for its cursor and reads the answer
/// from standard input, together with keys.
fn terminal() -> io::Result<Terminal<CrosstermBackend<Stdout>>> {
    Terminal::new(CrosstermBackend::new(stdout()))
}

/// Gives the terminal back as it was. A terminal that is gone needs nothing.
pub(super) fn restore() {
    let _ = execute!(stdout(), DisableMouseCapture, LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}
