//! Forms of actions and questions.

use maud::{Markup, html};

use crate::visit::Visit;

/// A form that changes something: sent to `action` (below `/ui/`), with the token that such requests need.
pub(crate) fn action(visit: &Visit, action: &str, fields: &Markup) -> Markup {
    html! {
        form method="post" action=(action) {
            input type="hidden" name="form_token" value=(visit.form_token);
            (fields)
        }
    }
}

/// A button that changes something at once. `question`: what the script asks before; none for harmless ones.
pub(crate) fn button(visit: &Visit, to: &str, label: &str, question: Option<&str>) -> Markup {
    action(visit, to, &html! { button type="submit" data-question=[question] { (label) } })
}

/// A text field with its label.
pub(crate) fn text(name: &str, label: &str, value: &str, hint: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            input type="text" name=(name) value=(value) placeholder=[(!hint.is_empty()).then_some(hint)];
        }
    }
}

/// A field for several values, one per line.
pub(crate) fn lines(name: &str, label: &str, values: &[String], hint: &str) -> Markup {
    html! {
        label.field {
            span { (label) }
            textarea name=(name) rows="2" spellcheck="false" placeholder=[(!hint.is_empty()).then_some(hint)] { (values.join("\n")) }
        }
    }
}

/// A number field with its label.
pub(crate) fn number(name: &str, label: &str, value: &str, min: i64) -> Markup {
    html! { label.field { span { (label) } input type="number" name=(name) value=(value) min=(min); } }
}

/// A choice: `(value, text)`.
pub(crate) fn choice(name: &str, label: &str, chosen: &str, options: &[(&str, &str)]) -> Markup {
    html! {
        label.field {
            span { (label) }
            select name=(name) { @for (value, text) in options { option value=(value) selected[*value == chosen] { (text) } } }
        }
    }
}

/// A field that is on or off.
pub(crate) fn switch(name: &str, label: &str, on: bool) -> Markup {
    html! { label.switch { input type="checkbox" name=(name) value="true" checked[on]; span { (label) } } }
}

/// A filter of a list: a form whose fields become parameters of the address.
pub(crate) fn filter(visit: &Visit, fields: &Markup) -> Markup {
    html! { form.filter method="get" action=(visit.path) { (fields) button type="submit" { "Filter" } } }
}

/// A command line that does the same, ready to copy.
pub(crate) fn command(line: &str) -> Markup {
    html! { p.command { code { (line) } button type="button" data-copy=(line) { "Copy" } } }
}

/// An action behind a button that opens its form; one form of a page is open at a time.
pub(crate) fn behind(visit: &Visit, label: &str, to: &str, fields: &Markup) -> Markup {
    html! { details name="form" { summary { (label) } (action(visit, to, fields)) } }
}

/// A text of several lines with its label.
pub(crate) fn area(name: &str, label: &str, value: &str, rows: u32) -> Markup {
    html! { label.field.wide { span { (label) } textarea name=(name) rows=(rows) spellcheck="false" { (value) } } }
}
