//! Texts in columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::row::Cell;

/// The columns of a text.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// A text cut or filled to a width in columns; the last one is a blank. A text that is cut ends with `…`.
pub fn padded(text: &str, width: usize) -> String {
    let mut out = String::new();
    let mut used: usize = 0;
    let clean: String = text.chars().filter(|c| !c.is_control()).collect();
    let fits = self::width(&clean) < width;
    let end = if fits { width } else { width.saturating_sub(1) };
    for c in clean.chars() {
        let columns = UnicodeWidthChar::width(c).unwrap_or(0);
        if used.saturating_add(columns) >= end {
            break;
        }
        used = used.saturating_add(columns);
        out.push(c);
    }
    if !fits && width > 1 {
        out.push('…');
        used = used.saturating_add(1);
    }
    out.extend(std::iter::repeat_n(' ', width.saturating_sub(used)));
    out
}

/// A value as it is shown; moments are relative.
pub fn shown(cell: &Cell, now: i64) -> String {
    match cell {
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => number.to_string(),
        Cell::Time(at) if *at <= 0 => "-".to_string(),
        Cell::Time(at) => {
            let seconds = now.saturating_sub(*at).max(0).checked_div(1_000_000_000).unwrap_or(0);
            match seconds {
                0..60 => format!("{seconds}s ago"),
                60..3600 => format!("{}m ago", seconds / 60),
                3600..86400 => format!("{}h ago", seconds / 3600),
                _ => format!("{}d ago", seconds / 86400),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_and_filled_to_columns() {
        assert_eq!(padded("web", 5), "web  ");
        assert_eq!(padded("website", 5), "web… ");
        assert_eq!(padded("日本語", 5), "日… ".to_string() + " ");
        assert_eq!(padded("a\x1b[31mb", 8), "a[31mb  ");
        assert_eq!(padded("", 0), "");
    }

    #[test]
    fn moments_are_relative() {
        let at = |seconds: i64| shown(&Cell::Time(1_000_000_000), (seconds + 1) * 1_000_000_000);
        assert_eq!([at(5), at(120), at(7200), at(200_000)], ["5s ago", "2m ago", "2h ago", "2d ago"]);
        assert_eq!(shown(&Cell::Time(-62_135_596_800), 5), "-");
    }
}
