//! Values that answers, logs and errors must not contain.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, ser};
use subtle::ConstantTimeEq;
use zeroize::Zeroize;

use super::bytes::Bytes;
use super::json::nil;

/// A value that can be secret.
pub trait SecretValue: Zeroize + Default {
    /// The bytes of the value.
    fn as_bytes(&self) -> &[u8];
}

impl SecretValue for String {
    fn as_bytes(&self) -> &[u8] {
        str::as_bytes(self)
    }
}

impl Zeroize for Bytes {
    fn zeroize(&mut self) {
        self.0.zeroize();
    }
}

impl SecretValue for Bytes {
    fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A secret value: a token, a password or a key. `Debug` and `Display` print `<redacted>`, the memory is overwritten
/// when the value is dropped, and comparisons take the same time wherever the values differ.
///
/// [`Serialize`] fails unless it runs within [`with_secrets`]; fields whose answers contain an empty value instead use
/// `#[serde(serialize_with = "secret::blank")]` or `#[serde(skip_serializing_if = "Secret::is_hidden")]`.
#[derive(Clone, Default)]
pub struct Secret<T: SecretValue>(T);

/// A secret text.
pub type SecretString = Secret<String>;
/// Secret bytes, such as a key.
pub type SecretBytes = Secret<Bytes>;

thread_local! {
    /// Whether the current thread is within [`with_secrets`].
    static WRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// Runs a function in which secrets are serialised with their values: the encoding of log entries, snapshots, the
/// node's own state directory, and calls between agents that carry secrets. Nothing else may call it.
pub fn with_secrets<T>(write: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            WRITTEN.set(self.0);
        }
    }
    let _restore = Restore(WRITTEN.replace(true));
    write()
}

/// Serialises a secret as its value within [`with_secrets`], and as the empty value elsewhere.
///
/// # Errors
/// Those of the serializer.
pub fn blank<T: SecretValue + Serialize, S: Serializer>(secret: &Secret<T>, s: S) -> Result<S::Ok, S::Error> {
    if WRITTEN.get() { secret.0.serialize(s) } else { T::default().serialize(s) }
}

/// Maps of secrets by name, serialised as null outside of [`with_secrets`].
pub(crate) mod map {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(map: &BTreeMap<String, SecretString>, s: S) -> Result<S::Ok, S::Error> {
        if WRITTEN.get() { nil::serialize(map, s) } else { s.serialize_none() }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<BTreeMap<String, SecretString>, D::Error> {
        nil::deserialize(d)
    }
}

impl<T: SecretValue> Secret<T> {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.as_bytes().is_empty()
    }

    /// Whether serialising leaves the field out: there is no secret, or its value is not serialised here.
    pub fn is_hidden(&self) -> bool {
        self.is_empty() || !WRITTEN.get()
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.0.as_bytes().len()
    }

    fn same(&self, other: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(other).into()
    }
}

impl Secret<String> {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> SecretString {
        Secret(text.into())
    }

    /// The text, for those who need it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl Secret<Bytes> {
    /// The bytes, for those who need them.
    pub fn expose(&self) -> &[u8] {
        &self.0.0
    }
}

impl<T: SecretValue> Drop for Secret<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: SecretValue> PartialEq for Secret<T> {
    fn eq(&self, other: &Secret<T>) -> bool {
        self.same(other.0.as_bytes())
    }
}

impl<T: SecretValue> Eq for Secret<T> {}

impl PartialEq<str> for Secret<String> {
    fn eq(&self, other: &str) -> bool {
        self.same(other.as_bytes())
    }
}

impl PartialEq<&str> for Secret<String> {
    fn eq(&self, other: &&str) -> bool {
        *self == **other
    }
}

impl From<String> for Secret<String> {
    fn from(text: String) -> SecretString {
        Secret(text)
    }
}

impl From<&str> for Secret<String> {
    fn from(text: &str) -> SecretString {
        Secret(text.into())
    }
}

impl From<Vec<u8>> for Secret<Bytes> {
    fn from(bytes: Vec<u8>) -> SecretBytes {
        Secret(Bytes(bytes))
    }
}

impl From<Bytes> for Secret<Bytes> {
    fn from(bytes: Bytes) -> SecretBytes {
        Secret(bytes)
    }
}

impl<T: SecretValue> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

impl<T: SecretValue> fmt::Display for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

impl<T: SecretValue + Serialize> Serialize for Secret<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.is_empty() || WRITTEN.get() {
            return self.0.serialize(s);
        }
        Err(ser::Error::custom("a secret can't be written here"))
    }
}

impl<'de, T: SecretValue + Deserialize<'de>> Deserialize<'de> for Secret<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Secret<T>, D::Error> {
        T::deserialize(d).map(Secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CsiVolume, Evaluation, Node, WrappedRootKey};

    #[test]
    fn secrets_are_serialised_within_the_scope_alone() {
        let secret = SecretString::new("s3cret");
        assert!(serde_json::to_string(&secret).is_err());
        assert_eq!(with_secrets(|| serde_json::to_string(&secret)).unwrap(), "\"s3cret\"");
        assert!(serde_json::to_string(&secret).is_err(), "the scope has ended");
        let nested = with_secrets(|| {
            with_secrets(|| ());
            serde_json::to_string(&secret)
        });
        assert_eq!(nested.unwrap(), "\"s3cret\"");
        let caught = std::panic::catch_unwind(|| with_secrets::<()>(|| std::panic::resume_unwind(Box::new(()))));
        assert!(caught.is_err() && serde_json::to_string(&secret).is_err(), "a panic ends the scope too");
        assert_eq!(serde_json::to_string(&SecretString::default()).unwrap(), "\"\"");
    }

    #[test]
    fn stored_secrets_round_trip_and_answers_leave_them_out() {
        let node = Node { secret_id: "s3cret".into(), ..Node::default() };
        let eval = Evaluation { leader_acl: "s3cret".into(), ..Evaluation::default() };
        let secrets = [("k".to_string(), "s3cret".into())].into();
        let volume = CsiVolume { secrets, ..CsiVolume::default() };
        let answers = [
            (serde_json::to_string(&node).unwrap(), "\"SecretID\":\"\"", true),
            (serde_json::to_string(&eval).unwrap(), "LeaderACL", false),
            (serde_json::to_string(&volume).unwrap(), "\"Secrets\":null", true),
        ];
        for (answer, part, there) in answers {
            assert!(!answer.contains("s3cret") && answer.contains(part) == there, "{answer}");
        }
        fn stored<T: Serialize + for<'de> Deserialize<'de>>(value: &T) -> T {
            serde_json::from_str(&with_secrets(|| serde_json::to_string(value)).unwrap()).unwrap()
        }
        assert_eq!((stored(&node), stored(&eval), stored(&volume)), (node, eval, volume));
        let key = WrappedRootKey { kek: vec![1, 2].into(), ..WrappedRootKey::default() };
        assert!(serde_json::to_string(&key).is_err() && stored(&key) == key);
    }

    #[test]
    fn secrets_are_not_printed_and_compare_by_value() {
        let secret = SecretString::new("s3cret");
        assert_eq!(format!("{secret} {secret:?} {:?}", SecretBytes::from(vec![7])), "<redacted> <redacted> <redacted>");
        let same = SecretString::from("s3cret");
        assert!(secret == same && secret == "s3cret" && secret != "s3cre" && secret != "S3cret");
        assert_eq!((secret.len(), secret.expose(), secret.is_empty()), (6, "s3cret", false));
    }
}
