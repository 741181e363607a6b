//! Functions that read from elsewhere: variables, services, files, the environment, the clock.

use super::{Args, Function, between, exactly};
use crate::error::Failure;
use crate::source::{Dependency, VariableName};
use crate::value::Value;

pub(super) const FUNCTIONS: &[Function] = &[
    exactly("nomadVar", 1, |run, a| run.read(Dependency::Variable(named(a.text(0)?)?))),
    exactly("nomadVarExists", 1, |run, a| match run.read(Dependency::VariableExists(named(a.text(0)?)?))? {
        Value::Missing => Ok(Value::Bool(false)),
        known => Ok(known),
    }),
    between("nomadVarList", 0, 1, |run, a| run.read(Dependency::VariableList(prefix(a)?))),
    between("nomadVarListSafe", 0, 1, |run, a| run.read(Dependency::VariableListSafe(prefix(a)?))),
    between("nomadService", 1, 3, |run, a| {
        let (name, choose) = match a {
            [_] => (a.text(0)?, None),
            [_, _, _] => {
                let count = a.int(0)?;
                if count < 1 {
                    return Err(Failure::new("the number of instances must be positive"));
                }
                (a.text(2)?, Some((count, a.text(1)?.to_string())))
            }
            _ => return Err(Failure::new("expected one argument (a name), or three (a number, a key, a name)")),
        };
        if name.is_empty() {
            return Err(Failure::new("the name of the service is empty"));
        }
        run.read(Dependency::Service { name: name.into(), choose })
    }),
    exactly("nomadServices", 0, |run, _| run.read(Dependency::Services)),
    exactly("file", 1, |run, a| run.read(Dependency::File(a.text(0)?.into()))),
    exactly("env", 1, |run, a| Ok(Value::text(run.source.env(a.text(0)?).unwrap_or_default()))),
    exactly("mustEnv", 1, |run, a| {
        let name = a.text(0)?;
        run.source
            .env(name)
            .map(Value::text)
            .ok_or_else(|| Failure::new(format!("missing required environment variable: {name}")))
    }),
    exactly("envOrDefault", 2, |run, a| {
        let set = run.source.env(a.text(0)?).filter(|v| !v.is_empty());
        set.map_or_else(|| a.text(1).map(Value::text), |v| Ok(Value::text(v)))
    }),
    between("timestamp", 0, 1, |run, a| {
        let now = run.source.now();
        Ok(Value::text(match a {
            [] => now.rfc3339(),
            _ => match a.text(0)? {
                "unix" => now.unix_seconds().to_string(),
                layout => now.format(layout),
            },
        }))
    }),
    exactly("sockaddr", 1, |run, a| {
        let address = run.source.address(a.text(0)?);
        address.map(Value::text).map_err(|e| Failure::Source(e.to_string()))
    }),
    between("executeTemplate", 1, 2, |run, a| {
        let (name, dot) = (a.text(0)?.to_string(), a.at(1).clone());
        run.execute(&name, &dot).map(Value::text)
    }),
];

/// The longest path of a variable.
const MAX_PATH: usize = 128;

fn named(text: &str) -> Result<VariableName, Failure> {
    let name = VariableName::parse(text);
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '~' | '/');
    if !(1..=MAX_PATH).contains(&name.path.len()) || !name.path.chars().all(fine) {
        return Err(Failure::new(format!("invalid path of a variable: {:?}", name.path)));
    }
    Ok(name)
}

fn prefix(args: &[Value]) -> Result<VariableName, Failure> {
    Ok(VariableName::parse(if args.is_empty() { "" } else { args.text(0)? }))
}
