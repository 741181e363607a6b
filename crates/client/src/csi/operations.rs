//! Operations of plugins in progress: one at a time for each volume, and their repetition.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::future::Future;
use std::sync::Arc;

use encamp_csi::{CallError, ErrorKind, retry};
use encamp_model::{CsiError, CsiReply};
use parking_lot::Mutex;

use super::records::MountKey;
use super::requests;

/// The most operations at a time; further ones are to be repeated by the servers.
const MOST_OPERATIONS: usize = 128;

/// What one operation at a time may use.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Subject {
    pub plugin_id: String,
    /// Snapshots and volumes that do not exist yet have IDs of other kinds.
    pub kind: SubjectKind,
    pub id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum SubjectKind {
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
pub(crate) struct Operation<'a> {
    operations: &'a Operations,
    subject: Subject,
    lock: Arc<tokio::sync::Mutex<()>>,
}

impl Operations {
    /// Adds an operation; `None`: there are too many.
    pub(crate) fn begin(&self, subject: Subject) -> Option<Operation<'_>> {
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
    pub(crate) fn volume(plugin_id: String, external_id: String) -> Subject {
        Subject { plugin_id, kind: SubjectKind::Volume, id: external_id }
    }

    /// A volume of an allocation.
    pub(crate) fn mount(key: &MountKey) -> Subject {
        let id = format!("{}\n{}\n{}", key.alloc_id, key.namespace, key.volume_id);
        Subject { plugin_id: String::new(), kind: SubjectKind::Mount, id }
    }
}

impl Operation<'_> {
    /// Waits until the operation may begin: earlier ones on the same subject have ended.
    pub(crate) async fn lock(&self) -> tokio::sync::MutexGuard<'_, ()> {
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
pub(crate) async fn repeat<T, F>(mut call: impl FnMut() -> F) -> Result<T, CallError>
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
pub(crate) async fn repeat_removal<F>(call: impl FnMut() -> F) -> Result<CsiReply, CsiError>
where
    F: Future<Output = Result<(), CallError>>,
{
    match repeat(call).await {
        Ok(()) => Ok(CsiReply::Done),
        Err(error) if error.kind == ErrorKind::NotFound => Ok(CsiReply::Done),
        Err(error) => Err(requests::failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
}
