//! `volume init` (`docs/spec/cli.md §12.3`).

use super::status::Kind;
use crate::examples;
use crate::prelude::*;

/// Create an example volume specification
///
/// The default file name is volume.hcl or volume.json. An existing file is not overwritten.
#[derive(Debug, clap::Parser)]
pub struct VolumeInit {
    /// Write the example as JSON
    #[arg(long)]
    pub json: bool,
    /// Type of the volume: csi or host
    #[arg(long = "type", value_name = "type", default_value = "csi", add = CompleteWith::Words(&["csi", "host"]))]
    pub kind: String,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "filename", add = CompleteWith::DIRECTORIES)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for VolumeInit {
    const META: Meta = Meta::new("volume init").flag_error_note(FlagErrorNote::Arguments).offline_examples(&[
        ("Create an example specification of a host volume", "encamp volume init -type host"),
        ("Create an example of a CSI volume as JSON", "encamp volume init -json db.volume.json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let (hcl, json) = match Kind::parse(&self.kind) {
            Some(Kind::Csi) => {
                (include_str!("../examples/volume.csi.hcl"), include_str!("../examples/volume.csi.json"))
            }
            Some(Kind::Host) => {
                (include_str!("../examples/volume.host.hcl"), include_str!("../examples/volume.host.json"))
            }
            None => return context.failure(&format!("Error unknown volume type: {}", self.kind)),
        };
        let files = examples::Files { hcl: ("volume.hcl", hcl), json: ("volume.json", json), what: "volume" };
        let format = if self.json { "json" } else { "hcl" };
        examples::write(context, &files, format, false, &self.optional_args)
    }
}
