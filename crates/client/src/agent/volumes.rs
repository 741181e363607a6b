//! Dynamic host volumes of the node (`docs/spec/client.md §4.6`): created by plugins (`host_volumes`), or existing
//! directories that are registered. They are recorded, and created again when the agent starts.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use super::super::store::{ClientRecord, VolumeRecord};
use super::Agent;
use crate::directory::is_id;
use crate::error::ClientError;
use crate::host_volumes::{ATTRIBUTES, Operating, PluginError};
use encamp_model::{ClientHostVolumeConfig, HostVolume};

/// How long the start of the agent waits for the volumes of an earlier run. The others become available later.
const RESTORE_WAIT: Duration = Duration::from_secs(2);

/// How the node shows a volume.
fn shown(id: &str, record: &VolumeRecord) -> ClientHostVolumeConfig {
    ClientHostVolumeConfig {
        name: record.name.clone(),
        path: record.path.display().to_string(),
        read_only: false,
        id: id.into(),
    }
}

/// Whether a directory existed before it was registered: no plugin created it, and none deletes it.
fn is_registered(record: &VolumeRecord) -> bool {
    record.plugin.is_empty()
}

impl Agent {
    /// Creates a volume; gives its directory on this host and its size in bytes, 0 if the plugin does not say. A volume
    /// that exists stays as it is, or grows if its plugin lets it.
    pub(crate) fn create_volume(&self, volume: &HostVolume) -> Result<(String, i64), ClientError> {
        let _operating = self.begin(volume)?;
        let known = self.record.read(|r| r.volumes.contains_key(&volume.id));
        let record = VolumeRecord::of(volume, &volume.plugin_id);
        let created = self.plugins.create(&volume.id, &record, !known).map_err(|e| match e {
            PluginError::Parameter { .. } => ClientError::BadRequest(e.to_string()),
            _ => ClientError::failed(e),
        })?;
        let record = VolumeRecord { path: created.path, ..record };
        let path = record.path.display().to_string();
        if let Err(error) = self.take_volume(&volume.id, record.clone()) {
            // A volume that is not recorded would be orphaned by the next start.
            if !known && let Err(error) = self.plugins.delete(&volume.id, &record) {
                let volume_id = volume.id.as_str();
                tracing::error!(target: "client", volume_id, path, %error, "failed to delete a host volume that could not be recorded");
            }
            return Err(error);
        }
        Ok((path, created.bytes))
    }

    /// Registers an existing directory as a volume. A volume that a plugin created keeps its plugin.
    pub(crate) fn register_volume(&self, volume: &HostVolume) -> Result<(), ClientError> {
        let _operating = self.begin(volume)?;
        let path = PathBuf::from(&volume.host_path);
        if !path.is_absolute() {
            return Err(ClientError::BadRequest(format!("{:?} is no absolute path", volume.host_path)));
        }
        path.metadata().map_err(|e| ClientError::failed(format!("cannot verify host path {path:?}: {e}")))?;
        let plugin = self.record.read(|r| r.volumes.get(&volume.id).map(|v| v.plugin.clone()));
        self.take_volume(&volume.id, VolumeRecord::of(volume, &plugin.unwrap_or_default()))
    }

    /// Deletes a volume; what a plugin created is removed with its content. A volume that is not there is no error.
    pub(crate) fn delete_volume(&self, id: &str) -> Result<(), ClientError> {
        let Some(volume) = self.record.read(|r| r.volumes.get(id).cloned()) else { return Ok(()) };
        let _operating = self.operating(&volume.name)?;
        if !is_registered(&volume) {
            self.plugins.delete(id, &volume).map_err(ClientError::failed)?;
        }
        self.store_volumes(|volumes| drop(volumes.remove(id)))?;
        let mut node = self.shared.node.write();
        node.host_volumes.retain(|_, v| v.id != id);
        // The volume of the configuration was hidden.
        if let Some(fixed) = self.shared.config.host_volumes.get(&volume.name) {
            node.host_volumes.entry(volume.name.clone()).or_insert_with(|| fixed.clone());
        }
        drop(node);
        self.shared.node_changed.notify_one();
        Ok(())
    }

    /// Begins to create or register a volume: its ID is one, no other volume of the node has its name, and no other
    /// operation on the name is in progress.
    fn begin(&self, volume: &HostVolume) -> Result<Operating<'_>, ClientError> {
        if !is_id(&volume.id) {
            return Err(ClientError::BadRequest(format!("{:?} is not a volume ID", volume.id)));
        }
        let operating = self.operating(&volume.name)?;
        let taken = self.record.read(|r| r.volumes.iter().any(|(id, v)| v.name == volume.name && *id != volume.id));
        let shown = self.shared.node().host_volumes.get(&volume.name).is_some_and(|v| v.id != volume.id);
        if taken || shown {
            return Err(ClientError::failed(format!("a volume {:?} is on this node already", volume.name)));
        }
        Ok(operating)
    }

    fn operating(&self, name: &str) -> Result<Operating<'_>, ClientError> {
        let busy = || ClientError::failed(format!("an operation on the volume {name:?} of this node is in progress"));
        self.plugins.begin(name).ok_or_else(busy)
    }

    fn take_volume(&self, id: &str, record: VolumeRecord) -> Result<(), ClientError> {
        let entry = shown(id, &record);
        self.store_volumes(|volumes| drop(volumes.insert(id.into(), record)))?;
        self.show(entry);
        Ok(())
    }

    /// Adds a volume to the node, which the servers learn.
    fn show(&self, entry: ClientHostVolumeConfig) {
        let mut node = self.shared.node.write();
        node.host_volumes.insert(entry.name.clone(), entry);
        drop(node);
        self.shared.node_changed.notify_one();
    }

    /// Changes the list of volumes and stores it.
    fn store_volumes(&self, change: impl FnOnce(&mut BTreeMap<String, VolumeRecord>)) -> Result<(), ClientError> {
        self.store_record(|record| change(&mut record.volumes))
            .map_err(|e| ClientError::failed(format!("failed to store the host volumes: {e}")))
    }

    /// Asks the programs of the plugin directory for their versions again.
    pub(crate) fn fingerprint_volume_plugins(&self) {
        if !self.shared.config.allowed("fingerprint", "host_volume_plugins") {
            return;
        }
        let found = self.plugins.fingerprint();
        let mut node = self.shared.node.write();
        let old: Vec<String> = node.attributes.keys().filter(|k| k.starts_with(ATTRIBUTES)).cloned().collect();
        let changed = old.len() != found.len() || found.iter().any(|(k, v)| node.attributes.get(k) != Some(v));
        if changed {
            old.iter().for_each(|key| drop(node.attributes.remove(key)));
            node.attributes.extend(found);
            drop(node);
            self.shared.node_changed.notify_one();
        }
    }

    /// Creates the volumes of an earlier run again, all at the same time. Waits a little for them; slow plugins go on
    /// meanwhile. A volume that cannot be created is not available on the node, and stays recorded.
    pub(super) fn restore_volumes(self: &Arc<Self>, record: &ClientRecord) {
        let (done, finished) = mpsc::channel();
        let mut waiting = 0_usize;
        for (id, volume) in record.volumes.clone() {
            let (agent, done) = (self.clone(), done.clone());
            let restore = move || {
                agent.restore_volume(&id, volume);
                // The start may wait no more.
                let _ = done.send(());
            };
            match std::thread::Builder::new().name("restore-volume".into()).spawn(restore) {
                Ok(_) => waiting += 1,
                Err(error) => tracing::error!(target: "client", %error, "failed to restore host volumes"),
            }
        }
        let until = Instant::now() + RESTORE_WAIT;
        while waiting > 0 && finished.recv_timeout(until.saturating_duration_since(Instant::now())).is_ok() {
            waiting -= 1;
        }
    }

    fn restore_volume(&self, id: &str, volume: VolumeRecord) {
        let Some(_operating) = self.plugins.begin(&volume.name) else { return };
        // It may have been deleted since.
        if self.record.read(|r| r.volumes.get(id) != Some(&volume)) {
            return;
        }
        match self.again(id, &volume) {
            Ok(path) => {
                if self.shared.config.host_volumes.contains_key(&volume.name) {
                    let name = volume.name.as_str();
                    tracing::warn!(target: "client", volume_id = id, name, "the host volume replaces that of the configuration");
                }
                let record = VolumeRecord { path, ..volume };
                let entry = shown(id, &record);
                if let Err(error) = self.store_volumes(|volumes| drop(volumes.insert(id.into(), record))) {
                    tracing::error!(target: "client", volume_id = id, %error, "the directory of the host volume is not recorded");
                }
                self.show(entry);
            }
            Err(error) => {
                let path = volume.path.display();
                tracing::error!(target: "client", volume_id = id, %path, %error, "failed to restore host volume");
            }
        }
    }

    /// The directory of a volume of an earlier run, which its plugin creates again.
    fn again(&self, id: &str, volume: &VolumeRecord) -> io::Result<PathBuf> {
        if is_registered(volume) {
            return Path::metadata(&volume.path).map(|_| volume.path.clone());
        }
        self.plugins.create(id, volume, false).map(|created| created.path).map_err(io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_safe_as_names_of_directories() {
        assert!(is_id("03335ffc-c328-82b4-cae7-5a8fe6481c14"));
        assert!(!is_id("../x") && !is_id("") && !is_id("a/b") && !is_id(&"a".repeat(65)));
    }
}
