//! Query parameters and their parsing (`docs/spec/http-api.md §4.1`).

use std::borrow::Cow;

use axum::http::Uri;

use encamp_model::quoted;

/// Undoes percent encoding; `%` that begins no byte stays as it is. Bytes that are no UTF-8 are replaced.
pub(crate) fn percent_decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let hex = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16)).and_then(|d| u8::try_from(d).ok());
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut i = 0;
    while let Some(b) = bytes.get(i) {
        match (b, hex(bytes.get(i + 1)), hex(bytes.get(i + 2))) {
            (b'%', Some(high), Some(low)) => {
                out.push(high << 4 | low);
                i += 3;
            }
            _ => {
                out.push(*b);
                i += 1;
            }
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
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

/// The parameters of a query in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// Reads a query without its question mark.
    pub fn parse(text: &str) -> Query {
        let decode = |t: &str| percent_decode(&t.replace('+', " ")).into_owned();
        let pairs = text.split('&').filter(|p| !p.is_empty() && !p.contains(';'));
        Query(pairs.map(|p| p.split_once('=').unwrap_or((p, ""))).map(|(k, v)| (decode(k), decode(v))).collect())
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
    /// The text of the answer.
    pub fn bool(&self, name: &str) -> Result<Option<bool>, String> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let fail = |e| format!("Failed to parse value of {} ({text}) as a bool: {e}", quoted(name));
        parse_bool(text).map(Some).map_err(fail)
    }

    /// A decimal integer; missing and empty are `None`.
    ///
    /// # Errors
    /// The text of the answer.
    pub fn int(&self, name: &str) -> Result<Option<i64>, String> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let fail = |e| format!("Failed to parse value of {} ({text}) as a int: {e}", quoted(name));
        number::<i64>("strconv.Atoi", text, 10).map(Some).map_err(fail)
    }

    /// A decimal unsigned integer; missing and empty are `None`.
    ///
    /// # Errors
    /// The text of the answer.
    pub(crate) fn uint(&self, name: &str) -> Result<Option<u64>, String> {
        let text = self.get(name);
        if text.is_empty() {
            return Ok(None);
        }
        let fail = |e| format!("Failed to parse value of {} ({text}) as a uint64: {e}", quoted(name));
        number::<u64>("strconv.ParseUint", text, 10).map(Some).map_err(fail)
    }
}

/// The words for booleans.
///
/// # Errors
/// The text of Nomad's parser.
pub fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {}: invalid syntax", quoted(text))),
    }
}

/// An integer that may begin with a base: `0x`, `0o`, `0b`, `0`; underscores between digits are ignored then.
///
/// # Errors
/// The text of Nomad's parser.
pub fn parse_int(text: &str) -> Result<i64, String> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = based(digits);
    let fits = || i64::from_str_radix(&format!("{sign}{digits}"), radix);
    whole("strconv.ParseInt", text, &digits, radix, fits)
}

/// As [`parse_int`], without a sign.
///
/// # Errors
/// The text of Nomad's parser.
pub(crate) fn parse_uint(text: &str) -> Result<u64, String> {
    let (digits, radix) = based(text);
    whole("strconv.ParseUint", text, &digits, radix, || u64::from_str_radix(&digits, radix))
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
    parser: &str,
    text: &str,
    digits: &str,
    radix: u32,
    parse: impl FnOnce() -> Result<T, std::num::ParseIntError>,
) -> Result<T, String> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Err(format!("{parser}: parsing {}: invalid syntax", quoted(text)));
    }
    parse().map_err(|_| format!("{parser}: parsing {}: value out of range", quoted(text)))
}

/// A number to a base that is given.
fn number<T: std::str::FromStr<Err = std::num::ParseIntError>>(
    parser: &str,
    text: &str,
    radix: u32,
) -> Result<T, String> {
    let digits = text.strip_prefix(['-', '+']).filter(|_| parser != "strconv.ParseUint").unwrap_or(text);
    whole(parser, text, digits, radix, || text.parse())
}

/// An unsigned decimal number of a query.
///
/// # Errors
/// The text of Nomad's parser.
pub(crate) fn decimal_uint(text: &str) -> Result<u64, String> {
    number("strconv.ParseUint", text, 10)
}

/// A signed decimal number of a query.
///
/// # Errors
/// The text of Nomad's parser.
pub(crate) fn decimal_int(text: &str) -> Result<i64, String> {
    number("strconv.ParseInt", text, 10)
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
        assert_eq!(q.bool("x").unwrap_err(), want);
        assert_eq!(q.int("n"), Ok(Some(-7)));
        assert!(q.uint("u").unwrap_err().ends_with("value out of range"), "{:?}", q.uint("u"));
        assert!(q.uint("n").unwrap_err().ends_with("strconv.ParseUint: parsing \"-7\": invalid syntax"));
        assert_eq!(
            (parse_uint("0x10"), parse_int("-0b11"), parse_int("010"), parse_int("1_0").is_err()),
            (Ok(16), Ok(-3), Ok(8), true)
        );
    }
}
