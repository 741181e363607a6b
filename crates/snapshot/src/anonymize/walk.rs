//! Applies the rules to objects: members are replaced, hidden or dropped.

use serde_json::{Map, Value};

use super::conditions::{Conditions, reference, value_of};
use super::names::{Kind, Names};
use super::rules::{JOB, Key, Rule, Table};
use super::words;

/// Replaces everything in the objects of a cluster.
pub(crate) struct Walk<'a> {
    /// The replacements.
    pub names: Names,
    /// Constraints and affinities.
    pub conditions: Conditions<'a>,
    /// The common scope of hidden texts: the job.
    scope: String,
}

/// The text of a member.
pub(crate) fn member<'v>(object: &'v Map<String, Value>, name: &str) -> &'v str {
    object.get(name).and_then(Value::as_str).unwrap_or_default()
}

impl<'a> Walk<'a> {
    /// Starts with these.
    pub(crate) fn new(names: Names, conditions: Conditions<'a>) -> Walk<'a> {
        Walk { names, conditions, scope: String::new() }
    }

    /// An object of a job: what is hidden in it is hidden alike in all versions and allocations of the job.
    pub(crate) fn object_of_job(&mut self, table: &Table, object: &mut Map<String, Value>, namespace: &str, job: &str) {
        let before = std::mem::replace(&mut self.scope, format!("{namespace}\n{job}"));
        self.object(table, object);
        self.scope = before;
    }

    /// The members of an object.
    pub(crate) fn object(&mut self, table: &Table, object: &mut Map<String, Value>) {
        for (name, mut value) in std::mem::take(object) {
            let known = table.members.iter().find(|(member, _)| *member == name);
            let stays = match (known, &table.other) {
                (Some((_, Rule::Drop)), _) => false,
                (Some((_, rule)), _) => {
                    self.apply(rule, &mut value);
                    true
                }
                (None, Rule::Drop) => numbers_only(&mut value),
                (None, rule) => {
                    self.apply(rule, &mut value);
                    true
                }
            };
            if stays {
                object.insert(name, value);
            }
        }
    }

    /// A value.
    fn apply(&mut self, rule: &Rule, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(n) => {
                if matches!(rule, Rule::Free) {
                    let text = n.to_string();
                    *value = Value::String(self.names.secret(&self.scope, &text));
                }
            }
            Value::String(text) => *text = self.text(rule, text),
            Value::Array(items) if matches!(rule, Rule::Datacenters) => {
                let patterns: Vec<String> = items.iter().filter_map(|i| i.as_str().map(str::to_string)).collect();
                *items = self.conditions.datacenters(&mut self.names, &patterns).into_iter().map(Value::from).collect();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.apply(rule, item)),
            Value::Object(object) => self.entries(rule, object),
        }
    }

    fn entries(&mut self, rule: &Rule, object: &mut Map<String, Value>) {
        match rule {
            Rule::In(table) => self.object(table, object),
            Rule::Job => {
                let (namespace, id) = (member(object, "Namespace").to_string(), member(object, "ID").to_string());
                self.object_of_job(&JOB, object, &namespace, &id);
            }
            Rule::Map(key, inner) => self.map(*key, inner, object),
            Rule::Attributes => {
                for (key, value) in std::mem::take(object) {
                    let value = self.names.value(value.as_str().unwrap_or_default());
                    object.insert(self.names.attribute_key(&key), Value::from(value));
                }
            }
            Rule::Conditions | Rule::DeviceConditions => {
                let text = |name| member(object, name).to_string();
                let condition = (text("LTarget"), text("Operand"), text("RTarget"));
                let (left, operand, right) = match rule {
                    Rule::Conditions => self.conditions.rename(&mut self.names, &condition),
                    _ => self.conditions.rename_device(&mut self.names, &condition),
                };
                for (name, text) in [("LTarget", left), ("Operand", operand), ("RTarget", right)] {
                    object.insert(name.to_string(), Value::from(text));
                }
            }
            Rule::Spreads => self.spread(object),
            Rule::Free => {
                for (key, mut value) in std::mem::take(object) {
                    self.apply(rule, &mut value);
                    let key = if words::config_key(&key) { key } else { self.names.name(Kind::Key, &key) };
                    object.insert(key, value);
                }
            }
            Rule::Keep => {}
            _ => object.values_mut().for_each(|value| self.apply(rule, value)),
        }
    }

    fn map(&mut self, key: Key, inner: &Rule, object: &mut Map<String, Value>) {
        for (name, mut value) in std::mem::take(object) {
            match inner {
                Rule::Drop => value = Value::Null,
                _ => self.apply(inner, &mut value),
            }
            let name = match key {
                Key::Name(kind) => self.text(&Rule::Name(kind), &name),
                Key::Word => self.names.name(Kind::Word, &name),
                Key::Id => self.names.id(&name),
                Key::Meta => self.names.meta_key(&name),
            };
            object.insert(name, value);
        }
    }

    fn spread(&mut self, object: &mut Map<String, Value>) {
        let attribute = member(object, "Attribute").to_string();
        if let Some(Value::Array(targets)) = object.get_mut("SpreadTarget") {
            for target in targets.iter_mut().filter_map(Value::as_object_mut) {
                let value = value_of(&mut self.names, &attribute, member(target, "Value"));
                target.insert("Value".into(), value.into());
            }
        }
        let attribute = reference(&mut self.names, &attribute);
        object.insert("Attribute".into(), attribute.into());
    }

    fn text(&mut self, rule: &Rule, text: &str) -> String {
        let names = &mut self.names;
        match rule {
            Rule::Keep => text.to_string(),
            Rule::Plain if words::plain_text(text, words::harmless) => text.to_string(),
            Rule::Hardware => self.conditions.hardware(names, text),
            Rule::Word => names.name(Kind::Word, text),
            Rule::Name(Kind::Volume) => indexed(names, text),
            Rule::Name(Kind::Port) if text.bytes().all(|b| b.is_ascii_digit()) => text.to_string(),
            Rule::Name(Kind::Task) => match mesh_task(text) {
                Some((prefix, service)) => format!("{prefix}{}", names.name(Kind::Service, service)),
                None => names.name(Kind::Task, text),
            },
            Rule::Name(kind) => names.name(*kind, text),
            Rule::Id => names.id(text),
            Rule::JobId => job_id(names, text),
            Rule::Value => names.value(text),
            Rule::Address => names.address(text),
            Rule::NetworkMode => match text.strip_prefix("cni/") {
                Some(network) => format!("cni/{}", names.name(Kind::Word, network)),
                None => names.name(Kind::Word, text),
            },
            Rule::Reference => reference(names, text),
            Rule::TaskKind => match text.split_once(':') {
                Some((kind, service)) => {
                    format!("{}:{}", names.name(Kind::Word, kind), names.name(Kind::Service, service))
                }
                None => names.name(Kind::Word, text),
            },
            _ => names.secret(&self.scope, text),
        }
    }
}

/// Leaves numbers and truth values and what holds them; whether anything stays.
fn numbers_only(value: &mut Value) -> bool {
    match value {
        Value::Number(_) | Value::Bool(_) => true,
        Value::Null | Value::String(_) => false,
        Value::Array(items) => {
            items.retain_mut(numbers_only);
            true
        }
        Value::Object(object) => {
            object.retain(|_, value| numbers_only(value));
            true
        }
    }
}

/// The ID of a job: those of jobs made by another one begin with its ID.
pub(crate) fn job_id(names: &mut Names, id: &str) -> String {
    let made = ["/dispatch-", "/periodic-"].into_iter().find_map(|sep| Some((id.split_once(sep)?, sep)));
    let Some(((parent, rest), separator)) = made else { return names.name(Kind::Job, id) };
    let digits = rest.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-');
    let rest = if digits { rest.to_string() } else { names.name(Kind::Job, rest) };
    format!("{}{separator}{rest}", names.name(Kind::Job, parent))
}

/// A name, with the index of an allocation behind it if it has one.
fn indexed(names: &mut Names, name: &str) -> String {
    let index = name.rfind('[').filter(|_| name.ends_with(']'));
    let (base, index) = name.split_at(index.unwrap_or(name.len()));
    match index.trim_matches(['[', ']']).bytes().all(|b| b.is_ascii_digit()) {
        true => format!("{}{index}", names.name(Kind::Volume, base)),
        false => names.name(Kind::Volume, name),
    }
}

/// The name of an allocation: ID or name of the job, group, index.
pub(crate) fn allocation_name(names: &mut Names, name: &str, group: &str) -> String {
    let (base, index) = name.split_at(name.rfind('[').unwrap_or(name.len()));
    let digits = index.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'[' | b']'));
    match base.strip_suffix(group).and_then(|b| b.strip_suffix('.')).filter(|_| digits) {
        Some(job) => format!("{}.{}{index}", job_id(names, job), names.name(Kind::Group, group)),
        None => names.name(Kind::Key, name),
    }
}

/// The prefix in the names of tasks of the service mesh, and the name of the service.
fn mesh_task(name: &str) -> Option<(&'static str, &str)> {
    let prefixes = ["connect-proxy-", "connect-ingress-", "connect-terminating-", "connect-mesh-"];
    prefixes.into_iter().find_map(|prefix| Some((prefix, name.strip_prefix(prefix)?)))
}
