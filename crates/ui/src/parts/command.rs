//! Commands of encamp that pages run, and the command lines that do the same.

use std::time::{Duration, Instant};

use maud::{Markup, html};
use serde::de::DeserializeOwned;

use super::diagnostic::{self, Diagnostics};
use super::form;
use super::state::{Tone, notice, verdict};
use crate::cluster::{CommandOutput, NoCommand, Source};
use crate::error::PageError;
use crate::files::Directory;
use crate::visit::Visit;

/// Flags that ask for JSON.
const FORMATS: [&str; 3] = ["-json", "-json-output", "-diagnostics=json"];

/// A command: what is run, and what people copy. Values are parts of their flags (`-drain=x`) or follow `--`, so that
/// none becomes a flag.
#[derive(Debug)]
pub(crate) struct Command {
    words: &'static [&'static str],
    /// With whether people copy them: flags about the form of the output are for the page alone.
    flags: Vec<(String, bool)>,
    /// Flags that only people see, with the names of their own files.
    told: Vec<String>,
    arguments: Vec<String>,
    /// What the command reads from standard input, and how people name it.
    input: Option<(Vec<u8>, String)>,
    /// What precedes the command line for people.
    before: String,
    /// Files that flags name; they are removed with the command.
    files: Option<Directory>,
}

impl Command {
    /// The command of these words.
    pub(crate) fn new(words: &'static [&'static str]) -> Command {
        Command {
            words,
            flags: Vec::new(),
            told: Vec::new(),
            arguments: Vec::new(),
            input: None,
            before: String::new(),
            files: None,
        }
    }

    /// With a flag: `-name`.
    pub(crate) fn switch(mut self, name: &str, on: bool) -> Command {
        self.flags.extend(on.then(|| (format!("-{name}"), true)));
        self
    }

    /// With a flag that has a value, if there is one: `-name=value`.
    pub(crate) fn flag(mut self, name: &str, value: Option<&str>) -> Command {
        self.flags.extend(value.map(|value| (format!("-{name}={value}"), true)));
        self
    }

    /// With a flag for each value.
    pub(crate) fn flags(self, name: &str, values: &[String]) -> Command {
        values.iter().fold(self, |command, value| command.flag(name, Some(value)))
    }

    /// With a flag that people do not need.
    pub(crate) fn quiet(mut self, flag: impl Into<String>) -> Command {
        self.flags.push((flag.into(), false));
        self
    }

    /// With a flag for people alone.
    pub(crate) fn told(mut self, flag: impl Into<String>) -> Command {
        self.told.push(flag.into());
        self
    }

    /// With an argument.
    pub(crate) fn argument(mut self, argument: impl Into<String>) -> Command {
        self.arguments.push(argument.into());
        self
    }

    /// With a text on standard input. `name`: the file that people name instead.
    pub(crate) fn input(mut self, text: impl Into<Vec<u8>>, name: impl Into<String>) -> Command {
        self.input = Some((text.into(), name.into()));
        self
    }

    /// With what precedes the command line for people, such as a command that writes the input.
    pub(crate) fn after(mut self, before: impl Into<String>) -> Command {
        self.before = before.into();
        self
    }

    /// A private file for the command: its path.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn file(&mut self, name: &str, content: Option<&[u8]>) -> Result<String, PageError> {
        let directory = match self.files.take() {
            Some(directory) => directory,
            None => Directory::new()?,
        };
        let path = self.files.insert(directory).file(name, content)?;
        Ok(path)
    }

    /// The content of a file that the command wrote.
    pub(crate) fn written(&self, name: &str) -> Option<Vec<u8>> {
        self.files.as_ref()?.read(name)
    }

    /// The arguments of the process. `json`: its output is JSON, if the command was made so.
    fn arguments(&self, json: bool) -> Vec<String> {
        let words = self.words.iter().map(ToString::to_string);
        let form = |(flag, shown): &&(String, bool)| json || *shown || !FORMATS.contains(&flag.as_str());
        let flags = self.flags.iter().filter(form).map(|(flag, _)| flag.clone());
        let mut arguments: Vec<String> = words.chain(flags).collect();
        if self.input.is_some() || !self.arguments.is_empty() {
            arguments.push("--".into());
        }
        arguments.extend(self.arguments.iter().cloned());
        arguments.extend(self.input.is_some().then(|| "-".to_string()));
        arguments
    }

    /// The command line for people. Tokens and values of variables are not part of it.
    pub(crate) fn line(&self, source: &Source) -> String {
        let mut words = vec!["encamp".to_string()];
        words.extend(self.words.iter().map(ToString::to_string));
        let shown = self.flags.iter().filter(|(_, shown)| *shown).map(|(flag, _)| flag);
        words.extend(shown.chain(&self.told).map(|flag| quoted(flag)));
        if let Source::File { name, .. } = source {
            words.push(quoted(&format!("-snapshot={name}")));
        }
        let named = self.input.as_ref().map(|(_, name)| name);
        let arguments: Vec<&String> = self.arguments.iter().chain(named).collect();
        if arguments.iter().any(|a| a.starts_with('-') && a.len() > 1) {
            words.push("--".into());
        }
        words.extend(arguments.into_iter().map(|a| quoted(a)));
        format!("{}{}", self.before, words.join(" "))
    }

    /// The same for people, with another name of its last argument: files of commands have names that nobody needs.
    pub(crate) fn named(mut self, name: &str) -> Command {
        self.arguments.pop();
        self.argument(name)
    }

    /// Runs the command.
    ///
    /// # Errors
    /// It cannot be run.
    pub(crate) async fn run(&self, visit: &Visit) -> Result<CommandOutput, PageError> {
        self.run_as(visit, true).await
    }

    async fn run_as(&self, visit: &Visit, json: bool) -> Result<CommandOutput, PageError> {
        let arguments = self.arguments(json);
        if arguments.iter().any(|a| a.contains('\0')) {
            return Err(PageError::Input("A field contains a zero byte, which no argument may have.".into()));
        }
        let input = self.input.as_ref().map(|(text, _)| text.clone()).unwrap_or_default();
        let mut output = visit.run(arguments, input).await?;
        // Nobody needs the place of files that are gone.
        if let Some(prefix) = self.files.as_ref().map(Directory::prefix) {
            output.stderr = output.stderr.replace(&prefix, "");
            if let Ok(text) = std::str::from_utf8(&output.stdout)
                && text.contains(&prefix)
            {
                output.stdout = text.replace(&prefix, "").into_bytes();
            }
        }
        Ok(output)
    }

    /// Runs the command for its text, where its JSON is too long: texts are cut off by the command.
    async fn text<T>(&self, visit: &Visit) -> Result<Outcome<T>, PageError> {
        let output = self.run_as(visit, false).await?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        Ok(if text.is_empty() {
            Outcome::Failed(Failure { code: output.code, text: output.stderr, ..Failure::default() })
        } else {
            Outcome::Text(text)
        })
    }

    /// Runs the command, and reads its output as JSON. A command that did not run to its end is a failure, too.
    ///
    /// # Errors
    /// An argument cannot be passed to a process.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, visit: &Visit) -> Result<Outcome<T>, PageError> {
        let begun = Instant::now();
        let output = match self.run(visit).await {
            Ok(output) => output,
            Err(PageError::Command(NoCommand::Long(_))) => return self.text(visit).await,
            Err(PageError::Command(e)) => {
                return Ok(Outcome::Failed(Failure { text: e.to_string(), ..Failure::default() }));
            }
            Err(e) => return Err(e),
        };
        let took = begun.elapsed();
        // Diagnostics take the place of an answer.
        if let Ok(refused) = serde_json::from_slice::<Diagnostics>(&output.stdout) {
            let failure = Failure { code: output.code, text: output.stderr, diagnostics: refused.diagnostics };
            return Ok(Outcome::Failed(failure));
        }
        match serde_json::from_slice(&output.stdout) {
            Ok(value) => Ok(Outcome::Answer(Answer { value, notes: output.stderr, took })),
            Err(_) if output.stdout.is_empty() || !output.stderr.is_empty() => {
                Ok(Outcome::Failed(Failure { code: output.code, text: output.stderr, ..Failure::default() }))
            }
            Err(e) => {
                let text = format!("The output of the command can't be read: {e}");
                Ok(Outcome::Failed(Failure { code: output.code, text, ..Failure::default() }))
            }
        }
    }
}

/// What came of a command.
#[derive(Debug)]
pub(crate) enum Outcome<T> {
    Answer(Answer<T>),
    /// The answer as text.
    Text(String),
    Failed(Failure),
}

/// The answer of a command.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    pub value: T,
    /// What it wrote to standard error.
    notes: String,
    took: Duration,
}

impl<T> Answer<T> {
    /// What is said below the answer: warnings of the command, and how long it took.
    pub(crate) fn remarks(&self) -> Markup {
        let notes = self.notes.trim();
        html! {
            @if !notes.is_empty() { (notice(Tone::Warning, &html! { pre { (notes) } })) }
            p.muted { "Answered in " (format!("{:.1}", self.took.as_secs_f64())) " s." }
        }
    }
}

/// A command without an answer.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    pub code: i32,
    pub text: String,
    pub diagnostics: Vec<diagnostic::Diagnostic>,
}

impl Failure {
    /// What went wrong.
    pub(crate) fn markup(&self) -> Markup {
        let text = self.text.trim();
        let title = if self.diagnostics.is_empty() { "The command failed" } else { "The job file has errors" };
        let code = if self.code == 0 { String::new() } else { format!(" (exit code {})", self.code) };
        html! {
            (verdict(Tone::Bad, &format!("{title}{code}.")))
            @if self.diagnostics.is_empty() && !text.is_empty() { pre.said { (text) } }
            (diagnostic::list(&self.diagnostics))
        }
    }
}

/// The command line, ready to copy.
pub(crate) fn copy(visit: &Visit, command: &Command) -> Markup {
    html! {
        h3 { "The same on the command line" }
        (form::command(&command.line(visit.source())))
    }
}

/// A word for a shell. Control characters are written as escapes: a terminal would carry them out.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    if !word.chars().any(char::is_control) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let escaped = word.chars().fold(String::new(), |mut out, c| {
        match c {
            '\\' | '\'' => out.extend(['\\', c]),
            c if c.is_control() => c.to_string().bytes().for_each(|b| out.push_str(&format!("\\x{b:02x}"))),
            c => out.push(c),
        }
        out
    });
    format!("$'{escaped}'")
}

/// Declares what a page reads of the answers of commands: structs whose fields have the names of the answers, `Name` for
/// `name`, unless another name is given: `id = "ID": String`. A field that is missing is an error: the output of a command
/// that failed is no answer.
macro_rules! answer {
    ($($(#[$about:meta])* $vis:vis struct $name:ident {
        $($(#[$meta:meta])* $seen:vis $field:ident $(= $key:literal)?: $kind:ty),* $(,)?
    })*) => {$(
        $(#[$about])*
        #[derive(Debug, serde::Deserialize)]
        #[serde(rename_all = "PascalCase")]
        $vis struct $name {
            $($(#[$meta])* $(#[serde(rename = $key)])? $seen $field: $kind,)*
        }
    )*};
}

pub(crate) use answer;
