//! Candidate nodes of a job (`spec/scheduling.md §3.1`).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::state::{NodeEntry, State};

/// The ready nodes of a job's pool and datacenters.
#[derive(Debug, Clone, Default)]
pub struct ReadyNodes {
    /// The candidates by ascending ID.
    pub nodes: Vec<Arc<NodeEntry>>,
    /// Nodes of the pool that are not ready, whatever their datacenter.
    pub not_ready: HashSet<String>,
    /// Candidates per datacenter; a datacenter without any has no entry.
    pub available: Arc<BTreeMap<String, i64>>,
    /// Number of candidates.
    pub in_pool: i64,
}

/// Collects the candidates of a job with these datacenters and this pool.
pub fn ready_nodes(state: &State, datacenters: &[String], pool: &str) -> ReadyNodes {
    let mut out = ReadyNodes::default();
    // Few datacenters, many nodes: remember the verdict and the count per datacenter.
    let mut seen: Vec<(&str, bool, i64)> = Vec::new();
    for n in state.nodes() {
        let node = &*n.node;
        if !(pool.is_empty() || pool == "all" || node.node_pool == pool) {
            continue;
        }
        if !node.ready() {
            out.not_ready.insert(node.id.clone());
            continue;
        }
        let i = seen.iter().position(|(dc, ..)| *dc == node.datacenter).unwrap_or_else(|| {
            seen.push((&node.datacenter, datacenter_matches(datacenters, &node.datacenter), 0));
            seen.len() - 1
        });
        if seen[i].1 {
            seen[i].2 += 1;
            out.nodes.push(n.clone());
        }
    }
    out.in_pool = out.nodes.len() as i64;
    let available = seen.into_iter().filter(|(_, _, n)| *n > 0).map(|(dc, _, n)| (dc.to_string(), n));
    out.available = Arc::new(available.collect());
    out
}

/// Whether a datacenter matches any of the patterns.
pub fn datacenter_matches(patterns: &[String], datacenter: &str) -> bool {
    patterns.iter().any(|p| glob_matches(p, datacenter))
}

/// `*` matches any run of characters, everything else itself; the empty pattern matches only the empty text.
fn glob_matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(i) => rest = &rest[i + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datacenter_patterns() {
        for (p, t, want) in [
            ("dc1", "dc1", true),
            ("dc1", "dc12", false),
            ("dc*", "dc12", true),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("eu-*-1", "eu-west-1", true),
            ("eu-*-1", "eu-1", false),
            ("a*b*c", "aXbYbc", true),
            ("*a", "ba", true),
            ("ab*ba", "aba", false),
            ("DC*", "dc1", false),
        ] {
            assert_eq!(glob_matches(p, t), want, "{p} against {t}");
        }
    }
}
