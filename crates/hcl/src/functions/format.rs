//! `format` and `formatlist`: the verbs of `docs/spec/jobspec.md §5`.
//!
//! They only look like `printf` of templates (`encamp_template`), which is Go's: here a wrong verb or argument is an
//! error, indexes may stand anywhere, widths count grapheme clusters, and numbers have 512 bits.

use dashu_int::{IBig, Sign};
use thiserror::Error;
use unicode_segmentation::UnicodeSegmentation;

use super::FunctionContext;
use super::json;
use super::support::{Args, Failure, Function, Kind, Text, nullable, p, variadic};
use crate::convert::ConversionError;
use crate::number::Number;
use crate::types::Type;
use crate::value::{MAX_NODES, Value};
use encamp_model::quote::quoted;

/// Largest width and precision.
const MAX_WIDTH: usize = 100_000;

pub(crate) const FUNCTIONS: &[Function] = &[
    variadic("format", &[p("format", Kind::String)], nullable("args", Kind::Any), |args, _| {
        let values: Vec<&Value> = args.from(1).iter().collect();
        Ok(Value::string(format(args.text(0)?, &values)?)?)
    }),
    variadic("formatlist", &[p("format", Kind::String)], nullable("args", Kind::Any), formatlist),
];

/// One conversion of a format text.
#[derive(Debug, Default)]
struct Spec {
    plus: bool,
    minus: bool,
    zero: bool,
    space: bool,
    sharp: bool,
    width: Option<usize>,
    precision: Option<usize>,
    verb: char,
}

/// Why a verb can't show a value.
#[derive(Debug, Error)]
enum Unsupported {
    #[error("null value cannot be formatted")]
    Null,
    #[error("{0} is required")]
    Required(&'static str),
    #[error(transparent)]
    Conversion(#[from] ConversionError),
    #[error(transparent)]
    Json(#[from] json::EncodeError),
}

fn formatlist(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let text = args.text(0)?;
    let values = args.from(1);
    let mut length: Option<(usize, usize)> = None;
    for (value, index) in values.iter().zip(1..) {
        let Some(items) = value.items() else { continue };
        match length {
            None => length = Some((items.len(), index)),
            Some((known, first)) if known != items.len() => {
                let lengths = format!(
                    "argument {index} has length {}, which is inconsistent with argument {first} of length {known}",
                    items.len()
                );
                return Err(Failure::Argument(index, lengths));
            }
            Some(_) => {}
        }
    }
    let mut bytes = 0;
    let mut lines = Vec::new();
    for row in 0..length.map_or(1, |(length, _)| length) {
        let row_values: Vec<&Value> = values
            .iter()
            .map(|value| value.items().map_or(Some(value), |items| items.get(row)))
            .collect::<Option<_>>()
            .unwrap_or_default();
        let line = format(text, &row_values).map_err(|failure| {
            let with_row = |text| format!("error on format iteration {row}: {text}");
            match failure {
                Failure::Call(text) => Failure::Call(with_row(text)),
                Failure::Argument(index, text) => Failure::Argument(index, with_row(text)),
            }
        })?;
        bytes += line.len();
        lines.push(Value::string(line)?);
        if bytes > crate::value::MAX_BYTES || lines.len() > MAX_NODES {
            break;
        }
    }
    Ok(Value::list(Type::String, lines)?)
}

/// Formats the values; argument indexes in failures count the format text as 0.
fn format(text: &str, values: &[&Value]) -> Result<String, Failure> {
    let mut out = Text::default();
    let (mut next, mut used, mut verbs) = (0, 0, false);
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let literal = rest.find('%').unwrap_or(rest.len());
        out.push(rest.get(..literal).unwrap_or_default())?;
        let Some(directive) = rest.get(literal..).filter(|rest| !rest.is_empty()) else { break };
        let start = at + literal;
        let (spec, index, length) = parse(directive, start)?;
        at = start + length;
        if spec.verb == '%' {
            out.push("%")?;
            continue;
        }
        verbs = true;
        let shown = quoted(directive.get(..length).unwrap_or_default());
        let position = index.unwrap_or(next);
        let Some(value) = values.get(position) else {
            let total = values.len();
            let needed = position + 1;
            let text =
                format!("not enough arguments for {shown} at {start}: need index {needed} but have {total} total");
            return Err(Failure::Call(text));
        };
        let formatted = spec.apply(value);
        let formatted = formatted.map_err(|error| format!("unsupported value for {shown} at {start}: {error}"))?;
        out.push(&formatted)?;
        next = position + 1;
        used = used.max(next);
    }
    if used < values.len() {
        let text = match verbs {
            false => "too many arguments; no verbs in format string".to_string(),
            true => format!("too many arguments; only {used} used by format string"),
        };
        return Err(Failure::Argument(used + 1, text));
    }
    Ok(out.into_string())
}

/// Reads a directive from its `%` on: what it asks for, the explicit argument position (from 0), its length in bytes.
fn parse(directive: &str, offset: usize) -> Result<(Spec, Option<usize>, usize), Failure> {
    let mut parser = Directive { rest: directive.get(1..).unwrap_or_default(), offset };
    let mut spec = Spec::default();
    let mut index = None;
    loop {
        let before = parser.rest.len();
        if let Some(position) = parser.index()? {
            index = Some(position);
        }
        if spec.width.is_none() && spec.precision.is_none() {
            parser.flags(&mut spec);
        }
        if parser.rest.len() < before {
            continue;
        }
        if spec.precision.is_none() && spec.width.is_none() {
            spec.width = parser.number()?;
        }
        if parser.rest.len() == before && spec.precision.is_none() {
            spec.precision = parser.precision()?;
        }
        if parser.rest.len() == before {
            break;
        }
    }
    let mut chars = parser.rest.chars();
    spec.verb = chars.next().ok_or_else(|| parser.broken("unterminated format verb"))?;
    let length = directive.len() - chars.as_str().len();
    if !"vtbdoxXeEfgGsq%".contains(spec.verb) {
        let shown = quoted(directive.get(..length).unwrap_or_default());
        let text = format!("unsupported format verb {:?} in {shown} at offset {offset}", spec.verb);
        return Err(Failure::Argument(0, text));
    }
    Ok((spec, index, length))
}

/// What is left of a directive.
struct Directive<'t> {
    rest: &'t str,
    /// Where the directive starts in the format text.
    offset: usize,
}

impl Directive<'_> {
    fn broken(&self, reason: &str) -> Failure {
        Failure::Argument(0, format!("{reason} at offset {}", self.offset))
    }

    fn number(&mut self) -> Result<Option<usize>, Failure> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, after) = self.rest.split_at(end);
        self.rest = after;
        match digits {
            "" => Ok(None),
            digits => match digits.parse() {
                Ok(value) if value <= MAX_WIDTH => Ok(Some(value)),
                _ => Err(self.broken(&format!("number {digits} in format is too large"))),
            },
        }
    }

    /// `[1]`: the position of the argument, from 0.
    fn index(&mut self) -> Result<Option<usize>, Failure> {
        let Some(after) = self.rest.strip_prefix('[') else { return Ok(None) };
        self.rest = after;
        let position = self.number()?.and_then(|position| position.checked_sub(1));
        let position = position.ok_or_else(|| self.broken("argument index must be a positive number"))?;
        self.rest = self.rest.strip_prefix(']').ok_or_else(|| self.broken("unclosed argument index"))?;
        Ok(Some(position))
    }

    fn flags(&mut self, spec: &mut Spec) {
        for (mark, field) in [
            ('+', &mut spec.plus),
            ('-', &mut spec.minus),
            ('0', &mut spec.zero),
            (' ', &mut spec.space),
            ('#', &mut spec.sharp),
        ] {
            if let Some(after) = self.rest.strip_prefix(mark) {
                (*field, self.rest) = (true, after);
            }
        }
    }

    fn precision(&mut self) -> Result<Option<usize>, Failure> {
        let Some(after) = self.rest.strip_prefix('.') else { return Ok(None) };
        self.rest = after;
        Ok(Some(self.number()?.unwrap_or(0)))
    }
}

impl Spec {
    /// The value's text, padded.
    fn apply(&self, value: &Value) -> Result<String, Unsupported> {
        if self.verb == 'v' {
            return self.natural(value);
        }
        if value.is_null() {
            return Err(Unsupported::Null);
        }
        match self.verb {
            't' => match value.convert(&Type::Bool)? {
                Value::Bool(value) => Ok(self.pad(if value { "true" } else { "false" })),
                _ => Err(Unsupported::Required("a bool")),
            },
            'b' | 'd' | 'o' | 'x' | 'X' => {
                let integer = self.number(value)?.to_integer().ok_or(Unsupported::Required("an integer"))?;
                Ok(self.integer(&integer))
            }
            'e' | 'E' | 'f' | 'g' | 'G' => Ok(self.float(&self.number(value)?, self.verb)),
            's' => Ok(self.text(&self.string(value)?)),
            _ => Ok(self.text(&json::quote(&self.string(value)?))),
        }
    }

    fn number(&self, value: &Value) -> Result<Number, Unsupported> {
        match value.convert(&Type::Number)? {
            Value::Number(number) => Ok(number),
            _ => Err(Unsupported::Required("a number")),
        }
    }

    fn string(&self, value: &Value) -> Result<String, Unsupported> {
        match value.convert(&Type::String)? {
            Value::String(text) => Ok(text.to_string()),
            _ => Err(Unsupported::Required("a string")),
        }
    }

    /// `%v`: strings as they are, numbers as `%g`, the rest (and everything with `#`) as JSON.
    fn natural(&self, value: &Value) -> Result<String, Unsupported> {
        match value {
            Value::String(text) if !self.sharp => Ok(self.text(text)),
            Value::Number(number) if !self.sharp => Ok(self.float(number, 'g')),
            other => Ok(self.text(&json::encode(other)?)),
        }
    }

    /// Cuts to the precision and pads to the width, both in grapheme clusters.
    fn text(&self, text: &str) -> String {
        match self.precision {
            Some(precision) => self.pad(&text.graphemes(true).take(precision).collect::<String>()),
            None => self.pad(text),
        }
    }

    fn pad(&self, text: &str) -> String {
        let missing = self.width.unwrap_or(0).saturating_sub(text.graphemes(true).count());
        if missing == 0 {
            return text.to_string();
        }
        let filler = " ".repeat(missing);
        if self.minus { format!("{text}{filler}") } else { format!("{filler}{text}") }
    }

    /// Sign, prefix and digits; zeros for padding go between sign and digits.
    fn signed(&self, negative: bool, prefix: &str, digits: &str, zeros: bool) -> String {
        let sign = match (negative, self.plus, self.space) {
            (true, ..) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        };
        let length = sign.len() + prefix.len() + digits.len();
        let fill = if zeros && self.zero && !self.minus { self.width.unwrap_or(0).saturating_sub(length) } else { 0 };
        self.pad(&format!("{sign}{prefix}{}{digits}", "0".repeat(fill)))
    }

    fn integer(&self, value: &IBig) -> String {
        let (negative, value) = (value.sign() == Sign::Negative, value.clone().into_parts().1);
        let (radix, prefix) = match self.verb {
            'b' => (2, "0b"),
            'o' => (8, "0"),
            'x' => (16, "0x"),
            'X' => (16, "0X"),
            _ => (10, ""),
        };
        let digits = value.in_radix(radix).to_string();
        let digits = if self.verb == 'X' { digits.to_uppercase() } else { digits };
        let leading = self.precision.unwrap_or(0).saturating_sub(digits.len());
        let digits = format!("{}{digits}", "0".repeat(leading));
        self.signed(negative, if self.sharp { prefix } else { "" }, &digits, self.precision.is_none())
    }

    fn float(&self, number: &Number, verb: char) -> String {
        let negative = number.to_string().starts_with('-');
        let text = match verb {
            _ if number.is_infinite() => "Inf".to_string(),
            'f' => number.abs().to_fixed(self.precision.unwrap_or(6)),
            'g' | 'G' => number.abs().to_general(self.precision),
            _ => number.abs().to_scientific(Some(self.precision.unwrap_or(6))),
        };
        let text = if verb.is_ascii_uppercase() { text.replace('e', "E") } else { text };
        self.signed(negative, "", &text, !number.is_infinite())
    }
}

#[cfg(test)]
mod tests {
    use super::super::support::check;
    use super::*;

    fn n(text: &str) -> Value {
        Number::parse(text).unwrap().into()
    }

    #[test]
    fn verbs_and_flags() {
        let tuple = || Value::tuple(vec![1.into(), "a".into()]).unwrap();
        for (text, arguments, expected) in [
            ("%s|%5d|%-4s|%05.2f", vec!["s".into(), n("42"), "ab".into(), n("3.14159")], "s|   42|ab  |03.14"),
            ("%v|%q|%t|%x|%%", vec![tuple(), "q\"q".into(), true.into(), n("255")], "[1,\"a\"]|\"q\\\"q\"|true|ff|%"),
            ("%v %v %v %v", vec!["a".into(), n("1.5"), true.into(), Value::Null], "a 1.5 true null"),
            ("%#v", vec!["a".into()], "\"a\""),
            ("%v %v %v", vec![n("100000"), n("1234567"), n("0.00001")], "100000 1.234567e+06 1e-05"),
            ("%s %s", vec![n("1234567"), false.into()], "1234567 false"),
            ("%02d %+d % d %d", vec![n("5"), n("5"), n("5"), "-7".into()], "05 +5  5 -7"),
            ("%b %o %X %#x %#o %#b", ["5", "8", "255", "255", "8", "5"].map(n).to_vec(), "101 10 FF 0xff 010 0b101"),
            ("%.3d %06d %-6d|", vec![n("7"), n("-42"), n("3")], "007 -00042 3     |"),
            ("%e %E %.1e", vec![n("1234.5"), n("0.00012"), n("9.99")], "1.234500e+03 1.200000E-04 1.0e+01"),
            ("%f %.0f %.0f %8.3f", vec![n("3"), n("2.5"), n("3.5"), n("-1.5")], "3.000000 2 4   -1.500"),
            ("%g %.3g %G", vec![n("0.1"), n("1234.5"), n("1e-7")], "0.1 1.23e+03 1E-07"),
            ("%[2]s %[1]s", vec!["a".into(), "b".into()], "b a"),
            ("%[2]s %[1]s %s", vec!["a".into(), "b".into()], "b a b"),
            ("%[1]05d", vec![n("12")], "00012"),
            ("%.2s|%5.1s|", vec!["日本語".into(), "é!".into()], "日本|    é|"),
            ("%t", vec!["true".into()], "true"),
        ] {
            let arguments: Vec<Value> = std::iter::once(text.into()).chain(arguments).collect();
            check("format", &arguments, expected);
        }
    }

    #[test]
    fn refusals() {
        for (text, arguments, expected) in [
            (
                "%s",
                vec!["a".into(), "b".into()],
                "\"args\" parameter: too many arguments; only 1 used by format string.",
            ),
            ("x", vec!["a".into()], "\"args\" parameter: too many arguments; no verbs in format string."),
            ("%y", vec!["a".into()], "\"format\" parameter: unsupported format verb 'y' in \"%y\" at offset 0."),
            ("%", vec![], "\"format\" parameter: unterminated format verb at offset 0."),
            ("%[0]d", vec![], "\"format\" parameter: argument index must be a positive number at offset 0."),
            ("%999999999d", vec![n("1")], "\"format\" parameter: number 999999999 in format is too large at offset 0."),
        ] {
            let arguments: Vec<Value> = std::iter::once(text.into()).chain(arguments).collect();
            check("format", &arguments, &format!("Invalid value for {expected}"));
        }
        // A verb without its argument is a mistake of the call, not of an argument.
        for (text, arguments, expected) in [
            ("a %s", vec![], "not enough arguments for \"%s\" at 2: need index 1 but have 0 total."),
            ("%d", vec![n("1.5")], "unsupported value for \"%d\" at 0: an integer is required."),
            ("%d", vec!["x".into()], "unsupported value for \"%d\" at 0: a number is required."),
            ("%s", vec![Value::Null], "unsupported value for \"%s\" at 0: null value cannot be formatted."),
        ] {
            let arguments: Vec<Value> = std::iter::once(text.into()).chain(arguments).collect();
            check("format", &arguments, &format!("Call to function \"format\" failed: {expected}"));
        }
    }

    #[test]
    fn lists_in_parallel() {
        let list = |items: &[&str]| Value::tuple(items.iter().map(|item| Value::from(*item)).collect()).unwrap();
        let context = super::super::support::test_context();
        let call = |arguments: Vec<Value>| super::super::call("formatlist", arguments, &context);
        let result = call(vec!["%s-%s".into(), list(&["a", "b"]), "x".into()]).unwrap();
        assert!(result.equals(&list(&["a-x", "b-x"]).convert(&Type::list(Type::String)).unwrap()));
        assert_eq!(call(vec!["%s".into(), list(&[])]).unwrap().items().unwrap().len(), 0);
        assert_eq!(
            call(vec!["%s%s".into(), list(&["a"]), list(&[])]).unwrap_err().to_string(),
            "Invalid value for \"args\" parameter: argument 2 has length 0, which is inconsistent with argument 1 of length 1."
        );
    }
}
