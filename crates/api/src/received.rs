//! Objects that are printed as they came, and read by their types.

use std::ops::Deref;

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An object as a server sent it, with the typed form of the members that are read.
///
/// It is written as it came: with the members that the type does not know, and without those that the server left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Received<T> {
    /// The members that the type knows.
    pub object: T,
    /// All members.
    pub json: Value,
}

impl<T> Deref for Received<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Received<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(deserializer)?;
        let object = super::json::from_value(&json).map_err(D::Error::custom)?;
        Ok(Received { object, json })
    }
}

impl<T> Serialize for Received<T> {
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
        let server: Received<RaftServer> = serde_json::from_str(text).expect("a server");
        assert_eq!((server.id.as_str(), server.voter), ("a", false));
        assert_eq!(serde_json::to_string(&server).expect("JSON"), text);
    }

    #[test]
    fn the_error_names_the_member() {
        let read = serde_json::from_str::<Received<RaftServer>>(r#"{"ID":7}"#);
        let error = read.expect_err("no text").to_string();
        assert!(error.starts_with("ID: invalid type"), "{error}");
    }
}
