//! `version`: the program's name and version (`docs/spec/cli.md §15.6`).

use super::command::Run;
use super::command_meta::Meta;
use super::context::Context;

/// Print the version
#[derive(Debug, clap::Parser)]
pub struct Version {}

/// The line that `version` and `-version` print.
pub fn text() -> String {
    format!("encamp v{}", env!("CARGO_PKG_VERSION"))
}

impl Run for Version {
    const META: Meta = Meta::new("version").offline_examples(&[("Print the version", "encamp version")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.ui.output(&text());
        0
    }
}
