//! Regular expressions of constraints: RE2 syntax and its error texts, matched by the `regex` crate
//! (`docs/spec/jobspec.md §14.9`, `docs/spec/scheduling.md §6.1`).
//!
//! [`check`] walks the pattern once by RE2's rules and [`compile`] translates what differs: `\d`, `\s`, `\w` and `\b`
//! are ASCII, `\Q…\E` quotes, `[`, `&&` and `--` in classes are plain characters, a brace that is no repetition is a
//! character.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::str::CharIndices;

use regex::{Regex, RegexBuilder};
use thiserror::Error;

/// Deepest nesting of groups that is accepted. RE2 takes 1000, which the matcher can't build on a small stack.
const MAX_DEPTH: usize = 250;
/// Highest count of a repetition, also of nested ones taken together.
const MAX_REPEAT: u64 = 1000;
/// Longest pattern, in bytes.
const MAX_LENGTH: usize = 64 << 10;
/// Most parts a pattern may have ([`weight`]).
const MAX_WEIGHT: usize = 100_000;
/// Parts that a class of Unicode characters counts as: it becomes a small machine over bytes.
const CLASS_WEIGHT: usize = 25;
/// Bytes a compiled pattern may take.
const MAX_COMPILED: usize = 4 << 20;

const POSIX_CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "word",
    "xdigit",
];

/// Checks whether the pattern is valid. Nothing is compiled, so this is cheap; a pattern that passes can still be too
/// large to compile.
///
/// # Errors
/// The first mistake in the pattern, or that the pattern is too large.
pub fn check(pattern: &str) -> Result<(), SyntaxError> {
    weight(pattern).map(|_| ())
}

/// How many parts the pattern has when its counted repetitions are written out: matching takes at most this much for
/// each byte of a text.
///
/// # Errors
/// Those of [`check`].
pub fn weight(pattern: &str) -> Result<usize, SyntaxError> {
    Translator::new(pattern).run().map(|(_, weight)| weight)
}

/// Compiles the pattern for unanchored search.
///
/// # Errors
/// Those of [`check`], also where only the compiled pattern is too large.
pub fn compile(pattern: &str) -> Result<Regex, SyntaxError> {
    let (translated, _) = Translator::new(pattern).run()?;
    RegexBuilder::new(&translated)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .nest_limit(u32::try_from(MAX_DEPTH).unwrap_or(u32::MAX))
        .build()
        .map_err(|_| too_large(pattern))
}

fn too_large(pattern: &str) -> SyntaxError {
    let shown: String = pattern.chars().take(1000).collect();
    SyntaxError { code: "expression too large", at: if shown.len() < pattern.len() { shown + "…" } else { shown } }
}

thread_local! {
    /// Names of character classes that were found to exist.
    static CLASSES: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Whether the `regex` crate knows the class, such as `\p{Greek}`.
fn class_exists(set: &str) -> bool {
    if CLASSES.with_borrow(|known| known.contains(set)) {
        return true;
    }
    let exists = Regex::new(set).is_ok();
    if exists {
        CLASSES.with_borrow_mut(|known| known.insert(set.to_string()));
    }
    exists
}

/// A pattern is not valid. The text is the one that RE2 gives: ``error parsing regexp: missing closing ]: `[` ``.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("error parsing regexp: {code}: `{at}`")]
pub struct SyntaxError {
    /// The kind of mistake.
    code: &'static str,
    /// The part of the pattern that has it.
    at: String,
}

type Step<T> = Result<T, SyntaxError>;

fn fail<T>(code: &'static str, at: &str) -> Step<T> {
    Err(SyntaxError { code, at: at.to_string() })
}

/// The operand of a repetition operator.
#[derive(Clone, Copy)]
struct Atom {
    /// The product of the repetition counts inside.
    repeats: u64,
    /// Its share of the weight.
    weight: usize,
}

/// The state of the pattern around an open group.
struct Open {
    /// The highest repetition so far.
    repeats: u64,
    /// The weight so far.
    weight: usize,
}

struct Translator<'a> {
    src: &'a str,
    chars: Peekable<CharIndices<'a>>,
    out: String,
    groups: Vec<Open>,
    names: BTreeSet<&'a str>,
    /// The highest repetition in the current group so far.
    inner: u64,
    /// The weight of the current group so far.
    weight: usize,
    atom: Option<Atom>,
    /// Where the repetition operator just read began.
    last_repeat: Option<usize>,
}

impl<'a> Translator<'a> {
    fn new(src: &'a str) -> Self {
        Translator {
            src,
            chars: src.char_indices().peekable(),
            out: String::with_capacity(src.len()),
            groups: Vec::new(),
            names: BTreeSet::new(),
            inner: 1,
            weight: 0,
            atom: None,
            last_repeat: None,
        }
    }

    /// Byte offset of what is read next.
    fn position(&mut self) -> usize {
        self.chars.peek().map_or(self.src.len(), |(i, _)| *i)
    }

    fn rest(&mut self) -> &'a str {
        let at = self.position();
        self.src.get(at..).unwrap_or("")
    }

    /// The text from an offset to what is read next.
    fn since(&mut self, start: usize) -> &'a str {
        let end = self.position();
        self.src.get(start..end).unwrap_or("")
    }

    fn eat(&mut self, c: char) -> bool {
        self.chars.next_if(|(_, x)| *x == c).is_some()
    }

    fn skip(&mut self, bytes: usize) {
        let end = self.position() + bytes;
        while self.chars.next_if(|(i, _)| *i < end).is_some() {}
    }

    /// The translation and its weight.
    fn run(mut self) -> Step<(String, usize)> {
        if self.src.len() > MAX_LENGTH {
            return Err(too_large(self.src));
        }
        while let Some((start, c)) = self.chars.next() {
            let repeat_before = self.last_repeat.take();
            match c {
                '(' => self.open_group(start)?,
                ')' => {
                    let Some(outer) = self.groups.pop() else { return fail("unexpected )", self.src) };
                    self.out.push(')');
                    let weight = self.weight.saturating_add(1);
                    self.atom = Some(Atom { repeats: self.inner, weight });
                    self.inner = self.inner.max(outer.repeats);
                    self.weight = weight.saturating_add(outer.weight);
                }
                '|' => {
                    self.out.push('|');
                    self.weight = self.weight.saturating_add(1);
                    self.atom = None;
                }
                '*' | '+' | '?' => {
                    let lazy = self.eat('?');
                    self.repetition(start, repeat_before, None)?;
                    self.out.push(c);
                    if lazy {
                        self.out.push('?');
                    }
                }
                '{' => self.brace(start, repeat_before)?,
                '[' => {
                    let before = self.out.len();
                    self.class(start)?;
                    let class = self.out.get(before..).unwrap_or("");
                    let ascii =
                        class.is_ascii() && !class.starts_with("[^") && !class.to_ascii_lowercase().contains("\\p");
                    self.push_atom(if ascii { 1 } else { CLASS_WEIGHT });
                }
                '\\' => self.escape(start)?,
                '.' | '^' | '$' => {
                    self.out.push(c);
                    self.push_atom(if c == '.' { 4 } else { 1 });
                }
                c => self.literal(c),
            }
        }
        if !self.groups.is_empty() {
            return fail("missing closing )", self.src);
        }
        if self.weight > MAX_WEIGHT { Err(too_large(self.src)) } else { Ok((self.out, self.weight)) }
    }

    fn push_atom(&mut self, weight: usize) {
        self.weight = self.weight.saturating_add(weight);
        self.atom = Some(Atom { repeats: 1, weight });
    }

    fn literal(&mut self, c: char) {
        push_char(&mut self.out, c);
        self.push_atom(1);
    }

    /// Checks a repetition operator that was just read; `counts` are those of `{n,m}`.
    fn repetition(&mut self, start: usize, before: Option<usize>, counts: Option<(u64, Option<u64>)>) -> Step<()> {
        if let Some(first) = before {
            return fail("invalid nested repetition operator", self.since(first));
        }
        let Some(atom) = self.atom else {
            return fail("missing argument to repetition operator", self.since(start));
        };
        if let Some((min, max)) = counts {
            let product = max.unwrap_or(min).max(1).saturating_mul(atom.repeats);
            if max.unwrap_or(min).max(min) >= 2 && product > MAX_REPEAT {
                return fail("invalid repeat count", self.since(start));
            }
            self.inner = self.inner.max(product);
            let times = usize::try_from(max.unwrap_or(min)).unwrap_or(usize::MAX).max(1);
            let weight = atom.weight.saturating_mul(times);
            self.weight = self.weight.saturating_sub(atom.weight).saturating_add(weight);
            self.atom = Some(Atom { repeats: product, weight });
        }
        self.last_repeat = Some(start);
        Ok(())
    }

    fn brace(&mut self, start: usize, before: Option<usize>) -> Step<()> {
        let Some((length, min, max)) = counts(self.rest()) else {
            self.literal('{');
            return Ok(());
        };
        self.skip(length);
        if min > MAX_REPEAT || max.is_some_and(|m| m > MAX_REPEAT || m < min) {
            return fail("invalid repeat count", self.since(start));
        }
        let text = self.since(start);
        let lazy = self.eat('?');
        self.repetition(start, before, Some((min, max)))?;
        self.out.push_str(text);
        if lazy {
            self.out.push('?');
        }
        Ok(())
    }

    fn open_group(&mut self, start: usize) -> Step<()> {
        if self.groups.len() >= MAX_DEPTH {
            return fail("expression nests too deeply", self.src);
        }
        if self.eat('?') {
            return self.group_options(start);
        }
        self.out.push('(');
        self.enter();
        Ok(())
    }

    fn enter(&mut self) {
        self.groups.push(Open { repeats: self.inner, weight: self.weight });
        (self.inner, self.weight) = (1, 0);
        self.atom = None;
    }

    /// Reads the text behind `(?`: a name, flags, or nothing RE2 supports.
    fn group_options(&mut self, start: usize) -> Step<()> {
        let rest = self.rest();
        let whole = self.src.get(start..).unwrap_or("");
        for opening in ["P<", "<"] {
            let Some(named) = rest.strip_prefix(opening) else { continue };
            let Some((name, _)) = named.split_once('>') else { return fail("invalid named capture", whole) };
            self.skip(opening.len() + name.len() + 1);
            let valid = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !valid || !self.names.insert(name) {
                return fail("invalid named capture", self.since(start));
            }
            // Replacements refer to groups by name; the other library has no names that start with a digit.
            self.out.push('(');
            if !name.starts_with(|c: char| c.is_ascii_digit()) {
                self.out.push_str("?P<");
                self.out.push_str(name);
                self.out.push('>');
            }
            self.enter();
            return Ok(());
        }
        let (mut negative, mut flags_since_sign) = (false, false);
        while let Some((_, c)) = self.chars.next() {
            match c {
                'i' | 'm' | 's' | 'U' => flags_since_sign = true,
                '-' if !negative => (negative, flags_since_sign) = (true, false),
                ':' | ')' if !negative || flags_since_sign => {
                    let flags = self.since(start);
                    // RE2 allows a group of no flags; the other library does not.
                    self.out.push_str(if flags == "(?)" { "(?:)" } else { flags });
                    if c == ':' {
                        self.enter();
                    }
                    return Ok(());
                }
                _ => return fail("invalid or unsupported Perl syntax", self.since(start)),
            }
        }
        fail("missing closing )", self.src)
    }

    /// An escape outside of a class; the backslash is read.
    fn escape(&mut self, start: usize) -> Step<()> {
        let Some((_, c)) = self.chars.peek().copied() else {
            return fail("trailing backslash at end of expression", "");
        };
        if c == 'Q' {
            self.chars.next();
            while !self.rest().is_empty() {
                if self.rest().starts_with("\\E") {
                    self.skip(2);
                    break;
                }
                if let Some((_, c)) = self.chars.next() {
                    self.literal(c);
                }
            }
            return Ok(());
        }
        let anchor = match c {
            'A' => Some("\\A"),
            'z' => Some("\\z"),
            'b' => Some("(?-u:\\b)"),
            'B' => Some("(?-u:\\B)"),
            _ => None,
        };
        let mut weight = 1;
        if let Some(anchor) = anchor {
            self.chars.next();
            self.out.push_str(anchor);
        } else if let Some(set) = self.char_set(start)? {
            self.out.push_str(&set);
            if !set.starts_with("[") || set.starts_with("[^") {
                weight = CLASS_WEIGHT;
            }
        } else {
            let c = self.escaped_char(start)?;
            push_char(&mut self.out, c);
        }
        self.push_atom(weight);
        Ok(())
    }

    /// `\d`, `\pL` and the like after the backslash, as a class; nothing is read when it is something else.
    fn char_set(&mut self, start: usize) -> Step<Option<String>> {
        let Some((_, c)) = self.chars.peek().copied() else { return Ok(None) };
        let ascii = match c {
            'd' => Some("[0-9]"),
            'D' => Some("[^0-9]"),
            's' => Some("[\\t\\n\\f\\r ]"),
            'S' => Some("[^\\t\\n\\f\\r ]"),
            'w' => Some("[0-9A-Za-z_]"),
            'W' => Some("[^0-9A-Za-z_]"),
            _ => None,
        };
        if let Some(set) = ascii {
            self.chars.next();
            return Ok(Some(set.to_string()));
        }
        if c != 'p' && c != 'P' {
            return Ok(None);
        }
        self.chars.next();
        let mut negated = c == 'P';
        let rest = self.rest();
        let name = if let Some(braced) = rest.strip_prefix('{') {
            let Some((name, _)) = braced.split_once('}') else {
                return fail("invalid character class range", self.src.get(start..).unwrap_or(""));
            };
            self.skip(name.len() + 2);
            match name.strip_prefix('^') {
                Some(rest) => {
                    negated = !negated;
                    rest
                }
                None => name,
            }
        } else {
            let letter = rest.chars().next().map_or(0, char::len_utf8);
            self.skip(letter);
            rest.get(..letter).unwrap_or("")
        };
        let proper = name.starts_with(|c: char| c.is_ascii_uppercase())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let set = format!("\\{}{{{name}}}", if negated { 'P' } else { 'p' });
        if proper && class_exists(&set) {
            return Ok(Some(set));
        }
        fail("invalid character class range", self.since(start))
    }

    /// An escape that stands for one character; the backslash is read.
    fn escaped_char(&mut self, start: usize) -> Step<char> {
        let Some((_, c)) = self.chars.next() else {
            return fail("trailing backslash at end of expression", "");
        };
        let found = match c {
            '0'..='7' => {
                let octal = |c: char| c.is_digit(8);
                if c != '0' && !self.rest().starts_with(octal) {
                    None
                } else {
                    let mut n = c.to_digit(8).unwrap_or(0);
                    for _ in 0..2 {
                        let Some((_, d)) = self.chars.next_if(|(_, x)| octal(*x)) else { break };
                        n = n * 8 + d.to_digit(8).unwrap_or(0);
                    }
                    char::from_u32(n)
                }
            }
            'x' => self.hex(),
            'a' => Some('\x07'),
            'f' => Some('\x0c'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            't' => Some('\t'),
            'v' => Some('\x0b'),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Some(c),
            _ => None,
        };
        match found {
            Some(c) => Ok(c),
            None => fail("invalid escape sequence", self.since(start)),
        }
    }

    fn hex(&mut self) -> Option<char> {
        if self.eat('{') {
            let (digits, _) = self.rest().split_once('}')?;
            let n = digits.chars().all(|c| c.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?;
            self.skip(digits.len() + 1);
            return n.and_then(char::from_u32);
        }
        let mut n = 0;
        for _ in 0..2 {
            let (_, d) = self.chars.next()?;
            n = n * 16 + d.to_digit(16)?;
        }
        char::from_u32(n)
    }

    /// A character class; the opening bracket is read.
    fn class(&mut self, start: usize) -> Step<()> {
        let whole = self.src.get(start..).unwrap_or("");
        self.out.push('[');
        if self.eat('^') {
            self.out.push('^');
        }
        let mut named_classes = true;
        let mut first = true;
        loop {
            let at = self.position();
            if !first && self.eat(']') {
                self.out.push(']');
                return Ok(());
            }
            first = false;
            if named_classes && self.rest().starts_with("[:") {
                let Some(end) = self.rest().find(":]") else {
                    // None follows here, so none does further on.
                    named_classes = false;
                    continue;
                };
                let name = self.rest().get(..end + 2).unwrap_or("");
                let bare = name.trim_matches(|c| c == '[' || c == ':' || c == ']');
                if !POSIX_CLASSES.contains(&bare.strip_prefix('^').unwrap_or(bare)) {
                    return fail("invalid character class range", name);
                }
                self.skip(name.len());
                self.out.push_str(name);
                continue;
            }
            if self.rest().starts_with('\\') && self.rest().len() > 1 {
                let mut ahead = self.chars.clone();
                std::mem::swap(&mut self.chars, &mut ahead);
                self.chars.next();
                if let Some(set) = self.char_set(at)? {
                    self.out.push_str(&set);
                    continue;
                }
                self.chars = ahead;
            }
            let low = self.class_char(whole)?;
            let ranged = {
                let rest = self.rest();
                rest.starts_with('-') && !rest.starts_with("-]") && rest.len() > 1
            };
            push_char(&mut self.out, low);
            if ranged {
                self.chars.next();
                let high = self.class_char(whole)?;
                if high < low {
                    return fail("invalid character class range", self.since(at));
                }
                self.out.push('-');
                push_char(&mut self.out, high);
            }
        }
    }

    fn class_char(&mut self, whole: &str) -> Step<char> {
        let at = self.position();
        match self.chars.next() {
            None => fail("missing closing ]", whole),
            Some((_, '\\')) => self.escaped_char(at),
            Some((_, c)) => Ok(c),
        }
    }
}

/// Writes a literal character so that it stands for itself anywhere in the translated pattern.
fn push_char(out: &mut String, c: char) {
    if c.is_ascii_alphanumeric() || !c.is_ascii() {
        out.push(c);
    } else if c.is_ascii_control() || c == ' ' || c == '<' || c == '>' {
        out.push_str(&format!("\\x{{{:x}}}", u32::from(c)));
    } else {
        out.push('\\');
        out.push(c);
    }
}

/// Reads `n}`, `n,}` or `n,m}`: its length and the counts. Numbers with leading zeros do not count as numbers.
fn counts(s: &str) -> Option<(usize, u64, Option<u64>)> {
    let end = s.find(|c: char| !c.is_ascii_digit() && c != ',')?;
    let (body, _) = s.split_at_checked(end).filter(|(_, rest)| rest.starts_with('}'))?;
    let number = |s: &str| -> Option<u64> {
        let digits = !s.is_empty() && s.chars().all(|c| c.is_ascii_digit());
        if !digits || (s.len() > 1 && s.starts_with('0')) {
            return None;
        }
        // A number that does not fit is over the limit anyway.
        Some(s.parse().unwrap_or(u64::MAX))
    };
    let (min, max) = match body.split_once(',') {
        None => (number(body)?, Some(number(body)?)),
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((body.len() + 1, min, max))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts() {
        for (pattern, want) in [
            ("[", "missing closing ]: `[`"),
            ("a[b", "missing closing ]: `[b`"),
            ("(a", "missing closing ): `(a`"),
            ("(?i", "missing closing ): `(?i`"),
            ("a)", "unexpected ): `a)`"),
            ("*", "missing argument to repetition operator: `*`"),
            ("a|+?", "missing argument to repetition operator: `+?`"),
            ("(*)", "missing argument to repetition operator: `*`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("a{2}*", "invalid nested repetition operator: `{2}*`"),
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("a{3,2}", "invalid repeat count: `{3,2}`"),
            ("(a{100}){100}", "invalid repeat count: `{100}`"),
            ("[z-a]", "invalid character class range: `z-a`"),
            ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
            ("\\p{Foo}", "invalid character class range: `\\p{Foo}`"),
            ("\\y", "invalid escape sequence: `\\y`"),
            ("\\8", "invalid escape sequence: `\\8`"),
            ("(a)\\1", "invalid escape sequence: `\\1`"),
            ("a\\", "trailing backslash at end of expression: ``"),
            ("(?!x)", "invalid or unsupported Perl syntax: `(?!`"),
            ("(?=x)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?P<a b>x)", "invalid named capture: `(?P<a b>`"),
            ("(?P<n>x)(?P<n>y)", "invalid named capture: `(?P<n>`"),
            ("(?<=x)", "invalid named capture: `(?<=x)`"),
        ] {
            let refused = check(pattern).map_err(|e| e.to_string());
            assert_eq!(refused, Err(format!("error parsing regexp: {want}")), "{pattern}");
        }
        let deep = |n: usize| check(&format!("{}{}", "(".repeat(n), ")".repeat(n)));
        assert!(deep(251).is_err_and(|e| e.to_string().contains("nests too deeply")));
        assert_eq!(deep(240), Ok(()));
    }

    #[test]
    fn patterns_match_as_re2_reads_them() {
        for (pattern, text, want) in [
            ("b+", "abbc", true),
            ("^a.c$", "abc", true),
            ("^a.c$", "a\nc", false),
            ("(?s)^a.c$", "a\nc", true),
            ("(?i:AB)c", "abc", true),
            ("(?P<x>a)(?<y>b)", "ab", true),
            ("^\\d$", "٣", false),
            ("^[\\d_]+$", "1_2", true),
            ("^[^\\w]$", "é", true),
            ("é\\b", "é", false),
            ("\\Qa.b\\E$", "a.b", true),
            ("\\Qa.b\\E$", "axb", false),
            ("a{", "a{", true),
            ("a{,2}", "a{,2}", true),
            ("a{2,}", "aa", true),
            ("[[a]", "[", true),
            ("[a&&b]", "&", true),
            ("[]a]", "]", true),
            ("[[:a]", ":", true),
            ("[a-]", "-", true),
            ("[[:digit:]x]", "7", true),
            ("\\x41\\x{42}\\103", "ABC", true),
            ("\\pL\\P{L}", "a1", true),
            ("\\p{^L}", "a", false),
            ("a#b c", "a#b c", true),
            ("x|", "", true),
            ("(?)a", "a", true),
            ("ab\\Bc", "abc", true),
            ("", "anything", true),
        ] {
            let compiled = compile(pattern);
            assert_eq!(compiled.map(|r| r.is_match(text)), Ok(want), "{pattern} {text:?}");
        }
    }
}
