//! The mouse: it selects rows, nodes, views and items of menus, and scrolls.

use crate::input::MouseKind;
use crate::messages::Effect;
use crate::state::State;
use crate::state::overlay::Overlay;
use crate::state::prompt::Prompt;
use crate::topology::BLOCK;
use crate::view::{VIEWS, View};

/// Rows for each step of the wheel.
const WHEEL: isize = 3;

impl State {
    pub(super) fn mouse(&mut self, kind: MouseKind, column: u16, row: u16) -> Vec<Effect> {
        // A question is answered by a key.
        if matches!(self.prompt, Prompt::Question(_)) {
            return Vec::new();
        }
        match kind {
            MouseKind::WheelDown => self.step(WHEEL),
            MouseKind::WheelUp => self.step(-WHEEL),
            MouseKind::Press => return self.press(usize::from(column), row),
        }
        Vec::new()
    }

    fn press(&mut self, column: usize, row: u16) -> Vec<Effect> {
        if row == 1 && self.has_tabs() && self.overlay == Overlay::None {
            return self.tab_at(column).map(|view| self.open(view, None)).unwrap_or_default();
        }
        let below = |head: u16| row.checked_sub(head).map(usize::from).filter(|line| *line < self.page());
        match &self.overlay {
            Overlay::Menu(menu) => {
                let line = below(self.head()).filter(|line| *line < menu.items.len());
                if let (Some(line), Overlay::Menu(menu)) = (line, &mut self.overlay) {
                    menu.selected = line;
                }
            }
            Overlay::Help(_) | Overlay::Text(_) | Overlay::Log(_) => {}
            Overlay::None if self.view == View::Topology => {
                let line = below(self.head());
                let (layout, first) = (self.layout(), self.first_line());
                let node = line.and_then(|line| {
                    let column = if layout.wide { 0 } else { column.checked_div(BLOCK).unwrap_or(0) };
                    layout.node_at(line.saturating_add(first), column)
                });
                self.picture.selected = node.unwrap_or(self.picture.selected);
            }
            Overlay::None => {
                let first = self.list.first(self.page());
                let place = below(self.head()).map(|line| line.saturating_add(first));
                if let Some(place) = place.filter(|place| *place < self.list.len()) {
                    self.list.selected = place;
                }
            }
        }
        Vec::new()
    }

    /// The view whose name stands at a column of the line of views.
    fn tab_at(&self, column: usize) -> Option<View> {
        let mut end: usize = 0;
        VIEWS.into_iter().find(|view| {
            end = end.saturating_add(view.tab().len()).saturating_add(1);
            column < end
        })
    }

    /// The first line of the topology on the screen: the selected node is always shown.
    pub fn first_line(&self) -> usize {
        let height = self.page().saturating_sub(1);
        let line = self.layout().place_of(self.picture.selected).map_or(0, |(line, _)| line);
        line.saturating_add(1).saturating_sub(height.max(1))
    }
}
