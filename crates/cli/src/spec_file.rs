//! Specification files of node pools, namespaces, variables and volumes.

use std::fmt::Display;
use std::io::Read;

use serde_json::{Map, Value};

use super::context::Environment;
use super::error::{CommandError, CommandResult};
use super::job_file::cause;
use encamp_jobspec::parse::{ParseError, parse_free};

/// The maximum file size in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Reads a file; `-` is standard input.
pub fn read(path: &str, env: &Environment) -> CommandResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let limited = |from: &mut dyn Read, bytes: &mut Vec<u8>| from.take(MAX_FILE).read_to_end(bytes).map(drop);
    let done = if path == "-" {
        limited(&mut std::io::stdin().lock(), &mut bytes)
    } else {
        std::fs::File::open(env.directory.join(path)).and_then(|mut file| limited(&mut file, &mut bytes))
    };
    let failed = |why: &dyn Display| CommandError::new(format!("Failed to read {path:?}: {why}"));
    done.map_err(|e| failed(&cause(&e)))?;
    if bytes.len() as u64 >= MAX_FILE {
        return Err(failed(&format_args!("it has more than {MAX_FILE} bytes")));
    }
    Ok(bytes)
}

/// An error about a specification that is not valid.
#[derive(Debug, thiserror::Error)]
pub enum SpecError {
    /// It is not HCL.
    #[error(transparent)]
    Hcl(#[from] ParseError),
    /// It is not JSON, or not of the right shape.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A member has the wrong type.
    #[error("{name} must be {wanted}")]
    Type {
        /// The name of the member.
        name: String,
        /// The right type.
        wanted: &'static str,
    },
    /// A member has a value that is not valid.
    #[error("{name}: {reason}")]
    Value {
        /// The name of the member.
        name: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// A block is missing.
    #[error("the {0} block is missing")]
    Missing(&'static str),
    /// A block that may only be given once is given more often.
    #[error("only one {0} block is allowed")]
    Repeated(String),
    /// A block has no label, or several.
    #[error("{0} needs exactly one label, its name")]
    Label(String),
    /// A member is unknown.
    #[error("invalid key {key:?}: known are {known}")]
    UnknownKey {
        /// The member.
        key: String,
        /// All known members, with commas between them.
        known: String,
    },
}

impl SpecError {
    fn wrong_type(name: &str, wanted: &'static str) -> SpecError {
        SpecError::Type { name: name.into(), wanted }
    }
}

/// A specification: attributes and blocks by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec(Map<String, Value>);

impl Spec {
    /// Reads HCL. Blocks of the same kind make a list.
    pub fn hcl(bytes: &[u8], name: &str) -> Result<Spec, SpecError> {
        Ok(Spec(parse_free(bytes, name)?))
    }

    /// The specification with these members: attributes, and blocks of the same kind as a list.
    pub fn of(members: Map<String, Value>) -> Spec {
        Spec(members)
    }

    /// Returns a string attribute; an error if it has another type.
    pub fn text(&self, name: &str) -> Result<Option<String>, SpecError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(n)) => Ok(Some(n.to_string())),
            Some(Value::Bool(b)) => Ok(Some(b.to_string())),
            Some(_) => Err(SpecError::wrong_type(name, "a text")),
        }
    }

    /// Returns a boolean attribute; an error if it has another type.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, SpecError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(b)) => Ok(Some(*b)),
            Some(_) => Err(SpecError::wrong_type(name, "true or false")),
        }
    }

    /// Returns an integer attribute; an error if it has another type.
    pub fn number(&self, name: &str) -> Result<Option<i64>, SpecError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_i64() {
                Some(n) => Ok(Some(n)),
                None => Err(SpecError::wrong_type(name, "a whole number")),
            },
        }
    }

    /// Returns a list of strings; an error if it has another type.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, SpecError> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => {
                let texts: Option<Vec<String>> = items.iter().map(|i| i.as_str().map(str::to_string)).collect();
                texts.map(Some).ok_or_else(|| SpecError::wrong_type(name, "a list of texts"))
            }
            Some(_) => Err(SpecError::wrong_type(name, "a list of texts")),
        }
    }

    /// The only block of a kind, written as a block or as an attribute with an object.
    pub fn block(&self, name: &str) -> Result<Option<Spec>, SpecError> {
        let mut blocks = self.blocks(name)?;
        if blocks.len() > 1 {
            return Err(SpecError::Repeated(name.into()));
        }
        Ok(blocks.pop())
    }

    /// All blocks of a kind.
    pub fn blocks(&self, name: &str) -> Result<Vec<Spec>, SpecError> {
        let of = |value: &Value| match value {
            Value::Object(map) => Ok(Spec(map.clone())),
            _ => Err(SpecError::wrong_type(name, "a block")),
        };
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(of).collect(),
            Some(value) => Ok(vec![of(value)?]),
        }
    }

    /// The only block of a kind that has a label: the label and the block.
    pub fn labelled(&self, name: &str) -> Result<Option<(String, Spec)>, SpecError> {
        let Some(block) = self.block(name)? else { return Ok(None) };
        let labels: Vec<String> = block.0.keys().cloned().collect();
        match labels.as_slice() {
            [label] => Ok(Some((label.clone(), block.block(label)?.unwrap_or_default()))),
            _ => Err(SpecError::Label(name.into())),
        }
    }

    /// A block of free keys with texts, as an object of the API.
    pub fn text_map(&self, name: &str) -> Result<Option<Map<String, Value>>, SpecError> {
        let Some(block) = self.block(name)? else { return Ok(None) };
        let keys: Vec<String> = block.0.keys().cloned().collect();
        let pairs = keys.into_iter().map(|key| {
            let text = block.text(&key)?.unwrap_or_default();
            Ok((key, Value::String(text)))
        });
        pairs.collect::<Result<_, SpecError>>().map(Some)
    }

    /// Returns an error that names the first unknown member.
    pub fn only(&self, known: &[&str]) -> Result<(), SpecError> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(SpecError::UnknownKey { key: key.clone(), known: known.join(", ") }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_and_blocks_are_found_by_name() {
        let text = b"node_pool \"gpu\" {\n  description = \"d\"\n  meta {\n    rack = \"r9\"\n    n = 3\n  }\n}\n";
        let (name, pool) = Spec::hcl(text, "x.hcl").unwrap().labelled("node_pool").unwrap().unwrap();
        assert_eq!((name.as_str(), pool.text("description").unwrap().as_deref()), ("gpu", Some("d")));
        let meta = pool.text_map("meta").unwrap().unwrap();
        assert_eq!(Value::Object(meta), serde_json::json!({"rack": "r9", "n": "3"}));
        assert!(pool.only(&["description"]).unwrap_err().to_string().contains("\"meta\""));
        assert!(pool.text("meta").is_err());
    }

    #[test]
    fn values_of_the_wrong_kind_and_broken_files_are_errors() {
        let spec = Spec::hcl(b"a = [\"x\"]\nb = true\nc = 3\nd = { k = \"v\" }\n", "x").unwrap();
        assert_eq!(spec.texts("a").unwrap().unwrap(), ["x"]);
        assert_eq!((spec.bool("b").unwrap(), spec.number("c").unwrap()), (Some(true), Some(3)));
        assert_eq!(spec.text_map("d").unwrap().unwrap().len(), 1);
        assert!(spec.bool("c").is_err() && spec.number("b").is_err() && spec.texts("b").is_err());
        assert_eq!((spec.text("none").unwrap(), spec.block("none").unwrap()), (None, None));
        assert!(Spec::hcl(b"a = ", "x.hcl").unwrap_err().to_string().contains("x.hcl:1"));
    }
}
