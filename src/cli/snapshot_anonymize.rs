//! `snapshot anonymize`: a snapshot that can be shown around.

use super::cluster::SnapshotFlags;
use super::command::Run;
use super::context::Context;
use super::flags::parse_int;
use super::general::ColourFlags;
use super::render::values::bytes;
use encamp_model::{Constraint, Node, quoted};
use encamp_scheduler::candidates::datacenter_matches;
use encamp_scheduler::constraint::Check;
use encamp_snapshot::anonymize::conditions::Judge;
use encamp_snapshot::anonymize::names::{KEEPABLE, Kind};
use encamp_snapshot::anonymize::{Options, anonymize};
use encamp_snapshot::{save, unload};

/// Write a cluster snapshot without names and secrets
///
/// Replaces everything in a snapshot file that could tell whose cluster it is: names and IDs, metadata, values of
/// attributes that differ from machine to machine, addresses, and what jobs run. The same name gives the same
/// replacement everywhere, also in constraints, affinities and spreads, and replacements sort as the names did.
/// Environments, templates, configurations and the like are hidden; that they changed from one version of a job to the
/// next can still be seen. Payloads, tokens, events and descriptions are dropped.
///
/// The plan of every job stays the same, up to names. What stays as it is: numbers, times, words of the API, what
/// hardware is called, and attributes such as the kernel's name or the versions of drivers.
///
/// With -keep-names some kinds of names stay: classes, datacenters, groups, jobs, meta (keys of metadata), namespaces,
/// nodes, plugins, pools, ports, regions, services, tasks, values (of attributes and metadata), volumes, or all of
/// these.
///
/// Only the owner may read the file that is written; look through it before you give it away.
///
/// The exit code is 0, or 1 after an error.
#[derive(Debug, clap::Parser)]
pub struct SnapshotAnonymize {
    /// File to write. A name that ends in .gz or .zst is compressed. Required
    #[arg(long, value_name = "file")]
    pub out: Option<String>,
    /// What the numbers of replacements depend on
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Kinds of names that stay, separated by commas
    #[arg(long, value_name = "kinds")]
    pub keep_names: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "file")]
    pub(crate) args: Vec<String>,
}

impl Run for SnapshotAnonymize {
    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let [file] = self.args.as_slice() else {
            return context.usage_error("This command takes one argument: <file>");
        };
        let Some(out) = self.out.as_deref().filter(|o| !o.is_empty()) else {
            return context.usage_error("This command needs -out <file>");
        };
        // Any number will do.
        let options = match kinds(&self.keep_names) {
            Ok(keep) => Options { seed: self.seed as u64, keep },
            Err(e) => return context.usage_error(&e),
        };
        let path = context.env.directory.join(out);
        let written = self.reading.load(file, context.env).and_then(|snapshot| {
            let file = unload::to_file(&snapshot);
            drop(snapshot);
            let anonymous = anonymize(&file, &options, &judge())?;
            save::save_private(&path, &anonymous).map_err(|e| format!("Error writing {}: {e}", quoted(out)))
        });
        match written {
            Ok(size) => {
                context.ui.output(&format!("Wrote {out}: {}", bytes(size)));
                0
            }
            Err(e) => context.failure(&e),
        }
    }
}

/// The scheduler's view of constraints and datacenters.
pub fn judge() -> Judge<'static> {
    Judge {
        constraint: &|constraint: &Constraint| {
            let check = Check::from(constraint);
            Box::new(move |node: &Node| check.matches(node))
        },
        datacenter: &|pattern, datacenter| datacenter_matches(&[pattern.to_string()], datacenter),
    }
}

fn kinds(words: &[String]) -> Result<Vec<Kind>, String> {
    let mut keep = Vec::new();
    for word in words.iter().flat_map(|w| w.split(',')).map(str::trim).filter(|w| !w.is_empty()) {
        match KEEPABLE.iter().find(|(name, _)| *name == word) {
            Some((_, kind)) => keep.push(*kind),
            None if word == "all" => keep.extend(KEEPABLE.iter().map(|(_, kind)| *kind)),
            None => {
                let known: Vec<&str> = KEEPABLE.iter().map(|(name, _)| *name).collect();
                let list = known.join(", ");
                return Err(format!("-keep-names does not know {}; it knows {list} and all", quoted(word)));
            }
        }
    }
    Ok(keep)
}
