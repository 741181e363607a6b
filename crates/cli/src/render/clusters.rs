//! Output of `job plan` for several clusters: a row for each.

use serde::Serialize;
use serde_json::{Value, json};

use super::RenderError;
use super::findings;
use super::json::plan_response;
use super::markdown::code;
use super::page;
use super::plan_summary::{PlanCounts, Severity};
use super::table::{Form, cell, headed, table};
use super::ui::Ui;
use super::values::{counted, megabytes, megahertz, score};
use encamp_jobspec::explain::Finding;
use encamp_model::{JobPlanResponse, quoted};
use encamp_plan::fit::Fit;

/// What a cluster was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A saved context: a running cluster.
    Context,
    /// A snapshot file or server backup.
    Snapshot,
}

/// A cluster.
pub struct Row {
    /// The name of the context, or the path of the file.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What `job plan` on this cluster alone would end with.
    pub exit_code: u8,
    /// The plan, or why there is none.
    pub result: Result<Fitted, Failure>,
}

/// A plan and its figures.
pub struct Fitted {
    /// The plan.
    pub response: JobPlanResponse,
    /// The figures.
    pub fit: Option<Fit>,
    /// Warnings about the job file, if they belong to the JSON form of the plan.
    pub remarks: Option<Vec<Finding>>,
}

/// Why there is no plan.
pub struct Failure {
    /// The kind of the reason.
    pub why: Why,
    /// The message.
    pub text: String,
}

/// Kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// The cluster could not be read.
    Unreadable,
    /// The servers would refuse the job.
    Refused,
}

/// The data to print.
pub struct View<'a> {
    /// ID of the job.
    pub job: &'a str,
    /// The clusters.
    pub rows: &'a [&'a Row],
}

/// What a plan on a cluster amounts to, from the best to the worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Fits,
    Preempts,
    Rejected,
    Unplaced,
    Refused,
    Error,
}

impl Verdict {
    fn of(row: &Row) -> Verdict {
        let counts = match &row.result {
            Ok(fitted) => PlanCounts::of(&fitted.response),
            Err(Failure { why: Why::Refused, .. }) => return Verdict::Refused,
            Err(Failure { why: Why::Unreadable, .. }) => return Verdict::Error,
        };
        match counts {
            PlanCounts { unplaced: 1.., .. } => Verdict::Unplaced,
            PlanCounts { rejected: 1.., .. } => Verdict::Rejected,
            PlanCounts { evicted: 1.., .. } => Verdict::Preempts,
            PlanCounts { .. } => Verdict::Fits,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Verdict::Fits => "fits",
            Verdict::Preempts => "preempts",
            Verdict::Rejected => "rejected",
            Verdict::Unplaced => "unplaced",
            Verdict::Refused => "refused",
            Verdict::Error => "error",
        }
    }

    fn severity(self) -> Severity {
        match self {
            Verdict::Fits => Severity::Harmless,
            Verdict::Preempts => Severity::Disruptive,
            Verdict::Rejected | Verdict::Unplaced | Verdict::Refused | Verdict::Error => Severity::Failing,
        }
    }
}

/// The rows as JSON (`docs/reference/job-plan-clusters.schema.json`).
///
/// # Errors
/// A plan has no JSON form.
pub fn value(view: &View<'_>) -> Result<Value, RenderError> {
    let clusters = view.rows.iter().map(|row| value_of(row)).collect::<Result<Vec<Value>, RenderError>>()?;
    Ok(json!({"SchemaVersion": 1, "JobID": view.job, "Clusters": clusters}))
}

fn value_of(row: &Row) -> Result<Value, RenderError> {
    let (fit, counts, plan, error) = match &row.result {
        Ok(fitted) => {
            let c = PlanCounts::of(&fitted.response);
            let counts = json!({"Unplaced": c.unplaced, "Preempted": c.evicted, "Rejected": c.rejected});
            let mut plan = plan_response(&fitted.response)?;
            if let (Value::Object(members), Some(remarks)) = (&mut plan, &fitted.remarks) {
                members.insert("Diagnostics".into(), findings::values(remarks));
            }
            (fitted.fit, Some(counts), Some(plan), None)
        }
        Err(failure) => (None, None, None, Some(failure.text.as_str())),
    };
    Ok(json!({
        "Name": row.name, "Kind": row.kind, "Result": Verdict::of(row), "ExitCode": row.exit_code,
        "Fit": fit.map(serde_json::to_value).transpose()?, "Counts": counts, "Error": error, "Plan": plan,
    }))
}

/// The verdict about all clusters.
fn verdict(view: &View<'_>) -> (String, Severity) {
    let verdicts: Vec<Verdict> = view.rows.iter().map(|row| Verdict::of(row)).collect();
    let severity = verdicts.iter().map(|v| v.severity()).max().unwrap_or(Severity::Harmless);
    let fits = verdicts.iter().filter(|v| **v <= Verdict::Preempts).count();
    let all = counted(view.rows.len(), "cluster", "clusters");
    let preempting = verdicts.iter().filter(|v| **v == Verdict::Preempts).count();
    let only = if preempting > 0 { format!(", on {preempting} of them only by preemption") } else { String::new() };
    (format!("Job {} fits on {fits} of {all}{only}.", quoted(view.job)), severity)
}

/// Prints the rows, and below them why there are no plans.
pub fn print(ui: &mut Ui<'_>, view: &View<'_>) {
    let (text, severity) = verdict(view);
    ui.output_markup(&format!("{}{}[reset]\n", severity.tags(), page::sentence(&text)));
    let rows = view.rows.iter().map(|row| cells(row, cell(&row.name)).join("|"));
    ui.output(&table(&headed(&HEAD.join("|"), rows), Form::Figures));
    for (row, failure) in view.rows.iter().filter_map(|row| Some((row, row.result.as_ref().err()?))) {
        ui.output(&format!("\n{}:", row.name));
        ui.output(&page::sentence(failure.text.trim_end()));
    }
}

const HEAD: [&str; 8] = ["Cluster", "Result", "Placed", "Unplaced", "Preempted", "Score", "CPU free", "Mem free"];

/// The cells of a row.
fn cells(row: &Row, name: String) -> [String; 8] {
    let none = || "-".to_string();
    let result = Verdict::of(row).word().to_string();
    let Ok(fitted) = &row.result else { return [name, result, none(), none(), none(), none(), none(), none()] };
    let counts = PlanCounts::of(&fitted.response);
    let figure = |text: &dyn Fn(&Fit) -> String| fitted.fit.as_ref().map_or_else(none, text);
    [
        name,
        result,
        figure(&|f| f.placed.to_string()),
        counts.unplaced.to_string(),
        counts.evicted.to_string(),
        figure(&|f| f.score.map_or_else(none, score)),
        figure(&|f| megahertz(f.free.cpu_free)),
        figure(&|f| megabytes(f.free.memory_free_mb)),
    ]
}

/// Formats the rows as a comment on a merge request.
pub fn markdown(view: &View<'_>) -> String {
    let (text, severity) = verdict(view);
    let mark = if severity == Severity::Harmless { "" } else { ":warning: " };
    let mut out = format!(
        "## Plan of job {} on {}\n\n{mark}{text}\n\n| {} |\n|{}\n",
        code(view.job),
        counted(view.rows.len(), "cluster", "clusters"),
        HEAD.join(" | "),
        "---|".repeat(HEAD.len())
    );
    for row in view.rows {
        out += &format!("| {} |\n", cells(row, code(&row.name)).join(" | "));
    }
    for (row, failure) in view.rows.iter().filter_map(|row| Some((row, row.result.as_ref().err()?))) {
        let lines: Vec<String> = failure.text.trim().lines().map(code).collect();
        out += &format!("\n{}: {}\n", code(&row.name), lines.join(" "));
    }
    out
}
