//! What storage providers have: their volumes, and snapshots (`docs/spec/http-api.md §5.14`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::existing;
use crate::csi::{AskError, ask_controller, done};
use crate::error::Error;
use crate::leading::Leading;
use crate::server_state::ServerState;
use encamp_model::*;

fn plugin(server: &ServerState, id: &str) -> Result<Arc<CsiPlugin>, Error> {
    server.snapshot().csi_plugin(id).cloned().ok_or_else(|| Error::internal("no such plugin"))
}

/// A part of the volumes that a storage provider has, and where the next one begins; empty: it is the last one.
///
/// # Errors
/// 500: there is no such plugin, or it refuses.
pub async fn external_volumes(
    server: &Leading,
    plugin_id: &str,
    page: CsiPage,
) -> Result<(Vec<CsiExternalVolume>, String), Error> {
    server.wait_ready().await?;
    let plugin = plugin(server, plugin_id)?;
    match ask_controller(server, &plugin, CsiOperation::ListVolumes(page)).await? {
        CsiReply::Volumes { volumes, next } => Ok((volumes, next)),
        _ => Err(AskError::Odd(plugin.id.clone()).into()),
    }
}

/// Takes a snapshot of a registered volume. The answer has no secrets.
///
/// # Errors
/// 500: there is no such volume or plugin, or the plugin refuses.
pub async fn create_snapshot(server: &Leading, namespace: &str, asked: CsiSnapshot) -> Result<CsiSnapshot, Error> {
    server.wait_ready().await?;
    let volume = existing(server, namespace, &asked.source_volume_id)?;
    let plugin = plugin(server, &volume.plugin_id)?;
    let mut secrets = volume.secrets.clone();
    secrets.extend(asked.secrets);
    let operation = CsiOperation::CreateSnapshot {
        external_id: volume.external_id.clone(),
        name: asked.name.clone(),
        parameters: asked.parameters,
        secrets,
    };
    let CsiReply::Snapshot(made) = ask_controller(server, &plugin, operation).await? else {
        return Err(AskError::Odd(plugin.id.clone()).into());
    };
    Ok(CsiSnapshot {
        source_volume_id: asked.source_volume_id,
        plugin_id: plugin.id.clone(),
        name: asked.name,
        secrets: BTreeMap::new(),
        ..made
    })
}

/// Deletes a snapshot.
///
/// # Errors
/// 500: there is no such plugin, or it refuses.
pub async fn delete_snapshot(
    server: &Leading,
    plugin_id: &str,
    id: &str,
    secrets: BTreeMap<String, SecretString>,
) -> Result<(), Error> {
    server.wait_ready().await?;
    let plugin = plugin(server, plugin_id)?;
    match ask_controller(server, &plugin, CsiOperation::DeleteSnapshot { id: id.into(), secrets }).await {
        Err(e) if e.not_found() => Ok(()),
        answer => Ok(done(answer?, &plugin.id)?),
    }
}

/// A part of the snapshots that a storage provider has, and where the next one begins; empty: it is the last one.
///
/// # Errors
/// 500: there is no such plugin, or it refuses.
pub async fn snapshots(
    server: &Leading,
    plugin_id: &str,
    page: CsiPage,
    secrets: BTreeMap<String, SecretString>,
) -> Result<(Vec<CsiSnapshot>, String), Error> {
    server.wait_ready().await?;
    let plugin = plugin(server, plugin_id)?;
    match ask_controller(server, &plugin, CsiOperation::ListSnapshots { page, secrets }).await? {
        CsiReply::Snapshots { mut snapshots, next } => {
            for s in &mut snapshots {
                s.plugin_id.clone_from(&plugin.id);
                s.secrets.clear();
            }
            Ok((snapshots, next))
        }
        _ => Err(AskError::Odd(plugin.id.clone()).into()),
    }
}
