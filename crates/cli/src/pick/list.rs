//! The state of a list: its rows, the filter that was typed, and the marked row.

use std::cmp::Reverse;

use console::Key;
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32String};

use super::Cancelled;

/// The length of a UUID, and of the beginning that is shown.
const UUID: usize = 36;
const SHORT: usize = 8;

/// A row to choose.
pub(super) struct Row {
    /// What its columns show.
    pub(super) cells: Vec<String>,
    /// The cells in which the letters of a word are searched, in their order.
    names: Vec<Utf32String>,
    /// The full ID of which a cell shows the beginning: only a part of it as it is typed matches. The digits of IDs are
    /// letters too, so that most words would be found in one otherwise.
    id: Option<Utf32String>,
}

impl Row {
    /// A row that is found by its cells, and by the full name of its object.
    pub(super) fn new(cells: Vec<String>, full_name: &str) -> Row {
        let short =
            |cell: &&String| full_name.len() == UUID && cell.len() == SHORT && full_name.starts_with(cell.as_str());
        let id = cells.iter().find(short).map(|_| full_name.into());
        let names = cells.iter().filter(|cell| !short(cell)).map(|cell| cell.as_str().into()).collect();
        Row { cells, names, id }
    }

    /// How well the words match; `None` if one does not.
    fn score(&self, words: &Words, matcher: &mut Matcher) -> Option<u32> {
        let mut total = 0_u32;
        for (letters, part) in words.letters.atoms.iter().zip(&words.parts.atoms) {
            let mut score = |word: &Atom, text: &Utf32String| word.score(text.slice(..), matcher);
            let in_names = self.names.iter().filter_map(|name| score(letters, name)).max();
            let best = in_names.max(self.id.as_ref().and_then(|id| score(part, id)))?;
            total = total.saturating_add(best.into());
        }
        Some(total)
    }
}

/// The words of a filter.
struct Words {
    /// Each matches a text that has its letters in their order.
    letters: Pattern,
    /// Each matches a text that contains it.
    parts: Pattern,
}

impl Words {
    fn new(filter: &str) -> Words {
        let pattern = |kind| Pattern::new(filter, CaseMatching::Ignore, Normalization::Smart, kind);
        Words { letters: pattern(AtomKind::Fuzzy), parts: pattern(AtomKind::Substring) }
    }
}

/// What a key does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The list stays.
    Stays,
    /// The row with this number is chosen.
    Chosen(usize),
    /// Nothing is chosen.
    Cancelled(Cancelled),
}

/// A list on a terminal.
pub(super) struct List {
    rows: Vec<Row>,
    filter: String,
    /// The rows that match the filter, best first.
    matching: Vec<usize>,
    /// The marked one of these, and the first visible one.
    marked: usize,
    first: usize,
    /// How many are visible.
    visible: usize,
    matcher: Matcher,
}

/// Keys that console passes on as characters.
const CTRL_D: char = '\x04';
const CTRL_N: char = '\x0e';
const CTRL_P: char = '\x10';
const CTRL_U: char = '\x15';
const CTRL_W: char = '\x17';

impl List {
    /// A list of rows, of which the first is marked.
    pub(super) fn new(rows: Vec<Row>) -> List {
        let matching = (0..rows.len()).collect();
        let matcher = Matcher::new(Config::DEFAULT);
        List { rows, filter: String::new(), matching, marked: 0, first: 0, visible: 1, matcher }
    }

    /// What was typed.
    pub(super) fn filter(&self) -> &str {
        &self.filter
    }

    /// The number of all rows.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of rows that match the filter.
    pub(super) fn found(&self) -> usize {
        self.matching.len()
    }

    /// All rows.
    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows that are visible where so many fit, and whether each is marked.
    pub(super) fn visible(&mut self, most: usize) -> impl Iterator<Item = (&Row, bool)> {
        self.visible = most.max(1);
        self.first = self.first.clamp((self.marked + 1).saturating_sub(self.visible), self.marked);
        let last_first = self.matching.len().saturating_sub(self.visible);
        self.first = self.first.min(last_first);
        let (rows, marked) = (&self.rows, self.marked);
        let numbers = self.matching.iter().enumerate().skip(self.first).take(self.visible);
        numbers.filter_map(move |(at, number)| Some((rows.get(*number)?, at == marked)))
    }

    /// Reacts to a key.
    pub(super) fn press(&mut self, key: &Key) -> Step {
        match key {
            Key::CtrlC => return Step::Cancelled(Cancelled::Interrupted),
            Key::Escape | Key::Char(CTRL_D) => return Step::Cancelled(Cancelled::Left),
            Key::Enter => return self.matching.get(self.marked).map_or(Step::Stays, |row| Step::Chosen(*row)),
            Key::ArrowUp | Key::BackTab | Key::Char(CTRL_P) => self.up(),
            Key::ArrowDown | Key::Tab | Key::Char(CTRL_N) => self.down(),
            Key::PageUp => self.marked = self.marked.saturating_sub(self.visible),
            Key::PageDown => self.marked = self.marked.saturating_add(self.visible).min(self.last()),
            Key::Home => self.marked = 0,
            Key::End => self.marked = self.last(),
            Key::Backspace => {
                self.filter.pop();
                self.find();
            }
            Key::Char(CTRL_U) => {
                self.filter.clear();
                self.find();
            }
            Key::Char(CTRL_W) => {
                let kept = self.filter.trim_end().rfind(' ').map_or(0, |space| space + 1);
                self.filter.truncate(kept);
                self.find();
            }
            Key::Char(c) if !c.is_control() => {
                self.filter.push(*c);
                self.find();
            }
            _ => {}
        }
        Step::Stays
    }

    fn last(&self) -> usize {
        self.matching.len().saturating_sub(1)
    }

    fn up(&mut self) {
        self.marked = if self.marked == 0 { self.last() } else { self.marked - 1 };
    }

    fn down(&mut self) {
        self.marked = if self.marked >= self.last() { 0 } else { self.marked + 1 };
    }

    /// Finds the rows that match the filter, best first; equal ones stay in their order. The first is marked.
    fn find(&mut self) {
        let words = Words::new(&self.filter);
        let mut found: Vec<(Reverse<u32>, usize)> = Vec::with_capacity(self.rows.len());
        for (number, row) in self.rows.iter().enumerate() {
            if let Some(score) = row.score(&words, &mut self.matcher) {
                found.push((Reverse(score), number));
            }
        }
        found.sort_unstable();
        self.matching = found.into_iter().map(|(_, number)| number).collect();
        (self.marked, self.first) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> List {
        List::new(names.iter().map(|name| Row::new(vec![name.to_string()], name)).collect())
    }

    /// The names that are visible in three rows, with a mark.
    fn shown(list: &mut List) -> String {
        let rows = list.visible(3).map(|(row, marked)| format!("{}{}", if marked { ">" } else { "" }, row.cells[0]));
        rows.collect::<Vec<_>>().join(" ")
    }

    fn typed(list: &mut List, text: &str) {
        for c in text.chars() {
            assert_eq!(list.press(&Key::Char(c)), Step::Stays);
        }
    }

    #[test]
    fn the_mark_moves_and_the_rows_follow_it() {
        let mut list = list(&["a", "b", "c", "d", "e"]);
        assert_eq!(shown(&mut list), ">a b c");
        for (key, want) in [
            (Key::ArrowDown, "a >b c"),
            (Key::ArrowDown, "a b >c"),
            (Key::ArrowDown, "b c >d"),
            (Key::ArrowUp, "b >c d"),
            (Key::PageDown, "c d >e"),
            (Key::ArrowDown, ">a b c"),
            (Key::ArrowUp, "c d >e"),
            (Key::PageUp, ">b c d"),
            (Key::Home, ">a b c"),
            (Key::End, "c d >e"),
            (Key::ArrowLeft, "c d >e"),
        ] {
            assert_eq!(list.press(&key), Step::Stays);
            assert_eq!(shown(&mut list), want, "{key:?}");
        }
        assert_eq!(list.press(&Key::Enter), Step::Chosen(4));
    }

    #[test]
    fn typing_finds_the_best_rows_first() {
        let mut list = list(&["shop-api", "payments", "api", "grafana"]);
        typed(&mut list, "API");
        assert_eq!((shown(&mut list).as_str(), list.found()), (">api shop-api", 2));
        assert_eq!(list.press(&Key::Enter), Step::Chosen(2));
        typed(&mut list, " sh");
        assert_eq!(shown(&mut list), ">shop-api");
        list.press(&Key::Char(CTRL_W));
        assert_eq!(list.filter(), "API ");
        typed(&mut list, "zz");
        assert_eq!((shown(&mut list).as_str(), list.press(&Key::Enter)), ("", Step::Stays));
        list.press(&Key::ArrowDown);
        list.press(&Key::ArrowUp);
        list.press(&Key::PageDown);
        list.press(&Key::Char(CTRL_U));
        assert_eq!((shown(&mut list).as_str(), list.filter()), (">shop-api payments api", ""));
        typed(&mut list, "gx");
        list.press(&Key::Backspace);
        assert_eq!(shown(&mut list), ">grafana");
    }

    #[test]
    fn rows_are_found_by_the_full_name_of_their_object() {
        let id = "aaaaaaaa-1111-2222-3333-444444444444";
        let rows = vec![
            Row::new(vec!["aaaaaaaa".into()], id),
            Row::new(vec!["bbbbbbbb".into()], "bbbbbbbb-9999-2222-3333-444444444444"),
        ];
        let mut list = List::new(rows);
        typed(&mut list, id);
        assert_eq!(shown(&mut list), ">aaaaaaaa");
        list.press(&Key::Char(CTRL_U));
        typed(&mut list, "a4");
        assert_eq!(shown(&mut list), "");
        list.press(&Key::Char(CTRL_U));
        typed(&mut list, "9999");
        assert_eq!(shown(&mut list), ">bbbbbbbb");
    }

    #[test]
    fn a_word_matches_within_one_column() {
        let row = |name: &str, status: &str| Row::new(vec![name.into(), status.into()], name);
        let mut list = List::new(vec![row("payments", "running"), row("api", "dead"), row("api-2", "running")]);
        typed(&mut list, "api");
        assert_eq!(shown(&mut list), ">api api-2");
        typed(&mut list, " run");
        assert_eq!(shown(&mut list), ">api-2");
    }

    #[test]
    fn three_keys_cancel() {
        let cancelled = |key| list(&["a"]).press(&key);
        assert_eq!(cancelled(Key::Escape), Step::Cancelled(Cancelled::Left));
        assert_eq!(cancelled(Key::Char(CTRL_D)), Step::Cancelled(Cancelled::Left));
        assert_eq!(cancelled(Key::CtrlC), Step::Cancelled(Cancelled::Interrupted));
    }
}
