//! `sprig_…`: general helpers. Those that would change a value in place, draw random numbers, or read the host are not
//! among them.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::encode::{decoded, hex, json, parse_json};
use super::lists::{merged, product, range};
use super::text::{bounded, indent, regex, replace, title};
use super::{Args, Function, any, between, exactly};
use crate::error::Failure;
use crate::print;
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    // Texts.
    exactly("sprig_trim", 1, |_, a| Ok(Value::text(a.text(0)?.trim()))),
    exactly("sprig_trimAll", 2, |_, a| {
        let set = a.text(0)?;
        Ok(Value::text(a.text(1)?.trim_matches(|c| set.contains(c))))
    }),
    exactly("sprig_trimPrefix", 2, |_, a| {
        let text = a.text(1)?;
        Ok(Value::text(text.strip_prefix(a.text(0)?).unwrap_or(text)))
    }),
    exactly("sprig_trimSuffix", 2, |_, a| {
        let text = a.text(1)?;
        Ok(Value::text(text.strip_suffix(a.text(0)?).unwrap_or(text)))
    }),
    exactly("sprig_upper", 1, |_, a| Ok(Value::text(a.text(0)?.to_uppercase()))),
    exactly("sprig_lower", 1, |_, a| Ok(Value::text(a.text(0)?.to_lowercase()))),
    exactly("sprig_title", 1, |_, a| Ok(Value::text(title(a.text(0)?)))),
    exactly("sprig_repeat", 2, |run, a| {
        let count = usize::try_from(a.int(0)?).unwrap_or(0);
        let text = a.text(1)?;
        bounded(run, text.len().saturating_mul(count))?;
        Ok(Value::text(text.repeat(count)))
    }),
    exactly("sprig_substr", 3, |_, a| {
        let (from, to, text) = (a.int(0)?, a.int(1)?, a.text(2)?);
        let from = usize::try_from(from).unwrap_or(0);
        let to = usize::try_from(to).unwrap_or(text.len()).min(text.len());
        text.get(from.min(to)..to).map(Value::text).ok_or_else(|| Failure::new("a character would be cut in two"))
    }),
    exactly("sprig_trunc", 2, |_, a| {
        let (count, text) = (a.int(0)?, a.text(1)?);
        let length = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX).min(text.len());
        let kept = if count < 0 { text.get(text.len() - length..) } else { text.get(..length) };
        kept.map(Value::text).ok_or_else(|| Failure::new("a character would be cut in two"))
    }),
    exactly("sprig_contains", 2, |_, a| Ok(Value::Bool(a.text(1)?.contains(a.text(0)?)))),
    exactly("sprig_hasPrefix", 2, |_, a| Ok(Value::Bool(a.text(1)?.starts_with(a.text(0)?)))),
    exactly("sprig_hasSuffix", 2, |_, a| Ok(Value::Bool(a.text(1)?.ends_with(a.text(0)?)))),
    exactly("sprig_quote", 1, |run, a| {
        let mut out = print::Text::new(run.limits.output);
        print::sprintf("%q", &[as_text(run, a.at(0))?], &mut out)?;
        Ok(Value::text(out.finish()))
    }),
    exactly("sprig_squote", 1, |run, a| Ok(Value::text(format!("'{}'", print::shown(a.at(0), run.limits.output)?)))),
    exactly("sprig_replace", 3, |run, a| replace(run, a.text(0)?, a.text(1)?, a.text(2)?)),
    exactly("sprig_nospace", 1, |_, a| Ok(Value::text(a.text(0)?.split_whitespace().collect::<String>()))),
    exactly("sprig_indent", 2, |run, a| sprig_indent(run, a, false)),
    exactly("sprig_nindent", 2, |run, a| sprig_indent(run, a, true)),
    exactly("sprig_splitList", 2, |run, a| {
        let (between, text) = (a.text(0)?, a.text(1)?);
        run.spend(text.len())?;
        if between.is_empty() {
            Value::texts(text.chars().map(String::from))
        } else {
            Value::texts(text.split(between))
        }
    }),
    exactly("sprig_split", 2, |run, a| {
        let (between, text) = (a.text(0)?, a.text(1)?);
        run.spend(text.len())?;
        let parts = text.split(between).enumerate().map(|(n, part)| (format!("_{n}").into(), Value::text(part)));
        Value::map(parts.collect())
    }),
    exactly("sprig_join", 2, |run, a| {
        let between = a.text(0)?;
        let mut out = print::Text::new(run.limits.output);
        for (n, item) in a.items(1)?.iter().filter(|v| !v.is_nil()).enumerate() {
            out.push(if n > 0 { between } else { "" })?;
            print::output(item, &mut out)?;
        }
        Ok(Value::text(out.finish()))
    }),
    exactly("sprig_toString", 1, |run, a| as_text(run, a.at(0))),
    exactly("sprig_regexMatch", 2, |run, a| Ok(Value::Bool(regex(run, a.text(0)?, a.text(1)?)?.is_match(a.text(1)?)))),
    exactly("sprig_regexFind", 2, |run, a| {
        let pattern = regex(run, a.text(0)?, a.text(1)?)?;
        Ok(Value::text(pattern.find(a.text(1)?).map_or("", |m| m.as_str())))
    }),
    exactly("sprig_regexFindAll", 3, |run, a| {
        let most = usize::try_from(a.int(2)?).unwrap_or(usize::MAX);
        let pattern = regex(run, a.text(0)?, a.text(1)?)?;
        Value::texts(pattern.find_iter(a.text(1)?).take(most).map(|m| m.as_str()))
    }),
    // Defaults and conditions.
    exactly("sprig_default", 2, |_, a| Ok(if a.at(1).is_true() { a.at(1) } else { a.at(0) }.clone())),
    exactly("sprig_empty", 1, |_, a| Ok(Value::Bool(!a.at(0).is_true()))),
    any("sprig_coalesce", 0, |_, a| Ok(a.iter().find(|v| v.is_true()).cloned().unwrap_or(Value::Missing))),
    exactly("sprig_ternary", 3, |_, a| Ok(if a.at(2).is_true() { a.at(0) } else { a.at(1) }.clone())),
    any("sprig_all", 0, |_, a| Ok(Value::Bool(a.iter().all(Value::is_true)))),
    any("sprig_any", 0, |_, a| Ok(Value::Bool(a.iter().any(Value::is_true)))),
    exactly("sprig_fail", 1, |_, a| Err(Failure::new(a.text(0)?))),
    // Numbers.
    any("sprig_add", 0, |_, a| fold(a, 0, i64::checked_add)),
    any("sprig_mul", 1, |_, a| fold(a, 1, i64::checked_mul)),
    exactly("sprig_add1", 1, |_, a| number(int(a.at(0))?.checked_add(1))),
    exactly("sprig_sub", 2, |_, a| number(int(a.at(0))?.checked_sub(int(a.at(1))?))),
    exactly("sprig_div", 2, |_, a| number(int(a.at(0))?.checked_div(int(a.at(1))?))),
    exactly("sprig_mod", 2, |_, a| number(int(a.at(0))?.checked_rem(int(a.at(1))?))),
    any("sprig_max", 1, |_, a| fold(a, i64::MIN, |x, y| Some(x.max(y)))),
    any("sprig_min", 1, |_, a| fold(a, i64::MAX, |x, y| Some(x.min(y)))),
    exactly("sprig_int", 1, |_, a| Ok(Value::Int(int(a.at(0)).unwrap_or(0)))),
    exactly("sprig_int64", 1, |_, a| Ok(Value::Int(int(a.at(0)).unwrap_or(0)))),
    exactly("sprig_atoi", 1, |_, a| Ok(Value::Int(a.text(0)?.parse().unwrap_or(0)))),
    exactly("sprig_until", 1, |run, a| {
        let to = a.int(0)?;
        range(run, 0, to, if to < 0 { -1 } else { 1 })
    }),
    exactly("sprig_untilStep", 3, |run, a| range(run, a.int(0)?, a.int(1)?, a.int(2)?)),
    // Lists.
    any("sprig_list", 0, |_, a| Value::list(a.to_vec())),
    exactly("sprig_first", 1, |_, a| Ok(a.items(0)?.first().cloned().unwrap_or(Value::Missing))),
    exactly("sprig_last", 1, |_, a| Ok(a.items(0)?.last().cloned().unwrap_or(Value::Missing))),
    exactly("sprig_rest", 1, |_, a| Value::list(a.items(0)?.get(1..).unwrap_or_default().to_vec())),
    exactly("sprig_initial", 1, |_, a| {
        let items = a.items(0)?;
        Value::list(items.get(..items.len().saturating_sub(1)).unwrap_or_default().to_vec())
    }),
    exactly("sprig_append", 2, |_, a| {
        let mut items = a.items(0)?.to_vec();
        items.push(a.at(1).clone());
        Value::list(items)
    }),
    exactly("sprig_prepend", 2, |_, a| {
        let mut items = vec![a.at(1).clone()];
        items.extend_from_slice(a.items(0)?);
        Value::list(items)
    }),
    any("sprig_concat", 0, |_, a| {
        let mut items = Vec::new();
        for n in 0..a.len() {
            items.extend_from_slice(a.items(n)?);
        }
        Value::list(items)
    }),
    exactly("sprig_reverse", 1, |_, a| Value::list(a.items(0)?.iter().rev().cloned().collect())),
    exactly("sprig_uniq", 1, |run, a| {
        let mut seen = std::collections::BTreeSet::new();
        let mut items = Vec::new();
        for item in a.items(0)? {
            let key = (item.type_name(), print::shown(item, run.limits.output)?);
            run.spend(key.1.len())?;
            if seen.insert(key) {
                items.push(item.clone());
            }
        }
        Value::list(items)
    }),
    exactly("sprig_has", 2, |_, a| {
        Ok(Value::Bool(a.items(1)?.iter().any(|v| super::compare::equal(v, a.at(0)).unwrap_or(false))))
    }),
    any("sprig_without", 1, |run, a| {
        let Some((_, unwanted)) = a.split_first() else { return Ok(Value::Missing) };
        product(run, a.items(0)?.len(), unwanted.len())?;
        let same = |v: &Value| unwanted.iter().any(|u| super::compare::equal(u, v).unwrap_or(false));
        Value::list(a.items(0)?.iter().filter(|v| !same(v)).cloned().collect())
    }),
    exactly("sprig_compact", 1, |_, a| Value::list(a.items(0)?.iter().filter(|v| v.is_true()).cloned().collect())),
    exactly("sprig_sortAlpha", 1, |run, a| {
        let mut texts = Vec::new();
        for item in a.items(0)? {
            texts.push(print::shown(item, run.limits.output)?);
            run.spend(texts.last().map_or(0, String::len))?;
        }
        texts.sort();
        Value::texts(texts)
    }),
    // Maps.
    any("sprig_dict", 0, |_, a| {
        let mut map = BTreeMap::new();
        for (n, pair) in a.chunks(2).enumerate() {
            let key: Arc<str> = a.text(2 * n)?.into();
            map.insert(key, pair.get(1).cloned().unwrap_or_else(|| Value::text("")));
        }
        Value::map(map)
    }),
    exactly("sprig_get", 2, |_, a| Ok(a.map(0)?.entries().get(a.text(1)?).cloned().unwrap_or_else(|| Value::text("")))),
    exactly("sprig_hasKey", 2, |_, a| Ok(Value::Bool(a.map(0)?.entries().contains_key(a.text(1)?)))),
    any("sprig_keys", 1, |_, a| {
        let mut keys = Vec::new();
        for n in 0..a.len() {
            keys.extend(a.map(n)?.entries().keys().cloned());
        }
        Value::texts(keys)
    }),
    exactly("sprig_values", 1, |_, a| Value::list(a.map(0)?.entries().values().cloned().collect())),
    any("sprig_pick", 1, |_, a| select(a, true)),
    any("sprig_omit", 1, |_, a| select(a, false)),
    any("sprig_merge", 1, |run, a| {
        let mut out = a.map(0)?.entries().clone();
        for n in 1..a.len() {
            out = merged(run, &out, a.map(n)?.entries(), false)?;
        }
        Value::map(out)
    }),
    // Encodings and hashes.
    exactly("sprig_b64enc", 1, |_, a| Ok(Value::text(base64::Engine::encode(&STANDARD, a.text(0)?)))),
    exactly("sprig_b64dec", 1, |_, a| decoded(&STANDARD, a.text(0)?)),
    exactly("sprig_sha1sum", 1, |_, a| Ok(Value::text(hex(&Sha1::digest(a.text(0)?))))),
    exactly("sprig_sha256sum", 1, |_, a| Ok(Value::text(hex(&Sha256::digest(a.text(0)?))))),
    exactly("sprig_sha512sum", 1, |_, a| Ok(Value::text(hex(&Sha512::digest(a.text(0)?))))),
    exactly("sprig_toJson", 1, |run, a| json(run, a.at(0), None, true)),
    exactly("sprig_toPrettyJson", 1, |run, a| json(run, a.at(0), Some("  "), true)),
    exactly("sprig_toRawJson", 1, |run, a| json(run, a.at(0), None, false)),
    exactly("sprig_fromJson", 1, |run, a| parse_json(run, a.text(0)?)),
    // Times.
    exactly("sprig_now", 0, |run, _| Ok(Value::Time(run.source.now()))),
    exactly("sprig_date", 2, |_, a| match a.at(1) {
        Value::Time(time) => Ok(Value::text(time.format(a.text(0)?))),
        Value::Int(n) => {
            let time = crate::time::Time::from_unix_nanos(n.saturating_mul(1_000_000_000));
            Ok(Value::text(time.format(a.text(0)?)))
        }
        other => Err(super::wrong(other, "time.Time")),
    }),
    exactly("sprig_unixEpoch", 1, |_, a| match a.at(0) {
        Value::Time(time) => Ok(Value::text(time.unix_seconds().to_string())),
        other => Err(super::wrong(other, "time.Time")),
    }),
    // Types and paths.
    exactly("sprig_kindOf", 1, |_, a| {
        Ok(Value::text(match a.at(0) {
            Value::Missing | Value::Nil | Value::TypedNil => "invalid",
            Value::List(_) => "slice",
            Value::Map(_) => "map",
            Value::Object(_) | Value::Time(_) | Value::Scratch => "struct",
            other => other.type_name(),
        }))
    }),
    between("sprig_typeOf", 1, 1, |_, a| Ok(Value::text(a.at(0).type_name()))),
    exactly("sprig_base", 1, |_, a| {
        let path = a.text(0)?.trim_end_matches('/');
        Ok(Value::text(path.rsplit('/').next().filter(|b| !b.is_empty()).unwrap_or(if path.is_empty() {
            "."
        } else {
            "/"
        })))
    }),
    exactly("sprig_dir", 1, |_, a| {
        Ok(Value::text(match a.text(0)?.rsplit_once('/') {
            None => ".",
            Some(("", _)) => "/",
            Some((dir, _)) => dir,
        }))
    }),
    exactly("sprig_ext", 1, |_, a| {
        let path = a.text(0)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        Ok(Value::text(name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default()))
    }),
];

fn as_text(run: &crate::eval::Run<'_>, value: &Value) -> Result<Value, Failure> {
    Ok(Value::text(print::shown(value, run.limits.output)?))
}

/// An integer; texts and floats are converted.
fn int(value: &Value) -> Result<i64, Failure> {
    match value {
        Value::Int(n) => Ok(*n),
        Value::Float(f) => Ok(*f as i64),
        Value::Bool(b) => Ok(i64::from(*b)),
        other => match other.as_text().and_then(|t| t.parse().ok()) {
            Some(n) => Ok(n),
            None => Err(super::wrong(other, "int")),
        },
    }
}

fn number(result: Option<i64>) -> Result<Value, Failure> {
    result.map(Value::Int).ok_or_else(|| Failure::new("division by zero, or an overflow"))
}

fn fold(args: &[Value], first: i64, step: fn(i64, i64) -> Option<i64>) -> Result<Value, Failure> {
    let mut sum = Some(first);
    for value in args {
        let n = int(value)?;
        sum = sum.and_then(|s| step(s, n));
    }
    number(sum)
}

/// Every line with so many blanks in front, empty lines as well.
fn sprig_indent(run: &crate::eval::Run<'_>, args: &[Value], newline: bool) -> Result<Value, Failure> {
    let width = usize::try_from(args.int(0)?).map_err(|_| Failure::new("the number of blanks is negative"))?;
    let text = args.text(1)?;
    // Measures before anything is made.
    indent(run, width, text)?;
    let prefix = " ".repeat(width);
    let lines: Vec<String> = text.split('\n').map(|line| format!("{prefix}{line}")).collect();
    Ok(Value::text(format!("{}{}", if newline { "\n" } else { "" }, lines.join("\n"))))
}

fn select(args: &[Value], wanted: bool) -> Result<Value, Failure> {
    let names: Vec<&str> = (1..args.len()).map(|n| args.text(n)).collect::<Result<_, _>>()?;
    let entries = args.map(0)?.entries().iter().filter(|(k, _)| names.contains(&&***k) == wanted);
    Value::map(entries.map(|(k, v)| (k.clone(), v.clone())).collect())
}
