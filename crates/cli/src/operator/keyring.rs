//! `operator root keyring`: the keys that encrypt variables and sign identities (`docs/spec/cli.md §14`).

use crate::prelude::*;
use crate::render::table::{self, Columns};
use crate::render::values;
use encamp_model::duration::parse_duration;
use encamp_model::{RootKey, quoted};

/// The table of keys.
fn listed(keys: &[RootKey], verbose: bool, zone: &jiff::tz::TimeZone) -> String {
    let columns: &Columns<'_, RootKey> = &[
        ("Key", &|key| values::id(&key.key_id, verbose).into()),
        ("State", &|key| key.state.to_string()),
        ("Create Time", &|key| values::time(key.create_time, zone)),
        ("Publish Time", &|key| values::time(key.publish_time, zone)),
    ];
    table::columns(keys, columns)
}

/// List root keys
///
/// Lists the keys that encrypt variables and sign workload identities. The key material is not shown.
#[derive(Debug, clap::Parser)]
pub struct RootKeyringList {
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for RootKeyringList {
    const META: Meta = Meta::new("operator root keyring list").examples(&[
        ("List the root keys", "encamp operator root keyring list"),
        ("List them with their full IDs", "encamp operator root keyring list -verbose"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.connected(&self.general, |c, context| {
            let (keys, _) = c.wait(c.client.root_keys()).context("error")?;
            context.ui.output(&listed(&keys, self.verbose, &c.zone));
            Ok(0)
        })
    }
}

/// The error if neither -now nor -prepublish is given.
const HOW: &str = "\nOne of \"-now\" or \"-prepublish\" must be used.\n\nIf a key has been leaked use \"-now\" to force \
                   immediate rotation.\n\nOtherwise please use \"-prepublish <duration>\" to ensure the new key is not \
                   used\nto sign workload identities before JWKS endpoints are updated.\n";

/// Rotate the root key
///
/// Creates a new root key. The key becomes active immediately (-now), or after third parties that verify signatures
/// have had time to read it (-prepublish).
#[derive(Debug, clap::Parser)]
pub struct RootKeyringRotate {
    /// Re-encrypt all variables with the new key
    #[arg(long)]
    pub full: bool,
    /// Activate the new key immediately
    #[arg(long)]
    pub now: bool,
    /// Publish the new key now and activate it after this time
    #[arg(long, value_name = "duration", value_parser = parse_duration)]
    pub prepublish: Option<i64>,
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for RootKeyringRotate {
    const META: Meta = Meta::new("operator root keyring rotate").examples(&[
        ("Create a new root key and use it immediately", "encamp operator root keyring rotate -now"),
        ("Create a key that becomes active in an hour", "encamp operator root keyring rotate -prepublish 1h"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prepublish = self.prepublish.filter(|d| *d > 0);
        if self.now == prepublish.is_some() {
            return context.failure(HOW);
        }
        let publish_time = prepublish.map_or(0, |d| context.env.now.saturating_add(d));
        context.connected(&self.general, |c, context| {
            let done = c.wait(c.client.rotate_root_key(self.full, publish_time));
            let (key, _) = done.context("error")?;
            context.ui.output(&listed(&[key], self.verbose, &c.zone));
            Ok(0)
        })
    }
}

/// Remove a root key
///
/// The argument is the key ID or a prefix of it. A key that is in use cannot be removed unless -force is given.
#[derive(Debug, clap::Parser)]
pub struct RootKeyringRemove {
    /// Remove the key even if variables are encrypted with it; these variables are lost
    #[arg(long)]
    pub force: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "key")]
    pub(crate) prefix: String,
}

impl Run for RootKeyringRemove {
    const META: Meta = Meta::new("operator root keyring remove")
        .argument_error("This command requires one argument: <key ID>")
        .examples(&[
            ("Remove an inactive root key", "encamp operator root keyring remove b0d8f3a6"),
            (
                "Remove a key even if variables are encrypted with it",
                "encamp operator root keyring remove -force b0d8f3a6",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let prefix = &self.prefix;
        context.connected(&self.general, |c, context| {
            let (keys, _) = c.wait(c.client.root_keys()).context("error")?;
            let found: Vec<RootKey> = keys.into_iter().filter(|key| key.key_id.starts_with(prefix.as_str())).collect();
            let id = match found.as_slice() {
                [] => {
                    let line = format!("No encryption key(s) with prefix or ID {} found", quoted(prefix));
                    return Err(CommandError::new(line));
                }
                [only] => only.key_id.clone(),
                several => {
                    let table = listed(several, true, &c.zone);
                    return Err(CommandError::new(format!("Prefix matched multiple encryption keys\n\n{table}")));
                }
            };
            c.wait(c.client.remove_root_key(&id, self.force)).context("error")?;
            context.ui.output(&format!("Removed encryption key {id}"));
            Ok(0)
        })
    }
}
