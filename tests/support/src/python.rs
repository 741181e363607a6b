//! Programs of Python in virtual environments of their own.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use crate::program::succeeds;

/// Longest wait for a server to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// The interpreter of an environment with what a file of requirements names; it is created once for these versions.
///
/// # Errors
/// Why it cannot be created: Python, its module `venv` or the network is missing.
///
/// # Panics
/// The file of requirements cannot be read.
pub fn environment(home: &Path, requirements: &Path) -> Result<PathBuf, String> {
    // Tests of one program run at the same time.
    static INSTALLING: Mutex<()> = Mutex::new(());
    let _installing = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let wanted = std::fs::read_to_string(requirements).expect("requirements");
    let (python, mark) = (home.join("bin/python"), home.join("installed.txt"));
    if std::fs::read_to_string(&mark).ok().as_ref() != Some(&wanted) {
        let _ = std::fs::remove_dir_all(home);
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(home))?;
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
        succeeds(Command::new(&python).args(pip).arg(requirements))?;
        std::fs::write(&mark, &wanted).expect("the mark");
    }
    Ok(python)
}

/// A running server; it ends with this.
pub struct Server {
    child: Child,
    /// Its URL.
    pub url: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Starts a module of Python that serves HTTP on a free port, and prints its URL behind `Running on`.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(python: &Path, module: &str, args: &[&str]) -> Server {
        let mut child = Command::new(python)
            .args(["-m", module, "-H", "127.0.0.1", "-p", "0"])
            .args(args)
            .env("PYTHONUNBUFFERED", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server");
        let (sender, lines) = channel();
        let stderr = child.stderr.take().expect("stderr");
        thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                // Lines after the URL are read so that the server can write them.
                let _ = sender.send(line);
            }
        });
        let mut server = Server { child, url: String::new() };
        while server.url.is_empty() {
            let line = lines.recv_timeout(PATIENCE).expect("the server prints its URL");
            server.url = url(&line).unwrap_or_default().to_string();
        }
        server
    }
}

fn url(line: &str) -> Option<&str> {
    let at = line.to_ascii_lowercase().find("running on ")?;
    line.get(at + "running on ".len()..)?.split_whitespace().next()
}
