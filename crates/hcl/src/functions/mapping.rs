//! Maps and objects: `keys lookup merge values zipmap`.

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, function, nullable, p, variadic};
use crate::types::Type;
use crate::value::{Entries, Value};

pub(crate) const FUNCTIONS: &[Function] = &[
    function("keys", &[p("inputMap", Kind::Any)], |args, _| {
        let map = map_or_object(args, 0)?;
        let keys = args.entries(0)?.keys().map(|key| Value::String(key.clone())).collect();
        Ok(if map { Value::list(Type::String, keys)? } else { Value::tuple(keys)? })
    }),
    function("values", &[p("mapping", Kind::Any)], |args, _| {
        map_or_object(args, 0).map_err(Failure::of_call)?;
        let values = args.entries(0)?.values().cloned().collect();
        match args.value(0)?.ty() {
            Type::Map(element) => Ok(Value::list((*element).clone(), values)?),
            _ => Ok(Value::tuple(values)?),
        }
    }),
    function("lookup", &[p("inputMap", Kind::Any), p("key", Kind::String), nullable("default", Kind::Any)], lookup),
    variadic("merge", &[], nullable("maps", Kind::Any), merge),
    function("zipmap", &[p("keys", Kind::Strings), p("values", Kind::Any)], zipmap),
];

/// Whether the argument is a map (true) or an object (false); others are refused.
fn map_or_object(args: &Args, index: usize) -> Result<bool, Failure> {
    match args.value(index)? {
        Value::Map(_) => Ok(true),
        Value::Object(_) => Ok(false),
        other => Err(Failure::Argument(index, format!("must be a map or an object, but have {}", other.ty()))),
    }
}

fn lookup(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let default = args.value(2)?;
    map_or_object(args, 0)?;
    let found = args.entries(0)?.get(args.text(1)?);
    match args.value(0)?.ty() {
        Type::Map(element) => {
            let default = default.convert(&element);
            let default = default.map_err(|_| {
                let text = "the default value must have the same type as the map elements";
                Failure::Argument(2, text.to_string())
            })?;
            Ok(found.cloned().unwrap_or(default))
        }
        _ => Ok(found.unwrap_or(default).clone()),
    }
}

fn merge(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let mut entries = Entries::new();
    let mut types = Vec::new();
    for value in args.all() {
        if value.is_null() {
            continue;
        }
        let Some(more) = value.entries() else {
            let text = format!("arguments must be maps or objects, got \"{}\"", value.ty());
            return Err(text.into());
        };
        types.push(value.ty());
        entries.extend(more.iter().map(|(key, value)| (key.clone(), value.clone())));
    }
    // Maps of one type make a map of it; elements are not converted.
    match types.first() {
        Some(Type::Map(element)) if types.iter().all(|ty| Some(ty) == types.first()) => {
            Ok(Value::map((**element).clone(), entries)?)
        }
        _ => Ok(Value::object(entries)?),
    }
}

fn zipmap(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let keys = args.items(0)?;
    let values = match args.value(1)? {
        Value::List(inner) | Value::Tuple(inner) => inner.items(),
        _ => return Err("values argument must be a list or tuple value".into()),
    };
    if keys.len() != values.len() {
        let text = format!("number of keys ({}) does not match number of values ({})", keys.len(), values.len());
        return Err(text.into());
    }
    let mut entries = Entries::new();
    for (key, value) in keys.iter().zip(values) {
        let Value::String(key) = key else {
            return Err("keys must not be null".into());
        };
        entries.insert(key.clone(), value.clone());
    }
    match args.value(1)?.ty() {
        Type::List(element) => Ok(Value::map((*element).clone(), entries)?),
        _ => Ok(Value::object(entries)?),
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::{check_json, json_value as v};
    use super::*;

    #[test]
    fn results() {
        for (name, arguments, expected) in [
            ("keys", r#"{"b":1,"a":2}"#, r#"["a","b"]"#),
            ("values", r#"{"b":1,"a":2}"#, "[2,1]"),
            ("lookup", r#"{"a":1}, "a", 5"#, "1"),
            ("lookup", r#"{"a":1}, "b", "x""#, r#""x""#),
            ("merge", r#"{"a":1,"b":2}, null, {"b":"x"}"#, r#"{"a":1,"b":"x"}"#),
            ("merge", "", "{}"),
            ("zipmap", r#"["a","b"], [1,"x"]"#, r#"{"a":1,"b":"x"}"#),
        ] {
            check_json(name, arguments, expected);
        }
    }

    #[test]
    fn refusals() {
        for (name, arguments, expected) in [
            ("values", "[]", "Call to function \"values\" failed: must be a map or an object, but have tuple."),
            (
                "zipmap",
                r#"["a"], 1"#,
                "Call to function \"zipmap\" failed: values argument must be a list or tuple value.",
            ),
            ("keys", "[]", "Invalid value for \"inputMap\" parameter: must be a map or an object, but have tuple."),
            ("merge", "{}, 1", "Call to function \"merge\" failed: arguments must be maps or objects, got \"number\"."),
            (
                "zipmap",
                r#"["a"], []"#,
                "Call to function \"zipmap\" failed: number of keys (1) does not match number of values (0).",
            ),
            ("lookup", "{}, \"a\"", "Function \"lookup\" expects 3 argument(s). Missing value for \"default\"."),
        ] {
            check_json(name, arguments, expected);
        }
    }

    #[test]
    fn maps_stay_maps() {
        let context = super::super::support::test_context();
        let call = |name, arguments: Vec<Value>| super::super::call(name, arguments, &context).unwrap();
        let numbers = v(r#"{"a":1}"#).convert(&Type::map(Type::Number)).unwrap();
        let strings = v(r#"{"b":"x"}"#).convert(&Type::map(Type::String)).unwrap();
        assert_eq!(call("merge", vec![numbers.clone(), numbers.clone()]).ty(), Type::map(Type::Number));
        assert!(matches!(call("merge", vec![numbers.clone(), strings]).ty(), Type::Object(_)));
        assert_eq!(call("keys", vec![numbers.clone()]).ty(), Type::list(Type::String));
        assert_eq!(call("values", vec![numbers.clone()]).ty(), Type::list(Type::Number));
        assert!(call("lookup", vec![numbers, "z".into(), "7".into()]).equals(&7.into()));
    }
}
