//! What all questions share: a form whose fields are parameters of the address, a command, and its answer.

use maud::{Markup, html};
use serde::de::DeserializeOwned;

use crate::error::PageError;
use crate::layout::{Area, Page};
use crate::parts::command::{self, Command, Outcome};
use crate::parts::table::Table;
use crate::visit::Visit;

/// The parameter of addresses that make a page wait for the answer. Without it, the page comes at once, and the script
/// loads the answer.
const ANSWER: &str = "answer";
/// The most values of a field.
const MOST_VALUES: usize = 200;
/// The most rows of a table of an answer.
const MOST_ROWS: usize = 200;

/// A question.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Question {
    /// The path of its page.
    pub path: &'static str,
    pub title: &'static str,
    /// What it is good for.
    pub about: &'static str,
}

/// The page of a question. `command` is nothing until the form is filled in.
pub(crate) async fn page<T: DeserializeOwned>(
    visit: &Visit,
    question: &Question,
    fields: &Markup,
    command: Option<Command>,
    answer: impl Fn(&Visit, &T) -> Markup,
) -> Result<Page, PageError> {
    let answered = match &command {
        None => section(&html! {}),
        Some(command) => answered(visit, command, &outcome(visit, command).await?, |found| answer(visit, found)),
    };
    let body = html! {
        p { (question.about) }
        form.question method="get" action=(question.path) {
            (fields)
            button.main type="submit" { "Answer" }
        }
        (answered)
    };
    Ok(Page::new(Area::Questions, question.title, body).with_assets(ASSETS).below("Questions", "/ui/questions"))
}

/// What came of a command; nothing yet if the page does not wait for it.
pub(crate) async fn outcome<T: DeserializeOwned>(
    visit: &Visit,
    command: &Command,
) -> Result<Option<Outcome<T>>, PageError> {
    if visit.parameter(ANSWER).is_none() { Ok(None) } else { command.ask(visit).await.map(Some) }
}

/// The answer of a command, or why there is none, and the command line.
pub(crate) fn answered<T>(
    visit: &Visit,
    command: &Command,
    outcome: &Option<Outcome<T>>,
    answer: impl Fn(&T) -> Markup,
) -> Markup {
    let found = match outcome {
        None => return section(&progress(&visit.address_with(ANSWER, Some("1")))),
        Some(Outcome::Answer(found)) => html! { (answer(&found.value)) (found.remarks()) },
        Some(Outcome::Text(text)) => html! { pre.said { (text) } },
        Some(Outcome::Failed(failure)) => failure.markup(),
    };
    section(&html! { (found) (command::copy(visit, command)) })
}

/// The place of the answer, which the script fills.
pub(crate) fn section(answer: &Markup) -> Markup {
    html! { section id="answer" aria-live="polite" { (answer) } }
}

/// What is shown until the script has loaded the answer. Without scripts, the browser goes to the page that waits.
fn progress(address: &str) -> Markup {
    html! {
        p.progress data-load=(address) { "Working on it…" }
        noscript { meta http-equiv="refresh" content={ "0; url=" (address) }; }
    }
}

/// The styles and the script of plans and questions.
pub(crate) const ASSETS: &[&str] = &["plan.css", "plan.js"];

/// The values of a field with several: one per line, and the field may be repeated in addresses.
pub(crate) fn values(visit: &Visit, name: &str) -> Vec<String> {
    let fields = visit.parameters().iter().filter(|(found, _)| found == name);
    let values = fields.flat_map(|(_, text)| text.lines()).map(str::trim).filter(|value| !value.is_empty());
    values.take(MOST_VALUES).map(str::to_string).collect()
}

/// A parameter that a field shows again.
pub(crate) fn text<'a>(visit: &'a Visit, name: &str) -> &'a str {
    visit.parameter(name).map(str::trim).unwrap_or_default()
}

/// A parameter that becomes the value of a flag.
pub(crate) fn value<'a>(visit: &'a Visit, name: &str) -> Option<&'a str> {
    Some(text(visit, name)).filter(|value| !value.is_empty())
}

/// A table of an answer; long ones are cut off. `empty`: what is said without rows.
pub(crate) fn table<T>(
    caption: &'static str,
    columns: &[&'static str],
    rows: &[T],
    empty: &str,
    row: impl Fn(&T) -> Vec<Markup>,
) -> Markup {
    let mut table = Table::new(caption, columns, html! { (empty) });
    rows.iter().take(MOST_ROWS).for_each(|r| table.row(row(r)));
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    html! {
        h3 { (caption) }
        (table.markup())
        @if left_out > 0 { p.muted { (left_out) " more rows are left out; the command line below shows them." } }
    }
}

/// Remarks of a command, one per line.
pub(crate) fn notes(notes: &[String]) -> Markup {
    html! { @if !notes.is_empty() { ul.reasons { @for note in notes { li { (note) } } } } }
}
