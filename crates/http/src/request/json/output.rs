//! Writes objects as JSON for answers of the API: keys of structures in order, numbers of free-form values as floats,
//! some collections never null.
//!
//! The writer of snapshot files (`encamp_snapshot`, `compact`) only looks like this one: it keeps the order and the forms
//! of members, and leaves out those without meaning, which it knows by their types and not by their texts.

use std::fmt::Display;
use std::ops::Range;

use serde::ser::{self, Serialize, Serializer};

/// Free-form values whose numbers are all written as floats: structure and field.
const FLOATS: [(&str, &str); 9] = [
    ("Task", "Config"),
    ("SidecarTask", "Config"),
    ("ConsulProxy", "Config"),
    ("ConsulUpstream", "Config"),
    ("ConsulGatewayProxy", "Config"),
    ("Secret", "Config"),
    ("ScalingPolicy", "Policy"),
    ("ScalingEvent", "Meta"),
    ("ScalingRequest", "Meta"),
];

/// Collections that are never null: structure, field, and what is written for an empty one.
const NEVER_NULL: [(&str, &str, &str); 7] = [
    ("AllocMetric", "NodesAvailable", "{}"),
    ("Node", "CSIControllerPlugins", "{}"),
    ("Node", "CSINodePlugins", "{}"),
    ("Node", "HostVolumes", "{}"),
    ("Node", "Links", "{}"),
    ("NodeListStub", "HostVolumes", "{}"),
    ("TaskEvent", "Details", "{}"),
];

/// The text of a value, without a newline at its end.
///
/// # Errors
/// A value that has no JSON form, such as a map whose keys are no texts.
pub fn to_bytes<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, Error> {
    let mut out = Vec::with_capacity(256);
    value.serialize(Writer { out: &mut out, floats: false })?;
    Ok(out)
}

/// The same text with line breaks, indented by four spaces, and a newline at its end.
pub fn indent(compact: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(compact.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0usize, false, false);
    let line = |out: &mut Vec<u8>, depth: usize| {
        out.push(b'\n');
        out.resize(out.len() + 4 * depth, b' ');
    };
    for (i, b) in compact.iter().enumerate() {
        if in_text {
            in_text = escaped || *b != b'"';
            escaped = !escaped && *b == b'\\';
            out.push(*b);
            continue;
        }
        match b {
            b'{' | b'[' => {
                out.push(*b);
                depth += 1;
                if !matches!(compact.get(i + 1), Some(b'}' | b']')) {
                    line(&mut out, depth);
                }
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if !matches!(i.checked_sub(1).and_then(|p| compact.get(p)), Some(b'{' | b'[')) {
                    line(&mut out, depth);
                }
                out.push(*b);
            }
            b',' => {
                out.push(*b);
                line(&mut out, depth);
            }
            b':' => out.extend_from_slice(b": "),
            b => {
                in_text = *b == b'"';
                out.push(*b);
            }
        }
    }
    out.push(b'\n');
    out
}

/// Why a value has no JSON form.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(String);

impl ser::Error for Error {
    fn custom<T: Display>(msg: T) -> Self {
        Error(msg.to_string())
    }
}

struct Writer<'o> {
    out: &'o mut Vec<u8>,
    /// Numbers become floats.
    floats: bool,
}

impl Writer<'_> {
    /// Scalars have no forms of their own.
    fn plain<T: Serialize>(self, value: T) -> Result<(), Error> {
        serde_json::to_writer(&mut *self.out, &value).map_err(ser::Error::custom)
    }

    fn number<T: Serialize>(self, value: T, float: f64) -> Result<(), Error> {
        if self.floats { self.plain(float) } else { self.plain(value) }
    }
}

impl<'o> Serializer for Writer<'o> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = List<'o>;
    type SerializeTuple = List<'o>;
    type SerializeTupleStruct = List<'o>;
    type SerializeTupleVariant = List<'o>;
    type SerializeMap = Map<'o>;
    type SerializeStruct = Structure<'o>;
    type SerializeStructVariant = Structure<'o>;

    fn serialize_bool(self, v: bool) -> Result<(), Error> {
        self.plain(v)
    }
    fn serialize_i8(self, v: i8) -> Result<(), Error> {
        self.serialize_i64(v.into())
    }
    fn serialize_i16(self, v: i16) -> Result<(), Error> {
        self.serialize_i64(v.into())
    }
    fn serialize_i32(self, v: i32) -> Result<(), Error> {
        self.serialize_i64(v.into())
    }
    fn serialize_i64(self, v: i64) -> Result<(), Error> {
        self.number(v, v as f64)
    }
    fn serialize_u8(self, v: u8) -> Result<(), Error> {
        self.serialize_u64(v.into())
    }
    fn serialize_u16(self, v: u16) -> Result<(), Error> {
        self.serialize_u64(v.into())
    }
    fn serialize_u32(self, v: u32) -> Result<(), Error> {
        self.serialize_u64(v.into())
    }
    fn serialize_u64(self, v: u64) -> Result<(), Error> {
        self.number(v, v as f64)
    }
    fn serialize_f32(self, v: f32) -> Result<(), Error> {
        self.plain(v)
    }
    fn serialize_f64(self, v: f64) -> Result<(), Error> {
        self.plain(v)
    }
    fn serialize_char(self, v: char) -> Result<(), Error> {
        self.plain(v)
    }
    fn serialize_str(self, v: &str) -> Result<(), Error> {
        self.plain(v)
    }
    fn serialize_bytes(self, v: &[u8]) -> Result<(), Error> {
        self.collect_seq(v)
    }
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_unit(self) -> Result<(), Error> {
        self.out.extend_from_slice(b"null");
        Ok(())
    }
    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }
    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.serialize_str(variant)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<(), Error> {
        self.collect_map([(variant, value)])
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<List<'o>, Error> {
        self.out.push(b'[');
        Ok(List { out: self.out, floats: self.floats, first: true })
    }
    fn serialize_tuple(self, len: usize) -> Result<List<'o>, Error> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_struct(self, _: &'static str, len: usize) -> Result<List<'o>, Error> {
        self.serialize_seq(Some(len))
    }
    fn serialize_tuple_variant(self, _: &'static str, _: u32, _: &'static str, len: usize) -> Result<List<'o>, Error> {
        self.serialize_seq(Some(len))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Map<'o>, Error> {
        self.out.push(b'{');
        Ok(Map { out: self.out, floats: self.floats, first: true })
    }
    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Structure<'o>, Error> {
        let start = self.out.len();
        Ok(Structure { out: self.out, floats: self.floats, name, start, fields: Vec::with_capacity(len) })
    }
    fn serialize_struct_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        len: usize,
    ) -> Result<Structure<'o>, Error> {
        self.serialize_struct(name, len)
    }
}

struct List<'o> {
    out: &'o mut Vec<u8>,
    floats: bool,
    first: bool,
}

impl List<'_> {
    fn element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        value.serialize(Writer { out: self.out, floats: self.floats })
    }

    fn close(self) -> Result<(), Error> {
        self.out.push(b']');
        Ok(())
    }
}

impl ser::SerializeSeq for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTuple for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleStruct for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeTupleVariant for List<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.element(value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

struct Map<'o> {
    out: &'o mut Vec<u8>,
    floats: bool,
    first: bool,
}

impl ser::SerializeMap for Map<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        if !std::mem::replace(&mut self.first, false) {
            self.out.push(b',');
        }
        let start = self.out.len();
        key.serialize(Writer { out: self.out, floats: false })?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'0'..=b'9' | b'-') => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
            _ => return Err(Error("the key of a map is no text".into())),
        }
        self.out.push(b':');
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        value.serialize(Writer { out: self.out, floats: self.floats })
    }

    fn end(self) -> Result<(), Error> {
        self.out.push(b'}');
        Ok(())
    }
}

/// A structure: its fields are written one after the other, and put in order at the end.
struct Structure<'o> {
    out: &'o mut Vec<u8>,
    floats: bool,
    name: &'static str,
    start: usize,
    /// Names, and where the values are.
    fields: Vec<(&'static str, Range<usize>)>,
}

impl Structure<'_> {
    fn add<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        let floats = self.floats || FLOATS.contains(&(self.name, key));
        let start = self.out.len();
        value.serialize(Writer { out: self.out, floats })?;
        if let Some((_, _, empty)) = NEVER_NULL.iter().find(|(s, f, _)| *s == self.name && *f == key)
            && self.out.get(start..) == Some(b"null")
        {
            self.out.truncate(start);
            self.out.extend_from_slice(empty.as_bytes());
        }
        self.fields.push((key, start..self.out.len()));
        Ok(())
    }

    /// Writes `Drain` of a node from its drain strategy (`docs/spec/http-api.md §2.1`).
    fn show_drain(&mut self) {
        let drains = self.fields.iter().find(|(k, _)| *k == "DrainStrategy");
        let drains = drains.is_some_and(|(_, r)| self.out.get(r.clone()) != Some(b"null"));
        if let Some((_, range)) = self.fields.iter_mut().find(|(k, _)| *k == "Drain") {
            let start = self.out.len();
            self.out.extend_from_slice(if drains { "true" } else { "false" }.as_bytes());
            *range = start..self.out.len();
        }
    }

    fn close(mut self) -> Result<(), Error> {
        if self.name == "Node" {
            self.show_drain();
        }
        self.fields.sort_by_key(|(name, _)| *name);
        let written = self.out.split_off(self.start);
        self.out.push(b'{');
        for (i, (name, range)) in self.fields.iter().enumerate() {
            if i > 0 {
                self.out.push(b',');
            }
            self.out.push(b'"');
            self.out.extend_from_slice(name.as_bytes());
            self.out.extend_from_slice(b"\":");
            let range = range.start.saturating_sub(self.start)..range.end.saturating_sub(self.start);
            self.out.extend_from_slice(written.get(range).unwrap_or_default());
        }
        self.out.push(b'}');
        Ok(())
    }
}

impl ser::SerializeStruct for Structure<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.add(key, value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

impl ser::SerializeStructVariant for Structure<'_> {
    type Ok = ();
    type Error = Error;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.add(key, value)
    }
    fn end(self) -> Result<(), Error> {
        self.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{DrainStrategy, Job, Node};

    fn text<T: Serialize + ?Sized>(value: &T) -> String {
        String::from_utf8(to_bytes(value).expect("a JSON form")).expect("UTF-8")
    }

    #[test]
    fn keys_are_in_order_and_secrets_are_gone() {
        let mut node = Node { id: "n".into(), secret_id: "s3cret".into(), drain: true, ..Default::default() };
        let written = text(&node);
        assert!(!written.contains("s3cret") && written.contains("\"SecretID\":\"\""), "{written}");
        assert!(written.contains("\"Drain\":false") && written.starts_with("{\"Attributes\":null,"), "{written}");
        node.drain_strategy = Some(DrainStrategy::default());
        assert!(text(&node).contains("\"Drain\":true"));
        let plain: serde_json::Value = serde_json::from_str(&written).expect("JSON");
        let keys: Vec<&String> = plain.as_object().expect("an object").keys().collect();
        let order: Vec<usize> = keys.iter().filter_map(|k| written.find(&format!("\"{k}\":"))).collect();
        assert!(order.is_sorted(), "{order:?}");
    }

    #[test]
    fn numbers_of_free_form_values_are_floats() {
        let job: Job = serde_json::from_value(serde_json::json!({"TaskGroups": [{"Count": 2, "Tasks": [
            {"Name": "t", "Config": {"n": 1, "list": [{"a": -2}], "t": "<&>"}}]}]}))
        .expect("a job");
        let written = text(&job);
        assert!(written.contains(r#""Config":{"list":[{"a":-2.0}],"n":1.0,"t":"<&>"}"#), "{written}");
        assert!(written.contains("\"Count\":2,"), "{written}");
    }

    #[test]
    fn the_same_value_as_a_plain_serializer() {
        let job = Job { id: "j".into(), name: "a \"quoted\" näme\n".into(), ..Default::default() };
        let ours: serde_json::Value = serde_json::from_str(&text(&job)).expect("JSON");
        assert!(text(&Node::default()).contains("\"Links\":{},"));
        assert_eq!(ours, serde_json::to_value(&job).expect("JSON"));
        assert_eq!(text(&std::collections::BTreeMap::from([(7, Some(1.0)), (8, None)])), r#"{"7":1.0,"8":null}"#);
        assert_eq!(text(&(1, "x", [true], ())), r#"[1,"x",[true],null]"#);
    }

    #[test]
    fn indented() {
        let got = String::from_utf8(indent(br#"{"a":[1,{"b":"x,\"{"}],"c":[],"d":{}}"#)).expect("UTF-8");
        let want = "{\n    \"a\": [\n        1,\n        {\n            \"b\": \"x,\\\"{\"\n        }\n    ],\n    \"c\": [],\n    \"d\": {}\n}\n";
        assert_eq!(got, want);
    }
}
