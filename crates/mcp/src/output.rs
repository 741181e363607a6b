//! Answers of bounded length, and the rest of those that were cut.

use std::collections::VecDeque;

/// The longest answer, in bytes, without the note about what is missing.
pub const LIMIT: usize = 48 << 10;
/// Answers that were cut and can still be read on.
const KEPT: usize = 8;
/// The longest answer that can be read on, in bytes.
const MAX_KEPT: usize = 4 << 20;

/// Answers that were cut.
#[derive(Debug, Default)]
pub struct Rests {
    /// How many answers were cut: the number of the latest.
    cut: u64,
    kept: VecDeque<Kept>,
}

#[derive(Debug)]
struct Kept {
    number: u64,
    text: String,
    /// The bytes that were shown, from the first on.
    shown: usize,
}

impl Rests {
    /// The text, or its beginning with a note how to read on and the number of the answer.
    pub fn first(&mut self, text: String) -> (String, Option<u64>) {
        if text.len() <= LIMIT {
            return (text, None);
        }
        self.cut = self.cut.saturating_add(1);
        let number = self.cut;
        let (part, shown) = part(&text, 0, number);
        if text.len() <= MAX_KEPT {
            self.kept.push_back(Kept { number, text, shown });
            while self.kept.len() > KEPT {
                self.kept.pop_front();
            }
        }
        (part, Some(number))
    }

    /// A cut answer from a byte on; `None` if it is not kept any more.
    pub fn from(&mut self, number: u64, start: usize) -> Option<String> {
        let kept = self.kept.iter_mut().find(|kept| kept.number == number)?;
        let (part, end) = part(&kept.text, start, number);
        if start <= kept.shown {
            kept.shown = kept.shown.max(end);
        }
        Some(part)
    }

    /// Whether all of a cut answer was shown.
    pub fn was_read(&self, number: u64) -> bool {
        self.kept.iter().any(|kept| kept.number == number && kept.shown >= kept.text.len())
    }
}

/// At most [`LIMIT`] bytes of a text, whole lines where there are any, and where they end.
fn part(text: &str, start: usize, number: u64) -> (String, usize) {
    let start = text.floor_char_boundary(start.min(text.len()));
    let rest = text.get(start..).unwrap_or_default();
    if rest.len() <= LIMIT {
        return (rest.to_string(), text.len());
    }
    let end = rest.floor_char_boundary(LIMIT);
    let shown = rest.get(..end).unwrap_or_default();
    let shown = shown.rfind('\n').and_then(|line| shown.get(..=line)).unwrap_or(shown);
    let (end, whole) = (start.saturating_add(shown.len()), text.len());
    let mut out = shown.to_string();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    if whole <= MAX_KEPT {
        out.push_str(&format!(
            "[bytes {start} to {end} of {whole}; read_on with answer={number} from={end} gives more]"
        ));
    } else {
        out.push_str(&format!("[{end} of {whole} bytes; ask for less: name one object, or filter the list]"));
    }
    (out, end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answers_are_cut_at_lines_and_read_on() {
        let mut rests = Rests::default();
        assert_eq!(rests.first("short\n".into()), ("short\n".into(), None));
        let text: String = (0..10_000).map(|n| format!("line {n} é\n")).collect();
        let (mut got, number) = rests.first(text.clone());
        assert!(number == Some(1) && !rests.was_read(1));
        // A part behind what was shown does not count.
        assert!(rests.from(1, text.len()).is_some() && !rests.was_read(1));
        let mut joined = String::new();
        loop {
            let Some((shown, note)) = got.rsplit_once('[') else {
                joined.push_str(&got);
                break;
            };
            assert!(shown.len() <= LIMIT && shown.ends_with('\n'), "{note}");
            joined.push_str(shown);
            let from = note.rsplit_once("from=").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
            got = rests.from(1, from.expect("a place")).expect("the rest");
        }
        assert_eq!(joined, text);
        assert!(rests.was_read(1));
    }

    #[test]
    fn one_long_line_is_cut_at_a_character_and_old_answers_are_forgotten() {
        let mut rests = Rests::default();
        let text = "é".repeat(LIMIT);
        let (got, _) = rests.first(text.clone());
        assert!(got.len() < LIMIT + 200 && got.contains("of 98304;"), "{}", got.len());
        for _ in 0..KEPT {
            rests.first(text.clone());
        }
        assert!(rests.from(1, 0).is_none() && rests.from(2, 0).is_some() && rests.from(9, usize::MAX).is_some());
        let (huge, _) = rests.first("x".repeat(MAX_KEPT + 1));
        assert!(huge.ends_with("filter the list]"), "{}", &huge[huge.len() - 90..]);
    }
}
