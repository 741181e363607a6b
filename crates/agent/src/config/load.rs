//! Reading configuration files and directories (`docs/spec/agent-config.md §2.1`).

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::decode::DecodeError;
use super::error::reason;
use super::kinds::Setting;
use super::settings::{Config, Settings, SettingsFile, dev_defaults};
use super::{addresses, decode};
use encamp_hcl::hcl1::{self, SyntaxError};
use encamp_model::SecretString;

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
    pub intro_token: SecretString,
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
#[derive(Debug, Error)]
#[error("Error loading configuration from {path}: {source}")]
pub struct LoadError {
    /// The argument of `-config`.
    pub path: String,
    source: LoadProblem,
}

/// The problem of a source.
#[derive(Debug, Error)]
enum LoadProblem {
    /// The path does not exist, or cannot be reached.
    #[error("stat {}: {}", path.display(), reason(source))]
    Stat { path: PathBuf, source: io::Error },
    /// A directory cannot be listed.
    #[error("open {}: {}", path.display(), reason(source))]
    List { path: PathBuf, source: io::Error },
    /// A file cannot be read.
    #[error("Error loading {}: {}", path.display(), reason(source))]
    Read { path: PathBuf, source: io::Error },
    /// A file is not UTF-8.
    #[error("Error loading {}: failed to decode HCL file {}: the file is not UTF-8", path.display(), absolute.display())]
    Encoding { path: PathBuf, absolute: PathBuf },
    /// A file is neither HCL nor JSON.
    #[error("Error loading {}: failed to decode HCL file {}: {source}", path.display(), absolute.display())]
    Syntax { path: PathBuf, absolute: PathBuf, source: SyntaxError },
    /// A file has other keys or values than settings have.
    #[error("Error loading {}: {source}{}", path.display(), place(path, source))]
    Decode { path: PathBuf, source: DecodeError },
}

/// The position of an error in a file, if it is known.
fn place(path: &Path, error: &DecodeError) -> String {
    error.pos.map(|pos| format!(" (at {}:{pos})", path.display())).unwrap_or_default()
}

/// Reads and merges all sources.
pub fn load(sources: &Sources) -> Result<Loaded, LoadError> {
    let mut merged = if sources.dev { dev_defaults() } else { SettingsFile::default() };
    let mut files = Vec::new();
    let mut warnings = Vec::new();
    for path in &sources.paths {
        let failed = |source| LoadError { path: path.clone(), source };
        let found = files_of(Path::new(path)).map_err(failed)?;
        if found.is_empty() {
            warnings.push(format!("No configuration loaded from {path}"));
        }
        for file in found {
            merged.merge(read_file(&file).map_err(failed)?);
            files.push(file.display().to_string());
        }
    }
    Ok(finished(merged, warnings, files, sources))
}

/// Reads the text of one file over the defaults, as [`load`] does for a file.
///
/// # Errors
/// The text is no configuration; `path` is its name in the error.
pub fn load_text(path: &Path, text: &str) -> Result<Loaded, LoadError> {
    let shown = path.display().to_string();
    let settings = decode_text(path, text).map_err(|source| LoadError { path: shown.clone(), source })?;
    let mut merged = SettingsFile::default();
    merged.merge(settings);
    let sources = Sources { paths: vec![shown.clone()], ..Sources::default() };
    Ok(finished(merged, Vec::new(), vec![shown], &sources))
}

fn finished(mut merged: SettingsFile, mut warnings: Vec<String>, files: Vec<String>, sources: &Sources) -> Loaded {
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
    let intro_token = sources.intro_token.clone();
    let config = Config { settings, dev: sources.dev, paths: sources.paths.clone(), files, intro_token };
    Loaded { config, warnings }
}

impl LoadError {
    /// Where in the file it is, and what is wrong there.
    pub fn place(&self) -> Option<(hcl1::Pos, String)> {
        match &self.source {
            LoadProblem::Syntax { source, .. } => Some((source.pos, source.message.clone())),
            LoadProblem::Decode { source, .. } => source.pos.map(|pos| (pos, source.to_string())),
            _ => None,
        }
    }
}

impl Loaded {
    /// The configuration with addresses to bind and to advertise.
    pub fn normalized(mut self) -> Result<Config, addresses::AddressError> {
        addresses::normalize(&mut self.config, &super::interfaces::all())?;
        Ok(self.config)
    }
}

/// The file, or the files of the directory in order of their names.
fn files_of(path: &Path) -> Result<Vec<PathBuf>, LoadProblem> {
    let meta = std::fs::metadata(path).map_err(|source| LoadProblem::Stat { path: path.into(), source })?;
    if !meta.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let failed = |source| LoadProblem::List { path: path.into(), source };
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

fn read_file(path: &Path) -> Result<SettingsFile, LoadProblem> {
    let own = || path.to_path_buf();
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| own());
    let text = std::fs::read(path).map_err(|source| LoadProblem::Read { path: own(), source })?;
    let text = String::from_utf8(text).map_err(|_| LoadProblem::Encoding { path: own(), absolute: absolute() })?;
    decode_text(path, &text)
}

fn decode_text(path: &Path, text: &str) -> Result<SettingsFile, LoadProblem> {
    let own = || path.to_path_buf();
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| own());
    let tree = hcl1::parse(text);
    let tree = tree.map_err(|source| LoadProblem::Syntax { path: own(), absolute: absolute(), source })?;
    decode::decode(&tree).map_err(|source| LoadProblem::Decode { path: own(), source })
}
