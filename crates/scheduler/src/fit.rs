//! Whether allocations fit a node (`docs/spec/scheduling.md §7.6`), and the fit score (`docs/spec/scheduling.md §7.7`).

use encamp_state::{AllocUsage, NodeInfo, NodeUsage};

/// The largest fit score.
const MAX_FIT_SCORE: f64 = 18.0;

/// The usage after a request is added to the usage of others.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Total {
    /// MHz.
    pub cpu: i64,
    /// MB.
    pub memory: i64,
}

/// Adds an ask to the usage of a node. `Err` names the dimension that does not suffice; the total is what scoring uses
/// (zero where too many allocations are the reason).
pub fn fits(info: &NodeInfo, usage: &NodeUsage, ask: &AllocUsage) -> (Total, Result<(), &'static str>) {
    if info.max_allocs != 0 && info.max_allocs < usage.count + 1 {
        return (Total::default(), Err("max allocation exceeded"));
    }
    amounts_fit(info, usage, ask)
}

/// The same, however many allocations there are.
fn amounts_fit(info: &NodeInfo, usage: &NodeUsage, ask: &AllocUsage) -> (Total, Result<(), &'static str>) {
    let total = Total { cpu: usage.cpu.saturating_add(ask.cpu), memory: usage.memory.saturating_add(ask.memory) };
    if usage.core_overlap || ask.cores().iter().any(|c| usage.cores.binary_search(c).is_ok()) {
        return (total, Err("cores"));
    }
    let dimension = if total.cpu > info.cpu {
        Some("cpu")
    } else if !info.usable_cores.is_empty() && !usage.cores.iter().chain(ask.cores()).all(|c| has_core(info, *c)) {
        Some("cores")
    } else if total.memory > info.memory {
        Some("memory")
    } else if usage.disk.saturating_add(ask.disk) > info.disk {
        Some("disk")
    } else {
        None
    };
    (total, dimension.map_or(Ok(()), Err))
}

/// Whether all that is counted in `usage` fits the node, ports included; the dimension that does not suffice.
pub(crate) fn fits_whole(info: &NodeInfo, usage: &NodeUsage) -> Result<(), &'static str> {
    if info.max_allocs != 0 && info.max_allocs < usage.count {
        return Err("max allocation exceeded");
    }
    amounts_fit(info, usage, &AllocUsage::default()).1?;
    if info.invalid_ports {
        return Err("reserved node port collision: a list of reserved ports is not valid");
    }
    if usage.port_collision {
        return Err("reserved alloc port collision: a port is out of range or in use");
    }
    Ok(())
}

fn has_core(info: &NodeInfo, core: u16) -> bool {
    info.usable_cores.binary_search(&core).is_ok()
}

/// The fit score in 0..1: how full the node gets (`binpack`) or how empty it stays (`spread`).
pub fn score(info: &NodeInfo, total: Total, spread: bool) -> f64 {
    let free = |used: i64, available: i64| 1.0 - used as f64 / available as f64;
    let t = 10f64.powf(free(total.cpu, info.cpu)) + 10f64.powf(free(total.memory, info.memory));
    let s = if spread { t - 2.0 } else { 20.0 - t };
    // A node without CPU or memory gives NaN, which clamping keeps and which never wins.
    let s = s.clamp(0.0, MAX_FIT_SCORE);
    s / MAX_FIT_SCORE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fit_scores_of_the_specification() {
        let mut info = NodeInfo::default();
        (info.cpu, info.memory) = (3500, 8000);
        for (cpu, memory, binpack, spread) in [
            (0, 0, 0.0, 1.0),
            (500, 256, 0.195193, 0.804807),
            (1000, 2000, 0.510951, 0.489049),
            (1750, 4000, 0.759747, 0.240253),
            (3500, 8000, 1.0, 0.0),
            (7000, 100, 0.565762, 0.434238),
        ] {
            let t = Total { cpu, memory };
            assert!((score(&info, t, false) - binpack).abs() < 1e-6);
            assert!((score(&info, t, true) - spread).abs() < 1e-6);
        }
    }
}
