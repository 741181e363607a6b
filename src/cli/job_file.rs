//! Reading job files (`spec/cli.md §4.8`).

use std::io::Read;
use std::path::{Component, Path, PathBuf};

use super::context::Environment;
use crate::model::quoted;

/// Flags of the commands that read a job file.
#[derive(Debug, Clone, clap::Args)]
pub struct JobFileFlags {
    /// The file is a job in JSON form, bare or below a top-level "Job" key, instead of HCL
    #[arg(long)]
    pub json: bool,
    /// Refuse variables that the job file does not declare
    #[arg(
        long,
        value_name = "bool",
        default_value_t = true,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub hcl2_strict: bool,
    /// Set a variable of the job file, as key=value. Can be given several times
    #[arg(long, value_name = "key=value", action = clap::ArgAction::Append)]
    pub var: Vec<String>,
    /// File with values for variables of the job file, in HCL. Can be given several times
    #[arg(long, value_name = "path", action = clap::ArgAction::Append)]
    pub var_file: Vec<String>,
    /// Vault namespace to set in the job
    #[arg(long, value_name = "namespace")]
    pub vault_namespace: Option<String>,
}

impl JobFileFlags {
    /// Whether the flags fit together.
    pub fn check(&self) -> Result<(), String> {
        if self.json && !(self.var.is_empty() && self.var_file.is_empty()) {
            return Err("Invalid job options: cannot use variables with JSON files.".into());
        }
        Ok(())
    }

    /// The flags that `job plan` repeats in the command it suggests, each followed by a space.
    pub fn run_args(&self, namespace: Option<&str>) -> String {
        let mut out: Vec<String> = self.var.iter().map(|v| format!("-var={} ", quoted(v))).collect();
        out.extend(self.var_file.iter().map(|f| format!("-var-file={} ", quoted(f))));
        out.extend(namespace.map(|n| format!("-namespace={} ", quoted(n))));
        out.extend((!self.hcl2_strict).then(|| "-hcl2-strict=false ".to_string()));
        out.concat()
    }
}

/// The text of a job file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// The path as it was given.
    pub path: String,
    /// The name that positions in error texts carry: the last part of the path, or `stdin`.
    pub name: String,
    /// The content.
    pub text: String,
}

/// Reads a job file, or standard input for `-`.
pub fn read(path: &str, env: &Environment) -> Result<Source, String> {
    let (name, bytes) = if path == "-" {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map_err(|e| format!("Error reading stdin: {}", cause(&e)))?;
        ("stdin".to_string(), bytes)
    } else {
        (base_name(path), read_file(path, env)?)
    };
    let text = String::from_utf8(bytes).map_err(|e| {
        format!("Error parsing job file from {path}:\n{name}: {}", not_utf8(e.as_bytes(), &e.utf8_error()))
    })?;
    Ok(Source { path: path.into(), name, text })
}

fn read_file(path: &str, env: &Environment) -> Result<Vec<u8>, String> {
    let fail = |text: String| format!("Error getting jobfile from {}: {text}", quoted(path));
    if path.contains("://") || path.contains("::") {
        return Err(fail("only local files and - are supported; download the file and give its path".into()));
    }
    let full = absolute(&env.directory, path);
    let shown = full.display();
    let metadata =
        std::fs::metadata(&full).map_err(|e| fail(format!("source path error: stat {shown}: {}", cause(&e))))?;
    if metadata.is_dir() {
        return Err(fail(format!("source path error: {shown} is a directory")));
    }
    std::fs::read(&full).map_err(|e| fail(format!("open {shown}: {}", cause(&e))))
}

/// The path from the root, without `.` and `..` where that needs no look at the file system.
fn absolute(directory: &Path, path: &str) -> PathBuf {
    let mut out = PathBuf::new();
    for part in directory.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

fn base_name(path: &str) -> String {
    Path::new(path).file_name().map_or_else(|| path.to_string(), |n| n.to_string_lossy().into_owned())
}

/// The text of an I/O error as other tools of the system word it.
pub fn cause(e: &std::io::Error) -> String {
    let text = match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory",
        std::io::ErrorKind::PermissionDenied => "permission denied",
        std::io::ErrorKind::NotADirectory => "not a directory",
        std::io::ErrorKind::AlreadyExists => "file exists",
        _ => return e.to_string(),
    };
    text.into()
}

fn not_utf8(bytes: &[u8], e: &std::str::Utf8Error) -> String {
    let before = bytes.get(..e.valid_up_to()).unwrap_or_default();
    let line = before.iter().filter(|b| **b == b'\n').count().saturating_add(1);
    format!("Invalid character encoding; The file is not UTF-8 text: line {line} has a byte that cannot be decoded.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_absolute_without_looking() {
        let dir = Path::new("/home/op");
        assert_eq!(absolute(dir, "jobs/./x.hcl"), Path::new("/home/op/jobs/x.hcl"));
        assert_eq!(absolute(dir, "../x.hcl"), Path::new("/home/x.hcl"));
        assert_eq!(absolute(dir, "/a/../../b"), Path::new("/b"));
    }
}
