//! Reads the values of a task's `config` block. Job files may also give numbers and booleans as strings.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use encamp_model::duration;
use encamp_model::duration::parse_duration;

/// Why a `config` block is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The driver does not know a key.
    #[error("failed to parse config: unsupported argument \"{0}\"")]
    Unsupported(String),
    /// The driver needs a key.
    #[error("failed to parse config: \"{0}\" is required")]
    Missing(&'static str),
    /// A value is of another type.
    #[error("failed to parse config: \"{key}\" has to be {wanted}")]
    Type {
        /// Its key.
        key: String,
        /// The type that it must have.
        wanted: &'static str,
    },
    /// A value is no duration.
    #[error("{key} {text} not a valid duration: {reason}")]
    Duration {
        /// Its key.
        key: String,
        /// The value.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A name is no capability.
    #[error("unknown capability {0:?}")]
    Capability(String),
    /// The agent's configuration does not allow capabilities.
    #[error("driver does not allow the following capabilities: {0}")]
    CapabilitiesDenied(String),
    /// A mode of namespaces is none.
    #[error("{key} must be \"private\" or \"host\", got {value:?}")]
    NamespaceMode {
        /// Its key.
        key: &'static str,
        /// The value.
        value: String,
    },
    /// There is nothing to run.
    #[error("jar_path or class must be specified")]
    NoProgram,
    /// A value is no label with a port.
    #[error("malformed port map: {0:?}")]
    PortMap(String),
    /// A value has the right type, but makes no sense.
    #[error("failed to parse config: \"{key}\": {reason}")]
    Value {
        /// Its key.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl ConfigError {
    /// A value makes no sense.
    pub(crate) fn value(key: &str, reason: impl Into<String>) -> ConfigError {
        ConfigError::Value { key: key.into(), reason: reason.into() }
    }
}

/// A `config` block; the errors name the key.
pub(crate) struct Block<'a>(pub &'a BTreeMap<String, Value>);

impl Block<'_> {
    /// Refuses keys that the driver does not know.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ConfigError> {
        match self.0.keys().find(|k| !known.contains(&k.as_str())) {
            None => Ok(()),
            Some(k) => Err(ConfigError::Unsupported(k.clone())),
        }
    }

    fn wrong(key: &str, wanted: &'static str) -> ConfigError {
        ConfigError::Type { key: key.into(), wanted }
    }

    /// A text; empty if not set.
    pub(crate) fn text(&self, key: &str) -> Result<String, ConfigError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(s)) => Ok(s.clone()),
            Some(Value::Number(n)) => Ok(n.to_string()),
            Some(Value::Bool(b)) => Ok(b.to_string()),
            Some(_) => Err(Self::wrong(key, "a string")),
        }
    }

    /// A text that has to be set.
    pub(crate) fn required(&self, key: &'static str) -> Result<String, ConfigError> {
        Some(self.text(key)?).filter(|text| !text.is_empty()).ok_or(ConfigError::Missing(key))
    }

    /// A list of texts.
    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, ConfigError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items
                .iter()
                .map(|v| match v {
                    Value::String(s) => Ok(s.clone()),
                    Value::Number(n) => Ok(n.to_string()),
                    Value::Bool(b) => Ok(b.to_string()),
                    _ => Err(Self::wrong(key, "a list of strings")),
                })
                .collect(),
            Some(_) => Err(Self::wrong(key, "a list of strings")),
        }
    }

    /// A whole number; none if not set.
    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, ConfigError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(n)) => {
                n.as_i64().or_else(|| whole(n.as_f64()?)).ok_or_else(|| Self::wrong(key, "a number")).map(Some)
            }
            Some(Value::String(s)) => s.parse().map(Some).map_err(|_| Self::wrong(key, "a number")),
            Some(_) => Err(Self::wrong(key, "a number")),
        }
    }

    /// Yes or no; no if not set.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, ConfigError> {
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(b)) => Ok(*b),
            Some(Value::String(s)) => s.parse().map_err(|_| Self::wrong(key, "true or false")),
            Some(_) => Err(Self::wrong(key, "true or false")),
        }
    }

    /// A duration as text; zero if not set.
    pub(crate) fn duration(&self, key: &str) -> Result<Duration, ConfigError> {
        let text = self.text(key)?;
        if text.is_empty() {
            return Ok(Duration::ZERO);
        }
        match parse_duration(&text) {
            Ok(nanos) => Ok(duration::of_nanos(nanos)),
            Err(e) => Err(ConfigError::Duration { key: key.into(), text, reason: e.to_string() }),
        }
    }

    /// An inner block. Job files write blocks as lists of one.
    pub(crate) fn block(&self, key: &str) -> Result<Option<BTreeMap<String, Value>>, ConfigError> {
        let of = |v: &Value| match v {
            Value::Object(o) => Ok(Some(o.iter().map(|(k, v)| (k.clone(), v.clone())).collect())),
            _ => Err(Self::wrong(key, "a block")),
        };
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Array(items)) => items.last().map_or(Ok(None), of),
            Some(v) => of(v),
        }
    }

    /// All inner blocks of a name.
    pub(crate) fn blocks(&self, key: &str) -> Result<Vec<BTreeMap<String, Value>>, ConfigError> {
        let of = |v: &Value| match v {
            Value::Object(o) => Ok(o.iter().map(|(k, v)| (k.clone(), v.clone())).collect()),
            _ => Err(Self::wrong(key, "a list of blocks")),
        };
        match self.0.get(key) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(items)) => items.iter().map(of).collect(),
            Some(v) => Ok(vec![of(v)?]),
        }
    }

    /// Texts by name: a map, or blocks, whose entries are put together.
    pub(crate) fn map(&self, key: &str) -> Result<BTreeMap<String, String>, ConfigError> {
        let wrong = |_| Self::wrong(key, "a map of strings");
        let mut out = BTreeMap::new();
        for block in self.blocks(key).map_err(wrong)? {
            for name in block.keys() {
                out.insert(name.clone(), Block(&block).text(name).map_err(wrong)?);
            }
        }
        Ok(out)
    }

    /// Whether the key is set.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|v| !v.is_null())
    }
}

fn whole(f: f64) -> Option<i64> {
    (f.fract() == 0.0 && f.abs() < 9e15).then_some(f as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_many_shapes() {
        let map: BTreeMap<String, Value> =
            serde_json::from_str(r#"{"a":"1","b":2,"c":["x",3],"d":[{"k":"v"}],"e":"1.5s","f":"true","g":{}}"#)
                .unwrap();
        let b = Block(&map);
        assert_eq!((b.number("a"), b.number("b"), b.number("z")), (Ok(Some(1)), Ok(Some(2)), Ok(None)));
        assert_eq!(b.texts("c").unwrap(), ["x", "3"]);
        assert_eq!(b.block("d").unwrap().unwrap()["k"], "v");
        assert_eq!(b.duration("e"), Ok(Duration::from_millis(1500)));
        assert_eq!((b.flag("f"), b.flag("z"), b.text("b")), (Ok(true), Ok(false), Ok("2".into())));
        assert_eq!(b.duration("c").unwrap_err().to_string(), "failed to parse config: \"c\" has to be a string");
        let wrong = BTreeMap::from([("run_for".to_string(), Value::from("x"))]);
        let error = "run_for x not a valid duration: time: invalid duration \"x\"";
        assert_eq!(Block(&wrong).duration("run_for").unwrap_err().to_string(), error);
        assert!(b.only(&["a"]).is_err() && b.flag("g").is_err());
    }
}
