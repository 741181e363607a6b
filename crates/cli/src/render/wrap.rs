//! Text wrapped at spaces into indented lines.

use std::borrow::Cow;

use textwrap::core::display_width;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The width of terminals that texts are wrapped for.
pub const WIDTH: usize = 80;

/// Wraps a paragraph into lines of at most `width` columns, each of them indented. White space between words becomes one
/// space; a word that is too long is not broken. Escape sequences take no columns.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = options(width).initial_indent(&indent).subsequent_indent(&indent).break_words(false);
    textwrap::fill(&words(text), options)
}

/// The lines of a text, each indented by two spaces.
pub fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// A text for a terminal of that width: its long lines are wrapped at spaces, and continue at their own indent, behind
/// the marker of an item of a list. Lines that are aligned with others, such as those of tables and sources, stay as they
/// are.
pub fn fitted(text: &str, width: usize) -> Cow<'_, str> {
    if text.lines().all(|line| display_width(line) <= width) {
        return Cow::Borrowed(text);
    }
    let line = |line: &str| {
        let content = line.trim_start();
        let aligned = content.contains("  ") || content.contains('|') || content.contains('\t');
        if display_width(line) <= width || aligned {
            return line.to_string();
        }
        let first = line.get(..line.len().saturating_sub(content.len())).unwrap_or_default();
        let rest = if content.starts_with("* ") || content.starts_with("- ") { "  " } else { "" };
        let rest = format!("{first}{rest}");
        let options = options(width).initial_indent(first).subsequent_indent(&rest).break_words(false);
        textwrap::fill(content, options)
    };
    // The text ends as it did.
    Cow::Owned(text.split('\n').map(line).collect::<Vec<_>>().join("\n"))
}

/// The lines of a text in a column of that width, which is not exceeded: a word that is too long is broken. At least one.
pub fn lines(text: &str, width: usize) -> Vec<String> {
    textwrap::wrap(&words(text), options(width).break_words(true)).into_iter().map(Into::into).collect()
}

fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
}

/// The words of a text with a space between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_at_spaces_only() {
        let long = "x".repeat(90);
        assert_eq!(wrapped(&format!("a  b {long} c-c\nd"), WIDTH, 2), format!("  a b\n  {long}\n  c-c d"));
        assert_eq!(wrapped("ab cd ef", 6, 1), " ab cd\n ef");
        assert_eq!(wrapped("", WIDTH, 2), "");
        assert_eq!(lines("a bcdefgh", 4), ["a", "bcde", "fgh"]);
        assert_eq!(lines("", 4), [""]);
    }

    #[test]
    fn long_lines_are_fitted_and_others_stay() {
        let text =
            "short\n  an indented line that is long\n* an item that is long too\n1 | let aligned = with_others;\n";
        let want = "short\n  an indented\n  line that is\n  long\n* an item that\n  is long too\n1 | let aligned = with_others;\n";
        assert_eq!(fitted(text, 15), want);
        assert!(matches!(fitted("all of it fits", 15), Cow::Borrowed(_)));
        assert_eq!(fitted("\x1b[31mred words\x1b[0m here", 9), "\x1b[31mred words\x1b[0m\nhere");
    }

    #[test]
    fn width_is_counted_in_terminal_columns() {
        assert_eq!(wrapped("日本 日本 x", 9, 0), "日本 日本\nx");
        assert_eq!(wrapped("\x1b[32mab\x1b[0m cd", 5, 0), "\x1b[32mab\x1b[0m cd");
    }
}
