//! Checksums as text.

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(hex(&[0, 0x0f, 0xab]), "000fab");
    }
}
