//! Explains problems of job files for people and editors: the location with its source line, the enclosing blocks, and
//! a hint about the probable intention. The texts of the problems stay those of the parser and the validators; the rest
//! is added afterwards from the text of the file, so that valid jobs cost nothing.
//!
//! - [`outline`], `outline_json`: blocks and attributes of a file with their locations
//! - `scope`: the names that are allowed at a location. `values`: hints about wrong values
//! - `parsing`, `advice`, `unknown_names`, `references`: diagnostics of the parser. `templates`: files that have to be rendered first. `heredocs`:
//!   their ends. `habits`: what Terraform and others have instead
//! - `problems`, `steps`, `rules`: problems that the validators found. `closed_sets`: attributes with few values
//! - `secrets`: secrets in plain text
//! - [`repair`]: changes of the file after which a problem is gone

mod advice;
pub(crate) mod closed_sets;
mod habits;
mod heredocs;
pub mod outline;
mod outline_json;
mod parsing;
mod problems;
mod references;
pub mod repair;
mod rules;
pub(crate) mod scope;
mod secrets;
mod steps;
mod templates;
mod unknown_names;
pub(crate) mod values;

use encamp_hcl::diag::Range;
pub use encamp_hcl::diag::Span;
use outline::{Element, Outline};

pub use habits::terraform_names;
pub use outline::Syntax;
pub use parsing::{parse_error, parse_error_of, parse_json_error, partial_parse_error};
pub use problems::validation;
pub use repair::Repair;
pub use scope::nearest;
pub use secrets::plain_secrets;

/// More findings help nobody.
const MAX_FINDINGS: usize = 200;

/// Longer source lines are not shown.
const MAX_LINE: usize = 20_000;

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Parsing or registration fails because of it.
    Error,
    /// The job is accepted all the same.
    Warning,
}

/// Which step found it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Opening and reading the file, before parsing.
    Read,
    /// Parsing the file.
    Parse,
    /// The rules that registration applies.
    Validate,
}

/// A problem of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The step that found the problem.
    pub stage: Stage,
    /// Whether the problem is an error or a warning.
    pub severity: Severity,
    /// The original text: the summary of a diagnostic, the innermost text of a validation error.
    pub summary: String,
    /// The original text: the details of a diagnostic, what the validation error is nested in. May be empty.
    pub detail: String,
    /// The problem in one line of plain words.
    pub message: String,
    /// Where it is, as far as that is known.
    pub place: Option<Place>,
    /// The blocks around it, outermost first: `job "web"`, `group "api"`.
    pub block_path: Vec<String>,
    /// A hint.
    pub suggestion: Option<String>,
    /// Another place that has to do with it, and why.
    pub related: Option<(Place, String)>,
    /// A change of the file at [`Finding::place`] after which the problem is gone.
    pub repair: Option<Repair>,
}

impl Finding {
    /// A warning that has no other text than a message, without a suggestion.
    pub fn warning(stage: Stage, message: String, place: Option<Place>, path: &[&Element]) -> Finding {
        Finding {
            stage,
            severity: Severity::Warning,
            summary: message.clone(),
            detail: String::new(),
            message,
            place,
            block_path: titles(path),
            suggestion: None,
            related: None,
            repair: None,
        }
    }
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Lines and columns of the place.
    pub range: Range,
    /// The line in which the range starts, without its end; nothing for very long lines.
    pub line: Option<String>,
}

impl Place {
    /// The place of a span of an outline.
    pub fn of(outline: &Outline, span: Span) -> Place {
        Place { range: outline.range(span), line: line_at(&outline.text, span.start as usize) }
    }
}

/// The line that a byte lies in.
fn line_at(text: &str, byte: usize) -> Option<String> {
    let byte = byte.min(text.len());
    let from = text.get(..byte)?.rfind('\n').map_or(0, |i| i + 1);
    let line = text.get(from..)?.split('\n').next()?.trim_end_matches('\r');
    (line.len() <= MAX_LINE).then(|| line.to_owned())
}

/// Sorts findings by place; those without one come first.
pub fn in_order(mut findings: Vec<Finding>) -> Vec<Finding> {
    let key = |f: &Finding| f.place.as_ref().map(|p| (p.range.file.clone(), p.range.start_line, p.range.start_column));
    findings.sort_by_cached_key(key);
    findings
}

fn titles(path: &[&Element]) -> Vec<String> {
    path.iter().map(|e| e.title()).collect()
}

#[cfg(test)]
mod tests;
