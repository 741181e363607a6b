//! Changes of a file after which a problem is gone. Editors offer them beside the hint; each is made where the hint is
//! made, so that the two cannot contradict each other.
//!
//! - [`Edits`]: what the changes consist of: lines of blocks, values, names. `rules`: the changes of the validators'
//!   problems. `calls`: function calls of other tools. `heredocs`: their markers.

mod calls;
mod edits;
mod heredocs;
mod rules;

pub(super) use calls::rewritten_call;
pub use edits::Edits;
pub(super) use edits::placeholder;
pub(super) use heredocs::{closed, reopened};
pub(super) use rules::{Fix, Subject, fixed};

/// A change of the text of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repair {
    /// What the change does, as a command: `Change to "count"`.
    pub title: String,
    /// Whether the change is what was probably meant. If not, it makes the file valid with a default or a placeholder.
    pub is_certain: bool,
    /// The replacements, which do not overlap.
    pub edits: Vec<Edit>,
}

/// The replacement of a part of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The first byte of the part.
    pub start: usize,
    /// The byte behind the part.
    pub end: usize,
    /// The text that replaces the part.
    pub new: String,
}

impl Repair {
    /// A change that is probably meant.
    pub fn certain(title: impl Into<String>, edits: impl Into<Vec<Edit>>) -> Repair {
        Repair { title: title.into(), is_certain: true, edits: edits.into() }
    }

    /// A change that makes the file valid with a default or a placeholder.
    pub fn fallback(title: impl Into<String>, edits: impl Into<Vec<Edit>>) -> Repair {
        Repair { is_certain: false, ..Repair::certain(title, edits) }
    }

    /// Another name at a location: `Change to "count"`.
    pub(super) fn rename(start: usize, end: usize, new: &str) -> Repair {
        Repair::certain(format!("Change to {new:?}"), [Edit::new(start, end, new)])
    }

    /// The text after the change; `None` where the edits do not fit it.
    pub fn apply(&self, text: &str) -> Option<String> {
        let mut edits: Vec<&Edit> = self.edits.iter().collect();
        edits.sort_by_key(|edit| std::cmp::Reverse(edit.start));
        let mut out = text.to_owned();
        for edit in edits {
            out.get(edit.start..edit.end)?;
            out.replace_range(edit.start..edit.end, &edit.new);
        }
        Some(out)
    }
}

impl Edit {
    /// The replacement of the bytes from `start` to `end`.
    pub fn new(start: usize, end: usize, new: impl Into<String>) -> Edit {
        Edit { start, end, new: new.into() }
    }
}
