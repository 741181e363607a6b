//! The difference of two texts that share most of their lines, as a unified diff.

use std::ops::Range;

use owo_colors::OwoColorize;

use super::styled::{Styled, visible};

/// Lines that are shown around a change.
const AROUND: usize = 3;

/// The unified diff of a file before and after a change.
pub fn unified(path: &str, old: &str, new: &str, colours: bool) -> Styled {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    // The file may hold anything.
    let escaped = |line: String| visible(&line).into_owned();
    let paint = |line: String| match (colours, line.chars().next()) {
        (true, Some('-')) => line.red().to_string(),
        (true, Some('+')) => line.green().to_string(),
        (true, Some('@')) => line.cyan().to_string(),
        _ => line,
    };
    let lines = [format!("--- {path}"), format!("+++ {path}")].into_iter().chain(hunks(&old, &new));
    Styled::from_escaped(lines.map(escaped).map(paint).collect::<Vec<_>>().join("\n"))
}

/// A part of the old lines, and what stands in the new ones for it.
type Change = (Range<usize>, Range<usize>);

/// The changes: lines that both have in the same order stay. Where lines differ, the nearest pair of equal lines ends the
/// change.
fn changes(old: &[&str], new: &[&str]) -> Vec<Change> {
    let mut out = Vec::new();
    let (mut a, mut b) = (0, 0);
    while a < old.len() || b < new.len() {
        if let (Some(left), Some(right)) = (old.get(a), new.get(b))
            && left == right
        {
            (a, b) = (a + 1, b + 1);
            continue;
        }
        let (next_a, next_b) = meeting(old, new, (a, b));
        out.push((a..next_a, b..next_b));
        (a, b) = (next_a, next_b);
    }
    out
}

/// The nearest place from which on a line is in both.
fn meeting(old: &[&str], new: &[&str], (a, b): (usize, usize)) -> (usize, usize) {
    let (left, right) = (old.len().saturating_sub(a), new.len().saturating_sub(b));
    for distance in 1..=left.saturating_add(right) {
        for from_old in distance.saturating_sub(right)..=distance.min(left) {
            let (x, y) = (a + from_old, b + (distance - from_old));
            let same = |x: usize, y: usize| old.get(x).zip(new.get(y)).is_some_and(|(l, r)| l == r);
            // Two lines in a row, so that a brace alone does not count; or the end of both.
            if (same(x, y) && (same(x + 1, y + 1) || x + 1 == old.len())) || (x == old.len() && y == new.len()) {
                return (x, y);
            }
        }
    }
    (old.len(), new.len())
}

fn hunks(old: &[&str], new: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    let all = changes(old, new);
    let mut rest = all.as_slice();
    while let Some((first, _)) = rest.split_first() {
        // Changes that are near each other share a hunk.
        let near =
            rest.windows(2).take_while(|pair| matches!(pair, [x, y] if y.0.start <= x.0.end + 2 * AROUND)).count();
        let (hunk, others) = rest.split_at(near + 1);
        rest = others;
        let last = hunk.last().unwrap_or(first);
        let (start, end) = (first.0.start.saturating_sub(AROUND), (last.0.end + AROUND).min(old.len()));
        let new_start = first.1.start.saturating_sub(AROUND);
        let new_end = (last.1.end + AROUND).min(new.len());
        out.push(format!("@@ -{},{} +{},{} @@", start + 1, end - start, new_start + 1, new_end - new_start));
        let mut at = start;
        let lines = |sign: char, lines: &[&str], range: Range<usize>| -> Vec<String> {
            lines.get(range).unwrap_or_default().iter().map(|l| format!("{sign}{l}")).collect()
        };
        for (removed, added) in hunk {
            out.extend(lines(' ', old, at..removed.start));
            out.extend(lines('-', old, removed.clone()));
            out.extend(lines('+', new, added.clone()));
            at = removed.end;
        }
        out.extend(lines(' ', old, at..end));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(old: &str, new: &str) -> Vec<String> {
        hunks(&old.lines().collect::<Vec<_>>(), &new.lines().collect::<Vec<_>>())
    }

    #[test]
    fn changed_added_and_removed_lines_are_shown_with_those_around() {
        let text = "a\nb\nc\nd\ne\nf\ng\nh\n";
        assert_eq!(diff(text, &text.replace("e\n", "E\n")).join(" "), "@@ -2,7 +2,7 @@  b  c  d -e +E  f  g  h");
        assert_eq!(diff(text, &text.replace("a\n", "")).join(" "), "@@ -1,4 +1,3 @@ -a  b  c  d");
        assert_eq!(diff(text, &format!("{text}i\n")).join(" "), "@@ -6,3 +6,4 @@  f  g  h +i");
        assert!(diff(text, text).is_empty());
    }

    #[test]
    fn changes_far_apart_have_hunks_of_their_own() {
        let old: String = (0..30).map(|n| format!("{n}\n")).collect();
        let both = old.replace("\n3\n", "\nx\n").replace("\n20\n", "\ny\n");
        assert_eq!(diff(&old, &both).iter().filter(|l| l.starts_with("@@")).count(), 2);
        let near = old.replace("\n3\n", "\nx\n").replace("\n6\n", "\ny\n");
        assert_eq!(diff(&old, &near).iter().filter(|l| l.starts_with("@@")).count(), 1);
    }
}
