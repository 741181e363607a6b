//! Capability levels: what a build of the program can read and write (`docs/spec/server.md §23.3`,
//! `docs/dev/upgrades.md`).
//!
//! Every form that servers store or send belongs to a level. A build reads the forms of its own level and of all
//! earlier ones; it writes those of the level of its cluster, which is the lowest of its servers until all of them
//! support a higher one.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A capability level, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct CapabilityLevel(u32);

/// Something that servers do or write since a level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capability {
    /// The level of the cluster is part of the replicated state, and servers tell each other their levels.
    StoredLevel,
    /// An entry of the log begins with its level and a checksum, which it keeps from the leader to every disk.
    EntryHead,
    /// The frames of the log are chained, votes have a copy, and a record says what the log has acknowledged, so that a
    /// server finds damage of its files and repairs them.
    ChainedLog,
}

impl Capability {
    /// All of them, in the order in which they were introduced.
    pub const ALL: [Capability; 3] = [Capability::StoredLevel, Capability::EntryHead, Capability::ChainedLog];

    /// The level at which it was introduced: the table of capabilities.
    pub const fn introduced(self) -> CapabilityLevel {
        match self {
            Capability::StoredLevel | Capability::EntryHead | Capability::ChainedLog => CapabilityLevel(2),
        }
    }

    /// Its name in logs and documents.
    pub const fn name(self) -> &'static str {
        match self {
            Capability::StoredLevel => "stored-level",
            Capability::EntryHead => "entry-head",
            Capability::ChainedLog => "chained-log",
        }
    }
}

/// The number is no capability level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotALevel;

impl fmt::Display for NotALevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a capability level is a number from 1")
    }
}

impl std::error::Error for NotALevel {}

impl CapabilityLevel {
    /// The level of builds that do not tell one.
    pub const FIRST: CapabilityLevel = CapabilityLevel(1);
    /// The level of this build.
    pub const BUILD: CapabilityLevel = CapabilityLevel(2);

    /// The number.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The attribute that tells the level of a node's agent. It is unique, so that it makes no class of its own.
    pub const ATTRIBUTE: &'static str = "unique.encamp.capability_level";

    /// Whether the capability belongs to the level or to an earlier one.
    pub fn has(self, capability: Capability) -> bool {
        self >= capability.introduced()
    }

    /// Whether a node of a level works with servers of this level: it may be one level older or newer.
    pub fn fits_node(self, node: CapabilityLevel) -> bool {
        self.0.abs_diff(node.0) <= 1
    }
}

impl TryFrom<u32> for CapabilityLevel {
    type Error = NotALevel;

    fn try_from(number: u32) -> Result<CapabilityLevel, NotALevel> {
        if number == 0 { Err(NotALevel) } else { Ok(CapabilityLevel(number)) }
    }
}

impl From<CapabilityLevel> for u32 {
    fn from(level: CapabilityLevel) -> u32 {
        level.0
    }
}

impl FromStr for CapabilityLevel {
    type Err = NotALevel;

    fn from_str(text: &str) -> Result<CapabilityLevel, NotALevel> {
        text.parse::<u32>().map_err(|_| NotALevel)?.try_into()
    }
}

impl fmt::Display for CapabilityLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_has_every_capability_and_the_first_level_none() {
        for capability in Capability::ALL {
            assert!(CapabilityLevel::BUILD.has(capability), "{}", capability.name());
            assert!(!CapabilityLevel::FIRST.has(capability), "{}", capability.name());
        }
        let last = Capability::ALL.last().map(|c| c.introduced());
        assert_eq!(last, Some(CapabilityLevel::BUILD), "the newest level introduces something");
    }

    #[test]
    fn levels_are_numbers_from_1() {
        assert_eq!("2".parse(), Ok(CapabilityLevel(2)));
        for bad in ["", "0", "-1", "two", "4294967296"] {
            assert_eq!(bad.parse::<CapabilityLevel>(), Err(NotALevel), "{bad}");
        }
    }

    #[test]
    fn nodes_may_be_one_level_older_or_newer() {
        let fits: Vec<u32> = (1..6).filter(|n| CapabilityLevel(3).fits_node(CapabilityLevel(*n))).collect();
        assert_eq!(fits, [2, 3, 4]);
    }
}
