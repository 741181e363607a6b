//! Number constants.

use crate::value::Value;

/// Whether underscores stand only between digits, or after the prefix of a base.
fn underscores_fit(digits: &str, after_prefix: bool) -> bool {
    !digits.contains("__") && !digits.ends_with('_') && (after_prefix || !digits.starts_with('_'))
}

/// The value of a number constant.
pub(crate) fn number(text: &str) -> Result<Value, &'static str> {
    const ILLEGAL: &str = "illegal number syntax";
    const OVERFLOW: &str = "integer overflow";
    let (negative, unsigned) = match text.as_bytes().first() {
        Some(b'-') => (true, text.get(1..).unwrap_or_default()),
        Some(b'+') => (false, text.get(1..).unwrap_or_default()),
        _ => (false, text),
    };
    let lower = unsigned.to_ascii_lowercase();
    let (radix, digits, prefixed) = match lower.get(..2) {
        Some("0x") => (16, lower.get(2..).unwrap_or_default(), true),
        Some("0o") => (8, lower.get(2..).unwrap_or_default(), true),
        Some("0b") => (2, lower.get(2..).unwrap_or_default(), true),
        _ if lower.len() > 1 && lower.starts_with('0') => (8, lower.get(1..).unwrap_or_default(), true),
        _ => (10, lower.as_str(), false),
    };
    let float_like = if radix == 16 { lower.contains(['.', 'p']) } else { lower.contains(['.', 'e']) };
    if !float_like {
        if digits.is_empty() || !underscores_fit(digits, prefixed) {
            return Err(ILLEGAL);
        }
        let plain = digits.replace('_', "");
        let signed = if negative { format!("-{plain}") } else { plain.clone() };
        return match i64::from_str_radix(&signed, radix) {
            Ok(n) => Ok(Value::Int(n)),
            // `08` is no octal number, but a decimal one when it is read as a float: not an integer either.
            Err(_) if plain.chars().all(|c| c.is_digit(radix)) => Err(OVERFLOW),
            Err(_) => Err(if plain.chars().all(|c| c.is_ascii_digit()) { OVERFLOW } else { ILLEGAL }),
        };
    }
    let value = if radix == 16 && lower.starts_with("0x") {
        if !lower.contains('p') {
            return Err(ILLEGAL);
        }
        hex_float(digits).ok_or(ILLEGAL)?
    } else {
        // Floats take underscores only with the prefix of a base.
        if lower.contains('_') || lower.starts_with("0b") || lower.starts_with("0o") {
            return Err(ILLEGAL);
        }
        lower.parse::<f64>().ok().filter(|f| f.is_finite()).ok_or(ILLEGAL)?
    };
    Ok(Value::Float(if negative { -value } else { value }))
}

/// `1.8p3` in hexadecimal.
fn hex_float(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once('p')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").replace('_', "");
    if digits.is_empty() || digits.len() > 13 {
        return None;
    }
    let value = u64::from_str_radix(&digits, 16).ok()?;
    let places = i32::try_from(fraction.replace('_', "").len()).ok()?;
    let value = value as f64 * 2_f64.powi(exponent.checked_sub(4 * places)?);
    value.is_finite().then_some(value)
}
