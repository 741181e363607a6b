//! Formatting of messages as text and as JSON (`docs/spec/agent-config.md §10.2`). The formatters of
//! `tracing-subscriber` do not write these lines: levels are in brackets, and keys of JSON begin with `@`.

use std::fmt::{self, Write};
use std::time::SystemTime;

use serde_json::{Map, Value as Json};
use tracing::Event;
use tracing::field::{Field, Visit};

use super::level::Level;
use encamp_model::quoted;

/// A message.
pub(super) struct Line {
    time: SystemTime,
    /// The level.
    pub level: Level,
    module: String,
    message: String,
    fields: Vec<(&'static str, Json)>,
    location: Option<String>,
    /// Whether the message is from this program, not from a library.
    own: bool,
}

impl Line {
    /// The message of an event.
    pub(super) fn of(time: SystemTime, event: &Event<'_>) -> Line {
        let meta = event.metadata();
        let mut parts = Parts::default();
        event.record(&mut parts);
        let name = meta.file().and_then(|f| f.rsplit('/').next());
        Line {
            time,
            level: Level::of(*meta.level()),
            module: module(meta.target()),
            message: parts.message,
            fields: parts.fields,
            location: name.map(|n| format!("{n}:{}", meta.line().unwrap_or(0))),
            own: meta.module_path().is_some_and(is_own),
        }
    }

    /// A message of the agent without fields.
    pub(super) fn told(time: SystemTime, message: &str) -> Line {
        let (module, message) = ("agent".into(), message.into());
        Line { time, level: Level::Info, module, message, fields: Vec::new(), location: None, own: true }
    }

    /// Whether the message is included at that level.
    pub(super) fn shown_at(&self, limit: Level) -> bool {
        self.level >= limit && (self.own || self.level >= Level::Warn || limit == Level::Trace)
    }

    /// The line without its end.
    pub(super) fn text(&self, json: bool, location: bool) -> String {
        let location = self.location.as_deref().filter(|_| location);
        if json { self.as_json(location) } else { self.as_text(location) }
    }

    fn time(&self, format: &str) -> String {
        jiff::Timestamp::try_from(self.time).unwrap_or_default().strftime(format).to_string()
    }

    fn as_text(&self, location: Option<&str>) -> String {
        let level = format!("[{}]", self.level.name());
        let mut out = format!("{} {level:7} ", self.time("%Y-%m-%dT%H:%M:%S.%3fZ"));
        // Writing into a String cannot fail.
        let _ = location.map(|l| write!(out, "{l}: "));
        let _ = write!(out, "{}: {}", self.module, plain(&self.message));
        for (i, (name, value)) in self.fields.iter().enumerate() {
            let text = match value {
                Json::String(s) if needs_quotes(s) => quoted(s),
                Json::String(s) => s.clone(),
                other => other.to_string(),
            };
            let _ = write!(out, "{} {name}={text}", if i == 0 { ":" } else { "" });
        }
        out
    }

    fn as_json(&self, location: Option<&str>) -> String {
        let mut out = Map::new();
        out.insert("@level".into(), self.level.name().to_lowercase().into());
        out.insert("@message".into(), self.message.clone().into());
        out.insert("@module".into(), self.module.clone().into());
        out.insert("@timestamp".into(), self.time("%Y-%m-%dT%H:%M:%S.%6fZ").into());
        if let Some(location) = location {
            out.insert("@caller".into(), location.into());
        }
        out.extend(self.fields.iter().map(|(name, value)| ((*name).into(), value.clone())));
        Json::Object(out).to_string()
    }
}

/// Whether a module belongs to this program: its crates are `encamp` and `encamp_<name>`.
fn is_own(module: &str) -> bool {
    module.split("::").next().is_some_and(|c| c == "encamp" || c.starts_with("encamp_"))
}

/// The log name of a module: `client.gc` for `encamp_client::gc`, `agent.start` for `encamp::agent::start`.
fn module(target: &str) -> String {
    match target.strip_prefix("encamp::").or_else(|| target.strip_prefix("encamp_")) {
        Some(inside) => inside.replace("::", "."),
        None if target == "encamp" => "agent".into(),
        None => target.replace("::", "."),
    }
}

/// A message on one line: line feeds and control characters are escaped.
fn plain(text: &str) -> String {
    if !text.contains(char::is_control) {
        return text.into();
    }
    text.chars().map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() }).collect()
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '='))
}

#[derive(Default)]
struct Parts {
    message: String,
    fields: Vec<(&'static str, Json)>,
}

impl Parts {
    fn add(&mut self, field: &Field, value: Json) {
        match (field.name(), value) {
            ("message", Json::String(text)) => self.message = text,
            ("message", other) => self.message = other.to_string(),
            (name, value) => self.fields.push((name, value)),
        }
    }
}

impl Visit for Parts {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, value.into());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, format!("{value:?}").into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, UNIX_EPOCH};

    fn line() -> Line {
        Line {
            time: UNIX_EPOCH + Duration::new(1_795_280_400, 5_678_000),
            level: Level::Info,
            module: "agent".into(),
            message: "message".into(),
            fields: vec![("key", "value".into()), ("text", "a b".into()), ("none", "".into()), ("n", 7.into())],
            location: Some("mod.rs:12".into()),
            own: true,
        }
    }

    #[test]
    fn text_has_time_level_module_and_pairs() {
        let want = "2026-11-21T17:00:00.005Z [INFO]  agent: message: key=value text=\"a b\" none=\"\" n=7";
        assert_eq!(line().text(false, false), want);
        assert!(line().text(false, true).contains("[INFO]  mod.rs:12: agent: message"));
        let two = Line { message: "a\nb\x1b[0m".into(), fields: Vec::new(), ..line() };
        assert!(two.text(false, false).ends_with("agent: a\\nb\\u{1b}[0m"));
    }

    #[test]
    fn json_has_the_same_under_its_own_keys() {
        let json: Json = serde_json::from_str(&line().text(true, true)).expect("JSON");
        assert_eq!(
            json,
            serde_json::json!({
                "@level": "info", "@message": "message", "@module": "agent",
                "@timestamp": "2026-11-21T17:00:00.005678Z", "@caller": "mod.rs:12",
                "key": "value", "text": "a b", "none": "", "n": 7
            })
        );
    }

    #[test]
    fn modules_have_short_names() {
        assert_eq!(
            ["encamp_client::gc", "encamp::agent::start", "encamp", "client.gc", "hyper::proto"].map(module),
            ["client.gc", "agent.start", "agent", "client.gc", "hyper.proto"]
        );
    }

    #[test]
    fn libraries_are_shown_from_warnings_on() {
        let of = |level, own| Line { level, own, ..line() };
        assert!(!of(Level::Info, false).shown_at(Level::Debug));
        assert!(of(Level::Warn, false).shown_at(Level::Debug));
        assert!(of(Level::Trace, false).shown_at(Level::Trace));
        assert!(of(Level::Debug, true).shown_at(Level::Debug));
        assert!(!of(Level::Error, true).shown_at(Level::Off));
    }
}
