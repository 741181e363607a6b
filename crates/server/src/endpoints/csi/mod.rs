//! CSI volumes: registered, created, expanded, removed (`docs/spec/http-api.md §5.14`).
//!
//! - `check`: whether a volume is valid. `claims`: calls of nodes, and the release of claims by hand. `external`: what
//!   storage providers have, and snapshots.

mod check;
mod claims;
mod external;
#[cfg(test)]
mod tests;

pub use claims::{claim, detach, release};
pub use external::{create_snapshot, delete_snapshot, external_volumes, snapshots};

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::csi::{AskError, ask_controller, ask_node, done};
use crate::error::{Error, ErrorKind};
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_host::ids;
use encamp_model::*;
use encamp_ops::{Operation, Refusal};

/// Registers volumes that exist at their storage providers, or changes registered ones; all or none. A larger minimum of
/// the capacity expands a registered volume. Returns the index.
///
/// # Errors
/// A volume is not valid, its plugin does not run or refuses it, or there is no leader.
pub async fn register(server: &Leading, namespace: &str, volumes: Vec<CsiVolume>) -> Result<u64, Error> {
    server.wait_ready().await?;
    let mut ready = Vec::new();
    for mut volume in prepared(namespace, volumes)? {
        let plugin = plugin(server, &volume.plugin_id)?;
        let old = stored(server, &volume.namespace, &volume.id);
        if volume.external_id.is_empty() {
            volume.external_id = old.as_ref().map_or_else(|| volume.id.clone(), |v| v.external_id.clone());
        }
        match old {
            Some(old) => expand(server, &plugin, &old, &mut volume).await?,
            None => validate(server, &plugin, &volume).await?,
        }
        ready.push(Arc::new(volume));
    }
    commit(server, ready).await
}

/// Has the plugins create volumes, and registers them; one that is registered already is changed. A volume that was
/// created but could not be registered is deleted again. Returns the volumes without their secrets, and the index.
///
/// # Errors
/// As [`register`]; the volumes before the one that failed stay.
pub async fn create(
    server: &Leading,
    namespace: &str,
    volumes: Vec<CsiVolume>,
) -> Result<(Vec<CsiVolume>, u64), Error> {
    server.wait_ready().await?;
    let (mut made, mut index) = (Vec::new(), 0);
    for mut volume in prepared(namespace, volumes)? {
        let plugin = plugin(server, &volume.plugin_id)?;
        let _lock = server.csi().lock(&volume.namespace, &volume.id).await;
        if let Some(old) = stored(server, &volume.namespace, &volume.id) {
            volume.external_id.clone_from(&old.external_id);
            expand(server, &plugin, &old, &mut volume).await?;
            index = commit(server, vec![Arc::new(volume.clone())]).await?;
        } else {
            let state = server.snapshot();
            if state.state().namespace(&volume.namespace).is_none() {
                let (volume, namespace) = (volume.id, volume.namespace);
                return Err(Refusal::CsiVolumeNamespaceNotFound { volume, namespace }.into());
            }
            index = create_one(server, &plugin, &mut volume).await?;
        }
        volume.secrets.clear();
        made.push(volume);
    }
    Ok((made, index))
}

async fn create_one(server: &Leading, plugin: &CsiPlugin, volume: &mut CsiVolume) -> Result<u64, Error> {
    let reply = ask_controller(server, plugin, CsiOperation::Create(Box::new(volume.clone()))).await?;
    let CsiReply::Created { external_id, capacity, context, topologies } = reply else {
        return Err(AskError::Odd(plugin.id.clone()).into());
    };
    volume.external_id = external_id;
    volume.capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
    (volume.context, volume.topologies) = (context, topologies);
    let stored = commit(server, vec![Arc::new(volume.clone())]).await;
    let Err(e) = &stored else { return stored };
    // Without a leader, it is not known whether it was stored: what may be stored is not deleted.
    if !matches!(e.kind, ErrorKind::NoLeader | ErrorKind::NotLeader) {
        let (external_id, secrets) = (volume.external_id.clone(), volume.secrets.clone());
        if let Err(error) = ask_controller(server, plugin, CsiOperation::Delete { external_id, secrets }).await {
            tracing::error!(
                target: "nomad.csi_volume", volume_id = volume.id.as_str(), external_id = volume.external_id.as_str(),
                %error, "failed to delete a volume that could not be registered"
            );
        }
    }
    stored
}

/// Removes a volume from the state; its storage provider keeps it. Returns the index.
///
/// # Errors
/// 500: the volume does not exist, or allocations claim it. `force`: claims of allocations that have ended do not
/// matter.
pub async fn deregister(server: &Leading, namespace: &str, id: &str, force: bool) -> Result<u64, Error> {
    let op = Operation::CsiVolumeDeregister { volume: (namespace.into(), id.into()), force };
    server.commit(op).await.map(|(index, _)| index)
}

/// Deletes a volume at its storage provider and removes it from the state. `secrets` are added to those of the volume.
/// Returns the index.
///
/// # Errors
/// 500: the volume does not exist, or allocations claim it; the plugin does not run or refuses.
pub async fn delete(
    server: &Leading,
    namespace: &str,
    id: &str,
    secrets: BTreeMap<String, SecretString>,
) -> Result<u64, Error> {
    server.wait_ready().await?;
    // Nothing can claim it meanwhile.
    let _lock = server.csi().lock(namespace, id).await;
    let volume = existing(server, namespace, id)?;
    if volume.in_use() {
        return Err(Refusal::CsiVolumeInUse { id: id.into() }.into());
    }
    let plugin = plugin(server, &volume.plugin_id)?;
    let mut all = volume.secrets.clone();
    all.extend(secrets);
    let operation = CsiOperation::Delete { external_id: volume.external_id.clone(), secrets: all };
    match ask_controller(server, &plugin, operation).await {
        Err(e) if e.not_found() => {}
        answer => done(answer?, &plugin.id)?,
    }
    deregister(server, namespace, id, false).await
}

/// Sets what requests leave out, and checks all volumes.
fn prepared(namespace: &str, volumes: Vec<CsiVolume>) -> Result<Vec<CsiVolume>, Error> {
    if volumes.is_empty() {
        return Err(Error::internal("missing volume definition"));
    }
    let set = |mut v: CsiVolume| {
        if v.namespace.is_empty() {
            v.namespace = namespace.into();
        }
        if v.name.is_empty() {
            v.name.clone_from(&v.id);
        }
        check::problems(&v).map(|()| v)
    };
    volumes.into_iter().map(set).collect()
}

async fn validate(server: &Leading, plugin: &CsiPlugin, volume: &CsiVolume) -> Result<(), Error> {
    if !plugin.controller_required {
        return Ok(());
    }
    let reply = ask_controller(server, plugin, CsiOperation::Validate(Box::new(volume.clone()))).await?;
    Ok(done(reply, &plugin.id)?)
}

/// Grows a registered volume if its new record asks for more than it has; nodes that mount it grow the file system.
async fn expand(server: &Leading, plugin: &CsiPlugin, old: &CsiVolume, new: &mut CsiVolume) -> Result<(), Error> {
    if new.capacity == 0 {
        new.capacity = old.capacity;
    }
    // The size of a volume that was not created here is unknown: it grows when more is asked for than before.
    let least = if old.capacity == 0 { old.requested_capacity_min } else { old.capacity };
    if new.requested_capacity_min <= least {
        return Ok(());
    }
    let mut asked = CsiVolume { context: old.context.clone(), external_id: old.external_id.clone(), ..new.clone() };
    if asked.secrets.is_empty() {
        asked.secrets.clone_from(&old.secrets);
    }
    let reply = ask_controller(server, plugin, CsiOperation::Expand(Box::new(asked.clone()))).await?;
    let CsiReply::Expanded { capacity, node_too } = reply else {
        return Err(AskError::Odd(plugin.id.clone()).into());
    };
    new.capacity = i64::try_from(capacity).unwrap_or(i64::MAX);
    asked.capacity = new.capacity;
    let live = old.write_claims.values().chain(old.read_claims.values());
    for claim in live.filter(|c| node_too && !old.past_claims.contains_key(&c.allocation_id)) {
        let operation = CsiOperation::ExpandOnNode { volume: Box::new(asked.clone()), claim: claim.clone() };
        let reply = ask_node(server, &claim.node_id, &plugin.id, operation).await?;
        done(reply, &plugin.id)?;
    }
    Ok(())
}

async fn commit(server: &Leading, volumes: Vec<Arc<CsiVolume>>) -> Result<u64, Error> {
    let op = Operation::CsiVolumeRegister { volumes, now: ids::now() };
    server.commit(op).await.map(|(index, _)| index)
}

fn stored(server: &ServerState, namespace: &str, id: &str) -> Option<Arc<CsiVolume>> {
    server.snapshot().state().csi_volume(namespace, id).cloned()
}

fn existing(server: &ServerState, namespace: &str, id: &str) -> Result<Arc<CsiVolume>, Error> {
    stored(server, namespace, id).ok_or_else(|| Refusal::CsiVolumeNotFound { id: id.into() }.into())
}

fn plugin(server: &ServerState, id: &str) -> Result<Arc<CsiPlugin>, Error> {
    let plugin = server.snapshot().csi_plugin(id).cloned();
    plugin.ok_or_else(|| Error::not_yet(format!("no CSI plugin named: {id} could be found")))
}
