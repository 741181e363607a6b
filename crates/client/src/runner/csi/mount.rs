//! Claims and mounts the CSI volumes of an allocation (`docs/spec/client.md §24.2`).

use std::future::Future;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use encamp_csi::{CallError, MountVolume, StageVolume, VolumeId, retry};
use encamp_model::{
    Allocation, CsiClaimRequest, CsiClaimed, CsiError, CsiMountOptions, CsiService, CsiVolumeCapability,
};
use tokio::sync::{MutexGuard, watch};

use super::super::Shared;
use crate::csi::operations::{Operation, Subject};
use crate::csi::records::{MountKey, MountRecord, Phase};
use crate::csi::requests;
use crate::drivers::{MountedVolume, VolumeMounts};
use crate::policy::csi;
use crate::servers::ServersError;

/// How long claiming and mounting the volumes of an allocation may take: other allocations may have to end first.
pub(crate) const MOUNT_DEADLINE: Duration = Duration::from_secs(300);
/// Between two looks for a plugin that does not run, or is busy.
const PLUGIN_WAIT: Duration = Duration::from_secs(1);

/// Why a volume is not mounted.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MountError {
    /// Servers do not let the allocation have it.
    #[error("failed to claim volume {volume:?}: {source}")]
    Claim {
        /// The volume.
        volume: String,
        /// What they say.
        source: ServersError,
    },
    /// Its modes are unknown.
    #[error("volume {volume:?}: {source}")]
    Modes {
        /// The volume.
        volume: String,
        /// Which one.
        source: CsiError,
    },
    /// The plugin fails.
    #[error("failed to mount volume {volume:?}: {source}")]
    Call {
        /// The volume.
        volume: String,
        /// Its error.
        source: CallError,
    },
    /// A directory for it can't be made.
    #[error("failed to create {}: {source}", path.display())]
    Directory {
        /// Where.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// What is to be done could not be stored.
    #[error("failed to store the mount of volume {volume:?}: {source}")]
    Store {
        /// The volume.
        volume: String,
        /// The reason.
        source: io::Error,
    },
    /// The allocation is to end, or the agent stops.
    #[error("the allocation ends")]
    Ended,
    /// It takes too long.
    #[error("the volumes could not be claimed and mounted within {0:?}")]
    Late(Duration),
}

/// A volume that the group of an allocation asks for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wanted {
    pub key: MountKey,
    /// The names by which the group knows it.
    pub names: Vec<String>,
    pub read_only: bool,
    pub modes: CsiVolumeCapability,
    pub options: Option<CsiMountOptions>,
}

/// The CSI volumes of an allocation. A volume that its group names twice is mounted once, for writing if one of the
/// names is.
pub(crate) fn wanted(alloc: &Allocation) -> Vec<Wanted> {
    let requests = alloc.group().and_then(|g| g.volumes.as_ref());
    let mut out: Vec<Wanted> = Vec::new();
    for (name, request) in requests.into_iter().flatten().filter(|(_, r)| r.r#type == "csi") {
        let key = MountKey {
            alloc_id: alloc.id.to_string(),
            namespace: alloc.namespace.to_string(),
            volume_id: request.source_for(&alloc.name),
        };
        if let Some(same) = out.iter_mut().find(|w| w.key == key) {
            same.names.push(name.clone());
            same.read_only &= request.read_only;
            continue;
        }
        out.push(Wanted {
            key,
            names: vec![name.clone()],
            read_only: request.read_only,
            modes: CsiVolumeCapability {
                access_mode: request.access_mode.clone(),
                attachment_mode: request.attachment_mode.clone(),
            },
            options: request.mount_options.clone(),
        });
    }
    out
}

/// Mount options of a volume; what the job sets counts instead.
fn merged(volume: Option<CsiMountOptions>, job: Option<&CsiMountOptions>) -> Option<CsiMountOptions> {
    let Some(job) = job else { return volume };
    let mut merged = volume.unwrap_or_default();
    if !job.fs_type.is_empty() {
        merged.fs_type.clone_from(&job.fs_type);
    }
    if !job.mount_flags.is_empty() {
        merged.mount_flags.clone_from(&job.mount_flags);
    }
    Some(merged)
}

/// Whether something is mounted at a path.
fn is_mounted(path: &Path) -> bool {
    let mounts = procfs::process::Process::myself().and_then(|p| p.mountinfo());
    mounts.is_ok_and(|mounts| mounts.into_iter().any(|m| m.mount_point == path))
}

impl Shared {
    /// Claims and mounts the volumes of an allocation; gives where they are. What was begun is recorded, also if it
    /// fails or the future is dropped.
    ///
    /// # Errors
    /// Why one of them is not mounted.
    pub(crate) async fn mount_csi_volumes(self: &Arc<Self>, wanted: &[Wanted]) -> Result<VolumeMounts, MountError> {
        let all = futures_util::future::try_join_all(wanted.iter().map(|w| self.mount_csi_volume(w)));
        let late = |_| Err(MountError::Late(MOUNT_DEADLINE));
        let paths = tokio::time::timeout(MOUNT_DEADLINE, all).await.unwrap_or_else(late)?;
        let mut mounts = VolumeMounts::default();
        for (wanted, path) in wanted.iter().zip(paths) {
            for name in &wanted.names {
                let read_only = wanted.read_only;
                mounts.insert(name.clone(), MountedVolume { path: path.clone(), read_only });
            }
        }
        Ok(mounts)
    }

    async fn mount_csi_volume(self: &Arc<Self>, wanted: &Wanted) -> Result<PathBuf, MountError> {
        let key = &wanted.key;
        let target = self.csi.dirs.target(key);
        match self.csi.mounts.get(key) {
            // The agent was started again.
            Some(record) if record.phase == Phase::Mounted && is_mounted(&target) => return Ok(target),
            // It may be mounted in part.
            Some(_) => {}
            None => self.record_mount(MountRecord { key: key.clone(), ..MountRecord::default() }).await?,
        }
        let claimed = self.claim_csi_volume(wanted).await?;
        // A call of the plugin is not left alone when this future is dropped: the lock of the volume is held until it
        // ends, so that nothing is mounted after it was unmounted.
        let (alive, ended) = watch::channel(());
        let work = tokio::spawn(self.clone().mount_claimed(wanted.clone(), claimed, target.clone(), ended));
        let mounted = work.await;
        drop(alive);
        mounted.unwrap_or(Err(MountError::Ended))?;
        Ok(target)
    }

    /// Stages and mounts a volume that is claimed. Stops after the call in progress when the sender of `ended` is gone.
    async fn mount_claimed(
        self: Arc<Self>,
        wanted: Wanted,
        claimed: CsiClaimed,
        target: PathBuf,
        mut ended: watch::Receiver<()>,
    ) -> Result<(), MountError> {
        let key = &wanted.key;
        let mount = found(|| self.csi.mounting.begin(Subject::mount(key)), &mut ended).await?;
        let _not_unmounted_meanwhile = locked(&mount, &mut ended).await?;
        let (plugin_id, external_id) = (claimed.volume.plugin_id.clone(), claimed.volume.external_id.clone());
        let subject = Subject::volume(plugin_id.clone(), external_id.clone());
        let operation = found(|| self.csi.operations.begin(subject.clone()), &mut ended).await?;
        let _one_at_a_time = locked(&operation, &mut ended).await?;
        let ready = found(|| self.csi.registry.ready(&plugin_id, CsiService::Node), &mut ended).await?;
        let staged = ready.found.node.as_ref().is_some_and(|(_, capabilities)| capabilities.stage);
        let record = MountRecord { key: key.clone(), plugin_id, external_id, staged, phase: Phase::Mounting };
        let (stage, mount) = self.mount_requests(&wanted, claimed, &record, &target)?;
        pause(Duration::ZERO, &mut ended).await?;
        self.record_mount(record.clone()).await?;
        let volume = &key.volume_id;
        // Another allocation of the node has it staged.
        let other = self.csi.mounts.read(|r| r.others(&record).any(|m| m.phase == Phase::Mounted));
        if let Some(stage) = stage {
            make_directory(Path::new(&stage.staging_path))?;
            if !other {
                attempt(volume, &mut ended, || ready.plugin.stage_volume(stage.clone())).await?;
            }
        }
        if let Some(parent) = target.parent() {
            make_directory(parent)?;
        }
        attempt(volume, &mut ended, || ready.plugin.mount_volume(mount.clone())).await?;
        self.record_mount(MountRecord { phase: Phase::Mounted, ..record }).await
    }

    /// The arguments of the plugin's calls.
    fn mount_requests(
        &self,
        wanted: &Wanted,
        claimed: CsiClaimed,
        record: &MountRecord,
        target: &Path,
    ) -> Result<(Option<StageVolume>, MountVolume), MountError> {
        let CsiClaimed { mut volume, claim, attach_context } = claimed;
        volume.mount_options = merged(volume.mount_options.take(), wanted.options.as_ref());
        let modes = |source| MountError::Modes { volume: record.key.volume_id.clone(), source };
        let capability = requests::claimed(&volume, &claim).map_err(modes)?;
        let staging = self.csi.dirs.staging(&record.plugin_id, &record.external_id).display().to_string();
        let stage = record.staged.then(|| StageVolume {
            volume: VolumeId::new(&record.external_id),
            staging_path: staging.clone(),
            capability: capability.clone(),
            attach_context: attach_context.clone(),
            context: volume.context.clone(),
            secrets: volume.secrets.clone(),
        });
        let mount = MountVolume {
            volume: VolumeId::new(&record.external_id),
            staging_path: record.staged.then_some(staging),
            target_path: target.display().to_string(),
            capability,
            read_only: wanted.read_only,
            attach_context,
            context: volume.context,
            secrets: volume.secrets,
        };
        Ok((stage, mount))
    }

    /// Claims a volume; waits while it is not free.
    async fn claim_csi_volume(&self, wanted: &Wanted) -> Result<CsiClaimed, MountError> {
        let mut attempts = 0;
        loop {
            let claim = CsiClaimRequest {
                namespace: wanted.key.namespace.clone(),
                volume_id: wanted.key.volume_id.clone(),
                alloc_id: wanted.key.alloc_id.clone(),
                read_only: wanted.read_only,
                capability: wanted.modes.clone(),
            };
            let source = match self.services.servers.claim_csi_volume(&self.who(), claim).await {
                Ok(claimed) => return Ok(claimed),
                Err(error) => error,
            };
            let volume = &wanted.key.volume_id;
            if !csi::claims_again(&source) {
                return Err(MountError::Claim { volume: volume.clone(), source });
            }
            let alloc_id = &wanted.key.alloc_id;
            tracing::warn!(target: "client.csi", alloc_id, volume, error = %source, "the volume can't be claimed yet");
            attempts += 1;
            tokio::time::sleep(csi::wait(attempts)).await;
        }
    }

    /// Stores what is about to be done for a volume, or was done.
    async fn record_mount(self: &Arc<Self>, record: MountRecord) -> Result<(), MountError> {
        let volume = record.key.volume_id.clone();
        self.store_mounts(move |me| me.csi.mounts.put(&me.store, record))
            .await
            .map_err(|source| MountError::Store { volume, source })
    }

    /// Changes the records, off the threads of the runtime.
    pub(super) async fn store_mounts(
        self: &Arc<Self>,
        change: impl FnOnce(&Shared) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        let me = self.clone();
        tokio::task::spawn_blocking(move || change(&me)).await.unwrap_or_else(|e| Err(io::Error::other(e)))
    }
}

/// Waits; fails when the sender is gone.
async fn pause(wait: Duration, ended: &mut watch::Receiver<()>) -> Result<(), MountError> {
    tokio::select! {
        biased;
        _ = ended.changed() => Err(MountError::Ended),
        () = tokio::time::sleep(wait) => Ok(()),
    }
}

/// Looks until something is there; fails when the sender is gone.
async fn found<T>(look: impl Fn() -> Option<T>, ended: &mut watch::Receiver<()>) -> Result<T, MountError> {
    loop {
        match look() {
            Some(found) => return Ok(found),
            None => pause(PLUGIN_WAIT, ended).await?,
        }
    }
}

/// Waits until an operation may begin; fails when the sender is gone.
async fn locked<'a>(
    operation: &'a Operation<'_>,
    ended: &mut watch::Receiver<()>,
) -> Result<MutexGuard<'a, ()>, MountError> {
    tokio::select! {
        guard = operation.lock() => Ok(guard),
        _ = ended.changed() => Err(MountError::Ended),
    }
}

/// Makes a call for a volume, again for as long as that may be of use and the sender is there.
async fn attempt<F>(
    volume: &str,
    ended: &mut watch::Receiver<()>,
    mut call: impl FnMut() -> F,
) -> Result<(), MountError>
where
    F: Future<Output = Result<(), CallError>>,
{
    let mut attempts = 1;
    loop {
        pause(Duration::ZERO, ended).await?;
        let Err(source) = call().await else { return Ok(()) };
        let Some(wait) = retry(&source, attempts) else {
            return Err(MountError::Call { volume: volume.into(), source });
        };
        tracing::warn!(target: "client.csi", volume, error = %source, "failed to mount a volume; it is tried again");
        pause(wait, ended).await?;
        attempts += 1;
    }
}

fn make_directory(path: &Path) -> Result<(), MountError> {
    use std::os::unix::fs::DirBuilderExt;
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| MountError::Directory { path: path.into(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use encamp_model::{Job, TaskGroup, VolumeRequest};

    fn request(kind: &str, source: &str, read_only: bool, per_alloc: bool) -> VolumeRequest {
        VolumeRequest { r#type: kind.into(), source: source.into(), read_only, per_alloc, ..VolumeRequest::default() }
    }

    #[test]
    fn volumes_of_a_group_are_mounted_once() {
        let volumes = [
            ("a", request("csi", "data", true, false)),
            ("b", request("csi", "data", false, false)),
            ("c", request("csi", "own", true, true)),
            ("d", request("host", "disk", false, false)),
        ];
        let volumes = volumes.into_iter().map(|(name, request)| (name.to_string(), request)).collect();
        let group = TaskGroup { name: "g".into(), volumes: Some(volumes), ..TaskGroup::default() };
        let job = Job { id: "j".into(), task_groups: vec![group], ..Job::default() };
        let alloc = Allocation {
            id: "1".into(),
            name: "j.g[3]".into(),
            job_id: "j".into(),
            task_group: "g".into(),
            namespace: "n".into(),
            job: Some(job.into()),
            ..Allocation::default()
        };
        let wanted = wanted(&alloc);
        let found: Vec<_> = wanted.iter().map(|w| (w.key.volume_id.as_str(), w.names.concat(), w.read_only)).collect();
        assert_eq!(found, [("data", "ab".to_string(), false), ("own[3]", "c".to_string(), true)]);
        assert!(wanted.iter().all(|w| w.key.namespace == "n" && w.key.alloc_id == "1"));
    }

    #[test]
    fn options_of_the_job_count() {
        let options = |fs_type: &str, flags: &[&str]| CsiMountOptions {
            fs_type: fs_type.into(),
            mount_flags: flags.iter().map(|f| f.to_string()).collect(),
        };
        let volume = options("ext4", &["noatime"]);
        assert_eq!(merged(Some(volume.clone()), None), Some(volume.clone()));
        assert_eq!(merged(Some(volume.clone()), Some(&options("xfs", &[]))), Some(options("xfs", &["noatime"])));
        assert_eq!(merged(None, Some(&options("", &["ro"]))), Some(options("", &["ro"])));
    }

    #[test]
    fn mounts_are_seen() {
        assert!(is_mounted(Path::new("/proc")) && !is_mounted(Path::new("/proc/self")));
    }
}
