//! `scratch`: named values that last for one run.

use std::sync::Arc;

use super::{Args, Function, exactly};
use crate::error::Failure;
use crate::eval::Run;
use crate::value::{Map, Value};

pub(super) const FUNCTIONS: &[Function] = &[exactly("scratch", 0, |_, _| Ok(Value::Scratch))];

/// A method of the named values.
pub(crate) fn method(run: &mut Run<'_>, name: &str, args: &[Value]) -> Result<Value, Failure> {
    let want = |count: usize| {
        let got = args.len();
        if got == count {
            Ok(())
        } else {
            Err(Failure::new(format!("wrong number of args for {name}: want {count} got {got}")))
        }
    };
    let nothing = Ok(Value::text(""));
    match name {
        "Key" => {
            want(1)?;
            Ok(Value::Bool(run.scratch.contains_key(args.text(0)?)))
        }
        "Get" => {
            want(1)?;
            Ok(run.scratch.get(args.text(0)?).cloned().unwrap_or(Value::Missing))
        }
        "Set" | "SetX" => {
            want(2)?;
            let key: Arc<str> = args.text(0)?.into();
            if name == "Set" || !run.scratch.contains_key(&key) {
                run.spend(key.len() + args.at(1).size())?;
                run.scratch.insert(key, args.at(1).clone());
            }
            nothing
        }
        "MapSet" | "MapSetX" => {
            want(3)?;
            let (key, entry): (Arc<str>, Arc<str>) = (args.text(0)?.into(), args.text(1)?.into());
            let old = match run.scratch.get(&key) {
                None => Map::default(),
                Some(Value::Map(map)) => map.clone(),
                Some(_) => return Err(Failure::new(format!("{key:?} is no map"))),
            };
            if name == "MapSet" || !old.entries().contains_key(&entry) {
                let mut entries = old.entries().clone();
                entries.insert(entry, args.at(2).clone());
                let map = Value::map(entries)?;
                // The whole map is copied.
                run.spend(map.size())?;
                run.scratch.insert(key, map);
            }
            nothing
        }
        "MapValues" => {
            want(1)?;
            match run.scratch.get(args.text(0)?) {
                None => Ok(Value::Missing),
                Some(Value::Map(map)) => Value::list(map.entries().values().cloned().collect()),
                Some(_) => Err(Failure::new("the value is no map")),
            }
        }
        _ => Err(Failure::new(format!("can't evaluate field {name} in type scratch"))),
    }
}
