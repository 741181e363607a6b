//! Lists: a table with a heading row, links between pages, and what is said when there is nothing.

use std::collections::BTreeMap;

use maud::{Markup, html};

use crate::visit::Visit;

/// Rows of a list that a page shows.
pub(crate) const PER_PAGE: usize = 100;

/// A table. Its first column names the row; on narrow screens, each cell shows the name of its column.
pub(crate) struct Table {
    caption: String,
    columns: Vec<Column>,
    rows: Vec<Vec<Markup>>,
    /// What is said if there are no rows, and what to do then.
    empty: Markup,
}

struct Column {
    title: &'static str,
    number: bool,
}

impl Table {
    /// A table. `caption` is read by screen readers. A column whose title ends with `#` has numbers.
    pub(crate) fn new(caption: impl Into<String>, columns: &[&'static str], empty: Markup) -> Table {
        let column = |title: &'static str| match title.strip_suffix('#') {
            Some(title) => Column { title, number: true },
            None => Column { title, number: false },
        };
        Table {
            caption: caption.into(),
            columns: columns.iter().copied().map(column).collect(),
            rows: Vec::new(),
            empty,
        }
    }

    /// The table with another caption: those of a page differ.
    pub(crate) fn captioned(mut self, caption: &str) -> Table {
        self.caption = caption.into();
        self
    }

    /// Adds a row with a cell for each column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Markup>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The table, or what is said without rows.
    pub(crate) fn markup(&self) -> Markup {
        if self.rows.is_empty() {
            return html! { p.empty { (self.empty) } };
        }
        html! {
            div.scroll role="region" aria-label=(self.caption) tabindex="0" {
                table {
                    caption.hidden { (self.caption) }
                    thead { tr { @for c in &self.columns { th scope="col" class=[c.number.then_some("number")] { (c.title) } } } }
                    tbody { @for row in &self.rows { tr { (self.cells(row)) } } }
                }
            }
        }
    }

    fn cells(&self, row: &[Markup]) -> Markup {
        html! {
            @for (i, (column, cell)) in self.columns.iter().zip(row).enumerate() {
                @if i == 0 {
                    th scope="row" { (cell) }
                } @else {
                    td data-column=(column.title) class=[column.number.then_some("number")] { (cell) }
                }
            }
        }
    }
}

/// The link to the next page of a list, if there is one, and to the first one.
pub(crate) fn pages(visit: &Visit, next: Option<&str>) -> Markup {
    let first = visit.parameter("next_token").is_some();
    html! {
        @if first || next.is_some() {
            nav.pages aria-label="Pages" {
                @if first { a href=(visit.address_with("next_token", None)) { "First page" } }
                @if let Some(next) = next { a rel="next" href=(visit.address_with("next_token", Some(next))) { "Next page" } }
            }
        }
    }
}

/// Facts: names and values. A value `-` is none, and is left out.
pub(crate) fn facts(facts: &[(&str, Markup)]) -> Markup {
    html! {
        dl.facts { @for (name, value) in facts { @if value.0 != "-" { div { dt { (name) } dd { (value) } } } } }
    }
}

/// Names and values that people or their programs chose, below a title; nothing if there are none.
pub(crate) fn values(title: &str, values: &BTreeMap<String, String>) -> Markup {
    html! {
        @if !values.is_empty() {
            h2 { (title) }
            dl.facts { @for (name, value) in values { div { dt { (name) } dd { code { (value) } } } } }
        }
    }
}

/// Links to the pages of one object: `(title, address)`; the one whose address is this page's is marked.
pub(crate) fn tabs(visit: &Visit, label: &str, tabs: &[(&str, String)]) -> Markup {
    html! {
        nav.tabs aria-label=(label) {
            ul { @for (title, address) in tabs { li { a href=(address) aria-current=[(*address == visit.path).then_some("page")] { (title) } } } }
        }
    }
}
