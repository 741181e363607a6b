//! `volume create`, `volume register` (`docs/spec/cli.md §12.3`).

use serde::Deserialize;
use serde_json::{Value, json};

use super::spec::{self, Request, Volume};
use super::within;
use crate::monitor::volume as monitor;
use crate::prelude::*;
use encamp_api::ApiError;
use encamp_model::json::null_is_default;
use encamp_model::{CsiVolume, HostVolume, HostVolumeState, quoted};

/// Create a volume
///
/// Creates a volume from a specification file, and waits until a dynamic host volume is ready. The argument is the path
/// of the file, in HCL or JSON, or - for standard input. A specification with the ID of an existing volume changes it.
#[derive(Debug, clap::Parser)]
pub struct VolumeCreate {
    /// Exit immediately instead of waiting until the host volume is ready
    #[arg(long)]
    pub detach: bool,
    /// ID of an existing volume to change, instead of the one in the specification
    #[arg(long, value_name = "id")]
    pub id: Option<String>,
    /// Show full identifiers while the volume is monitored
    #[arg(long)]
    pub verbose: bool,
    /// Override soft mandatory policies; community clusters have none
    #[arg(long)]
    pub policy_override: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "input", add = CompleteWith::HCL_OR_JSON)]
    pub(crate) args: Vec<String>,
}

/// The specification of a command, with its ID replaced.
fn given(args: &[String], id: Option<&str>, context: &mut Context<'_, '_>) -> Result<Volume, u8> {
    let [path] = args else {
        return Err(context.usage_error("This command takes one argument: <input>"));
    };
    let mut volume = spec::read(path, context.env).map_err(|e| context.report(&e))?;
    if let Some(id) = id {
        let (Volume::Host(request) | Volume::Csi(request)) = &mut volume;
        request.id = id.to_string();
    }
    Ok(volume)
}

/// The answer to a host volume.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct StoredHost {
    volume: HostVolume,
}

/// The answer to CSI volumes that are created.
#[null_is_default]
#[derive(Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct CreatedCsi {
    volumes: Vec<CsiVolume>,
}

/// Sends a host volume; returns the stored one.
fn send_host(c: &Connection, path: &str, volume: &Request, policy_override: bool) -> Result<HostVolume, ApiError> {
    let body = json!({"Volume": volume, "PolicyOverride": policy_override});
    let (answer, _) = c.wait(c.client.put::<_, StoredHost>(path, &within(&volume.namespace), &body))?;
    Ok(answer.volume)
}

/// The path of a CSI volume. Its ID must not be empty.
fn csi_path(volume: &Request, after: &str) -> CommandResult<String> {
    match volume.id.as_str() {
        "" => Err(CommandError::new("Error: the specification of a CSI volume needs an id")),
        id => Ok(encamp_api::path("/v1/volume/csi/", id, after)),
    }
}

impl Run for VolumeCreate {
    const META: Meta = Meta::new("volume create").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Create a volume and wait until it is ready", "encamp volume create data.volume.hcl"),
        ("Create a volume without waiting for it", "encamp volume create -detach logs.volume.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let volume = match given(&self.args, self.id.as_deref(), context) {
            Ok(volume) => volume,
            Err(code) => return code,
        };
        context.connected(&self.general, |c, context| match &volume {
            Volume::Host(volume) => self.host(c, context, volume),
            Volume::Csi(volume) => {
                let body = json!({"Volumes": [volume]});
                let (path, query) = (csi_path(volume, "/create")?, within(&volume.namespace));
                let done = c.wait(c.client.put::<_, CreatedCsi>(&path, &query, &body));
                let (answer, _) = done.context("Error creating volume")?;
                for CsiVolume { external_id, id, .. } in answer.volumes {
                    context.ui.output(&format!("Created external volume {external_id} with ID {id}"));
                }
                Ok(0)
            }
        })
    }
}

impl VolumeCreate {
    fn host(&self, c: &Connection, context: &mut Context<'_, '_>, volume: &Request) -> CommandResult<u8> {
        let made = send_host(c, "/v1/volume/host/create", volume, self.policy_override);
        let made = made.context("Error creating volume")?;
        let line = format!("Created host volume {} with ID {}", made.name, made.id);
        if self.detach || made.state == HostVolumeState::Ready {
            context.ui.output(&line);
            return Ok(0);
        }
        context.ui.plain(&format!("==> {line}"));
        monitor::watch(c, context.ui, &made, self.verbose)
    }
}

/// Register an existing volume
///
/// Registers a volume that exists on a node or at a storage provider. The argument is the path of a specification file,
/// in HCL or JSON, or - for standard input. A specification with the ID of a registered volume changes it.
#[derive(Debug, clap::Parser)]
pub struct VolumeRegister {
    /// ID of a registered volume to change, instead of the one in the specification
    #[arg(long, value_name = "id")]
    pub id: Option<String>,
    /// Override soft mandatory policies; community clusters have none
    #[arg(long)]
    pub policy_override: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "input", add = CompleteWith::HCL_OR_JSON)]
    pub(crate) args: Vec<String>,
}

impl Run for VolumeRegister {
    const META: Meta = Meta::new("volume register").flag_error_note(FlagErrorNote::Arguments).examples(&[
        ("Register a directory of a node as a volume", "encamp volume register srv.volume.hcl"),
        ("Register a directory for the jobs of a namespace", "encamp volume register -namespace prod media.volume.hcl"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let volume = match given(&self.args, self.id.as_deref(), context) {
            Ok(volume) => volume,
            Err(code) => return code,
        };
        if let Volume::Host(volume) = &volume
            && volume.node_id.as_ref().is_none_or(String::is_empty)
        {
            return context.failure("Node ID is required for registering");
        }
        context.connected(&self.general, |c, context| {
            let line = match &volume {
                Volume::Host(volume) => {
                    let made = send_host(c, "/v1/volume/host/register", volume, self.policy_override);
                    let made = made.context("Error registering volume")?;
                    format!("Registered host volume {} with ID {}", made.name, made.id)
                }
                Volume::Csi(volume) => {
                    let body = json!({"Volumes": [volume]});
                    let (path, query) = (csi_path(volume, "")?, within(&volume.namespace));
                    let done = c.wait(c.client.put::<_, Value>(&path, &query, &body));
                    done.context("Error registering volume")?;
                    format!("Volume {} registered", quoted(&volume.id))
                }
            };
            context.ui.output(&line);
            Ok(0)
        })
    }
}
