//! `options`: the general options, which the help of other commands does not describe again (`docs/spec/cli.md §2.4`).

use clap::CommandFactory;

use super::command::Run;
use super::command_documentation::{OptionText, options};
use super::command_meta::Meta;
use super::context::Context;
use super::environment_variables;
use super::general::{GENERAL_OPTIONS, GeneralFlags};
use super::help;

/// List the general options, which most commands accept
///
/// The general options select the cluster, the credentials and the colours. They follow the name of the command, as its
/// other options do, and take precedence over the environment variables.
#[derive(Debug, clap::Parser)]
pub struct Options {}

/// A command that has the general options and nothing else.
#[derive(clap::Parser)]
struct General {
    #[command(flatten)]
    _flags: GeneralFlags,
}

/// The general options, by name.
pub fn general_options() -> Vec<OptionText> {
    options(&General::command(), Some(GENERAL_OPTIONS))
}

impl Run for Options {
    const META: Meta = Meta::new("options")
        .offline_examples(&[("List the general options and their environment variables", "encamp options")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let options = help::options(GENERAL_OPTIONS, &general_options());
        let variables = help::definitions("Environment", environment_variables::GENERAL);
        context.ui.output(&format!("{options}\n\n{variables}"));
        0
    }
}
