//! Dynamic host volumes (`docs/spec/client.md §4.6`): directories that the built-in plugin `mkdir` creates, and
//! existing directories that are registered.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::super::store::{ClientRecord, VolumeRecord};
use super::Agent;
use crate::error::ClientError;
use encamp_model::{ClientHostVolumeConfig, HostVolume};

/// The built-in plugin.
const MKDIR: &str = "mkdir";
/// The default mode of a directory.
const DEFAULT_MODE: u32 = 0o700;

/// Why a parameter of the plugin is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid value for {name:?}: {value:?}")]
struct InvalidParameter {
    name: &'static str,
    value: String,
}

/// The permissions of a directory.
#[derive(Debug, PartialEq, Eq)]
struct Access {
    mode: u32,
    uid: Option<u32>,
    gid: Option<u32>,
}

impl Access {
    /// Reads the parameters of the plugin: `mode` in octal digits, `uid`, `gid`.
    fn parse(parameters: &BTreeMap<String, String>) -> Result<Access, InvalidParameter> {
        let bad = |name, value: &str| InvalidParameter { name, value: value.into() };
        let id = |name| match parameters.get(name).map(String::as_str) {
            None | Some("" | "-1") => Ok(None),
            Some(text) => text.parse::<u32>().map(Some).map_err(|_| bad(name, text)),
        };
        let mode = match parameters.get("mode").map(String::as_str) {
            None | Some("") => DEFAULT_MODE,
            Some(text) => {
                u32::from_str_radix(text, 8).ok().filter(|m| *m <= 0o7777).ok_or_else(|| bad("mode", text))?
            }
        };
        Ok(Access { mode, uid: id("uid")?, gid: id("gid")? })
    }
}

/// Creates the directory of a volume; an existing one stays unchanged.
fn make(path: &Path, access: &Access) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    std::fs::DirBuilder::new().recursive(true).mode(0o711).create(path.parent().unwrap_or(path))?;
    std::fs::DirBuilder::new().mode(access.mode).create(path)?;
    // The mode above is subject to the umask.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(access.mode))?;
    if access.uid.is_some() || access.gid.is_some() {
        std::os::unix::fs::chown(path, access.uid, access.gid)?;
    }
    Ok(())
}

/// Whether a text is safe as the name of a directory, as IDs are.
fn is_id(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_hexdigit() || b == b'-')
}

/// How the node shows a volume.
fn shown(id: &str, record: &VolumeRecord) -> ClientHostVolumeConfig {
    ClientHostVolumeConfig {
        name: record.name.clone(),
        path: record.path.display().to_string(),
        read_only: false,
        id: id.into(),
    }
}

/// The volumes of an earlier run that are still there; directories of the plugin are made again.
pub fn restored(record: &ClientRecord) -> BTreeMap<String, ClientHostVolumeConfig> {
    let mut out = BTreeMap::new();
    for (id, volume) in &record.volumes {
        let again = match volume.plugin.as_str() {
            MKDIR => Access::parse(&volume.parameters).map_err(io::Error::other).and_then(|a| make(&volume.path, &a)),
            _ => volume.path.metadata().map(drop),
        };
        match again {
            Ok(()) => drop(out.insert(volume.name.clone(), shown(id, volume))),
            Err(error) => {
                let (volume_id, path) = (id.as_str(), volume.path.display());
                tracing::error!(target: "client", volume_id, %path, %error, "failed to restore host volume");
            }
        }
    }
    out
}

impl Agent {
    /// Makes a volume; gives its place on this host and its size in bytes, 0 for directories. Made again, it stays as
    /// it is.
    pub(crate) fn create_volume(&self, volume: &HostVolume) -> Result<(String, i64), ClientError> {
        if volume.plugin_id != MKDIR {
            return Err(ClientError::Failed(format!("no such plugin: {:?}", volume.plugin_id)));
        }
        if !is_id(&volume.id) {
            return Err(ClientError::BadRequest(format!("{:?} is not a volume ID", volume.id)));
        }
        let path = self.host_volumes_dir.join(&volume.id);
        let access = Access::parse(&volume.parameters).map_err(|e| ClientError::BadRequest(e.to_string()))?;
        self.free_name(volume)?;
        make(&path, &access).map_err(|e| ClientError::failed(format!("error creating {}: {e}", path.display())))?;
        self.take_volume(volume, &path, MKDIR)?;
        Ok((path.display().to_string(), 0))
    }

    /// Registers an existing directory as a volume.
    pub(crate) fn register_volume(&self, volume: &HostVolume) -> Result<(), ClientError> {
        let path = PathBuf::from(&volume.host_path);
        if !path.is_absolute() {
            return Err(ClientError::BadRequest(format!("{:?} is no absolute path", volume.host_path)));
        }
        self.free_name(volume)?;
        let there = path.metadata();
        there.map_err(|e| ClientError::failed(format!("cannot verify host path {:?}: {e}", volume.host_path)))?;
        self.take_volume(volume, &path, "")
    }

    /// No other volume of this node has the name.
    fn free_name(&self, volume: &HostVolume) -> Result<(), ClientError> {
        match self.shared.node().host_volumes.get(&volume.name) {
            Some(other) if other.id != volume.id => {
                Err(ClientError::failed(format!("a volume {:?} is on this node already", volume.name)))
            }
            _ => Ok(()),
        }
    }

    fn take_volume(&self, volume: &HostVolume, path: &Path, plugin: &str) -> Result<(), ClientError> {
        let record = VolumeRecord {
            name: volume.name.clone(),
            path: path.to_path_buf(),
            plugin: plugin.into(),
            parameters: volume.parameters.clone(),
        };
        let entry = shown(&volume.id, &record);
        self.store_volumes(|volumes| drop(volumes.insert(volume.id.clone(), record)))?;
        let mut node = self.shared.node.write();
        node.host_volumes.insert(volume.name.clone(), entry);
        drop(node);
        self.node_changed.notify_one();
        Ok(())
    }

    /// Deletes a volume; a directory that the plugin created is removed with its content. A missing volume is no error.
    pub(crate) fn delete_volume(&self, id: &str) -> Result<(), ClientError> {
        let known = self.record.read(|r| r.volumes.get(id).cloned());
        let Some(volume) = known else { return Ok(()) };
        if volume.plugin == MKDIR {
            match std::fs::remove_dir_all(&volume.path) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => {
                    return Err(ClientError::failed(format!("error removing {}: {e}", volume.path.display())));
                }
                _ => {}
            }
        }
        self.store_volumes(|volumes| drop(volumes.remove(id)))?;
        let mut node = self.shared.node.write();
        node.host_volumes.retain(|_, v| v.id != id);
        drop(node);
        self.node_changed.notify_one();
        Ok(())
    }

    /// Changes the list of volumes and stores it.
    fn store_volumes(&self, change: impl FnOnce(&mut BTreeMap<String, VolumeRecord>)) -> Result<(), ClientError> {
        self.store_record(|record| change(&mut record.volumes))
            .map_err(|e| ClientError::failed(format!("failed to store the host volumes: {e}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect()
    }

    #[test]
    fn parameters_of_folders() {
        let parse = |list: &[(&str, &str)]| Access::parse(&parameters(list)).map_err(|e| e.to_string());
        assert_eq!(parse(&[]), Ok(Access { mode: 0o700, uid: None, gid: None }));
        let all = parse(&[("mode", "0755"), ("uid", "12"), ("gid", "-1")]);
        assert_eq!(all, Ok(Access { mode: 0o755, uid: Some(12), gid: None }));
        for bad in [("mode", "rwx"), ("mode", "10000"), ("uid", "root"), ("gid", "-2")] {
            assert_eq!(parse(&[bad]), Err(format!("invalid value for {:?}: {:?}", bad.0, bad.1)));
        }
        assert!(is_id("03335ffc-c328-82b4-cae7-5a8fe6481c14") && !is_id("../x") && !is_id(""));
    }

    #[test]
    fn what_is_restored() {
        let dir = std::env::temp_dir().join(format!("encamp-volumes-{}", std::process::id()));
        let volume = |path: &str, plugin: &str, list: &[(&str, &str)]| VolumeRecord {
            name: format!("name of {path}"),
            path: dir.join(path),
            plugin: plugin.into(),
            parameters: parameters(list),
        };
        let volumes = [
            ("made", volume("made", MKDIR, &[("mode", "0750")])),
            ("gone", volume("gone", "", &[])),
            ("bad", volume("bad", MKDIR, &[("mode", "x")])),
        ];
        let volumes = volumes.map(|(id, v)| (id.to_string(), v)).into();
        let found = restored(&ClientRecord { volumes, ..ClientRecord::default() });
        assert_eq!(found.keys().collect::<Vec<_>>(), ["name of made"]);
        assert_eq!(found["name of made"].id, "made");
        assert_eq!(std::fs::metadata(dir.join("made")).unwrap().permissions().mode() & 0o777, 0o750);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
