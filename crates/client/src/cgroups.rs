//! Control groups of tasks: they limit the memory and the CPU time of a task (`docs/spec/client.md §22`).
//!
//! The agent creates the groups of a task and sets their limits; the task's supervisor enters them briefly while it
//! starts the task, so that no instruction of the task runs outside. An agent that may not create groups logs this once
//! and runs tasks without them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use procfs::process::Process;
use procfs::{MountEntry, ProcessCGroup};
use serde::{Deserialize, Serialize};

use super::fingerprint::host::mounts;
use super::ranges;

/// The group of everything that the agent runs.
const PARENT: &str = "nomad.slice";
/// Partitions of the processor: cores that all tasks share, and cores that tasks reserved.
const SHARED: [&str; 2] = ["share.slice", "share"];
const RESERVED: [&str; 2] = ["reserve.slice", "reserve"];
/// Files of a group.
const PROCS: &str = "cgroup.procs";
const SUBTREE: &str = "cgroup.subtree_control";
/// How long the processes of a group may take to die, and the group to be free for removal.
const PATIENCE: Duration = Duration::from_secs(5);

/// The resources that a task may use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Limits {
    /// MHz, 0: no say.
    pub cpu_shares: i64,
    /// Cores of its own.
    pub cores: Vec<u64>,
    /// MiB, 0: no limit.
    pub memory_mb: i64,
    /// MiB that it may use while there is enough; 0: not more than the above, -1: any.
    pub memory_max_mb: i64,
}

impl Limits {
    /// Bytes of memory that the task can't exceed; none: any.
    fn hard_memory(&self) -> Option<i64> {
        let mb = if self.memory_max_mb != 0 { self.memory_max_mb } else { self.memory_mb };
        (mb > 0).then(|| mb.saturating_mul(1 << 20))
    }

    /// Bytes of memory that are the task's even when memory is short; none if there is no other limit.
    fn soft_memory(&self) -> Option<i64> {
        (self.memory_max_mb != 0 && self.memory_mb > 0).then(|| self.memory_mb.saturating_mul(1 << 20))
    }
}

/// One group of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its directory.
    pub dir: PathBuf,
    /// The group of the same hierarchy that the agent itself is in.
    pub home: PathBuf,
    /// It was made for the task, and goes with it.
    pub own: bool,
}

/// The groups of one task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskGroups {
    /// Its name among the tasks of the node.
    pub scope: String,
    /// One for each hierarchy.
    pub groups: Vec<Group>,
    /// Cores that nobody else uses meanwhile.
    pub cores: Vec<u64>,
}

/// A part of version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Controller {
    Cpu,
    Cpuset,
    Freezer,
    Memory,
}

impl Controller {
    const ALL: [Controller; 4] = [Controller::Cpu, Controller::Cpuset, Controller::Freezer, Controller::Memory];

    fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Cpuset => "cpuset",
            Controller::Freezer => "freezer",
            Controller::Memory => "memory",
        }
    }
}

/// Where a hierarchy is mounted, and the agent's own group in it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    root: PathBuf,
    home: PathBuf,
}

/// The hierarchies of the host.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Hierarchy {
    V1(BTreeMap<Controller, Mounted>),
    V2(Mounted),
}

/// The control groups of a node.
#[derive(Debug)]
pub(crate) struct Cgroups {
    /// None: the agent may not make groups.
    hierarchy: Option<Hierarchy>,
    /// Reserved cores by task.
    reserved: Mutex<BTreeMap<String, Vec<u64>>>,
}

/// Why groups can't be made.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    /// The host has no groups that bound memory.
    #[error("no hierarchy with the memory controller is mounted")]
    NoHierarchy,
    /// The hierarchy can't be prepared.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl Cgroups {
    /// Those of the host. Says once if the agent may not make groups.
    pub(crate) fn of_host() -> Cgroups {
        let own = Process::myself().and_then(|p| p.cgroups()).map(|c| c.0);
        Cgroups::with(find(&mounts(), &own.unwrap_or_default()))
    }

    /// None, for drivers that do not run.
    pub(crate) fn none() -> Cgroups {
        Cgroups { hierarchy: None, reserved: Mutex::default() }
    }

    fn with(found: Option<Hierarchy>) -> Cgroups {
        let prepared = found.ok_or(Unusable::NoHierarchy).and_then(|h| {
            h.prepare()?;
            Ok(h)
        });
        let hierarchy = prepared.inspect_err(|reason| {
            tracing::warn!(target: "client", %reason, "cgroups can't be made: limits of memory and CPU are not enforced");
        });
        Cgroups { hierarchy: hierarchy.ok(), reserved: Mutex::default() }
    }

    /// Makes the groups of a task; none where the agent makes none.
    pub(crate) fn create(&self, alloc_id: &str, task: &str, limits: &Limits) -> io::Result<Option<TaskGroups>> {
        let scope = format!("{alloc_id}.{task}");
        let groups = match &self.hierarchy {
            None => return Ok(None),
            Some(Hierarchy::V2(mounted)) => vec![create_v2(mounted, &scope, limits)?],
            Some(Hierarchy::V1(controllers)) => create_v1(controllers, &scope, limits)?,
        };
        let made = TaskGroups { scope, groups, cores: limits.cores.clone() };
        self.reserve(&made);
        Ok(Some(made))
    }

    /// The groups of a task that brings its own, by their paths: in version 1 by controller, in version 2 a single one.
    pub(crate) fn custom(&self, v1: &BTreeMap<String, String>, v2: &str) -> Option<TaskGroups> {
        let group = |mounted: &Mounted, path: &str| {
            let inside = path.strip_prefix(mounted.root.to_str().unwrap_or_default()).unwrap_or(path);
            let dir = mounted.root.join(inside.trim_start_matches('/'));
            Group { dir, home: mounted.home.clone(), own: false }
        };
        let groups: Vec<Group> = match &self.hierarchy {
            Some(Hierarchy::V2(mounted)) if !v2.is_empty() => vec![group(mounted, v2)],
            Some(Hierarchy::V1(all)) => {
                let of = |(c, mounted): (&Controller, &Mounted)| Some(group(mounted, v1.get(c.name())?));
                all.iter().filter_map(of).collect()
            }
            Some(Hierarchy::V2(_)) | None => Vec::new(),
        };
        (!groups.is_empty()).then(|| TaskGroups { groups, ..TaskGroups::default() })
    }

    /// Keeps the cores of a task from others.
    pub(crate) fn reserve(&self, task: &TaskGroups) {
        if !task.cores.is_empty() {
            self.reserved.lock().insert(task.scope.clone(), task.cores.clone());
            self.share();
        }
    }

    /// Gives the cores of a task back.
    pub(crate) fn release(&self, task: &TaskGroups) {
        if self.reserved.lock().remove(&task.scope).is_some() {
            self.share();
        }
    }

    /// Tells the shared partition which cores are left to it.
    fn share(&self) {
        let (dir, from) = match &self.hierarchy {
            None => return,
            Some(Hierarchy::V2(m)) => (m.root.join(PARENT).join(SHARED[0]), m.root.join("cpuset.cpus.effective")),
            Some(Hierarchy::V1(c)) => match c.get(&Controller::Cpuset) {
                None => return,
                Some(m) => (m.root.join(PARENT).join(SHARED[1]), m.root.join(PARENT).join("cpuset.cpus")),
            },
        };
        let taken: BTreeSet<u64> = self.reserved.lock().values().flatten().copied().collect();
        let all = std::fs::read_to_string(from).ok().and_then(|t| ranges::numbers(t.trim())).unwrap_or_default();
        let left: Vec<u64> = all.into_iter().filter(|core| !taken.contains(core)).collect();
        // Without any core its tasks could not run at all.
        if !left.is_empty()
            && let Err(error) = write(&dir, "cpuset.cpus", &ranges::text(&left))
        {
            tracing::warn!(target: "client", %error, "failed to set the cores of the shared partition");
        }
    }
}

impl Hierarchy {
    /// Makes what all tasks have in common.
    fn prepare(&self) -> io::Result<()> {
        match self {
            Hierarchy::V2(mounted) => {
                let parent = mounted.root.join(PARENT);
                enable(&mounted.root)?;
                for dir in [parent.clone(), parent.join(SHARED[0]), parent.join(RESERVED[0])] {
                    make(&dir)?;
                    enable(&dir)?;
                }
                Ok(())
            }
            Hierarchy::V1(controllers) => {
                for (controller, mounted) in controllers {
                    let parent = mounted.root.join(PARENT);
                    make(&parent)?;
                    match controller {
                        Controller::Memory => {
                            // Always so on newer kernels; the file may be gone.
                            let _ = write(&parent, "memory.use_hierarchy", "1");
                        }
                        Controller::Cpuset => {
                            inherit_cpuset(&parent)?;
                            for part in [SHARED[1], RESERVED[1]] {
                                make(&parent.join(part))?;
                                inherit_cpuset(&parent.join(part))?;
                            }
                        }
                        Controller::Cpu | Controller::Freezer => {}
                    }
                }
                Ok(())
            }
        }
    }
}

/// Finds the hierarchies among the mounted file systems; `own` are the groups of this process.
fn find(mounts: &[MountEntry], own: &[ProcessCGroup]) -> Option<Hierarchy> {
    let mounted = |root: &str, own: Option<&str>| {
        let root = PathBuf::from(root);
        let inside = own.unwrap_or_default().trim_start_matches('/');
        // From inside a namespace the group of an agent may not be visible.
        let home = Some(root.join(inside)).filter(|h| !inside.contains("..") && h.is_dir());
        Mounted { home: home.unwrap_or_else(|| root.clone()), root }
    };
    let group = |of: &dyn Fn(&ProcessCGroup) -> bool| own.iter().find(|g| of(g)).map(|g| g.pathname.as_str());
    let mut v1 = BTreeMap::new();
    for mount in mounts {
        match mount.fs_vfstype.as_str() {
            "cgroup2" => {
                // The group of version 2 has no controllers there.
                let found = mounted(&mount.fs_file, group(&|g| g.controllers.is_empty()));
                let controllers = std::fs::read_to_string(found.root.join("cgroup.controllers")).unwrap_or_default();
                if controllers.split_whitespace().any(|c| c == "memory") {
                    return Some(Hierarchy::V2(found));
                }
            }
            "cgroup" => {
                let named = |c: &Controller| mount.fs_mntops.contains_key(c.name());
                for controller in Controller::ALL.into_iter().filter(named) {
                    let own = group(&|g| g.controllers.iter().any(|c| c == controller.name()));
                    v1.insert(controller, mounted(&mount.fs_file, own));
                }
            }
            _ => {}
        }
    }
    v1.contains_key(&Controller::Memory).then_some(Hierarchy::V1(v1))
}

fn make(dir: &Path) -> io::Result<()> {
    match std::fs::create_dir(dir) {
        Err(e) if e.kind() != io::ErrorKind::AlreadyExists => Err(at(dir)(e)),
        _ => Ok(()),
    }
}

fn write(dir: &Path, file: &str, text: &str) -> io::Result<()> {
    let path = dir.join(file);
    std::fs::write(&path, text).map_err(at(&path))
}

fn read(dir: &Path, file: &str) -> Option<String> {
    std::fs::read_to_string(dir.join(file)).ok()
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    let path = path.display().to_string();
    move |e| io::Error::new(e.kind(), format!("{path}: {e}"))
}

/// Has the groups below one have the controllers. That of memory is needed, the others where there are any.
fn enable(dir: &Path) -> io::Result<()> {
    for controller in [Controller::Memory, Controller::Cpu, Controller::Cpuset] {
        let name = controller.name();
        if read(dir, SUBTREE).is_some_and(|on| on.split_whitespace().any(|c| c == name)) {
            continue;
        }
        let done = write(dir, SUBTREE, &format!("+{name}"));
        if controller == Controller::Memory {
            done?;
        }
    }
    Ok(())
}

/// A group of `cpuset` takes no process before it has cores and memory nodes.
fn inherit_cpuset(dir: &Path) -> io::Result<()> {
    let parent = dir.parent().unwrap_or(dir);
    for file in ["cpuset.cpus", "cpuset.mems"] {
        if read(dir, file).is_none_or(|t| t.trim().is_empty()) {
            write(dir, file, read(parent, file).unwrap_or_default().trim())?;
        }
    }
    Ok(())
}

/// The rest of an earlier run of the task must neither run nor count.
fn fresh(dir: &Path) -> io::Result<()> {
    if dir.is_dir() {
        end(dir);
        let _ = std::fs::remove_dir(dir);
    }
    make(dir)
}

fn create_v2(mounted: &Mounted, scope: &str, limits: &Limits) -> io::Result<Group> {
    let part = if limits.cores.is_empty() { SHARED[0] } else { RESERVED[0] };
    let dir = mounted.root.join(PARENT).join(part).join(format!("{scope}.scope"));
    fresh(&dir)?;
    let bytes = |limit: Option<i64>| limit.map_or_else(|| "max".to_string(), |b| b.to_string());
    write(&dir, "memory.max", &bytes(limits.hard_memory()))?;
    if let Some(soft) = limits.soft_memory() {
        write(&dir, "memory.low", &soft.to_string())?;
    }
    if limits.hard_memory().is_some() {
        // Swap would stretch the limit. A kernel without swap has no such file.
        let _ = write(&dir, "memory.swap.max", "0");
    }
    let weight = weight(limits.cpu_shares);
    if weight > 0 {
        let _ = write(&dir, "cpu.weight", &weight.to_string());
    }
    if !limits.cores.is_empty() {
        write(&dir, "cpuset.cpus", &ranges::text(&limits.cores))?;
    }
    Ok(Group { dir, home: mounted.home.clone(), own: true })
}

fn create_v1(controllers: &BTreeMap<Controller, Mounted>, scope: &str, limits: &Limits) -> io::Result<Vec<Group>> {
    let mut groups = Vec::new();
    for (controller, mounted) in controllers {
        let parent = mounted.root.join(PARENT);
        let home = mounted.home.clone();
        let own = |dir: PathBuf| Group { dir, home: home.clone(), own: true };
        groups.push(match controller {
            Controller::Memory => {
                let dir = parent.join(scope);
                fresh(&dir)?;
                if let Some(hard) = limits.hard_memory() {
                    let _ = write(&dir, "memory.swappiness", "0");
                    write(&dir, "memory.limit_in_bytes", &hard.to_string())?;
                }
                if let Some(soft) = limits.soft_memory() {
                    write(&dir, "memory.soft_limit_in_bytes", &soft.to_string())?;
                }
                own(dir)
            }
            Controller::Cpu => {
                let dir = parent.join(scope);
                fresh(&dir)?;
                if limits.cpu_shares > 0 {
                    write(&dir, "cpu.shares", &limits.cpu_shares.max(2).to_string())?;
                }
                own(dir)
            }
            Controller::Freezer => {
                let dir = parent.join(scope);
                fresh(&dir)?;
                own(dir)
            }
            Controller::Cpuset if limits.cores.is_empty() => Group { dir: parent.join(SHARED[1]), home, own: false },
            Controller::Cpuset => {
                let dir = parent.join(RESERVED[1]).join(scope);
                fresh(&dir)?;
                inherit_cpuset(&dir)?;
                write(&dir, "cpuset.cpus", &ranges::text(&limits.cores))?;
                own(dir)
            }
        });
    }
    Ok(groups)
}

/// `cpu.weight` for shares of version 1.
fn weight(shares: i64) -> i64 {
    match shares {
        ..=0 => 0,
        1..=2 => 1,
        262_144.. => 10_000,
        _ => {
            let l = (shares as f64).log2();
            10_f64.powf((l * l + 125.0 * l) / 612.0 - 7.0 / 34.0).ceil() as i64
        }
    }
}

/// Ends all processes of a group: at once by version 2, one by one before.
fn end(dir: &Path) {
    if dir.join("cgroup.kill").exists() {
        let _ = write(dir, "cgroup.kill", "1");
    }
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until {
        let text = read(dir, PROCS).unwrap_or_default();
        let pids: Vec<_> =
            text.lines().filter_map(|l| rustix::process::Pid::from_raw(l.trim().parse().ok()?)).collect();
        if pids.is_empty() {
            return;
        }
        for pid in pids {
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl TaskGroups {
    /// Moves this process in. What it starts then begins there.
    pub fn enter(&self) -> io::Result<()> {
        let me = std::process::id().to_string();
        self.groups.iter().try_for_each(|g| write(&g.dir, PROCS, &me))
    }

    /// Moves this process back to where the agent is.
    pub fn leave(&self) -> io::Result<()> {
        let me = std::process::id().to_string();
        self.groups.iter().try_for_each(|g| write(&g.home, PROCS, &me))
    }

    /// How many processes of the task were killed because it had no memory left.
    pub(crate) fn oom_kills(&self) -> u64 {
        let count = |dir: &Path| {
            let text = read(dir, "memory.events").or_else(|| read(dir, "memory.oom_control"))?;
            text.lines().find_map(|l| l.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok())
        };
        self.groups.iter().filter_map(|g| count(&g.dir)).sum()
    }

    /// Ends every process of the task.
    pub fn kill(&self) {
        let own = || self.groups.iter().filter(|g| g.own);
        let freeze = |state: &str| {
            for group in own().filter(|g| g.dir.join("freezer.state").exists()) {
                let _ = write(&group.dir, "freezer.state", state);
            }
        };
        // Frozen, none can start another one.
        freeze("FROZEN");
        let running = own().flat_map(|g| read(&g.dir, PROCS)).any(|t| !t.trim().is_empty());
        if running {
            for group in own() {
                for pid in read(&group.dir, PROCS).unwrap_or_default().lines() {
                    if let Some(pid) = pid.trim().parse().ok().and_then(rustix::process::Pid::from_raw) {
                        let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                    }
                }
            }
        }
        freeze("THAWED");
        own().for_each(|g| end(&g.dir));
    }

    /// Removes the groups; processes that are left in them die.
    pub fn remove(&self) {
        self.kill();
        for group in self.groups.iter().filter(|g| g.own) {
            let until = Instant::now() + PATIENCE;
            // A process that has died leaves its group a little later.
            while let Err(error) = std::fs::remove_dir(&group.dir) {
                let busy = error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error());
                if !busy || Instant::now() > until {
                    break;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(v1.keys().copied().collect::<Vec<_>>(), [Controller::Cpu, Controller::Memory]);
        assert_eq!((&v1[&Controller::Memory], &v1[&Controller::Cpu].home), (&want, &want.root));
        assert_eq!(found("tmpfs / tmpfs rw 0 0\n", ""), None);
    }

    #[test]
    fn limits_of_version_2() {
        let dir = TempDir::new("cgroups");
        std::fs::write(dir.path().join("cpuset.cpus.effective"), "0-3\n").unwrap();
        let cgroups = Cgroups::with(Some(Hierarchy::V2(pretended(&dir))));
        let slice = dir.path().join(PARENT);
        assert_eq!(read(&slice, SUBTREE).as_deref(), Some("+cpuset"), "written one after the other");
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
}
