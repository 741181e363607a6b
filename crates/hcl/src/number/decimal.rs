//! Decimal texts of numbers: the shortest that identifies the value, and those with given digits.

use std::cmp::Ordering;
use std::fmt;

use dashu_int::UBig;
use dashu_int::ops::{BitTest, DivRem};

use super::{Magnitude, Number};

impl Number {
    /// The digits and the power of ten of the shortest decimal that identifies the value at its precision.
    pub(super) fn shortest_decimal(&self) -> Option<(String, i64)> {
        if self.is_zero() {
            return Some(("0".to_string(), 0));
        }
        self.small_decimal().or_else(|| self.large_decimal())
    }

    /// [`Self::shortest_decimal`] of any number but zero.
    fn large_decimal(&self) -> Option<(String, i64)> {
        let Magnitude::Finite { mantissa, exponent } = &self.magnitude else { return None };
        // Everything in quarters of the last place: the value, and the midpoints to its neighbours (the one below is
        // nearer when the mantissa is a power of two). A midpoint rounds to the value when its mantissa is even.
        let pad = (self.precision as usize).saturating_sub(mantissa.bit_len());
        let mantissa_full = mantissa << pad;
        let scale = exponent - pad as i64;
        let even = !mantissa_full.bit(0);
        let value = &mantissa_full << 2;
        let low = &value - if mantissa.is_one() { 1u8 } else { 2u8 };
        let high = &value + 2u8;
        // 10^power is below the distance between the midpoints, so that at least one multiple lies between them.
        let mut power = (scale * 30_103).div_euclid(100_000) - 1;
        let twos = scale - 2;
        let ten = UBig::from(10u8);
        let mut denominator = UBig::ONE;
        let mut factor = UBig::ONE;
        let by_ten = ten.pow(usize::try_from(power.unsigned_abs()).ok()?);
        if power >= 0 {
            denominator *= by_ten
        } else {
            factor *= by_ten
        }
        let by_two = usize::try_from(twos.unsigned_abs()).ok()?;
        if twos >= 0 {
            factor <<= by_two
        } else {
            denominator <<= by_two
        }
        let divide = |quarters: UBig, denominator: &UBig| (quarters * &factor).div_rem(denominator);
        let (low, low_rest) = divide(low, &denominator);
        let (high, high_rest) = divide(high, &denominator);
        let mut low = if low_rest.is_zero() && even { low } else { low + 1u8 };
        let mut high = if high_rest.is_zero() && !even { high - 1u8 } else { high };
        loop {
            let (up, up_rest) = (&low).div_rem(&ten);
            let up = if up_rest.is_zero() { up } else { up + 1u8 };
            let down = &high / &ten;
            if up > down {
                break;
            }
            (low, high) = (up, down);
            power += 1;
            denominator *= &ten;
        }
        let nearest = divide_to_nearest(value * &factor, &denominator);
        Some((nearest.clamp(low, high).to_string(), power))
    }

    /// [`Self::shortest_decimal`] of a whole number that fits into a machine word: the usual case, without large
    /// numbers. Its neighbours at its precision are at most one away, so no shorter decimal is nearer to it than to
    /// them.
    fn small_decimal(&self) -> Option<(String, i64)> {
        let Magnitude::Finite { mantissa, exponent } = &self.magnitude else { return None };
        let twos = usize::try_from(*exponent).ok()?;
        let most = u64::BITS.min(self.precision) as usize;
        if mantissa.bit_len().saturating_add(twos) > most {
            return None;
        }
        let value = u64::try_from(mantissa).ok()? << twos;
        let all = value.to_string();
        let digits = all.trim_end_matches('0');
        Some((digits.to_string(), (all.len() - digits.len()) as i64))
    }

    /// The magnitude in units of `10^power`, rounded half to even.
    fn scaled_digits(&self, power: i64) -> Option<String> {
        let Magnitude::Finite { mantissa, exponent } = &self.magnitude else { return None };
        let ten_power = UBig::from(10u8).pow(usize::try_from(power.unsigned_abs()).ok()?);
        let two_power = usize::try_from(exponent.unsigned_abs()).ok()?;
        let (mut numerator, mut denominator) = (mantissa.clone(), UBig::ONE);
        if power >= 0 {
            denominator *= ten_power
        } else {
            numerator *= ten_power
        }
        if *exponent >= 0 {
            numerator <<= two_power
        } else {
            denominator <<= two_power
        }
        Some(divide_to_nearest(numerator, &denominator).to_string())
    }

    /// The magnitude with this many digits after the point (C's `%.*f`).
    pub(crate) fn to_fixed(&self, places: usize) -> String {
        let power = i64::try_from(places).unwrap_or(i64::MAX).saturating_neg();
        self.scaled_digits(power).map_or_else(|| "Inf".to_string(), |digits| positional(&digits, power))
    }

    /// The magnitude as `d.ddde±dd` with this many digits after the point (C's `%.*e`); `None`: as many as needed.
    pub(crate) fn to_scientific(&self, places: Option<usize>) -> String {
        match self.significant_digits(places.map(|places| places.saturating_add(1))) {
            Some((digits, exponent)) => scientific(&digits, exponent),
            None => "Inf".to_string(),
        }
    }

    /// The magnitude in scientific form where its exponent is below -4 or not below the number of digits, else in plain
    /// form (C's `%.*g`). Without a number of digits: as many as needed, and the exponent is compared with 6.
    pub(crate) fn to_general(&self, digits: Option<usize>) -> String {
        let Some((text, exponent)) = self.significant_digits(digits.map(|digits| digits.max(1))) else {
            return "Inf".to_string();
        };
        let trimmed = text.trim_end_matches('0');
        let text = if trimmed.is_empty() { "0" } else { trimmed };
        let limit = match digits {
            None => 6,
            // More digits than the value has do not make the plain form longer.
            Some(digits) if digits > text.len() && text.len() as i64 > exponent => text.len().max(1),
            Some(digits) => digits.max(1),
        };
        if exponent < -4 || exponent >= limit as i64 {
            return scientific(text, exponent);
        }
        positional(text, exponent + 1 - text.len() as i64)
    }

    /// The leading digits of the magnitude, this many or as many as needed, and the power of ten of the first.
    fn significant_digits(&self, count: Option<usize>) -> Option<(String, i64)> {
        let (shortest, power) = self.shortest_decimal()?;
        let first = power + shortest.len() as i64 - 1;
        let Some(count) = count else { return Some((shortest, first)) };
        if self.is_zero() {
            return Some(("0".repeat(count), 0));
        }
        // Rounding may carry into one more digit.
        [first, first + 1].into_iter().find_map(|first| {
            let digits = self.scaled_digits(first + 1 - i64::try_from(count).ok()?)?;
            (digits.len() == count).then_some((digits, first))
        })
    }
}

/// The quotient rounded half to even.
fn divide_to_nearest(numerator: UBig, denominator: &UBig) -> UBig {
    let (below, rest) = numerator.div_rem(denominator);
    match (rest << 1).cmp(denominator) {
        Ordering::Less => below,
        Ordering::Equal if !below.bit(0) => below,
        _ => below + 1u8,
    }
}

/// `digits · 10^power` without exponent.
fn positional(digits: &str, power: i64) -> String {
    let fraction = usize::try_from(-power).unwrap_or(0);
    if let Some(missing) = fraction.checked_sub(digits.len()) {
        let point = if fraction == 0 { "" } else { "." };
        return format!("0{point}{}{digits}", "0".repeat(missing));
    }
    let (whole, rest) = digits.split_at_checked(digits.len() - fraction).unwrap_or((digits, ""));
    let zeros = if digits == "0" { 0 } else { usize::try_from(power).unwrap_or(0) };
    let point = if rest.is_empty() { "" } else { "." };
    format!("{whole}{}{point}{rest}", "0".repeat(zeros))
}

/// `d.ddd · 10^exponent` of some digits; the exponent has a sign and at least two digits.
fn scientific(digits: &str, exponent: i64) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let point = if rest.is_empty() { "" } else { "." };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{first}{point}{rest}e{sign}{:02}", exponent.unsigned_abs())
}

impl fmt::Display for Number {
    /// The shortest decimal text without exponent that identifies the value; `+Inf`, `-Inf`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((digits, power)) = self.shortest_decimal() else {
            return f.write_str(if self.negative { "-Inf" } else { "+Inf" });
        };
        write!(f, "{}{}", if self.negative { "-" } else { "" }, positional(&digits, power))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn given_digits() {
        let n = |text: &str| Number::parse(text).unwrap();
        for (text, places, expected) in
            [("0", 2, "0.00"), ("2.5", 0, "2"), ("3.5", 0, "4"), ("0.0049", 2, "0.00"), ("999.996", 2, "1000.00")]
        {
            assert_eq!(n(text).to_fixed(places), expected, "{text}");
        }
        for (text, places, expected) in [
            ("0", Some(2), "0.00e+00"),
            ("9.996", Some(2), "1.00e+01"),
            ("1234.5", None, "1.2345e+03"),
            ("1e-120", Some(0), "1e-120"),
        ] {
            assert_eq!(n(text).to_scientific(places), expected, "{text}");
        }
        for (text, digits, expected) in [
            ("0", None, "0"),
            ("100000", None, "100000"),
            ("1000000", None, "1e+06"),
            ("0.0001", None, "0.0001"),
            ("0.00001", None, "1e-05"),
            ("1234.5", Some(3), "1.23e+03"),
            ("1234.5", Some(10), "1234.5"),
            ("100", Some(2), "1e+02"),
            ("100", Some(10), "100"),
        ] {
            assert_eq!(n(text).to_general(digits), expected, "{text}");
        }
    }

    #[test]
    fn small_numbers_have_the_digits_of_large_ones() {
        let powers = (0..64).flat_map(|i| [(1_u64 << i) - 1, 1 << i, (1 << i) + 1]);
        let tens = (0..19).flat_map(|i| [10_u64.pow(i), 10_u64.pow(i) + 1, 7 * 10_u64.pow(i)]);
        let mut small = 0;
        for value in powers.chain(tens).chain([9_007_199_254_740_993, u64::MAX]).filter(|value| *value > 0) {
            let text = Number::parse(&value.to_string()).unwrap();
            let float = Number::from_f64(value as f64).unwrap();
            for number in [text, float, Number::from(value)] {
                if let Some(digits) = number.small_decimal() {
                    assert_eq!(Some(digits), number.large_decimal(), "{value}");
                    small += 1;
                }
            }
        }
        assert!(small > 500, "only {small} numbers were small");
    }
}
