//! The engines of containers in tests, Podman and Docker: the image that both make of `/bin/busybox`, their program, and
//! the settings of agents that use them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::agent::wait_for;

/// The image, as jobs name it.
pub const IMAGE: &str = "localhost/busybox:1";
/// Programs of the image.
const PROGRAMS: [&str; 14] =
    ["sh", "cat", "dd", "echo", "env", "head", "id", "ls", "nc", "printf", "seq", "sleep", "stty", "touch"];

/// What the image is made of.
const BUSYBOX: &str = "/bin/busybox";

/// Whether the user may run engines.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the image can be made.
pub fn has_busybox() -> bool {
    Path::new(BUSYBOX).exists()
}

/// An engine that runs in a directory of the test.
pub trait Engine {
    /// A path in the directory.
    fn path(&self, name: &str) -> PathBuf;

    /// The socket of the service.
    fn socket(&self) -> PathBuf;

    /// Its program, without arguments.
    fn command(&self) -> Command;

    /// Runs the program with these arguments. Returns what it prints.
    fn run(&self, args: &[&str]) -> String {
        let ran = self.command().args(args).output().expect("the engine");
        assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8_lossy(&ran.stdout).trim().to_string()
    }

    /// The archive with the files of the image.
    fn archive(&self) -> PathBuf {
        self.path("image.tar")
    }

    /// Makes the image.
    fn import(&self) {
        let (root, archive) = (self.path("image"), self.archive());
        for dir in ["bin", "tmp", "etc"] {
            std::fs::create_dir_all(root.join(dir)).expect("a directory");
        }
        std::fs::write(root.join("etc/passwd"), "root:x:0:0::/:/bin/sh\nbob:x:1000:1000::/:/bin/sh\n").expect("a file");
        std::fs::copy(BUSYBOX, root.join("bin/busybox")).expect("the program");
        for program in PROGRAMS {
            std::os::unix::fs::symlink("busybox", root.join("bin").join(program)).expect("a link");
        }
        let made = Command::new("tar").arg("-cf").arg(&archive).arg("-C").arg(&root).arg(".").status();
        assert!(made.expect("tar").success());
        self.run(&["import", archive.to_str().expect("text"), IMAGE]);
    }

    /// Runs a container: a host may lack what containers need, such as cgroups or mounts.
    ///
    /// # Errors
    /// What the program prints.
    fn works(&self) -> Result<(), String> {
        let tried = self.command().args(["run", "--rm", "--network=none", IMAGE, "echo", "works"]).output();
        let tried = tried.expect("the engine");
        if tried.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&tried.stderr).into_owned()) }
    }

    /// The names of the containers that there are, also of those that ended.
    fn containers(&self) -> Vec<String> {
        self.run(&["ps", "--all", "--format", "{{.Names}}"]).lines().map(String::from).collect()
    }

    /// Waits until no container is left.
    fn is_clean(&self) {
        wait_for("the removal of all containers", || {
            let left = self.containers();
            if left.is_empty() { Ok(()) } else { Err(left.join(" ")) }
        });
    }

    /// The settings of an agent that uses the service; `more`: other settings of the driver.
    fn plugin(&self, more: &str) -> String {
        let socket = self.socket();
        format!("plugin \"docker\" {{\n config {{\n  endpoint = \"unix://{}\"\n  {more}\n }}\n}}\n", socket.display())
    }
}
