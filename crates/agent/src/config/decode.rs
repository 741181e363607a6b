//! Conversion of a file's tree to typed settings: a serde deserializer with positions (`docs/spec/agent-config.md §3`).
//!
//! Keys of blocks are case-insensitive; unknown and repeated keys are errors. Repeated blocks are merged; so is a list
//! of objects where a block is expected (as in the JSON form of labelled blocks). Scalars are converted if no
//! information is lost: `"1"` for 1, 1 for `true`, 1 for `"1"`.

use std::fmt::Display;

use serde::de::value::StrDeserializer;
use serde::de::{self, DeserializeSeed, IntoDeserializer, MapAccess, SeqAccess, Visitor};

use encamp_hcl::hcl1::{Item, Node, Pos, Value};
use encamp_model::duration::parse_duration;
use encamp_model::{parse_bool, quoted};

/// Name of the newtype that durations ask for.
pub(super) const DURATION: &str = "$duration";
/// Name of the newtype that ages ask for.
pub(super) const AGE: &str = "$age";
/// Name of the newtype that sizes ask for.
pub(super) const SIZE: &str = "$size";

/// A value that cannot be decoded, and its position.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct DecodeError {
    /// The position, if it is known.
    pub pos: Option<Pos>,
    /// The error message.
    pub message: String,
}

impl de::Error for DecodeError {
    fn custom<T: Display>(message: T) -> DecodeError {
        DecodeError { pos: None, message: message.to_string() }
    }
}

/// Reads settings from a file's tree.
pub(super) fn decode<'de, T: serde::Deserialize<'de>>(root: &'de Node) -> Result<T, DecodeError> {
    T::deserialize(De { parts: vec![root], path: String::new() })
}

/// A value, or several blocks that are one.
struct De<'de> {
    parts: Vec<&'de Node>,
    /// Where the value stands: `client.reserved`.
    path: String,
}

/// A key, its place, and its values.
type Entry<'de> = (&'de str, Pos, Vec<&'de Node>);

impl<'de> De<'de> {
    fn node(&self) -> Result<&'de Node, DecodeError> {
        self.parts.last().copied().ok_or_else(|| de::Error::custom("nothing is given"))
    }

    fn error(&self, message: impl Display) -> DecodeError {
        let pos = self.parts.last().map(|n| n.pos);
        let message = if self.path.is_empty() { message.to_string() } else { format!("{}: {message}", self.path) };
        DecodeError { pos, message }
    }

    fn placed(pos: Pos) -> impl Fn(DecodeError) -> DecodeError {
        move |e| DecodeError { pos: e.pos.or(Some(pos)), ..e }
    }

    /// The bodies of the block.
    fn bodies(&self) -> Result<Vec<&'de [Item]>, DecodeError> {
        let mut out = Vec::new();
        for part in &self.parts {
            match &part.value {
                Value::Object(items) => out.push(items.as_slice()),
                Value::List(list) => {
                    for node in list {
                        match &node.value {
                            Value::Object(items) => out.push(items.as_slice()),
                            other => {
                                return Err(
                                    De { parts: vec![node], path: self.path.clone() }.expected("a block", other)
                                );
                            }
                        }
                    }
                }
                Value::Null => {}
                other => return Err(self.expected("a block", other)),
            }
        }
        Ok(out)
    }

    fn expected(&self, what: &str, found: &Value) -> DecodeError {
        let found = match found {
            Value::Null => "null".into(),
            Value::Bool(b) => b.to_string(),
            Value::Number(n) => n.clone(),
            Value::String(s) => quoted(s),
            Value::List(_) => "a list".into(),
            Value::Object(_) => "a block".into(),
        };
        self.error(format!("expected {what}, found {found}"))
    }

    /// The entries by key, which `known` spells as it is asked for. Keys it doesn't know, and scalars that stand twice
    /// in one body, are errors.
    fn entries(&self, known: impl Fn(&'de str) -> Option<&'de str>) -> Result<Vec<Entry<'de>>, DecodeError> {
        let mut out: Vec<Entry<'de>> = Vec::new();
        let mut wrong: Vec<&Item> = Vec::new();
        for body in self.bodies()? {
            let before: Vec<usize> = out.iter().map(|(_, _, nodes)| nodes.len()).collect();
            for item in body {
                let Some(key) = known(&item.key) else {
                    wrong.push(item);
                    continue;
                };
                let block = |n: &Node| matches!(&n.value, Value::Object(_) | Value::List(_));
                match out.iter().position(|(k, _, _)| *k == key) {
                    None => out.push((key, item.pos, vec![&item.value])),
                    Some(i) => {
                        let Some((_, _, nodes)) = out.get_mut(i) else { continue };
                        let here = nodes.len() > before.get(i).copied().unwrap_or(0);
                        if here && !(block(&item.value) && nodes.last().is_some_and(|n| block(n))) {
                            wrong.push(item);
                        } else {
                            nodes.push(&item.value);
                        }
                    }
                }
            }
        }
        let Some(first) = wrong.first() else { return Ok(out) };
        let keys: Vec<&str> = wrong.iter().map(|i| i.key.as_str()).collect();
        let lead = if self.path.is_empty() { String::new() } else { format!("{} ", self.path) };
        Err(DecodeError { pos: Some(first.pos), message: format!("{lead}unexpected keys {}", keys.join(", ")) })
    }

    fn integer(&self) -> Result<i64, DecodeError> {
        let node = self.node()?;
        let number = match &node.value {
            Value::Number(n) | Value::String(n) => parse_integer(n.trim()),
            _ => None,
        };
        number.ok_or_else(|| self.expected("an integer", &node.value))
    }

    fn text(&self) -> Result<&'de str, DecodeError> {
        let node = self.node()?;
        match &node.value {
            Value::String(s) | Value::Number(s) => Ok(s),
            Value::Bool(b) => Ok(if *b { "true" } else { "false" }),
            other => Err(self.expected("text", other)),
        }
    }

    fn child(&self, key: &str, parts: Vec<&'de Node>) -> De<'de> {
        let path = if self.path.is_empty() { key.to_string() } else { format!("{}.{key}", self.path) };
        De { parts, path }
    }

    fn visit_entries<V: Visitor<'de>>(self, entries: Vec<Entry<'de>>, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_map(Entries { parent: self, entries: entries.into_iter(), next: None })
    }

    /// A duration, which may be below zero; none of an empty text.
    fn age(&self) -> Result<Option<i64>, DecodeError> {
        let node = self.node()?;
        let text = self.text()?;
        let failed = || DecodeError {
            pos: Some(node.pos),
            message: format!("{} can't parse time duration {text}", self.label()),
        };
        match &node.value {
            Value::String(s) if s.is_empty() => Ok(None),
            Value::String(s) => parse_duration(s).map(Some).map_err(|_| failed()),
            _ => Err(failed()),
        }
    }

    /// How errors about a duration name it.
    fn label(&self) -> &str {
        // Nomad uses a shorter label for this one.
        if self.path == "client.gc_interval" { "gc_interval" } else { &self.path }
    }

    fn duration(&self) -> Result<i64, DecodeError> {
        let (node, label, text) = (self.node()?, self.label(), self.text()?);
        let nanos = self.age()?.unwrap_or(0);
        // Telemetry has its own words for durations below zero; see validation.
        if nanos < 0 && !self.path.starts_with("telemetry.") {
            return Err(DecodeError {
                pos: Some(node.pos),
                message: format!("{label} must not be negative, got {text}"),
            });
        }
        Ok(nanos)
    }

    fn size(&self) -> Result<u64, DecodeError> {
        let text = self.text()?;
        parse_size(text).ok_or_else(|| self.error(format!("{} is not a size such as 512, 100MB or 1GiB", quoted(text))))
    }
}

/// `12`, `-3`, `0x1F`.
fn parse_integer(text: &str) -> Option<i64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |d| (-1, d));
    let value = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(hex) => i64::from_str_radix(hex, 16).ok()?,
        None if digits.starts_with(|c: char| c.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    Some(sign * value)
}

/// Bytes of a size text (`docs/spec/agent-config.md §3`): powers of 1000, with `i` of 1024.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit.strip_suffix('b').unwrap_or(&unit);
    let (base, prefix) = unit.strip_suffix('i').map_or((1000_u64, unit), |p| (1024, p));
    let power = match prefix {
        "" if base == 1000 => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    let factor = base.checked_pow(power)?;
    match number.parse::<u64>() {
        Ok(n) => n.checked_mul(factor),
        Err(_) => {
            let bytes = number.parse::<f64>().ok()? * factor as f64;
            (bytes.is_finite() && bytes < u64::MAX as f64).then_some(bytes as u64)
        }
    }
}

impl<'de> de::Deserializer<'de> for De<'de> {
    type Error = DecodeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match &self.node()?.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::String(s) => visitor.visit_borrowed_str(s),
            Value::List(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
            Value::Number(n) => match (parse_integer(n), n.parse::<f64>()) {
                (Some(i), _) => visitor.visit_i64(i),
                (None, Ok(f)) => visitor.visit_f64(f),
                _ => Err(self.error(format!("{n} is too large"))),
            },
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let node = self.node()?;
        match &node.value {
            Value::Bool(b) => visitor.visit_bool(*b),
            Value::Number(s) | Value::String(s) => match parse_bool(s) {
                Some(value) => visitor.visit_bool(value),
                None => Err(self.error(format!("decodeBool: Unknown value for boolean: {}", quoted(s)))),
            },
            other => Err(self.expected("true or false", other)),
        }
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_i64(self.integer()?)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let node = self.node()?;
        let number = match &node.value {
            Value::Number(n) | Value::String(n) => n.trim().parse::<f64>().ok().filter(|f| f.is_finite()),
            _ => None,
        };
        visitor.visit_f64(number.ok_or_else(|| self.expected("a number", &node.value))?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_borrowed_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.node()?.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        match name {
            DURATION => visitor.visit_i64(self.duration()?),
            AGE => match self.age()? {
                Some(nanos) => visitor.visit_i64(nanos),
                None => visitor.visit_unit(),
            },
            SIZE => visitor.visit_u64(self.size()?),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let mut nodes = Vec::new();
        for part in &self.parts {
            match &part.value {
                Value::List(list) => nodes.extend(list),
                Value::Null => {}
                other => return Err(self.expected("a list", other)),
            }
        }
        visitor.visit_seq(Nodes { path: self.path, nodes: nodes.into_iter() })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let entries = self.entries(Some)?;
        self.visit_entries(entries, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        let entries = self.entries(|key| fields.iter().copied().find(|f| f.eq_ignore_ascii_case(key)))?;
        self.visit_entries(entries, visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u32 u64 u128 f32 char bytes byte_buf unit unit_struct tuple tuple_struct enum identifier
    }
}

struct Entries<'de> {
    parent: De<'de>,
    entries: std::vec::IntoIter<Entry<'de>>,
    next: Option<Entry<'de>>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = DecodeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, DecodeError> {
        self.next = self.entries.next();
        let Some((key, _, _)) = &self.next else { return Ok(None) };
        let key: StrDeserializer<'_, DecodeError> = (*key).into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DecodeError> {
        let (key, pos, nodes) = self.next.take().ok_or_else(|| de::Error::custom("a value without a key"))?;
        seed.deserialize(self.parent.child(key, nodes)).map_err(De::placed(pos))
    }
}

struct Nodes<'de> {
    path: String,
    nodes: std::vec::IntoIter<&'de Node>,
}

impl<'de> SeqAccess<'de> for Nodes<'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, DecodeError> {
        let Some(node) = self.nodes.next() else { return Ok(None) };
        let de = De { parts: vec![node], path: self.path.clone() };
        seed.deserialize(de).map(Some).map_err(De::placed(node.pos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_decimal_and_binary_units() {
        for (text, want) in [
            ("0", Some(0)),
            ("1M", Some(1_000_000)),
            ("100GB", Some(100_000_000_000)),
            ("1 KiB", Some(1024)),
            ("1.5Mi", Some(1_572_864)),
            ("12B", Some(12)),
            ("2tb", Some(2_000_000_000_000)),
            ("i", None),
            ("1i", None),
            ("x", None),
            ("-1M", None),
            ("1X", None),
            ("99999999999999T", None),
        ] {
            assert_eq!(parse_size(text), want, "{text}");
        }
    }
}
