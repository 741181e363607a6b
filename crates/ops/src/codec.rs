//! The encoding of log entries, snapshots and calls between agents: MessagePack with named fields, values as in JSON.

use std::error::Error;
use std::fmt;
use std::io::{Read, Write};

use encamp_model::with_secrets;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Why a value could not be encoded or decoded.
#[derive(Debug)]
pub enum CodecError {
    /// The value has no encoding, or the encoding could not be written.
    Encode(rmp_serde::encode::Error),
    /// The bytes could not be read, or are not the encoding of such a value.
    Decode(rmp_serde::decode::Error),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodecError::Encode(e) => e.fmt(f),
            CodecError::Decode(e) => e.fmt(f),
        }
    }
}

/// The text is that of the wrapped error, so the source is that error's source.
impl Error for CodecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CodecError::Encode(e) => e.source(),
            CodecError::Decode(e) => e.source(),
        }
    }
}

/// Encodes a value for the log or a snapshot, with its secrets.
///
/// # Errors
/// [`CodecError::Encode`].
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::with_capacity(256);
    encode_to(value, &mut out)?;
    Ok(out)
}

/// As [`encode`], behind what was written before.
///
/// # Errors
/// [`CodecError::Encode`].
pub fn encode_to<T: Serialize>(value: &T, out: &mut impl Write) -> Result<(), CodecError> {
    with_secrets(|| write(value, out))
}

/// Encodes a value that is sent to another agent, without secrets.
///
/// # Errors
/// [`CodecError::Encode`]; also for a secret that must not be left out.
pub fn encode_without_secrets<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::with_capacity(256);
    write(value, &mut out)?;
    Ok(out)
}

fn write<T: Serialize>(value: &T, out: &mut impl Write) -> Result<(), CodecError> {
    let mut s = rmp_serde::Serializer::new(out).with_struct_map().with_human_readable();
    value.serialize(&mut s).map_err(CodecError::Encode)
}

/// Decodes a value.
///
/// # Errors
/// [`CodecError::Decode`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let mut d = rmp_serde::Deserializer::from_read_ref(bytes).with_human_readable();
    T::deserialize(&mut d).map_err(CodecError::Decode)
}

/// Decodes the next value.
///
/// # Errors
/// [`CodecError::Decode`].
pub fn decode_from<T: DeserializeOwned>(from: impl Read) -> Result<T, CodecError> {
    let mut d = rmp_serde::Deserializer::new(from).with_human_readable();
    T::deserialize(&mut d).map_err(CodecError::Decode)
}
