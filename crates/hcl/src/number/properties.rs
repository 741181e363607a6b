//! Properties of numbers and conversions that hold for all inputs.

use proptest::prelude::*;

use super::*;
use crate::types::Type;
use crate::value::Value;

fn number() -> impl Strategy<Value = Number> {
    let decimal = "-?[0-9]{1,40}(\\.[0-9]{1,40})?(e-?[0-9]{1,3})?".prop_map(|text| Number::parse(&text).unwrap());
    let float = any::<f64>()
        .prop_filter_map("NaN and infinities", |value| value.is_finite().then(|| Number::from_f64(value)).flatten());
    let quotient = (any::<i64>(), 1..i64::MAX).prop_map(|(a, b)| {
        let whole = |value: i64| Number::parse(&value.to_string()).unwrap();
        whole(a).div(&whole(b)).unwrap()
    });
    prop_oneof![decimal, float, any::<i64>().prop_map(Number::from), any::<u64>().prop_map(Number::from), quotient]
}

/// The value that a text has at the precision of a number.
fn read_back(text: &str, precision: u32) -> Number {
    let number = Number::parse(text).unwrap();
    match &number.magnitude {
        Magnitude::Finite { mantissa, exponent } => {
            Number::rounded(number.negative, mantissa.clone(), *exponent, false, precision)
        }
        Magnitude::Infinite => number,
    }
}

proptest! {
    #[test]
    fn text_identifies_the_value(x in number()) {
        let text = x.to_string();
        prop_assert!(!text.contains('e'));
        prop_assert_eq!(read_back(&text, x.precision), x.clone());
        prop_assert!(text.len() <= x.text_size(), "{} for {}", x.text_size(), text);
    }

    #[test]
    fn no_shorter_text_identifies_the_value(x in number()) {
        let Some((digits, power)) = x.shortest_decimal() else { return Ok(()) };
        let shorter = digits.get(..digits.len() - 1).unwrap_or_default();
        if shorter.is_empty() {
            return Ok(());
        }
        let down = UBig::from_str_radix(shorter, 10).unwrap();
        for candidate in [down.clone(), down + 1u8] {
            let text = format!("{candidate}e{}", power + 1);
            prop_assert_ne!(read_back(&text, x.precision), x.abs(), "{}", text);
        }
    }

    #[test]
    fn floats_agree_with_the_machine(a in any::<f64>(), b in any::<f64>()) {
        let (Some(x), Some(y)) = (Number::from_f64(a), Number::from_f64(b)) else { return Ok(()) };
        prop_assert_eq!(x.to_f64().to_bits(), a.to_bits());
        prop_assert_eq!(x.cmp(&y), a.partial_cmp(&b).unwrap());
        // The exponent is wider than a float's, so only normal results can be compared.
        for (own, machine) in [(x.add(&y), a + b), (x.sub(&y), a - b), (x.mul(&y), a * b), (x.div(&y), a / b)] {
            if machine.is_normal() {
                prop_assert_eq!(own.unwrap().to_f64().to_bits(), machine.to_bits());
            }
        }
    }

    #[test]
    fn whole_numbers_agree_with_the_machine(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (Number::from(a), Number::from(b));
        prop_assert_eq!(x.to_i64(), Some(a));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        prop_assert_eq!(x.to_string(), a.to_string());
        let wide = |value: i64| Number::parse(&value.to_string()).unwrap();
        prop_assert_eq!(wide(a).add(&wide(b)).unwrap().to_string(), (i128::from(a) + i128::from(b)).to_string());
        prop_assert_eq!(wide(a).mul(&wide(b)).unwrap().abs().to_string(), (i128::from(a) * i128::from(b)).unsigned_abs().to_string());
        if b != 0 {
            let rest = wide(a).rem(&wide(b)).unwrap();
            prop_assert_eq!(rest.to_i64(), a.checked_rem(b).or(Some(0)));
        }
    }

    #[test]
    fn floor_and_ceil_enclose(x in number()) {
        let (floor, ceil) = (x.floor(), x.ceil());
        prop_assert!(floor.is_whole() && ceil.is_whole());
        prop_assert!(floor <= x && x <= ceil);
        prop_assert!(ceil.sub(&floor).unwrap() <= Number::from(1i64));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[-+0-9.eE_x ]{0,12}") {
        if let Ok(number) = Number::parse(&text) {
            prop_assert_eq!(Number::parse(&number.to_string()).unwrap(), number);
        }
    }

    #[test]
    fn numbers_survive_as_strings(x in number()) {
        let value = Value::Number(read_back(&x.to_string(), PRECISION));
        let text = value.convert(&Type::String).unwrap();
        prop_assert!(text.convert(&Type::Number).unwrap().equals(&value));
    }
}
