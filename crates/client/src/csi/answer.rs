//! Carries out what servers ask the plugins of this node to do (`docs/spec/client.md §24.2`).

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use encamp_csi::{CallError, ErrorKind, ExternalNodeId, SnapshotId, Validation, VolumeId, retry};
use encamp_model::{CsiCall, CsiError, CsiErrorKind, CsiOperation, CsiReply, CsiService, CsiVolume, CsiVolumeClaim};
use parking_lot::Mutex;

use super::records::MountKey;
use super::registry::Ready;
use super::requests;
use crate::runner::Shared;

/// How long one operation may take, with its repetitions and the wait for others of the volume.
const DEADLINE: Duration = Duration::from_secs(300);
/// The most operations at a time; further ones are to be repeated by the servers.
const MOST_OPERATIONS: usize = 128;

/// What one operation at a time may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Subject {
    plugin_id: String,
    /// Snapshots and volumes that do not exist yet have IDs of other kinds.
    kind: SubjectKind,
    id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum SubjectKind {
    /// By the storage provider's ID.
    Volume,
    /// By the name that it will have.
    NewVolume,
    /// By the storage provider's ID.
    Snapshot,
    /// A volume of an allocation.
    Mount,
    /// A list is no subject of its own: they do not wait for each other.
    List,
}

/// The operations in progress: one at a time for each subject.
#[derive(Default)]
pub(crate) struct Operations(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    /// With how many operations hold the lock or wait for it.
    subjects: HashMap<Subject, (Arc<tokio::sync::Mutex<()>>, usize)>,
    all: usize,
}

/// An operation that is in progress or waits; ends when it is dropped.
pub(super) struct Operation<'a> {
    operations: &'a Operations,
    subject: Subject,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Operations {
    /// Adds an operation; `None`: there are too many.
    pub(super) fn begin(&self, subject: Subject) -> Option<Operation<'_>> {
        let mut waiting = self.0.lock();
        if waiting.all >= MOST_OPERATIONS {
            return None;
        }
        waiting.all += 1;
        let (lock, users) = waiting.subjects.entry(subject.clone()).or_default();
        *users += 1;
        Some(Operation { operations: self, lock: lock.clone(), subject })
    }
}

impl Subject {
    /// A volume, by the storage provider's ID.
    pub(super) fn volume(plugin_id: String, external_id: String) -> Subject {
        Subject { plugin_id, kind: SubjectKind::Volume, id: external_id }
    }

    /// A volume of an allocation.
    pub(super) fn mount(key: &MountKey) -> Subject {
        let id = format!("{}\n{}\n{}", key.alloc_id, key.namespace, key.volume_id);
        Subject { plugin_id: String::new(), kind: SubjectKind::Mount, id }
    }
}

impl Operation<'_> {
    /// Waits until the operation may begin: earlier ones on the same subject have ended.
    pub(super) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.lock.lock().await
    }
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let mut waiting = self.operations.0.lock();
        waiting.all = waiting.all.saturating_sub(1);
        if let Entry::Occupied(mut entry) = waiting.subjects.entry(self.subject.clone()) {
            let users = &mut entry.get_mut().1;
            *users = users.saturating_sub(1);
            if *users == 0 {
                entry.remove();
            }
        }
    }
}

/// Makes a call again for as long as that may be of use.
pub(super) async fn repeat<T, F>(mut call: impl FnMut() -> F) -> Result<T, CallError>
where
    F: Future<Output = Result<T, CallError>>,
{
    let mut attempts = 1;
    loop {
        match call().await {
            Ok(done) => return Ok(done),
            Err(error) => match retry(&error, attempts) {
                Some(wait) => tokio::time::sleep(wait).await,
                None => return Err(error),
            },
        }
        attempts += 1;
    }
}

/// The same; what is not there is done.
async fn repeat_removal<F>(call: impl FnMut() -> F) -> Result<CsiReply, CsiError>
where
    F: Future<Output = Result<(), CallError>>,
{
    match repeat(call).await {
        Ok(()) => Ok(CsiReply::Done),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(CsiReply::Done),
        Err(error) => Err(requests::failed(&error)),
    }
}

fn try_later(text: &str) -> CsiError {
    CsiError { kind: CsiErrorKind::Retry, text: text.into() }
}

impl Shared {
    /// Carries out one operation of a storage plugin.
    ///
    /// # Errors
    /// What the caller can do about it. `Retry` may have been carried out.
    pub(crate) async fn ask_csi_plugin(self: &Arc<Self>, call: CsiCall) -> Result<CsiReply, CsiError> {
        let CsiCall { plugin_id, operation } = call;
        if let CsiOperation::Unmount { volume, claim } = &operation
            && !self.csi.mounts.get(&key_of(volume, claim)).is_some_and(|r| r.phase.may_be_mounted())
        {
            return Ok(CsiReply::Done);
        }
        let (service, kind, id) = about(&operation);
        let Some(ready) = self.csi.registry.ready(&plugin_id, service) else {
            let text = format!("plugin {plugin_id:?} does not run on this node, or is not healthy");
            return Err(CsiError { kind: CsiErrorKind::NoPlugin, text });
        };
        let subject = Subject { plugin_id, kind, id };
        let Some(begun) = self.csi.operations.begin(subject) else {
            return Err(try_later("too many operations are in progress on this node"));
        };
        let work = async {
            let _one_at_a_time = if kind == SubjectKind::List { None } else { Some(begun.lock().await) };
            carry_out(self, &ready, operation).await
        };
        let late = |_| Err(try_later("the operation did not end in time"));
        tokio::time::timeout(DEADLINE, work).await.unwrap_or_else(late)
    }
}

/// How the mount of a claim is recorded.
pub(super) fn key_of(volume: &CsiVolume, claim: &CsiVolumeClaim) -> MountKey {
    MountKey {
        alloc_id: claim.allocation_id.clone(),
        namespace: volume.namespace.clone(),
        volume_id: volume.id.clone(),
    }
}

/// Which service an operation needs, and what it is about.
fn about(operation: &CsiOperation) -> (CsiService, SubjectKind, String) {
    let (service, kind, id) = match operation {
        CsiOperation::Create(volume) => {
            let name = if volume.name.is_empty() { &volume.id } else { &volume.name };
            (CsiService::Controller, SubjectKind::NewVolume, name)
        }
        CsiOperation::Validate(volume) | CsiOperation::Expand(volume) | CsiOperation::Attach { volume, .. } => {
            (CsiService::Controller, SubjectKind::Volume, &volume.external_id)
        }
        CsiOperation::Delete { external_id, .. }
        | CsiOperation::Detach { external_id, .. }
        | CsiOperation::CreateSnapshot { external_id, .. } => {
            (CsiService::Controller, SubjectKind::Volume, external_id)
        }
        CsiOperation::DeleteSnapshot { id, .. } => (CsiService::Controller, SubjectKind::Snapshot, id),
        CsiOperation::ListVolumes(page) | CsiOperation::ListSnapshots { page, .. } => {
            (CsiService::Controller, SubjectKind::List, &page.start)
        }
        CsiOperation::Unmount { volume, .. } | CsiOperation::ExpandOnNode { volume, .. } => {
            (CsiService::Node, SubjectKind::Volume, &volume.external_id)
        }
    };
    (service, kind, id.clone())
}

async fn carry_out(shared: &Arc<Shared>, ready: &Ready, operation: CsiOperation) -> Result<CsiReply, CsiError> {
    let plugin = &ready.plugin;
    let controller = ready.found.controller.unwrap_or_default();
    let failed = |error: CallError| requests::failed(&error);
    match operation {
        CsiOperation::Validate(volume) => {
            let asked = requests::validate(*volume)?;
            match repeat(|| plugin.validate_volume(asked.clone())).await.map_err(failed)? {
                Validation::Confirmed => Ok(CsiReply::Done),
                Validation::Refused(why) => {
                    let text = if why.is_empty() { "the volume can not be used as requested".into() } else { why };
                    Err(requests::refused(text))
                }
            }
        }
        CsiOperation::Create(volume) => {
            let asked = requests::create(*volume)?;
            repeat(|| plugin.create_volume(asked.clone())).await.map(requests::created).map_err(failed)
        }
        CsiOperation::Expand(volume) => {
            let asked = requests::expand(*volume)?;
            let expanded = repeat(|| plugin.expand_volume(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Expanded { capacity: expanded.capacity, node_too: expanded.node_too })
        }
        CsiOperation::Delete { external_id, secrets } => {
            let id = VolumeId::new(external_id);
            repeat_removal(|| plugin.delete_volume(&id, secrets.clone())).await
        }
        // A controller that attaches nothing leaves it to the node's plugin.
        CsiOperation::Attach { .. } if !controller.attach => Ok(CsiReply::Attached { context: Default::default() }),
        CsiOperation::Attach { volume, claim } => {
            let asked = requests::attach(*volume, claim, controller.read_only_attach)?;
            let context = repeat(|| plugin.attach_volume(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Attached { context })
        }
        CsiOperation::Detach { .. } if !controller.attach => Ok(CsiReply::Done),
        CsiOperation::Detach { external_id, external_node_id, secrets } => {
            let (id, node) = (VolumeId::new(external_id), ExternalNodeId::new(external_node_id));
            repeat_removal(|| plugin.detach_volume(&id, &node, secrets.clone())).await
        }
        CsiOperation::ListVolumes(page) => {
            let asked = requests::page(page);
            let page = repeat(|| plugin.list_volumes(asked.clone())).await.map_err(failed)?;
            let volumes = page.entries.into_iter().map(requests::listed).collect();
            Ok(CsiReply::Volumes { volumes, next: page.next.unwrap_or_default() })
        }
        CsiOperation::CreateSnapshot { external_id, name, parameters, secrets } => {
            let asked = requests::create_snapshot(external_id, name, parameters, secrets);
            let taken = repeat(|| plugin.create_snapshot(asked.clone())).await.map_err(failed)?;
            Ok(CsiReply::Snapshot(requests::snapshot(taken)))
        }
        CsiOperation::DeleteSnapshot { id, secrets } => {
            let id = SnapshotId::new(id);
            repeat_removal(|| plugin.delete_snapshot(&id, secrets.clone())).await
        }
        CsiOperation::ListSnapshots { page, secrets } => {
            let asked = requests::list_snapshots(page, secrets);
            let page = repeat(|| plugin.list_snapshots(asked.clone())).await.map_err(failed)?;
            let snapshots = page.entries.into_iter().map(requests::snapshot).collect();
            Ok(CsiReply::Snapshots { snapshots, next: page.next.unwrap_or_default() })
        }
        CsiOperation::Unmount { volume, claim } => {
            shared.unmount_for_servers(&key_of(&volume, &claim)).await.map(|()| CsiReply::Done)
        }
        CsiOperation::ExpandOnNode { volume, claim } => {
            shared.expand_for_servers(plugin, *volume, &claim).await.map(|()| CsiReply::Done)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn one_operation_at_a_time_for_each_volume() {
        let operations = Operations::default();
        let volume = |id: &str| Subject::volume("disks".into(), id.into());
        let (one, two, other) =
            (operations.begin(volume("a")), operations.begin(volume("a")), operations.begin(volume("b")));
        let (one, two, other) = (one.unwrap(), two.unwrap(), other.unwrap());
        let held = one.lock().await;
        let _free = other.lock().await;
        let waits = tokio::time::timeout(Duration::from_millis(20), two.lock()).await.is_err();
        assert!(waits);
        drop(held);
        drop(two.lock().await);
        drop((one, two));
        assert_eq!(operations.0.lock().subjects.len(), 1);
        let many: Vec<_> = (1..MOST_OPERATIONS).map(|n| operations.begin(volume(&n.to_string()))).collect();
        assert!(many.iter().all(Option::is_some) && operations.begin(volume("c")).is_none());
        drop(many);
        assert!(operations.begin(volume("c")).is_some());
    }

    #[test]
    fn operations_have_subjects() {
        let secrets = std::collections::BTreeMap::new;
        let named = CsiVolume { name: "n".into(), external_id: "x".into(), ..CsiVolume::default() };
        let volume = || Box::new(named.clone());
        let claim = CsiVolumeClaim::default;
        let attach = CsiOperation::Attach { volume: volume(), claim: claim() };
        assert_eq!(about(&attach), (CsiService::Controller, SubjectKind::Volume, "x".to_string()));
        let create = CsiOperation::Create(volume());
        assert_eq!(about(&create), (CsiService::Controller, SubjectKind::NewVolume, "n".to_string()));
        let unmount = CsiOperation::Unmount { volume: volume(), claim: claim() };
        assert_eq!(about(&unmount), (CsiService::Node, SubjectKind::Volume, "x".to_string()));
        let delete = CsiOperation::DeleteSnapshot { id: "s".into(), secrets: secrets() };
        assert_eq!(about(&delete), (CsiService::Controller, SubjectKind::Snapshot, "s".to_string()));
    }
}
