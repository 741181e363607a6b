//! Glob patterns of one path segment: `*`, `?`, `[a-z]`, `[^a]`, `{a,b}`, `\` before a literal character.
//!
//! globset is not used: it matches whole paths, whereas `fileset` reads only the directories that the segments before
//! allow, and bounds the names that braces stand for.

use thiserror::Error;

/// A text is no pattern: a bracket or brace is not closed, or the braces stand for too many names.
#[derive(Debug, Clone, Copy, Error)]
#[error("syntax error in pattern")]
pub(crate) struct PatternError;

/// One segment of a path pattern.
#[derive(Debug)]
pub(crate) enum Segment {
    /// `**`: any number of directories, also none.
    AnyDepth,
    /// Alternatives for a name.
    Name(Vec<Vec<Token>>),
}

/// A piece of a name pattern.
#[derive(Debug, Clone)]
pub(crate) enum Token {
    Literal(char),
    /// `?`
    One,
    /// `*`
    Many,
    /// Ranges of characters, or with `true` all others.
    Class(Vec<(char, char)>, bool),
}

/// Most alternatives that braces may stand for.
const MAX_ALTERNATIVES: usize = 256;

impl Segment {
    /// Reads a segment, or tells that it is not a pattern.
    pub(crate) fn parse(text: &str) -> Result<Segment, PatternError> {
        if text == "**" {
            return Ok(Segment::AnyDepth);
        }
        let alternatives = expand_braces(text).ok_or(PatternError)?;
        let tokens = alternatives.iter().map(|text| tokens(text)).collect::<Option<Vec<_>>>();
        tokens.map(Segment::Name).ok_or(PatternError)
    }
}

/// The patterns that `{a,b}` stands for; braces may be nested.
fn expand_braces(text: &str) -> Option<Vec<String>> {
    let mut done = Vec::new();
    let mut open = vec![text.to_string()];
    while let Some(text) = open.pop() {
        if done.len() + open.len() > MAX_ALTERNATIVES {
            return None;
        }
        let Some((start, end, commas)) = outer_braces(&text)? else {
            done.push(text);
            continue;
        };
        let (before, after) = (text.get(..start)?, text.get(end + 1..)?);
        let mut from = start + 1;
        for comma in commas.into_iter().chain([end]) {
            open.push(format!("{before}{}{after}", text.get(from..comma)?));
            from = comma + 1;
        }
    }
    Some(done)
}

/// The positions of the first pair of braces and of the commas directly in it; the outer `None` is an unclosed brace.
#[allow(clippy::option_option)]
fn outer_braces(text: &str) -> Option<Option<(usize, usize, Vec<usize>)>> {
    let (mut depth, mut start, mut commas, mut escaped) = (0usize, 0, Vec::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '{' => {
                if depth == 0 {
                    start = at;
                }
                depth += 1;
            }
            '}' if depth == 1 => return Some(Some((start, at, commas))),
            '}' => depth = depth.saturating_sub(1),
            ',' if depth == 1 => commas.push(at),
            _ => {}
        }
    }
    (depth == 0).then_some(None)
}

fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        tokens.push(match c {
            '*' => Token::Many,
            '?' => Token::One,
            '\\' => Token::Literal(rest.next()?),
            '[' => {
                let negated = rest.next_if(|c| matches!(c, '^' | '!')).is_some();
                let mut ranges = Vec::new();
                loop {
                    let low = match rest.next()? {
                        ']' if !ranges.is_empty() => break,
                        '\\' => rest.next()?,
                        low => low,
                    };
                    let high = if rest.next_if_eq(&'-').is_some() {
                        match rest.next()? {
                            '\\' => rest.next()?,
                            high => high,
                        }
                    } else {
                        low
                    };
                    ranges.push((low, high));
                }
                Token::Class(ranges, negated)
            }
            other => Token::Literal(other),
        });
    }
    Some(tokens)
}

/// Whether a name matches one of the alternatives.
pub(crate) fn matches(alternatives: &[Vec<Token>], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    alternatives.iter().any(|tokens| matches_one(tokens, &name))
}

/// Matching with one point to go back to: the latest `*` takes one character more.
fn matches_one(tokens: &[Token], name: &[char]) -> bool {
    let (mut token, mut at) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while at < name.len() || token < tokens.len() {
        let step = match (tokens.get(token), name.get(at)) {
            (Some(Token::Many), _) => {
                retry = Some((token, at));
                token += 1;
                continue;
            }
            (Some(Token::One), Some(_)) => true,
            (Some(Token::Literal(wanted)), Some(c)) => wanted == c,
            (Some(Token::Class(ranges, negated)), Some(c)) => {
                ranges.iter().any(|(low, high)| (low..=high).contains(&c)) != *negated
            }
            _ => false,
        };
        if step {
            (token, at) = (token + 1, at + 1);
            continue;
        }
        match retry {
            Some((star, from)) if from < name.len() => {
                retry = Some((star, from + 1));
                (token, at) = (star + 1, from + 1);
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for (pattern, name, expected) in [
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.bak", false),
            ("*a*b*", "xxaxxbxx", true),
            ("a?c", "abc", true),
            ("[a-c]x", "bx", true),
            ("[^a-c]x", "bx", false),
            ("{a,b{1,2}}.x", "b2.x", true),
            ("{a,b{1,2}}.x", "b.x", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("", "", true),
            ("*", "", true),
        ] {
            let Segment::Name(alternatives) = Segment::parse(pattern).unwrap() else { panic!("{pattern}") };
            assert_eq!(matches(&alternatives, name), expected, "{pattern} on {name}");
        }
        assert!(matches!(Segment::parse("**").unwrap(), Segment::AnyDepth));
        for broken in ["[a", "{a", "a\\", "[]"] {
            assert!(Segment::parse(broken).is_err(), "{broken}");
        }
        assert!(Segment::parse(&"{a,b}".repeat(40)).is_err());
        let Segment::Name(stars) = Segment::parse(&"*a".repeat(50)).unwrap() else { panic!() };
        assert!(!matches(&stars, &"a".repeat(49)));
    }
}
