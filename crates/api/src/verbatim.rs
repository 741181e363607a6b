//! Objects that are printed as they came, and read by their types.

use std::ops::Deref;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object as the API sent it, with the typed form of the members that are read.
///
/// It is written as it came: with the members that the type does not know, and without those that the API left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Verbatim<T> {
    row: T,
    /// What the API sent.
    pub json: Value,
}

impl<T> Deref for Verbatim<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.row
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Verbatim<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let row = super::json::from_value(&json).map_err(D::Error::custom)?;
        Ok(Verbatim { row, json })
    }
}

impl<T> Serialize for Verbatim<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::RaftServer;

    #[test]
    fn unknown_members_survive_and_absent_ones_stay_absent() {
        let text = r#"{"ID":"a","New":[1]}"#;
        let server: Verbatim<RaftServer> = serde_json::from_str(text).expect("a server");
        assert_eq!((server.id.as_str(), server.voter), ("a", false));
        assert_eq!(serde_json::to_string(&server).expect("JSON"), text);
    }

    #[test]
    fn the_error_names_the_member() {
        let read = serde_json::from_str::<Verbatim<RaftServer>>(r#"{"ID":7}"#);
        let error = read.expect_err("no text").to_string();
        assert!(error.starts_with("ID: invalid type"), "{error}");
    }
}
