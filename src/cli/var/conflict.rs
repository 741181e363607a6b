//! The message about a check-and-set conflict of a variable (`docs/spec/cli.md §12.2`).

use crate::cli::render::values;
use encamp_api::variables::Variable;

/// The width at which the text is wrapped, without its indentation.
const WIDTH: usize = 80;
const INDENT: &str = "    ";

/// The text, with tags.
pub(super) fn text(expected: u64, found: &Variable, zone: &jiff::tz::TimeZone) -> String {
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
    format!("\n[bold][underline]Check-and-Set conflict[reset]\n\n[yellow]{}[reset]\n", wrapped(&message))
}

/// The length of a word without its tags.
fn length(word: &str) -> usize {
    ["[green]", "[yellow]"].iter().fold(word.to_string(), |word, tag| word.replace(tag, "")).chars().count()
}

fn wrapped(message: &str) -> String {
    let mut lines: Vec<(String, usize)> = Vec::new();
    for word in message.split(' ') {
        let long = length(word);
        match lines.last_mut() {
            Some((line, used)) if used.saturating_add(1).saturating_add(long) <= WIDTH => {
                line.push(' ');
                line.push_str(word);
                *used = used.saturating_add(1).saturating_add(long);
            }
            _ => lines.push((format!("{INDENT}{word}"), long)),
        }
    }
    lines.into_iter().map(|(line, _)| line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::markup::markup;

    #[test]
    fn the_text_is_broken_without_counting_tags() {
        let found = Variable { modify_index: 469, modify_time: 1_795_240_306_140_334_823, ..Variable::default() };
        let want = "\nCheck-and-Set conflict\n\n    \
            Your provided check-index (0) does not match the server-side index (469). The\n    \
            server-side item was last updated on 2026-11-21T05:51:46Z. If you are sure you\n    \
            want to perform this operation, add the -force or -check-index=469 flag before\n    \
            the positional arguments.\n";
        assert_eq!(markup(&text(0, &found, &jiff::tz::TimeZone::UTC), false), want);
    }
}
