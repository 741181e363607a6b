//! Jobs as API JSON, read the way Nomad's decoder reads it: names in any case, unknown members ignored, and its
//! error texts (`docs/spec/jobspec.md §2`).

mod scan;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use thiserror::Error;

use encamp_model::api::job::{Job, Task, TaskGroup};
pub use scan::{Kind, SyntaxError};
use scan::{Node, document};

/// A text is no job in API JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Failed to parse JSON job: {reason}")]
pub struct JobJsonError {
    /// The reason.
    #[source]
    pub reason: JobJsonReason,
}

/// Why a text is no job in API JSON; displays as Nomad's decoder does.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum JobJsonReason {
    /// The text is no JSON document.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// The document is none of a job.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The payload is not in base64: the offset of the byte that does not fit.
    #[error("illegal base64 data at input byte {0}")]
    Payload(usize),
}

/// Reads `{"Job": {…}}` or the job itself.
///
/// # Errors
/// The body is no JSON, or none of a job.
pub fn parse_json(body: &[u8]) -> Result<Job, JobJsonError> {
    decode(body).map_err(|reason| JobJsonError { reason })
}

fn decode(body: &[u8]) -> Result<Job, JobJsonReason> {
    let node = document(String::from_utf8_lossy(body).as_bytes())?;
    let wrapped = match &node {
        Node::Object(members) => members.iter().rev().find(|(name, _)| name.eq_ignore_ascii_case("job")),
        Node::Null => None,
        other => return Err(Misfit::Value { found: other.kind(), wanted: "api.Job".to_owned() }.into()),
    };
    // Without a wrapper the type that holds the members has no name.
    let (node, owner) = match wrapped {
        Some((_, Node::Null)) | None => (&node, ""),
        Some((_, inner)) => (inner, "Job"),
    };
    if matches!(node, Node::Null) {
        return Ok(Job::default());
    }
    let place = Place { owner, path: "Job".to_owned() };
    let mut job = Job::deserialize(Reader { node, place: &place, names: Some("Job") })?;
    forget_unknown(&mut job);
    if let Some(payload) = &mut job.payload {
        *payload = base64(payload).map_err(JobJsonReason::Payload)?;
    }
    Ok(job)
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Base64 text as it is written again: without line ends, and without bits behind the last byte. The error is the
/// offset of the byte that does not fit.
fn base64(text: &str) -> Result<String, usize> {
    let mut rest = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\r' | b'\n'));
    let mut out = String::with_capacity(text.len());
    // Characters of the group of four that is being read.
    let mut group = 0;
    while let Some((at, byte)) = rest.next() {
        let Some(digit) = BASE64.iter().position(|known| *known == byte) else {
            // Padding ends the text.
            let unused = match (byte, group) {
                (b'=', 2) => 0x0f,
                (b'=', 3) => 0x03,
                _ => return Err(at),
            };
            if group == 2 {
                match rest.next() {
                    Some((_, b'=')) => {}
                    Some((at, _)) => return Err(at),
                    None => return Err(text.len()),
                }
            }
            if let Some((at, _)) = rest.next() {
                return Err(at);
            }
            let last = out.pop().and_then(|last| BASE64.iter().position(|known| char::from(*known) == last));
            let last = last.and_then(|last| BASE64.get(last & !unused)).copied().unwrap_or(b'A');
            out.push(char::from(last));
            out.push_str(if group == 2 { "==" } else { "=" });
            return Ok(out);
        };
        out.push(BASE64.get(digit).copied().map_or('A', char::from));
        group = (group + 1) % 4;
    }
    if group == 0 { Ok(out) } else { Err(text.len() - group) }
}

/// Takes away the members that no type knows; unlike jobs of a server, those of a client do not keep them.
fn forget_unknown(job: &mut Job) {
    job.other.clear();
    for group in job.task_groups.iter_mut().flatten() {
        group.other.clear();
        group.tasks.iter_mut().flatten().for_each(|task| task.other.clear());
    }
}

/// Why a document does not fit the job.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Misfit {
    /// A member has a value of another type.
    #[error("json: cannot unmarshal {found} into Go struct field {owner}.{path} of type {wanted}")]
    Member {
        /// The value.
        found: Kind,
        /// The object type that the member belongs to; empty for that of a job without a wrapper.
        owner: &'static str,
        /// The names of the members on the way, with dots between them.
        path: String,
        /// The name of the member's type.
        wanted: String,
    },
    /// A value that is no member has another type.
    #[error("json: cannot unmarshal {found} into Go value of type {wanted}")]
    Value {
        /// The value.
        found: Kind,
        /// The name of the type.
        wanted: String,
    },
    /// Any other rule of a type.
    #[error("json: {0}")]
    Rule(String),
}

impl de::Error for Misfit {
    fn custom<T: fmt::Display>(msg: T) -> Self {
        Misfit::Rule(msg.to_string())
    }
}

/// Where a value stands: the object type it is a member of, and the members on the way.
struct Place {
    owner: &'static str,
    path: String,
}

/// Reads a node into whatever type is asked for. Null stands for the zero value of every type.
#[derive(Clone, Copy)]
struct Reader<'n> {
    node: &'n Node,
    place: &'n Place,
    /// The object type, where its field names are not announced because it keeps unknown members.
    names: Option<&'static str>,
}

impl Reader<'_> {
    fn misfit(&self, wanted: &str) -> Misfit {
        let found = match self.node {
            Node::Number(text) if is_integer(wanted) => Kind::Literal(text.clone()),
            node => node.kind(),
        };
        let (Place { owner, path }, wanted) = (self.place, wanted.to_owned());
        if path.is_empty() {
            return Misfit::Value { found, wanted };
        }
        Misfit::Member { found, owner, path: path.clone(), wanted }
    }

    /// Nomad's name of a list type at this place.
    fn list_type(&self) -> &'static str {
        match self.place.path.rsplit('.').next().unwrap_or("") {
            "TaskGroups" => "[]*api.TaskGroup",
            "Tasks" => "[]*api.Task",
            "Constraints" => "[]*api.Constraint",
            "Affinities" => "[]*api.Affinity",
            "Spreads" => "[]*api.Spread",
            "Networks" => "[]*api.NetworkResource",
            "Templates" => "[]*api.Template",
            "Artifacts" => "[]*api.TaskArtifact",
            "VolumeMounts" => "[]*api.VolumeMount",
            "Devices" => "[]*api.RequestedDevice",
            "Services" if self.place.owner == "TaskGroup" || self.place.owner == "Task" => "[]*api.Service",
            "Checks" => "[]api.ServiceCheck",
            "ReservedPorts" | "DynamicPorts" => "[]api.Port",
            _ => "[]string",
        }
    }

    /// Nomad's name of an integer type at this place.
    fn integer_type(&self, plain: &'static str) -> &'static str {
        let name = self.place.path.rsplit('.').next().unwrap_or("");
        let is_duration = match name {
            "Min" | "Max" => self.place.owner == "WaitConfig",
            _ => DURATIONS.contains(&name),
        };
        match (is_duration, name) {
            (true, _) => "time.Duration",
            (_, "Weight") => "int8",
            (_, "Percent") => "uint8",
            (_, "SubmitTime" | "TaggedTime") => "int64",
            (_, "OutboundPort" | "ExcludeOutboundPorts") => "uint16",
            (_, "MaxConnections" | "MaxPendingRequests" | "MaxConcurrentRequests") => "uint32",
            _ => plain,
        }
    }
}

fn is_integer(ty: &str) -> bool {
    ty.starts_with("int") || ty.starts_with("uint") || ty == "time.Duration"
}

/// Whole floats below this are 64-bit integers.
const MAX_WHOLE: f64 = 9_223_372_036_854_775_808.0;

/// Members whose integers are durations.
const DURATIONS: [&str; 21] = [
    "ConnectTimeout",
    "Delay",
    "Grace",
    "HealthTimeout",
    "HealthyDeadline",
    "Interval",
    "KillTimeout",
    "LostAfter",
    "MaxClientDisconnect",
    "MaxDelay",
    "MaxRunDuration",
    "MinHealthyTime",
    "ProgressDeadline",
    "ShutdownDelay",
    "Splay",
    "Stagger",
    "StopAfterClientDisconnect",
    "StopOnClientAfter",
    "TTL",
    "Timeout",
    "VaultGrace",
];

impl<'de> Deserializer<'de> for Reader<'_> {
    type Error = Misfit;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node {
            Node::Null => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::String(text) => visitor.visit_str(text),
            // Numbers without a type are floats of 64 bits; whole ones are shown as integers.
            Node::Number(text) => match text.parse::<f64>() {
                Ok(n) if n.fract() == 0.0 && n.abs() < MAX_WHOLE => visitor.visit_i64(n as i64),
                Ok(n) if n.is_finite() => visitor.visit_f64(n),
                _ => Err(self.misfit("float64")),
            },
            Node::Array(items) => visitor.visit_seq(Items { items: items.iter(), place: self.place }),
            Node::Object(members) => visitor.visit_map(Members::all(members, self.place)),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node {
            Node::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node {
            Node::Null => visitor.visit_bool(false),
            Node::Bool(value) => visitor.visit_bool(*value),
            _ => Err(self.misfit("bool")),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node {
            Node::Null => visitor.visit_str(""),
            Node::String(text) => visitor.visit_str(text),
            _ => Err(self.misfit("string")),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let ty = self.integer_type("int");
        let bounds = if ty == "int8" { i64::from(i8::MIN)..=i64::from(i8::MAX) } else { i64::MIN..=i64::MAX };
        match self.node {
            Node::Null => visitor.visit_i64(0),
            Node::Number(text) => match text.parse::<i64>().ok().filter(|n| bounds.contains(n)) {
                Some(n) => visitor.visit_i64(n),
                None => Err(self.misfit(ty)),
            },
            _ => Err(self.misfit(ty)),
        }
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let ty = self.integer_type("uint64");
        let max = match ty {
            "uint8" => u64::from(u8::MAX),
            "uint16" => u64::from(u16::MAX),
            "uint32" => u64::from(u32::MAX),
            _ => u64::MAX,
        };
        match self.node {
            Node::Null => visitor.visit_u64(0),
            Node::Number(text) => match text.parse::<u64>().ok().filter(|n| *n <= max) {
                Some(n) => visitor.visit_u64(n),
                None => Err(self.misfit(ty)),
            },
            _ => Err(self.misfit(ty)),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        match self.node {
            Node::Null => visitor.visit_seq(Items { items: [].iter(), place: self.place }),
            Node::Array(items) => visitor.visit_seq(Items { items: items.iter(), place: self.place }),
            _ => Err(self.misfit(self.list_type())),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        let members = match self.node {
            Node::Null => &[][..],
            Node::Object(members) => members,
            _ => return Err(self.misfit("map[string]string")),
        };
        // Jobs, groups and tasks keep unknown members, so they are read as maps.
        let names = match self.names.or_else(|| self.place.path.rsplit('.').next().and_then(kept_type)) {
            Some(name) => (name, known_names(name)),
            None => return visitor.visit_map(Members::all(members, self.place)),
        };
        // The outermost object says itself what it is called.
        let owner = if self.names.is_some() { self.place.owner } else { names.0 };
        visitor.visit_map(Members::named(members, self.place, owner, &names.1))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Misfit> {
        let members = match self.node {
            Node::Null => &[][..],
            Node::Object(members) => members,
            _ => return Err(self.misfit(&format!("api.{name}"))),
        };
        let fields: Vec<String> = fields.iter().map(|f| (*f).to_owned()).collect();
        let mut members = Members::named(members, self.place, name, &fields);
        // Members that are no fields are ignored.
        members.list.retain(|(name, ..)| fields.contains(name));
        visitor.visit_map(members)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        visitor.visit_unit()
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Misfit> {
        self.deserialize_string(visitor)
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u128 f32 f64 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

/// The object type of the elements of a list that are read as maps.
fn kept_type(member: &str) -> Option<&'static str> {
    match member {
        "TaskGroups" => Some("TaskGroup"),
        "Tasks" => Some("Task"),
        _ => None,
    }
}

/// The members an object type knows.
fn known_names(ty: &str) -> Vec<String> {
    let value = match ty {
        "TaskGroup" => serde_json::to_value(TaskGroup::default()),
        "Task" => serde_json::to_value(Task::default()),
        _ => serde_json::to_value(Job::default()),
    };
    let mut names: Vec<String> = match value {
        Ok(serde_json::Value::Object(members)) => members.keys().cloned().collect(),
        _ => Vec::new(),
    };
    if ty == "Task" {
        // Not written when it is unset.
        names.push("CSIPluginConfig".to_owned());
    }
    names
}

struct Items<'n> {
    items: std::slice::Iter<'n, Node>,
    place: &'n Place,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Misfit;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Misfit> {
        let Some(node) = self.items.next() else { return Ok(None) };
        seed.deserialize(Reader { node, place: self.place, names: None }).map(Some)
    }
}

/// Members with the names of the type's fields.
struct Members<'n> {
    list: Vec<(String, &'n Node, Place)>,
    next: usize,
}

impl<'n> Members<'n> {
    /// A map: names as they are; the later of two stays.
    fn all(members: &'n [(String, Node)], place: &Place) -> Members<'n> {
        let place = || Place { owner: place.owner, path: place.path.clone() };
        let last: BTreeMap<&str, &Node> = members.iter().map(|(name, node)| (name.as_str(), node)).collect();
        Members { list: last.into_iter().map(|(name, node)| (name.to_owned(), node, place())).collect(), next: 0 }
    }

    /// An object type: names in any case become the field's name; the later of two stays.
    fn named(members: &'n [(String, Node)], place: &Place, owner: &'static str, fields: &[String]) -> Members<'n> {
        let mut list: Vec<(String, &Node, Place)> = Vec::new();
        let mut seen: HashMap<&str, usize> = HashMap::new();
        for (name, node) in members {
            let exact = fields.iter().find(|f| *f == name);
            let field = exact.or_else(|| fields.iter().find(|f| f.eq_ignore_ascii_case(name))).unwrap_or(name);
            let dot = if place.path.is_empty() { "" } else { "." };
            let inner = Place { owner, path: format!("{}{dot}{field}", place.path) };
            let at = *seen.entry(field.as_str()).or_insert(list.len());
            match list.get_mut(at) {
                Some(slot) => *slot = (field.clone(), node, inner),
                None => list.push((field.clone(), node, inner)),
            }
        }
        Members { list, next: 0 }
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Misfit;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Misfit> {
        match self.list.get(self.next) {
            Some((name, ..)) => seed.deserialize(name.as_str().into_deserializer()).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Misfit> {
        let Some((_, node, place)) = self.list.get(self.next) else {
            return Err(de::Error::custom("a value without a name"));
        };
        self.next += 1;
        seed.deserialize(Reader { node, place, names: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_case_and_unknown_members() {
        let job = parse_json(
            br#"{"job": {"id": "x", "NAME": "n", "Later": {"a": [1]}, "taskgroups": [
            {"name": "g", "count": 2, "tasks": [{"Name": "t", "driver": "exec", "Config": {"Tasks": 1.5, "N": 9007199254740993}, "New": true}],
             "Update": {"Stagger": 5, "Nope": 1}}]}}"#,
        )
        .unwrap();
        assert_eq!(job.id.as_deref(), Some("x"));
        assert_eq!(job.name.as_deref(), Some("n"));
        assert!(job.other.is_empty());
        let group = &job.task_groups.as_deref().unwrap()[0];
        assert_eq!(group.count, Some(2));
        assert_eq!(group.update.as_ref().unwrap().stagger, Some(5));
        let task = &group.tasks.as_deref().unwrap()[0];
        assert_eq!(task.driver, "exec");
        assert_eq!(task.config.as_ref().unwrap()["Tasks"], 1.5);
        assert_eq!(task.config.as_ref().unwrap()["N"], 9_007_199_254_740_992i64);
        assert!(group.other.is_empty() && task.other.is_empty());
        let bare = parse_json(br#"{"ID": "y", "Priority": null}"#).unwrap();
        assert_eq!((bare.id.as_deref(), bare.priority), (Some("y"), None));
    }

    #[test]
    fn payloads_are_base64() {
        for (text, want) in [
            ("", Ok("")),
            ("aGk=", Ok("aGk=")),
            ("aGl=", Ok("aGk=")),
            ("QR\n==\r\n", Ok("QQ==")),
            ("abcd", Ok("abcd")),
            ("!", Err(0)),
            ("abcde", Err(4)),
            ("ab", Err(0)),
            ("ab=", Err(3)),
            ("ab=c", Err(3)),
            ("a===", Err(1)),
            ("aGk=x", Err(4)),
        ] {
            assert_eq!(base64(text), want.map(str::to_owned), "{text:?}");
        }
    }

    #[test]
    fn texts_of_refusals() {
        for (text, want) in [
            ("{\"Job\": {\"ID\": \"x\", }", "invalid character '}' looking for beginning of object key string"),
            ("{\"Job\": ", "unexpected end of JSON input"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\": tru}", "invalid character '}' in literal true (expecting 'e')"),
            ("{\"a\": 1.}", "invalid character '}' after decimal point in numeric literal"),
            (
                "{\"Job\": {\"Priority\": \"high\"}}",
                "json: cannot unmarshal string into Go struct field Job.Job.Priority of type int",
            ),
            (
                "{\"Job\": {\"Priority\": 1.5}}",
                "json: cannot unmarshal number 1.5 into Go struct field Job.Job.Priority of type int",
            ),
            (
                "{\"TaskGroups\": [{\"Count\": true}]}",
                "json: cannot unmarshal bool into Go struct field TaskGroup.Job.TaskGroups.Count of type int",
            ),
            (
                "{\"Priority\": \"high\"}",
                "json: cannot unmarshal string into Go struct field .Job.Priority of type int",
            ),
            (
                "{\"Job\": {\"TaskGroups\": [{\"Tasks\": [{\"KillTimeout\": \"5s\"}]}]}}",
                "json: cannot unmarshal string into Go struct field Task.Job.TaskGroups.Tasks.KillTimeout of type time.Duration",
            ),
        ] {
            let refused = parse_json(text.as_bytes()).unwrap_err().to_string();
            assert_eq!(refused, format!("Failed to parse JSON job: {want}"), "{text}");
        }
        let nulls = parse_json(br#"{"TaskGroups": [null, {"Tasks": [null]}], "Meta": {"a": null}}"#).unwrap();
        assert_eq!(nulls.task_groups.unwrap().len(), 2);
        assert_eq!(nulls.meta.unwrap()["a"], "");
        assert!(parse_json(b"{\"ID\": \"x\"} trailing").is_ok());
        assert!(parse_json("[".repeat(100_000).as_bytes()).unwrap_err().to_string().ends_with("exceeded max depth"));
    }
}
