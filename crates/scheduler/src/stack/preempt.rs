//! Chooses the allocations to evict so that a placement fits (`docs/spec/scheduling.md §8`).

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::Arc;

use super::devices::{self, DeviceAsk};
use encamp_model::{AllocatedResources, Allocation, Job, LifecycleHook, NetworkResource};
use encamp_state::{AllocEntry, AllocUsage, NodeEntry};

/// A victim's priority must be at least this much lower (the documentation says more, ten suffices).
pub const PRIORITY_DELTA: i64 = 10;

/// Whether a placement of one priority may evict allocations of another one.
pub fn outranks(priority: i64, victim: i64) -> bool {
    priority.saturating_sub(victim) >= PRIORITY_DELTA
}

/// The placement that preempts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asker<'a> {
    /// The job being placed.
    pub job: &'a Job,
}

impl Asker<'_> {
    /// The allocations of other jobs, in the given order.
    fn candidates<'a>(&'a self, proposed: &'a [Arc<AllocEntry>]) -> impl Iterator<Item = &'a Arc<AllocEntry>> {
        let job = self.job;
        proposed.iter().filter(move |a| a.alloc.job_id != job.id || a.alloc.namespace != job.namespace)
    }

    fn may_evict(&self, a: &AllocEntry) -> bool {
        // An allocation without its job can't be judged, so it is left alone.
        a.alloc.job.is_some() && outranks(self.job.priority, a.priority())
    }

    /// Eligible candidates by ascending priority, order kept inside.
    fn by_priority<'a>(&'a self, proposed: &'a [Arc<AllocEntry>]) -> Vec<&'a Arc<AllocEntry>> {
        let mut v: Vec<_> = self.candidates(proposed).filter(|a| self.may_evict(a)).collect();
        v.sort_by_key(|a| a.priority());
        v
    }
}

/// CPU, memory and disk, as asked or free.
#[derive(Debug, Clone, Copy)]
struct Amounts {
    cpu: i64,
    memory: i64,
    disk: i64,
}

impl Amounts {
    fn of(u: &AllocUsage) -> Amounts {
        Amounts { cpu: u.cpu, memory: u.memory, disk: u.disk }
    }

    /// Without the negative amounts of broken records.
    fn or_nothing(self) -> Amounts {
        Amounts { cpu: self.cpu.max(0), memory: self.memory.max(0), disk: self.disk.max(0) }
    }

    fn add(&mut self, o: Amounts) {
        self.cpu = self.cpu.saturating_add(o.cpu);
        self.memory = self.memory.saturating_add(o.memory);
        self.disk = self.disk.saturating_add(o.disk);
    }

    fn sub(&mut self, o: Amounts) {
        self.cpu = self.cpu.saturating_sub(o.cpu);
        self.memory = self.memory.saturating_sub(o.memory);
        self.disk = self.disk.saturating_sub(o.disk);
    }

    fn covers(&self, ask: Amounts) -> bool {
        self.cpu >= ask.cpu && self.memory >= ask.memory && self.disk >= ask.disk
    }

    /// How badly `used` matches this need: overshoot counts like undershoot.
    fn distance(&self, used: Amounts) -> f64 {
        let part = |need: i64, used: i64| if need > 0 { need.saturating_sub(used) as f64 / need as f64 } else { 0.0 };
        let (m, c, d) = (part(self.memory, used.memory), part(self.cpu, used.cpu), part(self.disk, used.disk));
        (m * m + c * c + d * d).sqrt()
    }
}

/// The free resources of a node: amounts, and cores in ascending order.
#[derive(Debug, Clone)]
struct Room {
    amounts: Amounts,
    cores: Vec<u16>,
}

impl Room {
    /// The remaining resources of a node once all candidates have their share. Cores are tracked only when some are
    /// requested.
    fn left(asker: &Asker, node: &NodeEntry, proposed: &[Arc<AllocEntry>], ask: &AllocUsage) -> Room {
        let amounts = Amounts { cpu: node.info.cpu, memory: node.info.memory, disk: node.info.disk };
        let mut room = Room { amounts, cores: Vec::new() };
        asker.candidates(proposed).for_each(|a| room.amounts.sub(Amounts::of(&a.usage)));
        if !ask.cores().is_empty() {
            room.cores.clone_from(&node.info.usable_cores);
            room.cores.retain(|c| !asker.candidates(proposed).any(|a| a.usage.cores().contains(c)));
        }
        room
    }

    fn add(&mut self, u: &AllocUsage) {
        self.amounts.add(Amounts::of(u));
        self.cores.extend_from_slice(u.cores());
    }

    /// The comparisons of the fit test; cores count only where there are any.
    fn covers(&self, ask: &AllocUsage) -> bool {
        self.amounts.covers(Amounts::of(ask))
            && (self.cores.is_empty() || ask.cores().iter().all(|c| self.cores.contains(c)))
    }
}

/// Victims for CPU, memory and disk (`docs/spec/scheduling.md §8.3`), in the order in which they are reported. The
/// penalty for victims of one job never applies: planned evictions carry no group name.
pub(crate) fn for_resources(
    asker: Asker,
    node: &NodeEntry,
    proposed: &[Arc<AllocEntry>],
    ask: &AllocUsage,
) -> Option<Vec<Arc<AllocEntry>>> {
    let rest = Room::left(&asker, node, proposed, ask);
    let mut most = rest.amounts;
    let eligible = asker.candidates(proposed).filter(|a| asker.may_evict(a));
    eligible.for_each(|a| most.add(Amounts::of(&a.usage).or_nothing()));
    // Most nodes of a full cluster: not even all of them together would do.
    if !most.covers(Amounts::of(ask)) {
        return None;
    }
    let eligible = asker.by_priority(proposed);
    let (mut need, mut available, mut chosen) = (Amounts::of(ask), rest.clone(), Vec::new());
    let mut covered = false;
    for group in eligible.chunk_by(|a, b| a.priority() == b.priority()) {
        let mut group: Vec<_> = group.to_vec();
        while !group.is_empty() && !covered {
            let best = nearest(&group, |a| need.distance(Amounts::of(&a.usage)));
            let victim = group.swap_remove(best);
            available.add(&victim.usage);
            need.sub(Amounts::of(&victim.usage));
            covered = available.covers(ask);
            chosen.push(victim.clone());
        }
    }
    if !covered {
        return None;
    }
    let need = Amounts::of(ask);
    sort_descending(&mut chosen, |a| need.distance(Amounts::of(&a.usage)));
    let mut available = rest;
    let mut kept = Vec::new();
    for victim in chosen {
        available.add(&victim.usage);
        kept.push(victim);
        if available.covers(ask) {
            break;
        }
    }
    Some(kept)
}

/// The first member with the smallest distance.
fn nearest(group: &[&Arc<AllocEntry>], distance: impl Fn(&AllocEntry) -> f64) -> usize {
    let mut best = (0, f64::INFINITY);
    for (i, a) in group.iter().enumerate() {
        let d = distance(a);
        if d < best.1 {
            best = (i, d);
        }
    }
    best.0
}

fn sort_descending(v: &mut [Arc<AllocEntry>], key: impl Fn(&AllocEntry) -> f64) {
    v.sort_by(|a, b| key(b).partial_cmp(&key(a)).unwrap_or(Ordering::Equal));
}

/// One network of an allocation after flattening.
#[derive(Debug, Clone, Default)]
struct FlatNetwork {
    device: String,
    mbits: i64,
    reserved: Vec<i64>,
}

/// Networks of all tasks by lifecycle phase, then the group's; those of one device merged.
fn flat_networks(r: &AllocatedResources) -> Vec<FlatNetwork> {
    let phase = |name: &str| match r.lifecycle(name) {
        Some((LifecycleHook::Prestart, true)) => [true, true, false],
        Some((LifecycleHook::Prestart, false)) => [true, false, false],
        Some((LifecycleHook::Poststop, _)) => [false, false, true],
        _ => [false, true, false],
    };
    let mut out: Vec<FlatNetwork> = Vec::new();
    let mut add = |n: &NetworkResource| {
        let i = out.iter().position(|f| f.device == n.device).unwrap_or_else(|| {
            out.push(FlatNetwork { device: n.device.clone(), ..Default::default() });
            out.len() - 1
        });
        out[i].mbits = out[i].mbits.saturating_add(n.mbits);
        out[i].reserved.extend(n.reserved_ports.iter().map(|p| p.value));
    };
    for p in 0..3 {
        for (_, t) in r.tasks.iter().filter(|(name, _)| phase(name)[p]) {
            t.networks.iter().for_each(&mut add);
        }
    }
    r.shared.networks.iter().for_each(|n| add(&n));
    out
}

/// A candidate with its networks; the first one counts.
struct Holder<'a> {
    alloc: &'a Arc<AllocEntry>,
    networks: Vec<FlatNetwork>,
}

impl Holder<'_> {
    fn mbits(&self) -> i64 {
        self.networks[0].mbits
    }

    fn holds(&self, port: i64) -> bool {
        self.networks.iter().any(|n| n.reserved.contains(&port))
    }
}

/// Victims for ports and bandwidth (`docs/spec/scheduling.md §8.4`), given the bandwidth in use per device; an
/// allocation that holds two asked ports is listed twice.
pub(crate) fn for_network(
    asker: Asker,
    node: &NodeEntry,
    proposed: &[Arc<AllocEntry>],
    used_mbits: impl Fn(&str) -> i64,
    ask: &NetworkResource,
) -> Option<Vec<Arc<AllocEntry>>> {
    let mut blocked: BTreeMap<String, Vec<i64>> = BTreeMap::new();
    let mut devices: BTreeMap<String, Vec<Holder>> = BTreeMap::new();
    for alloc in asker.candidates(proposed) {
        let networks = alloc.alloc.allocated_resources.as_deref().map(flat_networks).unwrap_or_default();
        let Some(first) = networks.first() else { continue };
        if asker.may_evict(alloc) {
            devices.entry(first.device.clone()).or_default().push(Holder { alloc, networks });
        } else {
            blocked.entry(first.device.clone()).or_default().extend(&first.reserved);
        }
    }
    let none = Vec::new();
    let found = devices.iter().find_map(|(device, holders)| {
        let bandwidth = node.info.bandwidth.iter().find(|(d, _)| d == device).map_or(0, |(_, b)| *b);
        let free = bandwidth.saturating_sub(used_mbits(device));
        if bandwidth < ask.mbits {
            return None;
        }
        victims_on_device(holders, blocked.get(device).unwrap_or(&none), free, ask).map(|v| (v, free))
    });
    let (mut victims, free) = found?;
    let distance = |a: &AllocEntry| {
        let used = a.alloc.allocated_resources.as_deref().map(flat_networks).unwrap_or_default();
        relative(ask.mbits, used.first().map_or(0, |n| n.mbits))
    };
    sort_descending(&mut victims, distance);
    let mut sum = free;
    let mut kept = Vec::new();
    for v in victims {
        let used = v.alloc.allocated_resources.as_deref().map(flat_networks).unwrap_or_default();
        sum = sum.saturating_add(used.first().map_or(0, |n| n.mbits));
        kept.push(v);
        // Nothing asked or nothing accumulated never counts as enough, so port victims all stay.
        if ask.mbits > 0 && sum > 0 && sum >= ask.mbits {
            break;
        }
    }
    if kept.is_empty() { None } else { Some(kept) }
}

fn relative(asked: i64, used: i64) -> f64 {
    if asked == 0 { 0.0 } else { (asked.saturating_sub(used) as f64 / asked as f64).abs() }
}

fn victims_on_device(
    holders: &[Holder],
    blocked: &[i64],
    free: i64,
    ask: &NetworkResource,
) -> Option<Vec<Arc<AllocEntry>>> {
    let mut victims: Vec<Arc<AllocEntry>> = Vec::new();
    let mut freed = 0i64;
    for p in &ask.reserved_ports {
        match holders.iter().find(|h| h.holds(p.value)) {
            Some(h) => {
                victims.push(h.alloc.clone());
                freed = freed.saturating_add(h.mbits());
            }
            None if blocked.contains(&p.value) => return None,
            None => {}
        }
    }
    if freed.saturating_add(free) >= ask.mbits {
        return Some(victims);
    }
    let mut rest: Vec<&Holder> =
        holders.iter().filter(|h| !victims.iter().any(|v| v.alloc.id == h.alloc.alloc.id)).collect();
    rest.sort_by(|a, b| {
        let distance = |h: &Holder| relative(ask.mbits, h.mbits());
        let by_distance = distance(a).partial_cmp(&distance(b)).unwrap_or(Ordering::Equal);
        a.alloc.priority().cmp(&b.alloc.priority()).then(by_distance)
    });
    for h in rest {
        victims.push(h.alloc.clone());
        freed = freed.saturating_add(h.mbits());
        if freed.saturating_add(free) >= ask.mbits {
            return Some(victims);
        }
    }
    None
}

/// Victims for one device request (`docs/spec/scheduling.md §8.5`).
pub(crate) fn for_devices(
    asker: Asker,
    node: &NodeEntry,
    proposed: &[Arc<AllocEntry>],
    used: impl Fn(usize) -> bool,
    ask: &DeviceAsk,
) -> Option<Vec<Arc<AllocEntry>>> {
    let groups = &node.node.node_resources.as_ref()?.devices;
    let eligible = asker.by_priority(proposed);
    let mut order: Vec<usize> = (0..groups.len()).collect();
    order.sort_by(|a, b| devices::key(&groups[*a]).cmp(&devices::key(&groups[*b])));
    let mut best: Option<(i64, Vec<Arc<AllocEntry>>)> = None;
    for g in order {
        let d = &groups[g];
        if !ask.matches(d) {
            continue;
        }
        let instances = devices::instances_of(&node.info, g).zip(&d.instances);
        let free = instances.filter(|(n, i)| i.healthy && !used(*n)).count() as u64;
        let held = |a: &Allocation| -> u64 {
            let tasks = a.allocated_resources.iter().flat_map(|r| r.tasks.values());
            let same = tasks
                .flat_map(|t| &t.devices)
                .filter(|x| (x.vendor.as_str(), x.r#type.as_str(), x.name.as_str()) == devices::key(d));
            same.map(|x| x.device_ids.len() as u64).sum()
        };
        let mut option: Vec<(u64, &Arc<AllocEntry>)> = Vec::new();
        let mut sum = free;
        for a in &eligible {
            let n = held(&a.alloc);
            if n > 0 && sum < ask.count {
                option.push((n, a));
                sum += n;
            }
        }
        if sum < ask.count || option.is_empty() {
            continue;
        }
        option.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
        let mut kept = Vec::new();
        let mut sum = 0;
        for (n, a) in option {
            kept.push(a.clone());
            sum += n;
            if sum >= ask.count {
                break;
            }
        }
        let mut priorities: Vec<i64> = kept.iter().map(|a| a.priority()).collect();
        priorities.sort_unstable();
        priorities.dedup();
        let value = priorities.iter().fold(0, |sum: i64, p| sum.saturating_add(*p));
        if best.as_ref().is_none_or(|(b, _)| value < *b) {
            best = Some((value, kept));
        }
    }
    best.map(|(_, v)| v)
}

/// The `preemption` score: 1 for cheap victims, towards 0 for important ones (`docs/spec/scheduling.md §8.6`).
pub(crate) fn score(victims: &[Arc<AllocEntry>]) -> f64 {
    let max = victims.iter().map(|a| a.priority()).max().unwrap_or(0) as f64;
    let sum = victims.iter().fold(0, |sum: i64, a| sum.saturating_add(a.priority()));
    let net = if max == 0.0 { 0.0 } else { max + sum as f64 / max };
    1.0 / (1.0 + (0.0048 * (net - 2048.0)).exp())
}
