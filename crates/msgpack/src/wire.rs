//! MessagePack on the wire: the marker of a value, and its end (`docs/spec/snapshot-archive.md §7`).

/// Containers in one another, at most.
pub const MAX_DEPTH: usize = 1024;

/// The marker of a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Head {
    /// nil
    Nil,
    /// A boolean.
    Bool(bool),
    /// A signed integer.
    Signed(i64),
    /// An unsigned integer.
    Unsigned(u64),
    /// A float of either width.
    Float(f64),
    /// Text or bytes, so many of them.
    Raw(usize),
    /// A list of so many values.
    Array(usize),
    /// So many keys and values.
    Map(usize),
    /// A time in the form of an extension, so many bytes.
    Time(usize),
}

/// Reads what a value begins with and how many bytes that takes: `None` where the input ends within it, an error for a
/// byte that begins no value known here.
///
/// # Errors
/// That byte.
#[inline]
pub fn head(input: &[u8]) -> Result<Option<(Head, usize)>, u8> {
    let Some(&first) = input.first() else { return Ok(None) };
    let small = |mask: u8| usize::from(first & mask);
    Ok(match first {
        0x00..=0x7f => Some((Head::Signed(i64::from(first)), 1)),
        0x80..=0x8f => Some((Head::Map(small(0x0f)), 1)),
        0x90..=0x9f => Some((Head::Array(small(0x0f)), 1)),
        0xa0..=0xbf => Some((Head::Raw(small(0x1f)), 1)),
        0xe0..=0xff => Some((Head::Signed(i64::from(i8::from_be_bytes([first]))), 1)),
        0xc0 => Some((Head::Nil, 1)),
        0xc2 | 0xc3 => Some((Head::Bool(first == 0xc3), 1)),
        0xd9 | 0xc4 => length::<1>(input, Head::Raw),
        0xda | 0xc5 => length::<2>(input, Head::Raw),
        0xdb | 0xc6 => length::<4>(input, Head::Raw),
        0xdc => length::<2>(input, Head::Array),
        0xdd => length::<4>(input, Head::Array),
        0xde => length::<2>(input, Head::Map),
        0xdf => length::<4>(input, Head::Map),
        0xca => bytes(input).map(|b| (Head::Float(f64::from(f32::from_be_bytes(b))), 5)),
        0xcb => bytes(input).map(|b| (Head::Float(f64::from_be_bytes(b)), 9)),
        0xcc => bytes(input).map(|[b]| (Head::Unsigned(u64::from(b)), 2)),
        0xcd => bytes(input).map(|b| (Head::Unsigned(u64::from(u16::from_be_bytes(b))), 3)),
        0xce => bytes(input).map(|b| (Head::Unsigned(u64::from(u32::from_be_bytes(b))), 5)),
        0xcf => bytes(input).map(|b| (Head::Unsigned(u64::from_be_bytes(b)), 9)),
        0xd0 => bytes(input).map(|b| (Head::Signed(i64::from(i8::from_be_bytes(b))), 2)),
        0xd1 => bytes(input).map(|b| (Head::Signed(i64::from(i16::from_be_bytes(b))), 3)),
        0xd2 => bytes(input).map(|b| (Head::Signed(i64::from(i32::from_be_bytes(b))), 5)),
        0xd3 => bytes(input).map(|b| (Head::Signed(i64::from_be_bytes(b)), 9)),
        0xd6 | 0xd7 => extension(first, input.get(1), if first == 0xd6 { 4 } else { 8 }, 2)?,
        0xc7 => match input.get(1) {
            None => None,
            Some(12) => extension(first, input.get(2), 12, 3)?,
            Some(_) => return Err(first),
        },
        0xc1 | 0xc8 | 0xc9 | 0xd4 | 0xd5 | 0xd8 => return Err(first),
    })
}

/// The bytes after the first one.
fn bytes<const N: usize>(input: &[u8]) -> Option<[u8; N]> {
    input.get(1..=N)?.try_into().ok()
}

/// A length of N bytes after the first one.
fn length<const N: usize>(input: &[u8], kind: fn(usize) -> Head) -> Option<(Head, usize)> {
    let n = bytes::<N>(input)?.iter().fold(0, |n, b| n << 8 | usize::from(*b));
    Some((kind(n), N + 1))
}

/// The only extension there may be is the time.
fn extension(first: u8, kind: Option<&u8>, size: usize, head: usize) -> Result<Option<(Head, usize)>, u8> {
    match kind {
        None => Ok(None),
        Some(0xff) => Ok(Some((Head::Time(size), head))),
        Some(_) => Err(first),
    }
}

/// Why a value has no end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// A byte that begins no value.
    Byte(u8),
    /// Too many containers in one another.
    TooDeep,
    /// A length beyond the end of the input.
    TooLong(usize),
}

/// Looks for the end of one value, without recursion and in steps: as more input arrives it goes on where it was.
#[derive(Debug, Default)]
pub struct Extent {
    /// How far it is.
    position: usize,
    /// Values still to come in each open container.
    open: Vec<usize>,
    begun: bool,
}

impl Extent {
    /// How far it is: where the trouble is after an error.
    pub fn position(&self) -> usize {
        self.position
    }

    /// The end of the value that `input` begins with, `None` if it lies further. `left` is how many bytes there are in
    /// all, those not arrived yet included.
    ///
    /// # Errors
    /// The value has no end, or none within `left` bytes.
    pub fn advance(&mut self, input: &[u8], left: u64) -> Result<Option<usize>, Malformed> {
        let fits = |start: usize, n: usize| (start as u64).checked_add(n as u64).is_some_and(|end| end <= left);
        loop {
            while self.open.last() == Some(&0) {
                self.open.pop();
            }
            if self.begun && self.open.is_empty() {
                return Ok(Some(self.position));
            }
            let rest = input.get(self.position..).unwrap_or_default();
            let Some((head, size)) = head(rest).map_err(Malformed::Byte)? else { return Ok(None) };
            let after = self.position + size;
            let (end, values) = match head {
                Head::Raw(n) | Head::Time(n) => {
                    if !fits(after, n) {
                        return Err(Malformed::TooLong(n));
                    }
                    if input.len() - after < n {
                        return Ok(None);
                    }
                    (after + n, 0)
                }
                // Each value takes a byte at least.
                Head::Array(n) if !fits(after, n) => return Err(Malformed::TooLong(n)),
                Head::Map(n) if !fits(after, n.saturating_mul(2)) => return Err(Malformed::TooLong(n)),
                Head::Array(n) => (after, n),
                Head::Map(n) => (after, n * 2),
                _ => (after, 0),
            };
            let container = matches!(head, Head::Array(_) | Head::Map(_));
            if container && self.open.len() >= MAX_DEPTH {
                return Err(Malformed::TooDeep);
            }
            self.position = end;
            self.begun = true;
            if let Some(values) = self.open.last_mut() {
                *values -= 1;
            }
            if container {
                self.open.push(values);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(input: &[u8]) -> Result<Option<usize>, Malformed> {
        Extent::default().advance(input, input.len() as u64)
    }

    /// The worked examples of `docs/spec/snapshot-archive.md §16`, and the limits of each form.
    #[test]
    fn heads() {
        for (bytes, want) in [
            (&[0x7f][..], Head::Signed(127)),
            (&[0xd1, 0, 0x80], Head::Signed(128)),
            (&[0xcc, 0x80], Head::Unsigned(128)),
            (&[0xff], Head::Signed(-1)),
            (&[0xd0, 0x80], Head::Signed(-128)),
            (&[0xd2, 0x80, 0, 0, 0], Head::Signed(i64::from(i32::MIN))),
            (&[0xd3, 0, 0, 0x4e, 0x94, 0x91, 0x4f, 0, 0], Head::Signed(86_400_000_000_000)),
            (&[0xcd, 1, 0x2c], Head::Unsigned(300)),
            (&[0xcf, 255, 255, 255, 255, 255, 255, 255, 255], Head::Unsigned(u64::MAX)),
            (&[0xcb, 0x40, 0x45, 0, 0, 0, 0, 0, 0], Head::Float(42.0)),
            (&[0xca, 0x42, 0x28, 0, 0], Head::Float(42.0)),
            (&[0xda, 1, 0], Head::Raw(256)),
            (&[0xc4, 7], Head::Raw(7)),
            (&[0xdf, 0, 1, 0, 0], Head::Map(65536)),
            (&[0xd6, 0xff], Head::Time(4)),
            (&[0xc7, 12, 0xff], Head::Time(12)),
        ] {
            assert_eq!(head(bytes), Ok(Some((want, bytes.len()))), "{bytes:x?}");
            assert_eq!(head(&bytes[..bytes.len() - 1]), Ok(None), "{bytes:x?} cut");
        }
        for bytes in [&[0xc1][..], &[0xc8], &[0xd6, 1], &[0xc7, 8], &[0xc7, 12, 0], &[0xd8]] {
            assert_eq!(head(bytes), Err(bytes[0]));
        }
    }

    #[test]
    fn ends() {
        assert_eq!(end(&[0x82, 0xa1, b'k', 0x91, 0xc0, 0xa0, 0x80, 0xff]), Ok(Some(7)));
        assert_eq!(end(&[0x81, 0xa1, b'k']), Ok(None));
        assert_eq!(end(&[0xdd, 255, 255, 255, 255]), Err(Malformed::TooLong(u32::MAX as usize)));
        assert_eq!(end(&[0xdb, 0, 0, 0, 2, b'a']), Err(Malformed::TooLong(2)));
        assert_eq!(end(&[0x91, 0xc1]), Err(Malformed::Byte(0xc1)));
        let nested = |n: usize| [vec![0x91; n], vec![0xc0]].concat();
        assert_eq!(end(&nested(MAX_DEPTH)), Ok(Some(MAX_DEPTH + 1)));
        assert_eq!(end(&nested(MAX_DEPTH + 1)), Err(Malformed::TooDeep));
    }

    #[test]
    fn it_goes_on_where_it_was() {
        let value = [0x82, 0xa3, b'a', b'b', b'c', 0xcd, 1, 0x2c, 0xa1, b'k', 0x92, 0xc3, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0];
        let mut extent = Extent::default();
        for n in 0..value.len() {
            assert_eq!(extent.advance(&value[..n], value.len() as u64), Ok(None));
        }
        assert_eq!(extent.advance(&value, value.len() as u64), Ok(Some(value.len())));
    }
}
