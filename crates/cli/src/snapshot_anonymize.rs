//! `snapshot anonymize`: writes a snapshot without names and secrets.

use super::cluster::SnapshotFlags;
use super::flags::{InvalidFlag, parse_int};
use super::prelude::*;
use super::render::values::bytes;
use encamp_model::{Constraint, Node, quoted};
use encamp_scheduler::candidates::datacenter_matches;
use encamp_scheduler::constraint::Check;
use encamp_snapshot::anonymize::conditions::Judge;
use encamp_snapshot::anonymize::names::{KEEPABLE, Kind};
use encamp_snapshot::anonymize::{Options, anonymize};
use encamp_snapshot::{save, unload};

/// The values of -keep-names.
fn names_to_keep() -> Vec<&'static str> {
    KEEPABLE.iter().map(|(word, _)| *word).chain(["all"]).collect()
}

/// Anonymize a cluster snapshot
///
/// Replaces everything in a snapshot file that could identify the cluster: names and IDs, metadata, attribute values
/// that differ between machines, addresses, and the workloads of jobs. The same name always gets the same replacement,
/// also in constraints, affinities and spreads, and replacements sort in the same order as the names. Environments,
/// templates, configurations and the like are redacted; changes between versions of a job remain visible. Payloads,
/// tokens, events and descriptions are dropped.
///
/// The plan of every job stays the same, except for names. Numbers, times, API keywords, hardware names, and attributes
/// such as the kernel name or driver versions are kept.
///
/// With -keep-names, the given kinds of names are kept: classes, datacenters, groups, jobs, meta (keys of metadata),
/// namespaces, nodes, plugins, pools, ports, regions, services, tasks, values (of attributes and metadata), volumes, or
/// all of these.
///
/// The written file is only readable by its owner. Review it before you share it.
#[derive(Debug, clap::Parser)]
pub struct SnapshotAnonymize {
    /// File to write. A name that ends in .gz or .zst is compressed. Required
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub out: Option<String>,
    /// Seed of the numbers in replacements
    #[arg(long, value_name = "number", default_value = "1", value_parser = parse_int)]
    pub seed: i64,
    /// Kinds of names to keep, separated by commas
    #[arg(long, value_name = "kinds", add = CompleteWith::SeveralTexts(names_to_keep))]
    pub keep_names: Vec<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) colours: ColourFlags,
    #[arg(value_name = "file", add = CompleteWith::ANY_FILE)]
    pub(crate) file: String,
}

impl Run for SnapshotAnonymize {
    const META: Meta = Meta::new("snapshot anonymize").flags_anywhere().offline_examples(&[
        (
            "Anonymize a snapshot",
            "encamp snapshot anonymize fixtures/demo/cluster.json \\
    -out anonymous.json",
        ),
        (
            "Anonymize a snapshot, but keep the names of jobs and groups",
            "encamp snapshot anonymize fixtures/demo/cluster.json \\
    -keep-names jobs,groups -out shared.json.zst",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let file = &self.file;
        let Some(out) = self.out.as_deref().filter(|o| !o.is_empty()) else {
            return context.usage_error("This command needs -out <file>");
        };
        // Any number is valid.
        let options = match kinds(&self.keep_names) {
            Ok(keep) => Options { seed: self.seed as u64, keep },
            Err(e) => return context.usage_error(&e.to_string()),
        };
        let path = context.env.directory.join(out);
        let written = self.reading.load(file, context.env).and_then(|snapshot| {
            let file = unload::to_file(&snapshot);
            drop(snapshot);
            let anonymous = anonymize(&file, &options, &judge()).map_err(CommandError::new)?;
            save::save_private(&path, &anonymous).context(format_args!("Error writing {}", quoted(out)))
        });
        context.print(written.map(|size| format!("Wrote {out}: {}", bytes(size))))
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

fn kinds(words: &[String]) -> Result<Vec<Kind>, InvalidFlag> {
    let mut keep = Vec::new();
    for word in words.iter().flat_map(|w| w.split(',')).map(str::trim).filter(|w| !w.is_empty()) {
        match KEEPABLE.iter().find(|(name, _)| *name == word) {
            Some((_, kind)) => keep.push(*kind),
            None if word == "all" => keep.extend(KEEPABLE.iter().map(|(_, kind)| *kind)),
            None => {
                let known: Vec<&str> = KEEPABLE.iter().map(|(name, _)| *name).collect();
                let list = known.join(", ");
                let word = quoted(word);
                let line = format_args!("-keep-names does not support {word}; supported are {list} and all");
                return Err(InvalidFlag::new(line));
            }
        }
    }
    Ok(keep)
}
