//! Values, tables and lists of a report.

use std::borrow::Cow;

use maud::{Markup, html};

use crate::render::markup::markup;
use crate::render::metrics::{Reason, reasons};
use crate::render::styled::{one_line, visible};
use encamp_model::AllocMetric;

/// The maximum number of rows of a table, and of items of a list.
pub(super) const MOST_ROWS: usize = 200;
/// The maximum number of characters of a name, of a name in a map, and of a sentence.
const LONGEST_NAME: usize = 120;
const LONGEST_SHORT_NAME: usize = 48;
const LONGEST_SENTENCE: usize = 600;
/// The maximum number of characters of a value in a diff.
pub(super) const LONGEST_VALUE: usize = 2_000;
/// The maximum number of characters of a text in lines.
const LONGEST_TEXT: usize = 50_000;

/// A text without control characters, of at most so many characters and a statement of how many are left out.
fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some((end, _)) => {
            let left_out = text.chars().count().saturating_sub(most);
            Cow::Owned(format!("{}… ({left_out} more characters)", text.get(..end).unwrap_or_default()))
        }
    }
}

/// A name for an attribute or a sentence.
pub(super) fn name(text: &str) -> String {
    one_line(&cut(text, LONGEST_NAME)).into_owned()
}

/// A name in a map, which has many of them.
pub(super) fn short_name(text: &str) -> String {
    one_line(&cut(text, LONGEST_SHORT_NAME)).into_owned()
}

/// A sentence that contains values.
pub(super) fn sentence(text: &str) -> String {
    one_line(&cut(text, LONGEST_SENTENCE)).into_owned()
}

/// A name or an ID. An empty one would be a cell that screen readers do not find.
pub(super) fn code(text: &str) -> Markup {
    html! { @if text.trim().is_empty() { span.muted { "none" } } @else { code { (name(text)) } } }
}

/// A value of a job, with its lines.
pub(super) fn value(text: &str) -> String {
    visible(&cut(text, LONGEST_VALUE)).into_owned()
}

/// A text in lines, which may contain the tags of a terminal. `label` names it for screen readers.
pub(super) fn lines(label: &str, text: &str) -> Markup {
    let text = visible(&cut(&markup(text, false), LONGEST_TEXT)).into_owned();
    html! { div.scroll.code role="group" aria-label=(label) tabindex="0" { pre { (text.trim()) } } }
}

/// A heading of a level from 2 to 4.
pub(super) fn heading(level: u8, id: &str, title: &str) -> Markup {
    match level {
        2 => html! { h2 #(id) { (sentence(title)) } },
        3 => html! { h3 #(id) { (sentence(title)) } },
        _ => html! { h4 #(id) { (sentence(title)) } },
    }
}

/// The columns of a table: their titles, and whether they hold numbers.
pub(super) struct Columns(pub &'static [(&'static str, bool)]);

/// A table whose first column names the rows. At most [`MOST_ROWS`] rows are listed, and the number of those left out
/// is stated.
pub(super) fn table(caption: &str, columns: &Columns, rows: impl ExactSizeIterator<Item = Vec<Markup>>) -> Markup {
    let left_out = rows.len().saturating_sub(MOST_ROWS);
    let class = |number: bool| number.then_some("number");
    html! {
        div.scroll role="group" aria-label=(sentence(caption)) tabindex="0" {
            table {
                caption { (sentence(caption)) }
                thead { tr { @for (title, number) in columns.0 { th scope="col" class=[class(*number)] { (title) } } } }
                tbody {
                    @for row in rows.take(MOST_ROWS) {
                        tr {
                            @for (i, (content, (_, number))) in row.iter().zip(columns.0).enumerate() {
                                @if i == 0 { th scope="row" class=[class(*number)] { (content) } }
                                @else { td class=[class(*number)] { (content) } }
                            }
                        }
                    }
                }
            }
        }
        (rest(left_out))
    }
}

/// The statement about rows or items that are left out.
pub(super) fn rest(left_out: usize) -> Markup {
    html! { @if left_out > 0 { p.muted { "and " (left_out) " more, which this report does not list" } } }
}

/// A list of sentences.
pub(super) fn list<S: AsRef<str>>(items: &[S]) -> Markup {
    html! {
        ul { @for item in items.iter().take(MOST_ROWS) { li { (sentence(item.as_ref())) } } }
        (rest(items.len().saturating_sub(MOST_ROWS)))
    }
}

/// Why allocations of a group cannot be placed.
pub(super) fn why(metric: &AllocMetric) -> Markup {
    let all = reasons(metric);
    html! {
        ul.reasons {
            @for Reason { text, missing_driver } in all.iter().take(MOST_ROWS) {
                li class=[missing_driver.then_some("alarm")] { (sentence(text)) }
            }
        }
        (rest(all.len().saturating_sub(MOST_ROWS)))
    }
}

/// A value before and after, once if it is the same.
pub(super) fn change<T: PartialEq + std::fmt::Display>(before: &T, after: &T) -> Markup {
    html! { @if before == after { (after) } @else { (before) " → " strong { (after) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped_and_cut_off() {
        assert_eq!(code("<b>&\"'\u{202e}\0\n").into_string(), "<code>&lt;b&gt;&amp;&quot;'\\u202e\\x00\\n</code>");
        assert_eq!(code("").into_string(), "<span class=\"muted\">none</span>");
        let long = name(&"é".repeat(LONGEST_NAME + 5));
        assert!(long.ends_with("é… (5 more characters)"), "{long}");
        let rows = (0..MOST_ROWS + 3).map(|n| vec![html! { (n) }]);
        let table = table("Rows", &Columns(&[("Number", true)]), rows).into_string();
        assert!(table.ends_with("<p class=\"muted\">and 3 more, which this report does not list</p>"), "{table}");
        assert_eq!(table.matches("<tr>").count(), MOST_ROWS + 1);
    }
}
