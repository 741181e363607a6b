//! Lists of errors and warnings, and their formatting (`docs/spec/jobspec.md §14.1`, `§15`).

use std::fmt::Display;

/// The text of an error list: `2 errors occurred:\n\t* A\n\t* B\n\n`.
pub fn error_list(items: &[String]) -> String {
    let head =
        if items.len() == 1 { "1 error occurred:".to_string() } else { format!("{} errors occurred:", items.len()) };
    format!("{head}\n\t* {}\n\n", items.join("\n\t* "))
}

/// The text of a list of warnings: `1 warning:\n\n* A`; `""` when there are none.
pub(super) fn warning_list(items: &[String]) -> String {
    let head = match items.len() {
        0 => return String::new(),
        1 => "1 warning:".to_string(),
        n => format!("{n} warnings:"),
    };
    let lines: Vec<String> = items.iter().map(|i| format!("* {}", i.trim())).collect();
    format!("{head}\n\n{}", lines.join("\n"))
}

/// The text of a list of warnings with one more at its end.
pub fn add_warning(warnings: &str, item: &str) -> String {
    let Some((count, rest)) = warnings.split_once(" warning") else { return warning_list(&[item.to_string()]) };
    let count = count.parse::<usize>().unwrap_or(1).saturating_add(1);
    let list = rest.split_once("\n\n").map_or(rest, |(_, list)| list);
    format!("{count} warnings:\n\n{list}\n* {}", item.trim())
}

/// Collects items in the order in which they are found.
#[derive(Debug, Default)]
pub(super) struct Errors(Vec<String>);

impl Errors {
    pub(super) fn add(&mut self, item: impl Into<String>) {
        self.0.push(item.into());
    }

    /// Adds the text when the condition holds.
    pub(super) fn add_if(&mut self, condition: bool, text: impl Display) {
        if condition {
            self.0.push(text.to_string());
        }
    }

    /// Adds each item of another list.
    pub(super) fn flatten(&mut self, items: impl IntoIterator<Item = String>) {
        self.0.extend(items);
    }

    /// Adds another list as one item behind a prefix, unless it is empty.
    pub(super) fn nest(&mut self, prefix: impl Display, items: Vec<String>) {
        if !items.is_empty() {
            self.0.push(format!("{prefix}{}", error_list(&items)));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_items(self) -> Vec<String> {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_print_with_their_number() {
        let items = |n: usize| ["A", "B"].iter().take(n).map(|s| s.to_string()).collect::<Vec<_>>();
        assert_eq!(error_list(&items(1)), "1 error occurred:\n\t* A\n\n");
        assert_eq!(error_list(&items(2)), "2 errors occurred:\n\t* A\n\t* B\n\n");
        assert_eq!(warning_list(&items(0)), "");
        assert_eq!(warning_list(&[" A\n\n".to_string()]), "1 warning:\n\n* A");
        assert_eq!(warning_list(&items(2)), "2 warnings:\n\n* A\n* B");
        assert_eq!(add_warning("", "A"), warning_list(&items(1)));
        assert_eq!(add_warning(&warning_list(&items(1)), "B"), warning_list(&items(2)));
    }

    #[test]
    fn nested_lists_keep_their_blank_lines() {
        let mut errors = Errors::default();
        errors.nest("inner failed: ", vec!["x".into()]);
        errors.nest("nothing: ", vec![]);
        errors.add("y");
        assert_eq!(
            error_list(&errors.into_items()),
            "2 errors occurred:\n\t* inner failed: 1 error occurred:\n\t* x\n\n\n\t* y\n\n"
        );
    }
}
