//! Compares the allocations on the servers with those on the node (`docs/spec/client.md §6`).

use std::collections::{BTreeMap, BTreeSet};

/// The allocations that a node knows: AllocModifyIndex by allocation ID.
pub type Known = BTreeMap<String, u64>;

/// Which allocations of a listing have to be read in full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pull {
    /// To be read.
    pub pull: Vec<String>,
    /// Known well enough.
    pub filtered: BTreeSet<String>,
    /// Newest index among those to be read.
    pub newest: u64,
}

/// Compares a listing with what is known; allocations of the invalid set are not read again.
pub fn plan(listed: &BTreeMap<String, u64>, known: &Known, invalid: &BTreeSet<String>) -> Pull {
    let mut out = Pull::default();
    for (id, index) in listed {
        let news = known.get(id).is_none_or(|have| index > have);
        if news && !invalid.contains(id) {
            out.pull.push(id.clone());
            out.newest = out.newest.max(*index);
        } else {
            out.filtered.insert(id.clone());
        }
    }
    out
}

/// The changes of the runners, by allocation ID.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// No longer listed.
    pub removed: Vec<String>,
    /// Listed with a newer copy.
    pub updated: Vec<String>,
    /// Not known yet.
    pub added: Vec<String>,
}

/// Compares what was pulled (ID and AllocModifyIndex) and filtered with what is known.
pub fn changes(pulled: &BTreeMap<String, u64>, filtered: &BTreeSet<String>, known: &Known) -> Changes {
    let mut out = Changes::default();
    for (id, have) in known {
        match pulled.get(id) {
            Some(index) if index > have => out.updated.push(id.clone()),
            Some(_) => {}
            None if filtered.contains(id) => {}
            None => out.removed.push(id.clone()),
        }
    }
    out.added = pulled.keys().filter(|id| !known.contains_key(*id)).cloned().collect();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_news_are_pulled_and_applied() {
        let map = |l: &[(&str, u64)]| l.iter().map(|(k, v)| (k.to_string(), *v)).collect::<BTreeMap<_, _>>();
        let listed = map(&[("new", 9), ("same", 5), ("newer", 8), ("bad", 7)]);
        let known = map(&[("same", 5), ("newer", 6), ("gone", 3)]);
        let p = plan(&listed, &known, &["bad".to_string()].into());
        assert_eq!((p.pull.clone(), p.newest), (vec!["new".to_string(), "newer".into()], 9));
        let pulled = listed.into_iter().filter(|(id, _)| p.pull.contains(id)).collect();
        let c = changes(&pulled, &p.filtered, &known);
        assert_eq!((c.removed, c.updated, c.added), (vec!["gone".into()], vec!["newer".into()], vec!["new".into()]));
    }
}
