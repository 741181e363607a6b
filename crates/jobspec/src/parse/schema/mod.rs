//! The attributes and blocks of a job file, and their names in the API (`docs/spec/jobspec.md §8`).
//!
//! - this file: the types of the tables
//! - [`job`], [`task`], [`service`]: the tables

mod job;
mod service;
mod task;

pub(crate) use job::JOB;

/// How the value of an attribute is read. Nullable kinds accept `null` as "not set".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Str,
    OptStr,
    Bool,
    OptBool,
    /// A whole number within bounds.
    Int {
        min: i128,
        max: i128,
        null: bool,
    },
    /// Nanoseconds, from text such as `10s` or a number.
    Duration,
    /// List of strings.
    Strings,
    /// List of port numbers.
    Ports,
    /// Map of strings.
    StringMap,
}

/// An attribute.
#[derive(Debug)]
pub(crate) struct Attribute {
    pub name: &'static str,
    /// Name in the API; empty where it is the name in camel case.
    json: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// Required, and reported as missing only after everything else in the body was decoded.
    pub required_last: bool,
}

/// How often a block may occur, and where it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurs {
    /// At most once.
    Once,
    /// At most once, with the words of `job`-level blocks for a second one.
    OnceOfType,
    /// A list.
    Many,
    /// A map by label; of two with one label the later one stays.
    ByLabel,
    /// The last one stays.
    Last,
}

/// The content of a block.
#[derive(Debug)]
pub(crate) enum Inside {
    Schema(&'static Schema),
    /// Any attributes, all strings.
    Strings,
    /// The same, which may also be written as an attribute whose value is a map.
    StringsOrMap,
    /// Any attributes, all lists of strings.
    StringLists,
    /// Anything (`docs/spec/jobspec.md §3.3`).
    Free,
    /// `constraint` and `affinity`, which have shorthand attributes.
    Constraint,
    Affinity,
}

/// A block type.
#[derive(Debug)]
pub(crate) struct Block {
    pub name: &'static str,
    /// Name in the API; empty where it is the name in camel case.
    json: &'static str,
    pub occurs: Occurs,
    /// The API's name of the label, for blocks with one.
    pub label: Option<&'static str>,
    pub inside: Inside,
    /// Looked for before everything else in the body, see [`encamp_hcl::body::Expected::first`].
    pub found_first: bool,
}

/// A body.
#[derive(Debug)]
pub(crate) struct Schema {
    pub attributes: &'static [Attribute],
    pub blocks: &'static [Block],
}

impl Attribute {
    /// Name in the API.
    pub(crate) fn json(&self) -> String {
        if self.json.is_empty() { camel_case(self.name) } else { self.json.to_owned() }
    }

    const fn to(self, json: &'static str) -> Attribute {
        Attribute { json, ..self }
    }

    const fn required(self) -> Attribute {
        Attribute { required: true, ..self }
    }

    const fn required_last(self) -> Attribute {
        Attribute { required_last: true, ..self }
    }
}

impl Block {
    /// Name in the API.
    pub(crate) fn json(&self) -> String {
        if self.json.is_empty() { camel_case(self.name) } else { self.json.to_owned() }
    }

    const fn new(name: &'static str, occurs: Occurs, inside: Inside) -> Block {
        Block { name, json: "", occurs, label: None, inside, found_first: false }
    }

    const fn to(self, json: &'static str) -> Block {
        Block { json, ..self }
    }

    const fn labelled(self, label: &'static str) -> Block {
        Block { label: Some(label), ..self }
    }

    const fn occurs(self, occurs: Occurs) -> Block {
        Block { occurs, ..self }
    }

    const fn found_first(self) -> Block {
        Block { found_first: true, ..self }
    }
}

/// `max_parallel` to `MaxParallel`.
fn camel_case(name: &str) -> String {
    let word = |w: &str| {
        let mut chars = w.chars();
        chars.next().map(|c| c.to_ascii_uppercase()).into_iter().chain(chars).collect::<String>()
    };
    name.split('_').map(word).collect()
}

const INT: Kind = Kind::Int { min: i64::MIN as i128, max: i64::MAX as i128, null: false };
const OPT_INT: Kind = Kind::Int { min: i64::MIN as i128, max: i64::MAX as i128, null: true };
const OPT_INT8: Kind = Kind::Int { min: -128, max: 127, null: true };
const UINT8: Kind = Kind::Int { min: 0, max: 255, null: false };
const UINT16: Kind = Kind::Int { min: 0, max: 65_535, null: false };
const OPT_UINT32: Kind = Kind::Int { min: 0, max: u32::MAX as i128, null: true };
const OPT_UINT64: Kind = Kind::Int { min: 0, max: u64::MAX as i128, null: true };

const fn attr(name: &'static str, kind: Kind) -> Attribute {
    Attribute { name, json: "", kind, required: false, required_last: false }
}

const fn body(attributes: &'static [Attribute], blocks: &'static [Block]) -> Schema {
    Schema { attributes, blocks }
}

const fn once(name: &'static str, schema: &'static Schema) -> Block {
    Block::new(name, Occurs::Once, Inside::Schema(schema))
}

const fn many(name: &'static str, json: &'static str, schema: &'static Schema) -> Block {
    Block::new(name, Occurs::Many, Inside::Schema(schema)).to(json)
}

const fn strings(name: &'static str) -> Block {
    Block::new(name, Occurs::Once, Inside::Strings)
}

const fn strings_or_map(name: &'static str) -> Block {
    Block::new(name, Occurs::Once, Inside::StringsOrMap)
}

const fn free(name: &'static str) -> Block {
    Block::new(name, Occurs::Once, Inside::Free)
}

const CONSTRAINT: Block = Block::new("constraint", Occurs::Many, Inside::Constraint).to("Constraints");
const AFFINITY: Block = Block::new("affinity", Occurs::Many, Inside::Affinity).to("Affinities");

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value as Json, json};

    use super::*;

    fn value(kind: Kind) -> Json {
        match kind {
            Kind::Str | Kind::OptStr => json!("x"),
            Kind::Bool | Kind::OptBool => json!(true),
            Kind::Int { .. } | Kind::Duration => json!(7),
            Kind::Strings => json!(["x"]),
            Kind::Ports => json!([7]),
            Kind::StringMap => json!({"k": "x"}),
        }
    }

    /// An object in which every attribute and block is set.
    fn sample(schema: &Schema) -> Map<String, Json> {
        let mut out: Map<String, Json> = schema.attributes.iter().map(|a| (a.json(), value(a.kind))).collect();
        for block in schema.blocks {
            let mut inner = match &block.inside {
                Inside::Schema(inner) => sample(inner),
                Inside::Strings | Inside::StringsOrMap | Inside::Free => Map::from_iter([("k".to_owned(), json!("x"))]),
                Inside::StringLists => Map::from_iter([("k".to_owned(), json!(["x"]))]),
                Inside::Constraint | Inside::Affinity => Map::from_iter([("LTarget".to_owned(), json!("x"))]),
            };
            if let Some(label) = block.label.filter(|l| *l != "Label" || block.name != "scaling") {
                inner.insert(label.to_owned(), json!("x"));
            }
            let value = match block.occurs {
                Occurs::Many => json!([inner]),
                Occurs::ByLabel => json!({"x": inner}),
                Occurs::Once | Occurs::OnceOfType | Occurs::Last => Json::Object(inner),
            };
            out.insert(block.json(), value);
        }
        out
    }

    /// Every member of `part` is in `whole` with the same value.
    fn missing(part: &Json, whole: &Json, path: &str, out: &mut Vec<String>) {
        match (part, whole) {
            (Json::Object(p), Json::Object(w)) => {
                for (k, v) in p {
                    missing(v, w.get(k).unwrap_or(&Json::Null), &format!("{path}.{k}"), out);
                }
            }
            (Json::Array(p), Json::Array(w)) if p.len() == w.len() => {
                p.iter().zip(w).for_each(|(p, w)| missing(p, w, path, out));
            }
            _ if part == whole => {}
            _ => out.push(path.to_owned()),
        }
    }

    #[test]
    fn names_are_those_of_the_api() {
        let mut whole = sample(&JOB);
        // Blocks that the end of the parse moves into tasks.
        for name in ["Tasks", "Vault", "Secrets"] {
            whole.remove(name);
        }
        let Some(Json::Array(groups)) = whole.get_mut("TaskGroups") else { panic!("no groups") };
        for group in groups.iter_mut().filter_map(Json::as_object_mut) {
            group.remove("Vault");
            group.remove("Secrets");
        }
        let whole = Json::Object(whole);
        let job: encamp_model::api::job::Job = serde_json::from_value(whole.clone()).unwrap();
        assert!(job.other.is_empty(), "{:?}", job.other);
        let mut lost = Vec::new();
        missing(&whole, &serde_json::to_value(job).unwrap(), "", &mut lost);
        assert!(lost.is_empty(), "{lost:?}");
    }
}
