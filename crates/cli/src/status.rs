//! `status`: the status of any object (`docs/spec/cli.md §15.6`).

use std::collections::BTreeMap;

use super::lookup::LookupError;
use super::prelude::*;
use encamp_model::quoted;
use encamp_model::responses::SearchResponse;

/// Display the status of any object
///
/// Finds the job, allocation, node, evaluation, deployment, namespace, plugin or volume whose ID or name has the
/// argument as a prefix, and shows its status. Without an argument, lists all jobs.
#[derive(Debug, clap::Parser)]
pub struct Status {
    /// Show full identifiers
    #[arg(long)]
    pub verbose: bool,
    /// Open the page of the web UI in a browser
    #[arg(long)]
    pub ui: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "identifier")]
    pub(crate) optional_args: Vec<String>,
}

/// The command that shows objects of a kind.
fn command(kind: &str) -> Option<&'static str> {
    Some(match kind {
        "allocs" => "alloc status",
        "deployment" => "deployment status",
        "evals" => "eval status",
        "jobs" => "job status",
        "namespaces" => "namespace status",
        "nodes" => "node status",
        "plugins" => "plugin status",
        "volumes" | "host_volumes" => "volume status",
        _ => return None,
    })
}

impl Run for Status {
    const META: Meta = Meta::new("status").flag_error_note(FlagErrorNote::QuotedArguments).examples(&[
        ("List the jobs", "encamp status"),
        ("Show the job with this ID", "encamp status web"),
        ("Show the allocation, node or evaluation whose ID has this prefix", "encamp status 8ba85cef"),
    ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        // The command that is found reads the same flags.
        let args = context.args.iter().skip(1).cloned().collect();
        let id = match self.optional_args.as_slice() {
            [] => return context.run_other("job status", args),
            [id, ..] => id,
        };
        let mut found = None;
        let code = context.connected(&self.general, |c, _| {
            let read = c.wait(c.client.search(id));
            let (answer, _) = read.context(format_args!("Error querying search with id: {}", quoted(id)))?;
            found = Some(self::found(id, answer)?.0);
            Ok(0)
        });
        match found {
            Some(kind) => match command(&kind) {
                Some(command) => context.run_other(command, args),
                None => context.failure(&unresolved(id)),
            },
            None => code,
        }
    }
}

/// The kind and full ID of the selected object.
pub(super) fn found(id: &str, answer: SearchResponse) -> Result<(String, String), LookupError> {
    let matches = matches(answer);
    let kind = meant(id, &matches)?;
    let full = matches.get(&kind).and_then(|ids| ids.first()).cloned().unwrap_or_default();
    Ok((kind, full))
}

/// The matches by kind, without empty kinds.
fn matches(answer: SearchResponse) -> BTreeMap<String, Vec<String>> {
    let found = answer.matches.into_iter().map(|(kind, ids)| (kind, ids.unwrap_or_default()));
    found.filter(|(kind, ids)| !ids.is_empty() && command(kind).is_some()).collect()
}

/// The kind of the selected object.
fn meant(id: &str, matches: &BTreeMap<String, Vec<String>>) -> Result<String, LookupError> {
    let exact: Vec<&String> =
        matches.iter().filter(|(_, ids)| ids.first().is_some_and(|first| first == id)).map(|(kind, _)| kind).collect();
    let one_by_one: Vec<(&String, usize)> = matches.iter().map(|(kind, ids)| (kind, ids.len())).collect();
    match (exact.as_slice(), one_by_one.as_slice()) {
        ([kind], _) => Ok(kind.to_string()),
        ([], []) => Err(LookupError::NotFound(unresolved(id))),
        ([], [(kind, 1)]) => Ok(kind.to_string()),
        _ => {
            let lists: Vec<String> =
                matches.iter().map(|(kind, ids)| format!("{}:\n{}", title(kind), ids.join(", "))).collect();
            let line = format!("Multiple matches found for id {}", quoted(id));
            Err(LookupError::Ambiguous { objects: None, line, list: lists.join("\n\n") })
        }
    }
}

/// The line about an ID that no object has.
fn unresolved(id: &str) -> String {
    format!("Unable to resolve ID: {}", quoted(id))
}

/// The name of a kind, capitalised.
fn title(kind: &str) -> String {
    let mut letters = kind.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(id: &str, found: &[(&str, &[&str])]) -> Result<String, LookupError> {
        let ids = |list: &[&str]| list.iter().map(|i| i.to_string()).collect();
        meant(id, &found.iter().map(|(kind, list)| (kind.to_string(), ids(list))).collect())
    }

    #[test]
    fn an_exact_match_wins_and_then_the_only_one() {
        assert_eq!(run("web", &[("jobs", &["web", "web-2"]), ("namespaces", &["web-ns"])]).unwrap(), "jobs");
        assert_eq!(run("we", &[("jobs", &["web"])]).unwrap(), "jobs");
        assert_eq!(run("x", &[]).unwrap_err().to_string(), "Unable to resolve ID: \"x\"");
        let several = run("c", &[("jobs", &["clean", "crunch"]), ("allocs", &["c82f"])]).unwrap_err();
        assert_eq!(several.to_string(), "Multiple matches found for id \"c\"\n\nAllocs:\nc82f\n\nJobs:\nclean, crunch");
        let both = run("a", &[("jobs", &["a"]), ("namespaces", &["a"])]).unwrap_err();
        assert!(both.to_string().starts_with("Multiple"));
    }
}
