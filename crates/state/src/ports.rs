//! Port lists of nodes, and sets of used ports.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Largest port value that can be used.
pub const MAX_PORT: i64 = 65_535;

/// A set of ports: a sorted list, since a node uses few.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PortSet {
    ports: Vec<u16>,
}

impl PortSet {
    /// Adds a port; false if it was there already.
    pub fn insert(&mut self, port: u16) -> bool {
        match self.ports.binary_search(&port) {
            Ok(_) => false,
            Err(i) => {
                self.ports.insert(i, port);
                true
            }
        }
    }

    /// Removes a port; false if it was not there.
    pub(crate) fn remove(&mut self, port: u16) -> bool {
        self.ports.binary_search(&port).map(|i| self.ports.remove(i)).is_ok()
    }

    /// Whether the port is in the set.
    pub fn contains(&self, port: u16) -> bool {
        self.ports.binary_search(&port).is_ok()
    }

    /// Number of ports.
    pub fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// The ports, ascending.
    pub fn iter(&self) -> impl Iterator<Item = u16> + '_ {
        self.ports.iter().copied()
    }

    /// Adds all ports of a list.
    pub fn extend(&mut self, ports: &[u16]) {
        if self.ports.is_empty() {
            self.ports = ports.to_vec();
        } else {
            self.ports.extend_from_slice(ports);
        }
        self.ports.sort_unstable();
        self.ports.dedup();
    }
}

/// Why a text is no port list.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum InvalidPorts {
    #[error("{0:?} is not a port number")]
    NotANumber(String),
    #[error("port {0} is out of range")]
    OutOfRange(u32),
    #[error("port range {0:?} runs backwards")]
    Backwards(String),
}

/// Parses a port list: comma-separated numbers and ranges `a-b`, blanks trimmed, values 1..65536; empty means none
/// (`docs/spec/scheduling.md §7.2`). 65536 is accepted by the grammar but can never be asked for, so it is left out.
pub(crate) fn parse_port_list(spec: &str) -> Result<Vec<u16>, InvalidPorts> {
    let mut out = Vec::new();
    if spec.is_empty() {
        return Ok(out);
    }
    let value = |s: &str| -> Result<u32, InvalidPorts> {
        let s = s.trim();
        let digits = s.bytes().all(|b| b.is_ascii_digit());
        let v = s.parse().ok().filter(|_| digits).ok_or_else(|| InvalidPorts::NotANumber(s.to_string()))?;
        if (1..=65_536).contains(&v) { Ok(v) } else { Err(InvalidPorts::OutOfRange(v)) }
    };
    for part in spec.split(',') {
        let (a, b) = match part.split_once('-') {
            Some((a, b)) => (value(a)?, value(b)?),
            None => {
                let v = value(part)?;
                (v, v)
            }
        };
        if a > b {
            return Err(InvalidPorts::Backwards(part.to_string()));
        }
        out.extend((a..=b).filter_map(|p| u16::try_from(p).ok()));
    }
    out.sort_unstable();
    out.dedup();
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_lists() {
        assert_eq!(parse_port_list("").unwrap(), Vec::<u16>::new());
        assert_eq!(parse_port_list("22, 80-82,22").unwrap(), vec![22, 80, 81, 82]);
        for (spec, want) in [
            ("80-79", "port range \"80-79\" runs backwards"),
            ("0", "port 0 is out of range"),
            ("22,", "\"\" is not a port number"),
            ("x", "\"x\" is not a port number"),
            (" ", "\"\" is not a port number"),
            ("+22", "\"+22\" is not a port number"),
        ] {
            assert_eq!(parse_port_list(spec).unwrap_err().to_string(), want);
        }
    }
}
