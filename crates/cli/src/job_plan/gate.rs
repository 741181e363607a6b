//! Conditions under which a plan fails a pipeline: `-fail-on`, `-junit`, `-sarif` (`docs/spec/cli.md §20`).

use std::fmt;
use std::io::Write;

use serde_json::{Value, json};

use crate::completion::values::CompleteWith;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult, ErrorContext};
use crate::render::values::counted;
use encamp_jobspec::diff::forces_replacement;
use encamp_jobspec::explain::nearest;
use encamp_model::{DesiredUpdates, DiffType, JobPlanResponse, quoted, short_id};
use encamp_plan::tally::Tally;
use encamp_snapshot::replace::replace;

/// The exit code if a condition of `-fail-on` holds.
pub(super) const FAILED: u8 = 2;
/// The priority of a job that does not set one.
const DEFAULT_PRIORITY: i64 = 50;
/// The beginning of the condition about priorities.
const PRIORITY: &str = "priority>=";

/// The flags about conditions.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct GateFlags {
    /// Exit with 2 if one of these conditions holds: changed, create, unplaced, evict, destroy, reject or priority>=n.
    /// Can be given several times, or with a comma-separated list
    #[arg(
        long,
        value_name = "condition",
        action = clap::ArgAction::Append,
        add = CompleteWith::Words(&["destroy", "evict", "priority>=", "reject", "unplaced"])
    )]
    pub fail_on: Vec<String>,
    /// Write the conditions of -fail-on to this file as JUnit XML
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub junit: Option<String>,
    /// Write what the plan leaves unplaced, evicts, destroys and would have rejected to this file as SARIF
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub sarif: Option<String>,
}

/// A condition about a plan, or about its job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// The job is new, or differs from the registered one.
    Changed,
    /// Allocations are created.
    Create,
    /// Allocations cannot be placed.
    Unplaced,
    /// Allocations of other jobs are evicted.
    Evict,
    /// Allocations of the job are stopped or replaced.
    Destroy,
    /// Servers would reject a part of the plan.
    Reject,
    /// The priority of the job is at least this.
    Priority(i64),
}

/// Those without a number.
const PLAIN: [Condition; 6] = [
    Condition::Changed,
    Condition::Create,
    Condition::Unplaced,
    Condition::Evict,
    Condition::Destroy,
    Condition::Reject,
];

/// Those that SARIF files report whether they are named or not.
const PROBLEMS: [Condition; 4] = [Condition::Unplaced, Condition::Evict, Condition::Destroy, Condition::Reject];

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Changed => f.write_str("changed"),
            Condition::Create => f.write_str("create"),
            Condition::Unplaced => f.write_str("unplaced"),
            Condition::Evict => f.write_str("evict"),
            Condition::Destroy => f.write_str("destroy"),
            Condition::Reject => f.write_str("reject"),
            Condition::Priority(n) => write!(f, "{PRIORITY}{n}"),
        }
    }
}

impl Condition {
    fn parse(word: &str) -> CommandResult<Condition> {
        if let Some(number) = word.strip_prefix(PRIORITY) {
            let refused = || CommandError::new(format!("Invalid -fail-on value {}", quoted(word)));
            return number
                .parse()
                .map(Condition::Priority)
                .map_err(|_| refused().with_hint("priority>= takes a number"));
        }
        let known = PLAIN.into_iter().find(|condition| condition.to_string() == word);
        known.ok_or_else(|| {
            let names: Vec<String> = PLAIN.iter().map(ToString::to_string).chain([PRIORITY.to_string()]).collect();
            let near = nearest(word, names.iter().map(String::as_str));
            let near = near.map(|n| format!("Did you mean {n}? ")).unwrap_or_default();
            let hint = format!(
                "{near}Valid are changed, create, unplaced, evict, destroy, reject and priority>=n, such as priority>=50"
            );
            CommandError::new(format!("Invalid -fail-on value {}", quoted(word))).with_hint(hint)
        })
    }

    /// What the condition means, for reports.
    fn about(self) -> &'static str {
        match self {
            Condition::Changed => "The job is new, or differs from the registered one",
            Condition::Create => "Allocations are created",
            Condition::Unplaced => "Allocations cannot be placed",
            Condition::Evict => "Allocations of other jobs are evicted",
            Condition::Destroy => "Allocations of the job are stopped or replaced",
            Condition::Reject => "Servers would reject a part of the plan",
            Condition::Priority(_) => "The priority of the job is at least this",
        }
    }

    /// The identifier of its rule in SARIF.
    fn rule(self) -> &'static str {
        match self {
            Condition::Changed => "changed",
            Condition::Create => "create",
            Condition::Unplaced => "unplaced",
            Condition::Evict => "evict",
            Condition::Destroy => "destroy",
            Condition::Reject => "reject",
            Condition::Priority(_) => "priority",
        }
    }

    /// The lines that say how it holds; none if it does not.
    fn holds(self, plan: &Gated<'_>) -> Vec<String> {
        let response = plan.response;
        let annotations = response.annotations.as_ref();
        match self {
            Condition::Changed => changed(response),
            Condition::Create => created(plan.tally),
            Condition::Unplaced => {
                let failed = response.failed_tg_allocs.iter();
                let line =
                    |group: &str, n: u64| format!("{} of group {} could not be placed", allocations(n), quoted(group));
                failed.map(|(group, metric)| line(group, metric.failures().unsigned_abs())).collect()
            }
            Condition::Evict => {
                let evicted = annotations.iter().flat_map(|a| &a.preempted_allocs);
                let line = |id: &str, job: &str, group: &str| {
                    let (job, group) = (quoted(job), quoted(group));
                    format!("allocation {} of job {job}, group {group}, would be evicted", short_id(id))
                };
                evicted.map(|a| line(&a.id, &a.job_id, &a.task_group)).collect()
            }
            Condition::Destroy => {
                let groups = annotations.iter().flat_map(|a| &a.desired_tg_updates);
                groups.flat_map(|(group, updates)| destroyed(group, updates, response)).collect()
            }
            Condition::Reject => response.plan_rejections.iter().map(ToString::to_string).collect(),
            Condition::Priority(least) if plan.priority >= least => {
                vec![format!("the job has priority {}", plan.priority)]
            }
            Condition::Priority(_) => Vec::new(),
        }
    }
}

/// The line about a job that is not the registered one.
fn changed(response: &JobPlanResponse) -> Vec<String> {
    let text = match response.diff.as_ref().map(|diff| &diff.r#type) {
        None | Some(DiffType::None) => return Vec::new(),
        Some(DiffType::Added) => "the job is new",
        Some(_) => "the job differs from the registered one",
    };
    vec![text.to_string()]
}

/// The lines about new allocations, replacements and canaries included.
fn created(tally: &Tally) -> Vec<String> {
    let new =
        tally.groups.iter().map(|(group, g)| (group, g.placed.saturating_add(g.canaries).saturating_add(g.replaced)));
    let line = |group: &str, n: u64| format!("{} of group {} would be created", allocations(n), quoted(group));
    new.filter(|(_, n)| *n > 0).map(|(group, n)| line(group, n)).collect()
}

/// The lines about allocations of a group that are stopped or replaced, at once or later in the rolling update.
fn destroyed(group: &str, updates: &DesiredUpdates, response: &JobPlanResponse) -> Vec<String> {
    let mut out = Vec::new();
    let now = updates.stop.saturating_add(updates.destructive_update);
    if now > 0 {
        out.push(format!("{} of group {} would be stopped or replaced", allocations(now), quoted(group)));
    }
    let diff = response.diff.iter().flat_map(|d| &d.task_groups).find(|g| g.name == group);
    if updates.ignore > 0 && diff.is_some_and(|g| g.tasks.iter().any(forces_replacement)) {
        let later = allocations(updates.ignore);
        out.push(format!("up to {later} of group {} would be replaced later in the rolling update", quoted(group)));
    }
    out
}

fn allocations(n: u64) -> String {
    counted(n, "allocation", "allocations")
}

/// A plan that the conditions are about.
pub(super) struct Gated<'a> {
    /// The job file.
    pub path: &'a str,
    pub job_id: &'a str,
    pub namespace: &'a str,
    pub priority: i64,
    pub response: &'a JobPlanResponse,
    /// The effects of the plan.
    pub tally: &'a Tally,
}

/// The priority of a job, which 0 does not set.
pub(super) fn priority(given: Option<i64>) -> i64 {
    given.filter(|p| *p != 0).unwrap_or(DEFAULT_PRIORITY)
}

/// The conditions of a command line.
pub(super) struct Gate {
    conditions: Vec<Condition>,
}

impl GateFlags {
    /// Reads the conditions.
    pub(super) fn gate(&self) -> CommandResult<Gate> {
        let mut conditions: Vec<Condition> = Vec::new();
        for word in self.fail_on.iter().flat_map(|list| list.split(',')) {
            let condition = Condition::parse(word.trim())?;
            if !conditions.contains(&condition) {
                conditions.push(condition);
            }
        }
        Ok(Gate { conditions })
    }

    /// Writes the files that the flags name. Returns the lines about the conditions that hold; none: the plans pass.
    pub(super) fn apply(&self, plans: &[Gated<'_>], env: &Environment) -> CommandResult<Vec<String>> {
        let gate = self.gate()?;
        let write = |file: &Option<String>, content: &dyn Fn() -> String| -> CommandResult<()> {
            let Some(file) = file else { return Ok(()) };
            let done = replace(&env.directory.join(file), |to| to.write_all(content().as_bytes()));
            done.map(drop).context(format!("Error writing {}", quoted(file)))
        };
        write(&self.junit, &|| gate.junit(plans))?;
        write(&self.sarif, &|| gate.sarif(plans))?;
        Ok(plans.iter().flat_map(|plan| gate.failures(plan)).collect())
    }
}

impl Gate {
    fn failures(&self, plan: &Gated<'_>) -> Vec<String> {
        let line = |condition: &Condition, text: String| format!("{}: {condition}: {text}", plan.path);
        self.conditions.iter().flat_map(|c| c.holds(plan).into_iter().map(move |text| line(c, text))).collect()
    }

    /// One suite per plan, one case per condition.
    fn junit(&self, plans: &[Gated<'_>]) -> String {
        let mut suites = String::new();
        let (mut tests, mut failed) = (0_usize, 0_usize);
        for plan in plans {
            let (mut cases, mut failures) = (String::new(), 0_usize);
            let class = xml(&format!("{}.{}", plan.namespace, plan.job_id));
            for condition in &self.conditions {
                let lines = condition.holds(plan);
                let name = xml(&condition.to_string());
                if lines.is_empty() {
                    cases += &format!("    <testcase classname=\"{class}\" name=\"{name}\"/>\n");
                    continue;
                }
                failures = failures.saturating_add(1);
                cases += &format!(
                    "    <testcase classname=\"{class}\" name=\"{name}\">\n      <failure message=\"{}\" \
                     type=\"{name}\">{}</failure>\n    </testcase>\n",
                    condition.about(),
                    xml(&lines.join("\n"))
                );
            }
            let n = self.conditions.len();
            let name = xml(plan.path);
            suites += &format!(
                "  <testsuite name=\"{name}\" tests=\"{n}\" failures=\"{failures}\" errors=\"0\">\n{cases}  \
                 </testsuite>\n"
            );
            (tests, failed) = (tests.saturating_add(n), failed.saturating_add(failures));
        }
        format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"encamp job plan\" tests=\"{tests}\" \
             failures=\"{failed}\" errors=\"0\">\n{suites}</testsuites>\n"
        )
    }

    /// One result per line about a plan; an error if `-fail-on` names its condition, otherwise a note.
    fn sarif(&self, plans: &[Gated<'_>]) -> String {
        let named = self.conditions.iter().copied().filter(|c| !PROBLEMS.contains(c));
        let conditions: Vec<Condition> = PROBLEMS.into_iter().chain(named).collect();
        let mut results = Vec::new();
        for plan in plans {
            for condition in &conditions {
                let level = if self.conditions.contains(condition) { "error" } else { "note" };
                results.extend(condition.holds(plan).into_iter().map(|text| {
                    json!({
                        "ruleId": condition.rule(),
                        "level": level,
                        "message": {"text": format!("Job {}: {text}", quoted(plan.job_id))},
                        "locations": [{
                            "physicalLocation": {
                                "artifactLocation": {"uri": uri(plan.path)},
                                "region": {"startLine": 1},
                            }
                        }],
                    })
                }));
            }
        }
        let mut rules: Vec<Value> = Vec::new();
        for condition in PLAIN.into_iter().chain([Condition::Priority(0)]) {
            rules.push(json!({"id": condition.rule(), "shortDescription": {"text": condition.about()}}));
        }
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {"name": "encamp", "version": env!("CARGO_PKG_VERSION"), "rules": rules}},
                "results": results,
            }],
        });
        format!("{log:#}\n")
    }
}

/// Text as it stands in XML, without the control characters that XML cannot contain.
fn xml(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

/// A path as a relative reference of a URI.
fn uri(path: &str) -> String {
    path.split('/').map(|part| encamp_api::path("", part, "")).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_are_read_and_others_refused() {
        let gate = |words: &[&str]| {
            let fail_on = words.iter().map(|w| (*w).to_string()).collect();
            GateFlags { fail_on, ..GateFlags::default() }.gate().map(|g| g.conditions)
        };
        assert_eq!(
            gate(&["unplaced,evict", "priority>=70", "evict"]),
            Ok(vec![Condition::Unplaced, Condition::Evict, Condition::Priority(70)])
        );
        let hint = |word: &str| gate(&[word]).unwrap_err().hint().unwrap_or_default().to_string();
        assert!(hint("evicted").starts_with("Did you mean evict? Valid are changed, create, unplaced, "));
        assert!(hint("priority").starts_with("Did you mean priority>=? "));
        assert_eq!(hint("priority>=high"), "priority>= takes a number");
        assert!(hint("").starts_with("Valid are "));
    }

    #[test]
    fn names_cannot_change_the_files() {
        assert_eq!(xml("a<b>&\"\u{1b}c"), "a&lt;b&gt;&amp;&quot;\u{fffd}c");
        assert_eq!(uri("jobs/a b#c.hcl"), "jobs/a%20b%23c.hcl");
    }
}
