//! The functions of templates.
//!
//! - [`builtin`]: those of Go's text/template. [`compare`]: its comparisons.
//! - [`servers`]: variables, services, files, environment. [`scratch`]: named values of a run.
//! - [`text`], [`lists`], [`maths`], [`encode`], [`yaml`]: helpers without side effects. [`sprig`]: `sprig_…`.

mod builtin;
mod compare;
mod encode;
mod lists;
mod maths;
mod scratch;
mod servers;
mod sprig;
mod text;
mod yaml;

use crate::error::Failure;
use crate::eval::Run;
use crate::value::Value;
use crate::{Functions, Options};

pub(crate) use scratch::method as scratch_method;

type Call = fn(&mut Run<'_>, &[Value]) -> Result<Value, Failure>;

/// A function.
pub(crate) struct Function {
    pub name: &'static str,
    /// The fewest arguments.
    pub least: usize,
    /// The most arguments; none: any number.
    pub most: Option<usize>,
    /// It evaluates only as many arguments as it needs.
    pub short: Option<Short>,
    pub call: Call,
}

/// When `and` and `or` stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Short {
    And,
    Or,
}

/// A function with a number of arguments.
const fn exactly(name: &'static str, count: usize, call: Call) -> Function {
    Function { name, least: count, most: Some(count), short: None, call }
}

/// A function with at least and at most so many arguments.
const fn between(name: &'static str, least: usize, most: usize, call: Call) -> Function {
    Function { name, least, most: Some(most), short: None, call }
}

/// A function with at least so many arguments.
const fn any(name: &'static str, least: usize, call: Call) -> Function {
    Function { name, least, most: None, short: None, call }
}

const TABLES: [&[Function]; 9] = [
    builtin::FUNCTIONS,
    compare::FUNCTIONS,
    servers::FUNCTIONS,
    scratch::FUNCTIONS,
    text::FUNCTIONS,
    lists::FUNCTIONS,
    maths::FUNCTIONS,
    encode::FUNCTIONS,
    sprig::FUNCTIONS,
];

/// Functions that need Consul or Vault.
const UNSUPPORTED: [(&str, &str); 23] = [
    ("caLeaf", "Consul"),
    ("caRoots", "Consul"),
    ("connect", "Consul"),
    ("datacenters", "Consul"),
    ("exportedServices", "Consul"),
    ("key", "Consul"),
    ("keyExists", "Consul"),
    ("keyExistsGet", "Consul"),
    ("keyOrDefault", "Consul"),
    ("ls", "Consul"),
    ("node", "Consul"),
    ("nodes", "Consul"),
    ("partitions", "Consul"),
    ("peerings", "Consul"),
    ("pkiCert", "Vault"),
    ("safeLs", "Consul"),
    ("safeTree", "Consul"),
    ("secret", "Vault"),
    ("secrets", "Vault"),
    ("service", "Consul"),
    ("services", "Consul"),
    ("tree", "Consul"),
    ("byMeta", "Consul"),
];

/// Functions that run programs or write files: they exist only to be refused.
const REFUSED: [&str; 2] = ["plugin", "writeToFile"];

/// The tables of Go's own functions, of which [`TABLES`] has more.
const OF_GO: [&[Function]; 2] = [builtin::FUNCTIONS, compare::FUNCTIONS];

/// The function of a name.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    TABLES.iter().flat_map(|table| table.iter()).find(|f| f.name == name)
}

/// Whether a template may use a function.
pub(crate) fn check(name: &str, options: &Options) -> Result<(), Failure> {
    if options.functions == Functions::OfGo {
        let known = OF_GO.iter().any(|table| table.iter().any(|function| function.name == name));
        return if known { Ok(()) } else { Err(Failure::UnknownFunction(name.into())) };
    }
    if options.denied.contains(name) || REFUSED.contains(&name) {
        return Err(Failure::Denied(name.into()));
    }
    if find(name).is_some() {
        return Ok(());
    }
    match UNSUPPORTED.iter().find(|(n, _)| *n == name) {
        Some((_, system)) => Err(Failure::Unsupported { function: name.into(), system }),
        None => Err(Failure::UnknownFunction(name.into())),
    }
}

/// Arguments by type.
trait Args {
    fn at(&self, index: usize) -> &Value;
    fn text(&self, index: usize) -> Result<&str, Failure>;
    fn int(&self, index: usize) -> Result<i64, Failure>;
    fn items(&self, index: usize) -> Result<&[Value], Failure>;
    fn map(&self, index: usize) -> Result<&crate::value::Map, Failure>;
}

fn wrong(value: &Value, expected: &'static str) -> Failure {
    Failure::Type { expected, got: value.type_name() }
}

impl Args for [Value] {
    fn at(&self, index: usize) -> &Value {
        self.get(index).unwrap_or(&Value::Missing)
    }

    fn text(&self, index: usize) -> Result<&str, Failure> {
        let value = self.at(index);
        value.as_text().ok_or_else(|| wrong(value, "string"))
    }

    fn int(&self, index: usize) -> Result<i64, Failure> {
        match self.at(index) {
            Value::Int(n) => Ok(*n),
            Value::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => Ok(*f as i64),
            other => Err(wrong(other, "int")),
        }
    }

    fn items(&self, index: usize) -> Result<&[Value], Failure> {
        match self.at(index) {
            Value::List(list) => Ok(list.items()),
            Value::Missing => Ok(&[]),
            other => Err(wrong(other, "[]interface {}")),
        }
    }

    fn map(&self, index: usize) -> Result<&crate::value::Map, Failure> {
        let value = self.at(index);
        value.as_map().ok_or_else(|| wrong(value, "map[string]interface {}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_that_of_one_function() {
        let mut names: Vec<_> = TABLES.iter().flat_map(|table| table.iter()).map(|f| f.name).collect();
        names.extend(UNSUPPORTED.iter().map(|(name, _)| *name));
        names.extend(REFUSED);
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
