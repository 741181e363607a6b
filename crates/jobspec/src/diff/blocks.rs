//! The kinds of comparison used by object diffs (`docs/spec/jobspec.md §17.3`).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Number, Value};

use super::fields::{Pick, Texts, change, changes, primitive, scalar};
use encamp_model::{DiffType, FieldDiff, ObjectDiff};

static ABSENT: Value = Value::Null;

/// The two sides of a comparison; an absent side is null.
#[derive(Clone, Copy)]
pub(super) struct Pair<'a> {
    pub old: &'a Value,
    pub new: &'a Value,
    /// Whether reported objects list unchanged fields.
    pub contextual: bool,
}

impl<'a> Pair<'a> {
    /// The member `key` of both sides.
    pub(crate) fn get(self, key: &str) -> Pair<'a> {
        Pair { old: self.old.get(key).unwrap_or(&ABSENT), new: self.new.get(key).unwrap_or(&ABSENT), ..self }
    }

    /// The same sides without unchanged fields.
    pub(crate) fn without_context(self) -> Pair<'a> {
        Pair { contextual: false, ..self }
    }

    /// Whether the sides are deeply equal.
    pub(crate) fn same(self) -> bool {
        same(self.old, self.new)
    }

    fn of(self, old: Option<&'a Value>, new: Option<&'a Value>) -> Pair<'a> {
        Pair { old: old.unwrap_or(&ABSENT), new: new.unwrap_or(&ABSENT), ..self }
    }

    /// The elements of two lists by key, sorted by key; of equal keys on one side the last counts.
    pub(crate) fn by_key(self, key: impl Fn(&Value) -> String) -> Vec<(String, Pair<'a>)> {
        let mut out: BTreeMap<String, Pair<'a>> = BTreeMap::new();
        for v in list(self.old) {
            out.entry(key(v)).or_insert(self.of(None, None)).old = v;
        }
        for v in list(self.new) {
            out.entry(key(v)).or_insert(self.of(None, None)).new = v;
        }
        out.into_iter().collect()
    }

    /// The entries of two maps by key.
    pub(crate) fn by_map_key(self) -> Vec<(&'a str, Pair<'a>)> {
        let keys: BTreeSet<&'a String> = [self.old, self.new].into_iter().flat_map(|v| entries(v).keys()).collect();
        keys.into_iter().map(|k| (k.as_str(), self.of(entries(self.old).get(k), entries(self.new).get(k)))).collect()
    }

    /// The elements matched beforehand, given by their indexes.
    pub(crate) fn at(self, old: Option<usize>, new: Option<usize>) -> Pair<'a> {
        self.of(old.and_then(|i| list(self.old).get(i)), new.and_then(|i| list(self.new).get(i)))
    }
}

/// The elements of a list; nothing else has any.
pub(super) fn list(v: &Value) -> &[Value] {
    v.as_array().map_or(&[], Vec::as_slice)
}

fn entries(v: &Value) -> &Map<String, Value> {
    static EMPTY: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    v.as_object().unwrap_or(&EMPTY)
}

/// The text of a member, empty when it has none.
pub(super) fn text(v: &Value, key: &str) -> String {
    v.get(key).and_then(scalar).unwrap_or_default()
}

/// Deep equality; numbers compare by value, since a free-form number may be stored as integer or float.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || (is_float(a, b) && a.as_f64() == b.as_f64()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(k, v)| b.get(k).is_some_and(|w| same(v, w)))
        }
        _ => a == b,
    }
}

fn is_float(a: &Number, b: &Number) -> bool {
    a.is_f64() || b.is_f64()
}

/// How the diff of a block is filled in.
pub(super) trait Fill {
    /// Sets the fields to the named ones in primitive mode.
    fn named_fields(&mut self, p: Pair<'_>, names: &[&str]);

    /// Sets the fields to all bools, numbers and strings.
    fn scalar_fields(&mut self, p: Pair<'_>);

    /// Sets the fields to what `texts` makes of each side.
    fn full_fields(&mut self, p: Pair<'_>, texts: impl Fn(&Value) -> Texts);

    /// Appends a nested object if there is one.
    fn push(&mut self, nested: Option<ObjectDiff>);

    /// Appends nested objects.
    fn extend(&mut self, nested: impl IntoIterator<Item = ObjectDiff>);
}

impl Fill for ObjectDiff {
    fn named_fields(&mut self, p: Pair<'_>, names: &[&str]) {
        let pick = Pick::Named(names);
        self.fields = changes(primitive(p.old, pick), primitive(p.new, pick), p.contextual);
    }

    fn scalar_fields(&mut self, p: Pair<'_>) {
        self.fields = changes(primitive(p.old, Pick::Scalars), primitive(p.new, Pick::Scalars), p.contextual);
    }

    fn full_fields(&mut self, p: Pair<'_>, texts: impl Fn(&Value) -> Texts) {
        self.fields = changes(texts(p.old), texts(p.new), p.contextual);
    }

    fn push(&mut self, nested: Option<ObjectDiff>) {
        self.objects.extend(nested);
    }

    fn extend(&mut self, nested: impl IntoIterator<Item = ObjectDiff>) {
        self.objects.extend(nested);
    }
}

/// A block: reported when its sides are not deeply equal, even if no field differs.
pub(super) fn object<'a>(p: Pair<'a>, name: &str, fill: impl FnOnce(Pair<'a>, &mut ObjectDiff)) -> Option<ObjectDiff> {
    if p.same() {
        return None;
    }
    let r#type = match (p.old.is_null(), p.new.is_null()) {
        (true, _) => DiffType::Added,
        (_, true) => DiffType::Deleted,
        _ => DiffType::Edited,
    };
    let mut out = ObjectDiff { r#type, name: name.into(), ..ObjectDiff::default() };
    fill(p, &mut out);
    Some(out)
}

/// A map that is shown as a block: one without entries counts as absent.
pub(super) fn map_object(p: Pair<'_>, name: &str, texts: impl Fn(&Value) -> Texts) -> Option<ObjectDiff> {
    let side = |v: &'_ Value| v.as_object().is_some_and(|map| !map.is_empty());
    let p = p.of(Some(p.old).filter(|v| side(v)), Some(p.new).filter(|v| side(v)));
    object(p, name, |p, o| o.full_fields(p, texts))
}

/// A flat block: reported when some field changed, typed by what happened to its fields.
pub(super) fn primitive_object(p: Pair<'_>, name: &str, pick: Pick<'_>) -> Option<ObjectDiff> {
    let fields = changes(primitive(p.old, pick), primitive(p.new, pick), p.contextual);
    flat(name, fields)
}

/// An object of the given fields only, if one of them changed.
pub(super) fn flat(name: &str, fields: Vec<FieldDiff>) -> Option<ObjectDiff> {
    let r#type = fields_type(&fields);
    (r#type != DiffType::None).then(|| ObjectDiff { r#type, name: name.into(), fields, objects: Vec::new() })
}

fn fields_type(fields: &[FieldDiff]) -> DiffType {
    let has = |t: DiffType| fields.iter().any(|f| f.r#type == t);
    match (has(DiffType::Edited), has(DiffType::Added), has(DiffType::Deleted)) {
        (true, _, _) | (_, true, true) => DiffType::Edited,
        (_, true, _) => DiffType::Added,
        (_, _, true) => DiffType::Deleted,
        _ => DiffType::None,
    }
}

/// The output of a string set when both sides have the same elements.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum SetMode {
    /// With context, an object of type None.
    Always,
    /// Nothing.
    IfChanged,
}

/// A list whose order and repetitions do not matter.
pub(super) fn string_set(p: Pair<'_>, name: &str, mode: SetMode) -> Option<ObjectDiff> {
    let side = |v| -> BTreeSet<String> { list(v).iter().filter_map(scalar).collect() };
    let (old, new) = (side(p.old), side(p.new));
    let of = |old: &str, new: &str| change(name.into(), old.into(), new.into());
    let mut fields: Vec<FieldDiff> = old.difference(&new).map(|s| of(s, "")).collect();
    fields.extend(new.difference(&old).map(|s| of("", s)));
    let changed = !fields.is_empty();
    if p.contextual {
        fields.extend(old.intersection(&new).map(|s| of(s, s)));
    }
    if fields.is_empty() || (!changed && mode == SetMode::IfChanged) {
        return None;
    }
    fields.sort_by(|a, b| (&a.old, &a.new).cmp(&(&b.old, &b.new)));
    Some(ObjectDiff { r#type: fields_type(&fields), name: name.into(), fields, objects: Vec::new() })
}

/// A list whose elements are matched by a key; the results are sorted.
pub(super) fn keyed_by<'a>(
    p: Pair<'a>,
    key: impl Fn(&Value) -> String,
    each: impl Fn(Pair<'a>) -> Option<ObjectDiff>,
) -> Vec<ObjectDiff> {
    sorted(p.by_key(key).into_iter().filter_map(|(_, p)| each(p)).collect())
}

/// A list whose elements are matched by one of their members.
pub(super) fn keyed<'a>(p: Pair<'a>, member: &str, each: impl Fn(Pair<'a>) -> Option<ObjectDiff>) -> Vec<ObjectDiff> {
    keyed_by(p, |v| text(v, member), each)
}

/// The elements of two lists matched by position.
pub(super) fn position_pairs(p: Pair<'_>) -> Vec<Pair<'_>> {
    (0..list(p.old).len().max(list(p.new).len())).map(|i| p.at(Some(i), Some(i))).collect()
}

/// The results for two lists of which `find` matches an old element with the first free new one that it accepts; the
/// rest is deleted or added. One element on each side is compared directly.
pub(super) fn matched<'a>(
    p: Pair<'a>,
    find: impl Fn(usize, &[usize]) -> Option<usize>,
    each: impl Fn(Pair<'a>) -> Option<ObjectDiff>,
) -> Vec<ObjectDiff> {
    let mut free: Vec<usize> = (0..list(p.new).len()).collect();
    let mut out = Vec::new();
    if list(p.old).len() == 1 && free.len() == 1 {
        return each(p.at(Some(0), Some(0))).into_iter().collect();
    }
    for i in 0..list(p.old).len() {
        let found = find(i, &free);
        free.retain(|j| Some(*j) != found);
        out.extend(each(p.at(Some(i), found)));
    }
    out.extend(free.into_iter().filter_map(|j| each(p.at(None, Some(j)))));
    sorted(out)
}

/// Sorts objects by the object order of `docs/spec/jobspec.md §17.3`. The last steps are lexicographic here.
pub(super) fn sorted(mut objects: Vec<ObjectDiff>) -> Vec<ObjectDiff> {
    objects.sort_by(compare);
    objects
}

fn compare(a: &ObjectDiff, b: &ObjectDiff) -> Ordering {
    const ORDER: [DiffType; 4] = [DiffType::Edited, DiffType::Added, DiffType::Deleted, DiffType::None];
    let rank = |o: &ObjectDiff| ORDER.iter().position(|t| *t == o.r#type);
    a.name
        .cmp(&b.name)
        .then_with(|| rank(a).cmp(&rank(b)))
        .then_with(|| a.fields.len().cmp(&b.fields.len()))
        .then_with(|| a.objects.len().cmp(&b.objects.len()))
        .then_with(|| field_keys(a).cmp(field_keys(b)))
        .then_with(|| {
            let pairs = a.objects.iter().zip(&b.objects);
            pairs.map(|(a, b)| compare(a, b)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        })
}

fn field_keys(o: &ObjectDiff) -> impl Iterator<Item = (&str, &str, &str)> {
    o.fields.iter().map(|f| (f.name.as_str(), f.old.as_str(), f.new.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pair<'a>(old: &'a Value, new: &'a Value, contextual: bool) -> Pair<'a> {
        Pair { old, new, contextual }
    }

    #[test]
    fn string_sets_ignore_order_and_repetition() {
        let (a, b) = (json!(["x", "y", "x"]), json!(["y", "x"]));
        assert_eq!(string_set(pair(&a, &b, false), "S", SetMode::Always), None);
        assert_eq!(string_set(pair(&a, &b, true), "S", SetMode::IfChanged), None);
        let kept = string_set(pair(&a, &b, true), "S", SetMode::Always).unwrap();
        assert_eq!((kept.r#type, kept.fields.len()), (DiffType::None, 2));
        assert_eq!(string_set(pair(&json!(null), &json!([]), true), "S", SetMode::Always), None);
        let c = json!(["x"]);
        assert_eq!(string_set(pair(&a, &c, false), "S", SetMode::Always).unwrap().r#type, DiffType::Deleted);
    }

    #[test]
    fn objects_without_a_differing_field_are_still_edited() {
        let (a, b) = (json!({"Shown": 1, "Hidden": [1]}), json!({"Shown": 1, "Hidden": [2]}));
        let got = object(pair(&a, &b, false), "O", |p, o| o.named_fields(p, &["Shown"])).unwrap();
        assert_eq!((got.r#type, got.fields.len()), (DiffType::Edited, 0));
        assert_eq!(primitive_object(pair(&a, &b, true), "O", Pick::Scalars), None);
    }

    #[test]
    fn numbers_are_equal_by_value() {
        assert!(same(&json!({"a": [3]}), &json!({"a": [3.0]})));
        assert!(!same(&json!(3), &json!(4)));
    }
}
