//! The keys that encrypt gossip on all servers: what a change of them, or a look at them, gives.

use std::collections::BTreeMap;
use std::fmt;

use encamp_model::GossipKey;

/// A key, and how many servers have it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCount {
    /// The key.
    pub key: GossipKey,
    /// The number of servers where it is installed.
    pub installed: usize,
    /// The number of servers that encrypt with it.
    pub primary: usize,
}

/// The keys of all servers that are alive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeysReport {
    /// The number of servers; all of them answered.
    pub servers: usize,
    /// The keys, most widespread first.
    pub keys: Vec<KeyCount>,
    /// Notes about servers that were not asked because they have failed, by name.
    pub messages: BTreeMap<String, String>,
}

/// Servers that refused, or did not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysFailure {
    /// The number of servers that were asked.
    pub servers: usize,
    /// Whether no server changed anything.
    pub unchanged: bool,
    /// The reasons by the names of the servers. Servers without a reason failed because gossip is not encrypted.
    pub reasons: BTreeMap<String, Option<String>>,
}

/// The first line is Nomad's; the reasons follow, one in a line.
impl fmt::Display for KeysFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{} nodes reported failure", self.reasons.len(), self.servers)?;
        let mut reasons = self.reasons.iter().filter_map(|(name, reason)| Some((name, reason.as_ref()?))).peekable();
        if self.unchanged && reasons.peek().is_some() {
            f.write_str("; nothing was changed")?;
        }
        reasons.try_for_each(|(name, reason)| write!(f, "\n{name}: {reason}"))
    }
}

impl std::error::Error for KeysFailure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_name_servers_and_reasons() {
        let reasons = |list: &[(&str, Option<&str>)]| {
            list.iter().map(|(name, reason)| (name.to_string(), reason.map(String::from))).collect()
        };
        let refused = KeysFailure { servers: 1, unchanged: true, reasons: reasons(&[("a.global", None)]) };
        assert_eq!(refused.to_string(), "1/1 nodes reported failure", "as recorded");
        let some = reasons(&[("a.global", Some("late")), ("b.global", Some("full"))]);
        let some = KeysFailure { servers: 3, unchanged: false, reasons: some };
        assert_eq!(some.to_string(), "2/3 nodes reported failure\na.global: late\nb.global: full");
        let before = KeysFailure { unchanged: true, ..some };
        assert!(before.to_string().starts_with("2/3 nodes reported failure; nothing was changed\na.global"));
    }
}
