//! Heredocs that do not open or close as they look.

use super::Place;
use super::outline::Outline;
use encamp_hcl::diag::Span;
use encamp_hcl::lexer::{Start, lex};
use encamp_hcl::token::Kind;

/// A heredoc without an end.
pub(super) struct Unclosed {
    /// Where it opens: `<<EOT`.
    pub open: Place,
    /// The first byte of that.
    pub opening: usize,
    /// The marker that has to close it.
    pub marker: String,
    /// What is wrong, in one line.
    pub message: String,
    /// What to do.
    pub help: String,
    /// The line that may be meant to close it, and why it does not.
    pub near: Option<(Place, String)>,
    /// The first byte and the length of that line, without blanks around it.
    pub closing: Option<(usize, usize)>,
}

/// The innermost heredoc that the file does not close.
pub(super) fn unclosed(outline: &Outline) -> Option<Unclosed> {
    let mut open = Vec::new();
    for token in lex(&outline.text, 0, Start::Normal) {
        match token.kind {
            Kind::OHeredoc => open.push(token.span),
            Kind::CHeredoc => drop(open.pop()),
            _ => {}
        }
    }
    let opening = open.pop()?;
    let header = outline.slice(opening);
    let marker = header.trim_start_matches(['<', '-']).trim_end();
    let span = Span { end: opening.start + u32::try_from(header.trim_end().len()).ok()?, ..opening };
    let closing = closing(&outline.text, opening.end as usize, marker);
    let near = closing.map(|(at, length)| {
        let start = u32::try_from(at).unwrap_or(u32::MAX);
        let end = start.saturating_add(u32::try_from(length).unwrap_or(u32::MAX));
        let line = outline.slice(Span { start, end, ..opening });
        let why = match line.trim() == marker {
            true => "the file ends right behind this marker, without a new line",
            false => "this line may be meant to close it, but has more than the marker",
        };
        (Place::of(outline, Span { start, end, ..opening }), why.to_owned())
    });
    Some(Unclosed {
        open: Place::of(outline, span),
        message: format!("the heredoc <<{marker} that begins here is not closed"),
        help: format!(
            "the line that closes it contains {marker} and nothing else; what follows, such as ) or a comma, goes on the \
             next line"
        ),
        near,
        opening: opening.start as usize,
        marker: marker.to_owned(),
        closing,
    })
}

/// The line that looks most like the end of a heredoc: byte offset and length without blanks around it.
fn closing(text: &str, from: usize, marker: &str) -> Option<(usize, usize)> {
    let small = marker.to_lowercase();
    let mut at = from;
    let mut best: Option<(u8, usize, usize)> = None;
    for line in text.get(from..)?.split_inclusive('\n') {
        let trimmed = line.trim();
        let lower = trimmed.to_lowercase();
        let rank = match () {
            () if trimmed.contains("<<") => None,
            () if trimmed == marker => Some(0),
            () if trimmed.strip_prefix(marker).is_some_and(|rest| !rest.starts_with(is_word)) => Some(1),
            () if trimmed.ends_with(marker) => Some(2),
            () if lower == small => Some(3),
            () if trimmed.starts_with(marker) => Some(4),
            () => None,
        };
        if let Some(rank) = rank
            && best.is_none_or(|(other, ..)| rank < other)
        {
            best = Some((rank, at + (line.len() - line.trim_start().len()), trimmed.len()));
        }
        at += line.len();
    }
    best.map(|(_, at, length)| (at, length))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '-'
}

/// What is wrong with `<<EOT` at the start of a text that is no heredoc, and the marker as it has to be written.
pub(super) fn misread_opening(text: &str) -> Option<(String, String)> {
    let line = text.lines().next()?;
    let rest = line.strip_prefix("<<")?;
    let (dash, rest) = match rest.strip_prefix(['-', '~']) {
        Some(tail) => ("-", tail),
        None => ("", rest),
    };
    let marker: String =
        rest.trim_start().trim_start_matches(['"', '\'']).chars().take_while(|c| is_word(*c)).collect();
    if marker.is_empty() {
        return None;
    }
    let right = format!("<<{dash}{marker}");
    let message = match () {
        () if line.starts_with("<<~") => {
            "heredocs of HCL that remove the indentation begin with <<-, not with <<~".into()
        }
        () if rest.trim_start().starts_with(['"', '\'']) => "the marker of a heredoc has no quotes".into(),
        () if rest.starts_with([' ', '\t']) => "the marker of a heredoc stands right behind <<".into(),
        () if line.trim_end() == right => format!("there are blanks behind {right}, which has to end its line"),
        () => format!("{right} has to end its line: the text of a heredoc begins on the next one"),
    };
    Some((message, right))
}

#[cfg(test)]
mod tests {
    use super::super::parse_error;
    use super::super::{Finding, Place};
    use crate::parse::{ParseOptions, parse};

    fn findings(text: &str) -> Vec<Finding> {
        let options = ParseOptions { path: "f.hcl".into(), ..ParseOptions::default() };
        parse(text.as_bytes(), &options).err().map(|e| parse_error(&e)).unwrap_or_default()
    }

    fn line(place: &Place) -> usize {
        place.range.start_line
    }

    /// Every way to write an opening, a text and a wrong end.
    #[test]
    fn heredocs_are_reported_where_they_open() {
        let openings = ["<<EOT", "<<-EOT", "trimspace(<<EOT", "[<<EOT", "<<END_2", "f(\"x\", <<-É"];
        let texts = ["", "hello\n", "a\n  b\n\n", "${env.X} %{ if true }y%{ endif }\n", "EOTX is no end\n", "{ [ (\n"];
        let ends = ["textM", "  text M", "M)", "M,", "  M)", "M]", "M;", "M # end", "M }", "m", "M"];
        let mut cases = 0;
        for opening in openings {
            let marker = opening.rsplit(['<', '-']).next().unwrap_or("");
            for text in texts {
                for end in ends {
                    let end = end.replace('M', marker).replace('m', &marker.to_lowercase());
                    // A marker alone closes the heredoc unless the file ends behind it.
                    let alone = end.trim() == marker;
                    let tail = if alone { "" } else { "\n    destination = \"x\"\n  }\n}\n" };
                    let file = format!("job \"j\" {{\n  template {{\n    data = {opening}\n{text}{end}{tail}");
                    let found = findings(&file);
                    cases += 1;
                    assert_eq!(found.len(), 1, "{file}{found:#?}");
                    let f = &found[0];
                    assert_eq!(line(f.place.as_ref().expect("a place")), 3, "{file}{f:#?}");
                    assert!(f.message.starts_with(&format!("the heredoc <<{marker} ")), "{file}{f:#?}");
                    let (near, _) = f.related.as_ref().expect("the likely end");
                    assert_eq!(line(near), 4 + text.matches('\n').count(), "{file}{f:#?}");
                }
            }
        }
        assert_eq!(cases, 396);
    }

    #[test]
    fn markers_that_do_not_open_are_explained() {
        for (opening, want) in [
            ("<<EOT ", "there are blanks behind <<EOT"),
            ("<<EOT\t", "there are blanks behind <<EOT"),
            ("<<-EOT  ", "there are blanks behind <<-EOT"),
            ("<<\"EOT\"", "the marker of a heredoc has no quotes"),
            ("<<'EOT'", "the marker of a heredoc has no quotes"),
            ("<< EOT", "the marker of a heredoc stands right behind <<"),
            ("<<~EOT", "heredocs of HCL that remove the indentation"),
            ("<<EOT text", "<<EOT has to end its line"),
            ("<<EOT)", "<<EOT has to end its line"),
        ] {
            let file = format!("job \"j\" {{\n  meta {{\n    a = {opening}\ntext\nEOT\n  }}\n}}\n");
            let found = findings(&file);
            assert!(found.iter().any(|f| f.message.starts_with(want)), "{file}{found:#?}");
            assert_eq!(line(found[0].place.as_ref().expect("a place")), 3, "{found:#?}");
        }
    }
}
