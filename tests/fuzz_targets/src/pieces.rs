//! Inputs with several parts: numbers and texts that one after the other are taken from the bytes.

/// The rest of an input.
pub(crate) struct Pieces<'a>(pub &'a [u8]);

impl<'a> Pieces<'a> {
    /// The next byte; 0 at the end.
    pub(crate) fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number in two bytes, little-endian.
    pub(crate) fn number(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// A part with its length in front, as much of it as there is; `None` at the end.
    pub(crate) fn part(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let length = self.number().min(self.0.len());
        let (part, rest) = self.0.split_at(length);
        self.0 = rest;
        Some(part)
    }

    /// One of some values.
    pub(crate) fn choose<T: Copy>(&mut self, values: &[T]) -> Option<T> {
        let number = usize::from(self.byte());
        values.get(number.checked_rem(values.len())?).copied()
    }
}
