//! The replacements of texts.
//!
//! Texts are collected first and numbered in order, so that replacements sort like the originals. Numbers and IDs are
//! generated from the seed alone, not from the texts.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::words;
use encamp_model::random::Random;

/// The kind of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A namespace.
    Namespace,
    /// A region.
    Region,
    /// A job.
    Job,
    /// A task group.
    Group,
    /// A task.
    Task,
    /// A node.
    Node,
    /// A datacenter.
    Datacenter,
    /// A node pool.
    Pool,
    /// A node class.
    Class,
    /// A service.
    Service,
    /// A port label.
    Port,
    /// A volume or what a group calls it.
    Volume,
    /// A CSI or host volume plugin.
    Plugin,
    /// A key of node or job metadata.
    Meta,
    /// A value of node attributes and metadata.
    Value,
    /// A driver, a cluster, a part of an attribute's key.
    Word,
    /// Any other key of a map.
    Key,
}

/// The kinds whose names can be kept, by the word that asks for it.
pub const KEEPABLE: &[(&str, Kind)] = &[
    ("classes", Kind::Class),
    ("datacenters", Kind::Datacenter),
    ("groups", Kind::Group),
    ("jobs", Kind::Job),
    ("meta", Kind::Meta),
    ("namespaces", Kind::Namespace),
    ("nodes", Kind::Node),
    ("plugins", Kind::Plugin),
    ("pools", Kind::Pool),
    ("ports", Kind::Port),
    ("regions", Kind::Region),
    ("services", Kind::Service),
    ("tasks", Kind::Task),
    ("values", Kind::Value),
    ("volumes", Kind::Volume),
];

impl Kind {
    /// The prefix of replacements.
    fn prefix(self) -> &'static str {
        match self {
            Kind::Namespace => "namespace",
            Kind::Region => "region",
            Kind::Job => "job",
            Kind::Group => "group",
            Kind::Task => "task",
            Kind::Node => "node",
            Kind::Datacenter => "dc",
            Kind::Pool => "pool",
            Kind::Class => "class",
            Kind::Service => "service",
            Kind::Port => "port",
            Kind::Volume => "volume",
            Kind::Plugin => "plugin",
            Kind::Meta => "meta",
            Kind::Value => "value",
            Kind::Word => "word",
            Kind::Key => "key",
        }
    }

    /// Names that every cluster has.
    fn built_in(self, name: &str) -> bool {
        match self {
            Kind::Namespace => name == "default",
            Kind::Region => name == "global",
            Kind::Pool => matches!(name, "all" | "default"),
            Kind::Word => words::segment(name),
            Kind::Value => words::harmless(name),
            _ => false,
        }
    }
}

/// All replacements.
#[derive(Debug, Default)]
pub struct Names {
    collecting: bool,
    keep: HashSet<Kind>,
    /// Values of attributes that say nothing about the cluster's owner.
    harmless: HashSet<String>,
    texts: BTreeSet<String>,
    id_texts: BTreeSet<String>,
    numbers: HashMap<String, u64>,
    width: usize,
    ids: HashMap<String, String>,
    addresses: HashMap<IpAddr, String>,
    /// The secrets of each scope, numbered as they come.
    secrets: HashMap<String, HashMap<String, usize>>,
}

impl Names {
    /// Starts collecting.
    pub fn new(keep: &[Kind], harmless: HashSet<String>) -> Names {
        Names { collecting: true, keep: keep.iter().copied().collect(), harmless, ..Names::default() }
    }

    /// Ends collecting: gives every text its replacement.
    pub fn number(&mut self, seed: u64) {
        let mut random = Random::new(seed, "anonymous names");
        let mut last = 0;
        for text in std::mem::take(&mut self.texts) {
            last += 1 + random.below(9);
            self.numbers.insert(text, last);
        }
        self.width = last.to_string().len();
        let mut random = Random::new(seed, "anonymous IDs");
        let mut fresh = BTreeSet::new();
        while fresh.len() < self.id_texts.len() {
            fresh.insert(random.uuid());
        }
        self.ids = std::mem::take(&mut self.id_texts).into_iter().zip(fresh).collect();
        self.collecting = false;
    }

    /// Whether texts are still being collected.
    pub fn collecting(&self) -> bool {
        self.collecting
    }

    /// The replacement of a name.
    pub fn name(&mut self, kind: Kind, name: &str) -> String {
        if name.is_empty() || self.keeps(kind) || kind.built_in(name) {
            return name.to_string();
        }
        if self.collecting {
            self.texts.insert(name.to_string());
            return name.to_string();
        }
        let number = match self.numbers.get(name) {
            Some(number) => *number,
            // Nothing of the snapshot: names asked for later.
            None => {
                let next = self.numbers.values().max().copied().unwrap_or(0) + 1;
                self.numbers.insert(name.to_string(), next);
                next
            }
        };
        format!("{}{number:0width$}", kind.prefix(), width = self.width)
    }

    /// The replacement of a key of metadata; `unique.` in front has a meaning and stays.
    pub(crate) fn meta_key(&mut self, key: &str) -> String {
        match key.strip_prefix("unique.") {
            Some(rest) => format!("unique.{}", self.name(Kind::Meta, rest)),
            None => self.name(Kind::Meta, key),
        }
    }

    /// The replacement of an attribute's key: its parts that clients do not define.
    pub(crate) fn attribute_key(&mut self, key: &str) -> String {
        key.split('.').map(|part| self.name(Kind::Word, part)).collect::<Vec<_>>().join(".")
    }

    /// The replacement of an ID, a UUID.
    pub fn id(&mut self, id: &str) -> String {
        if id.is_empty() {
            return String::new();
        }
        if self.collecting {
            self.id_texts.insert(id.to_string());
            return id.to_string();
        }
        self.ids.get(id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// The replacement of a value of an attribute or of metadata: each part of a list by itself.
    pub fn value(&mut self, value: &str) -> String {
        let parts = value.split(',').map(|part| {
            let core = part.trim();
            let start = part.len() - part.trim_start().len();
            let (before, rest) = part.split_at(start);
            format!("{before}{}{}", self.element(core), rest.get(core.len()..).unwrap_or_default())
        });
        parts.collect::<Vec<_>>().join(",")
    }

    fn element(&mut self, text: &str) -> String {
        if self.harmless.contains(text) {
            return text.to_string();
        }
        if let Some(id) = self.ids.get(text) {
            return id.clone();
        }
        match text.parse() {
            Ok(address) if !self.keeps(Kind::Value) => self.address_of(address),
            _ => self.name(Kind::Value, text),
        }
    }

    /// Whether all names of a kind stay.
    pub fn keeps(&self, kind: Kind) -> bool {
        self.keep.contains(&kind)
    }

    /// Whether the value stays as it is.
    pub(crate) fn keeps_value(&self, text: &str) -> bool {
        self.keeps(Kind::Value) || self.harmless.contains(text) || words::harmless(text)
    }

    /// The replacement of an address, with the length of its network if it has one.
    pub fn address(&mut self, text: &str) -> String {
        let (host, length) = match text.split_once('/') {
            Some((host, length)) if length.parse::<u8>().is_ok() => (host, Some(length)),
            _ => (text, None),
        };
        let Ok(address) = host.parse() else { return self.value(text) };
        let replaced = self.address_of(address);
        length.map_or(replaced.clone(), |length| format!("{replaced}/{length}"))
    }

    fn address_of(&mut self, address: IpAddr) -> String {
        if self.collecting || address.is_loopback() || address.is_unspecified() {
            return address.to_string();
        }
        let number = u32::try_from(self.addresses.len()).unwrap_or(u32::MAX) + 1;
        // Ranges that nobody has: reserved, and to be discarded.
        let fresh = || match address {
            IpAddr::V4(_) => Ipv4Addr::from((0xf << 28) | (number & 0x0fff_ffff)).to_string(),
            IpAddr::V6(_) => Ipv6Addr::from((1 << 120) | u128::from(number)).to_string(),
        };
        self.addresses.entry(address).or_insert_with(fresh).clone()
    }

    /// The replacement of something that nobody may see: the same for the same text in one scope, and without any
    /// relation to it.
    pub fn secret(&mut self, scope: &str, text: &str) -> String {
        if text.is_empty() || self.collecting {
            return String::new();
        }
        if !self.secrets.contains_key(scope) {
            self.secrets.insert(scope.to_string(), HashMap::new());
        }
        let Some(known) = self.secrets.get_mut(scope) else { return String::new() };
        let next = known.len() + 1;
        format!("hidden{}", known.entry(text.to_string()).or_insert(next))
    }
}
