//! Strings: `chomp indent join lower regex_replace replace reverse split strlen strrev substr title trim trimprefix
//! trimspace trimsuffix upper`.

use std::collections::HashSet;

use unicode_segmentation::UnicodeSegmentation;

use super::FunctionContext;
use super::support::{Args, Failure, Function, Kind, Text, function, p, variadic};
use crate::number::Number;
use crate::types::Type;
use crate::value::{MAX_BYTES, MAX_NODES, Value, ValueTooLarge};
use encamp_model::regexp;

const STR: &[super::support::Parameter] = &[p("str", Kind::String)];

pub(crate) const FUNCTIONS: &[Function] = &[
    function("chomp", STR, |args, _| text(args.text(0)?.trim_end_matches(['\r', '\n']))),
    function("indent", &[p("spaces", Kind::Number), p("str", Kind::String)], indent),
    variadic("join", &[p("separator", Kind::String)], p("lists", Kind::Strings), join),
    function("lower", STR, |args, _| Ok(map_chars(args.text(0)?, lower)?)),
    function("upper", STR, |args, _| Ok(map_chars(args.text(0)?, upper)?)),
    function("title", STR, title),
    function(
        "regex_replace",
        &[p("str", Kind::String), p("pattern", Kind::String), p("replace", Kind::String)],
        regex_replace,
    ),
    function("replace", &[p("str", Kind::String), p("substr", Kind::String), p("replace", Kind::String)], replace),
    function("reverse", STR, reverse),
    function("strrev", STR, reverse),
    function("split", &[p("separator", Kind::String), p("str", Kind::String)], split),
    function("strlen", STR, |args, _| Ok(Number::from(args.text(0)?.graphemes(true).count()).into())),
    function("substr", &[p("str", Kind::String), p("offset", Kind::Number), p("length", Kind::Number)], substr),
    function("trim", &[p("str", Kind::String), p("cutset", Kind::String)], |args, _| {
        let cutset: HashSet<char> = args.text(1)?.chars().collect();
        text(args.text(0)?.trim_matches(|c| cutset.contains(&c)))
    }),
    function("trimprefix", &[p("str", Kind::String), p("prefix", Kind::String)], |args, _| {
        let whole = args.text(0)?;
        text(whole.strip_prefix(args.text(1)?).unwrap_or(whole))
    }),
    function("trimsuffix", &[p("str", Kind::String), p("suffix", Kind::String)], |args, _| {
        let whole = args.text(0)?;
        text(whole.strip_suffix(args.text(1)?).unwrap_or(whole))
    }),
    function("trimspace", STR, |args, _| text(args.text(0)?.trim())),
];

fn text(result: &str) -> Result<Value, Failure> {
    Ok(Value::string(result)?)
}

fn indent(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let spaces = " ".repeat(args.int(0, 0, MAX_BYTES as i64)? as usize);
    let mut out = Text::default();
    for (index, line) in args.text(1)?.split('\n').enumerate() {
        if index > 0 {
            out.push("\n")?;
            out.push(&spaces)?;
        }
        out.push(line)?;
    }
    Ok(Value::string(out.into_string())?)
}

fn join(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let separator = args.text(0)?;
    let lists = args.from(1);
    if lists.is_empty() {
        return Err("at least one list is required".into());
    }
    let mut out = Text::default();
    let mut first = true;
    for (list, index) in lists.iter().zip(1..) {
        for (item, position) in list.items().unwrap_or_default().iter().zip(0..) {
            let Some(item) = item.as_str() else {
                let text = if lists.len() == 1 {
                    format!("element {position} is null; cannot concatenate null values")
                } else {
                    format!("element {position} of list {} is null; cannot concatenate null values", index - 1)
                };
                return Err(Failure::Argument(index, text));
            };
            if !first {
                out.push(separator)?;
            }
            first = false;
            out.push(item)?;
        }
    }
    Ok(Value::string(out.into_string())?)
}

fn split(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (separator, whole) = (args.text(0)?, args.text(1)?);
    let parts: Vec<Value> = if separator.is_empty() {
        whole.chars().take(MAX_NODES + 1).map(|c| Value::from(c.encode_utf8(&mut [0; 4]) as &str)).collect()
    } else {
        whole.split(separator).take(MAX_NODES + 1).map(Value::from).collect()
    };
    Ok(Value::list(Type::String, parts)?)
}

fn replace(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (whole, old, new) = (args.text(0)?, args.text(1)?, args.text(2)?);
    let mut out = Text::default();
    let mut end = 0;
    for (start, found) in whole.match_indices(old) {
        out.push(whole.get(end..start).unwrap_or_default())?;
        out.push(new)?;
        end = start + found.len();
    }
    out.push(whole.get(end..).unwrap_or_default())?;
    Ok(Value::string(out.into_string())?)
}

fn regex_replace(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let (whole, template) = (args.text(0)?, args.text(2)?);
    let regex = regexp::compile(args.text(1)?)?;
    let mut out = Text::default();
    let mut end = 0;
    for captures in regex.captures_iter(whole) {
        let Some(found) = captures.get(0) else { continue };
        out.push(whole.get(end..found.start()).unwrap_or_default())?;
        let mut replacement = String::new();
        captures.expand(template, &mut replacement);
        out.push(&replacement)?;
        end = found.end();
    }
    out.push(whole.get(end..).unwrap_or_default())?;
    Ok(Value::string(out.into_string())?)
}

/// The evaluator steps that a call of `regex_replace` costs: every part of the pattern may examine every byte.
pub(crate) fn regex_steps(arguments: &[Value]) -> usize {
    let text = |index: usize| arguments.get(index).and_then(|v: &Value| v.as_str()).unwrap_or_default();
    let weight = regexp::weight(text(1)).unwrap_or(0);
    // Compiling comes to about 20 steps for each part.
    weight.saturating_mul(20).saturating_add(text(0).len().saturating_mul(weight) / 64)
}

fn reverse(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    Ok(Value::string(args.text(0)?.graphemes(true).rev().collect::<String>())?)
}

fn substr(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    let whole = args.text(0)?;
    let (offset, length) = (args.int(1, i64::MIN, i64::MAX)?, args.int(2, i64::MIN, i64::MAX)?);
    let from_end = || whole.graphemes(true).count().saturating_sub(offset.unsigned_abs() as usize);
    // A length of none at all counts only from the start.
    let length = if offset < 0 && length == 0 { -1 } else { length };
    let skip = if offset < 0 { from_end() } else { offset as usize };
    let take = usize::try_from(length).unwrap_or(usize::MAX);
    Ok(Value::string(whole.graphemes(true).skip(skip).take(take).collect::<String>())?)
}

fn map_chars(whole: &str, map: fn(char) -> char) -> Result<Value, ValueTooLarge> {
    Value::string(whole.chars().map(map).collect::<String>())
}

/// The one-to-one lower case of a character.
fn lower(c: char) -> char {
    let mut mapped = c.to_lowercase();
    mapped.next().filter(|_| mapped.next().is_none() || c == '\u{130}').unwrap_or(c)
}

/// The one-to-one upper case of a character: characters whose upper case is several characters stay, unless they have
/// a title case that stands in for it (Greek with iota subscript).
fn upper(c: char) -> char {
    let mut mapped = c.to_uppercase();
    match (mapped.next(), mapped.next()) {
        (Some(one), None) => one,
        _ => match c {
            '\u{1f80}'..='\u{1f87}' | '\u{1f90}'..='\u{1f97}' | '\u{1fa0}'..='\u{1fa7}' => {
                char::from_u32(c as u32 + 8).unwrap_or(c)
            }
            '\u{1fb3}' | '\u{1fc3}' | '\u{1ff3}' => char::from_u32(c as u32 + 9).unwrap_or(c),
            other => other,
        },
    }
}

/// The one-to-one title case: the upper case but for digraphs and Georgian.
fn title_case(c: char) -> char {
    match c {
        '\u{1c4}'..='\u{1c6}' => '\u{1c5}',
        '\u{1c7}'..='\u{1c9}' => '\u{1c8}',
        '\u{1ca}'..='\u{1cc}' => '\u{1cb}',
        '\u{1f1}'..='\u{1f3}' => '\u{1f2}',
        '\u{10d0}'..='\u{10ff}' => c,
        other => upper(other),
    }
}

fn title(args: &Args, _: &FunctionContext) -> Result<Value, Failure> {
    // Words start after everything that is neither letter, digit nor underscore; beyond ASCII only spaces separate.
    let separates = |c: char| {
        if c.is_ascii() { !c.is_ascii_alphanumeric() && c != '_' } else { !c.is_alphanumeric() && c.is_whitespace() }
    };
    let mut previous = ' ';
    let titled = |c: char| {
        let mapped = if separates(previous) { title_case(c) } else { c };
        previous = c;
        mapped
    };
    Ok(Value::string(args.text(0)?.chars().map(titled).collect::<String>())?)
}

#[cfg(test)]
mod tests {
    use super::super::support::check;
    use super::*;

    #[test]
    fn one_string() {
        for (name, input, expected) in [
            ("chomp", "line\n\n", "line"),
            ("chomp", "a\r\nb\r\n\r", "a\r\nb"),
            ("lower", "ÀBCİΣ", "àbciσ"),
            ("upper", "straße éǆᾳ", "STRAßE ÉǄᾼ"),
            ("title", "hello wide world", "Hello Wide World"),
            ("title", "o'neil semi-detached snake_case ǆ été", "O'Neil Semi-Detached Snake_case ǅ Été"),
            ("trimspace", " \u{a0}pad\t\n", "pad"),
            ("strlen", "日本語", "3"),
            ("strlen", "👨‍👩‍👧e\u{301}", "2"),
            ("reverse", "drab", "bard"),
            ("strrev", "ae\u{301}", "\u{e9}a"),
        ] {
            check(name, &[input.into()], expected);
        }
    }

    #[test]
    fn several_strings() {
        for (name, arguments, expected) in [
            ("trim", vec!["--x-y--", "-"], "x-y"),
            ("trimprefix", vec!["v1.2", "v"], "1.2"),
            ("trimsuffix", vec!["a.hcl", ".hcl"], "a"),
            ("trimsuffix", vec!["a.hcl", ".json"], "a.hcl"),
            ("replace", vec!["a.b.c", ".", "-"], "a-b-c"),
            ("replace", vec!["a1b22", "/[0-9]+/", "#"], "a1b22"),
            ("replace", vec!["aé", "", "-"], "-a-é-"),
            ("regex_replace", vec!["a1b22c", "([a-z])([0-9]+)", "$2$1"], "1a22bc"),
            ("regex_replace", vec!["ab", "(?P<first>.)", "<${first}$firstx$$>"], "<a$><b$>"),
            ("regex_replace", vec!["baaac", "a*", "-"], "-b-c-"),
        ] {
            let arguments: Vec<Value> = arguments.into_iter().map(Value::from).collect();
            check(name, &arguments, expected);
        }
    }

    #[test]
    fn substrings_count_clusters_from_either_end() {
        for (offset, length, expected) in [
            (2, 3, "cde"),
            (-2, -1, "ef"),
            (0, -1, "abcdef"),
            (9, 1, ""),
            (-9, 2, "ab"),
            (4, 100, "ef"),
            (1, 0, ""),
            (-2, 0, "ef"),
        ] {
            check("substr", &["abcdef".into(), offset.into(), length.into()], expected);
        }
    }

    #[test]
    fn lines_and_lists() {
        check("indent", &[2.into(), "x\ny\n\nz".into()], "x\n  y\n  \n  z");
        let list = |items: &[&str]| Value::tuple(items.iter().map(|item| Value::from(*item)).collect()).unwrap();
        check("join", &["/".into(), list(&["a", "b"]), list(&["c"]), list(&[])], "a/b/c");
        check("join", &["/".into()], "Call to function \"join\" failed: at least one list is required.");
        let with_null = Value::tuple(vec!["a".into(), Value::Null]).unwrap();
        check(
            "join",
            &["/".into(), with_null],
            "Invalid value for \"lists\" parameter: element 1 is null; cannot concatenate null values.",
        );
        for (separator, whole, parts) in
            [(",", "x,y,,z", &["x", "y", "", "z"] as &[&str]), ("", "aé", &["a", "é"]), (",", "", &[""]), ("", "", &[])]
        {
            let context = super::super::support::test_context();
            let split = super::super::call("split", vec![separator.into(), whole.into()], &context).unwrap();
            assert!(split.equals(&list(parts).convert(&Type::list(Type::String)).unwrap()), "{whole}");
        }
    }

    #[test]
    fn growth_is_bounded() {
        let long = Value::string("a".repeat(1 << 13)).unwrap();
        let refused = "Call to function \"replace\" failed: the value has more than 16777216 bytes of text.";
        check("replace", &[long.clone(), "a".into(), long], refused);
        check(
            "indent",
            &[16_777_000.into(), "a\nb\nc".into()],
            "Call to function \"indent\" failed: the value has more than 16777216 bytes of text.",
        );
    }
}
