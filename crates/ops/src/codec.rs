//! The encoding of log entries and snapshots: MessagePack with named fields, values as in JSON.

use std::io::{Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Encodes a value.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, String> {
    let mut out = Vec::with_capacity(256);
    encode_to(value, &mut out)?;
    Ok(out)
}

/// Encodes a value behind what was written before.
pub fn encode_to<T: Serialize>(value: &T, out: &mut impl Write) -> Result<(), String> {
    let mut s = rmp_serde::Serializer::new(out).with_struct_map().with_human_readable();
    value.serialize(&mut s).map_err(|e| e.to_string())
}

/// Decodes a value.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    let mut d = rmp_serde::Deserializer::from_read_ref(bytes).with_human_readable();
    T::deserialize(&mut d).map_err(|e| e.to_string())
}

/// Decodes the next value.
pub fn decode_from<T: DeserializeOwned>(from: impl Read) -> Result<T, String> {
    let mut d = rmp_serde::Deserializer::new(from).with_human_readable();
    T::deserialize(&mut d).map_err(|e| e.to_string())
}
