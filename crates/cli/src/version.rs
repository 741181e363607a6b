//! `version`: the program's name and version (`docs/spec/cli.md §15.6`).

use serde_json::json;

use super::prelude::*;

/// Print the version
#[derive(Debug, clap::Parser)]
pub struct Version {
    /// Print the version, the system and the processor as JSON
    #[arg(long)]
    pub json: bool,
}

/// The line that `version` and `-version` print.
pub fn text() -> String {
    format!("encamp v{}", env!("CARGO_PKG_VERSION"))
}

impl Run for Version {
    const META: Meta = Meta::new("version").offline_examples(&[
        ("Print the version", "encamp version"),
        ("Print the version as JSON", "encamp version -json"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.json {
            context.ui.output(&text());
            return 0;
        }
        let facts = json!({
            "Name": "encamp",
            "Version": env!("CARGO_PKG_VERSION"),
            "System": std::env::consts::OS,
            "Processor": std::env::consts::ARCH,
        });
        context.attempt(|context| {
            context.print_json(&facts)?;
            Ok(0)
        })
    }
}
