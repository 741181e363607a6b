//! Helpers for texts.

use super::{Args, Function, exactly};
use crate::error::{Bound, Failure};
use crate::eval::Run;
use crate::value::Value;

/// The largest compiled regular expression, in bytes.
const MAX_REGEX: usize = 256 << 10;
/// What the compilation of a regular expression counts, in bytes read.
const COMPILATION: usize = 100 << 10;
/// What a regular expression counts for each byte of a text.
const PER_BYTE: usize = 64;

pub(super) const FUNCTIONS: &[Function] = &[
    exactly("trim", 2, |_, a| {
        let set = a.text(0)?;
        Ok(Value::text(a.text(1)?.trim_matches(|c| set.contains(c))))
    }),
    exactly("trimPrefix", 2, |_, a| {
        let text = a.text(1)?;
        Ok(Value::text(text.strip_prefix(a.text(0)?).unwrap_or(text)))
    }),
    exactly("trimSuffix", 2, |_, a| {
        let text = a.text(1)?;
        Ok(Value::text(text.strip_suffix(a.text(0)?).unwrap_or(text)))
    }),
    exactly("trimSpace", 1, |_, a| Ok(Value::text(a.text(0)?.trim()))),
    exactly("toLower", 1, |_, a| Ok(Value::text(a.text(0)?.to_lowercase()))),
    exactly("toUpper", 1, |_, a| Ok(Value::text(a.text(0)?.to_uppercase()))),
    exactly("toTitle", 1, |_, a| Ok(Value::text(title(a.text(0)?)))),
    exactly("replaceAll", 3, |run, a| replace(run, a.text(0)?, a.text(1)?, a.text(2)?)),
    exactly("indent", 2, |run, a| {
        let width = usize::try_from(a.int(0)?).map_err(|_| Failure::new("indent value must be a positive integer"))?;
        indent(run, width, a.text(1)?)
    }),
    exactly("regexMatch", 2, |run, a| Ok(Value::Bool(regex(run, a.text(0)?, a.text(1)?)?.is_match(a.text(1)?)))),
    exactly("regexReplaceAll", 3, |run, a| {
        let (by, text) = (a.text(1)?, a.text(2)?);
        let pattern = regex(run, a.text(0)?, text)?;
        let mut out = String::new();
        let mut last = 0;
        for found in pattern.captures_iter(text) {
            let Some(all) = found.get(0) else { continue };
            out.push_str(text.get(last..all.start()).unwrap_or_default());
            found.expand(by, &mut out);
            last = all.end();
            bounded(run, out.len())?;
        }
        out.push_str(text.get(last..).unwrap_or_default());
        Ok(Value::text(out))
    }),
    exactly("split", 2, |run, a| {
        let (between, text) = (a.text(0)?, a.text(1)?);
        if text.is_empty() {
            return Value::list(Vec::new());
        }
        run.spend(text.len())?;
        if between.is_empty() {
            return Value::texts(text.chars().map(String::from));
        }
        Value::texts(text.split(between))
    }),
    exactly("join", 2, |run, a| {
        let between = a.text(0)?;
        let parts = a.items(1)?.iter().map(|v| v.as_text().ok_or_else(|| super::wrong(v, "string")));
        let parts: Vec<&str> = parts.collect::<Result<_, _>>()?;
        let length = parts.iter().map(|p| p.len() + between.len()).fold(0, usize::saturating_add);
        bounded(run, length)?;
        Ok(Value::text(parts.join(between)))
    }),
];

/// Refuses texts that are longer than any output may be.
pub(super) fn bounded(run: &Run<'_>, length: usize) -> Result<(), Failure> {
    if length > run.limits.output { Err(Failure::Bound(Bound::Output)) } else { Ok(()) }
}

/// A regular expression for a text, which is counted.
pub(super) fn regex(run: &mut Run<'_>, pattern: &str, text: &str) -> Result<regex::Regex, Failure> {
    run.work(COMPILATION.saturating_add(text.len().saturating_mul(PER_BYTE)))?;
    let built = regex::RegexBuilder::new(pattern).size_limit(MAX_REGEX).dfa_size_limit(MAX_REGEX).build();
    built.map_err(|_| Failure::new("error parsing regexp"))
}

/// The first letter of each word as a capital.
pub(super) fn title(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for c in text.chars() {
        let inside = before.is_alphanumeric() || matches!(before, '_' | '\'');
        if inside {
            out.push(c);
        } else {
            out.extend(c.to_uppercase());
        }
        before = c;
    }
    out
}

pub(super) fn replace(run: &Run<'_>, from: &str, to: &str, text: &str) -> Result<Value, Failure> {
    let times = text.matches(from).count();
    bounded(run, text.len().saturating_add(times.saturating_mul(to.len())))?;
    Ok(Value::text(text.replace(from, to)))
}

/// Every line that is not empty with so many blanks in front.
pub(super) fn indent(run: &Run<'_>, width: usize, text: &str) -> Result<Value, Failure> {
    let lines = text.split('\n').count();
    bounded(run, text.len().saturating_add(lines.saturating_mul(width)))?;
    let prefix = " ".repeat(width);
    let mut out = String::with_capacity(text.len() + lines * width);
    for (n, line) in text.split('\n').enumerate() {
        if n > 0 {
            out.push('\n');
        }
        if !line.is_empty() {
            out.push_str(&prefix);
        }
        out.push_str(line);
    }
    Ok(Value::text(out))
}
