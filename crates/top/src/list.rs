//! A list: its rows, the filter, the order and the selected row.

use crate::row::{Cell, Object, Row, order};

/// A list of objects.
#[derive(Debug, Default)]
pub struct List {
    rows: Vec<Row>,
    /// The places of the rows that are shown, in order.
    shown: Vec<usize>,
    /// The place of the selected row among those that are shown.
    pub selected: usize,
    /// The text that rows contain.
    pub filter: String,
    /// The column that orders the rows, and whether backwards; `None`: rows that need attention come first.
    pub sort: Option<(usize, bool)>,
    /// Whether the list was read.
    pub loaded: bool,
    /// Whether the rows stay in the order in which they came, instead of those that need attention first.
    pub in_order: bool,
}

impl List {
    /// A list that is not read yet.
    pub fn new(in_order: bool) -> List {
        List { in_order, ..List::default() }
    }

    /// The rows that are shown, in order.
    pub fn shown(&self) -> impl Iterator<Item = &Row> {
        self.shown.iter().filter_map(|place| self.rows.get(*place))
    }

    /// The number of rows that are shown.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether no row is shown.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// The selected row.
    pub fn row(&self) -> Option<&Row> {
        self.rows.get(*self.shown.get(self.selected)?)
    }

    /// Replaces the rows. The same object stays selected; in lists that keep their order, the same row.
    pub fn replace(&mut self, rows: Vec<Row>) {
        let in_order = self.in_order;
        let key = move |row: &Row| -> (Object, Option<Cell>) {
            (row.object.clone(), row.cells.get(1).filter(|_| in_order).cloned())
        };
        // The first row of a list in order stays the newest.
        let kept = self.row().filter(|_| !in_order || self.selected > 0).map(key);
        (self.rows, self.loaded) = (rows, true);
        self.arrange();
        if let Some(place) = kept.and_then(|kept| self.shown().position(|row| key(row) == kept)) {
            self.selected = place;
        }
    }

    /// Filters and orders the rows.
    pub fn arrange(&mut self) {
        let wanted = self.filter.to_lowercase();
        let contains = |cell: &Cell| match cell {
            Cell::Text(text) => text.to_lowercase().contains(&wanted),
            Cell::Number(number) => number.to_string() == wanted,
            Cell::Time(_) => false,
        };
        // The full ID is found, too, of which a column shows the beginning.
        let found = |row: &Row| {
            wanted.is_empty() || row.cells.iter().any(contains) || row.object.id.to_lowercase().starts_with(&wanted)
        };
        let rows = &self.rows;
        let mut shown: Vec<usize> = (0..rows.len()).filter(|place| rows.get(*place).is_some_and(found)).collect();
        match self.sort {
            None if self.in_order => {}
            None => shown.sort_by_key(|place| !rows.get(*place).is_some_and(|row| row.attention)),
            Some((column, backwards)) => shown.sort_by(|a, b| {
                let cell = |place: &usize| rows.get(*place).and_then(|row| row.cells.get(column));
                let order = order(cell(a), cell(b));
                if backwards { order.reverse() } else { order }
            }),
        }
        self.shown = shown;
        self.selected = self.selected.min(self.shown.len().saturating_sub(1));
    }

    /// Selects a row so many rows below.
    pub fn step(&mut self, by: isize) {
        self.selected = self.selected.saturating_add_signed(by).min(self.shown.len().saturating_sub(1));
    }

    /// Orders by the next column; behind the last one, by need of attention.
    pub fn sort_next(&mut self, columns: usize) {
        let next = self.sort.map_or(0, |(column, _)| column.saturating_add(1));
        self.sort = (next < columns).then_some((next, false));
        self.arrange();
    }

    /// Reverses the order.
    pub fn reverse(&mut self) {
        self.sort = Some(self.sort.map_or((0, true), |(column, backwards)| (column, !backwards)));
        self.arrange();
    }

    /// The first row on a screen with so many rows: the selected row is always shown.
    pub fn first(&self, page: usize) -> usize {
        self.selected.saturating_add(1).saturating_sub(page.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Facts, Kind};

    fn row(namespace: &str, id: &str, number: i64, attention: bool) -> Row {
        Row {
            object: Object::new(Kind::Job, namespace, id),
            owners: Vec::new(),
            attention,
            cells: vec![Cell::Text(id.into()), Cell::Number(number)],
            facts: Facts::default(),
        }
    }

    fn ids(list: &List) -> Vec<&str> {
        list.shown().map(|row| row.object.id.as_str()).collect()
    }

    #[test]
    fn rows_that_need_attention_come_first_unless_a_column_orders() {
        let mut list = List::default();
        list.replace(vec![row("a", "x", 3, false), row("a", "y", 1, true), row("a", "z", 2, false)]);
        assert_eq!(ids(&list), ["y", "x", "z"]);
        list.sort_next(2);
        list.sort_next(2);
        assert_eq!(ids(&list), ["y", "z", "x"]);
        list.reverse();
        assert_eq!(ids(&list), ["x", "z", "y"]);
        list.sort_next(2);
        assert_eq!((ids(&list), list.sort), (vec!["y", "x", "z"], None));
    }

    #[test]
    fn the_same_object_of_the_same_namespace_stays_selected() {
        let mut list = List::default();
        list.replace(vec![row("a", "web", 0, false), row("b", "web", 0, false)]);
        list.step(1);
        list.replace(vec![row("0", "new", 0, false), row("a", "web", 0, false), row("b", "web", 0, false)]);
        assert_eq!(list.row().map(|row| row.object.namespace.as_str()), Some("b"));
    }

    #[test]
    fn a_list_in_order_follows_its_newest_row_until_another_is_selected() {
        let mut list = List { in_order: true, ..List::default() };
        list.replace(vec![row("a", "web", 1, false)]);
        list.replace(vec![row("a", "web", 2, false), row("a", "web", 1, false)]);
        assert_eq!(list.selected, 0);
        list.step(1);
        list.replace(vec![row("a", "web", 3, false), row("a", "web", 2, false), row("a", "web", 1, false)]);
        assert_eq!(list.selected, 2);
    }

    #[test]
    fn the_filter_finds_texts_numbers_and_ids() {
        let mut list = List::default();
        list.replace(vec![row("a", "web", 31, false), row("a", "cache", 4, false)]);
        for (filter, found) in [("WE", vec!["web"]), ("31", vec!["web"]), ("ca", vec!["cache"]), ("zz", vec![])] {
            list.filter = filter.to_string();
            list.arrange();
            assert_eq!(ids(&list), found, "{filter}");
        }
        assert_eq!(list.selected, 0);
    }
}
