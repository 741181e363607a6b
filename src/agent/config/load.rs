//! Reading configuration files and directories (`docs/spec/agent-config.md §2.1`).

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::kinds::{Secret, Setting};
use super::{Config, Settings, SettingsFile, addresses, decode, dev_defaults, syntax};

/// Where an agent's configuration comes from.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    /// Start from the defaults of a development agent.
    pub dev: bool,
    /// Files and directories in order.
    pub paths: Vec<String>,
    /// The settings of flags.
    pub flags: SettingsFile,
    /// The introduction token of the environment or a flag.
    pub intro_token: String,
}

/// A configuration and its warnings.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The merged configuration; addresses are as they were given.
    pub config: Config,
    /// Warnings: paths without any configuration, blocks without effect.
    pub warnings: Vec<String>,
}

/// A source that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("Error loading configuration from {path}: {message}")]
pub struct LoadError {
    /// The argument of `-config`.
    pub path: String,
    /// The error, with file, line and column if the content is invalid.
    pub message: String,
}

/// Reads and merges all sources.
pub fn load(sources: &Sources) -> Result<Loaded, LoadError> {
    let mut merged = if sources.dev { dev_defaults() } else { SettingsFile::default() };
    let mut files = Vec::new();
    let mut warnings = Vec::new();
    for path in &sources.paths {
        let failed = |message| LoadError { path: path.clone(), message };
        let found = files_of(Path::new(path)).map_err(failed)?;
        if found.is_empty() {
            warnings.push(format!("No configuration loaded from {path}"));
        }
        for file in found {
            let read = read_file(&file).map_err(|m| LoadError { path: path.clone(), message: m })?;
            merged.merge(read);
            files.push(file.display().to_string());
        }
    }
    merged.merge(sources.flags.clone());
    let settings = merged.resolve(Settings::default);
    for (given, name) in [(settings.consul, "consul"), (settings.vault, "vault")] {
        if given {
            warnings.push(format!("WARNING: the block {name} has no effect: this agent does not connect to it"));
        }
    }
    let sinks =
        [&settings.telemetry.statsd_address, &settings.telemetry.statsite_address, &settings.telemetry.datadog_address];
    if sinks.iter().any(|a| !a.is_empty()) {
        warnings.push("WARNING: metrics are not sent to statsd, statsite or datadog; use /v1/metrics".into());
    }
    let intro_token = Secret::new(sources.intro_token.clone());
    let config = Config { settings, dev: sources.dev, paths: sources.paths.clone(), files, intro_token };
    Ok(Loaded { config, warnings })
}

impl Loaded {
    /// The configuration with addresses to bind and to advertise.
    pub fn normalized(mut self) -> Result<Config, addresses::AddressError> {
        addresses::normalize(&mut self.config, &super::interfaces::all())?;
        Ok(self.config)
    }
}

/// The file, or the files of the directory in order of their names.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, String> {
    let meta = std::fs::metadata(path).map_err(|e| format!("stat {}: {}", path.display(), reason(&e)))?;
    if !meta.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |e: std::io::Error| format!("open {}: {}", path.display(), reason(&e));
    let mut out = Vec::new();
    for entry in std::fs::read_dir(path).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let file = entry.path();
        let Some(name) = entry.file_name().to_str().map(String::from) else { continue };
        let temporary = name.ends_with('~') || name.starts_with(".#") || (name.starts_with('#') && name.ends_with('#'));
        if (name.ends_with(".hcl") || name.ends_with(".json")) && !temporary && !file.is_dir() {
            out.push(file);
        }
    }
    out.sort();
    Ok(out)
}

/// An I/O error in Nomad's wording.
pub(crate) fn reason(e: &std::io::Error) -> String {
    match e.kind() {
        std::io::ErrorKind::NotFound => "no such file or directory".into(),
        std::io::ErrorKind::PermissionDenied => "permission denied".into(),
        _ => {
            let text = e.to_string();
            text.split(" (os error").next().unwrap_or(&text).to_lowercase()
        }
    }
}

fn read_file(path: &Path) -> Result<SettingsFile, String> {
    let shown = path.display();
    let failed = |detail: String| format!("Error loading {shown}: {detail}");
    let text = std::fs::read(path).map_err(|e| failed(reason(&e)))?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let decoding =
        |at: String, message: &str| failed(format!("failed to decode HCL file {}: {at}{message}", absolute.display()));
    let text = String::from_utf8(text).map_err(|_| decoding(String::new(), "the file is not UTF-8"))?;
    let tree = syntax::parse(&text).map_err(|e| decoding(format!("At {}: ", e.pos), &e.message))?;
    decode::decode(&tree).map_err(|e| match e.pos {
        Some(pos) => failed(format!("{} (at {shown}:{pos})", e.message)),
        None => failed(e.message),
    })
}
