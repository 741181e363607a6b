//! `operator snapshot inspect` and `state`: the content of archives, of encamp's servers and of Nomad's
//! (`docs/spec/cli.md §14`, `docs/spec/snapshot-archive.md`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::job_file::cause;
use crate::prelude::*;
use crate::render::table::{Form, headed, pairs, table};
use crate::render::ui::Ui;
use crate::render::values::bytes;
use encamp_model::{SECOND, with_secrets};
use encamp_server::storage::persist;
use encamp_snapshot::archive::{self, ArchiveError, Meta as ArchiveMeta, Tables, type_name};

/// How much of a type an archive holds.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "PascalCase")]
struct Amount {
    count: u64,
    name: String,
    sum: u64,
}

/// The description of an archive, with its peers.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Described<'a> {
    #[serde(flatten)]
    meta: &'a ArchiveMeta,
    #[serde(skip_serializing_if = "str::is_empty")]
    peers: &'a str,
}

/// Opens an archive.
fn open(path: &Path, name: &str) -> CommandResult<File> {
    File::open(path).map_err(|e| CommandError::new(format!("Error opening snapshot file: open {name}: {}", cause(&e))))
}

/// The description of an archive, and how much of each type it holds, the largest first.
fn amounts(path: &Path, name: &str) -> CommandResult<(ArchiveMeta, Vec<Amount>)> {
    let (meta, mut list) = match archive::read(open(path, name)?, archive::Options { lenient: true }) {
        Ok(archive) => {
            let list = archive.sizes.iter().map(|(kind, size)| Amount {
                count: size.records,
                name: type_name(*kind).map_or_else(|| format!("Unknown({kind})"), ToString::to_string),
                sum: size.bytes,
            });
            (archive.meta.clone(), list.collect::<Vec<_>>())
        }
        Err(foreign) => {
            let mut found: BTreeMap<&'static str, Amount> = BTreeMap::new();
            let meta = own(path, name, &foreign, |record| {
                let amount = found.entry(record.kind).or_default();
                (amount.count, amount.sum) = (amount.count + 1, amount.sum + record.bytes);
                Ok(())
            })?;
            let list = found.into_iter().map(|(kind, amount)| Amount { name: kind.into(), ..amount });
            (meta, list.collect())
        }
    };
    list.sort_by(|a, b| b.sum.cmp(&a.sum).then_with(|| a.name.cmp(&b.name)));
    Ok((meta, list))
}

/// Visits the records of an archive of encamp's servers; `foreign` is why it is none of Nomad's.
fn own(
    path: &Path,
    name: &str,
    foreign: &ArchiveError,
    each: impl FnMut(&persist::Found<'_>) -> io::Result<()>,
) -> CommandResult<ArchiveMeta> {
    let unreadable = || CommandError::new(format!("Error reading snapshot file: {foreign}"));
    let content = archive::read_undecoded(open(path, name)?).map_err(|_| unreadable())?;
    persist::visit(&mut content.state.as_slice(), each).map_err(|_| unreadable())?;
    Ok(content.meta)
}

/// Inspect an archive of the servers' state
///
/// Shows when the archive was taken, the last log entry that it contains, and the number and size of its objects by
/// type. Reads archives of "operator snapshot save", of encamp's servers and of Nomad's; the checksums are verified.
#[derive(Debug, clap::Parser)]
pub struct ArchiveInspect {
    /// Print everything as JSON
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub(crate) general: LocalFlags,
    #[arg(value_name = "<file>")]
    pub(crate) name: String,
}

impl Run for ArchiveInspect {
    const META: Meta = Meta::new("operator snapshot inspect").flag_error_note(FlagErrorNote::Args).examples(&[
        ("Show what an archive contains", "encamp operator snapshot inspect backup.snap"),
        ("Print it as JSON", "encamp operator snapshot inspect -json backup.snap"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = &self.name;
        context.attempt(|context| {
            let (meta, list) = amounts(&context.env.directory.join(name), name)?;
            if self.json {
                let described = Described { meta: &meta, peers: &meta.peers };
                // Objects of serde_json values are sorted.
                context.print_json(&json!({ "Meta": described, "Stats": list }))?;
            } else {
                print(&meta, &list, context.ui);
            }
            Ok(0)
        })
    }
}

/// Prints the description of an archive, and how much of each type it holds.
fn print(meta: &ArchiveMeta, list: &[Amount], ui: &mut Ui<'_>) {
    let total = |of: fn(&Amount) -> u64| list.iter().map(of).sum::<u64>();
    let about = [
        ("Created", created(meta)),
        ("ID", meta.id.clone()),
        ("Size", bytes(u64::try_from(meta.size).unwrap_or(0))),
        ("Index", meta.index.to_string()),
        ("Term", meta.term.to_string()),
        ("Version", meta.version.to_string()),
    ];
    ui.output(&format!("{}\n", pairs(&about)));
    let mut lines = headed("Type|Count|Size", list.iter().map(|a| format!("{}|{}|{}", a.name, a.count, bytes(a.sum))));
    lines.push(" | | ".into());
    lines.push(format!("Total|{}|{}", total(|a| a.count), bytes(total(|a| a.sum))));
    ui.output(&table(&lines, Form::Spaced));
}

/// When an archive was taken, in whole seconds; empty if it does not say.
fn created(meta: &ArchiveMeta) -> String {
    let seconds = meta.taken_at().unix_nanos().map(|nanos| nanos.div_euclid(SECOND));
    let time = seconds.and_then(|s| jiff::Timestamp::from_second(s).ok());
    time.map(|t| t.to_string()).unwrap_or_default()
}

/// Print the state in an archive as JSON
///
/// Prints all objects of an archive of "operator snapshot save", of encamp's servers or of Nomad's, by table, on standard
/// output. The output holds secrets: ACL tokens, and keys of variables where no external key provider wraps them.
#[derive(Debug, clap::Parser)]
pub struct ArchiveState {
    #[command(flatten)]
    pub(crate) general: LocalFlags,
    #[arg(value_name = "<file>")]
    pub(crate) name: String,
}

impl Run for ArchiveState {
    const META: Meta = Meta::new("operator snapshot state").flag_error_note(FlagErrorNote::Args).examples(&[
        ("Print all objects of an archive", "encamp operator snapshot state backup.snap"),
        (
            "Count the namespaces, pools and jobs with a name",
            "encamp operator snapshot state backup.snap | grep -c '\"Name\":'",
        ),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        context.print(state(&context.env.directory.join(&self.name), &self.name))
    }
}

/// All objects of an archive as JSON.
fn state(path: &Path, name: &str) -> CommandResult<String> {
    with_secrets(|| {
        let state = match archive::read(open(path, name)?, archive::Options::default()) {
            Ok(archive) => tables(&archive.tables).context("Error printing the state")?,
            Err(foreign) => {
                let mut state = persist::Tables::new();
                own(path, name, &foreign, |record| Ok(record.add_to(&mut state)?))?;
                state.into_iter().map(|(table, rows)| (table.to_string(), rows.into())).collect()
            }
        };
        serde_json::to_string_pretty(&state).context("Error printing the state")
    })
}

/// The tables of an archive of Nomad's servers.
fn tables(t: &Tables) -> serde_json::Result<Map<String, Value>> {
    let mut state = Map::new();
    macro_rules! put {
        ($($name:literal: $table:expr,)*) => {
            $(state.insert($name.into(), serde_json::to_value(&$table)?);)*
        };
    }
    put! {
        "ACLPolicies": t.acl_policies,
        "ACLTokens": t.acl_tokens,
        "ACLRoles": t.acl_roles,
        "ACLAuthMethods": t.acl_auth_methods,
        "ACLBindingRules": t.acl_binding_rules,
        "Allocs": t.allocations,
        "AllocJobs": t.allocation_jobs,
        "CSIPlugins": t.csi_plugins,
        "CSIVolumes": t.csi_volumes,
        "ClusterMetadata": t.cluster_metadata,
        "Deployments": t.deployments,
        "Evals": t.evaluations,
        "HostVolumes": t.host_volumes,
        "Indexes": t.indexes,
        "JobSubmissions": t.job_submissions,
        "JobSummaries": t.job_summaries,
        "JobVersions": t.job_versions,
        "Jobs": t.jobs,
        "Namespaces": t.namespaces,
        "NodePools": t.node_pools,
        "Nodes": t.nodes,
        "PeriodicLaunches": t.periodic_launches,
        "RootKeyMeta": t.root_keys,
        "ScalingEvents": t.scaling_events,
        "ScalingPolicies": t.scaling_policies,
        "SchedulerConfig": t.scheduler_configuration,
        "ServiceRegistrations": t.service_registrations,
        "Variables": t.variables,
        "VariablesQuotas": t.variables_quotas,
    }
    Ok(state)
}
