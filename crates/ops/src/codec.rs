//! The encoding of log entries, snapshots and calls between agents: MessagePack with named fields, values as in JSON.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

use encamp_model::with_secrets;
use encamp_msgpack::wire::{Extent, Malformed};
use encamp_msgpack::{Profile, ValueError};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Operation;

/// Why a value could not be encoded or decoded.
#[derive(Debug)]
pub enum CodecError {
    /// The value has no encoding.
    Encode(rmp_serde::encode::Error),
    /// The encoding could not be written.
    Write(io::Error),
    /// The bytes are not the encoding of such a value.
    Decode(ValueError),
    /// The bytes could not be read.
    Read(io::Error),
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodecError::Encode(e) => e.fmt(f),
            CodecError::Decode(e) if e.path().is_empty() => e.fmt(f),
            CodecError::Decode(e) => write!(f, "{}: {e}", e.path()),
            CodecError::Read(e) | CodecError::Write(e) => e.fmt(f),
        }
    }
}

/// The text is that of the wrapped error, so the source is that error's source.
impl Error for CodecError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            CodecError::Encode(e) => e.source(),
            CodecError::Decode(e) => e.source(),
            CodecError::Read(e) | CodecError::Write(e) => e.source(),
        }
    }
}

/// Encodes a value for the log or a snapshot, with its secrets.
///
/// # Errors
/// [`CodecError::Encode`].
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    with_secrets(|| encode_without_secrets(value))
}

/// As [`encode`], and writes the encoding.
///
/// # Errors
/// [`CodecError::Encode`]; also if it cannot be written.
pub fn encode_to<T: Serialize>(value: &T, out: &mut dyn Write) -> Result<(), CodecError> {
    out.write_all(&encode(value)?).map_err(CodecError::Write)
}

/// As [`encode`], behind what `out` holds. After an error, `out` may hold a part of the encoding.
///
/// # Errors
/// [`CodecError::Encode`].
pub fn encode_onto<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    with_secrets(|| write_value(value, out))
}

/// Encodes the operations of a log entry. The encoding of everything that they can hold is compiled here, once, not in
/// each crate that needs it.
///
/// # Errors
/// [`CodecError::Encode`].
pub fn encode_operations(operations: &[Arc<Operation>]) -> Result<Vec<u8>, CodecError> {
    encode(&operations)
}

/// Decodes the operations of a log entry; compiled once, as [`encode_operations`].
///
/// # Errors
/// [`CodecError::Decode`].
pub fn decode_operations(bytes: &[u8]) -> Result<Vec<Arc<Operation>>, CodecError> {
    decode(bytes)
}

/// Encodes a value that is sent to another agent, without secrets.
///
/// # Errors
/// [`CodecError::Encode`]; also for a secret that must not be left out.
pub fn encode_without_secrets<T: Serialize>(value: &T) -> Result<Vec<u8>, CodecError> {
    let mut out = Vec::with_capacity(256);
    write_value(value, &mut out)?;
    Ok(out)
}

fn write_value<T: Serialize>(value: &T, out: &mut Vec<u8>) -> Result<(), CodecError> {
    let mut s = rmp_serde::Serializer::new(out).with_struct_map().with_human_readable();
    value.serialize(&mut s).map_err(CodecError::Encode)
}

/// Decodes a value.
///
/// # Errors
/// [`CodecError::Decode`].
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    encamp_msgpack::decode(bytes, Profile::Own).map_err(CodecError::Decode)
}

/// Decodes the next value of a stream, and reads no further than its end.
///
/// # Errors
/// [`CodecError::Decode`], [`CodecError::Read`]; also if the stream ends within the value.
pub fn decode_from<T: DeserializeOwned>(from: &mut dyn BufRead) -> Result<T, CodecError> {
    let mut extent = Extent::default();
    // What was read of a value that the buffer ends within.
    let mut value = Vec::new();
    loop {
        let buffered = from.fill_buf().map_err(CodecError::Read)?;
        if buffered.is_empty() {
            return Err(CodecError::Read(io::ErrorKind::UnexpectedEof.into()));
        }
        let (size, before) = (buffered.len(), value.len());
        let input = if before == 0 {
            buffered
        } else {
            value.extend_from_slice(buffered);
            &value
        };
        match extent.advance(input, u64::MAX).map_err(malformed)? {
            Some(end) => {
                let decoded = decode(input.get(..end).unwrap_or_default());
                from.consume(end.saturating_sub(before));
                return decoded;
            }
            None if before == 0 => value.extend_from_slice(buffered),
            None => {}
        }
        from.consume(size);
    }
}

fn malformed(e: Malformed) -> CodecError {
    let text = match e {
        Malformed::Byte(byte) => format!("byte 0x{byte:02x} is not a value"),
        Malformed::TooDeep => "too many containers in one another".into(),
        Malformed::TooLong(size) => format!("a value of {size} bytes"),
    };
    CodecError::Read(io::Error::new(io::ErrorKind::InvalidData, text))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Unit;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    struct Wrapped(i64);

    /// Every form that serde can write.
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    enum Form {
        Unit,
        UnitStruct(Unit),
        Bool(bool),
        Small(i8),
        Signed(i64),
        Unsigned(u64),
        Float(f64),
        Text(String),
        Letter(char),
        Maybe(Option<u32>),
        Pair(u8, Wrapped),
        Named { a: Vec<Form>, b: BTreeMap<String, Form> },
        ByNumber(BTreeMap<i64, bool>),
        Free(Value),
        Outcome(Result<String, u8>),
    }

    fn forms() -> Vec<Form> {
        use Form::*;
        let leaves = [0, 1, 127, 128, 255, 256, 65_535, 65_536, i64::MAX, -1, -32, -33, -128, -129, -32_769, i64::MIN];
        let mut all: Vec<Form> = leaves.into_iter().map(Signed).collect();
        all.extend([0, 127, 200, 40_000, 3_000_000_000, u64::MAX].map(Unsigned));
        all.extend([0, 31, 32, 255, 256, 65_536].map(|n| Text("é".repeat(n))));
        all.extend([Unit, UnitStruct(self::Unit), Bool(true), Bool(false), Small(-7), Float(1.5), Letter('ß')]);
        all.extend([Maybe(None), Maybe(Some(7)), Pair(3, Wrapped(-4)), Outcome(Ok("yes".into())), Outcome(Err(9))]);
        all.push(ByNumber([(-70_000, true), (3, false)].into()));
        all.push(Free(json!({"a": [null, true, -1, 18_446_744_073_709_551_615_u64, 2.5, "t", {}]})));
        all.push(Named { a: all.clone(), b: [("key".to_string(), Unit)].into() });
        all
    }

    #[test]
    fn what_is_written_is_read() {
        for form in forms() {
            let bytes = encode(&form).unwrap();
            assert_eq!(decode::<Form>(&bytes).unwrap(), form);
            for end in 0..bytes.len().min(300) {
                assert!(decode::<Form>(&bytes[..end]).is_err(), "{form:?} cut at {end}");
            }
        }
    }

    #[test]
    fn streams_are_read_value_by_value() {
        let forms = forms();
        let mut bytes = Vec::new();
        forms.iter().for_each(|form| encode_to(form, &mut bytes).unwrap());
        for capacity in [1, 2, 7, 64, 1 << 20] {
            let mut from = io::BufReader::with_capacity(capacity, bytes.as_slice());
            for form in &forms {
                assert_eq!(decode_from::<Form>(&mut from).unwrap(), *form, "{capacity}");
            }
            assert!(matches!(decode_from::<Form>(&mut from), Err(CodecError::Read(_))));
        }
    }

    #[test]
    fn nil_and_other_types_are_refused() {
        let refused = |value: Value| decode::<BTreeMap<String, u8>>(&encode(&value).unwrap()).unwrap_err().to_string();
        assert_eq!(refused(json!(null)), "nil where a map is expected");
        assert_eq!(refused(json!({"secret": null})), "secret: nil where u8 is expected");
        assert_eq!(refused(json!({"secret": "hush"})), "secret: text where u8 is expected");
        assert_eq!(
            refused(json!({"secret": 256})),
            "secret: an unsigned integer that does not fit where u8 is expected"
        );
        assert!(decode::<String>(&[0xa1, 0xff]).unwrap_err().to_string().contains("UTF-8"));
        let deep = [vec![0x91; 2000], vec![0xc0]].concat();
        assert!(decode::<Value>(&deep).unwrap_err().to_string().ends_with("too many containers in one another"));
        assert!(decode_from::<Value>(&mut deep.as_slice()).is_err());
        assert!(decode_from::<Value>(&mut [0xc1].as_slice()).is_err());
    }
}
