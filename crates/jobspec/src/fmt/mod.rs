//! Formats files in native syntax (`docs/spec/cli.md §15.4`): text to text, from the tokens alone.
//!
//! - `pieces`: tokens and comments. `spacing`: spaces between the pieces of a line.
//! - `layout`: lines, their indentation, aligned equals signs and comments.
//!
//! Only white space between pieces changes. Line ends, empty lines, comments, literal text of strings and heredocs are
//! preserved, so formatting does not change the meaning of a file, with one exception: a reference that stays in the
//! job as text (`docs/spec/jobspec.md §3.2`) loses its spaces there, too (`"${ attr.x }"` becomes `"${attr.x}"`).
//!
//! Two results look odd but are intended, because existing files are formatted like that: indentation after a heredoc
//! whose interpolation covers several lines, and keywords, which are names like all others (`if(x)`, `in - 1`).

mod layout;
mod pieces;
mod spacing;

use super::parse::{ParseError, read_text};
use encamp_hcl::diag::{Diagnostics, Sources};
use encamp_hcl::parser::parse_body;

/// Returns the text of a file in the standard format. A formatted text is returned unchanged.
///
/// # Errors
///
/// Errors of the syntax or the encoding of the text. `name` is the file's name in positions.
pub fn format(bytes: &[u8], name: &str) -> Result<String, ParseError> {
    let sources = Sources::default();
    let parsed = read_text(bytes, name, &sources).and_then(|(source, text)| parse_body(&sources, source).map(|_| text));
    match parsed {
        Ok(text) => Ok(layout::format(&pieces::split(text))),
        Err(diags) => Err(ParseError { diagnostics: Diagnostics::new(&diags, &sources) }),
    }
}

#[cfg(test)]
mod tests;
