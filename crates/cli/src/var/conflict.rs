//! The message about a check-and-set conflict of a variable (`docs/spec/cli.md §12.2`).

use crate::connection::Connection;
use crate::context::Context;
use crate::render::markup::replace_tags;
use crate::render::styled::{Styled, TaggedText};
use crate::render::values;
use crate::render::wrap::wrapped;
use encamp_api::variables::Variable;

/// The width at which the text is wrapped, with its indentation.
const WIDTH: usize = 84;
const INDENT: usize = 4;

/// Reports a conflict. Returns the exit code.
pub(super) fn report(expected: u64, found: &Variable, c: &Connection, context: &mut Context<'_, '_>) -> u8 {
    let text = text(expected, found, &c.zone, context.ui.colours_on());
    context.ui.error(&text);
    1
}

fn text(expected: u64, found: &Variable, zone: &jiff::tz::TimeZone, colours: bool) -> Styled {
    let index = found.modify_index;
    let green = |text: String| format!("[green]{text}[yellow]");
    let given = green(format!("({expected})"));
    let stored = green(format!("({index})"));
    let force = green("-force".into());
    let check = green(format!("-check-index={index}"));
    let time = green(values::time(found.modify_time, zone));
    let message = format!(
        "Your provided check-index {given} does not match the server-side index {stored}. The server-side item was last \
         updated on {time}. If you are sure you want to perform this operation, add the {force} or {check} flag before the \
         positional arguments."
    );
    // Tags would count as text.
    let (message, _) = replace_tags(&message, colours);
    let mut text = TaggedText::new(colours);
    text.tags("\n[bold][underline]Check-and-Set conflict[reset]\n\n[yellow]");
    text.styled(&Styled::from_escaped(wrapped(&message, WIDTH, INDENT)));
    text.tags("[reset]\n");
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_broken_without_counting_tags() {
        let found = Variable { modify_index: 469, modify_time: 1_795_240_306_140_334_823, ..Variable::default() };
        let want = "\nCheck-and-Set conflict\n\n    \
            Your provided check-index (0) does not match the server-side index (469). The\n    \
            server-side item was last updated on 2026-11-21T05:51:46Z. If you are sure you\n    \
            want to perform this operation, add the -force or -check-index=469 flag before\n    \
            the positional arguments.\n";
        let text = |colours| text(0, &found, &jiff::tz::TimeZone::UTC, colours);
        assert_eq!(text(false).as_str(), want);
        let coloured = text(true);
        assert_eq!(coloured.as_str().matches('\n').count(), want.matches('\n').count());
        assert!(coloured.as_str().contains("index \x1b[32m(0)\x1b[33m does"), "{coloured}");
    }
}
