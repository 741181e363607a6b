//! The names that are allowed at a location in a job file, and the other locations where a name is allowed.

use super::outline::Element;
use crate::parse::constraint;
use crate::parse::schema::{Inside, JOB, Kind, Schema};

/// Names listed when no allowed one is near.
const MAX_LISTED: usize = 14;

/// The allowed content of a block.
#[derive(Clone, Copy)]
pub(crate) enum Allowed {
    Schema(&'static Schema),
    /// The fixed attributes of `constraint` and `affinity`.
    Names(&'static [(&'static str, bool)]),
    /// Any attributes.
    Anything,
}

/// The names that the innermost of these blocks may contain; none for unknown blocks.
pub(crate) fn allowed(path: &[&Element]) -> Option<Allowed> {
    let (job, rest) = path.split_first()?;
    if job.kind != "job" {
        return None;
    }
    let mut at = Allowed::Schema(&JOB);
    for element in rest {
        let Allowed::Schema(schema) = at else { return Some(Allowed::Anything) };
        at = inside(&schema.blocks.iter().find(|b| b.name == element.kind)?.inside);
    }
    Some(at)
}

pub(crate) fn inside(inside: &Inside) -> Allowed {
    match inside {
        Inside::Schema(schema) => Allowed::Schema(schema),
        Inside::Constraint => Allowed::Names(&constraint::CONSTRAINT),
        Inside::Affinity => Allowed::Names(&constraint::AFFINITY),
        Inside::Strings | Inside::StringsOrMap | Inside::StringLists | Inside::Free => Allowed::Anything,
    }
}

impl Allowed {
    /// How the value of an attribute is read.
    pub(crate) fn kind(self, name: &str) -> Option<Kind> {
        match self {
            Allowed::Schema(schema) => schema.attributes.iter().find(|a| a.name == name).map(|a| a.kind),
            Allowed::Names(names) => names.iter().find(|(n, _)| *n == name).map(|_| Kind::Str),
            Allowed::Anything => None,
        }
    }

    fn attributes(self) -> Vec<&'static str> {
        match self {
            Allowed::Schema(schema) => schema.attributes.iter().map(|a| a.name).collect(),
            Allowed::Names(names) => names.iter().map(|(n, _)| *n).collect(),
            Allowed::Anything => Vec::new(),
        }
    }

    fn blocks(self) -> Vec<&'static str> {
        match self {
            Allowed::Schema(schema) => schema.blocks.iter().map(|b| b.name).collect(),
            _ => Vec::new(),
        }
    }
}

/// The nearest of some names, if it is near enough to be meant: one edit in short names, more in longer ones.
pub fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let given = shortened(given);
    let limit = (given.chars().count() / 3).clamp(1, 2);
    let scored = names.into_iter().map(|name| (strsim::osa_distance(&given, &shortened(name)), name));
    scored.filter(|(distance, _)| *distance <= limit).min_by_key(|(distance, _)| *distance).map(|(_, name)| name)
}

/// In small letters, and no longer than names are.
fn shortened(name: &str) -> String {
    name.chars().take(64).flat_map(char::to_lowercase).collect()
}

/// The names that other tools use.
const ALIASES: [(&str, &str, Instead); 13] = [
    ("env_vars", "the env block", Instead::Name("env")),
    ("environment", "the env block", Instead::Name("env")),
    ("replicas", "the group's count attribute", Instead::Name("count")),
    ("instances", "the group's count attribute", Instead::Name("count")),
    ("cpus", "the cpu attribute (MHz) or cores of the resources block", Instead::Unknown),
    ("mem", "the memory attribute (MB) of the resources block", Instead::Unknown),
    ("memory_limit", "the memory_max attribute (MB) of the resources block", Instead::Unknown),
    ("depends_on", "the lifecycle block of a task", Instead::Unknown),
    ("healthcheck", "a check block inside of a service block", Instead::Unknown),
    ("health_check", "a check block inside of a service block", Instead::Unknown),
    ("schedule", "the job's periodic block", Instead::Unknown),
    ("labels", "the meta block", Instead::Name("meta")),
    ("expose", "a port block inside of the group's network block", Instead::Unknown),
];
/// Options of task drivers, which go into `config`.
const DRIVER_OPTIONS: [&str; 18] = [
    "args",
    "auth",
    "cap_add",
    "command",
    "devices",
    "dns_servers",
    "entrypoint",
    "force_pull",
    "hostname",
    "image",
    "mount",
    "mounts",
    "network_mode",
    "ports",
    "privileged",
    "run_for",
    "volumes",
    "work_dir",
];

/// What may have been meant by a name that is not allowed where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Another name.
    Name(&'static str),
    /// The same name, as a block.
    Block,
    /// The same name in a block inside of this one.
    Inside(&'static str),
    /// Nothing that is known.
    Unknown,
}

/// The hint about a name that is not allowed where it stands, as an attribute or as a block, and what was meant.
pub(crate) fn instead_of(name: &str, as_block: bool, path: &[&Element]) -> Option<(String, Instead)> {
    let here = allowed(path)?;
    let innermost = path.last()?;
    let (attributes, blocks) = (here.attributes(), here.blocks());
    let unknown = |help: String| Some((help, Instead::Unknown));
    if as_block && attributes.contains(&name) {
        return unknown(format!("{name} is an attribute: write {name} = …"));
    }
    if !as_block && blocks.contains(&name) {
        return Some((format!("{name} is a block: write {name} {{ … }} without the equals sign"), Instead::Block));
    }
    let own = if as_block { &blocks } else { &attributes };
    if let Some(other) = nearest(name, own.iter().copied()) {
        return Some((format!("did you mean {other:?}?"), Instead::Name(other)));
    }
    if innermost.kind == "task" && DRIVER_OPTIONS.contains(&name) {
        let help = format!("{name} is an option of the task driver: put it into the task's config block");
        return Some((help, Instead::Inside("config")));
    }
    if let Some(hint) = elsewhere(name, as_block, path) {
        return Some(hint);
    }
    let other = if as_block { &attributes } else { &blocks };
    if let Some(other) = nearest(name, other.iter().copied()) {
        return unknown(match as_block {
            true => format!("did you mean the attribute {other:?}? Write {other} = …"),
            false => format!("did you mean the block {other:?}? Write {other} {{ … }}"),
        });
    }
    if let Some((_, what, instead)) = ALIASES.iter().find(|(alias, ..)| *alias == name) {
        let known = |instead: &Instead| matches!(instead, Instead::Name(name) if own.contains(name));
        return Some((format!("that is {what}"), Some(*instead).filter(known).unwrap_or(Instead::Unknown)));
    }
    let mut listed = own.clone();
    listed.sort_unstable();
    let more = listed.len().saturating_sub(MAX_LISTED);
    listed.truncate(MAX_LISTED);
    let what = if as_block { "blocks" } else { "attributes" };
    match (listed.is_empty(), more) {
        (true, _) => None,
        (false, 0) => unknown(format!("{what} allowed here: {}", listed.join(", "))),
        (false, more) => unknown(format!("{what} allowed here: {} and {more} more", listed.join(", "))),
    }
}

/// A block inside of this one, or around it, that has the name.
fn elsewhere(name: &str, as_block: bool, path: &[&Element]) -> Option<(String, Instead)> {
    let what = if as_block { "block" } else { "attribute" };
    let has = |at: Allowed| if as_block { at.blocks().contains(&name) } else { at.attributes().contains(&name) };
    if let Allowed::Schema(schema) = allowed(path)?
        && let Some(child) = schema.blocks.iter().find(|b| has(inside(&b.inside)))
    {
        let help = format!("the {what} {name:?} belongs in a {} block inside of this one", child.name);
        return Some((help, Instead::Inside(child.name)));
    }
    let around = (1..path.len()).rev().filter_map(|n| path.get(..n));
    for outer in around {
        if allowed(outer).is_some_and(has) {
            let kind = &outer.last()?.kind;
            return Some((
                format!("the {what} {name:?} belongs in the {kind} block around this one"),
                Instead::Unknown,
            ));
        }
        // Siblings: what stands beside this block, such as `resources` seen from `config`.
        if let Some(Allowed::Schema(schema)) = allowed(outer)
            && let Some(block) = schema.blocks.iter().find(|b| has(inside(&b.inside)))
        {
            return Some((format!("the {what} {name:?} belongs in a {} block", block.name), Instead::Unknown));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(kinds: &[&str]) -> Vec<Element> {
        kinds.iter().map(|k| Element { kind: k.to_string(), ..Element::default() }).collect()
    }

    #[test]
    fn names_are_looked_for_near_and_far() {
        let elements = path(&["job", "group", "task"]);
        let task: Vec<&Element> = elements.iter().collect();
        for (name, as_block, want) in [
            ("drivr", false, "did you mean \"driver\"?"),
            ("image", false, "image is an option of the task driver"),
            ("memory", false, "the attribute \"memory\" belongs in a resources block inside of this one"),
            ("count", false, "the attribute \"count\" belongs in the group block around this one"),
            ("resources", false, "resources is a block"),
            ("driver", true, "driver is an attribute"),
            ("artefact", true, "did you mean \"artifact\"?"),
            ("network", true, "the block \"network\" belongs in a resources block"),
            ("environment", true, "that is the env block"),
            ("xyzzy", false, "attributes allowed here: driver, kill_signal,"),
        ] {
            let (got, _) = instead_of(name, as_block, &task).unwrap();
            assert!(got.starts_with(want), "{name}: {got}");
        }
    }

    #[test]
    fn short_names_need_to_be_nearer() {
        assert_eq!(nearest("cpx", ["cpu", "disk"]), Some("cpu"));
        assert_eq!(nearest("abc", ["cpu"]), None);
        assert_eq!(nearest("Count", ["count"]), Some("count"));
        assert_eq!(nearest("dealy", ["fail", "delay"]), Some("delay"));
    }
}
