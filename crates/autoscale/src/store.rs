//! Reads and writes state objects (`docs/spec/cluster-scaling.md §8`).

use std::future::Future;
use std::time::Duration;

use crate::cluster::{Cluster, ClusterError, Items};
use crate::record::{ITEM, Record, RecordError, ResourceType};

/// How long one call to the cluster or a provider may take; providers have shorter limits of their own.
pub const CALL_LIMIT: Duration = Duration::from_secs(60);

/// Why a state object could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// The cluster refused, or did not answer.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The Variable holds something else.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Waits for a call to the cluster, [`CALL_LIMIT`] at most.
///
/// # Errors
/// Those of the call; [`ClusterError::Failed`] if there is no answer in time.
pub async fn within<T>(call: impl Future<Output = Result<T, ClusterError>>) -> Result<T, ClusterError> {
    match tokio::time::timeout(CALL_LIMIT, call).await {
        Ok(answer) => answer,
        Err(_) => Err(ClusterError::Failed(format!("the cluster did not answer within {} s", CALL_LIMIT.as_secs()))),
    }
}

/// Reads a state object; a new one with index 0 if none is stored. The index is the one to check in the next write.
///
/// # Errors
/// The cluster does not answer, or the Variable holds something else.
pub async fn load(
    cluster: &dyn Cluster,
    path: &str,
    resource_type: ResourceType,
    name: &str,
) -> Result<(Record, u64), StoreError> {
    match within(cluster.variable(path)).await? {
        None => Ok((Record::new(resource_type, name), 0)),
        Some(stored) => {
            let item = stored.items.get(ITEM).map(String::as_str);
            Ok((Record::read(path, item)?, stored.modify_index))
        }
    }
}

/// Writes a state object if the stored one has the ModifyIndex `check`; gives the new one.
///
/// # Errors
/// This instance does not lead any more (nothing is written), another client has written, or the call failed: then it
/// may have had its effect.
pub async fn save(cluster: &dyn Cluster, path: &str, record: &Record, check: u64) -> Result<u64, StoreError> {
    if !cluster.leads() {
        return Err(ClusterError::NotLeader.into());
    }
    let items = Items::from([(ITEM.to_string(), record.to_item())]);
    Ok(within(cluster.write(path, items, check)).await?)
}
