//! The service of Podman in a directory of its own, with an image that a test makes of `/bin/busybox`.
//!
//! The service and its containers share nothing with those of the host but the kernel: images, containers, networks and
//! locks are in the directory. Everything goes with the value.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::agent::wait_for;
use crate::program::{Folder, unmount_below};

/// The image, as jobs name it.
pub const IMAGE: &str = "localhost/busybox:1";
/// Programs of the image.
const PROGRAMS: [&str; 14] =
    ["sh", "cat", "dd", "echo", "env", "head", "id", "ls", "nc", "printf", "seq", "sleep", "stty", "touch"];

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
    let root = rustix::process::geteuid().is_root();
    match missing {
        Some(program) => println!("skipped: no {program}"),
        None if !root => println!("skipped: containers need root"),
        None if !Path::new("/bin/busybox").exists() => println!("skipped: no /bin/busybox"),
        None => return true,
    }
    false
}

impl Podman {
    /// Starts a service with the image; none where containers can't be run.
    pub fn start(name: &str) -> Option<Podman> {
        if !is_possible() {
            return None;
        }
        let folder = Folder::new(&format!("podman-{name}"));
        // Limits above those of the test's own process would be refused.
        folder.file(
            "containers.conf",
            "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"file\"\nlock_type = \"file\"\nruntime = \"runc\"\n\
             [containers]\ndefault_ulimits = [\"nofile=4096:4096\", \"nproc=4096:4096\"]\nlog_driver = \"k8s-file\"\n",
        );
        let podman = Podman { folder, service: None };
        let root = podman.path("image");
        std::fs::create_dir_all(root.join("bin")).expect("a directory");
        std::fs::create_dir_all(root.join("tmp")).expect("a directory");
        std::fs::create_dir_all(root.join("etc")).expect("a directory");
        std::fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\nbob:x:1000:1000::/:/bin/sh\n").expect("a file");
        std::fs::copy("/bin/busybox", root.join("bin/busybox")).expect("the program");
        for program in PROGRAMS {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(program)).expect("a link");
        }
        let archive = podman.archive();
        let made = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&root).arg(".").status();
        assert!(made.expect("tar").success());
        podman.run(&["import", archive.to_str().expect("text"), IMAGE]);
        // A host may lack what containers need, such as cgroups or mounts.
        let tried = podman.command().args(["run", "--rm", "--network=none", IMAGE, "echo", "works"]).output();
        let tried = tried.expect("podman");
        if !tried.status.success() {
            println!("skipped: podman runs no containers here: {}", String::from_utf8_lossy(&tried.stderr));
            return None;
        }
        let mut podman = podman;
        podman.serve();
        Some(podman)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The archive with the files of the image.
    pub fn archive(&self) -> PathBuf {
        self.path("image.tar")
    }

    /// The socket of the service.
    pub fn socket(&self) -> PathBuf {
        self.path("api.sock")
    }

    fn command(&self) -> Command {
        let mut command = Command::new("podman");
        let at = |name: &str| self.path(name).display().to_string();
        command.args(["--root", &at("root"), "--runroot", &at("run"), "--tmpdir", &at("tmp")]);
        command.args(["--storage-driver", "vfs", "--network-config-dir", &at("networks")]);
        command.env("CONTAINERS_CONF", self.path("containers.conf")).stdin(Stdio::null());
        // Podman's processes write files where they work.
        command.current_dir(self.folder.path());
        command
    }

    /// Runs podman with these arguments. Returns what it prints.
    pub fn run(&self, args: &[&str]) -> String {
        let ran = self.command().args(args).output().expect("podman");
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_string()
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

    /// The names of the containers that there are, also of those that ended.
    pub fn containers(&self) -> Vec<String> {
        let names = self.run(&["ps", "--all", "--format", "{{.Names}}"]);
        names.lines().map(String::from).collect()
    }

    /// Waits until no container is left.
    pub fn is_clean(&self) {
        wait_for("the removal of all containers", || {
            let left = self.containers();
            if left.is_empty() { Ok(()) } else { Err(left.join(" ")) }
        });
    }

    /// The settings of an agent that uses the service; `more`: other settings of the driver.
    pub fn plugin(&self, more: &str) -> String {
        format!(
            "plugin \"docker\" {{\n config {{\n  endpoint = \"unix://{}\"\n  {more}\n }}\n}}\n",
            self.socket().display()
        )
    }
}

impl Drop for Podman {
    fn drop(&mut self) {
        // Without the service, nothing else starts containers.
        self.end_service();
        let _ = self.command().args(["rm", "--all", "--force", "--time", "0"]).output();
        unmount_below(self.folder.path());
    }
}
