//! Runs the real program.
//!
//! `ENCAMP_PROGRAM=path`: another build than the one the tests were built with.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::notes::Timed;

/// The build that is tested instead of the tests' own.
fn given() -> Option<String> {
    std::env::var("ENCAMP_PROGRAM").ok().filter(|p| !p.is_empty())
}

/// The program that runs: the one that Cargo names to the tests that it starts, or the one of the same build.
pub fn path() -> String {
    given()
        .or_else(|| std::env::var("CARGO_BIN_EXE_encamp").ok())
        .unwrap_or_else(|| build_directory().join("encamp").to_str().expect("the path is UTF-8").to_string())
}

/// The directory with the programs of the build of this test: `target/debug`.
pub fn build_directory() -> PathBuf {
    let test = std::env::current_exe().expect("the path of this test");
    test.ancestors().nth(2).expect("a test is in the directory `deps` of its build").to_path_buf()
}

/// The repository.
pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Whether the program is compiled with optimisation, as far as is known.
pub fn optimised() -> bool {
    !cfg!(debug_assertions) || given().is_some()
}

/// Runs a program.
///
/// # Errors
/// It cannot be started, or what it prints when it fails.
pub fn succeeds(command: &mut Command) -> Result<(), String> {
    match command.output() {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr))),
        Err(e) => Err(e.to_string()),
    }
}

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
}

/// An empty folder that is removed at the end, with the processes that work in it.
pub struct Folder {
    path: PathBuf,
    _timed: Timed,
}

impl Folder {
    /// Tests of one program may give the same name. The first folder of a program removes those of killed runs.
    pub fn new(name: &str) -> Folder {
        static MADE: AtomicUsize = AtomicUsize::new(0);
        static LEFT: Once = Once::new();
        LEFT.call_once(remove_folders_of_dead_runs);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("encamp-{name}-{}-{number}", std::process::id()));
        if path.exists() {
            // Of a killed run whose process had the same number.
            remove(&path);
        }
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder { path, _timed: Timed::start() }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes the folders of runs that were killed: those of this user whose names are exactly as [`Folder::new`] gives
/// them, with the number of a process that does not exist.
pub fn remove_folders_of_dead_runs() {
    // Where processes are not listed, all of them would look dead.
    if !Path::new("/proc").join(std::process::id().to_string()).exists() {
        return;
    }
    let user = rustix::process::geteuid().as_raw();
    let entries = std::fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let named = entries.filter(|entry| is_of_dead_run(&entry.file_name().to_string_lossy()));
    let own = named.filter(|entry| entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == user));
    let mut dead: Vec<PathBuf> = own.map(|entry| entry.path()).collect();
    // Agents, which would start containers again, end before these.
    dead.sort_by_key(|folder| folder.join(PODMAN_SETTINGS).exists());
    for folder in &dead {
        remove_containers(folder);
        remove(folder);
    }
}

/// Whether a name is `encamp-<name>-<process>-<number>`, and there is no such process.
fn is_of_dead_run(name: &str) -> bool {
    // Parts of a UUID are none: they are longer, or begin with 0.
    let number = |text: &str| text.parse::<u32>().ok().filter(|n| n.to_string() == text);
    let Some((rest, count)) = name.strip_prefix("encamp-").and_then(|rest| rest.rsplit_once('-')) else { return false };
    let Some((name, process)) = rest.rsplit_once('-') else { return false };
    match (number(process), number(count)) {
        (Some(id @ 1..), Some(_)) => !name.is_empty() && !Path::new("/proc").join(id.to_string()).exists(),
        _ => false,
    }
}

/// Removes a folder with the processes that work in it, the cgroups and networks of its allocations, and its mounts.
fn remove(folder: &Path) {
    end_processes(folder);
    remove_cgroups(folder);
    remove_networks(folder);
    unmount_below(folder);
    // Processes that are dying may write meanwhile.
    let end = Instant::now() + DEATH;
    let is_left = |e: std::io::Error| e.kind() == ErrorKind::DirectoryNotEmpty;
    while std::fs::remove_dir_all(folder).is_err_and(is_left) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Unmounts what is mounted in a folder: agents that are root keep the secrets of tasks in memory.
pub fn unmount_below(folder: &Path) {
    let all = procfs::process::Process::myself().and_then(|p| p.mountinfo());
    let mut found: Vec<_> = all.into_iter().flatten().map(|m| m.mount_point).collect();
    found.retain(|point| point.starts_with(folder));
    for point in found.iter().rev() {
        // An agent that still runs may have unmounted it.
        let _ = rustix::mount::unmount(point, rustix::mount::UnmountFlags::DETACH);
    }
}

/// Kills the processes that work in a folder: tasks and their supervisors outlive an agent that was killed.
pub fn end_processes(folder: &Path) {
    for process in procfs::process::all_processes().into_iter().flatten().flatten() {
        let inside = process.cwd().is_ok_and(|cwd| cwd.starts_with(folder));
        let other = u32::try_from(process.pid).is_ok_and(|id| id != std::process::id());
        if let Some(pid) = Pid::from_raw(process.pid).filter(|_| inside && other) {
            // It may have ended meanwhile.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// Where cgroups are mounted: the only hierarchy of version 2, or those of version 1.
const CGROUPS: &str = "/sys/fs/cgroup";
/// The groups in which agents make those of tasks.
const PARENTS: [&str; 5] =
    ["nomad.slice", "nomad.slice/share.slice", "nomad.slice/reserve.slice", "nomad.slice/share", "nomad.slice/reserve"];
/// How deep below a folder the directories of allocations are.
const DEEPEST: usize = 6;
/// How long the processes of a killed task may take to die.
const DEATH: Duration = Duration::from_secs(5);

/// Removes the cgroups of the allocations in a folder, with the processes in there: an agent that was killed left them,
/// and so did a supervisor.
pub fn remove_cgroups(folder: &Path) {
    let mut allocs = Vec::new();
    find_allocs(folder, DEEPEST, &mut allocs);
    let end = Instant::now() + DEATH;
    for dir in cgroups_of(&allocs) {
        let is_left = || {
            for pid in std::fs::read_to_string(dir.join("cgroup.procs")).unwrap_or_default().lines() {
                if let Some(pid) = pid.parse().ok().and_then(Pid::from_raw) {
                    let _ = kill_process(pid, Signal::KILL);
                }
            }
            // It can't be removed before its last process is gone.
            std::fs::remove_dir(&dir).is_err() && dir.exists()
        };
        while is_left() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// The names of the directories of allocations, and of their networks.
fn find_allocs(dir: &Path, depth: usize, found: &mut Vec<String>) {
    let is_alloc = |name: &str| name.len() == 36 && name.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().trim_end_matches(".json").to_string();
        if is_alloc(&name) {
            found.push(name);
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            find_allocs(&entry.path(), depth - 1, found);
        }
    }
}

/// The cgroups of the tasks of allocations.
fn cgroups_of(allocs: &[String]) -> Vec<PathBuf> {
    let list = |dir: PathBuf| std::fs::read_dir(dir).into_iter().flatten().flatten();
    if allocs.is_empty() {
        return Vec::new();
    }
    let hierarchies: Vec<PathBuf> = list(CGROUPS.into()).map(|e| e.path()).chain([PathBuf::from(CGROUPS)]).collect();
    let parents = hierarchies.iter().flat_map(|root| PARENTS.map(|parent| root.join(parent)));
    let groups = parents.flat_map(|parent| list(parent).map(|e| e.path()));
    let of_alloc = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.split_once('.').is_some_and(|(id, _)| allocs.iter().any(|alloc| alloc == id))
    };
    groups.filter(of_alloc).collect()
}

/// Where network namespaces have names.
const NAMESPACES: &str = "/var/run/netns";

/// Removes the names of the network namespaces of the allocations in a folder: namespaces end with their last process.
fn remove_networks(folder: &Path) {
    if !Path::new(NAMESPACES).exists() {
        return;
    }
    let mut allocs = Vec::new();
    find_allocs(folder, DEEPEST, &mut allocs);
    for name in allocs.iter().map(|alloc| Path::new(NAMESPACES).join(alloc)).filter(|name| name.exists()) {
        let _ = rustix::mount::unmount(&name, rustix::mount::UnmountFlags::DETACH);
        let _ = std::fs::remove_file(&name);
    }
}

/// The settings of a Podman in its folder.
pub const PODMAN_SETTINGS: &str = "containers.conf";
/// How long Podman may take to remove its containers.
const REMOVAL: Duration = Duration::from_secs(60);

/// A Podman that shares nothing with that of the host: everything is in a folder.
pub fn podman(folder: &Path) -> Command {
    let mut command = Command::new("podman");
    let at = |name: &str| folder.join(name).display().to_string();
    command.args(["--root", &at("root"), "--runroot", &at("run"), "--tmpdir", &at("tmp")]);
    command.args(["--storage-driver", "vfs", "--network-config-dir", &at("networks")]);
    command.env("CONTAINERS_CONF", folder.join(PODMAN_SETTINGS)).stdin(Stdio::null());
    // Podman's processes write files where they work.
    command.current_dir(folder);
    command
}

/// Removes the containers of the Podman in a folder, if there is one: most of their processes don't work in it.
fn remove_containers(folder: &Path) {
    if !folder.join(PODMAN_SETTINGS).exists() {
        return;
    }
    let mut command = podman(folder);
    command.args(["rm", "--all", "--force", "--time", "0"]).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return };
    let end = Instant::now() + REMOVAL;
    while child.try_wait().is_ok_and(|status| status.is_none()) {
        if Instant::now() > end {
            let _ = child.kill();
            let _ = child.wait();
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Runs the program in a folder with an otherwise empty environment.
pub fn run_with(folder: &Path, args: &[&str], env: &[(&str, &str)], stdin: Option<&Path>) -> Ran {
    let input = stdin.map_or_else(Stdio::null, |p| std::fs::File::open(p).expect("the input").into());
    let out = Command::new(path())
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("TZ", "UTC")
        // Whatever agent runs on this machine is none of the test's.
        .env("NOMAD_ADDR", "http://127.0.0.1:1")
        .envs(env.iter().copied())
        .stdin(input)
        .output()
        .expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    Ran { stdout: text(out.stdout), stderr: text(out.stderr), exit: out.status.code().unwrap_or(-1) }
}

/// Runs the program in a folder with an otherwise empty environment and that text on standard input, and ends it when
/// it takes too long: the exit code is then -1.
pub fn run_for(patience: Duration, folder: &Path, args: &[&str], env: &[(&str, &str)], input: &str) -> Ran {
    let mut child = Command::new(path())
        .args(args)
        .current_dir(folder)
        .env_clear()
        .env("TZ", "UTC")
        .env("NOMAD_ADDR", "http://127.0.0.1:1")
        .envs(env.iter().copied())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that does not read its input may be gone already.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    let reader = |mut stream: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut text = Vec::new();
            stream.read_to_end(&mut text).expect("output");
            String::from_utf8(text).expect("output is UTF-8")
        })
    };
    let stdout = reader(Box::new(child.stdout.take().expect("a pipe")));
    let stderr = reader(Box::new(child.stderr.take().expect("a pipe")));
    let end = Instant::now() + patience;
    let status = loop {
        match child.try_wait().expect("a child") {
            Some(status) => break status,
            None if Instant::now() > end => {
                child.kill().expect("a child");
                break child.wait().expect("a child");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (stdout, stderr) = (stdout.join().expect("a reader"), stderr.join().expect("a reader"));
    Ran { stdout, stderr, exit: status.code().unwrap_or(-1) }
}

/// Runs the program in a folder.
pub fn run_in(folder: &Path, args: &[&str]) -> Ran {
    run_with(folder, args, &[], None)
}

/// Runs the program anywhere.
pub fn run(args: &[&str]) -> Ran {
    run_in(&std::env::temp_dir(), args)
}
