//! Allocations: capacity of nodes, counts and names of jobs.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::agent::{NODE_MB, NODE_MHZ};

/// An allocation that takes room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Allocation {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) job: String,
    pub(crate) node: String,
    pub(crate) mhz: u64,
    pub(crate) mb: u64,
    pub(crate) runs: bool,
}

/// The allocations of a list with resources that are wanted and have not ended.
pub(crate) fn allocations(list: &Json) -> Vec<Allocation> {
    let text = |value: &Json| value.as_str().unwrap_or_default().to_string();
    let live =
        |a: &&Json| a["DesiredStatus"] == "run" && (a["ClientStatus"] == "pending" || a["ClientStatus"] == "running");
    let allocation = |a: &Json| {
        let tasks = a["AllocatedResources"]["Tasks"].as_object().cloned().unwrap_or_default();
        let sum = |of: fn(&Json) -> &Json| tasks.values().filter_map(|t| of(t).as_u64()).sum();
        Allocation {
            id: text(&a["ID"]),
            name: text(&a["Name"]),
            job: text(&a["JobID"]),
            node: text(&a["NodeID"]),
            mhz: sum(|t| &t["Cpu"]["CpuShares"]),
            mb: sum(|t| &t["Memory"]["MemoryMB"]),
            runs: a["ClientStatus"] == "running",
        }
    };
    list.as_array().map(|l| l.iter().filter(live).map(allocation).collect()).unwrap_or_default()
}

/// The nodes that have more allocated than their capacity.
pub(crate) fn capacity(allocations: &[Allocation]) -> Vec<String> {
    let mut nodes: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for allocation in allocations {
        let (mhz, mb) = nodes.entry(&allocation.node).or_default();
        *mhz += allocation.mhz;
        *mb += allocation.mb;
    }
    let over = nodes.iter().filter(|(_, (mhz, mb))| *mhz > NODE_MHZ || *mb > NODE_MB);
    over.map(|(node, (mhz, mb))| format!("node {node} has {mhz} MHz and {mb} MB allocated")).collect()
}

/// The jobs that do not have exactly the allocations that they should, all of them running.
pub(crate) fn counts(allocations: &[Allocation], wanted: &BTreeMap<String, u64>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (job, count) in wanted {
        let mut names: Vec<&str> = allocations.iter().filter(|a| a.job == *job && a.runs).map(|a| &*a.name).collect();
        let all = allocations.iter().filter(|a| a.job == *job).count();
        if names.len() as u64 != *count || all != names.len() {
            wrong.push(format!("{job}: {} of {all} allocations run, {count} are wanted", names.len()));
        }
        names.sort_unstable();
        wrong.extend(names.windows(2).filter(|p| p[0] == p[1]).map(|p| format!("two allocations are named {}", p[0])));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one(name: &str, node: &str, mhz: u64) -> Allocation {
        let (id, job) = (name.to_string(), "j".to_string());
        Allocation { id, name: name.into(), job, node: node.into(), mhz, mb: 32, runs: true }
    }

    #[test]
    fn overcommitted_nodes_are_found() {
        let fits = [one("a", "n", NODE_MHZ), one("b", "m", 1)];
        assert_eq!(capacity(&fits), Vec::<String>::new());
        assert_eq!(capacity(&[one("a", "n", NODE_MHZ), one("b", "n", 1)]).len(), 1);
    }

    #[test]
    fn wrong_counts_and_names_are_found() {
        let wanted = |count| BTreeMap::from([("j".to_string(), count)]);
        let two = [one("j.g[0]", "n", 1), one("j.g[1]", "n", 1)];
        assert_eq!(counts(&two, &wanted(2)), Vec::<String>::new());
        assert_eq!(counts(&two, &wanted(3)).len(), 1);
        assert_eq!(counts(&two, &wanted(1)).len(), 1);
        assert_eq!(counts(&[two[0].clone(), two[0].clone()], &wanted(2)).len(), 1, "a name twice");
        let pending = Allocation { runs: false, ..two[1].clone() };
        assert_eq!(counts(&[two[0].clone(), pending], &wanted(1)).len(), 1, "one too many that does not run yet");
    }

    #[test]
    fn ended_allocations_take_no_room() {
        let of = |desired: &str, client: &str| {
            json!({"ID": "i", "Name": "j.g[0]", "JobID": "j", "NodeID": "n", "DesiredStatus": desired,
                "ClientStatus": client, "AllocatedResources": {"Tasks": {"t":
                {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 32}}}}})
        };
        let list = json!([of("run", "running"), of("stop", "running"), of("run", "lost"), of("run", "pending")]);
        let found = allocations(&list);
        assert_eq!(
            found.iter().map(|a| (a.mhz, a.mb, a.runs)).collect::<Vec<_>>(),
            [(100, 32, true), (100, 32, false)]
        );
    }
}
