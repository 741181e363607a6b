//! `config validate`: validates an agent's configuration (`docs/spec/cli.md §15.4`).

use super::command::Run;
use super::command_meta::Meta;
use super::completion::values::CompleteWith;
use super::context::Context;
use super::general::LocalFlags;
use encamp_agent::config::{self, Finding, Sources};

/// Validate configuration files of an agent
///
/// Merges the files and directories in the given order over the defaults, as the agent does, and validates the result.
#[derive(Debug, clap::Parser)]
pub struct ConfigValidate {
    /// HCL or JSON files and directories
    #[arg(value_name = "<path>...", add = CompleteWith::Every(&CompleteWith::HCL_OR_JSON))]
    paths: Vec<String>,
    #[command(flatten)]
    pub(crate) general: LocalFlags,
}

impl Run for ConfigValidate {
    const META: Meta = Meta::new("config validate").offline_examples(&[
        ("Validate the configuration file of an agent", "encamp config validate server.hcl"),
        ("Validate several files, which the agent would merge", "encamp config validate server.hcl autoscaling.hcl"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.paths.is_empty() {
            return context.failure("Must specify at least one config file or directory");
        }
        let loaded = match config::load(&Sources { paths: self.paths, ..Sources::default() }) {
            Ok(loaded) => loaded,
            Err(e) => {
                context.ui.error(&e.to_string());
                return context.failure("Configuration is invalid");
            }
        };
        loaded.warnings.iter().for_each(|w| context.ui.warn(w));
        for finding in config::validate(&loaded.config) {
            match finding {
                Finding::Warning(text) => context.ui.warn(&text),
                Finding::Error(e) => {
                    context.ui.error(&e.to_string());
                    return context.failure("Configuration is invalid");
                }
            }
        }
        context.ui.output("Configuration is valid!");
        0
    }
}
