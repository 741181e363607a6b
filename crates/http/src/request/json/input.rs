//! Parses request bodies.

use std::fmt;
use std::sync::OnceLock;

use serde::de::value::{MapDeserializer, SeqDeserializer, StrDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Value;

use encamp_model::api::job::{Job, Task, TaskGroup};
use encamp_model::duration::parse_duration;

/// Why a body is not what it should be; the text of the answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct JsonError(pub String);

impl From<JsonError> for crate::error::Error {
    fn from(e: JsonError) -> Self {
        Self::bad(e.0)
    }
}

/// An error of a body. It tells the types of values, never their texts: these may be secrets that stand in the wrong
/// place.
#[derive(Debug)]
struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Refusal {}

impl de::Error for Refusal {
    fn custom<T: fmt::Display>(message: T) -> Refusal {
        Refusal(message.to_string())
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Refusal {
        Refusal(format!("invalid type: {}, expected {expected}", without_text(found)))
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Refusal {
        Refusal(format!("invalid value: {}, expected {expected}", without_text(found)))
    }
}

/// A value without its text.
fn without_text(found: Unexpected<'_>) -> Unexpected<'_> {
    match found {
        Unexpected::Str(_) => Unexpected::Other("string"),
        Unexpected::Bytes(_) => Unexpected::Other("bytes"),
        other => other,
    }
}

/// The first JSON value of a body. Keys of structures match in any case, an exact match first; unknown ones are
/// ignored.
///
/// # Errors
/// The body is no JSON, or a value has another type.
pub fn decode<T: DeserializeOwned>(body: &[u8]) -> Result<T, JsonError> {
    let mut values = serde_json::Deserializer::from_slice(body).into_iter::<Value>();
    let value = match values.next() {
        Some(Ok(value)) => value,
        None => return Err(JsonError("EOF".into())),
        Some(Err(e)) if e.is_eof() => return Err(JsonError("unexpected EOF".into())),
        Some(Err(e)) => return Err(JsonError(e.to_string())),
    };
    T::deserialize(Loose { value, fields: None }).map_err(|e| JsonError(e.to_string()))
}

/// Whether a text holds more objects, lists, members and elements than that. Counts what stands before and between
/// them.
pub fn holds_more_than(body: &[u8], most: usize) -> bool {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'[' | b'{' | b',' | b':' if !quoted => count += 1,
            _ => {}
        }
    }
    count > most
}

/// A duration of a request: nanoseconds, text, or null. Used with `deserialize_with`.
///
/// # Errors
/// Text that is no duration.
pub fn duration_or_text<'de, D: Deserializer<'de>>(d: D) -> Result<i64, D::Error> {
    use serde::Deserialize;
    match Value::deserialize(d)? {
        Value::Null => Ok(0),
        Value::String(text) if text.is_empty() => Ok(0),
        Value::String(text) => parse_duration(&text).map_err(serde::de::Error::custom),
        v => v.as_i64().ok_or_else(|| serde::de::Error::custom("a duration is a number of nanoseconds, or a text")),
    }
}

/// A value whose structures are found by names in any case.
struct Loose {
    value: Value,
    /// The names of an object that is read as a map, because it keeps members it does not know.
    fields: Option<&'static [String]>,
}

impl Loose {
    fn map<'de, V: Visitor<'de>>(
        members: serde_json::Map<String, Value>,
        names: &[&str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_map(MapDeserializer::new(Loose::named(members, names).into_iter()))
    }

    /// The members with the names of the structure; all of them if it has no names.
    fn named(members: serde_json::Map<String, Value>, names: &[&str]) -> Vec<(String, Loose)> {
        let mut out: Vec<(String, Loose)> = Vec::with_capacity(members.len());
        // Exact names win, wherever they stand.
        let exact: Vec<String> = members.keys().filter(|k| names.contains(&k.as_str())).cloned().collect();
        for (key, value) in members {
            let name = if names.is_empty() || exact.contains(&key) {
                key
            } else {
                match names.iter().find(|n| n.eq_ignore_ascii_case(&key)) {
                    Some(name) if exact.iter().any(|e| e == name) || out.iter().any(|(k, _)| k == name) => continue,
                    Some(name) => (*name).to_string(),
                    None => continue,
                }
            };
            let fields = kept(&name, &value);
            out.push((name, Loose { value, fields }));
        }
        out
    }
}

/// The names of members that are read as maps though they are structures: jobs, groups and tasks.
fn kept(member: &str, value: &Value) -> Option<&'static [String]> {
    match (member, value) {
        ("Job", Value::Object(_)) => Some(known("Job")),
        ("TaskGroups", Value::Array(_)) => Some(known("TaskGroup")),
        ("Tasks", Value::Array(_)) => Some(known("Task")),
        _ => None,
    }
}

fn known(ty: &str) -> &'static [String] {
    static JOB: OnceLock<Vec<String>> = OnceLock::new();
    static GROUP: OnceLock<Vec<String>> = OnceLock::new();
    static TASK: OnceLock<Vec<String>> = OnceLock::new();
    fn names(value: Result<Value, serde_json::Error>, more: &[&str]) -> Vec<String> {
        let members = value.ok().and_then(|v| v.as_object().map(|m| m.keys().cloned().collect::<Vec<_>>()));
        members.into_iter().flatten().chain(more.iter().map(|m| (*m).to_string())).collect()
    }
    match ty {
        "TaskGroup" => GROUP.get_or_init(|| names(serde_json::to_value(TaskGroup::default()), &[])),
        // Not written when it is unset.
        "Task" => TASK.get_or_init(|| names(serde_json::to_value(Task::default()), &["CSIPluginConfig"])),
        _ => JOB.get_or_init(|| names(serde_json::to_value(Job::default()), &[])),
    }
}

impl<'de> IntoDeserializer<'de, Refusal> for Loose {
    type Deserializer = Loose;
    fn into_deserializer(self) -> Loose {
        self
    }
}

impl<'de> Deserializer<'de> for Loose {
    type Error = Refusal;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Array(items) => {
                let fields = self.fields;
                visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(|value| Loose { value, fields })))
            }
            Value::Object(members) => {
                let names: Vec<&str> = self.fields.unwrap_or_default().iter().map(String::as_str).collect();
                Loose::map(members, &names, visitor)
            }
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(b),
            Value::String(text) => visitor.visit_string(text),
            Value::Number(n) => match (n.as_u64(), n.as_i64(), n.as_f64()) {
                (Some(n), ..) => visitor.visit_u64(n),
                (None, Some(n), _) => visitor.visit_i64(n),
                (None, None, n) => visitor.visit_f64(n.unwrap_or(f64::NAN)),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        match self.value {
            Value::Object(members) => Loose::map(members, fields, visitor),
            Value::Null => Loose::map(serde_json::Map::new(), fields, visitor),
            other => {
                let kind = if other.is_array() { Unexpected::Seq } else { Unexpected::Other("a scalar") };
                Err(serde::de::Error::invalid_type(kind, &"an object"))
            }
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        let text = self.value.as_str().unwrap_or_default().to_string();
        visitor.visit_enum(StrDeserializer::<Refusal>::new(&text))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;
    use encamp_model::NodePool;

    #[test]
    fn names_in_any_case_and_only_the_first_value() {
        let pool: NodePool =
            decode(br#"{"name":"lower","NAME":"upper","Meta":{"Key":"v","key":"w"},"Other":{}} trailing"#).unwrap();
        assert!(pool.name == "lower" || pool.name == "upper");
        assert_eq!((pool.meta["Key"].as_str(), pool.meta["key"].as_str()), ("v", "w"));
        let pool: NodePool = decode(br#"{"name":"lower","Name":"exact","description":null}"#).unwrap();
        assert_eq!((pool.name.as_str(), pool.description.as_str()), ("exact", ""));
    }

    #[test]
    fn jobs_keep_their_parts() {
        #[derive(Deserialize)]
        #[serde(rename_all = "PascalCase")]
        struct Body {
            job: Option<Job>,
            #[serde(default)]
            diff: bool,
        }
        let text =
            br#"{"job": {"id": "x", "taskgroups": [{"name": "g", "count": 2, "tasks": [{"name": "t", "driver": "d",
            "config": {"Tasks": 1, "name": "kept"}, "resources": {"cpu": 7}}]}]}, "DIFF": true}"#;
        let body: Body = decode(text).unwrap();
        let job = body.job.unwrap();
        let group = &job.task_groups.as_deref().unwrap()[0];
        let task = &group.tasks.as_deref().unwrap()[0];
        assert!(body.diff && job.other.is_empty() && task.other.is_empty());
        assert_eq!((job.id.as_deref(), group.count, task.driver.as_str()), (Some("x"), Some(2), "d"));
        assert_eq!(task.config.as_ref().unwrap()["name"], "kept");
        assert_eq!(task.resources.as_ref().unwrap().cpu, Some(7));
    }

    #[test]
    fn values_are_counted_outside_of_texts() {
        let text = br#"{"a": [1, 2], "b,[{:\",": "[[[", "c": {}}"#;
        assert!(holds_more_than(text, 8) && !holds_more_than(text, 9));
        assert!(holds_more_than(&b"[".repeat(11), 10) && !holds_more_than(b"", 0));
    }

    #[test]
    fn refusals_do_not_repeat_texts() {
        #[derive(Debug, Deserialize)]
        struct Body {
            #[serde(rename = "Items")]
            _items: std::collections::BTreeMap<String, u8>,
        }
        for body in [r#"{"Items": "hush"}"#, r#"{"Items": {"a": "hush"}}"#, r#""hush""#, r#"{"Items": ["hush"]}"#] {
            let error = decode::<Body>(body.as_bytes()).expect_err(body).0;
            assert!(error.starts_with("invalid type: ") && !error.contains("hush"), "{body}: {error}");
        }
    }

    #[test]
    fn refusals() {
        let error = |text: &[u8]| decode::<NodePool>(text).unwrap_err().0;
        assert_eq!((error(b"  ").as_str(), error(b"{\"Name\":").as_str()), ("EOF", "unexpected EOF"));
        assert!(error(b"{{").contains("key must be a string"), "{}", error(b"{{"));
        for wrong in
            [&br#"{"Name": 1}"#[..], br#"{"NodeIdentityTTL": 1.5}"#, br#"{"CreateIndex": -1}"#, b"[]", b"\"x\""]
        {
            assert!(decode::<NodePool>(wrong).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
    }
}
