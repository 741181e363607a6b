//! Questions with one answer each, asked with dialoguer on standard error.
//!
//! dialoguer reads the terminal itself and raises SIGINT when Ctrl-C is pressed, which is noted here, so that the
//! terminal is restored before the command ends. It ignores Ctrl-D.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use console::Term;
use dialoguer::{Input, Select};

use super::Cancelled;
use crate::render::table::shortened;
use crate::terminal::{Interrupt, RawMode, Terminal};

/// The longest time between raising a signal and its arrival.
const ARRIVAL: Duration = Duration::from_millis(500);

/// What dialoguer prints before items and errors.
const ITEM_MARK: &str = "> ";
const ERROR_MARK: &str = "error: ";

/// Why an answer is not accepted.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("Enter a whole number from {0} up.")]
    Number(u32),
    #[error("There is no word.")]
    NoWord,
    #[error("A quotation mark has no counterpart.")]
    Quotation,
}

/// A terminal on which questions are asked, until this is dropped.
pub(crate) struct Questions {
    term: Term,
    interrupt: Interrupt,
    _keys: RawMode,
}

impl Questions {
    /// Prepares the terminal. The terminal may be gone.
    pub(crate) fn new(terminal: &Terminal) -> Result<Questions, Cancelled> {
        let interrupt = terminal.note_interrupt();
        let keys = terminal.question_mode().map_err(|_| Cancelled::Left)?;
        Ok(Questions { term: Term::stderr(), interrupt, _keys: keys })
    }

    /// Lets the operator choose one of several things, of which the first is marked: each has a name and an explanation.
    /// The number of the chosen one.
    pub(crate) fn select(&self, what: &str, things: &[(&str, &str)]) -> Result<usize, Cancelled> {
        let width = things.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
        let item = |(name, about): &(&str, &str)| shortened(&format!("{name:width$}  {about}"), self.room(ITEM_MARK));
        let items: Vec<String> = things.iter().map(item).collect();
        let select = Select::new().with_prompt(what).items(&items).default(0).report(false);
        // The question stands above the items.
        let answer = self.answer(select.interact_on_opt(&self.term), items.len().saturating_add(1))?;
        let number = answer.ok_or(Cancelled::Left)?;
        let name = things.get(number).map_or("", |(name, _)| name);
        self.say(&format!("{what}: {name}"))?;
        Ok(number)
    }

    /// Asks for a number that is at least `least`.
    pub(crate) fn number(&self, what: &str, least: u32, default: u32) -> Result<u32, Cancelled> {
        let read = |text: &str| match text.trim().parse::<u32>() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(Unreadable::Number(least)),
        };
        self.input(what, &default.to_string(), read)
    }

    /// Asks for the words of a command line.
    pub(crate) fn words(&self, what: &str, default: &str) -> Result<Vec<String>, Cancelled> {
        let read = |text: &str| match shell_words::split(text) {
            Ok(words) if words.is_empty() => Err(Unreadable::NoWord),
            Ok(words) => Ok(words),
            Err(_) => Err(Unreadable::Quotation),
        };
        self.input(what, default, read)
    }

    /// Asks for a text until it can be read.
    fn input<T>(
        &self,
        what: &str,
        default: &str,
        read: impl Fn(&str) -> Result<T, Unreadable>,
    ) -> Result<T, Cancelled> {
        // An error stands above the question that is repeated.
        let wrong = Cell::new(false);
        let valid = |text: &String| {
            let read = read(text).map(drop);
            wrong.set(read.is_err());
            read.map_err(|error| shortened(&error.to_string(), self.room(ERROR_MARK)))
        };
        let input = Input::<String>::new().with_prompt(what).default(default.to_string()).report(false);
        let answered = input.validate_with(valid).interact_text_on(&self.term);
        let text = self.answer(answered, wrong.get().into())?;
        self.say(&format!("{what}: {text}"))?;
        // What was valid can be read.
        read(&text).map_err(|_| Cancelled::Left)
    }

    /// An answer. If there is none, the lines of the question are erased: those above the cursor, and its own.
    fn answer<T>(&self, answered: dialoguer::Result<T>, above: usize) -> Result<T, Cancelled> {
        let dialoguer::Error::IO(e) = match answered {
            Ok(answer) => return Ok(answer),
            Err(e) => e,
        };
        let interrupted = e.kind() == io::ErrorKind::Interrupted;
        if interrupted {
            self.await_interrupt();
        }
        // The terminal may be gone.
        let _ = self.term.clear_line().and_then(|()| self.term.clear_last_lines(above));
        let _ = self.term.show_cursor();
        Err(if interrupted { Cancelled::Interrupted } else { Cancelled::Left })
    }

    /// Waits for the signal that reading has raised.
    fn await_interrupt(&self) {
        let noted = self.interrupt.noted();
        let end = Instant::now() + ARRIVAL;
        while !noted.load(Ordering::Acquire) && Instant::now() < end {
            std::thread::yield_now();
        }
    }

    /// The columns behind a mark: dialoguer erases the wrong lines if the terminal wraps one.
    fn room(&self, mark: &str) -> usize {
        let (_, columns) = self.term.size();
        usize::from(columns).saturating_sub(mark.len()).saturating_sub(1)
    }

    fn say(&self, line: &str) -> Result<(), Cancelled> {
        self.term.write_line(line).map_err(|_| Cancelled::Left)
    }
}
