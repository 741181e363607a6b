//! `volume delete`, `volume deregister`, `volume detach` (`docs/spec/cli.md §12.3`).

use super::secrets::SecretFlags;
use super::status::{Kind, find};
use super::within;
use crate::prelude::*;
use crate::prompt;
use encamp_api::{Query, path};
use encamp_model::quoted;
use encamp_model::responses::NodeListStub;
use serde_json::Value;

/// Delete a volume
///
/// Deletes a volume with its content, on its node or at its storage provider. A host volume that was registered is
/// forgotten, its content stays. The argument is the volume ID or a prefix of it.
#[derive(Debug, clap::Parser)]
pub struct VolumeDelete {
    /// Type of the volume: csi or host
    #[arg(long = "type", value_name = "type", default_value = "csi", add = CompleteWith::Words(&["csi", "host"]))]
    pub kind: String,
    /// Delete a host volume from the cluster even if its node cannot delete it
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub(crate) secrets: SecretFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "volume", add = CompleteWith::Live(Objects::Volumes))]
    pub(crate) given: String,
}

impl Run for VolumeDelete {
    const META: Meta = Meta::new("volume delete").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Delete a host volume with its content", "encamp volume delete -type host 3b1f6e2a"),
        ("Delete a host volume whose node will not come back", "encamp volume delete -type host -force 3b1f6e2a"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let Some(kind) = Kind::parse(&self.kind) else {
            return context.failure(&format!("Error unknown volume type: {}", self.kind));
        };
        context.connected(&self.general, |c, context| {
            let id = match kind {
                Kind::Csi => {
                    let volume = find(c, kind, &self.given)?;
                    let delete = path("/v1/volume/csi/", &volume.id, "/delete");
                    let query = Query::in_namespace(&volume.namespace);
                    self.secrets.send(c, "DELETE", delete, query, "Error deleting volume")?;
                    volume.id.clone()
                }
                Kind::Host => {
                    // A volume that only its node knows is in no list.
                    let (id, namespace) = match find(c, kind, &self.given) {
                        Ok(volume) => (volume.id.clone(), volume.namespace.clone()),
                        Err(_) if self.force => (self.given.clone(), String::new()),
                        Err(e) => return Err(e),
                    };
                    let mut query = within(&namespace);
                    if self.force {
                        query = query.with("force", "true");
                    }
                    let done = c.wait(c.client.delete::<Value>(&path("/v1/volume/host/", &id, ""), &query));
                    done.context("Error deleting volume")?;
                    id
                }
            };
            context.ui.output(&format!("Successfully deleted volume {}!", quoted(&id)));
            Ok(0)
        })
    }
}

/// Deregister a CSI volume
///
/// Removes a CSI volume from the cluster. The volume stays at its storage provider. The argument is the volume ID or a
/// prefix of it.
#[derive(Debug, clap::Parser)]
pub struct VolumeDeregister {
    /// Deregister a volume that allocations still claim; asks for confirmation
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "volume", add = CompleteWith::Live(Objects::CsiVolumes))]
    pub(crate) given: String,
}

impl Run for VolumeDeregister {
    const META: Meta = Meta::new("volume deregister").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Remove a CSI volume from the cluster", "encamp volume deregister database"),
        ("Remove a CSI volume that allocations still claim", "echo y | encamp volume deregister -force database"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let volume = find(c, Kind::Csi, &self.given)?;
            let id = volume.id.as_str();
            let mut query = Query::in_namespace(&volume.namespace);
            if self.force {
                let question = format!("Are you sure you want to force deregister volume {}? [y/N]", quoted(id));
                if let Err(code) = prompt::confirm(context.ui, &question, "Cancelling volume deregister") {
                    return Ok(code);
                }
                query = query.with("force", "true");
            }
            let done = c.wait(c.client.delete::<Value>(&path("/v1/volume/csi/", id, ""), &query));
            done.context("Error deregistering volume")?;
            context.ui.output(&format!("Successfully deregistered volume {}!", quoted(id)));
            Ok(0)
        })
    }
}

/// Detach a CSI volume from a node
///
/// Detaches a CSI volume that no allocation of the node uses any more. The arguments are the volume ID and the node ID,
/// or prefixes of them; the ID of a node that was collected has to be complete.
#[derive(Debug, clap::Parser)]
pub struct VolumeDetach {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<volume> <node>", add = CompleteWith::Live(Objects::CsiVolumes))]
    pub(crate) args: Vec<String>,
}

impl Run for VolumeDetach {
    const META: Meta = Meta::new("volume detach").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Detach a CSI volume from a node", "encamp volume detach database f7476465"),
        (
            "Detach a CSI volume of another namespace from a node",
            "encamp volume detach -namespace prod database f7476465",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [given, node] = self.args.as_slice() else {
            return context.usage_error("This command takes two arguments: <volume> <node>");
        };
        context.connected(&self.general, |c, _| {
            let volume = find(c, Kind::Csi, given)?;
            let nodes = c.wait(c.client.rows::<NodeListStub>("/v1/nodes", &Query::default().with("prefix", node)));
            let (nodes, _) = nodes.context("Error detaching volume")?;
            let node_id = match nodes.as_slice() {
                [one] => one.id.as_str(),
                [] => node.as_str(),
                _ => return Err(CommandError::new(format!("Prefix {} matched multiple nodes", quoted(node)))),
            };
            let query = Query::in_namespace(&volume.namespace).with("node", node_id);
            let detach = path("/v1/volume/csi/", &volume.id, "/detach");
            c.wait(c.client.delete::<Value>(&detach, &query)).context("Error detaching volume")?;
            Ok(0)
        })
    }
}
