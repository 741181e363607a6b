//! Plugins of dynamic host volumes (`docs/spec/client.md §4.6.1`). They create and delete the volumes of a node.
//!
//! [`Plugins`]: the plugins of the node. [`operation`]: what plugins do. [`mkdir`]: the built-in plugin. [`program`]: a program of the plugin directory
//! and its answers.

pub(crate) mod mkdir;
mod operation;
pub(crate) mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use parking_lot::{Mutex, RwLock};

use super::store::VolumeRecord;
use encamp_model::HostVolume;
use program::{Node, Program};

pub(crate) use operation::{Created, PluginError};

/// The built-in plugin.
pub(crate) const MKDIR: &str = "mkdir";
/// Its version.
const MKDIR_VERSION: &str = "0.0.1";
/// How many programs of the plugin directory are fingerprinted; others are skipped.
const MOST_PROGRAMS: usize = 64;

/// The plugins of a node.
#[derive(Debug)]
pub(crate) struct Plugins {
    /// The directory of volumes.
    volumes_dir: PathBuf,
    /// The directory of programs; none: there are none.
    plugin_dir: Option<PathBuf>,
    node: Node,
    /// The programs that answered the last fingerprint, by ID, with their versions.
    programs: RwLock<BTreeMap<String, String>>,
    /// Names of volumes that are being created or deleted.
    busy: Mutex<BTreeSet<String>>,
}

/// The right to create or delete the volumes of a name; it ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Operating<'a> {
    plugins: &'a Plugins,
    name: String,
}

impl Drop for Operating<'_> {
    fn drop(&mut self) {
        self.plugins.busy.lock().remove(&self.name);
    }
}

impl Plugins {
    /// The plugins of a node, before the first fingerprint.
    pub(crate) fn new(volumes_dir: PathBuf, plugin_dir: Option<PathBuf>, node: Node) -> Plugins {
        Plugins { volumes_dir, plugin_dir, node, programs: RwLock::default(), busy: Mutex::default() }
    }

    /// Asks all programs of the plugin directory for their versions, at the same time. Those that do not answer as
    /// they should are logged and skipped. Gives the attributes of the node.
    pub(crate) fn fingerprint(&self) -> BTreeMap<String, String> {
        let found = self.plugin_dir.as_deref().map(candidates).unwrap_or_default();
        let answers: Vec<_> = std::thread::scope(|scope| {
            let ask = |(id, path): (String, PathBuf)| {
                scope.spawn(move || {
                    let answer = self.program(&id, path).fingerprint();
                    (id, answer)
                })
            };
            let running: Vec<_> = found.into_iter().map(ask).collect();
            running.into_iter().filter_map(|r| r.join().ok()).collect()
        });
        let mut programs = BTreeMap::new();
        for (plugin_id, answer) in answers {
            match answer {
                Ok(version) => drop(programs.insert(plugin_id, version)),
                Err(error) => {
                    tracing::warn!(target: "client.host_volumes", plugin_id, %error, "skipping a host volume plugin");
                }
            }
        }
        *self.programs.write() = programs;
        self.attributes()
    }

    /// The attributes of the node that name the plugins.
    fn attributes(&self) -> BTreeMap<String, String> {
        let programs = self.programs.read();
        let built_in = std::iter::once((MKDIR, MKDIR_VERSION));
        let all = programs.iter().map(|(id, version)| (id.as_str(), version.as_str())).chain(built_in);
        all.map(|(id, version)| (format!("{ATTRIBUTES}{id}.version"), version.to_string())).collect()
    }

    /// Begins an operation on the volumes of a name; none if there is another one.
    pub(crate) fn begin(&self, name: &str) -> Option<Operating<'_>> {
        let new = self.busy.lock().insert(name.to_string());
        new.then(|| Operating { plugins: self, name: name.into() })
    }

    /// Creates a volume; one that exists stays as it is, or grows if its plugin lets it. If `initial` is set, what a
    /// failed plugin may have left behind is removed.
    pub(crate) fn create(&self, id: &str, volume: &VolumeRecord, initial: bool) -> Result<Created, PluginError> {
        if volume.plugin == MKDIR {
            let path = self.usual_path(id);
            mkdir::create(&path, &volume.parameters)?;
            return Ok(Created { path, bytes: 0 });
        }
        let program = self.known(&volume.plugin)?;
        let created = program.create(id, volume);
        if let Err(error) = &created
            && initial
            && error.may_leave()
        {
            self.clean_up(&program, id, volume);
        }
        created
    }

    /// Deletes a volume and its content; one that is not there is no error.
    pub(crate) fn delete(&self, id: &str, volume: &VolumeRecord) -> Result<(), PluginError> {
        if volume.plugin == MKDIR {
            return mkdir::delete(&volume.path);
        }
        self.known(&volume.plugin)?.delete(id, volume, &volume.path)
    }

    /// Removes what a failed plugin left behind. It has named no directory, so that the usual one stands in.
    fn clean_up(&self, program: &Program<'_>, id: &str, volume: &VolumeRecord) {
        let path = self.usual_path(id);
        if let Err(error) = program.delete(id, volume, &path) {
            tracing::warn!(target: "client.host_volumes", volume_id = id, %error, "failed to clean up after a failed create");
        }
        // A directory with content may be a mounted file system: it stays.
        match std::fs::remove_dir(&path) {
            Ok(()) => {}
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let path = path.display();
                tracing::warn!(target: "client.host_volumes", volume_id = id, %path, %error, "a failed create left a directory");
            }
        }
    }

    /// The directory of a volume if its plugin knows no other one.
    fn usual_path(&self, id: &str) -> PathBuf {
        self.volumes_dir.join(id)
    }

    fn known(&self, plugin: &str) -> Result<Program<'_>, PluginError> {
        let unknown = || PluginError::Unknown(plugin.into());
        if !self.programs.read().contains_key(plugin) {
            return Err(unknown());
        }
        let path = self.plugin_dir.as_deref().ok_or_else(unknown)?.join(plugin);
        // It may have been removed since.
        if is_program(&path) { Ok(self.program(plugin, path)) } else { Err(unknown()) }
    }

    fn program(&self, id: &str, path: PathBuf) -> Program<'_> {
        let plugin_dir = self.plugin_dir.as_deref().unwrap_or(Path::new("/"));
        Program { id: id.into(), path, plugin_dir, volumes_dir: &self.volumes_dir, node: &self.node }
    }
}

/// Begins the names of the attributes of the node that name the plugins.
pub(crate) const ATTRIBUTES: &str = "plugins.host_volume.";

/// A file that the agent may run.
fn is_program(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|m| m.is_file()) && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Whether a file name can be the ID of a plugin, which is a part of the name of an attribute.
fn is_plugin_id(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    (1..=128).contains(&name.len()) && !name.starts_with('.') && name.bytes().all(fits)
}

/// The programs of a directory, by ID.
fn candidates(dir: &Path) -> Vec<(String, PathBuf)> {
    let skip = |path: &Path, why: &str| {
        let path = path.display();
        tracing::warn!(target: "client.host_volumes", %path, "skipping a host volume plugin: {why}");
    };
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            let path = dir.display();
            tracing::warn!(target: "client.host_volumes", %path, %error, "the directory of host volume plugins can't be read");
            return Vec::new();
        }
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| is_program(p)).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        match path.file_name().and_then(|n| n.to_str()) {
            Some(MKDIR) => skip(&path, "the plugin of this name is built in"),
            Some(name) if is_plugin_id(name) && found.len() < MOST_PROGRAMS => {
                found.push((name.to_string(), path.clone()));
            }
            Some(name) if is_plugin_id(name) => skip(&path, "there are too many"),
            _ => skip(&path, "its name has other characters than letters, digits, -, _ and ."),
        }
    }
    found
}

impl VolumeRecord {
    /// The record of a volume to be created or registered.
    pub(crate) fn of(volume: &HostVolume, plugin: &str) -> VolumeRecord {
        VolumeRecord {
            name: volume.name.clone(),
            namespace: volume.namespace.clone(),
            path: PathBuf::from(&volume.host_path),
            plugin: plugin.into(),
            parameters: volume.parameters.clone(),
            capacity_min: volume.requested_capacity_min_bytes,
            capacity_max: volume.requested_capacity_max_bytes,
        }
    }
}

#[cfg(test)]
mod tests;
