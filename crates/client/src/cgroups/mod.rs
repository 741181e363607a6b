//! Control groups of tasks: they limit the memory and the CPU time of a task (`docs/spec/client.md §22`).
//!
//! The agent creates the groups of a task and sets their limits; the task's supervisor enters them briefly while it
//! starts the task, so that no instruction of the task runs outside. An agent that may not create groups logs this once
//! and runs tasks without them.

mod usage;

pub(crate) use usage::Counters;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use procfs::process::Process;
use procfs::{MountEntry, ProcessCGroup};
use serde::{Deserialize, Serialize};

use super::mounts::mounts;
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
    /// Further bounds of a task that is isolated.
    pub isolated: Option<Isolated>,
}

/// Further bounds of isolated tasks. What such a task uses is measured by its groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Isolated {
    /// How many processes and threads it may have; none: any number.
    pub pids: Option<u64>,
    /// The devices that it may use, as rules of the devices controller of version 1.
    pub devices: Vec<String>,
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
    Cpuacct,
    Cpuset,
    Devices,
    Freezer,
    Memory,
    Pids,
}

impl Controller {
    const ALL: [Controller; 7] = [
        Controller::Cpu,
        Controller::Cpuacct,
        Controller::Cpuset,
        Controller::Devices,
        Controller::Freezer,
        Controller::Memory,
        Controller::Pids,
    ];

    /// Whether only isolated tasks have a group of it.
    fn of_isolated(self) -> bool {
        match self {
            Controller::Cpuacct | Controller::Devices | Controller::Pids => true,
            Controller::Cpu | Controller::Cpuset | Controller::Freezer | Controller::Memory => false,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Controller::Cpu => "cpu",
            Controller::Cpuacct => "cpuacct",
            Controller::Cpuset => "cpuset",
            Controller::Devices => "devices",
            Controller::Freezer => "freezer",
            Controller::Memory => "memory",
            Controller::Pids => "pids",
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

    /// Whether the agent may make groups.
    pub(crate) fn are_usable(&self) -> bool {
        self.hierarchy.is_some()
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
                        Controller::Cpu
                        | Controller::Cpuacct
                        | Controller::Devices
                        | Controller::Freezer
                        | Controller::Pids => {}
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
    for controller in [Controller::Memory, Controller::Cpu, Controller::Cpuset, Controller::Pids] {
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
    if let Some(pids) = limits.isolated.as_ref().and_then(|i| i.pids) {
        write(&dir, "pids.max", &pids.to_string())?;
    }
    Ok(Group { dir, home: mounted.home.clone(), own: true })
}

fn create_v1(controllers: &BTreeMap<Controller, Mounted>, scope: &str, limits: &Limits) -> io::Result<Vec<Group>> {
    let mut groups = Vec::new();
    // Controllers may share a hierarchy: their group is one.
    let mut seen: BTreeMap<&Path, Controller> = BTreeMap::new();
    for (controller, mounted) in controllers {
        if controller.of_isolated() && limits.isolated.is_none() {
            continue;
        }
        if *controller == Controller::Cpuacct && seen.insert(&mounted.root, *controller).is_some() {
            continue;
        }
        seen.insert(&mounted.root, *controller);
        groups.push(create_v1_group(*controller, mounted, scope, limits)?);
    }
    Ok(groups)
}

/// The group of a task in the hierarchy of one controller.
fn create_v1_group(controller: Controller, mounted: &Mounted, scope: &str, limits: &Limits) -> io::Result<Group> {
    let (parent, home) = (mounted.root.join(PARENT), mounted.home.clone());
    let dir = match controller {
        Controller::Cpuset if limits.cores.is_empty() => {
            return Ok(Group { dir: parent.join(SHARED[1]), home, own: false });
        }
        Controller::Cpuset => parent.join(RESERVED[1]).join(scope),
        Controller::Cpu
        | Controller::Cpuacct
        | Controller::Devices
        | Controller::Freezer
        | Controller::Memory
        | Controller::Pids => parent.join(scope),
    };
    fresh(&dir)?;
    let isolated = limits.isolated.as_ref();
    match controller {
        Controller::Memory => {
            if let Some(hard) = limits.hard_memory() {
                let _ = write(&dir, "memory.swappiness", "0");
                write(&dir, "memory.limit_in_bytes", &hard.to_string())?;
            }
            if let Some(soft) = limits.soft_memory() {
                write(&dir, "memory.soft_limit_in_bytes", &soft.to_string())?;
            }
        }
        Controller::Cpu if limits.cpu_shares > 0 => {
            write(&dir, "cpu.shares", &limits.cpu_shares.max(2).to_string())?;
        }
        Controller::Cpu | Controller::Freezer | Controller::Cpuacct => {}
        Controller::Pids => {
            if let Some(pids) = isolated.and_then(|i| i.pids) {
                write(&dir, "pids.max", &pids.to_string())?;
            }
        }
        Controller::Devices => {
            write(&dir, "devices.deny", "a")?;
            for rule in isolated.iter().flat_map(|i| &i.devices) {
                write(&dir, "devices.allow", rule)?;
            }
        }
        Controller::Cpuset => {
            inherit_cpuset(&dir)?;
            write(&dir, "cpuset.cpus", &ranges::text(&limits.cores))?;
        }
    }
    Ok(Group { dir, home, own: true })
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
        self.admit(std::process::id())
    }

    /// Moves this process back to where the agent is.
    pub fn leave(&self) -> io::Result<()> {
        self.dismiss(std::process::id())
    }

    /// Moves a process in.
    pub(crate) fn admit(&self, pid: u32) -> io::Result<()> {
        self.groups.iter().try_for_each(|g| write(&g.dir, PROCS, &pid.to_string()))
    }

    /// Moves a process to where the agent is.
    pub(crate) fn dismiss(&self, pid: u32) -> io::Result<()> {
        self.groups.iter().try_for_each(|g| write(&g.home, PROCS, &pid.to_string()))
    }

    /// What the processes of the task have used.
    pub(crate) fn counters(&self) -> Counters {
        Counters::read(self.groups.iter().map(|g| g.dir.as_path()))
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
mod tests;
