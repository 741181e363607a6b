//! `operator gossip keyring`: the keys that encrypt gossip (`docs/spec/cli.md §14`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::cli::command::Run;
use crate::cli::context::Context;
use encamp_host::ids;

/// Generate a key that encrypts gossip
///
/// Prints 32 random bytes in base64, as the setting server.encrypt takes them. Contacts no server.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringGenerate {
    #[arg(hide = true)]
    pub(crate) optional_args: Vec<String>,
}

impl Run for GossipKeyringGenerate {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !self.optional_args.is_empty() {
            return context.usage_error("This command takes no arguments");
        }
        let mut key = [0; 32];
        if let Err(e) = ids::secret(&mut key) {
            return context.failure(&format!("Error generating a key: the system has no random numbers: {e}"));
        }
        context.ui.output(&STANDARD.encode(key));
        0
    }
}
