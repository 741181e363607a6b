//! The possible values of flags and arguments that no parser declares.
//!
//! Many values are closed sets that the commands check themselves, with the error texts that scripts expect. This table
//! names them for completion alone: it changes neither how they are read nor what help shows.

use clap::Arg;

use super::super::flags::is_bool;
use super::super::job_examples;
use super::live::Objects;
use encamp_model::{EvalStatus, SchedulerAlgorithm};
use encamp_plan::review::Allow;
use encamp_snapshot::anonymize::names::KEEPABLE;

/// Files that are selected by their extension. Directories are always included, because they lead to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Files {
    /// Any file.
    Any,
    /// Files with one of these endings, without the dot.
    Named(&'static [&'static str]),
    /// No files, only directories.
    Directories,
}

/// The possible values at a position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// The values are not known.
    Unknown,
    /// One of these words. The second part describes it.
    OneOf(Vec<(String, String)>),
    /// Several of these words, separated by commas.
    SeveralOf(Vec<(String, String)>),
    /// A path.
    Path(Files),
    /// The name of an object of the cluster.
    Live(Objects),
}

/// An entry of the tables.
#[derive(Debug, Clone, Copy)]
enum Known {
    Words(&'static [&'static str]),
    /// The values of an enum of the HTTP API.
    Texts(fn() -> Vec<&'static str>),
    Files(Files),
    NamesToKeep,
    Live(Objects),
}

use Known::{Live, NamesToKeep, Texts, Words};

/// The texts of all values of an enum, sorted.
fn texts<T>(all: &'static [T], text: fn(&'static T) -> &'static str) -> Vec<&'static str> {
    let mut texts: Vec<_> = all.iter().map(text).collect();
    texts.sort_unstable();
    texts
}

const ANY_FILE: Known = Known::Files(Files::Any);
const DIRECTORIES: Known = Known::Files(Files::Directories);
const JOB_FILES: Known = Known::Files(Files::Named(&["hcl", "nomad", "json"]));
/// Configuration files and specifications of objects.
const HCL_OR_JSON: Known = Known::Files(Files::Named(&["hcl", "json"]));

const PEM_FILES: Known = Known::Files(Files::Named(&["pem"]));

/// All commands that have the flag.
const ALL: &str = "";

/// Command, flag, its values.
const FLAGS: &[(&str, &str, Known)] = &[
    (ALL, "ca-cert", ANY_FILE),
    (ALL, "ca-path", DIRECTORIES),
    (ALL, "client-cert", ANY_FILE),
    (ALL, "client-key", ANY_FILE),
    (ALL, "namespace", Live(Objects::Namespaces)),
    (ALL, "node-id", Live(Objects::Nodes)),
    (ALL, "snapshot", ANY_FILE),
    (ALL, "var-file", Known::Files(Files::Named(&["hcl", "var", "json"]))),
    (ALL, "data-dir", DIRECTORIES),
    ("acl auth-method create", "token-locality", Words(LOCALITIES)),
    ("acl auth-method create", "type", Words(&["JWT", "OIDC"])),
    ("acl auth-method update", "token-locality", Words(LOCALITIES)),
    ("acl auth-method update", "type", Words(&["JWT", "OIDC"])),
    ("acl binding-rule create", "auth-method", Live(Objects::AclAuthMethods)),
    ("acl binding-rule create", "bind-type", Words(BIND_TYPES)),
    ("acl binding-rule update", "bind-type", Words(BIND_TYPES)),
    ("acl role create", "policy", Live(Objects::AclPolicies)),
    ("acl role update", "policy", Live(Objects::AclPolicies)),
    ("acl token create", "policy", Live(Objects::AclPolicies)),
    ("acl token create", "role-id", Live(Objects::AclRoles)),
    ("acl token create", "role-name", Live(Objects::AclRoleNames)),
    ("acl token create", "type", Words(TOKEN_TYPES)),
    ("acl token update", "policy", Live(Objects::AclPolicies)),
    ("acl token update", "role-id", Live(Objects::AclRoles)),
    ("acl token update", "role-name", Live(Objects::AclRoleNames)),
    ("acl token update", "type", Words(TOKEN_TYPES)),
    ("agent", "alloc-dir", DIRECTORIES),
    ("agent", "alloc-mounts-dir", DIRECTORIES),
    ("agent", "config", HCL_OR_JSON),
    ("agent", "host-volume-plugin-dir", DIRECTORIES),
    ("agent", "host-volumes-dir", DIRECTORIES),
    ("agent", "log-level", Words(&["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "OFF"])),
    ("agent", "plugin-dir", DIRECTORIES),
    ("agent", "preferred-address-family", Words(&["ipv4", "ipv6"])),
    ("agent", "raft-protocol", Words(&["3"])),
    ("agent", "state-dir", DIRECTORIES),
    ("alloc signal", "s", Words(SIGNALS)),
    ("autoscale simulate", "svg", ANY_FILE),
    ("autoscale simulate", "trace", Known::Files(Files::Named(&["csv"]))),
    ("capacity", "config", Words(SETTINGS)),
    ("capacity", "survive", Words(&["node", "dc"])),
    ("eval list", "job", Live(Objects::Jobs)),
    ("eval list", "status", Texts(|| texts(EvalStatus::ALL, EvalStatus::as_str))),
    ("job action", "alloc", Live(Objects::Allocations)),
    ("job action", "job", Live(Objects::Jobs)),
    ("job init", "from", Live(Objects::Jobs)),
    ("job init", "template", Words(job_examples::NAMES)),
    ("job plan", "config", Words(SETTINGS)),
    ("job plan", "fail-on", Words(&["destroy", "evict", "priority>=", "reject", "unplaced"])),
    ("job plan", "html", ANY_FILE),
    ("job plan", "junit", ANY_FILE),
    ("job plan", "out", ANY_FILE),
    ("job plan", "sarif", ANY_FILE),
    ("job plan", "sign", PEM_FILES),
    ("job restart", "batch-wait", Words(&["ask"])),
    ("job restart", "on-error", Words(&["ask", "fail"])),
    ("job run", "allow", Texts(|| texts(Allow::ALL, |kind| kind.name()))),
    ("job run", "verify", PEM_FILES),
    ("login", "method", Live(Objects::AclAuthMethods)),
    ("monitor", "log-level", Words(&["trace", "debug", "info", "warn", "error"])),
    ("monitor", "server-id", Words(&["leader"])),
    ("node pool init", "out", Words(&["hcl", "json"])),
    ("operator api", "X", Words(&["GET", "POST", "PUT", "DELETE", "HEAD"])),
    ("operator metrics", "format", Words(&["prometheus"])),
    (
        "operator scheduler set-config",
        "scheduler-algorithm",
        Texts(|| texts(SchedulerAlgorithm::ALL, SchedulerAlgorithm::as_str)),
    ),
    ("plan show", "verify", PEM_FILES),
    ("plugin status", "type", Words(&["csi"])),
    ("scaling policy list", "type", Words(&["horizontal"])),
    ("sim c1m", "servers", Words(SERVERS)),
    ("sim churn", "servers", Words(SERVERS)),
    ("sim cluster", "out", ANY_FILE),
    ("sim flap", "servers", Words(SERVERS)),
    ("sim gc", "servers", Words(SERVERS)),
    ("sim heartbeats", "servers", Words(SERVERS)),
    ("sim load-shedding", "servers", Words(SERVERS)),
    ("snapshot anonymize", "keep-names", NamesToKeep),
    ("snapshot anonymize", "out", ANY_FILE),
    ("snapshot fetch", "out", ANY_FILE),
    ("tls cert create", "ca", PEM_FILES),
    ("tls cert create", "key", PEM_FILES),
    ("var get", "out", Words(&["go-template", "hcl", "json", "none", "table"])),
    ("var init", "out", Words(&["hcl", "json"])),
    ("var list", "out", Words(&["go-template", "json", "table", "terse"])),
    ("var put", "in", Words(&["hcl", "json"])),
    ("var put", "out", Words(&["go-template", "hcl", "json", "none", "table"])),
    ("volume delete", "type", Words(&["csi", "host"])),
    ("volume init", "type", Words(&["csi", "host"])),
    ("volume status", "type", Words(&["csi", "host"])),
    ("what-if", "config", Words(SETTINGS)),
    ("what-if", "html", ANY_FILE),
];

/// Command, maximum number of arguments, and their values. Of several entries of a command, the first one that fits
/// counts.
const ARGUMENTS: &[(&str, usize, Known)] = &[
    ("acl auth-method delete", 1, Live(Objects::AclAuthMethods)),
    ("acl auth-method info", 1, Live(Objects::AclAuthMethods)),
    ("acl auth-method update", 1, Live(Objects::AclAuthMethods)),
    ("acl binding-rule delete", 1, Live(Objects::AclBindingRules)),
    ("acl binding-rule info", 1, Live(Objects::AclBindingRules)),
    ("acl binding-rule update", 1, Live(Objects::AclBindingRules)),
    ("acl explain", 1, Live(Objects::AclTokens)),
    ("acl policy apply", 1, Live(Objects::AclPolicies)),
    ("acl policy apply", 2, ANY_FILE),
    ("acl policy delete", 1, Live(Objects::AclPolicies)),
    ("acl policy info", 1, Live(Objects::AclPolicies)),
    ("acl role delete", 1, Live(Objects::AclRoles)),
    ("acl role info", 1, Live(Objects::AclRoles)),
    ("acl role update", 1, Live(Objects::AclRoles)),
    ("acl token delete", 1, Live(Objects::AclTokens)),
    ("acl token info", 1, Live(Objects::AclTokens)),
    ("acl token update", 1, Live(Objects::AclTokens)),
    ("alloc checks", 1, Live(Objects::Allocations)),
    ("alloc exec", 1, Live(Objects::Allocations)),
    ("alloc fs", 1, Live(Objects::Allocations)),
    ("alloc logs", 1, Live(Objects::Allocations)),
    ("alloc restart", 1, Live(Objects::Allocations)),
    ("alloc signal", 1, Live(Objects::Allocations)),
    ("alloc status", 1, Live(Objects::Allocations)),
    ("alloc stop", 1, Live(Objects::Allocations)),
    ("capacity", 1, JOB_FILES),
    ("completion", 1, Words(&["bash", "fish", "zsh"])),
    ("config validate", usize::MAX, HCL_OR_JSON),
    ("deployment fail", 1, Live(Objects::Deployments)),
    ("deployment pause", 1, Live(Objects::Deployments)),
    ("deployment promote", 1, Live(Objects::Deployments)),
    ("deployment resume", 1, Live(Objects::Deployments)),
    ("deployment status", 1, Live(Objects::Deployments)),
    ("deployment unblock", 1, Live(Objects::Deployments)),
    ("eval delete", 1, Live(Objects::Evaluations)),
    ("eval explain", 1, Live(Objects::Evaluations)),
    ("eval status", 1, Live(Objects::Evaluations)),
    ("fmt", usize::MAX, Known::Files(Files::Named(&["hcl", "nomad"]))),
    ("job allocs", 1, Live(Objects::Jobs)),
    ("job convert", 1, Known::Files(Files::Named(&["json"]))),
    ("job deployments", 1, Live(Objects::Jobs)),
    ("job diff", 2, JOB_FILES),
    ("job dispatch", 1, Live(Objects::Jobs)),
    ("job eval", 1, Live(Objects::Jobs)),
    ("job history", 1, Live(Objects::Jobs)),
    ("job init", 1, DIRECTORIES),
    ("job inspect", 1, Live(Objects::Jobs)),
    ("job periodic force", 1, Live(Objects::Jobs)),
    ("job plan", usize::MAX, JOB_FILES),
    ("job promote", 1, Live(Objects::Jobs)),
    ("job restart", 1, Live(Objects::Jobs)),
    ("job revert", 1, Live(Objects::Jobs)),
    ("job run", 1, JOB_FILES),
    ("job scale", 1, Live(Objects::Jobs)),
    ("job scaling-events", 1, Live(Objects::Jobs)),
    ("job start", 1, Live(Objects::Jobs)),
    ("job status", 1, Live(Objects::Jobs)),
    ("job stop", 1, Live(Objects::Jobs)),
    ("job validate", usize::MAX, JOB_FILES),
    ("namespace apply", 1, HCL_OR_JSON),
    ("namespace delete", 1, Live(Objects::Namespaces)),
    ("namespace inspect", 1, Live(Objects::Namespaces)),
    ("namespace status", 1, Live(Objects::Namespaces)),
    ("node drain", 1, Live(Objects::Nodes)),
    ("node eligibility", 1, Live(Objects::Nodes)),
    ("node pool apply", 1, HCL_OR_JSON),
    ("node pool delete", 1, Live(Objects::NodePools)),
    ("node pool info", 1, Live(Objects::NodePools)),
    ("node pool init", 1, DIRECTORIES),
    ("node pool jobs", 1, Live(Objects::NodePools)),
    ("node pool nodes", 1, Live(Objects::NodePools)),
    ("node status", 1, Live(Objects::Nodes)),
    ("operator snapshot redact", 1, ANY_FILE),
    ("operator snapshot restore", 1, ANY_FILE),
    ("operator snapshot save", 1, DIRECTORIES),
    ("plan show", 1, ANY_FILE),
    ("plugin status", 1, Live(Objects::Plugins)),
    ("snapshot anonymize", 1, ANY_FILE),
    ("snapshot diff", 2, ANY_FILE),
    ("snapshot inspect", 1, ANY_FILE),
    ("tls ca info", 1, PEM_FILES),
    ("tls cert info", 1, PEM_FILES),
    ("var get", 1, Live(Objects::Variables)),
    ("var init", 1, DIRECTORIES),
    ("var list", 1, Live(Objects::Variables)),
    ("var lock", 1, Live(Objects::Variables)),
    ("var purge", 1, Live(Objects::Variables)),
    ("var put", 1, Live(Objects::Variables)),
    ("volume create", 1, HCL_OR_JSON),
    ("volume delete", 1, Live(Objects::Volumes)),
    ("volume deregister", 1, Live(Objects::Volumes)),
    ("volume detach", 1, Live(Objects::Volumes)),
    ("volume init", 1, DIRECTORIES),
    ("volume register", 1, HCL_OR_JSON),
    ("volume snapshot create", 1, Live(Objects::Volumes)),
    ("volume status", 1, Live(Objects::Volumes)),
];

/// What a binding rule gives.
const BIND_TYPES: &[&str] = &["management", "policy", "role"];
/// Where tokens of an auth method are valid.
const LOCALITIES: &[&str] = &["global", "local"];
/// Types of tokens.
const TOKEN_TYPES: &[&str] = &["client", "management"];

/// The numbers of servers that simulations take.
const SERVERS: &[&str] = &["1", "3", "5"];

/// The signals that operators send to tasks.
const SIGNALS: &[&str] = &[
    "SIGABRT", "SIGALRM", "SIGCONT", "SIGHUP", "SIGINT", "SIGKILL", "SIGQUIT", "SIGSTOP", "SIGTERM", "SIGTSTP",
    "SIGUSR1", "SIGUSR2", "SIGWINCH",
];

/// Settings of the scheduler configuration that have few values.
const SETTINGS: &[&str] = &[
    "memory_oversubscription_enabled=false",
    "memory_oversubscription_enabled=true",
    "preemption_config.batch_scheduler_enabled=false",
    "preemption_config.batch_scheduler_enabled=true",
    "preemption_config.service_scheduler_enabled=false",
    "preemption_config.service_scheduler_enabled=true",
    "preemption_config.sysbatch_scheduler_enabled=false",
    "preemption_config.sysbatch_scheduler_enabled=true",
    "preemption_config.system_scheduler_enabled=false",
    "preemption_config.system_scheduler_enabled=true",
    "scheduler_algorithm=binpack",
    "scheduler_algorithm=spread",
];

impl Known {
    fn values(self) -> Values {
        let plain = |word: &str| (word.to_string(), String::new());
        match self {
            Words(words) => Values::OneOf(words.iter().map(|w| plain(w)).collect()),
            Texts(texts) => Values::OneOf(texts().into_iter().map(plain).collect()),
            Known::Files(files) => Values::Path(files),
            Live(objects) => Values::Live(objects),
            NamesToKeep => {
                Values::SeveralOf(KEEPABLE.iter().map(|(word, _)| *word).chain(["all"]).map(plain).collect())
            }
        }
    }
}

/// The possible values of a flag. The command is given by its canonical name.
pub fn of_flag(command: &str, flag: &Arg) -> Values {
    let declared = flag.get_possible_values();
    let describe = |v: &clap::builder::PossibleValue| v.get_help().map(ToString::to_string).unwrap_or_default();
    if !declared.is_empty() {
        return Values::OneOf(declared.iter().map(|v| (v.get_name().into(), describe(v))).collect());
    }
    let is_tristate = || flag.get_value_names().is_some_and(|names| names.iter().any(|n| *n == "true|false"));
    if is_bool(flag) || is_tristate() {
        return Words(&["true", "false"]).values();
    }
    let name = flag.get_long().unwrap_or_default();
    let mut found = FLAGS.iter().filter(|(of, n, _)| (*of == command || *of == ALL) && *n == name);
    found.next().map_or(Values::Unknown, |(_, _, known)| known.values())
}

/// The possible values of the argument with this number, from 0, after these flags.
pub fn of_argument(command: &str, number: usize, has_flag: impl Fn(&str) -> bool) -> Values {
    if command == "job inspect" && has_flag("file") && number == 0 {
        return JOB_FILES.values();
    }
    if command == "acl role info" && has_flag("by-name") && number == 0 {
        return Live(Objects::AclRoleNames).values();
    }
    let found = ARGUMENTS.iter().find(|(of, most, _)| *of == command && number < *most);
    found.map_or(Values::Unknown, |(_, _, known)| known.values())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Registry;

    #[test]
    fn the_tables_name_commands_and_flags_that_exist() {
        let registry = Registry::new();
        for (command, flag, _) in FLAGS {
            let mut entries = registry.entries().filter(|e| *command == ALL || e.path == *command);
            let has = entries.any(|e| e.clap().get_arguments().any(|a| a.get_long() == Some(flag) && !is_bool(a)));
            assert!(has, "{command} -{flag}");
        }
        for (command, _, _) in ARGUMENTS {
            assert!(registry.get(command).is_some_and(|e| e.clap().get_positionals().next().is_some()), "{command}");
        }
    }

    #[test]
    fn settings_are_settings() {
        let mut config = encamp_plan::settings::current(&encamp_state::State::new());
        for setting in SETTINGS {
            let (name, value) = setting.split_once('=').unwrap();
            encamp_plan::settings::set(&mut config, name, value).unwrap();
        }
    }

    #[test]
    fn log_levels_are_log_levels() {
        for (_, flag, known) in FLAGS {
            if let ("log-level", Words(levels)) = (*flag, known) {
                assert!(levels.iter().all(|l| encamp_agent::log::Level::parse(l).is_some()));
            }
        }
    }
}
