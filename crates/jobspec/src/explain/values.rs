//! Wrong values: the expected type of the attribute, and the probable intention.

use super::outline::Literal;
use crate::parse::schema::Kind;
use encamp_model::duration::parse_duration;

/// The problem of a value, and a hint.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Advice {
    /// In plain words; the original text where there are none.
    pub message: Option<String>,
    pub help: Option<String>,
    /// The value to write, as in a file.
    pub value: Option<Value>,
}

/// A value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    /// The one that was probably meant.
    Meant(String),
    /// The nearest one that is allowed.
    Nearest(String),
}

/// A hint, and the value that was probably meant.
type Hint = (String, Option<Value>);

/// Attributes that are numbers of megabytes.
const MEGABYTES: [&str; 7] = ["memory", "memory_max", "secrets", "disk", "size", "max_file_size", "mbits"];

/// Advice about a value that does not fit its attribute. `source` is its text in the file.
pub(crate) fn wrong_value(name: &str, kind: Kind, literal: &Literal, source: &str) -> Advice {
    let message = takes(kind).map(|takes| match what(literal) {
        Some(what) => format!("{name} takes {takes}, not {what}"),
        None => format!("{name} takes {takes}"),
    });
    let meant = |value: String| Some(Value::Meant(value));
    let hint: Option<Hint> = match (kind, literal) {
        (Kind::Int { .. }, Literal::Text(text)) => Some(number_help(name, text)),
        (Kind::Int { min, max, .. }, Literal::Number(text)) if max <= i128::from(u32::MAX) => {
            let nearest = text.parse::<i128>().ok().map(|n| Value::Nearest(n.clamp(min, max).to_string()));
            Some((format!("write a whole number from {min} to {max}"), nearest))
        }
        (Kind::Int { .. }, Literal::Number(text)) if text.contains('.') => {
            let nearest = text.parse::<f64>().ok().map(|n| Value::Nearest(n.ceil().to_string()));
            Some(("write a number without a fraction".to_owned(), nearest))
        }
        (Kind::Duration, Literal::Text(text)) => Some(duration_help(name, text)),
        (Kind::Duration, Literal::Number(text)) => {
            Some((format!("write {name} = \"{text}s\" for {text} seconds"), meant(format!("\"{text}s\""))))
        }
        (Kind::Duration, _) => Some((format!("write a string such as {name} = \"30s\""), None)),
        (Kind::Strings | Kind::Ports, Literal::Text(_) | Literal::Number(_)) => {
            Some((format!("put it into a list: {name} = [{source}]"), meant(format!("[{source}]"))))
        }
        (Kind::Bool | Kind::OptBool, Literal::Text(text)) => Some(match text.to_lowercase().as_str() {
            "yes" | "on" | "y" => (format!("write {name} = true"), meant("true".to_owned())),
            "no" | "off" | "n" => (format!("write {name} = false"), meant("false".to_owned())),
            _ => ("write true or false, without quotes".to_owned(), None),
        }),
        (Kind::Str | Kind::OptStr, Literal::List) => Some((
            "give one string; join(\",\", [...]) or jsonencode([...]) make one of a list".to_owned(),
            meant(format!("join(\",\", {source})")),
        )),
        (Kind::Str | Kind::OptStr, Literal::Object) => {
            Some(("give one string; jsonencode({...}) makes one of it".into(), meant(format!("jsonencode({source})"))))
        }
        _ => None,
    };
    let (help, value) = hint.map_or((None, None), |(help, value)| (Some(help), value));
    Advice { message, help, value }
}

/// The values that an attribute of this kind accepts.
pub(crate) fn takes(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Str | Kind::OptStr => "a string",
        Kind::Bool | Kind::OptBool => "true or false",
        Kind::Int { min: 0, max: 255, .. } => "a whole number from 0 to 255",
        Kind::Int { min: -128, max: 127, .. } => "a whole number from -128 to 127",
        Kind::Int { min: 0, max: 65_535, .. } => "a port number from 0 to 65535",
        Kind::Int { .. } => "a whole number",
        Kind::Duration => "a duration such as \"30s\"",
        Kind::Strings => "a list of strings",
        Kind::Ports => "a list of port numbers",
        Kind::StringMap => "a map of strings",
    })
}

fn what(literal: &Literal) -> Option<String> {
    match literal {
        Literal::Text(text) if text.chars().count() <= 40 => Some(format!("the string {text:?}")),
        Literal::Text(_) => Some("a string".to_owned()),
        Literal::Number(text) if text.len() <= 40 => Some(text.clone()),
        Literal::Number(_) => Some("this number".to_owned()),
        Literal::Bool => Some("true or false".to_owned()),
        Literal::List => Some("a list".to_owned()),
        Literal::Object => Some("an object".to_owned()),
        Literal::Other => None,
    }
}

/// Splits `512MB` into the number and the unit.
fn number_and_unit(text: &str) -> Option<(f64, String)> {
    let text = text.trim().replace(['_', ' '], "");
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(at)?;
    Some((number.parse().ok()?, unit.to_lowercase()))
}

fn number_help(name: &str, text: &str) -> Hint {
    let plain = (format!("write {name} = … with a whole number, without quotes"), None);
    let Some((number, unit)) = number_and_unit(text) else { return plain };
    let written = |what: &str, number: f64| {
        (format!("{name} is a number of {what}: write {name} = {number}"), Some(Value::Meant(number.to_string())))
    };
    if MEGABYTES.contains(&name) {
        let factor = match unit.as_str() {
            "k" | "kb" | "kib" => 1.0 / 1024.0,
            "m" | "mb" | "mib" | "" => 1.0,
            "g" | "gb" | "gib" => 1024.0,
            "t" | "tb" | "tib" => 1024.0 * 1024.0,
            _ => return (format!("{name} is a number of MB: write {name} = … without a unit"), None),
        };
        return written("MB", (number * factor).max(1.0).round());
    }
    if name == "cpu" {
        let factor = match unit.as_str() {
            "ghz" | "g" => 1000.0,
            "mhz" | "" => 1.0,
            _ => return ("cpu is a number of MHz; request entire cores with cores = …".to_owned(), None),
        };
        return written("MHz", (number * factor).round());
    }
    let whole = number.fract() == 0.0 && number.abs() < 1e15;
    match whole {
        true => (format!("write {name} = {number}, without quotes and unit"), Some(Value::Meant(number.to_string()))),
        false => plain,
    }
}

/// The duration that was probably meant by an invalid text.
fn duration_help(name: &str, text: &str) -> Hint {
    const UNITS: &str = "units are ns, us, ms, s, m and h, as in \"1h30m\"";
    let plain = (UNITS.to_owned(), None);
    let Some((number, unit)) = number_and_unit(text) else { return plain };
    let meant = match unit.as_str() {
        "" => format!("{number}s"),
        "s" | "sec" | "secs" | "second" | "seconds" => format!("{number}s"),
        "m" | "min" | "mins" | "minute" | "minutes" => format!("{number}m"),
        "h" | "hr" | "hrs" | "hour" | "hours" => format!("{number}h"),
        "d" | "day" | "days" => format!("{}h", number * 24.0),
        "w" | "week" | "weeks" => format!("{}h", number * 24.0 * 7.0),
        "msec" | "millis" | "milliseconds" => format!("{number}ms"),
        _ => return plain,
    };
    if parse_duration(&meant).is_err() {
        return plain;
    }
    let why = match unit.as_str() {
        "" => "a duration needs a unit",
        "d" | "day" | "days" | "w" | "week" | "weeks" => "the largest unit is h",
        _ => "units are written ns, us, ms, s, m and h, without spaces",
    };
    (format!("{why}: write {name} = {meant:?}"), Some(Value::Meant(format!("{meant:?}"))))
}

/// Advice about a number where a duration is meant: it counts nanoseconds.
pub(crate) fn bare_number(name: &str, text: &str) -> String {
    format!("a number without a unit is nanoseconds: write {name} = \"{text}s\" for {text} seconds")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::schema::Kind::{Bool, Duration, Str, Strings};

    #[test]
    fn help_names_what_was_probably_meant() {
        let int = Kind::Int { min: i64::MIN.into(), max: i64::MAX.into(), null: true };
        let text = |t: &str| Literal::Text(t.into());
        for (name, kind, literal, want) in [
            ("memory", int, text("512MB"), "memory is a number of MB: write memory = 512"),
            ("memory", int, text("1.5 GB"), "memory is a number of MB: write memory = 1536"),
            ("memory", int, text("lots"), "write memory = … with a whole number, without quotes"),
            ("cpu", int, text("2GHz"), "cpu is a number of MHz: write cpu = 2000"),
            ("count", int, text("3x"), "write count = 3, without quotes and unit"),
            ("count", int, Literal::Number("1.5".into()), "write a number without a fraction"),
            ("delay", Duration, text("10"), "a duration needs a unit: write delay = \"10s\""),
            ("delay", Duration, text("2d"), "the largest unit is h: write delay = \"48h\""),
            (
                "delay",
                Duration,
                text("5 min"),
                "units are written ns, us, ms, s, m and h, without spaces: write delay = \"5m\"",
            ),
            ("delay", Duration, text("soon"), "units are ns, us, ms, s, m and h, as in \"1h30m\""),
            ("leader", Bool, text("yes"), "write leader = true"),
            ("datacenters", Strings, text("dc1"), "put it into a list: datacenters = [\"dc1\"]"),
            ("user", Str, Literal::List, "give one string; join(\",\", [...]) or jsonencode([...]) make one of a list"),
        ] {
            let advice = wrong_value(name, kind, &literal, "\"dc1\"");
            assert_eq!(advice.help.as_deref(), Some(want));
        }
        let advice = wrong_value("memory", int, &text("512MB"), "");
        assert_eq!(advice.message.unwrap(), "memory takes a whole number, not the string \"512MB\"");
    }
}
