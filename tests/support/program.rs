//! Runs the real program.
//!
//! Each test uses a part of it.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    pub exit: i32,
}

/// An empty folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("encamp-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file for the test");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in a folder with an otherwise empty environment.
pub fn run_with(folder: &Path, args: &[&str], env: &[(&str, &str)], stdin: Option<&Path>) -> Ran {
    let input = stdin.map_or_else(Stdio::null, |p| std::fs::File::open(p).expect("the input").into());
    let out = Command::new(env!("CARGO_BIN_EXE_encamp"))
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

/// Runs the program in a folder.
pub fn run_in(folder: &Path, args: &[&str]) -> Ran {
    run_with(folder, args, &[], None)
}

/// Runs the program anywhere.
pub fn run(args: &[&str]) -> Ran {
    run_in(&std::env::temp_dir(), args)
}
