//! The commands and flags of Nomad (`reference_commands.txt`), compared with those of this program: each is there, or
//! [`MISSING`] says why not. `docs/reference/compared-commands.md` lists what differs.
//!
//! `ENCAMP_UPDATE=1 cargo test --test cli reference_commands` writes that document.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use clap::Arg;

use encamp_cli::command::{Entry, Registry};
use encamp_cli::command_meta::Listing;

use crate::program::run;

const REFERENCE: &str = include_str!("reference_commands.txt");
const DOCUMENT: &str = "docs/reference/compared-commands.md";

/// A feature that servers of the open edition do not have.
const ENTERPRISE: &str = "a feature of Nomad Enterprise; the command says so";
/// The agent connects to neither.
const CONSUL_VAULT: &str = "encamp does not connect to Consul and Vault";

/// Commands and groups (`name`) and flags (`name -flag`) of Nomad that encamp does not have, and why.
const MISSING: &[(&str, &str)] = &[
    ("license get", ENTERPRISE),
    ("license inspect", ENTERPRISE),
    ("operator debug -consul-ca-cert", CONSUL_VAULT),
    ("operator debug -consul-ca-path", CONSUL_VAULT),
    ("operator debug -consul-client-cert", CONSUL_VAULT),
    ("operator debug -consul-client-key", CONSUL_VAULT),
    ("operator debug -consul-http-addr", CONSUL_VAULT),
    ("operator debug -consul-token", CONSUL_VAULT),
    ("operator debug -consul-token-file", CONSUL_VAULT),
    ("operator debug -event-index", "the archive has the lists of each interval instead of events"),
    ("operator debug -event-topic", "the archive has the lists of each interval instead of events"),
    ("operator debug -pprof-duration", "there is no Go runtime to profile"),
    ("operator debug -pprof-interval", "there is no Go runtime to profile"),
    ("operator debug -vault-address", CONSUL_VAULT),
    ("operator debug -vault-ca-cert", CONSUL_VAULT),
    ("operator debug -vault-ca-path", CONSUL_VAULT),
    ("operator debug -vault-client-cert", CONSUL_VAULT),
    ("operator debug -vault-client-key", CONSUL_VAULT),
    ("operator debug -vault-token", CONSUL_VAULT),
    ("operator debug -verbose", "every step is printed"),
    ("operator raft migrate-backend", "the log has one format"),
    ("operator snapshot filter", "archives are restored as a whole: a part of a state refers to what is not there"),
    ("operator snapshot state -filter", "filter the JSON, with jq for example"),
    ("operator utilization -message", ENTERPRISE),
    ("operator utilization -output", ENTERPRISE),
    ("operator utilization -today-only", ENTERPRISE),
    ("quota apply", ENTERPRISE),
    ("quota delete", ENTERPRISE),
    ("quota init", ENTERPRISE),
    ("quota inspect", ENTERPRISE),
    ("quota list", ENTERPRISE),
    ("quota status", ENTERPRISE),
    ("recommendation apply", ENTERPRISE),
    ("recommendation dismiss", ENTERPRISE),
    ("recommendation info", ENTERPRISE),
    ("recommendation list", ENTERPRISE),
    ("sentinel apply", ENTERPRISE),
    ("sentinel delete", ENTERPRISE),
    ("sentinel list", ENTERPRISE),
    ("sentinel read", ENTERPRISE),
    ("setup consul", "encamp changes no other system; the command says what to create there"),
    ("setup vault", "encamp changes no other system; the command says what to create there"),
    ("windows service install", "there is no agent for Windows"),
    ("windows service uninstall", "there is no agent for Windows"),
];

/// A command of Nomad.
struct Reference {
    flags: BTreeSet<&'static str>,
    general: bool,
}

/// What the list of Nomad's commands says.
struct List {
    general: BTreeSet<&'static str>,
    commands: BTreeMap<&'static str, Reference>,
    /// Other names of commands.
    aliases: Vec<(&'static str, &'static str)>,
}

impl List {
    fn read() -> List {
        let mut list = List { general: BTreeSet::new(), commands: BTreeMap::new(), aliases: Vec::new() };
        for line in REFERENCE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            if let Some(alias) = line.split_once(" = ") {
                list.aliases.push(alias);
                continue;
            }
            let (name, words) = line.split_once(':').expect("a command and its flags");
            let words: Vec<&str> = words.split_whitespace().collect();
            let flags = words.iter().filter_map(|word| word.strip_prefix('-')).collect();
            if name == "general" {
                list.general = flags;
                continue;
            }
            let command = Reference { flags, general: words.first() != Some(&"*") };
            assert!(list.commands.insert(name, command).is_none(), "{name} is there twice");
        }
        list
    }
}

fn flags(entry: &Entry) -> impl Iterator<Item = &Arg> {
    entry.clap().get_arguments().filter(|arg| arg.get_long().is_some())
}

fn flag_names(entry: &Entry) -> BTreeSet<&str> {
    flags(entry).filter_map(Arg::get_long).collect()
}

/// What Nomad has and this program does not: commands, and flags behind them.
fn lacking(list: &List, registry: &Registry) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (name, reference) in &list.commands {
        let Some(entry) = registry.get(name) else {
            out.insert(name.to_string());
            continue;
        };
        let have = flag_names(entry);
        let general = list.general.iter().filter(|_| reference.general);
        let lacks = reference.flags.iter().chain(general).filter(|flag| !have.contains(*flag));
        out.extend(lacks.map(|flag| format!("{name} -{flag}")));
    }
    out
}

#[test]
fn commands_of_nomad_are_there_or_have_a_reason() {
    let (list, registry) = (List::read(), Registry::new());
    assert!(list.commands.len() > 150 && list.general.len() == 12, "{} commands", list.commands.len());
    let lacking = lacking(&list, &registry);
    let named: BTreeSet<String> = MISSING.iter().map(|(what, _)| what.to_string()).collect();
    assert_eq!(named.len(), MISSING.len(), "each once");
    let unexplained: Vec<_> = lacking.difference(&named).collect();
    assert!(unexplained.is_empty(), "neither there nor in MISSING: {unexplained:#?}");
    let stale: Vec<_> = named.difference(&lacking).collect();
    assert!(stale.is_empty(), "in MISSING, but there, or not in the list of Nomad's commands: {stale:#?}");
}

#[test]
fn other_names_of_commands_are_those_of_nomad() {
    let (list, registry) = (List::read(), Registry::new());
    for (name, of) in list.aliases {
        assert_eq!(registry.get(name).map(|entry| entry.meta.path), Some(of), "{name}");
    }
}

#[test]
fn commands_of_the_enterprise_edition_say_what_they_are() {
    let commands = List::read().commands;
    let missing = MISSING.iter().filter(|(what, why)| *why == ENTERPRISE && commands.contains_key(what));
    let refused = missing.map(|(what, _)| *what).chain(["operator snapshot agent", "operator utilization"]);
    for command in refused {
        // These ask the servers first, for their own words.
        if ["license get", "quota list", "recommendation list", "sentinel list"].contains(&command) {
            continue;
        }
        let ran = run(&command.split(' ').collect::<Vec<_>>());
        assert_eq!((ran.stdout.as_str(), ran.exit), ("", 1), "{command}");
        assert!(ran.stderr.contains("a feature of Nomad Enterprise"), "{command}: {}", ran.stderr);
    }
}

/// The document about what differs.
fn document(list: &List, registry: &Registry) -> String {
    let mut out = String::from(
        "# Commands compared with Nomad\n\nThe commands and flags of Nomad 2.0 (`tests/cli/reference_commands.txt`) and \
         those of encamp, as the test\n`reference_commands` compares them. What is not listed here exists in both.\n\n## \
         Not in encamp\n\n| command or flag | reason |\n|---|---|\n",
    );
    let mut rows: Vec<(String, &str)> = Vec::new();
    let mut grouped: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
    for (what, why) in MISSING {
        match what.split_once(" -") {
            Some((command, _)) => grouped.entry((command, why)).or_default().push(&what[command.len() + 1..]),
            None => rows.push((format!("`{what}`"), why)),
        }
    }
    rows.extend(grouped.into_iter().map(|((command, why), flags)| (format!("`{command}` {}", quoted(&flags)), why)));
    rows.sort();
    rows.iter().for_each(|(what, why)| writeln!(out, "| {what} | {why} |").expect("text"));

    out += "\n## Accepted without effect\n\n| command | flags |\n|---|---|\n";
    let shown = || registry.entries().filter(|e| e.path == e.meta.path && e.listing != Listing::Hidden);
    for entry in shown() {
        let Some(reference) = list.commands.get(entry.path) else { continue };
        let hidden = flags(entry).filter(|arg| arg.is_hide_set()).filter_map(Arg::get_long);
        let mut hidden: Vec<String> =
            hidden.filter(|flag| reference.flags.contains(flag)).map(|flag| format!("-{flag}")).collect();
        hidden.sort();
        // The modes that an agent does not have are refused.
        hidden.retain(|flag| !flag.starts_with("-dev-"));
        if !hidden.is_empty() {
            writeln!(out, "| `{}` | {} |", entry.path, quoted(&hidden)).expect("text");
        }
    }
    let local = shown().filter(|e| flags(e).any(|arg| arg.get_long() == Some("address") && arg.is_hide_set()));
    let local: Vec<&str> = local.map(|entry| entry.path).collect();
    writeln!(out, "| {} | those of the connection (`-address`, `-token`, …) |", quoted(&local)).expect("text");
    out += "\n`agent` refuses `-dev-connect`, `-dev-consul` and `-dev-vault`: it runs neither.\n";

    out += "\n## Only in encamp\n\nAll commands with general flags also accept `-color`, `-context`, `-no-pager` and \
            `-wide`.\n\n| command | flags |\n|---|---|\n";
    let own = ["color", "context", "no-pager", "wide", "insecure"];
    for entry in shown() {
        match list.commands.get(entry.path) {
            None => writeln!(out, "| `{}` | all |", entry.path).expect("text"),
            Some(reference) => {
                let more = flags(entry).filter(|arg| !arg.is_hide_set()).filter_map(Arg::get_long);
                let known =
                    |flag: &&str| reference.flags.contains(flag) || list.general.contains(flag) || own.contains(flag);
                let mut more: Vec<String> = more.filter(|flag| !known(flag)).map(|flag| format!("-{flag}")).collect();
                more.sort();
                if !more.is_empty() {
                    writeln!(out, "| `{}` | {} |", entry.path, quoted(&more)).expect("text");
                }
            }
        }
    }
    out
}

fn quoted<S: AsRef<str>>(flags: &[S]) -> String {
    flags.iter().map(|flag| format!("`{}`", flag.as_ref())).collect::<Vec<_>>().join(", ")
}

#[test]
fn the_document_lists_what_differs() {
    let want = document(&List::read(), &Registry::new());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(DOCUMENT);
    if std::env::var_os("ENCAMP_UPDATE").is_some() {
        std::fs::write(&file, &want).unwrap();
    }
    let have = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(have == want, "{DOCUMENT} is stale; run ENCAMP_UPDATE=1 cargo test --test cli reference_commands");
}
