//! Edits of a job file by its tokens: comments, layout and everything else stay as they are.
//!
//! - This file: the edits, where they are, and what the text is after them. `locate`: blocks and values in the file.
//!   `lines`: whole lines that come and go.

mod lines;
mod locate;
#[cfg(test)]
mod tests;

use std::ops::Range;

use thiserror::Error;

use super::explain::Place;
use super::explain::outline::{Literal, Outline, Syntax};
use encamp_model::quoted;
use locate::{Found, Site};

/// A step from a block to one inside of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// The block of a type with this number, from 0.
    Nth(&'static str, usize),
    /// The block of a type with this label.
    Labelled(&'static str, String),
}

/// A value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewValue {
    /// A whole number.
    Number(i64),
    /// A text; a number is written for it where there was one.
    Text(String),
}

/// An edit of a job file. Paths begin in the `job` block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileEdit {
    /// An attribute gets a value.
    Set {
        /// The block of the attribute.
        at: Vec<Step>,
        /// The attribute.
        name: &'static str,
        /// Its value.
        value: NewValue,
    },
    /// An attribute goes away.
    Unset {
        /// The block of the attribute.
        at: Vec<Step>,
        /// The attribute.
        name: &'static str,
    },
    /// A block goes away.
    Remove {
        /// The block.
        at: Vec<Step>,
    },
    /// A list of texts gets one more.
    Append {
        /// The block of the attribute.
        at: Vec<Step>,
        /// The attribute.
        name: &'static str,
        /// The text.
        item: String,
    },
}

/// Why an edit cannot be written.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// The file has no such block.
    #[error("the file has no block {}", quoted(.0))]
    NoBlock(String),
    /// A `dynamic` block makes what is to be edited.
    #[error("a dynamic block makes {}: edit that block", quoted(.0))]
    Dynamic(String),
    /// The value comes from a variable without a literal default in the file.
    #[error(
        "the value of {attribute} comes from the variable {}, which has no literal default in this file: set it with -var \
         or in the variable file",
        quoted(variable)
    )]
    Variable {
        /// The attribute.
        attribute: String,
        /// The variable.
        variable: String,
    },
    /// The value comes from a local value.
    #[error("the value of {attribute} comes from the local value {}: edit that value", quoted(local))]
    Local {
        /// The attribute.
        attribute: String,
        /// The local value.
        local: String,
    },
    /// The value comes from a function.
    #[error("the value of {attribute} comes from the function {}: edit the expression", quoted(function))]
    Function {
        /// The attribute.
        attribute: String,
        /// The function.
        function: String,
    },
    /// The value is computed in another way.
    #[error("the value of {attribute} is the expression {}: edit it", quoted(text))]
    Expression {
        /// The attribute.
        attribute: String,
        /// The expression.
        text: String,
    },
    /// Lines of a JSON document are not written.
    #[error("lines of JSON files are not added or removed: edit {0} by hand")]
    Json(String),
}

/// Where an edit is in a file: the attribute, the block, or the innermost block that is there.
pub fn place(outline: &Outline, edit: &FileEdit) -> Option<Place> {
    let (at, name) = edit.target();
    let found = locate::path(outline, at).ok()?;
    let block = found.block;
    let setting = name.filter(|_| found.missing.is_empty()).and_then(|name| block.setting(name));
    Some(Place::of(outline, setting.map_or(block.header, |s| s.name_span.to(s.value))))
}

/// The text of a file after edits, each of which is about another place.
///
/// # Errors
/// A value is not written literally, or there is no such block.
pub fn rewritten(outline: &Outline, syntax: Syntax, edits: &[FileEdit]) -> Result<String, EditError> {
    let mut splices = edits.iter().map(|edit| splice(outline, syntax, edit)).collect::<Result<Vec<Splice>, _>>()?;
    splices.sort_by_key(|s| s.range.start);
    let mut out = String::new();
    let mut at = 0;
    for Splice { range, text } in splices {
        out.push_str(outline.text.get(at..range.start).unwrap_or_default());
        out.push_str(&text);
        at = range.end.max(at);
    }
    out.push_str(outline.text.get(at..).unwrap_or_default());
    Ok(out)
}

/// A part of a text and what replaces it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Splice {
    range: Range<usize>,
    text: String,
}

impl FileEdit {
    fn target(&self) -> (&[Step], Option<&'static str>) {
        match self {
            FileEdit::Set { at, name, .. } | FileEdit::Unset { at, name } | FileEdit::Append { at, name, .. } => {
                (at, Some(name))
            }
            FileEdit::Remove { at } => (at, None),
        }
    }
}

fn splice(outline: &Outline, syntax: Syntax, edit: &FileEdit) -> Result<Splice, EditError> {
    let (at, name) = edit.target();
    let found = locate::path(outline, at)?;
    let json = locate::is_json(outline, syntax);
    let by_hand = || Err(EditError::Json(name.map_or_else(|| last_kind(at), String::from)));
    match edit {
        FileEdit::Set { name, value, .. } => match found.block.setting(name).filter(|_| found.missing.is_empty()) {
            Some(setting) => Ok(replaced(outline, &locate::literal(outline, setting, json)?, value, json)),
            None if json => by_hand(),
            None => Ok(lines::inserted(outline, &found, name, &written(value, &Literal::Other))),
        },
        FileEdit::Append { name, item, .. } => {
            let setting = found.block.setting(name).filter(|_| found.missing.is_empty());
            let setting = setting.ok_or_else(|| EditError::NoBlock((*name).to_string()))?;
            locate::appended(outline, setting, item, json)
        }
        FileEdit::Unset { .. } | FileEdit::Remove { .. } if json => by_hand(),
        FileEdit::Unset { name, .. } => {
            let setting = found.complete()?.setting(name).ok_or_else(|| EditError::NoBlock((*name).to_string()))?;
            let whole = setting.name_span.to(setting.value);
            Ok(lines::removed(&outline.text, whole.start as usize..whole.end as usize))
        }
        FileEdit::Remove { .. } => {
            let span = found.complete()?.span;
            Ok(lines::removed(&outline.text, span.start as usize..span.end as usize))
        }
    }
}

fn last_kind(at: &[Step]) -> String {
    match at.last() {
        Some(Step::Nth(kind, _) | Step::Labelled(kind, _)) => (*kind).to_string(),
        None => "job".into(),
    }
}

fn replaced(outline: &Outline, site: &Site, value: &NewValue, json: bool) -> Splice {
    let literal = if json && site.literal == Literal::Other { &Literal::Text(String::new()) } else { &site.literal };
    let range = site.span.start as usize..site.span.end as usize;
    debug_assert!(range.end <= outline.text.len());
    Splice { range, text: written(value, literal) }
}

/// A value as it was written before: a number, or a text.
fn written(value: &NewValue, before: &Literal) -> String {
    match (value, before) {
        (NewValue::Number(n), Literal::Text(_)) => format!("\"{n}\""),
        (NewValue::Number(n), _) => n.to_string(),
        (NewValue::Text(text), Literal::Number(_)) if text.parse::<i64>().is_ok() => text.clone(),
        (NewValue::Text(text), _) => quoted_text(text),
    }
}

/// A text as HCL and JSON write it, without interpolations.
fn quoted_text(text: &str) -> String {
    let plain = quoted(text);
    plain.replace("${", "$${").replace("%{", "%%{")
}

impl<'o> Found<'o> {
    /// The block itself, if the file has it.
    fn complete(&self) -> Result<&'o super::explain::outline::Element, EditError> {
        match self.missing {
            [] => Ok(self.block),
            missing => Err(EditError::NoBlock(last_kind(missing))),
        }
    }
}
