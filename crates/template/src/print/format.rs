//! `printf`.

use super::{PLAIN, Text, Verb, show, show_with_type};
use crate::error::Failure;
use crate::value::Value;

/// The longest width or precision of a verb.
const MAX_WIDTH: usize = 1_000_000;

/// Prints values by a format.
pub(crate) fn sprintf(format: &str, args: &[Value], out: &mut Text) -> Result<(), Failure> {
    let mut args = Args { values: args, next: 0, reordered: false };
    let mut rest = format;
    while let Some((before, directive)) = rest.split_once('%') {
        out.push(before)?;
        rest = args.print(directive, out)?;
    }
    out.push(rest)?;
    args.extra(out)
}

/// The arguments of a format.
struct Args<'v> {
    values: &'v [Value],
    /// The position of the next one.
    next: usize,
    /// Positions stand in the format: values that it does not use are no mistake.
    reordered: bool,
}

impl Args<'_> {
    /// Prints by a directive, which is behind its `%`; gives what is behind the directive.
    fn print<'f>(&mut self, directive: &'f str, out: &mut Text) -> Result<&'f str, Failure> {
        let mut rest = directive;
        let mut verb = flags(&mut rest);
        let mut bad_index = self.index(&mut rest);
        let (width, negative) = self.number(&mut rest, "%!(BADWIDTH)", out)?;
        verb.width = width;
        verb.minus |= negative;
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            bad_index |= self.index(&mut rest);
            let (precision, negative) = self.number(&mut rest, "%!(BADPREC)", out)?;
            verb.precision = if negative { None } else { Some(precision.unwrap_or(0)) };
        }
        bad_index |= self.index(&mut rest);
        if verb.minus {
            verb.zero = false;
        }
        let mut chars = rest.chars();
        let Some(letter) = chars.next() else {
            out.push("%!(NOVERB)")?;
            return Ok("");
        };
        verb.letter = letter;
        // As a flag of `v` it asks for the names of fields, not for signs.
        verb.plus &= letter != 'v';
        if letter == '%' {
            out.push("%")?;
        } else if bad_index {
            out.push(&format!("%!{letter}(BADINDEX)"))?;
        } else if let Some(value) = self.values.get(self.next) {
            self.next += 1;
            show(value, &verb, out)?;
        } else {
            out.push(&format!("%!{letter}(MISSING)"))?;
        }
        Ok(chars.as_str())
    }

    /// Reads the position of an argument, `[1]`, if there is one; whether it is wrong.
    fn index(&mut self, rest: &mut &str) -> bool {
        let Some(inner) = rest.strip_prefix('[') else { return false };
        self.reordered = true;
        let Some((number, after)) = inner.split_once(']') else {
            *rest = inner;
            return true;
        };
        *rest = after;
        match number.parse::<usize>() {
            Ok(n) if (1..=self.values.len()).contains(&n) => {
                self.next = n - 1;
                false
            }
            _ => true,
        }
    }

    /// Reads a width or precision: a number, or `*` for the value of an argument. Also tells whether it is negative.
    fn number(&mut self, rest: &mut &str, mistake: &str, out: &mut Text) -> Result<(Option<usize>, bool), Failure> {
        if let Some(after) = rest.strip_prefix('*') {
            *rest = after;
            let value = self.values.get(self.next);
            self.next += 1;
            return match value {
                Some(Value::Int(n)) if n.unsigned_abs() <= MAX_WIDTH as u64 => {
                    Ok((usize::try_from(n.unsigned_abs()).ok(), *n < 0))
                }
                _ => {
                    out.push(mistake)?;
                    Ok((None, false))
                }
            };
        }
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (digits, after) = rest.split_at(digits);
        *rest = after;
        Ok((digits.parse().ok().filter(|n| *n <= MAX_WIDTH), false))
    }

    /// Prints the values that the format does not use.
    fn extra(&self, out: &mut Text) -> Result<(), Failure> {
        let extra = self.values.get(self.next..).unwrap_or_default();
        if self.reordered || extra.is_empty() {
            return Ok(());
        }
        out.push("%!(EXTRA ")?;
        for (n, value) in extra.iter().enumerate() {
            if n > 0 {
                out.push(", ")?;
            }
            show_with_type(value, out)?;
        }
        out.push(")")
    }
}

fn flags(rest: &mut &str) -> Verb {
    let mut verb = PLAIN;
    let mut chars = rest.chars();
    while let Some(flag) = chars.next() {
        match flag {
            '-' => verb.minus = true,
            '+' => verb.plus = true,
            '#' => verb.sharp = true,
            ' ' => verb.space = true,
            '0' => verb.zero = true,
            _ => break,
        }
        *rest = chars.as_str();
    }
    verb
}
