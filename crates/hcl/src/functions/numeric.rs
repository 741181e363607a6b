//! Numbers: `abs ceil floor signum max min log pow parseint`.

use dashu_int::{IBig, UBig};

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, function, p, variadic};
use crate::number::Number;
use crate::value::Value;
use encamp_model::quote::quoted;

/// Most digits `parseint` reads.
const MAX_PARSED_DIGITS: usize = 5_000;

pub(crate) const FUNCTIONS: &[Function] = &[
    function("abs", &[p("num", Kind::Number)], |args, _| Ok(args.number(0)?.abs().into())),
    function("ceil", &[p("num", Kind::Number)], |args, _| Ok(args.number(0)?.ceil().into())),
    function("floor", &[p("num", Kind::Number)], |args, _| Ok(args.number(0)?.floor().into())),
    function("signum", &[p("num", Kind::Number)], |args, _| {
        let number = args.number(0)?;
        let number = number.to_i64().filter(|_| number.is_whole());
        let refused = || format!("value must be a whole number, between {} and {}", i64::MIN, i64::MAX);
        Ok(Value::from(number.ok_or_else(refused)?.signum()))
    }),
    variadic("max", &[], p("numbers", Kind::Number), |args, _| extreme(args, |new, best| new > best)),
    variadic("min", &[], p("numbers", Kind::Number), |args, _| extreme(args, |new, best| new < best)),
    function("log", &[p("num", Kind::Number), p("base", Kind::Number)], |args, _| {
        float(args.number(0)?.to_f64().ln() / args.number(1)?.to_f64().ln())
    }),
    function("pow", &[p("num", Kind::Number), p("power", Kind::Number)], |args, _| {
        float(args.number(0)?.to_f64().powf(args.number(1)?.to_f64()))
    }),
    function("parseint", &[p("number", Kind::Any), p("base", Kind::Number)], parseint),
];

fn extreme(args: &Args, better: fn(&Number, &Number) -> bool) -> Result<Value, Failure> {
    let mut best = args.number(0).map_err(|_| "must pass at least one number")?;
    for index in 1..args.all().len() {
        let next = args.number(index)?;
        if better(next, best) {
            best = next;
        }
    }
    Ok(best.clone().into())
}

fn float(value: f64) -> Result<Value, Failure> {
    Ok(Number::from_f64(value).ok_or("the result is not a number")?.into())
}

fn parseint(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (text, base) = (args.value(0)?, args.number(1)?);
    let Some(text) = text.as_str() else {
        return Err(Failure::Argument(0, format!("first argument must be a string, not {}", text.ty())));
    };
    let Some(radix) = base.to_u64().filter(|base| (2..=62).contains(base)) else {
        return Err(Failure::Argument(1, "base must be a whole number between 2 and 62 inclusive".to_string()));
    };
    let refused = || Failure::Argument(0, format!("cannot parse {} as a base {radix} integer", quoted(text)));
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.is_empty() || digits.len() > MAX_PARSED_DIGITS {
        return Err(refused());
    }
    let mut value = UBig::ZERO;
    for byte in digits.bytes() {
        // Up to base 36 both cases of a letter are the same digit, beyond it capitals follow the small letters.
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'z' => byte - b'a' + 10,
            b'A'..=b'Z' if radix <= 36 => byte - b'A' + 10,
            b'A'..=b'Z' => byte - b'A' + 36,
            _ => return Err(refused()),
        };
        if u64::from(digit) >= radix {
            return Err(refused());
        }
        value = value * radix + digit;
    }
    let value = IBig::from(value);
    Ok(Number::from_integer(&if negative { -value } else { value }).into())
}

#[cfg(test)]
mod tests {
    use super::super::support::check;
    use super::*;

    fn n(text: &str) -> Value {
        Number::parse(text).unwrap().into()
    }

    #[test]
    fn results() {
        for (name, arguments, expected) in [
            ("abs", vec![n("-3.5")], "3.5"),
            ("ceil", vec![n("1.2")], "2"),
            ("floor", vec![n("-1.2")], "-2"),
            ("signum", vec![n("-12")], "-1"),
            ("signum", vec![n("0")], "0"),
            ("signum", vec!["12".into()], "1"),
            (
                "signum",
                vec![n("0.1")],
                "Call to function \"signum\" failed: value must be a whole number, between -9223372036854775808 and \
                 9223372036854775807.",
            ),
            ("max", vec![n("1"), n("9"), n("4")], "9"),
            ("min", vec![n("3"), n("-2"), n("8")], "-2"),
            ("max", vec![], "Call to function \"max\" failed: must pass at least one number."),
            ("log", vec![n("16"), n("2")], "4"),
            ("log", vec![n("10"), n("3")], "2.095903274289385"),
            ("log", vec![n("-1"), n("3")], "Call to function \"log\" failed: the result is not a number."),
            ("pow", vec![n("2"), n("10")], "1024"),
            ("pow", vec![n("2"), n("0.5")], "1.4142135623730951"),
        ] {
            check(name, &arguments, expected);
        }
    }

    #[test]
    fn parseint_reads_all_bases() {
        for (text, base, expected) in [
            ("ff", 16, "255"),
            ("FF", 16, "255"),
            ("-1011", 2, "-11"),
            ("+12", 10, "12"),
            ("z", 62, "35"),
            ("Z", 62, "61"),
            ("36893488147419103232", 10, "36893488147419103232"),
            ("12", 2, "Invalid value for \"number\" parameter: cannot parse \"12\" as a base 2 integer."),
            ("", 10, "Invalid value for \"number\" parameter: cannot parse \"\" as a base 10 integer."),
            ("1", 63, "Invalid value for \"base\" parameter: base must be a whole number between 2 and 62 inclusive."),
        ] {
            check("parseint", &[text.into(), base.into()], expected);
        }
        let expected = "Invalid value for \"number\" parameter: first argument must be a string, not number.";
        check("parseint", &[n("12"), 10.into()], expected);
    }
}
