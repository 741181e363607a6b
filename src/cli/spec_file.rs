//! Specification files of node pools, namespaces, variables and volumes.

use std::io::Read;

use serde_json::{Map, Value};

use super::context::Environment;
use super::job_file::cause;
use encamp_jobspec::parse::parse_free;

/// The maximum file size in bytes.
const MAX_FILE: u64 = 16 << 20;

/// Reads a file; `-` is standard input.
pub fn read(path: &str, env: &Environment) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let limited = |from: &mut dyn Read, bytes: &mut Vec<u8>| from.take(MAX_FILE).read_to_end(bytes).map(drop);
    let done = if path == "-" {
        limited(&mut std::io::stdin().lock(), &mut bytes)
    } else {
        std::fs::File::open(env.directory.join(path)).and_then(|mut file| limited(&mut file, &mut bytes))
    };
    done.map_err(|e| format!("Failed to read {path:?}: {}", cause(&e)))?;
    if bytes.len() as u64 >= MAX_FILE {
        return Err(format!("Failed to read {path:?}: it has more than {MAX_FILE} bytes"));
    }
    Ok(bytes)
}

/// A specification: attributes and blocks by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Spec(Map<String, Value>);

impl Spec {
    /// Reads HCL. Blocks of the same kind make a list.
    pub fn hcl(bytes: &[u8], name: &str) -> Result<Spec, String> {
        parse_free(bytes, name).map(Spec).map_err(|e| e.to_string())
    }

    /// Returns a string attribute; an error if it has another type.
    pub fn text(&self, name: &str) -> Result<Option<String>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(n)) => Ok(Some(n.to_string())),
            Some(Value::Bool(b)) => Ok(Some(b.to_string())),
            Some(_) => Err(format!("{name} must be a text")),
        }
    }

    /// Returns a boolean attribute; an error if it has another type.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(b)) => Ok(Some(*b)),
            Some(_) => Err(format!("{name} must be true or false")),
        }
    }

    /// Returns an integer attribute; an error if it has another type.
    pub fn number(&self, name: &str) -> Result<Option<i64>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_i64().map(Some).ok_or_else(|| format!("{name} must be a whole number")),
        }
    }

    /// Returns a list of strings; an error if it has another type.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => {
                let texts: Option<Vec<String>> = items.iter().map(|i| i.as_str().map(str::to_string)).collect();
                texts.map(Some).ok_or_else(|| format!("{name} must be a list of texts"))
            }
            Some(_) => Err(format!("{name} must be a list of texts")),
        }
    }

    /// The only block of a kind, written as a block or as an attribute with an object.
    pub fn block(&self, name: &str) -> Result<Option<Spec>, String> {
        let mut blocks = self.blocks(name)?;
        if blocks.len() > 1 {
            return Err(format!("only one {name} block is allowed"));
        }
        Ok(blocks.pop())
    }

    /// All blocks of a kind.
    pub fn blocks(&self, name: &str) -> Result<Vec<Spec>, String> {
        let of = |value: &Value| match value {
            Value::Object(map) => Ok(Spec(map.clone())),
            _ => Err(format!("{name} must be a block")),
        };
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(of).collect(),
            Some(value) => Ok(vec![of(value)?]),
        }
    }

    /// The only block of a kind that has a label: the label and the block.
    pub fn labelled(&self, name: &str) -> Result<Option<(String, Spec)>, String> {
        let Some(block) = self.block(name)? else { return Ok(None) };
        let labels: Vec<String> = block.0.keys().cloned().collect();
        match labels.as_slice() {
            [label] => Ok(Some((label.clone(), block.block(label)?.unwrap_or_default()))),
            _ => Err(format!("{name} needs exactly one label, its name")),
        }
    }

    /// A block of free keys with texts, as an object of the API.
    pub fn text_map(&self, name: &str) -> Result<Option<Map<String, Value>>, String> {
        let Some(block) = self.block(name)? else { return Ok(None) };
        let keys: Vec<String> = block.0.keys().cloned().collect();
        let pairs = keys.into_iter().map(|key| {
            let text = block.text(&key)?.unwrap_or_default();
            Ok((key, Value::String(text)))
        });
        pairs.collect::<Result<_, String>>().map(Some)
    }

    /// Returns an error that names the first unknown member.
    pub fn only(&self, known: &[&str]) -> Result<(), String> {
        match self.0.keys().find(|key| !known.contains(&key.as_str())) {
            Some(key) => Err(format!("invalid key {key:?}: known are {}", known.join(", "))),
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
        assert!(pool.only(&["description"]).unwrap_err().contains("\"meta\""));
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
        assert!(Spec::hcl(b"a = ", "x.hcl").unwrap_err().contains("x.hcl:1"));
    }
}
