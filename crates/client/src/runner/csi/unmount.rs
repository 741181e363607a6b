//! Unmounts the CSI volumes of allocations and gives their claims back (`docs/spec/client.md §24.2`). What is recorded is
//! tried until it is done, also by the next run of the agent.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use encamp_csi::{CallError, ErrorKind, VolumeId};
use encamp_model::{CsiError, CsiErrorKind, CsiRelease, CsiService};
use tokio::task::JoinSet;

use super::super::Shared;
use super::server_calls::key_of;
use crate::csi::operations::{Subject, repeat};
use crate::csi::records::{MountKey, MountRecord, Phase};
use crate::csi::requests;
use crate::policy::csi;
use crate::servers::ServersError;

/// How long the end of an allocation waits for its volumes to be unmounted; that then goes on in the background.
const END_WAIT: Duration = Duration::from_secs(60);

/// Why a volume is still mounted or claimed.
#[derive(Debug, thiserror::Error)]
enum UnmountError {
    /// The plugin that mounted it does not run.
    #[error("plugin {0:?} does not run on this node, or is not healthy")]
    NoPlugin(String),
    /// Too many operations are in progress.
    #[error("too many operations are in progress")]
    Busy,
    /// The plugin fails.
    #[error(transparent)]
    Call(#[from] CallError),
    /// What is to be done could not be stored.
    #[error("failed to store the state of the mount: {0}")]
    Store(#[from] io::Error),
    /// Servers did not take the claim back.
    #[error("failed to release the claim: {0}")]
    Release(#[from] ServersError),
}

/// Something that is not there is done.
fn gone(done: Result<(), CallError>) -> Result<(), CallError> {
    done.or_else(|e| if e.kind == ErrorKind::NotFound { Ok(()) } else { Err(e) })
}

/// Removes what a plugin left of a path, and directories above it that are empty. What is mounted or has contents stays.
fn clean(path: &Path, levels: usize) {
    // Plugins remove it themselves as a rule.
    let _ = std::fs::remove_dir(path);
    for dir in path.ancestors().skip(1).take(levels) {
        if std::fs::remove_dir(dir).is_err() {
            return;
        }
    }
}

impl Shared {
    /// Unmounts the volumes of an allocation that ended. Waits for that, with a bound; it goes on in the background.
    pub(crate) async fn unmount_csi_volumes(self: &Arc<Self>, alloc_id: &str) {
        let mut work = JoinSet::new();
        for key in self.csi.mounts.of_alloc(alloc_id) {
            let done = self.unmount_in_background(key);
            work.spawn(async move { drop(done.await) });
        }
        let all = async { while work.join_next().await.is_some() {} };
        if tokio::time::timeout(END_WAIT, all).await.is_err() {
            tracing::warn!(target: "client.csi", alloc_id, "volumes of the allocation are still mounted or claimed; unmounting goes on");
        }
    }

    /// Unmounts what allocations left behind that this node does not know any more.
    pub(crate) fn unmount_unknown(self: &Arc<Self>, known: impl Fn(&str) -> bool) {
        let keys: Vec<MountKey> = self.csi.mounts.read(|r| r.mounts.iter().map(|m| m.key.clone()).collect());
        keys.into_iter().filter(|key| !known(&key.alloc_id)).for_each(|key| drop(self.unmount_in_background(key)));
    }

    /// Unmounts a volume and releases its claim; tries until it is done, or the agent stops.
    fn unmount_in_background(self: &Arc<Self>, key: MountKey) -> tokio::task::JoinHandle<()> {
        let me = self.clone();
        tokio::spawn(async move {
            let mut stop = me.csi.stop.subscribe();
            tokio::select! {
                () = me.unmount_until_done(&key) => {}
                _ = stop.wait_for(|s| *s) => {}
            }
        })
    }

    async fn unmount_until_done(self: &Arc<Self>, key: &MountKey) {
        let mut attempts = 0;
        while let Err(error) = self.unmount_and_release(key).await {
            let (alloc_id, volume) = (&key.alloc_id, &key.volume_id);
            if attempts == 0 {
                tracing::warn!(target: "client.csi", alloc_id, volume, %error, "failed to unmount a volume; it is tried again");
            } else {
                tracing::debug!(target: "client.csi", alloc_id, volume, %error, "failed to unmount a volume; it is tried again");
            }
            attempts += 1;
            tokio::time::sleep(csi::wait(attempts)).await;
        }
    }

    async fn unmount_and_release(self: &Arc<Self>, key: &MountKey) -> Result<(), UnmountError> {
        let mount = self.csi.mounting.begin(Subject::mount(key)).ok_or(UnmountError::Busy)?;
        let _not_mounted_meanwhile = mount.lock().await;
        let Some(record) = self.csi.mounts.get(key) else { return Ok(()) };
        if record.phase.may_be_mounted() {
            let subject = Subject::volume(record.plugin_id.clone(), record.external_id.clone());
            let operation = self.csi.operations.begin(subject).ok_or(UnmountError::Busy)?;
            let _one_at_a_time = operation.lock().await;
            self.unmount(key).await?;
        }
        let release = CsiRelease {
            namespace: key.namespace.clone(),
            volume_id: key.volume_id.clone(),
            alloc_id: key.alloc_id.clone(),
        };
        match self.services.servers.release_csi_volume(&self.who(), release).await {
            Ok(()) | Err(ServersError::NotFound(_)) => {}
            Err(error) => return Err(error.into()),
        }
        let key = key.clone();
        Ok(self.store_mounts(move |me| me.csi.mounts.remove(&me.store, &key)).await?)
    }

    /// Unmounts a recorded volume, and unstages it if no other allocation of the node uses it. The caller holds the lock
    /// of the volume.
    async fn unmount(self: &Arc<Self>, key: &MountKey) -> Result<(), UnmountError> {
        // It may have been unmounted while this waited for the lock.
        let Some(record) = self.csi.mounts.get(key).filter(|r| r.phase.may_be_mounted()) else { return Ok(()) };
        self.set_phase(&record, Phase::Unmounting).await?;
        let no_plugin = || UnmountError::NoPlugin(record.plugin_id.clone());
        let ready = self.csi.registry.ready(&record.plugin_id, CsiService::Node).ok_or_else(no_plugin)?;
        let (id, target) = (VolumeId::new(&record.external_id), self.csi.dirs.target(key));
        gone(ready.plugin.unmount_volume(&id, &target.display().to_string()).await)?;
        clean(&target, 1);
        let used = self.csi.mounts.read(|r| r.others(&record).any(|m| m.phase.may_be_mounted()));
        if record.staged && !used {
            let staging = self.csi.dirs.staging(&record.plugin_id, &record.external_id);
            gone(ready.plugin.unstage_volume(&id, &staging.display().to_string()).await)?;
            clean(&staging, 1);
        }
        Ok(self.set_phase(&record, Phase::Unmounted).await?)
    }

    async fn set_phase(self: &Arc<Self>, record: &MountRecord, phase: Phase) -> io::Result<()> {
        let record = MountRecord { phase, ..record.clone() };
        self.store_mounts(move |me| me.csi.mounts.put(&me.store, record)).await
    }

    /// Unmounts a volume for servers that want it back; the caller holds the lock of the volume. The claim is theirs.
    pub(super) async fn unmount_for_servers(self: &Arc<Self>, key: &MountKey) -> Result<(), CsiError> {
        self.unmount(key).await.map_err(|error| match error {
            UnmountError::Call(error) => requests::failed(&error),
            UnmountError::NoPlugin(_) => CsiError { kind: CsiErrorKind::NoPlugin, text: error.to_string() },
            UnmountError::Busy | UnmountError::Store(_) | UnmountError::Release(_) => {
                CsiError { kind: CsiErrorKind::Retry, text: error.to_string() }
            }
        })
    }

    /// Grows the file system of a volume that is mounted for an allocation; the caller holds the lock of the volume.
    pub(super) async fn expand_for_servers(
        &self,
        plugin: &encamp_csi::Plugin,
        volume: encamp_model::CsiVolume,
        claim: &encamp_model::CsiVolumeClaim,
    ) -> Result<(), CsiError> {
        let key = key_of(&volume, claim);
        let Some(record) = self.csi.mounts.get(&key).filter(|r| r.phase == Phase::Mounted) else {
            let text = "the volume is not mounted for the allocation".into();
            return Err(CsiError { kind: CsiErrorKind::NotFound, text });
        };
        let target = self.csi.dirs.target(&key).display().to_string();
        let staging = self.csi.dirs.staging(&record.plugin_id, &record.external_id);
        let staging = record.staged.then(|| staging.display().to_string());
        let asked = requests::expand_on_node(volume, claim, target, staging)?;
        repeat(|| plugin.expand_on_node(asked.clone())).await.map(drop).map_err(|e| requests::failed(&e))
    }
}
