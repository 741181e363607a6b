//! All commands, and which of them a command line names (`spec/cli.md §2.1`, `§2.2`).

use std::collections::BTreeMap;

use clap::{ArgMatches, Command, Parser};

use super::context::Context;
use super::{
    agent, capacity, completion, config_validate, deployment_list, deployment_status, deployment_update, eval_delete,
    eval_explain, eval_list, eval_status, fmt, job_action, job_dispatch, job_eval, job_history, job_init, job_inspect,
    job_lists, job_plan, job_restart, job_run, job_scale, job_start, job_status, job_stop, job_validate, job_versions,
    scaling_policy, sim_c1m, sim_churn, sim_cluster, sim_flap, sim_heartbeats, sim_load_shedding, snapshot_anonymize,
    snapshot_diff, snapshot_fetch, snapshot_inspect, version, what_if,
};

/// What a command's argument struct does.
pub trait Run: Parser {
    /// Runs the command and returns its exit code.
    fn run(self, context: &mut Context<'_, '_>) -> u8;
}

/// Where the general help lists a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// First, in this order.
    Common,
    /// Behind those, by name.
    Other,
    /// Nowhere: a short name of a command that is listed.
    Alias,
    /// Nowhere, and no help names it: a former name, or a command for programs.
    Hidden,
}

/// One command.
#[derive(Clone)]
pub struct Entry {
    /// The words that name it.
    pub path: &'static str,
    /// The words that its messages call it by; the same unless this is an alias.
    pub canonical: &'static str,
    /// Its arguments and help.
    pub clap: Command,
    /// Where the general help lists it.
    pub listing: Listing,
    /// The exit code after a wrong use.
    pub usage_exit: u8,
    /// Whether flags may stand behind other arguments.
    pub flags_anywhere: bool,
    /// Whether a warning says that the name will go away.
    pub deprecated: bool,
    /// Reads the arguments and runs it.
    pub run: fn(&ArgMatches, &mut Context<'_, '_>) -> Result<u8, clap::Error>,
}

/// What a command line asks for.
pub enum Found<'a> {
    /// The version.
    Version,
    /// The help of a command or group, or the general one.
    Help(Option<String>),
    /// No command of that name.
    Nothing,
    /// Flags in front of the command.
    EarlyFlags(String),
    /// A group of commands, which does nothing itself.
    Group(String),
    /// A command and its arguments.
    Command(&'a Entry, Vec<String>),
}

/// All commands and groups by name.
pub struct Registry {
    entries: BTreeMap<&'static str, Entry>,
}

/// The groups: name, one line about it, its help.
const GROUPS: &[(&str, &str)] = &[
    ("alloc", "Interact with allocations: status, logs, files, stop, restart"),
    ("config", "Check an agent's configuration"),
    ("deployment", "Interact with deployments"),
    ("eval", "Interact with evaluations"),
    ("job periodic", "Interact with periodic jobs"),
    ("job tag", "Name versions of jobs"),
    ("job", "Interact with jobs"),
    ("namespace", "Interact with namespaces"),
    ("node identity", "Interact with the identities of nodes"),
    ("node meta", "Interact with metadata of nodes"),
    ("node pool", "Interact with node pools"),
    ("node", "Interact with nodes: status, drains, eligibility, pools"),
    ("operator autopilot", "Say how failed servers are dealt with"),
    ("operator raft", "Interact with the servers that agree on the log"),
    ("operator root keyring", "Interact with the keys that encrypt variables and sign identities"),
    ("operator root", "Interact with the keys that encrypt variables and sign identities"),
    ("operator snapshot", "Save the state of the servers, and restore it"),
    ("operator scheduler", "Say how allocations are placed"),
    ("operator", "Operate the cluster: scheduling, servers, keys, requests as they are"),
    ("plugin", "Interact with storage plugins"),
    ("scaling policy", "Look into scaling policies"),
    ("scaling", "Interact with scaling policies"),
    ("server", "Interact with servers"),
    ("service", "Interact with services that are registered with the servers"),
    ("system reconcile", "Have the servers count again"),
    ("system", "Interact with the servers' housekeeping"),
    ("var", "Interact with variables"),
    ("volume", "Interact with volumes"),
    ("snapshot", "Read, look into and compare cluster snapshots"),
    ("sim", "Simulate clusters: make one up, or load servers with made-up nodes"),
];

/// Commands that take flags behind other arguments too. Those that others had first stop at the first argument.
const FLAGS_ANYWHERE: &[&str] = &["snapshot anonymize", "snapshot diff", "snapshot inspect"];

impl Registry {
    /// The registry of this program.
    pub fn new() -> Registry {
        let mut registry = Registry { entries: BTreeMap::new() };
        registry.add_jobs();
        registry.add_evaluations();
        registry.add::<job_init::JobInit>("job init", Some(("init", Listing::Alias)), 1);
        registry.add::<job_inspect::JobInspect>("job inspect", Some(("inspect", Listing::Alias)), 1);
        registry.add::<job_plan::JobPlan>("job plan", Some(("plan", Listing::Alias)), 255);
        registry.add::<job_run::JobRun>("job run", Some(("run", Listing::Common)), 1);
        registry.add::<job_validate::JobValidate>("job validate", Some(("validate", Listing::Alias)), 1);
        registry.add::<agent::AgentCommand>("agent", None, 1);
        registry.add::<capacity::CapacityCommand>("capacity", None, 255);
        registry.add::<completion::Completion>("completion", None, 1);
        registry.add::<config_validate::ConfigValidate>("config validate", None, 1);
        registry.add::<eval_explain::EvalExplain>("eval explain", None, 1);
        registry.add::<fmt::Fmt>("fmt", None, 1);
        registry.add::<sim_cluster::SimCluster>("sim cluster", None, 1);
        registry.add::<sim_c1m::SimC1m>("sim c1m", None, 1);
        registry.add::<sim_churn::SimChurn>("sim churn", None, 1);
        registry.add::<sim_flap::SimFlap>("sim flap", None, 1);
        registry.add::<sim_heartbeats::SimHeartbeats>("sim heartbeats", None, 1);
        registry.add::<sim_load_shedding::SimLoadShedding>("sim load-shedding", None, 1);
        registry.add::<snapshot_anonymize::SnapshotAnonymize>("snapshot anonymize", None, 1);
        registry.add::<snapshot_diff::SnapshotDiffCommand>("snapshot diff", None, 255);
        registry.add::<snapshot_fetch::SnapshotFetch>("snapshot fetch", None, 1);
        registry.add::<snapshot_inspect::SnapshotInspect>("snapshot inspect", None, 1);
        registry.add::<version::Version>("version", None, 1);
        registry.add::<what_if::WhatIfCommand>("what-if", None, 255);
        super::alloc::register(&mut registry);
        super::namespace::register(&mut registry);
        super::node::register(&mut registry);
        super::operator::register(&mut registry);
        super::server::register(&mut registry);
        super::service::register(&mut registry);
        super::system::register(&mut registry);
        super::var::register(&mut registry);
        super::volume::register(&mut registry);
        registry.add::<super::agent_info::AgentInfo>("agent-info", None, 1);
        registry.add::<super::web::Web>("ui", None, 1);
        registry.add::<super::check::Check>("check", None, 2);
        registry.add_hidden("check", "check", false);
        registry.add::<super::agent_monitor::Monitor>("monitor", None, 1);
        registry.add::<super::status::Status>("status", None, 1);
        registry
    }

    /// Commands about jobs of running clusters.
    fn add_jobs(&mut self) {
        self.add::<job_action::JobAction>("job action", Some(("action", Listing::Other)), 1);
        self.add::<job_lists::JobAllocs>("job allocs", None, 1);
        self.add::<job_lists::JobDeployments>("job deployments", None, 1);
        self.add::<job_dispatch::JobDispatch>("job dispatch", None, 1);
        self.add::<job_eval::JobEval>("job eval", None, 1);
        self.add::<job_history::JobHistory>("job history", None, 1);
        self.add::<job_eval::JobPeriodicForce>("job periodic force", None, 1);
        self.add::<job_eval::JobPromote>("job promote", None, 1);
        self.add::<job_restart::JobRestart>("job restart", None, 1);
        self.add::<job_versions::JobRevert>("job revert", None, 1);
        self.add::<job_scale::JobScale>("job scale", None, 1);
        self.add::<job_scale::JobScalingEvents>("job scaling-events", None, 1);
        self.add::<job_start::JobStart>("job start", Some(("start", Listing::Other)), 1);
        self.add::<job_status::JobStatus>("job status", None, 1);
        self.add::<job_stop::JobStop>("job stop", Some(("stop", Listing::Common)), 1);
        self.add::<job_versions::JobTagApply>("job tag apply", None, 1);
        self.add::<job_versions::JobTagUnset>("job tag unset", None, 1);
        self.add::<scaling_policy::ScalingPolicyInfo>("scaling policy info", None, 1);
        self.add::<scaling_policy::ScalingPolicyList>("scaling policy list", None, 1);
    }

    /// Commands about evaluations and deployments of running clusters.
    fn add_evaluations(&mut self) {
        self.add::<eval_delete::EvalDelete>("eval delete", None, 1);
        self.add::<eval_list::EvalList>("eval list", None, 1);
        self.add::<eval_status::EvalStatus>("eval status", Some(("eval-status", Listing::Alias)), 1);
        self.add::<deployment_list::DeploymentList>("deployment list", None, 1);
        self.add::<deployment_status::DeploymentStatus>("deployment status", None, 1);
        self.add::<deployment_update::DeploymentFail>("deployment fail", None, 1);
        self.add::<deployment_update::DeploymentPause>("deployment pause", None, 1);
        self.add::<deployment_update::DeploymentPromote>("deployment promote", None, 1);
        self.add::<deployment_update::DeploymentResume>("deployment resume", None, 1);
        self.add::<deployment_update::DeploymentUnblock>("deployment unblock", None, 1);
    }

    /// Adds a command, and another name for it.
    pub(super) fn add<T: Run>(&mut self, path: &'static str, alias: Option<(&'static str, Listing)>, usage_exit: u8) {
        let entry = Entry {
            path,
            canonical: path,
            clap: T::command(),
            listing: Listing::Other,
            usage_exit,
            flags_anywhere: FLAGS_ANYWHERE.contains(&path),
            deprecated: false,
            run: |matches, context| Ok(T::from_arg_matches(matches)?.run(context)),
        };
        if let Some((path, listing)) = alias {
            self.entries.insert(path, Entry { path, listing, ..entry.clone() });
        }
        self.entries.insert(path, entry);
    }

    /// Adds a former name of a command, which no help shows.
    pub(super) fn add_hidden(&mut self, path: &'static str, of: &str, deprecated: bool) {
        if let Some(entry) = self.entries.get(of).cloned() {
            self.entries.insert(path, Entry { path, listing: Listing::Hidden, deprecated, ..entry });
        }
    }

    /// The commands and groups right below a group (all at the top for an empty name), former names left out: the last
    /// word of each and its full name, by name.
    pub fn below(&self, group: &str) -> Vec<(&'static str, &'static str)> {
        let prefix = if group.is_empty() { String::new() } else { format!("{group} ") };
        let shown = self.entries().filter(|e| e.listing != Listing::Hidden).map(|e| e.path);
        let all = shown.chain(self.groups().map(|(name, _)| name));
        let mut found: Vec<_> = all
            .filter_map(|path| Some((path.strip_prefix(prefix.as_str())?, path)))
            .filter(|(name, _)| !name.is_empty() && !name.contains(' '))
            .collect();
        found.sort_unstable();
        found
    }

    /// One line about a command or group.
    pub fn about(&self, path: &str) -> String {
        match self.get(path) {
            Some(entry) => entry.clap.get_about().map(ToString::to_string).unwrap_or_default(),
            None => self.groups().find(|(name, _)| *name == path).map(|(_, about)| about.into()).unwrap_or_default(),
        }
    }

    /// The commands and aliases, by name.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values()
    }

    /// The command of that name.
    pub fn get(&self, path: &str) -> Option<&Entry> {
        self.entries.get(path)
    }

    /// The groups: name and one line about each.
    pub fn groups(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        GROUPS.iter().copied()
    }

    fn is_group(&self, path: &str) -> bool {
        GROUPS.iter().any(|(name, _)| *name == path)
    }

    /// What a command line asks for.
    pub fn find(&self, args: &[String]) -> Found<'_> {
        let first_word = args.iter().position(|a| !a.starts_with('-')).unwrap_or(args.len());
        let (early, rest) = args.split_at(first_word);
        let words: Vec<&str> = rest
            .iter()
            .map(String::as_str)
            .take_while(|a| !a.is_empty() && !a.starts_with('-') && !a.contains(' '))
            .collect();
        let found = (1..=words.len())
            .rev()
            .map(|n| (n, words.get(..n).unwrap_or_default().join(" ")))
            .find(|(_, path)| self.entries.contains_key(path.as_str()) || self.is_group(path));
        let path = found.as_ref().map(|(_, path)| path.clone());
        if args.iter().take_while(|a| *a != "--").any(|a| matches!(a.as_str(), "-h" | "-help" | "--help")) {
            return Found::Help(path);
        }
        if early.iter().any(|a| matches!(a.as_str(), "-v" | "-version" | "--version")) {
            return Found::Version;
        }
        let Some((n, path)) = found else { return Found::Nothing };
        if !early.is_empty() {
            return Found::EarlyFlags(path);
        }
        match self.entries.get(path.as_str()) {
            Some(entry) => Found::Command(entry, rest.get(n..).unwrap_or_default().to_vec()),
            None => Found::Group(path),
        }
    }

    /// All commands as one clap tree, for completions and manual pages.
    pub fn tree(&self) -> Command {
        let root = Command::new("encamp")
            .about("Plan, explain and run jobs on clusters that schedule the way Nomad does")
            .version(env!("CARGO_PKG_VERSION"))
            .disable_help_subcommand(true);
        self.with_subcommands(root, "")
    }

    fn with_subcommands(&self, command: Command, group: &str) -> Command {
        let members = self.below(group).into_iter().map(|(name, path)| match self.entries.get(path) {
            Some(entry) => entry.clap.clone().name(name),
            None => {
                let group = Command::new(name).about(self.about(path)).disable_help_subcommand(true);
                self.with_subcommands(group, path)
            }
        });
        command.subcommands(members)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Registry::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(line: &str) -> String {
        let args: Vec<String> = line.split_whitespace().map(|a| a.replace('_', " ")).collect();
        match Registry::new().find(&args) {
            Found::Version => "version".into(),
            Found::Help(path) => format!("help {}", path.unwrap_or_default()),
            Found::Nothing => "nothing".into(),
            Found::EarlyFlags(path) => format!("early {path}"),
            Found::Group(path) => format!("group {path}"),
            Found::Command(entry, rest) => format!("{} ({}) {rest:?}", entry.path, entry.canonical),
        }
    }

    #[test]
    fn the_longest_name_wins_and_the_rest_is_arguments() {
        for (line, want) in [
            ("", "nothing"),
            ("nosuch", "nothing"),
            ("job", "group job"),
            ("job nosuch", "group job"),
            ("job plan x", "job plan (job plan) [\"x\"]"),
            ("plan -verbose x", "plan (job plan) [\"-verbose\", \"x\"]"),
            ("job -verbose plan", "group job"),
            ("job plan_x", "group job"),
            ("-version", "version"),
            ("-v job plan", "version"),
            ("-nosuch job plan x", "early job plan"),
            ("-nosuch", "nothing"),
            ("job plan x -h", "help job plan"),
            ("-help", "help "),
            ("job plan -- -h", "job plan (job plan) [\"--\", \"-h\"]"),
        ] {
            assert_eq!(find(line), want, "{line}");
        }
    }

    #[test]
    fn clap_accepts_all_definitions() {
        Registry::new().tree().debug_assert();
    }
}
