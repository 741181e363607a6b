//! Query parameters and their parsing (`docs/spec/http-api.md §4.1`).

use std::borrow::Cow;
use std::fmt;

use axum::http::Uri;

use encamp_model::quoted;

/// Undoes percent encoding; `%` that begins no byte stays as it is. Bytes that are no UTF-8 are replaced.
pub(crate) fn percent_decode(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}

/// Path and query as logs may show them: tokens are hidden.
pub fn without_token(uri: &Uri) -> Cow<'_, str> {
    let whole = uri.path_and_query().map_or(uri.path(), |p| p.as_str());
    let (path, query) = whole.split_once('?').unwrap_or((whole, ""));
    let secret =
        |pair: &str| percent_decode(pair.split_once('=').unwrap_or((pair, "")).0).eq_ignore_ascii_case("token");
    if !query.split('&').any(secret) {
        return Cow::Borrowed(whole);
    }
    let pairs: Vec<&str> = query.split('&').map(|pair| if secret(pair) { "token=<hidden>" } else { pair }).collect();
    Cow::Owned(format!("{path}?{}", pairs.join("&")))
}

/// Why a text is no number or boolean. The texts are those of Nomad's parsers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parser}: parsing {}: {problem}", quoted(text))]
pub struct LiteralError {
    /// The parser of Nomad that refuses it.
    parser: Parser,
    /// The text.
    text: String,
    /// What is wrong with it.
    problem: LiteralProblem,
}

/// What is wrong with the text of a number or boolean.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LiteralProblem {
    /// It is not written as one.
    #[error("invalid syntax")]
    Syntax,
    /// It does not fit the type.
    #[error("value out of range")]
    Range,
}

/// A parser of Nomad, which the texts of errors name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parser {
    /// Decimal integers.
    Atoi,
    /// Booleans.
    Bool,
    /// Numbers with a fraction.
    Float,
    /// Integers.
    Int,
    /// Integers without a sign.
    Uint,
}

impl fmt::Display for Parser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Parser::Atoi => "strconv.Atoi",
            Parser::Bool => "strconv.ParseBool",
            Parser::Float => "strconv.ParseFloat",
            Parser::Int => "strconv.ParseInt",
            Parser::Uint => "strconv.ParseUint",
        })
    }
}

impl LiteralError {
    /// Of a text that is not written as `parser` demands.
    pub(crate) fn syntax(parser: Parser, text: &str) -> LiteralError {
        LiteralError { parser, text: text.into(), problem: LiteralProblem::Syntax }
    }
}

/// Why a parameter of a query has no value of its type. The texts are those of answers.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Failed to parse value of {} ({}) as a {kind}: {source}", quoted(name), source.text)]
pub struct ParameterError {
    /// The name of the parameter.
    name: String,
    /// The name of the type.
    kind: &'static str,
    /// What is wrong with the value.
    source: LiteralError,
}

/// The parameters of a query in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query without its question mark.
    pub fn parse(text: &str) -> Query {
        // Go's parser drops pairs with semicolons.
        let pairs = text.split('&').filter(|p| !p.contains(';'));
        Query(pairs.flat_map(|p| form_urlencoded::parse(p.as_bytes()).into_owned()).collect())
    }

    /// The first value of a parameter; empty when it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.all(name).next().unwrap_or_default()
    }

    /// All values of a parameter.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(k, _)| k == name).map(|(_, v)| v.as_str())
    }

    /// Whether the parameter is given, also without a value.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(k, _)| k == name)
    }

    /// A boolean; missing and empty are `None`.
    ///
    /// # Errors
    /// The value is none of the type.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, ParameterError> {
        self.parsed(name, "bool", parse_bool)
    }

    /// A decimal integer; missing and empty are `None`.
    ///
    /// # Errors
    /// The value is none of the type.
    pub fn int(&self, name: &str) -> Result<Option<i64>, ParameterError> {
        self.parsed(name, "int", |text| number(Parser::Atoi, text, 10))
    }

    /// A decimal unsigned integer; missing and empty are `None`.
    ///
    /// # Errors
    /// The value is none of the type.
    pub(crate) fn uint(&self, name: &str) -> Result<Option<u64>, ParameterError> {
        self.parsed(name, "uint64", decimal_uint)
    }

    fn parsed<T>(
        &self,
        name: &str,
        kind: &'static str,
        parse: impl FnOnce(&str) -> Result<T, LiteralError>,
    ) -> Result<Option<T>, ParameterError> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        parse(text).map(Some).map_err(|source| ParameterError { name: name.into(), kind, source })
    }
}

/// The words for booleans.
///
/// # Errors
/// Any other word.
pub fn parse_bool(text: &str) -> Result<bool, LiteralError> {
    encamp_model::parse_bool(text).ok_or_else(|| LiteralError::syntax(Parser::Bool, text))
}

/// An integer that may begin with a base: `0x`, `0o`, `0b`, `0`; underscores between digits are ignored then.
///
/// # Errors
/// The text is written otherwise, or the number is out of range.
pub fn parse_int(text: &str) -> Result<i64, LiteralError> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = based(digits);
    let fits = || i64::from_str_radix(&format!("{sign}{digits}"), radix);
    whole(Parser::Int, text, &digits, radix, fits)
}

/// As [`parse_int`], without a sign.
///
/// # Errors
/// The text is written otherwise, or the number is out of range.
pub(crate) fn parse_uint(text: &str) -> Result<u64, LiteralError> {
    let (digits, radix) = based(text);
    whole(Parser::Uint, text, &digits, radix, || u64::from_str_radix(&digits, radix))
}

fn based(text: &str) -> (String, u32) {
    let lower = text.to_ascii_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(rest) = lower.strip_prefix(prefix) {
            return (rest.replace('_', ""), radix);
        }
    }
    match lower.strip_prefix('0').filter(|rest| !rest.is_empty()) {
        Some(rest) => (rest.replace('_', ""), 8),
        None => (lower, 10),
    }
}

fn whole<T>(
    parser: Parser,
    text: &str,
    digits: &str,
    radix: u32,
    parse: impl FnOnce() -> Result<T, std::num::ParseIntError>,
) -> Result<T, LiteralError> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(LiteralError::syntax(parser, text));
    }
    parse().map_err(|_| LiteralError { parser, text: text.into(), problem: LiteralProblem::Range })
}

/// A number to a base that is given.
fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(
    parser: Parser,
    text: &str,
    radix: u32,
) -> Result<T, LiteralError> {
    let digits = text.strip_prefix(['-', '+']).filter(|_| parser != Parser::Uint).unwrap_or(text);
    whole(parser, text, digits, radix, || text.parse())
}

/// An unsigned decimal number of a query.
///
/// # Errors
/// The text is written otherwise, or the number is out of range.
pub(crate) fn decimal_uint(text: &str) -> Result<u64, LiteralError> {
    number(Parser::Uint, text, 10)
}

/// A signed decimal number of a query.
///
/// # Errors
/// The text is written otherwise, or the number is out of range.
pub(crate) fn decimal_int(text: &str) -> Result<i64, LiteralError> {
    number(Parser::Int, text, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_hidden() {
        for (given, shown) in [
            ("/v1/jobs", "/v1/jobs"),
            ("/v1/jobs?stale&prefix=token", "/v1/jobs?stale&prefix=token"),
            ("/v1/jobs?a=1&token=s3cret&b=2", "/v1/jobs?a=1&token=<hidden>&b=2"),
            ("/v1/jobs?%74oken=s3cret&Token=s3cret", "/v1/jobs?token=<hidden>&token=<hidden>"),
        ] {
            assert_eq!(without_token(&given.parse().expect("a path")), shown);
        }
    }

    #[test]
    fn queries() {
        let q = Query::parse("a=1&b=%2Fx+y&stale&a=2&filter=Name%20%3D%3D%20%22n%22&&bad;x=1&p=%zz");
        assert_eq!((q.get("a"), q.get("b"), q.get("none"), q.get("p")), ("1", "/x y", "", "%zz"));
        assert!(q.has("stale") && !q.has("x"));
        assert_eq!(q.get("filter"), "Name == \"n\"");
        assert_eq!(q.all("a").collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn numbers_and_booleans() {
        let q = Query::parse("t=T&f=0&x=x&n=-7&u=18446744073709551616&e=");
        assert_eq!(
            (q.bool("t"), q.bool("f"), q.bool("e"), q.bool("none")),
            (Ok(Some(true)), Ok(Some(false)), Ok(None), Ok(None))
        );
        let want = "Failed to parse value of \"x\" (x) as a bool: strconv.ParseBool: parsing \"x\": invalid syntax";
        assert_eq!(q.bool("x").unwrap_err().to_string(), want);
        assert_eq!(q.int("n"), Ok(Some(-7)));
        assert!(q.uint("u").unwrap_err().to_string().ends_with("value out of range"), "{:?}", q.uint("u"));
        assert!(q.uint("n").unwrap_err().to_string().ends_with("strconv.ParseUint: parsing \"-7\": invalid syntax"));
        assert_eq!(
            (parse_uint("0x10"), parse_int("-0b11"), parse_int("010"), parse_int("1_0").is_err()),
            (Ok(16), Ok(-3), Ok(8), true)
        );
    }
}
