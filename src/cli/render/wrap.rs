//! Text wrapped at spaces into indented lines.

use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// The width of terminals that texts are wrapped for.
pub const WIDTH: usize = 80;

/// Wraps a paragraph into lines of at most `width` columns, each of them indented. White space between words becomes one
/// space; a word that is too long is not broken. Escape sequences take no columns.
pub fn wrapped(text: &str, width: usize, indent: usize) -> String {
    let indent = " ".repeat(indent);
    let options = Options::new(width)
        .initial_indent(&indent)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let words: Vec<&str> = text.split_whitespace().collect();
    textwrap::fill(&words.join(" "), options)
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
    }

    #[test]
    fn width_is_counted_in_terminal_columns() {
        assert_eq!(wrapped("日本 日本 x", 9, 0), "日本 日本\nx");
        assert_eq!(wrapped("\x1b[32mab\x1b[0m cd", 5, 0), "\x1b[32mab\x1b[0m cd");
    }
}
