//! Lists, tuples and sets: `chunklist coalesce coalescelist compact concat contains distinct element flatten index
//! length range setintersection setproduct setunion slice sort`.

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, function, nullable, p, variadic};
use crate::convert::ConversionError;
use crate::number::Number;
use crate::types::{Type, unify};
use crate::value::{MAX_NODES, Value, ValueTooLarge};

/// Most values `range` makes.
const MAX_RANGE: usize = 1024;

const LIST: &[super::support::Parameter] = &[p("list", Kind::Any)];
const SETS: &[super::support::Parameter] = &[p("first_set", Kind::Set)];

pub(crate) const FUNCTIONS: &[Function] = &[
    function("chunklist", &[p("list", Kind::List), p("size", Kind::Number)], chunklist),
    variadic("coalesce", &[], nullable("vals", Kind::Any), coalesce),
    variadic("coalescelist", &[], nullable("vals", Kind::Any), coalescelist),
    function("compact", &[p("list", Kind::Strings)], |args, _| {
        let kept = args.items(0)?.iter().filter(|item| item.as_str().is_some_and(|text| !text.is_empty()));
        Ok(Value::list(Type::String, kept.cloned().collect())?)
    }),
    variadic("concat", &[], p("seqs", Kind::Any), concat),
    function("contains", &[p("list", Kind::Any), p("value", Kind::Any)], |args, _| {
        let items = args.value(0)?.items().ok_or("argument must be list, tuple, or set")?;
        let wanted = args.value(1)?;
        Ok(items.iter().any(|item| item.equals(wanted)).into())
    }),
    function("distinct", &[p("list", Kind::List)], distinct),
    function("element", &[p("list", Kind::Any), p("index", Kind::Number)], element),
    function("flatten", LIST, |args, _| {
        let list = args.value(0)?;
        if list.items().is_none() {
            return Err("can only flatten lists, sets and tuples".into());
        }
        let mut flat = Vec::new();
        flatten(list, &mut flat)?;
        Ok(Value::tuple(flat)?)
    }),
    function("index", &[p("collection", Kind::Any), p("key", Kind::Any)], index),
    function("length", &[p("collection", Kind::Any)], |args, _| {
        let length = match args.value(0)? {
            Value::Map(inner) => inner.entries().len(),
            other => other.items().ok_or("collection must be a list, a map or a tuple")?.len(),
        };
        Ok(Number::from(length).into())
    }),
    variadic("range", &[], p("params", Kind::Number), range),
    variadic("setintersection", SETS, p("other_sets", Kind::Set), |args, _| {
        combine(args, |item, others| others.iter().all(|other| holds(other, item)), false)
    }),
    variadic("setunion", SETS, p("other_sets", Kind::Set), |args, _| combine(args, |_, _| true, true)),
    variadic("setproduct", &[], p("sets", Kind::Any), setproduct),
    function("slice", &[p("list", Kind::Any), p("start_index", Kind::Number), p("end_index", Kind::Number)], slice),
    function("sort", &[p("list", Kind::Strings)], |args, _| {
        let items = args.items(0)?;
        if let Some(null) = items.iter().position(Value::is_null) {
            let text = format!("given list element {null} is null; a null string cannot be sorted");
            return Err(text.into());
        }
        let mut sorted = items.to_vec();
        sorted.sort_by(Value::total_order);
        Ok(Value::list(Type::String, sorted)?)
    }),
];

/// The element type of a list, set or map.
fn element_type(value: &Value) -> Type {
    match value.ty() {
        Type::List(element) | Type::Set(element) | Type::Map(element) => (*element).clone(),
        _ => Type::Any,
    }
}

fn chunklist(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (items, element) = (args.items(0)?, element_type(args.value(0)?));
    if items.is_empty() {
        return Ok(Value::list(Type::list(element), Vec::new())?);
    }
    let size = args.int(1, i64::MIN, i64::MAX).map_err(Failure::of_call)?;
    let size = usize::try_from(size).map_err(|_| "the size argument must be positive")?;
    let size = if size == 0 { items.len().max(1) } else { size };
    let chunks = items.chunks(size).map(|chunk| Value::list(element.clone(), chunk.to_vec()));
    Ok(Value::list(Type::list(element.clone()), chunks.collect::<Result<_, _>>()?)?)
}

fn coalesce(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let types: Vec<Type> = args.all().iter().map(Value::ty).collect();
    let common = unify(&types).ok_or("all arguments must have the same type")?;
    match args.all().iter().find(|value| !value.is_null()) {
        Some(value) => Ok(value.convert(&common)?),
        None => Err("no non-null arguments".into()),
    }
}

fn coalescelist(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    for value in args.all().iter().filter(|value| !value.is_null()) {
        match value {
            Value::List(inner) | Value::Tuple(inner) if inner.items().is_empty() => {}
            Value::List(_) | Value::Tuple(_) => return Ok(value.clone()),
            _ => return Err("coalescelist arguments must be lists or tuples".into()),
        }
    }
    Err("no non-null arguments".into())
}

fn concat(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    if args.all().is_empty() {
        return Err("at least one argument is required".into());
    }
    let mut items = Vec::new();
    for (position, value) in args.all().iter().enumerate() {
        match value {
            Value::List(inner) | Value::Tuple(inner) => items.extend_from_slice(inner.items()),
            other => {
                let text = format!("all arguments must be lists or tuples; got {}", other.ty());
                return Err(Failure::Argument(position, text));
            }
        }
        if items.len() > MAX_NODES {
            return Err(ValueTooLarge::Nodes.into());
        }
    }
    let types: Vec<Type> = args.all().iter().map(Value::ty).collect();
    let all_lists = types.iter().all(|ty| matches!(ty, Type::List(_)));
    match unify(&types).filter(|_| all_lists) {
        Some(list) => Ok(Value::tuple(items)?.convert(&list)?),
        None => Ok(Value::tuple(items)?),
    }
}

fn distinct(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let mut seen = std::collections::BTreeSet::new();
    let kept = args.items(0)?.iter().filter(|item| seen.insert(Ordered(item)));
    Ok(Value::list(element_type(args.value(0)?), kept.cloned().collect())?)
}

/// A value with the order of set elements.
struct Ordered<'a>(&'a Value);

impl Ord for Ordered<'_> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_order(other.0)
    }
}

impl PartialOrd for Ordered<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ordered<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered<'_> {}

fn element(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let list = args.value(0)?;
    let items = match list {
        Value::List(inner) | Value::Tuple(inner) => inner.items(),
        other => return Err(format!("cannot read elements from {}", other.ty()).into()),
    };
    let position = args.int(1, i64::MIN, i64::MAX).map_err(Failure::of_call)?.checked_rem_euclid(items.len() as i64);
    let item = position.and_then(|position| items.get(usize::try_from(position).ok()?));
    item.cloned().ok_or_else(|| "cannot use element function with an empty list".into())
}

fn flatten(value: &Value, flat: &mut Vec<Value>) -> Result<(), Failure> {
    for item in value.items().unwrap_or_default() {
        if item.items().is_some() {
            flatten(item, flat)?;
        } else if flat.len() >= MAX_NODES {
            return Err(ValueTooLarge::Nodes.into());
        } else {
            flat.push(item.clone());
        }
    }
    Ok(())
}

fn index(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    // Keys are not converted.
    let found = match (args.value(0)?, args.value(1)?) {
        (Value::List(inner) | Value::Tuple(inner), Value::Number(number)) => {
            let position = number.to_u64().filter(|_| number.is_whole());
            position.and_then(|position| inner.items().get(usize::try_from(position).ok()?))
        }
        (Value::List(_), _) => return Err("key for list must be number".into()),
        (Value::Tuple(_), _) => return Err("key for tuple must be number".into()),
        (Value::Map(inner), Value::String(name)) => inner.entries().get(&**name),
        (Value::Map(_), _) => return Err("key for map must be string".into()),
        _ => return Err("collection must be a list, a map or a tuple".into()),
    };
    found.cloned().ok_or_else(|| "invalid index".into())
}

fn range(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (zero, one) = (Number::from(0i64), Number::from(1i64));
    let (start, end, step) = match args.all().len() {
        1 => (&zero, args.number(0)?, None),
        2 => (args.number(0)?, args.number(1)?, None),
        3 => (args.number(0)?, args.number(1)?, Some(args.number(2)?.clone())),
        _ => return Err("must have one, two, or three arguments".into()),
    };
    let down = start > end;
    let step = step.unwrap_or(if down { one.neg() } else { one });
    if step.is_zero() {
        return Err(Failure::Argument(2, "step must not be zero".to_string()));
    }
    match (down, step.is_negative()) {
        (false, true) if start != end => {
            return Err(Failure::Argument(1, "end must be less than start when step is negative".to_string()));
        }
        (true, false) => {
            return Err(Failure::Argument(1, "end must be greater than start when step is positive".to_string()));
        }
        _ => {}
    }
    let mut values = Vec::new();
    let mut next = start.clone();
    while if step.is_negative() { next > *end } else { next < *end } {
        if values.len() >= MAX_RANGE {
            let text = "more than 1024 values were generated; either decrease the difference between start and end or use a smaller step";
            return Err(text.into());
        }
        values.push(Value::Number(next.clone()));
        next = next.add(&step)?;
    }
    Ok(Value::list(Type::Number, values)?)
}

/// Whether a set has an element.
fn holds(set: &Value, wanted: &Value) -> bool {
    set.items().unwrap_or_default().binary_search_by(|item| item.total_order(wanted)).is_ok()
}

/// The items of the first set (with `all`: of every set) that pass the test, as one set.
fn combine(args: &Args, keep: fn(&Value, &[Value]) -> bool, all: bool) -> Result<Value, Failure> {
    let types: Vec<Type> = args.all().iter().map(Value::ty).collect();
    let common = unify(&types).ok_or("given sets must all have compatible element types")?;
    let sets = args.all().iter().map(|set| set.convert(&common)).collect::<Result<Vec<Value>, ConversionError>>()?;
    let sources = if all { sets.as_slice() } else { sets.get(..1).unwrap_or_default() };
    let mut items = Vec::new();
    for item in sources.iter().flat_map(|set| set.items().unwrap_or_default()) {
        if keep(item, &sets) {
            items.push(item.clone());
        }
        if items.len() > MAX_NODES {
            return Err(ValueTooLarge::Nodes.into());
        }
    }
    let element = match common {
        Type::Set(element) => (*element).clone(),
        _ => Type::Any,
    };
    Ok(Value::set(element, items)?)
}

fn setproduct(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    if args.all().len() < 2 {
        return Err("at least two arguments are required".into());
    }
    let mut factors = Vec::new();
    let mut size = args.all().len();
    for (position, value) in args.all().iter().enumerate() {
        let converted = match value {
            Value::Set(_) | Value::List(_) => value.clone(),
            Value::Tuple(_) => {
                value.convert(&Type::list(Type::Any)).map_err(|error| Failure::Argument(position, error.to_string()))?
            }
            other => {
                let text = format!("a set or a list is required, but have {}", other.ty());
                return Err(Failure::Argument(position, text));
            }
        };
        size = size.saturating_mul(converted.items().unwrap_or_default().len());
        factors.push(converted);
    }
    if size > MAX_NODES {
        return Err(ValueTooLarge::Nodes.into());
    }
    let mut rows: Vec<Vec<Value>> = vec![Vec::new()];
    for factor in &factors {
        let items = factor.items().unwrap_or_default();
        let with_each =
            |row: Vec<Value>| items.iter().map(move |item| row.iter().chain([item]).cloned().collect::<Vec<Value>>());
        rows = rows.into_iter().flat_map(with_each).collect();
    }
    let element = Type::Tuple(factors.iter().map(element_type).collect());
    let rows = rows.into_iter().map(Value::tuple).collect::<Result<Vec<Value>, ValueTooLarge>>()?;
    match factors.iter().any(|factor| matches!(factor, Value::Set(_))) {
        true => Ok(Value::set(element, rows)?),
        false => Ok(Value::list(element, rows)?),
    }
}

fn slice(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let list = args.value(0)?;
    let items = match list {
        Value::List(inner) | Value::Tuple(inner) => inner.items(),
        Value::Set(_) => {
            let text = "cannot slice a set, because its elements do not have indices; explicitly convert to a list if the ordering of the result is not important";
            return Err(Failure::Argument(0, text.to_string()));
        }
        _ => return Err(Failure::Argument(0, "must be a list or tuple value".to_string())),
    };
    let (start, end) = (args.int(1, i64::MIN, i64::MAX)?, args.int(2, i64::MIN, i64::MAX)?);
    let length = items.len() as i64;
    for (position, name, value) in [(1, "start", start), (2, "end", end)] {
        if value < 0 {
            return Err(Failure::Argument(position, format!("{name} index must not be less than zero")));
        }
        if value > length {
            let text = format!("{name} index must not be greater than the length of the list");
            return Err(Failure::Argument(position, text));
        }
    }
    if start > end {
        return Err(Failure::Argument(1, "start index must not be greater than end index".to_string()));
    }
    let kept = items.get(start as usize..end as usize).unwrap_or_default().to_vec();
    match list {
        Value::List(_) => Ok(Value::list(element_type(list), kept)?),
        _ => Ok(Value::tuple(kept)?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{check_json, json_value as v};
    use super::*;

    #[test]
    fn results() {
        for (name, arguments, expected) in [
            ("chunklist", r#"["a","b","c"], 2"#, r#"[["a","b"],["c"]]"#),
            ("chunklist", r#"["a","b"], 0"#, r#"[["a","b"]]"#),
            ("chunklist", r#"[], 0"#, "[]"),
            ("coalesce", r#"null, "", 1"#, r#""""#),
            ("coalesce", r#"null, 1, "x""#, r#""1""#),
            ("coalescelist", r#"[], null, [1]"#, "[1]"),
            ("compact", r#"["a","",null,"b"]"#, r#"["a","b"]"#),
            ("concat", r#"["a"], [], [1]"#, r#"["a",1]"#),
            ("contains", r#"["a","b"], "b""#, "true"),
            ("contains", r#"["1"], 1"#, "false"),
            ("distinct", r#"["b","a","b",1]"#, r#"["b","a","1"]"#),
            ("element", r#"["a","b","c"], 4"#, r#""b""#),
            ("element", r#"["a","b","c"], -1"#, r#""c""#),
            ("flatten", r#"[["a",["b"]],[],"c",{"k":[1]}]"#, r#"["a","b","c",{"k":[1]}]"#),
            ("index", r#"["a","b"], 1"#, r#""b""#),
            ("length", r#"["a","b"]"#, "2"),
            ("range", "3", "[0,1,2]"),
            ("range", "-3", "[0,-1,-2]"),
            ("range", "4, 1", "[4,3,2]"),
            ("range", "1, 2, 0.5", "[1,1.5]"),
            ("range", "2, 2, -1", "[]"),
            ("setintersection", r#"["c","b","a"], ["b","c"], ["c","x","b"]"#, r#"["b","c"]"#),
            ("setunion", r#"["b","a"], ["c","b"], [1]"#, r#"["1","a","b","c"]"#),
            ("setproduct", r#"["b","a"], [1,2]"#, r#"[["b",1],["b",2],["a",1],["a",2]]"#),
            ("setproduct", r#"["b","a"], []"#, "[]"),
            ("slice", r#"["a","b","c"], 1, 3"#, r#"["b","c"]"#),
            ("slice", r#"["a"], 1, 1"#, "[]"),
            ("sort", r#"["b","C","a","ä"]"#, r#"["C","a","b","ä"]"#),
        ] {
            check_json(name, arguments, expected);
        }
    }

    #[test]
    fn refusals() {
        for (name, arguments, expected) in [
            ("chunklist", r#"["a"], -1"#, "Call to function \"chunklist\" failed: the size argument must be positive."),
            ("coalesce", "null", "Call to function \"coalesce\" failed: no non-null arguments."),
            ("coalesce", "1, []", "Call to function \"coalesce\" failed: all arguments must have the same type."),
            (
                "concat",
                r#"["a"], "b""#,
                "Invalid value for \"seqs\" parameter: all arguments must be lists or tuples; got string.",
            ),
            (
                "element",
                "[], 0",
                "Call to function \"element\" failed: cannot use element function with an empty list.",
            ),
            ("length", r#""abc""#, "Call to function \"length\" failed: collection must be a list, a map or a tuple."),
            ("length", "{}", "Call to function \"length\" failed: collection must be a list, a map or a tuple."),
            ("index", "[1], 1", "Call to function \"index\" failed: invalid index."),
            ("index", r#"["a"], "a""#, "Call to function \"index\" failed: key for tuple must be number."),
            ("element", "{}, 0", "Call to function \"element\" failed: cannot read elements from object."),
            ("range", "1, 2, 0", "Invalid value for \"params\" parameter: step must not be zero."),
            ("setproduct", "[1]", "Call to function \"setproduct\" failed: at least two arguments are required."),
            (
                "slice",
                r#"["a"], 0, 2"#,
                "Invalid value for \"end_index\" parameter: end index must not be greater than the length of the list.",
            ),
            (
                "sort",
                r#"["a",null]"#,
                "Call to function \"sort\" failed: given list element 1 is null; a null string cannot be sorted.",
            ),
        ] {
            check_json(name, arguments, expected);
        }
    }

    #[test]
    fn kinds_of_results() {
        let context = super::super::support::test_context();
        let call = |name, arguments: Vec<Value>| super::super::call(name, arguments, &context).unwrap().ty();
        let strings = v(r#"["b","a"]"#).convert(&Type::list(Type::String)).unwrap();
        let set = strings.convert(&Type::set(Type::String)).unwrap();
        assert_eq!(call("concat", vec![strings.clone(), strings.clone()]), Type::list(Type::String));
        assert!(matches!(call("concat", vec![strings.clone(), v("[1]")]), Type::Tuple(_)));
        assert_eq!(call("slice", vec![strings.clone(), 0.into(), 1.into()]), Type::list(Type::String));
        assert!(matches!(call("setproduct", vec![set.clone(), set.clone()]), Type::Set(_)));
        assert!(matches!(call("setproduct", vec![set.clone(), strings.clone()]), Type::Set(_)));
        assert!(matches!(call("setproduct", vec![strings.clone(), strings]), Type::List(_)));
        assert!(matches!(call("contains", vec![set, "a".into()]), Type::Bool));
    }

    #[test]
    fn sizes_are_bounded() {
        let context = super::super::support::test_context();
        let call = |name, arguments: Vec<Value>| super::super::call(name, arguments, &context);
        assert_eq!(call("range", vec![1024.into()]).unwrap().items().unwrap().len(), 1024);
        assert!(call("range", vec![1025.into()]).unwrap_err().to_string().contains("more than 1024 values"));
        let long = call("range", vec![1024.into()]).unwrap();
        let refused = call("setproduct", vec![long.clone(), long.clone(), long]).unwrap_err().to_string();
        assert!(refused.contains("more than 262144 elements"), "{refused}");
    }
}
