//! The service of Podman in a directory of its own, with an image that a test makes of `/bin/busybox`.
//!
//! The service and its containers share nothing with those of the host but the kernel: images, containers, networks and
//! locks are in the directory. Everything goes with the value.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use encamp_test_support::notes;
use serde_json::{Value as Json, json};

use rustix::process::{Pid, Signal, kill_process};

use super::engine::{Engine, has_busybox, is_root};
use crate::agent::wait_for;
use crate::program::{self, Folder, PODMAN_SETTINGS, unmount_below};

/// The image of [`Podman::import_perl`], as jobs name it.
pub const PERL_IMAGE: &str = "localhost/perl:1";
/// Perl, its libraries and modules, as Debian has them.
const PERL: [&str; 6] = [
    "/usr/bin/perl",
    "/lib64/ld-linux-x86-64.so.2",
    "/lib/x86_64-linux-gnu/libm.so.6",
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/x86_64-linux-gnu/libcrypt.so.1",
    "/usr/lib/x86_64-linux-gnu/perl-base",
];
/// Which system calls containers may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// Those that Podman allows if nothing else is said.
    Default,
    /// Without user namespaces, key rings and sockets of virtual machines, as in the profile of Docker.
    Strict,
}

/// Where the package of Podman's libraries has the default profile.
const PROFILE: &str = "/usr/share/containers/seccomp.json";
/// Calls that the strict profile does not allow, or not with all arguments.
const RESTRICTED: [&str; 18] = [
    "clone",
    "clone3",
    "fsconfig",
    "fsmount",
    "fsopen",
    "fspick",
    "keyctl",
    "mount",
    "mount_setattr",
    "move_mount",
    "open_tree",
    "pivot_root",
    "setns",
    "socket",
    "umount",
    "umount2",
    "unshare",
    "userfaultfd",
];
/// The flags of `clone` that make namespaces.
const NAMESPACES: u32 = 0x7e02_0000;
/// The family of the sockets of virtual machines.
const AF_VSOCK: u32 = 40;

/// The strict profile.
fn strict() -> Option<Json> {
    let text = std::fs::read_to_string(PROFILE).ok()?;
    let mut profile: Json = serde_json::from_str(&text).ok()?;
    let rules = profile["syscalls"].as_array_mut()?;
    for rule in rules.iter_mut() {
        rule["names"].as_array_mut()?.retain(|name| !RESTRICTED.iter().any(|r| name == r));
    }
    rules.retain(|rule| rule["names"].as_array().is_some_and(|names| !names.is_empty()));
    let allow = |name: &str, value: u32, other: u32, op: &str| json!({"names": [name], "action": "SCMP_ACT_ALLOW", "args": [{"index": 0, "value": value, "valueTwo": other, "op": op}]});
    rules.push(allow("clone", NAMESPACES, 0, "SCMP_CMP_MASKED_EQ"));
    rules.push(allow("socket", AF_VSOCK, 0, "SCMP_CMP_NE"));
    Some(profile)
}

/// A running service.
pub struct Podman {
    folder: Folder,
    service: Option<Child>,
}

/// Whether containers can be run here; says why not.
fn is_possible() -> bool {
    let missing = ["podman", "runc"]
        .iter()
        .find(|p| Command::new(p).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err());
    match missing {
        Some(program) => notes::missing("containers", &format!("{program} is not installed")),
        None if !is_root() => notes::skipped("containers", "the user is not root"),
        None if !has_busybox() => notes::missing("containers", "there is no /bin/busybox"),
        None => return true,
    }
    false
}

impl Podman {
    /// Starts a service with the image; none where containers can't be run.
    pub fn start(name: &str) -> Option<Podman> {
        Podman::start_with(name, Profile::Default)
    }

    /// The same with a profile.
    pub fn start_with(name: &str, profile: Profile) -> Option<Podman> {
        if !is_possible() {
            return None;
        }
        let folder = Folder::new(&format!("podman-{name}"));
        let restricted = match profile {
            Profile::Default => String::new(),
            Profile::Strict => {
                let Some(strict) = strict() else {
                    notes::missing("containers with a strict profile", &format!("there is no {PROFILE}"));
                    return None;
                };
                format!("seccomp_profile = {:?}\n", folder.file("seccomp.json", strict.to_string()))
            }
        };
        // Limits above those of the test's own process would be refused.
        let settings = "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\nruntime = \"runc\"\n\
             [containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\nlog_driver = \"k8s-file\"\n";
        folder.file(PODMAN_SETTINGS, format!("{settings}{restricted}"));
        let podman = Podman { folder, service: None };
        podman.import();
        if let Err(why) = podman.works() {
            notes::skipped("containers", &format!("podman runs none here: {why}"));
            return None;
        }
        let mut podman = podman;
        podman.serve();
        Some(podman)
    }

    /// Imports a second image, with perl, and with a copy of it that runs as root.
    pub fn import_perl(&self) {
        let (root, archive) = (self.path("image"), self.path("perl.tar"));
        let run = |program: &str, args: &[&str]| {
            let status = Command::new(program).args(args).current_dir("/").status();
            assert!(status.expect(program).success(), "{program} {args:?}");
        };
        let (root, archive) = (root.to_str().expect("text"), archive.to_str().expect("text"));
        run("cp", &[&["--dereference", "--recursive", "--parents"], &PERL[..], &[root]].concat());
        let privileged = format!("{root}/usr/bin/perl-as-root");
        run("cp", &["/usr/bin/perl", &privileged]);
        run("chmod", &["4755", &privileged]);
        run("tar", &["-cf", archive, "-C", root, "."]);
        self.run(&["import", archive, PERL_IMAGE]);
    }

    /// Starts the service, and waits until it answers.
    pub fn serve(&mut self) {
        let log = std::fs::File::create(self.path("service.log")).expect("a file");
        let address = format!("unix://{}", self.socket().display());
        let mut command = self.command();
        command.args(["system", "service", "--time=0", &address]).stdout(Stdio::null()).stderr(Stdio::from(log));
        self.service = Some(command.spawn().expect("the service"));
        wait_for("the service of podman", || {
            std::os::unix::net::UnixStream::connect(self.socket()).map(drop).map_err(|e| e.to_string())
        });
    }

    /// Ends the service; containers go on.
    pub fn end_service(&mut self) {
        if let Some(mut service) = self.service.take() {
            let _ = service.kill();
            let _ = service.wait();
        }
        let _ = std::fs::remove_file(self.socket());
    }

    /// Ends all at once, and forgets what is only in memory, as a power failure does: the service, the containers with the
    /// processes that watch them, cgroups, mounts, and what a host keeps below `/run`.
    pub fn lose_power(&mut self) {
        let ids: Vec<String> = self.run(&["ps", "--quiet", "--no-trunc"]).lines().map(String::from).collect();
        let pids = |what: &str| -> Vec<i32> {
            let format = format!("{{{{.State.{what}}}}}");
            let found = ids.iter().map(|id| self.run(&["inspect", "--format", &format, id]));
            found.filter_map(|pid| pid.parse().ok().filter(|pid| *pid > 1)).collect()
        };
        let (watching, running) = (pids("ConmonPid"), pids("Pid"));
        assert_eq!((watching.len(), running.len()), (ids.len(), ids.len()));
        self.end_service();
        // What watches a container must not see its end.
        for pid in watching.iter().chain(&running).copied().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        for id in &ids {
            wait_for("the end of the container", || {
                let left = of_container(Path::new("/sys/fs/cgroup"), id, 4);
                left.iter().for_each(|group| drop(std::fs::remove_dir(group)));
                if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
            });
            for state in ["/run/runc", "/run/libpod"] {
                let _ = std::fs::remove_dir_all(Path::new(state).join(id));
            }
        }
        unmount_below(self.folder.path());
        for memory in ["run", "tmp"] {
            std::fs::remove_dir_all(self.path(memory)).expect("removed");
        }
    }
}

impl Engine for Podman {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn socket(&self) -> PathBuf {
        self.path("api.sock")
    }

    fn command(&self) -> Command {
        program::podman(self.folder.path())
    }
}

/// The directories below another one, the deepest first, that are named after a container.
fn of_container(dir: &Path, id: &str, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if is_dir && depth > 0 {
            found.extend(of_container(&entry.path(), id, depth - 1));
        }
        if is_dir && entry.file_name().to_string_lossy().contains(id) {
            found.push(entry.path());
        }
    }
    found
}

impl Drop for Podman {
    fn drop(&mut self) {
        // Without the service, nothing else starts containers.
        self.end_service();
        let _ = self.command().args(["rm", "--all", "--force", "--time", "0"]).output();
        unmount_below(self.folder.path());
    }
}
