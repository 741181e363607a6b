//! Fingerprints cores and their speeds (`docs/spec/client.md §4.3`).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use procfs::process::Process;
use procfs::{CpuInfo, Current};

use crate::config::Config;
use crate::ranges;
use encamp_model::{Core, LegacyNodeCpuResources, Topology};

/// The detected processors.
pub struct Cpu {
    /// `cpu.…` and `numa.…`.
    pub attributes: BTreeMap<String, String>,
    /// The older form.
    pub legacy: LegacyNodeCpuResources,
    /// All cores.
    pub topology: Topology,
    /// MHz of all cores together.
    pub total: i64,
}

/// Looks at the processors.
pub fn look(config: &Config) -> Cpu {
    resources(config, cores(Path::new("/sys/devices")), &model())
}

fn number(path: &Path) -> Option<u64> {
    std::fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn list(path: &Path) -> Option<Vec<u64>> {
    ranges::numbers(std::fs::read_to_string(path).ok()?.trim()).filter(|l| !l.is_empty())
}

/// Model and MHz of the first core as `/proc/cpuinfo` has them.
struct Model {
    name: String,
    mhz: u64,
}

fn model() -> Model {
    let info = CpuInfo::current().ok();
    let of = |key: &str| info.as_ref().and_then(|i| i.get_field(0, key)).unwrap_or_default();
    let mhz = of("cpu MHz").parse::<f64>().unwrap_or(0.0);
    Model { name: of("model name").into(), mhz: mhz.clamp(0.0, 1e6) as u64 }
}

/// The cores `/sys` knows, those the agent may not use disabled.
fn cores(sys: &Path) -> Vec<Core> {
    let cpu = sys.join("system/cpu");
    let fallback = || {
        let n = std::thread::available_parallelism().map_or(1, |n| u64::try_from(n.get()).unwrap_or(1));
        (0..n).collect()
    };
    let online = list(&cpu.join("online")).unwrap_or_else(fallback);
    let status = Process::myself().and_then(|p| p.status()).ok();
    let allowed = status.and_then(|s| s.cpus_allowed_list).filter(|l| !l.is_empty());
    let is_allowed = |id: u64| {
        let contains = |(first, last): &(u32, u32)| (u64::from(*first)..=u64::from(*last)).contains(&id);
        allowed.as_ref().is_none_or(|l| l.iter().any(contains))
    };
    let slow = list(&sys.join("cpu_atom/cpus")).unwrap_or_default();
    let mut node_of = BTreeMap::new();
    for node in list(&sys.join("system/node/online")).unwrap_or_default() {
        for core in list(&sys.join(format!("system/node/node{node}/cpulist"))).unwrap_or_default() {
            node_of.insert(core, node);
        }
    }
    let core = |id: u64| {
        let dir = cpu.join(format!("cpu{id}"));
        let mhz = |file: &str| number(&dir.join("cpufreq").join(file)).unwrap_or(0) / 1000;
        let nominal = || number(&dir.join("acpi_cppc/nominal_freq")).unwrap_or(0);
        Core {
            socket_id: number(&dir.join("topology/physical_package_id")).unwrap_or(0).min(255),
            node_id: node_of.get(&id).copied().unwrap_or(0).min(255),
            id,
            grade: !slow.contains(&id),
            disable: !is_allowed(id),
            base_speed: Some(mhz("base_frequency")).filter(|m| *m > 0).unwrap_or_else(nominal),
            max_speed: mhz("cpuinfo_max_freq"),
            guess_speed: 0,
        }
    };
    online.into_iter().map(core).collect()
}

fn speed(core: &Core) -> u64 {
    [core.base_speed, core.max_speed, core.guess_speed].into_iter().find(|s| *s > 0).unwrap_or(0)
}

/// The attributes of cores, of which `nodes` are the NUMA nodes; empty ones are left out.
fn attributes(cores: &[Core], nodes: &BTreeSet<u64>, model: &Model) -> BTreeMap<String, String> {
    let mut attributes = BTreeMap::new();
    let mut set = |k: &str, v: String| {
        if !v.is_empty() {
            attributes.insert(k.to_string(), v);
        }
    };
    let arch = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "x86" => "386",
        other => other,
    };
    set("cpu.arch", arch.into());
    set("cpu.modelname", model.name.clone());
    let of = |grade: bool| cores.iter().filter(move |c| c.grade == grade);
    let mhz = |grade: bool| of(grade).map(speed).max().map(|s| s.to_string()).unwrap_or_default();
    if of(false).next().is_some() {
        set("cpu.frequency.performance", mhz(true));
        set("cpu.frequency.efficiency", mhz(false));
        set("cpu.numcores.performance", of(true).count().to_string());
        set("cpu.numcores.efficiency", of(false).count().to_string());
    } else {
        set("cpu.frequency", mhz(true));
    }
    set("cpu.numcores", cores.len().to_string());
    set("numa.node.count", nodes.len().to_string());
    for node in nodes {
        let ids: Vec<u64> = cores.iter().filter(|c| c.node_id == *node).map(|c| c.id).collect();
        set(&format!("numa.node{node}.cores"), ranges::text(&ids));
    }
    attributes
}

fn resources(config: &Config, mut cores: Vec<Core>, model: &Model) -> Cpu {
    let reservable = ranges::numbers(&config.reservable_cores).filter(|l| !l.is_empty());
    let reserved = ranges::numbers(&config.reserved.cores).unwrap_or_default();
    for core in &mut cores {
        if speed(core) == 0 {
            core.base_speed = model.mhz.max(1);
        }
        core.disable |= match &reservable {
            Some(list) => !list.contains(&core.id),
            None => reserved.contains(&core.id),
        };
    }
    let sum = |f: &dyn Fn(&&Core) -> bool| cores.iter().filter(f).map(speed).sum::<u64>();
    let (total, usable) = match u64::try_from(config.cpu_total_compute) {
        Ok(mhz @ 1..) => (mhz, mhz),
        _ => {
            let held = u64::try_from(config.reserved.cpu).unwrap_or(0);
            (sum(&|_| true), sum(&|c| !c.disable).saturating_sub(held))
        }
    };
    let enabled: Vec<u64> = cores.iter().filter(|c| !c.disable).map(|c| c.id).collect();
    let nodes: BTreeSet<u64> = cores.iter().map(|c| c.node_id).collect();
    let mut attributes = attributes(&cores, &nodes, model);
    attributes.insert("cpu.reservablecores".into(), enabled.len().to_string());
    attributes.insert("cpu.totalcompute".into(), total.to_string());
    attributes.insert("cpu.usablecompute".into(), usable.to_string());
    let total = i64::try_from(total).unwrap_or(i64::MAX);
    Cpu {
        attributes,
        legacy: LegacyNodeCpuResources {
            cpu_shares: total,
            total_cpu_cores: u64::try_from(cores.len()).unwrap_or(0),
            reservable_cpu_cores: enabled,
        },
        topology: Topology {
            nodes: nodes.into_iter().filter_map(|n| i64::try_from(n).ok()).collect(),
            distances: Vec::new(),
            cores,
            override_total_compute: u64::try_from(config.cpu_total_compute).unwrap_or(0),
            override_withold_compute: u64::try_from(config.reserved.cpu).unwrap_or(0),
        },
        total,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Reserved;
    use crate::testing::TempDir;

    fn core(id: u64, base: u64, max: u64, grade: bool) -> Core {
        Core { id, base_speed: base, max_speed: max, grade, ..Core::default() }
    }

    #[test]
    fn compute_and_what_is_held_back() {
        let cores = vec![core(0, 2000, 3000, true), core(1, 0, 3000, true), core(2, 0, 0, true)];
        let model = Model { name: "m".into(), mhz: 1000 };
        let reserved = Reserved { cpu: 500, cores: "0".into(), ..Reserved::default() };
        let config = Config { reserved, ..Config::default() };
        let got = resources(&config, cores.clone(), &model);
        let get = |k: &str| got.attributes[k].clone();
        assert_eq!(
            (got.total, get("cpu.usablecompute"), get("cpu.reservablecores")),
            (6000, "3500".into(), "2".into())
        );
        assert_eq!(got.legacy.reservable_cpu_cores, [1, 2]);
        let config = Config { reservable_cores: "0".into(), cpu_total_compute: 4000, ..config };
        let got = resources(&config, cores, &model);
        assert_eq!((got.total, got.legacy.reservable_cpu_cores), (4000, vec![0]));
    }

    #[test]
    fn slow_cores_have_figures_of_their_own() {
        let cores = vec![core(0, 3000, 0, true), core(1, 2000, 0, false)];
        let got = resources(&Config::default(), cores, &Model { name: String::new(), mhz: 0 });
        assert_eq!(got.attributes["cpu.frequency.efficiency"], "2000");
        assert!(!got.attributes.contains_key("cpu.frequency"));
    }

    #[test]
    fn trees_of_sysfs() {
        let dir = TempDir::new("cpu");
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("system/cpu/online", "0-1\n");
        write("system/node/online", "0-1\n");
        write("system/node/node1/cpulist", "1\n");
        write("system/cpu/cpu0/cpufreq/base_frequency", "2400000\n");
        write("system/cpu/cpu1/cpufreq/cpuinfo_max_freq", "3600000\n");
        let got = cores(dir.path());
        assert_eq!((got[0].base_speed, got[1].base_speed, got[1].max_speed), (2400, 0, 3600));
        assert_eq!((got[0].node_id, got[1].node_id), (0, 1));
    }
}
