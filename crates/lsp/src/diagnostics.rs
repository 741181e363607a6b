//! The problems of a file: those that `job validate` finds, and what lies behind the first ones.

use lsp_types::{Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString};

use crate::cluster::Cluster;
use crate::document::{Document, Kind};
use crate::surroundings::{OtherProblem, Surroundings};
use encamp_jobspec::explain::{
    Finding, Place, Severity, Stage, parse_error_of, parse_json_error, partial_parse_error, plain_secrets,
    terraform_names, validation,
};
use encamp_jobspec::parse::parse_json;
use encamp_model::api;
use encamp_plan::remarks::{Remark, findings};
use encamp_plan::verdict::{Accepted, verdict_with_remarks, warning_items};

/// What is known of the problems of a file.
pub(crate) struct Analysis {
    /// The findings of `job validate`, followed by those that only an editor shows; without the remarks.
    pub findings: Vec<Finding>,
    /// The settings without effect, as far as the file alone says; `None` where registration refuses the job.
    pub remarks: Option<Vec<Remark>>,
    /// The job, if the file describes one.
    pub job: Option<api::Job>,
    /// The problems of files that are no job files.
    pub others: Vec<OtherProblem>,
}

/// Judges a file.
pub(crate) fn analyse(document: &Document, around: &dyn Surroundings, cluster: Option<&Cluster>) -> Analysis {
    let mut out = Analysis { findings: Vec::new(), remarks: None, job: None, others: Vec::new() };
    match document.kind {
        Kind::Unknown => {}
        Kind::Other(file) => out.others = around.check(file, &document.path, document.text.as_str()),
        Kind::ApiJob => match parse_json(document.text.as_str().as_bytes()) {
            Ok(job) => {
                (out.findings, out.remarks) = judged(document, &job, around, cluster);
                out.job = Some(job);
            }
            Err(e) => out.findings = vec![parse_json_error(&document.name(), document.text.as_str(), &e)],
        },
        Kind::Job => {
            let options = around.parse_options(&document.name(), &document.directory);
            let tree = document.tree();
            match tree.job(&options) {
                Ok(job) => {
                    (out.findings, out.remarks) = judged(document, &job, around, cluster);
                    out.job = Some(job);
                }
                Err(e) => {
                    out.findings = parse_error_of(&e, tree, document.outline());
                    further(document, &mut out.findings, around, cluster);
                }
            }
        }
    }
    out
}

/// The findings about a job that could be read, and the remarks on it.
fn judged(
    document: &Document,
    job: &api::Job,
    around: &dyn Surroundings,
    cluster: Option<&Cluster>,
) -> (Vec<Finding>, Option<Vec<Remark>>) {
    let outline = document.outline();
    let options = around.convert_options(job, cluster.and_then(|c| c.summary.region()));
    let now = cluster.map_or_else(|| around.now(), |c| c.summary.now);
    match verdict_with_remarks(job.clone(), &options, cluster.map(|c| &c.settings), now) {
        Err(refusal) => (validation(outline, &refusal.items, Severity::Error), None),
        Ok((Accepted { warnings, .. }, remarks)) => {
            let items: Vec<String> = warning_items(&warnings).map(str::to_owned).collect();
            let mut out = validation(outline, &items, Severity::Warning);
            out.extend(terraform_names(outline, document.syntax()));
            out.extend(plain_secrets(outline));
            (out, Some(remarks))
        }
    }
}

/// All findings about a file: those of the analysis, and the remarks. Those that need the nodes of the cluster are of the
/// last plan, at their places in the present text.
pub(crate) fn all_findings(document: &Document, analysis: &Analysis) -> Vec<Finding> {
    let mut out = analysis.findings.clone();
    let Some(own) = &analysis.remarks else { return out };
    let planned = document.planned().and_then(|(_, planned)| planned.remarks.as_ref());
    out.extend(findings(document.outline(), planned.unwrap_or(own)));
    out
}

/// Adds the findings of later phases, which the first problems hide. What stands in a line that has a finding already
/// follows from it.
fn further(document: &Document, found: &mut Vec<Finding>, around: &dyn Surroundings, cluster: Option<&Cluster>) {
    let partial = document.partial(around);
    let mut more = partial_parse_error(&partial.diagnostics, document.outline());
    if let (true, true, Some(job)) = (partial.whole, more.is_empty(), &partial.job) {
        let broken: Vec<usize> = found.iter().filter_map(|f| Some(bytes(document, f.place.as_ref()?).0)).collect();
        let (mut judged, remarks) = judged(document, job, around, cluster);
        judged.extend(findings(document.outline(), &remarks.unwrap_or_default()));
        more.extend(judged.into_iter().filter(|f| stands(document, f, &broken)));
    }
    let name = document.name();
    let line = |f: &Finding| f.place.as_ref().filter(|p| p.range.file == name).map(|p| p.range.start_line);
    let mut lines: Vec<Option<usize>> = found.iter().map(line).collect();
    for finding in more {
        let at = line(&finding);
        let same = |other: &Finding| other.message == finding.message && other.place == finding.place;
        let follows = at.is_some() && lines.contains(&at);
        if at.is_none() || follows || found.iter().any(same) {
            continue;
        }
        if finding.stage == Stage::Parse {
            lines.push(at);
        }
        found.push(finding);
    }
}

/// Whether a finding stands although values at these places could not be read: what its block misses may be such a value.
fn stands(document: &Document, finding: &Finding, broken: &[usize]) -> bool {
    let Some(place) = &finding.place else { return false };
    let around = document.outline().around(bytes(document, place).0);
    let block = around.last().map(|e| e.span.start as usize..e.span.end as usize);
    block.is_some_and(|block| !broken.iter().any(|at| block.contains(at)))
}

/// The diagnostics of a document, as the protocol has them.
pub(crate) fn published(document: &Document, analysis: &Analysis) -> Vec<Diagnostic> {
    let mut out: Vec<Diagnostic> = all_findings(document, analysis).iter().map(|f| diagnostic(document, f)).collect();
    out.extend(analysis.others.iter().map(|p| other(document, p)));
    out
}

pub(crate) fn diagnostic(document: &Document, finding: &Finding) -> Diagnostic {
    let own = finding.place.as_ref().filter(|p| p.range.file == document.name());
    let mut message = finding.message.clone();
    if let (None, Some(place)) = (own, &finding.place) {
        message = format!("{}: {message}", place.range);
    }
    if let Some(suggestion) = &finding.suggestion {
        message = format!("{message}\nhelp: {suggestion}");
    }
    let related = finding.related.as_ref().filter(|(place, _)| place.range.file == document.name());
    Diagnostic {
        range: own.map(|p| range(document, p)).unwrap_or_default(),
        severity: Some(severity(finding.severity == Severity::Warning)),
        code: Some(NumberOrString::String(stage(finding.stage).into())),
        source: Some("encamp".into()),
        related_information: related.map(|(place, why)| {
            let location = Location { uri: document.uri.clone(), range: range(document, place) };
            vec![DiagnosticRelatedInformation { location, message: why.clone() }]
        }),
        message,
        ..Diagnostic::default()
    }
}

fn severity(warning: bool) -> DiagnosticSeverity {
    if warning { DiagnosticSeverity::WARNING } else { DiagnosticSeverity::ERROR }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Read => "read",
        Stage::Parse => "parse",
        Stage::Validate => "validate",
    }
}

/// The bytes of a place of a document.
fn bytes(document: &Document, place: &Place) -> (usize, usize) {
    let r = &place.range;
    let from = document.text.offset_of_cluster(r.start_line, r.start_column);
    (from, document.text.offset_of_cluster(r.end_line, r.end_column).max(from))
}

fn range(document: &Document, place: &Place) -> lsp_types::Range {
    let (from, to) = bytes(document, place);
    document.text.range(from, to)
}

fn other(document: &Document, problem: &OtherProblem) -> Diagnostic {
    let text = &document.text;
    let (from, to) = problem.place.map_or((0, 0), |(line, column)| {
        let from = text.offset_of_cluster(line, column);
        (from, text.line_start(line.saturating_sub(1)) + text.line(line.saturating_sub(1)).len())
    });
    Diagnostic {
        range: text.range(from, to),
        severity: Some(severity(problem.warning)),
        source: Some("encamp".into()),
        message: problem.message.clone(),
        ..Diagnostic::default()
    }
}
