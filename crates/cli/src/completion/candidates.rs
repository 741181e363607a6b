//! The completions at the cursor: a pure function of the commands and the words before the cursor.

use clap::{Arg, ArgAction};

use super::super::command::{Entry, Registry};
use super::super::command_meta::Listing;
use super::super::flags::is_bool;
use super::super::object_kinds::Objects;
use super::values::{self, Files, Values};

/// Whether the word can be continued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The word is complete: a space follows.
    Complete,
    /// The word can be continued: `-flag=`, `directory/`.
    Continues,
}

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The full word.
    pub text: String,
    /// A description in one line; may be empty.
    pub description: String,
    /// Whether the word is complete.
    pub ending: Ending,
}

/// All completions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Offer {
    /// One of these words, which all start with the typed text.
    Words(Vec<Candidate>),
    /// A path.
    Path {
        /// The part of the word before the path, such as `-var-file=`.
        flag: String,
        /// The typed part of the path.
        typed: String,
        /// The files that match.
        files: Files,
    },
    /// The name of an object of the cluster.
    Live {
        /// The part of the word before the name, such as `-policy=`.
        flag: String,
        /// The typed part of the name.
        typed: String,
        /// The objects.
        objects: Objects,
        /// The flags on the line with their values: some of them select the cluster.
        given: Vec<(String, String)>,
    },
}

impl Candidate {
    fn new(text: impl Into<String>, description: impl Into<String>) -> Candidate {
        Candidate { text: text.into(), description: description.into(), ending: Ending::Complete }
    }
}

/// Returns the completions: `before` are the arguments before the word at the cursor, `current` is that word up to the
/// cursor.
pub fn candidates(registry: &Registry, before: &[String], current: &str) -> Offer {
    let (count, path) = registry.longest_name(before).unwrap_or_default();
    let rest = before.get(count..).unwrap_or_default();
    let below = registry.below(&path);
    let begins = |(name, _): &(&str, &str)| !current.is_empty() && name.starts_with(current);
    if let Some(entry) = registry.get(&path) {
        // "plan" is a command with arguments, and the beginning of "plan show".
        let takes_arguments = entry.clap().get_positionals().any(|argument| !argument.is_hide_set());
        let argument = takes_arguments && !below.iter().any(begins);
        if current.starts_with('-') || below.is_empty() || !rest.is_empty() || argument {
            return within_command(entry, rest, current);
        }
    }
    let mut found = Vec::new();
    if rest.is_empty() && current.starts_with('-') {
        let dashes = dashes(current);
        found.push(Candidate::new(format!("{dashes}help"), HELP));
        if path.is_empty() {
            found.push(Candidate::new(format!("{dashes}version"), "Print the version"));
        }
    } else if rest.is_empty() {
        let listed = |path: &str| registry.get(path).is_none_or(|e| e.listing != Listing::Alias);
        let members = below.into_iter().filter(|(_, path)| listed(path));
        found.extend(members.map(|(name, path)| Candidate::new(name, registry.about(path))));
    }
    Offer::Words(beginning_with(current, found))
}

const HELP: &str = "Print help";

fn beginning_with(typed: &str, mut all: Vec<Candidate>) -> Vec<Candidate> {
    all.retain(|c| c.text.starts_with(typed));
    all
}

/// The dashes of the suggested flags: one, or two if two were typed.
fn dashes(current: &str) -> &'static str {
    if current.starts_with("--") { "--" } else { "-" }
}

/// The effect of the given arguments on the next word.
#[derive(Debug, Default)]
struct Scan<'a> {
    /// The names of the flags that were given.
    given: Vec<&'a str>,
    /// The flags that were given with a value.
    values: Vec<(String, String)>,
    /// The flag whose value is the next word.
    awaits_value: Option<&'a Arg>,
    /// The number of arguments that are not flags.
    arguments: usize,
    /// Whether no flag can follow.
    flags_ended: bool,
}

impl<'a> Scan<'a> {
    /// Reads arguments as `flags::normalise` does, but treats unknown flags as booleans.
    fn of(entry: &'a Entry, args: &'a [String]) -> Scan<'a> {
        let mut scan = Scan::default();
        for arg in args {
            if scan.awaits_value.take().is_some() {
                scan.values.extend(scan.given.last().map(|name| (name.to_string(), arg.clone())));
                continue;
            }
            let flag = arg.strip_prefix('-').filter(|text| !text.is_empty() && !scan.flags_ended);
            match flag {
                Some("-") => scan.flags_ended = true,
                Some(text) => {
                    let text = text.strip_prefix('-').unwrap_or(text);
                    let (name, value) = text.split_once('=').map_or((text, None), |(name, v)| (name, Some(v)));
                    scan.given.push(name);
                    scan.awaits_value = find(entry, name).filter(|flag| value.is_none() && needs_value(flag));
                    if scan.awaits_value.is_none() {
                        scan.values.push((name.to_string(), value.unwrap_or("true").to_string()));
                    }
                }
                None => {
                    scan.arguments = scan.arguments.saturating_add(1);
                    scan.flags_ended |= !entry.meta.flags_anywhere;
                }
            }
        }
        scan
    }
}

fn find<'a>(entry: &'a Entry, name: &str) -> Option<&'a Arg> {
    entry.clap().get_arguments().find(|a| a.get_long() == Some(name))
}

/// Whether a flag is always followed by a value.
fn needs_value(flag: &Arg) -> bool {
    !is_bool(flag) && flag.get_num_args().is_none_or(|n| n.min_values() > 0)
}

fn within_command(entry: &Entry, args: &[String], current: &str) -> Offer {
    let scan = Scan::of(entry, args);
    if let Some(flag) = scan.awaits_value {
        return offer(values::of_flag(flag), "", current, scan.values);
    }
    if scan.flags_ended || !current.starts_with('-') {
        let arguments = entry.clap().get_positionals().next();
        let has_flag = |name: &str| scan.given.contains(&name);
        let values = arguments.map_or(Values::Unknown, |a| values::of_argument(a, scan.arguments, has_flag));
        return offer(values, "", current, scan.values);
    }
    match current.split_once('=') {
        Some((flag, typed)) => {
            let name = flag.trim_start_matches('-');
            let values = find(entry, name).map_or(Values::Unknown, values::of_flag);
            offer(values, &format!("{flag}="), typed, scan.values)
        }
        None => Offer::Words(beginning_with(current, flags(entry, &scan, dashes(current)))),
    }
}

/// The flags that can still be given, by name.
fn flags(entry: &Entry, scan: &Scan<'_>, dashes: &str) -> Vec<Candidate> {
    let again = |flag: &Arg| matches!(flag.get_action(), ArgAction::Append | ArgAction::Count);
    let mut found: Vec<Candidate> = Vec::new();
    for flag in entry.clap().get_arguments().filter(|a| !a.is_hide_set()) {
        let Some(name) = flag.get_long().filter(|name| again(flag) || !scan.given.contains(name)) else { continue };
        let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
        let mut candidate = Candidate::new(format!("{dashes}{name}"), first_sentence(&help));
        if needs_value(flag) {
            candidate.text.push('=');
            candidate.ending = Ending::Continues;
        }
        found.push(candidate);
    }
    if find(entry, "help").is_none() && !scan.given.contains(&"help") {
        found.push(Candidate::new(format!("{dashes}help"), HELP));
    }
    found.sort_by(|a, b| a.text.cmp(&b.text));
    found
}

fn first_sentence(help: &str) -> String {
    let sentence = help.split(". ").next().unwrap_or_default();
    sentence.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches('.').to_string()
}

/// The completions for a word that starts with `flag` and ends with one of these values. `given` are the other flags of
/// the line.
fn offer(values: Values, flag: &str, typed: &str, given: Vec<(String, String)>) -> Offer {
    let word = |before: &str, (value, description): (String, String)| {
        Candidate::new(format!("{flag}{before}{value}"), description)
    };
    let found = match values {
        Values::Path(files) => return Offer::Path { flag: flag.into(), typed: typed.into(), files },
        Values::Live(objects) => return Offer::Live { flag: flag.into(), typed: typed.into(), objects, given },
        Values::Unknown => Vec::new(),
        Values::OneOf(values) => values.into_iter().map(|v| word("", v)).collect(),
        Values::SeveralOf(values) => {
            let before = typed.rfind(',').and_then(|end| typed.get(..=end)).unwrap_or_default();
            let unused = |value: &str| before.split(',').all(|used| used != value);
            values.into_iter().filter(|(value, _)| unused(value)).map(|v| word(before, v)).collect()
        }
    };
    Offer::Words(beginning_with(&format!("{flag}{typed}"), found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The candidates after a line, with a blank behind those that are complete. Paths are in angle brackets.
    fn after(line: &str) -> Vec<String> {
        let mut words: Vec<String> = line.split(' ').map(String::from).collect();
        let current = words.pop().unwrap();
        match candidates(&Registry::new(), &words, &current) {
            Offer::Words(found) => found
                .into_iter()
                .map(|c| if c.ending == Ending::Complete { format!("{} ", c.text) } else { c.text })
                .collect(),
            Offer::Path { flag, typed, files } => vec![match files {
                Files::Any => format!("{flag}<{typed}>"),
                Files::Directories => format!("{flag}<{typed}/>"),
                Files::Named(endings) => format!("{flag}<{typed} {}>", endings.join(" ")),
            }],
            Offer::Live { flag, typed, objects, given } => {
                let given: Vec<String> = given.into_iter().map(|(name, value)| format!(" {name}={value}")).collect();
                vec![format!("{flag}<{typed} {objects:?}{}>", given.concat())]
            }
        }
    }

    #[test]
    fn what_fits_is_offered() {
        for (line, want) in [
            // Commands.
            ("jo", &["job "][..]),
            ("job pl", &["plan "]),
            ("job plan", &["plan "]),
            ("job t", &["tag "]),
            ("job tag ", &["apply ", "unset "]),
            ("operator root ", &["keyring "]),
            ("nosuch ", &[]),
            ("job nosuch ", &[]),
            ("-", &["-help ", "-version "]),
            ("--v", &["--version "]),
            ("-V", &[]),
            ("-version ", &[]),
            ("job -", &["-help "]),
            ("job -help ", &[]),
            // Aliases and hidden names are completed, but not offered.
            ("pla", &[]),
            ("plan -diag", &["-diagnostics="]),
            ("chec", &[]),
            ("eval-", &[]),
            // Flags.
            ("job plan -diag", &["-diagnostics="]),
            ("job plan --diag", &["--diagnostics="]),
            ("job plan -V", &[]),
            ("job plan -dif", &["-diff "]),
            ("job plan -expl", &["-explain "]),
            ("job plan -var", &["-var-file=", "-var="]),
            ("job plan -var a=b -var", &["-var-file=", "-var="]),
            ("job plan -no-col", &["-no-color "]),
            ("job plan -no-color -no-col", &[]),
            ("job plan --diagnostics=json -diag", &[]),
            ("job plan -diagnostics json -diag", &[]),
            ("job plan -nosuch -diag", &["-diagnostics="]),
            ("job plan -addr", &["-address="]),
            ("job plan -hel", &["-help "]),
            ("alloc exec -it", &[]),
            ("agent -addr", &[]),
            ("version -", &["-help ", "-json "]),
            ("sim c1m -addr", &[]),
            // Flags stop at the first argument, except where they do not, and at `--`.
            ("job plan x -diag", &["<-diag hcl nomad json>"]),
            ("job run x -diag", &[]),
            ("job plan -- -diag", &["<-diag hcl nomad json>"]),
            ("job status web -js", &[]),
            ("snapshot diff a -js", &["-json "]),
            ("snapshot diff a -- -js", &["<-js>"]),
            ("job plan - -diag", &["<-diag hcl nomad json>"]),
            // Values.
            ("job plan -diagnostics=", &["-diagnostics=text ", "-diagnostics=json "]),
            ("job plan --diagnostics=j", &["--diagnostics=json "]),
            ("job plan -diagnostics j", &["json "]),
            ("job plan -diff=", &["-diff=true ", "-diff=false "]),
            ("job plan -verbose=f", &["-verbose=false "]),
            ("job plan -explain=", &[]),
            ("job plan -nosuch=", &[]),
            ("job plan -address ", &[]),
            ("job plan -var -diag", &[]),
            ("what-if -config=scheduler_algorithm=s", &["-config=scheduler_algorithm=spread "]),
            ("operator scheduler set-config -pause-eval-broker ", &["true ", "false "]),
            ("operator scheduler set-config -scheduler-algorithm=s", &["-scheduler-algorithm=spread "]),
            ("agent -log-level=T", &["-log-level=TRACE "]),
            ("monitor -log-level w", &["warn "]),
            ("volume status -type ", &["csi ", "host "]),
            ("var list -out t", &["table ", "terse "]),
            ("snapshot anonymize -keep-names=jobs,n", &["-keep-names=jobs,namespaces ", "-keep-names=jobs,nodes "]),
            ("snapshot anonymize -keep-names jobs,j", &[]),
            ("job restart -on-error=", &["-on-error=ask ", "-on-error=fail "]),
            // Files and directories.
            ("job plan ", &["< hcl nomad json>"]),
            ("job plan a.hcl b", &["<b hcl nomad json>"]),
            ("plan x", &["<x hcl nomad json>"]),
            ("plan ", &["< hcl nomad json>"]),
            ("plan sh", &["show "]),
            ("job run a.hcl ", &[]),
            ("fmt ", &["< hcl nomad>"]),
            ("job plan -var-file=x/", &["-var-file=<x/ hcl var json>"]),
            ("job plan -var-file x/", &["<x/ hcl var json>"]),
            ("job plan -snapshot ", &["<>"]),
            ("job plan -ca-cert=~/", &["-ca-cert=<~/>"]),
            ("job plan -ca-path=", &["-ca-path=</>"]),
            ("snapshot diff a ", &["<>"]),
            ("snapshot diff a b ", &[]),
            ("job inspect ", &["< Jobs>"]),
            ("job inspect -file ", &["< hcl nomad json>"]),
            // Objects of the cluster.
            ("acl policy info ", &["< AclPolicies>"]),
            ("acl policy info d", &["<d AclPolicies>"]),
            ("acl policy info dev ", &[]),
            ("acl policy apply ", &["< AclPolicies>"]),
            ("acl policy apply dev ", &["<>"]),
            ("acl role info ", &["< AclRoles>"]),
            ("acl role info -by-name ", &["< AclRoleNames by-name=true>"]),
            ("acl role create -policy=d", &["-policy=<d AclPolicies>"]),
            ("acl role create -policy dev -policy ", &["< AclPolicies policy=dev>"]),
            ("acl token create -role-name ", &["< AclRoleNames>"]),
            (
                "acl token info -address http://a:1 -token=t -insecure x",
                &["<x AclTokens address=http://a:1 token=t insecure=true>"],
            ),
            ("acl explain ", &["< AclTokens>"]),
            ("acl binding-rule create -bind-type ", &["management ", "policy ", "role "]),
            ("login -method=c", &["-method=<c AclAuthMethods>"]),
            // Other arguments.
            ("completion ", &["bash ", "fish ", "zsh "]),
            ("completion bash ", &[]),
            ("version ", &[]),
            ("job status ", &["< Jobs>"]),
        ] {
            assert_eq!(after(line), want, "{line}");
        }
    }

    #[test]
    fn the_commands_are_those_of_the_general_help() {
        let help = crate::help::general(&Registry::new());
        let mut rows: Vec<String> = help
            .lines()
            .filter(|l| l.starts_with("    "))
            .filter_map(|l| l.split_whitespace().next().map(|name| format!("{name} ")))
            .collect();
        rows.sort();
        assert_eq!(after(""), rows);
    }

    #[test]
    fn every_flag_of_every_command_is_offered_once_with_a_description() {
        let registry = Registry::new();
        for entry in registry.entries() {
            let words: Vec<String> = entry.path.split(' ').map(String::from).collect();
            let Offer::Words(found) = candidates(&registry, &words, "-") else { panic!("{}", entry.path) };
            let shown = entry.clap().get_arguments().filter(|a| !a.is_hide_set() && a.get_long().is_some()).count();
            assert_eq!(found.len(), shown + 1, "{}", entry.path);
            for flag in found {
                assert!(!flag.description.is_empty() && !flag.description.contains('\n'), "{} {flag:?}", entry.path);
            }
        }
    }
}
