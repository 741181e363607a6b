//! Helpers for lists and maps.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compare::equal;
use super::{Args, Function, any, between, exactly};
use crate::error::{Bound, Failure};
use crate::eval::Run;
use crate::value::Value;

/// The longest list that a function makes from a number.
pub(super) const MAX_ITEMS: u64 = 1 << 20;

pub(super) const FUNCTIONS: &[Function] = &[
    exactly("in", 2, |_, a| Ok(Value::Bool(holds(a.at(0), a.at(1))))),
    exactly("contains", 2, |_, a| Ok(Value::Bool(holds(a.at(1), a.at(0))))),
    exactly("containsAll", 2, |run, a| Ok(Value::Bool(all(run, a)?))),
    exactly("containsAny", 2, |run, a| Ok(Value::Bool(any_of(run, a)?))),
    exactly("containsNone", 2, |run, a| Ok(Value::Bool(!any_of(run, a)?))),
    exactly("containsNotAll", 2, |run, a| Ok(Value::Bool(!all(run, a)?))),
    exactly("byTag", 1, |_, a| {
        by(a, |object| match object.fields.get("Tags") {
            Some(Value::List(tags)) => Ok(tags.items().iter().filter_map(|t| t.as_text().map(String::from)).collect()),
            _ => Err(Failure::new("the values have no tags")),
        })
    }),
    exactly("byPort", 1, |_, a| {
        by(a, |object| match object.fields.get("Port") {
            Some(Value::Int(port)) => Ok(vec![port.to_string()]),
            _ => Err(Failure::new("the values have no port")),
        })
    }),
    exactly("byKey", 1, |_, a| {
        by(a, |object| {
            let path = object.fields.get("Path").or_else(|| object.fields.get("Key")).and_then(Value::as_text);
            let path = path.ok_or_else(|| Failure::new("the values have no key"))?;
            Ok(vec![path.rsplit_once('/').map_or("", |(folder, _)| folder).to_string()])
        })
    }),
    exactly("explode", 1, |_, a| {
        let mut pairs = BTreeMap::new();
        for item in a.items(0)? {
            let Value::Object(object) = item else { return Err(super::wrong(item, "a pair")) };
            let key = object.fields.get("Key").or_else(|| object.fields.get("K")).and_then(Value::as_text);
            let value = object.fields.get("Value").or_else(|| object.fields.get("V"));
            let (Some(key), Some(value)) = (key, value) else { return Err(super::wrong(item, "a pair")) };
            pairs.insert(Arc::from(key), value.clone());
        }
        explode(&pairs)
    }),
    exactly("explodeMap", 1, |_, a| explode(a.map(0)?.entries())),
    between("loop", 1, 2, |run, a| {
        let (from, to) = if a.len() == 1 { (0, a.int(0)?) } else { (a.int(0)?, a.int(1)?) };
        range(run, from, to, 1)
    }),
    any("mergeMap", 2, |run, a| merge(run, a, false)),
    any("mergeMapWithOverride", 2, |run, a| merge(run, a, true)),
    exactly("splitToMap", 3, |run, a| {
        let (between, sign, text) = (a.text(0)?, a.text(1)?, a.text(2)?);
        run.spend(text.len())?;
        let mut out = BTreeMap::new();
        for part in text.split(between).filter(|p| !p.is_empty()) {
            let (key, value) = part.split_once(sign).unwrap_or((part, ""));
            out.insert(Arc::from(key.trim()), Value::text(value.trim()));
        }
        Value::map(out)
    }),
];

/// Numbers from one to below another.
pub(super) fn range(run: &mut Run<'_>, from: i64, to: i64, step: i64) -> Result<Value, Failure> {
    let count = if step == 0 { 0 } else { (i128::from(to) - i128::from(from)) / i128::from(step) };
    if count > i128::from(MAX_ITEMS) {
        return Err(Failure::Bound(Bound::Memory));
    }
    run.spend(usize::try_from(count).unwrap_or(0).saturating_mul(size_of::<Value>()))?;
    let mut items = Vec::new();
    let mut n = from;
    while (step > 0 && n < to) || (step < 0 && n > to) {
        items.push(Value::Int(n));
        let Some(next) = n.checked_add(step) else { break };
        n = next;
    }
    Value::list(items)
}

/// Counts the comparisons of each value with each other one.
pub(super) fn product(run: &mut Run<'_>, a: usize, b: usize) -> Result<(), Failure> {
    run.work(a.saturating_mul(b).saturating_mul(size_of::<Value>()))
}

fn size(whole: &Value) -> usize {
    match whole {
        Value::List(list) => list.items().len(),
        other => other.as_map().map_or_else(|| other.size(), |map| map.entries().len()),
    }
}

/// Whether the second argument holds all values of the first one.
fn all(run: &mut Run<'_>, args: &[Value]) -> Result<bool, Failure> {
    product(run, args.items(0)?.len(), size(args.at(1)))?;
    Ok(args.items(0)?.iter().all(|v| holds(args.at(1), v)))
}

/// Whether the second argument holds a value of the first one.
fn any_of(run: &mut Run<'_>, args: &[Value]) -> Result<bool, Failure> {
    product(run, args.items(0)?.len(), size(args.at(1)))?;
    Ok(args.items(0)?.iter().any(|v| holds(args.at(1), v)))
}

/// Whether a list, a map's values or a text holds a value.
fn holds(whole: &Value, part: &Value) -> bool {
    let same = |v: &Value| equal(v, part).unwrap_or(false);
    match whole {
        Value::List(list) => list.items().iter().any(same),
        Value::String(text) => part.as_text().is_some_and(|p| text.contains(p)),
        other => other.as_map().is_some_and(|map| map.entries().values().any(same)),
    }
}

fn by(args: &[Value], keys: impl Fn(&crate::value::Object) -> Result<Vec<String>, Failure>) -> Result<Value, Failure> {
    let mut groups: BTreeMap<Arc<str>, Vec<Value>> = BTreeMap::new();
    for item in args.items(0)? {
        let Value::Object(object) = item else { return Err(super::wrong(item, "a service")) };
        for key in keys(object)? {
            groups.entry(key.into()).or_default().push(item.clone());
        }
    }
    let entries = groups.into_iter().map(|(k, v)| Ok((k, Value::list(v)?)));
    Value::map(entries.collect::<Result<_, Failure>>()?)
}

/// A tree of maps in the making.
#[derive(Default)]
struct Tree {
    value: Option<Value>,
    below: BTreeMap<Arc<str>, Tree>,
}

impl Tree {
    fn value(self) -> Result<Value, Failure> {
        match self.value {
            Some(value) if self.below.is_empty() => Ok(value),
            _ => {
                let entries = self.below.into_iter().map(|(k, t)| Ok((k, t.value()?)));
                Value::map(entries.collect::<Result<_, Failure>>()?)
            }
        }
    }
}

/// `a/b` as an entry `b` of a map `a`.
fn explode(pairs: &BTreeMap<Arc<str>, Value>) -> Result<Value, Failure> {
    let mut root = Tree::default();
    for (key, value) in pairs {
        let mut at = &mut root;
        for (depth, part) in key.split('/').filter(|p| !p.is_empty()).enumerate() {
            if depth >= crate::value::MAX_DEPTH {
                return Err(Failure::Bound(Bound::Depth));
            }
            at = at.below.entry(part.into()).or_default();
        }
        at.value = Some(value.clone());
    }
    Value::map(match (Tree { value: None, ..root }).value()? {
        Value::Map(map) => map.entries().clone(),
        _ => BTreeMap::new(),
    })
}

/// Maps merged deeply; the last argument is the base, as in a pipeline.
fn merge(run: &mut Run<'_>, args: &[Value], overriding: bool) -> Result<Value, Failure> {
    let mut out = args.map(args.len() - 1)?.entries().clone();
    for n in 0..args.len() - 1 {
        out = merged(run, &out, args.map(n)?.entries(), overriding)?;
    }
    Value::map(out)
}

type Entries = BTreeMap<Arc<str>, Value>;

pub(super) fn merged(run: &mut Run<'_>, base: &Entries, other: &Entries, overriding: bool) -> Result<Entries, Failure> {
    // Maps may be part of others many times: every copy counts.
    run.spend((1 + base.len() + other.len()) * size_of::<Value>())?;
    let mut out = base.clone();
    for (key, value) in other {
        let new = match (out.get(key), value) {
            (Some(Value::Map(a)), Value::Map(b)) => Value::map(merged(run, a.entries(), b.entries(), overriding)?)?,
            (Some(old), _) if !overriding && old.is_true() => old.clone(),
            _ => value.clone(),
        };
        out.insert(key.clone(), new);
    }
    Ok(out)
}
