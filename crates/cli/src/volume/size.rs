//! Sizes in specifications: `1048576`, `50MB` (decimal), `10GiB` (binary).

/// The units, as they are written in small letters, and their bytes.
const UNITS: &[(&str, u64)] = &[
    ("", 1),
    ("b", 1),
    ("k", 1_000),
    ("kb", 1_000),
    ("ki", 1 << 10),
    ("kib", 1 << 10),
    ("m", 1_000_000),
    ("mb", 1_000_000),
    ("mi", 1 << 20),
    ("mib", 1 << 20),
    ("g", 1_000_000_000),
    ("gb", 1_000_000_000),
    ("gi", 1 << 30),
    ("gib", 1 << 30),
    ("t", 1_000_000_000_000),
    ("tb", 1_000_000_000_000),
    ("ti", 1 << 40),
    ("tib", 1 << 40),
    ("p", 1_000_000_000_000_000),
    ("pb", 1_000_000_000_000_000),
    ("pi", 1 << 50),
    ("pib", 1 << 50),
];

/// Why a text is not a size.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// It does not have the form of one.
    #[error("{0:?} is not a size such as \"10GiB\" or \"50MB\"")]
    Form(String),
    /// It is larger than any volume.
    #[error("{0:?} is too large")]
    TooLarge(String),
}

/// The bytes of a size.
pub fn parse(text: &str) -> Result<i64, SizeError> {
    let form = || SizeError::Form(text.into());
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == ',')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(form)?;
    let number = number.replace(',', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) || fraction.len() > 18 {
        return Err(form());
    }
    let too_large = || SizeError::TooLarge(text.into());
    let whole: u128 = whole.parse().map_err(|_| too_large())?;
    let bytes = whole.checked_mul(u128::from(*factor)).ok_or_else(too_large)?;
    let part = match fraction {
        "" => 0,
        digits => {
            let scale = 10_u128.pow(u32::try_from(digits.len()).map_err(|_| form())?);
            let part: u128 = digits.parse().map_err(|_| form())?;
            part.saturating_mul(u128::from(*factor)) / scale
        }
    };
    i64::try_from(bytes.saturating_add(part)).map_err(|_| too_large())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_decimal_or_binary() {
        let cases = [
            ("0", 0),
            ("1024", 1024),
            ("10MiB", 10 << 20),
            ("10 mb", 10_000_000),
            ("80G", 80_000_000_000),
            ("1.5GiB", 3 << 29),
            ("1,000 kB", 1_000_000),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in ["", "GiB", "-1", "1.2.3", "10 parsecs", "."] {
            assert_eq!(parse(bad), Err(SizeError::Form(bad.into())), "{bad}");
        }
        for large in ["9000000 TiB", "99999999999999999999999999999999999999999999"] {
            assert_eq!(parse(large), Err(SizeError::TooLarge(large.into())), "{large}");
        }
    }
}
