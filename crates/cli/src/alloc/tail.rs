//! Reading the end of a file (`docs/spec/cli.md §9.2`).

use crate::flags::{InvalidFlag, parse_int};
use encamp_api::stream::{Event, FrameStream};
use encamp_api::{ApiError, Query};

/// The number of bytes to read before the end for each requested line.
const BYTES_PER_LINE: i64 = 120;
/// The default number of lines.
const LINES: i64 = 10;

/// Where reading starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Start {
    /// The offset from the end in bytes; `None` to read from the start.
    pub before_end: Option<u64>,
    /// The maximum number of lines.
    pub lines: Option<usize>,
}

/// The flags that select the end of a file.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TailFlags {
    /// Start near the end
    #[arg(long)]
    tail: bool,
    /// With -tail, the number of lines. Default: 10
    #[arg(
        long = "n",
        value_name = "lines",
        default_value = "-1",
        hide_default_value = true,
        value_parser = parse_int,
        allow_hyphen_values = true
    )]
    lines: i64,
    /// With -tail, the number of bytes, instead of lines
    #[arg(
        long = "c",
        value_name = "bytes",
        default_value = "-1",
        hide_default_value = true,
        value_parser = parse_int,
        allow_hyphen_values = true
    )]
    bytes: i64,
}

impl TailFlags {
    /// Where reading starts. `-1` stands for a flag that was not given.
    pub(super) fn start(&self) -> Result<Start, InvalidFlag> {
        if !self.tail {
            return Ok(Start::default());
        }
        match (self.lines, self.bytes) {
            (..-1, _) | (_, ..-1) => Err(InvalidFlag::new("Invalid size is specified")),
            (-1, -1) => Ok(Start::of_lines(LINES)),
            (lines, -1) => Ok(Start::of_lines(lines)),
            (-1, bytes) => Ok(Start { before_end: u64::try_from(bytes).ok(), lines: None }),
            _ => Err(InvalidFlag::new("Both -n and -c are not allowed")),
        }
    }
}

impl Start {
    fn of_lines(lines: i64) -> Start {
        let before_end = u64::try_from(lines.saturating_mul(BYTES_PER_LINE)).ok();
        Start { before_end, lines: usize::try_from(lines).ok() }
    }

    /// A request for frames from that position on.
    pub(super) fn added_to(&self, query: Query) -> Query {
        let origin = if self.before_end.is_some() { "end" } else { "start" };
        query.with("offset", self.before_end.unwrap_or(0).to_string()).with("origin", origin)
    }
}

/// The last lines of a text.
pub(super) fn last_lines(bytes: &[u8], lines: usize) -> &[u8] {
    if lines == 0 {
        return &[];
    }
    let body = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let ends = body.iter().enumerate().rev().filter(|(_, b)| **b == b'\n').map(|(at, _)| at);
    let from = ends.take(lines).nth(lines.saturating_sub(1)).map_or(0, |at| at.saturating_add(1));
    bytes.get(from..).unwrap_or_default()
}

/// Copies frames until the stream ends or the sink is closed. With a number of lines, only the last lines of the
/// initial data are copied.
pub(super) async fn copy(
    mut frames: FrameStream,
    lines: Option<usize>,
    mut sink: impl FnMut(&[u8]) -> bool,
) -> Result<(), ApiError> {
    let mut waiting = lines.map(|lines| (lines, Vec::new()));
    loop {
        let event = frames.next().await?;
        match (&mut waiting, event) {
            (Some((_, held)), Some(Event::Data(data))) => held.extend_from_slice(&data),
            (None, Some(Event::Data(data))) => {
                if !sink(&data) {
                    return Ok(());
                }
            }
            // There was no data yet: the node is slow, or the file is empty.
            (Some((_, held)), Some(_)) if held.is_empty() => {}
            (Some((lines, held)), event) => {
                let shown = sink(last_lines(held, *lines));
                if event.is_none() || !shown {
                    return Ok(());
                }
                waiting = None;
            }
            (None, None) => return Ok(()),
            (None, Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reading_begins_where_the_flags_say() {
        let at = |before_end, lines| Ok(Start { before_end, lines });
        for ((tail, lines, bytes), want) in [
            ((false, 5, 5), at(None, None)),
            ((true, -1, -1), at(Some(1200), Some(10))),
            ((true, 2, -1), at(Some(240), Some(2))),
            ((true, -1, 7), at(Some(7), None)),
            ((true, 2, 7), Err(InvalidFlag::new("Both -n and -c are not allowed"))),
            ((true, -2, -1), Err(InvalidFlag::new("Invalid size is specified"))),
        ] {
            assert_eq!(TailFlags { tail, lines, bytes }.start(), want);
        }
    }

    #[test]
    fn the_last_lines_are_whole() {
        for (text, lines, want) in [
            ("a\nb\nc\n", 2, "b\nc\n"),
            ("a\nb\nc", 2, "b\nc"),
            ("a\n\n", 1, "\n"),
            ("a\nb\n", 5, "a\nb\n"),
            ("", 3, ""),
            ("a\n", 0, ""),
        ] {
            assert_eq!(last_lines(text.as_bytes(), lines), want.as_bytes(), "{text:?}");
        }
    }
}
