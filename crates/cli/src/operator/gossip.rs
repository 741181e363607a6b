//! `operator gossip keyring`: the keys that encrypt gossip (`docs/spec/cli.md §14`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::prelude::*;
use crate::render::table::{Form, table};
use crate::spec_file;
use encamp_api::types::GossipKeys;
use encamp_host::ids;
use encamp_model::{GossipKey, KeyChange};

/// Generate a key that encrypts gossip
///
/// Prints 32 random bytes in base64, as the setting server.encrypt takes them. Contacts no server.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringGenerate {}

impl Run for GossipKeyringGenerate {
    const META: Meta = Meta::new("operator gossip keyring generate")
        .offline_examples(&[("Print a key for server.encrypt", "encamp operator gossip keyring generate")]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let mut key = [0; 32];
        if let Err(e) = ids::secret(&mut key) {
            return context.failure(&format!("Error generating a key: the system has no random numbers: {e}"));
        }
        context.ui.output(&STANDARD.encode(key));
        0
    }
}

/// The key in an argument; `-` reads it from standard input, where other users of the host do not see it.
fn key(argument: &str, context: &Context<'_, '_>) -> CommandResult<GossipKey> {
    let read;
    let text = if argument == "-" {
        let bytes = spec_file::read(argument, context.env)?;
        read = String::from_utf8(bytes).map_err(|_| CommandError::new("error: the key is not text"))?;
        read.trim()
    } else {
        argument
    };
    GossipKey::parse(text).map_err(|e| {
        CommandError::new(format!("error: Invalid encryption key: {e}"))
            .with_hint("\"encamp operator gossip keyring generate\" prints a key.")
    })
}

/// Prints what an operator has to know about servers that were not asked.
fn print_messages(keys: &GossipKeys, context: &mut Context<'_, '_>) {
    for (server, message) in &keys.messages {
        context.ui.warn(&format!("Warning: {server}: {message}"));
    }
}

/// Changes the keys of all servers.
fn change(
    argument: &str,
    announcement: &str,
    change: fn(GossipKey) -> KeyChange,
    general: &GeneralFlags,
    context: &mut Context<'_, '_>,
) -> u8 {
    let change = match key(argument, context) {
        Ok(key) => change(key),
        Err(e) => return context.report(&e),
    };
    context.connected(general, |c, context| {
        context.ui.output(announcement);
        let (keys, _) = c.wait(c.client.change_gossip_keys(&change)).context("error")?;
        print_messages(&keys, context);
        Ok(0)
    })
}

/// Install a gossip key on all servers
///
/// The servers then decrypt gossip with it, and still encrypt with the primary key. If a server cannot install the key,
/// the command can be repeated. The key is base64 of 16, 24 or 32 bytes; if it is -, it is read from standard input.
/// If ACLs are enabled, this command requires a token with the policy agent:write.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringInstall {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "key")]
    pub(crate) key: String,
}

impl Run for GossipKeyringInstall {
    const META: Meta = Meta::new("operator gossip keyring install")
        .argument_error("This command requires one argument: <key>")
        .examples(&[
            (
                "Install a key that gossip shall be encrypted with",
                "encamp operator gossip keyring install \\\n    c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M=",
            ),
            ("Install the key in a file", "encamp operator gossip keyring install - <gossip-key.txt"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let announcement = "Installing new gossip encryption key...";
        change(&self.key, announcement, KeyChange::Install, &self.general, context)
    }
}

/// Encrypt gossip with an installed key
///
/// Makes the key the primary key of all servers, if it is installed on all of them. If the key is -, it is read from
/// standard input. If ACLs are enabled, this command requires a token with the policy agent:write.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringUse {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "key")]
    pub(crate) key: String,
}

impl Run for GossipKeyringUse {
    const META: Meta = Meta::new("operator gossip keyring use")
        .argument_error("This command requires one argument: <key>")
        .examples(&[
            (
                "Encrypt gossip with an installed key",
                "encamp operator gossip keyring use \\\n    c2VydmVycyB0ZWxsIGVhY2ggb3RoZXIgdGhlIG5ld3M=",
            ),
            ("Encrypt gossip with the installed key in a file", "encamp operator gossip keyring use - <gossip-key.txt"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let announcement = "Changing primary gossip encryption key...";
        change(&self.key, announcement, KeyChange::Use, &self.general, context)
    }
}

/// Remove a gossip key from all servers
///
/// The primary key cannot be removed. If the key is -, it is read from standard input. If ACLs are enabled, this
/// command requires a token with the policy agent:write.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringRemove {
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "key")]
    pub(crate) key: String,
}

impl Run for GossipKeyringRemove {
    const META: Meta = Meta::new("operator gossip keyring remove")
        .argument_error("This command requires one argument: <key>")
        .examples(&[
            (
                "Remove a key that gossip is not encrypted with any more",
                "encamp operator gossip keyring remove \\\n    YSBrZXkgdGhhdCB3YXMgdXNlZCB1bnRpbCBub3cuLi4=",
            ),
            ("Remove the key in a file", "encamp operator gossip keyring remove - <old-gossip-key.txt"),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let announcement = "Removing gossip encryption key...";
        change(&self.key, announcement, KeyChange::Remove, &self.general, context)
    }
}

/// List the gossip keys
///
/// Prints the keys that are installed on the servers, the primary key first. If ACLs are enabled, this command requires
/// a token with the policy agent:write.
#[derive(Debug, clap::Parser)]
pub struct GossipKeyringList {
    /// Show how many servers have each key, and how many encrypt with it
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for GossipKeyringList {
    const META: Meta = Meta::new("operator gossip keyring list").examples(&[
        ("List the installed keys", "encamp operator gossip keyring list"),
        ("Show how many servers have each key", "encamp operator gossip keyring list -verbose"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            context.ui.output("Gathering installed encryption keys...");
            let (keys, _) = c.wait(c.client.gossip_keys()).context("error")?;
            context.ui.output(&listed(&keys, self.verbose));
            print_messages(&keys, context);
            Ok(0)
        })
    }
}

/// The table of keys: those that most servers encrypt with, and that most servers have, come first.
fn listed(keys: &GossipKeys, verbose: bool) -> String {
    let primary = |key: &str| keys.primary_keys.get(key).copied().unwrap_or_default();
    let mut rows: Vec<(&String, u64)> = keys.keys.iter().map(|(key, count)| (key, *count)).collect();
    rows.sort_by_key(|(key, count)| std::cmp::Reverse((primary(key), *count)));
    let mut lines = vec![if verbose { "Key|Installed|Primary" } else { "Key" }.to_string()];
    lines.extend(rows.into_iter().map(|(key, count)| match verbose {
        true => format!("{key}|{count}/{nodes}|{}/{nodes}", primary(key), nodes = keys.num_nodes),
        false => key.clone(),
    }));
    table(&lines, Form::List)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primary_keys_come_first() {
        let of = |pairs: &[(&str, u64)]| pairs.iter().map(|(k, n)| (k.to_string(), *n)).collect();
        let keys = GossipKeys {
            keys: of(&[("a", 3), ("b", 2), ("c", 3)]),
            primary_keys: of(&[("c", 3)]),
            num_nodes: 3,
            ..GossipKeys::default()
        };
        assert_eq!(listed(&keys, false), "Key\nc\na\nb");
        assert_eq!(
            listed(&keys, true),
            "Key  Installed  Primary\nc    3/3        3/3\na    3/3        0/3\nb    2/3        0/3"
        );
        // Nomad does not report the primary key.
        let keys = GossipKeys { keys: of(&[("a", 1), ("b", 2)]), num_nodes: 2, ..GossipKeys::default() };
        assert_eq!(listed(&keys, false), "Key\nb\na");
    }
}
