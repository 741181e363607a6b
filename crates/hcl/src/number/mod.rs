//! Numbers: binary floats with a 512-bit mantissa, rounded half to even (`docs/spec/jobspec.md §3`).
//!
//! A number is `±mantissa · 2^exponent`. It also remembers the precision it was made with: literals and text have 512
//! bits, counts 64, results of 64-bit float functions 53; an operation works with the larger of its operands'. The
//! precision decides which decimal text is the shortest one that still identifies the value, so `log(10, 3)` prints
//! like a 64-bit float. Magnitudes are bounded, so that a short text such as `1e999999999` costs neither memory nor
//! time.

mod decimal;
#[cfg(test)]
mod properties;

use std::cmp::Ordering;

use dashu_int::ops::{BitTest, DivRem, UnsignedAbs};
use dashu_int::{IBig, Sign, UBig};

/// Mantissa bits of numbers that come from text.
pub(crate) const PRECISION: u32 = 512;
/// Mantissa bits of numbers that come from 64-bit integers.
const INTEGER_PRECISION: u32 = 64;
/// Mantissa bits of numbers that come from 64-bit floats.
const FLOAT_PRECISION: u32 = 53;
/// Largest power of two kept: anything beyond `2^8192` (about 10^2466) is infinite, anything below its inverse zero.
const MAX_EXPONENT: i64 = 1 << 13;
/// Decimal digits (and size of a decimal exponent) read exactly from text.
const MAX_DIGITS: usize = 2_450;

/// Why a text is not a number or an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    /// The text is not a decimal number.
    #[error("a number is required")]
    Syntax,
    /// The number has too many digits before or after the decimal point.
    #[error("a number is required, with at most {MAX_DIGITS} digits before or after the decimal point")]
    Range,
    /// `0/0`, `∞/∞`.
    #[error("can't divide zero by zero or infinity by infinity")]
    Quotient,
    /// `∞ - ∞`, `∞ + -∞`.
    #[error("can't compute sum of opposing infinities")]
    Sum,
    /// `0 · ∞`.
    #[error("can't multiply zero by infinity")]
    Product,
    /// `∞ % x`.
    #[error("can't compute the remainder of infinity")]
    Remainder,
}

/// A number of the job file language. Comparison and equality are by value (`-0` equals `0`).
#[derive(Debug, Clone)]
pub struct Number {
    negative: bool,
    magnitude: Magnitude,
    precision: u32,
}

#[derive(Debug, Clone)]
enum Magnitude {
    /// `mantissa · 2^exponent`; the mantissa is odd, or zero with exponent zero.
    Finite {
        mantissa: UBig,
        exponent: i64,
    },
    Infinite,
}

impl Number {
    /// Rounds `mantissa · 2^exponent` (plus something smaller than one unit when `sticky`) to `precision` bits. With
    /// `sticky` the mantissa must have more than `precision + 1` bits.
    fn rounded(negative: bool, mut mantissa: UBig, mut exponent: i64, sticky: bool, precision: u32) -> Number {
        let bits = mantissa.bit_len();
        let keep = precision as usize;
        if bits > keep {
            let drop = bits - keep;
            let half = mantissa.bit(drop - 1);
            let rest = sticky || mantissa.trailing_zeros().is_some_and(|zeros| zeros < drop - 1);
            mantissa >>= drop;
            exponent += drop as i64;
            if half && (rest || mantissa.bit(0)) {
                mantissa += 1u8;
            }
        }
        let Some(zeros) = mantissa.trailing_zeros() else {
            return Number::zero(negative, precision);
        };
        mantissa >>= zeros;
        exponent += zeros as i64;
        let top = exponent + mantissa.bit_len() as i64;
        if top < -MAX_EXPONENT {
            return Number::zero(negative, precision);
        }
        let magnitude = if top > MAX_EXPONENT { Magnitude::Infinite } else { Magnitude::Finite { mantissa, exponent } };
        Number { negative, magnitude, precision }
    }

    fn zero(negative: bool, precision: u32) -> Number {
        Number { negative, magnitude: Magnitude::Finite { mantissa: UBig::ZERO, exponent: 0 }, precision }
    }

    fn infinite(negative: bool, precision: u32) -> Number {
        Number { negative, magnitude: Magnitude::Infinite, precision }
    }

    /// Reads decimal text: optional sign, digits with an optional point, optional exponent. No spaces, no prefixes.
    pub fn parse(text: &str) -> Result<Number, NumberError> {
        let (negative, rest) = match text.as_bytes() {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            rest => (false, rest),
        };
        let split = rest.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(rest.len());
        let (mantissa, exponent) = rest.split_at(split);
        let mut power = match exponent.split_first() {
            None => 0,
            Some((_, digits)) => decimal_exponent(digits)?,
        };
        let mut digits = String::new();
        let (mut seen_digit, mut seen_point, mut sticky) = (false, false, false);
        for &byte in mantissa {
            match byte {
                b'.' if !seen_point => seen_point = true,
                b'0'..=b'9' => {
                    seen_digit = true;
                    // Digits past the kept ones can only break a tie.
                    let kept = digits.len() < MAX_DIGITS;
                    if !kept {
                        sticky |= byte != b'0';
                    } else if byte != b'0' || !digits.is_empty() {
                        digits.push(byte as char);
                    }
                    power += i64::from(!kept) - i64::from(seen_point);
                }
                _ => return Err(NumberError::Syntax),
            }
        }
        if !seen_digit {
            return Err(NumberError::Syntax);
        }
        if digits.is_empty() {
            return Ok(Number::zero(negative, PRECISION));
        }
        let scale = power + digits.len() as i64;
        if scale.unsigned_abs() > MAX_DIGITS as u64 {
            return Err(NumberError::Range);
        }
        if sticky {
            digits.push('1');
            power -= 1;
        }
        let mantissa = UBig::from_str_radix(&digits, 10).map_err(|_| NumberError::Syntax)?;
        let ten_power = UBig::from(10u8).pow(usize::try_from(power.unsigned_abs()).map_err(|_| NumberError::Range)?);
        Ok(match power >= 0 {
            true => Number::rounded(negative, mantissa * ten_power, 0, false, PRECISION),
            false => Number::quotient(negative, mantissa, ten_power, 0, PRECISION),
        })
    }

    /// `numerator / denominator · 2^exponent`, rounded once.
    fn quotient(negative: bool, numerator: UBig, denominator: UBig, exponent: i64, precision: u32) -> Number {
        let wanted = precision as usize + 2 + denominator.bit_len();
        let shift = wanted.saturating_sub(numerator.bit_len());
        let (quotient, remainder) = (numerator << shift).div_rem(denominator);
        Number::rounded(negative, quotient, exponent - shift as i64, !remainder.is_zero(), precision)
    }

    /// A whole number with all its digits.
    pub(crate) fn from_integer(value: &IBig) -> Number {
        let magnitude = value.clone().unsigned_abs();
        let precision = INTEGER_PRECISION.max(u32::try_from(magnitude.bit_len()).unwrap_or(u32::MAX));
        Number::rounded(value.sign() == Sign::Negative, magnitude, 0, false, precision)
    }

    /// The exact value of a 64-bit float; `None` for NaN.
    pub fn from_f64(value: f64) -> Option<Number> {
        let negative = value.is_sign_negative();
        if value.is_nan() {
            return None;
        }
        if value.is_infinite() {
            return Some(Number::infinite(negative, FLOAT_PRECISION));
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = match (bits >> 52) & 0x7ff {
            0 => (fraction, -1074),
            biased => (fraction | 1 << 52, biased as i64 - 1075),
        };
        Some(Number::rounded(negative, UBig::from(mantissa), exponent, false, FLOAT_PRECISION))
    }

    /// Whether the value is `+∞` or `-∞`.
    pub(crate) fn is_infinite(&self) -> bool {
        matches!(self.magnitude, Magnitude::Infinite)
    }

    /// Whether the value is zero (of either sign).
    pub fn is_zero(&self) -> bool {
        matches!(&self.magnitude, Magnitude::Finite { mantissa, .. } if mantissa.is_zero())
    }

    /// Whether the value is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative && !self.is_zero()
    }

    /// Whether the value is finite and has no fraction.
    pub fn is_whole(&self) -> bool {
        matches!(self.magnitude, Magnitude::Finite { exponent, .. } if exponent >= 0)
    }

    /// About how many characters the text of the value has at most.
    pub(crate) fn text_size(&self) -> usize {
        match &self.magnitude {
            Magnitude::Infinite => 4,
            Magnitude::Finite { mantissa, exponent } => {
                let top = (exponent + mantissa.bit_len() as i64).unsigned_abs() as usize;
                // A small fraction has zeros before its digits; a large whole number has zeros after them.
                (top + mantissa.bit_len()) / 3 + 4
            }
        }
    }

    /// The value when it is whole.
    pub(crate) fn to_integer(&self) -> Option<IBig> {
        self.is_whole().then(|| self.truncated()).flatten()
    }

    /// The value without its fraction; `None` for infinities.
    fn truncated(&self) -> Option<IBig> {
        let Magnitude::Finite { mantissa, exponent } = &self.magnitude else { return None };
        let shift = usize::try_from(exponent.unsigned_abs()).ok()?;
        let magnitude = if *exponent >= 0 { mantissa << shift } else { mantissa >> shift };
        Some(IBig::from_parts(if self.negative { Sign::Negative } else { Sign::Positive }, magnitude))
    }

    /// The value when it is exactly an `i64`.
    pub fn to_i64(&self) -> Option<i64> {
        i64::try_from(self.to_small_integer()?).ok()
    }

    /// The value when it is exactly a `u64`.
    pub fn to_u64(&self) -> Option<u64> {
        u64::try_from(self.to_small_integer()?).ok()
    }

    /// The whole value, unless it has far more bits than any machine integer.
    fn to_small_integer(&self) -> Option<IBig> {
        match self.magnitude {
            Magnitude::Finite { exponent, .. } if exponent <= 64 => self.to_integer(),
            _ => None,
        }
    }

    /// The nearest 64-bit float (ties to even), infinite when out of its range.
    pub fn to_f64(&self) -> f64 {
        let sign = if self.negative { -1.0 } else { 1.0 };
        let Magnitude::Finite { mantissa, exponent } = &self.magnitude else { return sign * f64::INFINITY };
        let top = exponent + mantissa.bit_len() as i64;
        if mantissa.is_zero() || top < -1074 {
            return sign * 0.0;
        }
        if top > 1024 {
            return sign * f64::INFINITY;
        }
        // Below 2^-1022 a float has fewer than 53 bits, below 2^-1074 none.
        let precision = u32::try_from((top + 1074).clamp(0, 53)).unwrap_or(FLOAT_PRECISION);
        if precision == 0 {
            let more_than_half = !mantissa.is_one();
            return if more_than_half { sign * f64::from_bits(1) } else { sign * 0.0 };
        }
        match Number::rounded(false, mantissa.clone(), *exponent, false, precision).magnitude {
            Magnitude::Infinite => sign * f64::INFINITY,
            Magnitude::Finite { mantissa, exponent } => {
                let Ok(bits) = u64::try_from(&mantissa) else { return sign * f64::INFINITY };
                let half = (exponent / 2) as i32;
                sign * (bits as f64) * 2f64.powi(half) * 2f64.powi(exponent as i32 - half)
            }
        }
    }

    /// `self + other`.
    pub fn add(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision.max(other.precision);
        let (Magnitude::Finite { mantissa: a, exponent: ea }, Magnitude::Finite { mantissa: b, exponent: eb }) =
            (&self.magnitude, &other.magnitude)
        else {
            return match (self.is_infinite(), other.is_infinite()) {
                (true, true) if self.negative != other.negative => Err(NumberError::Sum),
                (true, _) => Ok(Number::infinite(self.negative, precision)),
                _ => Ok(Number::infinite(other.negative, precision)),
            };
        };
        if self.is_zero() && other.is_zero() {
            return Ok(Number::zero(self.negative && other.negative, precision));
        }
        let exponent = (*ea).min(*eb);
        let aligned = |negative: bool, mantissa: &UBig, own: i64| {
            let shifted = mantissa << usize::try_from(own - exponent).unwrap_or(0);
            IBig::from_parts(if negative { Sign::Negative } else { Sign::Positive }, shifted)
        };
        let sum = aligned(self.negative, a, *ea) + aligned(other.negative, b, *eb);
        Ok(Number::rounded(sum.sign() == Sign::Negative, sum.unsigned_abs(), exponent, false, precision))
    }

    /// `self - other`.
    pub fn sub(&self, other: &Number) -> Result<Number, NumberError> {
        self.add(&other.neg())
    }

    /// `self · other`.
    pub(crate) fn mul(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision.max(other.precision);
        let negative = self.negative != other.negative;
        match (&self.magnitude, &other.magnitude) {
            (Magnitude::Finite { mantissa: a, exponent: ea }, Magnitude::Finite { mantissa: b, exponent: eb }) => {
                Ok(Number::rounded(negative, a * b, ea + eb, false, precision))
            }
            _ if self.is_zero() || other.is_zero() => Err(NumberError::Product),
            _ => Ok(Number::infinite(negative, precision)),
        }
    }

    /// `self / other`; a division by zero is infinite.
    pub(crate) fn div(&self, other: &Number) -> Result<Number, NumberError> {
        let precision = self.precision.max(other.precision);
        let negative = self.negative != other.negative;
        match (&self.magnitude, &other.magnitude) {
            (Magnitude::Infinite, Magnitude::Infinite) => Err(NumberError::Quotient),
            (Magnitude::Infinite, _) => Ok(Number::infinite(negative, precision)),
            (_, Magnitude::Infinite) => Ok(Number::zero(negative, precision)),
            (Magnitude::Finite { mantissa: a, exponent: ea }, Magnitude::Finite { mantissa: b, exponent: eb }) => {
                match (a.is_zero(), b.is_zero()) {
                    (true, true) => Err(NumberError::Quotient),
                    (true, _) => Ok(Number::zero(negative, precision)),
                    (_, true) => Ok(Number::infinite(negative, precision)),
                    _ => Ok(Number::quotient(negative, a.clone(), b.clone(), ea - eb, precision)),
                }
            }
        }
    }

    /// The remainder of the division truncated toward zero: it has the sign of `self`; `x % 0` is `x`.
    pub(crate) fn rem(&self, other: &Number) -> Result<Number, NumberError> {
        if self.is_infinite() {
            return Err(NumberError::Remainder);
        }
        if other.is_zero() || other.is_infinite() {
            return Ok(self.clone());
        }
        let quotient = self.div(other)?;
        let whole = quotient.truncated().ok_or(NumberError::Quotient)?;
        let precision = self.precision.max(other.precision);
        let whole = Number::rounded(whole.sign() == Sign::Negative, whole.unsigned_abs(), 0, false, precision);
        self.sub(&other.mul(&whole)?)
    }

    /// `-self`.
    pub fn neg(&self) -> Number {
        Number { negative: !self.negative, ..self.clone() }
    }

    /// The absolute value.
    pub fn abs(&self) -> Number {
        Number { negative: false, ..self.clone() }
    }

    /// The largest whole number that is not above the value; infinities stay.
    pub fn floor(&self) -> Number {
        match self.truncated() {
            Some(whole) if self.is_whole() || !self.negative => Number::from_integer(&whole),
            Some(whole) => Number::from_integer(&(whole - 1u8)),
            None => self.clone(),
        }
    }

    /// The smallest whole number that is not below the value; infinities stay.
    pub fn ceil(&self) -> Number {
        self.neg().floor().neg()
    }
}

/// The signed digits after `e`, saturated far beyond what is accepted.
fn decimal_exponent(text: &[u8]) -> Result<i64, NumberError> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Syntax);
    }
    let value = digits.iter().fold(0i64, |sum, digit| (sum * 10 + i64::from(digit - b'0')).min(1 << 40));
    Ok(if negative { -value } else { value })
}

impl From<i64> for Number {
    fn from(value: i64) -> Number {
        Number::rounded(value < 0, UBig::from(value.unsigned_abs()), 0, false, INTEGER_PRECISION)
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Number {
        Number::rounded(false, UBig::from(value), 0, false, INTEGER_PRECISION)
    }
}

impl From<usize> for Number {
    fn from(value: usize) -> Number {
        Number::from(value as u64)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Number) -> Ordering {
        let sign = |number: &Number| if number.is_zero() { 0 } else { 1 - 2 * i8::from(number.negative) };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign != Ordering::Equal || sign(self) == 0 {
            return by_sign;
        }
        let by_magnitude = match (&self.magnitude, &other.magnitude) {
            (Magnitude::Infinite, Magnitude::Infinite) => Ordering::Equal,
            (Magnitude::Infinite, _) => Ordering::Greater,
            (_, Magnitude::Infinite) => Ordering::Less,
            (Magnitude::Finite { mantissa: a, exponent: ea }, Magnitude::Finite { mantissa: b, exponent: eb }) => {
                let top = |mantissa: &UBig, exponent: i64| exponent + mantissa.bit_len() as i64;
                top(a, *ea).cmp(&top(b, *eb)).then_with(|| {
                    let base = (*ea).min(*eb);
                    let shift = |own: i64| usize::try_from(own - base).unwrap_or(0);
                    (a << shift(*ea)).cmp(&(b << shift(*eb)))
                })
            }
        };
        if self.negative { by_magnitude.reverse() } else { by_magnitude }
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn text_round_trips_in_shortest_form() {
        for (text, shown) in [
            ("0", "0"),
            ("-0.0", "-0"),
            ("1.10", "1.1"),
            ("1e3", "1000"),
            ("1.5E+3", "1500"),
            (".5", "0.5"),
            ("5.", "5"),
            ("+7", "7"),
            ("-12.5e-3", "-0.0125"),
            ("9007199254740993", "9007199254740993"),
            ("10000000000000000000000000", "10000000000000000000000000"),
            ("1e21", "1000000000000000000000"),
            ("0.1", "0.1"),
            ("123456789.000000001", "123456789.000000001"),
        ] {
            assert_eq!(n(text).to_string(), shown, "{text}");
        }
    }

    #[test]
    fn bad_and_extreme_texts() {
        for text in ["", "-", ".", "e5", "1e", "1e+", "0x10", "1_000", " 1", "1 ", "1.2.3", "Inf", "NaN", "١"] {
            assert_eq!(Number::parse(text).unwrap_err(), NumberError::Syntax, "{text}");
        }
        for text in ["1e999999999", "1e-999999999", "1e99999999999999999999999", "-1e2451"] {
            assert_eq!(Number::parse(text).unwrap_err(), NumberError::Range, "{text}");
        }
        assert_eq!(n("0e999999999").to_string(), "0");
        let long = format!("0.{}1", "0".repeat(2_000));
        assert_eq!(n(&long).to_string(), long);
        // Digits beyond the kept ones still decide a tie.
        let tie = IBig::from(2u8).pow(512) + 1u8;
        assert_eq!(n(&tie.to_string()), n(&(tie.clone() - 1u8).to_string()));
        assert!(n(&format!("{tie}.{}1", "0".repeat(50_000))) > n(&tie.to_string()));
    }

    #[test]
    fn arithmetic_at_512_bits() {
        assert_eq!(n("0.1").add(&n("0.2")).unwrap().to_string(), "0.3");
        assert_eq!(n("1").div(&n("3")).unwrap().to_string(), format!("0.{}5", "3".repeat(154)));
        assert_eq!(n("17").rem(&n("5")).unwrap().to_string(), "2");
        assert_eq!(n("-17").rem(&n("5")).unwrap().to_string(), "-2");
        assert_eq!(n("17").rem(&n("-5")).unwrap().to_string(), "2");
        assert_eq!(n("3").rem(&n("0")).unwrap(), n("3"));
        assert_eq!(n("7").mul(&n("-6")).unwrap().to_string(), "-42");
        assert_eq!(n("1").sub(&n("1")).unwrap().to_string(), "0");
        assert_eq!(n("1").div(&n("0")).unwrap().to_string(), "+Inf");
        assert_eq!(n("-1").div(&n("0")).unwrap().to_string(), "-Inf");
        assert_eq!(n("0").div(&n("0")).unwrap_err(), NumberError::Quotient);
        let inf = n("1").div(&n("0")).unwrap();
        assert_eq!(inf.sub(&inf).unwrap_err(), NumberError::Sum);
        assert_eq!(inf.mul(&n("0")).unwrap_err(), NumberError::Product);
        assert!(inf.rem(&n("2")).is_err() && !inf.is_whole() && inf.to_i64().is_none());
        assert_eq!(n("2").div(&inf).unwrap().to_string(), "0");
    }

    #[test]
    fn products_saturate() {
        let mut x = n("1e2000");
        x = x.mul(&x).unwrap();
        assert!(x.is_infinite());
        let mut x = n("1e-2000");
        x = x.mul(&x).unwrap();
        assert!(x.is_zero());
    }

    #[test]
    fn whole_numbers_and_rounding() {
        for (text, floor, ceil) in [("1.2", "1", "2"), ("-1.2", "-2", "-1"), ("3", "3", "3"), ("-0.5", "-1", "-0")] {
            assert_eq!(n(text).floor().to_string(), floor, "floor {text}");
            assert_eq!(n(text).ceil().to_string(), ceil, "ceil {text}");
        }
        assert_eq!(n("9223372036854775807").to_i64(), Some(i64::MAX));
        assert_eq!(n("-9223372036854775808").to_i64(), Some(i64::MIN));
        assert_eq!(n("9223372036854775808").to_i64(), None);
        assert_eq!(n("18446744073709551615").to_u64(), Some(u64::MAX));
        assert_eq!(n("1e2000").to_i64(), None);
        assert_eq!(n("1.5").to_i64(), None);
    }

    #[test]
    fn floats_keep_their_own_precision() {
        let third = Number::from_f64(1.0 / 3.0).unwrap();
        assert_eq!(third.to_string(), "0.3333333333333333");
        assert!(third.add(&n("0")).unwrap().to_string().len() > 40);
        assert_eq!(Number::from(i64::MIN).to_string(), "-9223372036854775808");
        assert!(Number::from_f64(f64::NAN).is_none());
    }

    #[test]
    fn to_f64_is_the_nearest_float() {
        for text in [
            "0.1",
            "1e308",
            "1.7976931348623157e308",
            "1.7976931348623159e308",
            "5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "7.4e-324",
            "2.2250738585072011e-308",
            "1e-400",
            "9007199254740993",
            "-123.456e-7",
            "1e400",
        ] {
            let expected: f64 = text.parse().unwrap();
            assert_eq!(n(text).to_f64().to_bits(), expected.to_bits(), "{text}");
        }
    }

    #[test]
    fn order_is_by_value() {
        let mut sorted = ["-Inf", "-2", "-0.5", "0", "1e-9", "0.5", "2", "10"].map(|text| match text {
            "-Inf" => n("-1").div(&n("0")).unwrap(),
            text => n(text),
        });
        sorted.reverse();
        sorted.sort();
        let texts: Vec<String> = sorted.iter().map(Number::to_string).collect();
        assert_eq!(texts, ["-Inf", "-2", "-0.5", "0", "0.000000001", "0.5", "2", "10"]);
        assert_eq!(n("-0"), n("0"));
    }
}
