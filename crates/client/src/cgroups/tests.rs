use procfs::{FromBufRead, ProcessCGroups};

use super::*;
use crate::testing::TempDir;

/// A hierarchy of plain files: what is written can be read back.
fn pretended(dir: &TempDir) -> Mounted {
    Mounted { root: dir.path().into(), home: dir.path().into() }
}

#[test]
fn weights_of_shares() {
    let got = [0, 1, 2, 100, 1024, 300_000].map(weight);
    assert_eq!(got, [0, 1, 1, 17, 100, 10_000]);
}

/// The hierarchies in the texts of `/proc/self/mounts` and `/proc/self/cgroup`.
fn found(mounts: &str, own: &str) -> Option<Hierarchy> {
    let mounts = Vec::<MountEntry>::from_buf_read(mounts.as_bytes()).unwrap();
    find(&mounts, &ProcessCGroups::from_buf_read(own.as_bytes()).unwrap().0)
}

#[test]
fn hierarchies_are_found() {
    let dir = TempDir::new("cgroups");
    let root = dir.path().display().to_string();
    std::fs::create_dir_all(dir.path().join("agent")).unwrap();
    let unified = format!("cgroup2 {root} cgroup2 rw 0 0\n");
    assert_eq!(found(&unified, "0::/agent\n"), None, "no controllers");
    std::fs::write(dir.path().join("cgroup.controllers"), "cpu memory pids\n").unwrap();
    let home = dir.path().join("agent");
    let want = Mounted { root: dir.path().into(), home };
    assert_eq!(found(&unified, "0::/agent\n"), Some(Hierarchy::V2(want.clone())));
    let old = format!("cgroup {root} cgroup rw,memory 0 0\ncgroup {root} cgroup rw,cpu,cpuacct 0 0\n");
    let own = "4:memory:/agent\n1:cpu,cpuacct:/../x\n";
    let Some(Hierarchy::V1(v1)) = found(&old, own) else { panic!("version 1") };
    assert_eq!(v1.keys().copied().collect::<Vec<_>>(), [Controller::Cpu, Controller::Cpuacct, Controller::Memory]);
    assert_eq!((&v1[&Controller::Memory], &v1[&Controller::Cpu].home), (&want, &want.root));
    assert_eq!(found("tmpfs / tmpfs rw 0 0\n", ""), None);
}

#[test]
fn limits_of_version_2() {
    let dir = TempDir::new("cgroups");
    std::fs::write(dir.path().join("cpuset.cpus.effective"), "0-3\n").unwrap();
    let cgroups = Cgroups::with(Some(Hierarchy::V2(pretended(&dir))));
    let slice = dir.path().join(PARENT);
    assert_eq!(read(&slice, SUBTREE).as_deref(), Some("+pids"), "written one after the other");
    let limits = Limits { cpu_shares: 1024, memory_mb: 32, ..Limits::default() };
    let plain = cgroups.create("a", "t", &limits).unwrap().unwrap();
    let scope = slice.join("share.slice/a.t.scope");
    assert_eq!((plain.groups.len(), &plain.groups[0].dir), (1, &scope));
    assert_eq!((read(&scope, "memory.max"), read(&scope, "memory.low")), (Some("33554432".into()), None));
    assert_eq!((read(&scope, "cpu.weight").as_deref(), read(&scope, "cpuset.cpus")), (Some("100"), None));
    let more = Limits { memory_mb: 32, memory_max_mb: 64, cores: vec![1, 2], ..Limits::default() };
    let reserved = cgroups.create("b", "t", &more).unwrap().unwrap();
    let scope = slice.join("reserve.slice/b.t.scope");
    let got = ["memory.max", "memory.low", "cpuset.cpus"].map(|f| read(&scope, f).unwrap());
    assert_eq!(got, ["67108864", "33554432", "1-2"]);
    let left = || read(&slice.join("share.slice"), "cpuset.cpus");
    assert_eq!(left().as_deref(), Some("0,3"));
    cgroups.release(&reserved);
    assert_eq!(left().as_deref(), Some("0-3"));
    let any = Limits { memory_mb: 32, memory_max_mb: -1, ..Limits::default() };
    cgroups.create("c", "t", &any).unwrap();
    let scope = slice.join("share.slice/c.t.scope");
    assert_eq!(["memory.max", "memory.low"].map(|f| read(&scope, f).unwrap()), ["max", "33554432"]);
    std::fs::write(scope.join("memory.events"), "low 0\noom 2\noom_kill 1\n").unwrap();
    let groups = TaskGroups { groups: vec![Group { dir: scope, ..plain.groups[0].clone() }], ..plain };
    assert_eq!(groups.oom_kills(), 1);
}

#[test]
fn limits_of_version_1() {
    let dir = TempDir::new("cgroups");
    for c in Controller::ALL {
        std::fs::create_dir(dir.path().join(c.name())).unwrap();
    }
    std::fs::write(dir.path().join("cpuset/cpuset.cpus"), "0-3\n").unwrap();
    std::fs::write(dir.path().join("cpuset/cpuset.mems"), "0\n").unwrap();
    let mounted = |c: Controller| Mounted { root: dir.path().join(c.name()), home: dir.path().join(c.name()) };
    let cgroups = Cgroups::with(Some(Hierarchy::V1(Controller::ALL.map(|c| (c, mounted(c))).into())));
    let limits = Limits { cpu_shares: 1, memory_mb: 16, ..Limits::default() };
    let plain = cgroups.create("a", "t", &limits).unwrap().unwrap();
    let in_parent = |path: &str| {
        let (controller, rest) = path.split_once('/').unwrap();
        std::fs::read_to_string(dir.path().join(controller).join(PARENT).join(rest)).unwrap_or_default()
    };
    assert_eq!(in_parent("memory/a.t/memory.limit_in_bytes"), "16777216");
    assert_eq!((in_parent("cpu/a.t/cpu.shares"), in_parent("cpuset/share/cpuset.mems")), ("2".into(), "0".into()));
    assert_eq!(plain.groups.iter().filter(|g| !g.own).count(), 1, "the shared partition stays");
    cgroups.create("b", "t", &Limits { cores: vec![3], ..Limits::default() }).unwrap();
    assert_eq!(in_parent("cpuset/reserve/b.t/cpuset.cpus"), "3");
    assert_eq!(in_parent("cpuset/share/cpuset.cpus"), "0-2");
    let isolated = Isolated { pids: Some(9), devices: vec!["c 1:3 rwm".into()] };
    let more = Limits { isolated: Some(isolated), ..limits.clone() };
    let groups = cgroups.create("c", "t", &more).unwrap().unwrap();
    assert_eq!(groups.groups.len(), 7);
    assert_eq!(in_parent("pids/c.t/pids.max"), "9");
    assert_eq!(
        (in_parent("devices/c.t/devices.deny"), in_parent("devices/c.t/devices.allow")),
        ("a".into(), "c 1:3 rwm".into())
    );
    let custom = cgroups.custom(&[("memory".to_string(), "/mine".to_string())].into(), "").unwrap();
    assert_eq!((&custom.groups[0].dir, custom.groups[0].own), (&dir.path().join("memory/mine"), false));
}

#[test]
fn an_agent_without_rights_goes_on() {
    let dir = TempDir::new("cgroups");
    std::fs::write(dir.path().join(PARENT), "in the way").unwrap();
    let cgroups = Cgroups::with(Some(Hierarchy::V2(pretended(&dir))));
    assert_eq!(cgroups.create("a", "t", &Limits::default()).unwrap(), None);
    assert_eq!(Cgroups::with(None).create("a", "t", &Limits::default()).unwrap(), None);
}
