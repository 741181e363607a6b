//! Computes the memory that a message takes when decoded, before it is decoded: a message of empty maps is a thousand
//! times smaller than its decoded values.

/// The cost of a map or an array: every one may become the largest value of the protocol.
const CONTAINER: usize = 2 << 10;
/// The cost of any other value, besides its bytes.
const VALUE: usize = 48;
/// Deepest nesting. Values of the protocol stay far below.
const DEEPEST: usize = 64;

/// Why a message is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TooCostly {
    /// It would take more than is allowed.
    #[error("the message holds too many values: decoded it would take more than {0} bytes")]
    Memory(usize),
    /// It is nested too deeply.
    #[error("the message is nested more than {DEEPEST} levels deep")]
    Depth,
    /// It is no MessagePack, or ends early.
    #[error("the message is not MessagePack, or ends early")]
    Malformed,
}

/// A value's head.
enum Head {
    /// A value with so many bytes behind its head.
    Value(usize),
    /// So many values follow.
    Holds(usize),
}

struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn take(&mut self, count: usize) -> Result<usize, TooCostly> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(TooCostly::Malformed)?;
        self.0 = rest;
        // Lengths have at most four bytes.
        Ok(taken.iter().take(4).fold(0, |n, b| n << 8 | usize::from(*b)))
    }

    fn head(&mut self) -> Result<Head, TooCostly> {
        let marker = u8::try_from(self.take(1)?).unwrap_or_default();
        Ok(match marker {
            0x00..=0x7f | 0xe0..=0xff | 0xc0 | 0xc2 | 0xc3 => Head::Value(0),
            0x80..=0x8f => Head::Holds(usize::from(marker & 0x0f) * 2),
            0x90..=0x9f => Head::Holds(usize::from(marker & 0x0f)),
            0xa0..=0xbf => Head::Value(usize::from(marker & 0x1f)),
            0xc1 => return Err(TooCostly::Malformed),
            0xc4 | 0xd9 => Head::Value(self.take(1)?),
            0xc5 | 0xda => Head::Value(self.take(2)?),
            0xc6 | 0xdb => Head::Value(self.take(4)?),
            0xc7 => Head::Value(self.take(1)? + 1),
            0xc8 => Head::Value(self.take(2)? + 1),
            0xc9 => Head::Value(self.take(4)?.saturating_add(1)),
            0xcc | 0xd0 => Head::Value(1),
            0xcd | 0xd1 => Head::Value(2),
            0xca | 0xce | 0xd2 => Head::Value(4),
            0xcb | 0xcf | 0xd3 => Head::Value(8),
            0xd4 => Head::Value(2),
            0xd5 => Head::Value(3),
            0xd6 => Head::Value(5),
            0xd7 => Head::Value(9),
            0xd8 => Head::Value(17),
            0xdc => Head::Holds(self.take(2)?),
            0xdd => Head::Holds(self.take(4)?),
            0xde => Head::Holds(self.take(2)? * 2),
            0xdf => Head::Holds(self.take(4)?.saturating_mul(2)),
        })
    }
}

/// An upper bound for what decoding takes, in bytes.
///
/// # Errors
/// More than `most`, too deep, or no message at all.
pub fn of(message: &[u8], most: usize) -> Result<usize, TooCostly> {
    let mut bytes = Bytes(message);
    let mut cost = 0usize;
    // How many values are still to come, of each level that is open.
    let mut open = vec![1usize];
    while let Some(left) = open.last_mut() {
        let Some(rest) = left.checked_sub(1) else {
            open.pop();
            continue;
        };
        *left = rest;
        let more = match bytes.head()? {
            Head::Value(length) => {
                bytes.take(length)?;
                VALUE + length
            }
            // Each value has at least a byte, so that counts can't promise what never comes.
            Head::Holds(count) if count > bytes.0.len() => return Err(TooCostly::Malformed),
            Head::Holds(count) => {
                if open.len() > DEEPEST {
                    return Err(TooCostly::Depth);
                }
                open.push(count);
                CONTAINER
            }
        };
        cost = cost.saturating_add(more);
        if cost > most {
            return Err(TooCostly::Memory(most));
        }
    }
    Ok(cost)
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{Allocation, Node, NodeEvent, ServiceRegistration, TaskEvent, TaskState};
    use encamp_ops::codec;

    #[test]
    fn the_largest_values_of_the_protocol_are_counted_in_full() {
        let sizes = [
            size_of::<Allocation>(),
            size_of::<Node>(),
            size_of::<NodeEvent>(),
            size_of::<ServiceRegistration>(),
            size_of::<TaskState>(),
            size_of::<TaskEvent>(),
        ];
        assert!(sizes.iter().all(|s| *s <= CONTAINER), "{sizes:?}");
    }

    #[test]
    fn all_that_is_encoded_can_be_counted() {
        let values = serde_json::json!({
            "text": ["", "short", "x".repeat(40), "y".repeat(300), "z".repeat(70_000)],
            "numbers": [0, 1, 127, 128, 255, 256, 65_535, 65_536, u64::MAX, -1, -32, -33, -129, -32_769, i64::MIN, 1.5],
            "others": [null, true, false, {}, []],
            "many": vec![serde_json::json!({"a": 1}); 20],
            "more": vec![7; 70_000],
        });
        let encoded = codec::encode(&values).expect("encoded");
        let cost = of(&encoded, usize::MAX).expect("counted");
        assert!(cost > encoded.len() && cost < 5 << 20, "{cost} for {}", encoded.len());
        let bytes = codec::encode(&serde_bytes_like()).expect("encoded");
        assert!(of(&bytes, usize::MAX).is_ok());
        for end in 0..encoded.len().min(500) {
            assert_eq!(of(&encoded[..end], usize::MAX), Err(TooCostly::Malformed), "{end}");
        }
    }

    fn serde_bytes_like() -> encamp_model::Bytes {
        encamp_model::Bytes(vec![1; 300])
    }

    #[test]
    fn empty_maps_cost_what_they_become() {
        let count = 1_000_000u32;
        let mut message = vec![0xdd];
        message.extend_from_slice(&count.to_be_bytes());
        message.resize(message.len() + count as usize, 0x80);
        assert_eq!(of(&message, 64 << 20), Err(TooCostly::Memory(64 << 20)));
        assert_eq!(of(&message, usize::MAX), Ok((count as usize + 1) * CONTAINER));
    }

    #[test]
    fn hostile_shapes_end_in_errors() {
        assert_eq!(of(&[0x91; 100_000], usize::MAX), Err(TooCostly::Depth));
        assert_eq!(of(&[0xdf, 0xff, 0xff, 0xff, 0xff], usize::MAX), Err(TooCostly::Malformed));
        assert_eq!(of(&[0xc6, 0xff, 0xff, 0xff, 0xff], usize::MAX), Err(TooCostly::Malformed));
        assert_eq!(of(&[0xc1], usize::MAX), Err(TooCostly::Malformed));
        assert_eq!(of(&[], usize::MAX), Err(TooCostly::Malformed));
    }
}
