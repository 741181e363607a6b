//! Asks a plugin whether it is ready, and what it can do.

use encamp_csi::{
    CallError, ControllerCapabilities, NodeCapabilities, NodeDescription, Plugin, PluginCapabilities, PluginIdentity,
};

use encamp_model::CsiServices;

/// What a plugin is and can do.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Found {
    pub identity: PluginIdentity,
    pub capabilities: PluginCapabilities,
    /// `None`: it is no controller.
    pub controller: Option<ControllerCapabilities>,
    /// `None`: it mounts nothing.
    pub node: Option<(NodeDescription, NodeCapabilities)>,
}

/// Why a plugin can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotReady {
    /// A call failed.
    #[error(transparent)]
    Call(#[from] CallError),
    /// It answers that it is not ready.
    #[error("the plugin is not ready")]
    Says,
}

/// Asks a plugin.
///
/// # Errors
/// It does not answer, or is not ready.
pub(crate) async fn look(plugin: &Plugin, services: CsiServices) -> Result<Found, NotReady> {
    if !plugin.probe().await? {
        return Err(NotReady::Says);
    }
    let identity = plugin.plugin_info().await?;
    let capabilities = plugin.plugin_capabilities().await?;
    let controller = if services.controller { Some(plugin.controller_capabilities().await?) } else { None };
    let node = if services.node { Some((plugin.node_info().await?, plugin.node_capabilities().await?)) } else { None };
    Ok(Found { identity, capabilities, controller, node })
}
