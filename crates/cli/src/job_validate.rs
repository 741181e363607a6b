//! `job validate`: validates a job file (`docs/spec/cli.md §8.2`).

use super::cluster::{SnapshotFlags, block_on};
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::job_file::{JobFile, JobFileFlags, expanded};
use super::prelude::*;
use super::remarks;
use super::render::plan;
use super::render::values::counted;
use encamp_api::Client;
use encamp_jobspec::explain::{Finding, Severity};
use encamp_model::api;
use encamp_plan::verdict::{Accepted, Destination, Refusal, verdict, warning_items};
use encamp_state::State;

/// The message if no agent validated the driver configuration.
const NOT_ASKED: &str = "Driver configuration not validated since connection to Nomad agent couldn't be established.";

/// Validate a job file without registering it
///
/// Sends the job to the servers of the cluster for validation. If they do not respond, the structure of the job is
/// validated locally, without the parts that servers add (sidecars, implied constraints) and without the rules that
/// depend on the cluster (namespaces, node pools, settings). With -snapshot, no cluster is contacted, and all rules of
/// registration are applied with the cluster state of the file.
///
/// The path is a job file, or - for standard input. With several paths, or directories of job files, each file is
/// validated, followed by a summary.
#[derive(Debug, clap::Parser)]
pub struct JobValidate {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    /// Validate locally, with the namespaces, node pools and settings of this cluster snapshot file or server backup
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    /// Treat warnings as errors
    #[arg(long)]
    pub strict: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(value_name = "<path>...", add = CompleteWith::Every(&CompleteWith::JOB_FILES))]
    pub(crate) args: Vec<String>,
}

impl Run for JobValidate {
    const META: Meta = Meta::new("job validate")
        .alias("validate", Listing::Alias)
        .exit_status(&[(0, "The job is valid."), (1, "The job is invalid, or an error occurred.")])
        .examples(&[
            ("Validate a job file with the servers", "encamp job validate web.nomad.hcl"),
            (
                "Validate a job file with the namespaces and node pools of a snapshot",
                "encamp job validate -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered/api.hcl",
            ),
            (
                "Validate all job files of a directory",
                "encamp job validate -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/registered",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if self.args.iter().filter(|path| *path == "-").count() > 1 {
            return context.usage_error("Standard input can only be given once");
        }
        let path = match self.args.as_slice() {
            [] => return context.usage_error("This command takes one argument: <path>"),
            [path] if !context.env.directory.join(path).is_dir() => path,
            _ => return self.run_many(context),
        };
        let format = self.job.diagnostics;
        let judged = match self.judged(path, &mut None, context.env) {
            Ok(judged) => judged,
            Err(e) => return context.refuse(e, format),
        };
        if judged.offline && format == DiagnosticsFormat::Text {
            context.ui.output_markup(&format!("[bold][yellow]{NOT_ASKED}[reset]\n"));
        }
        match judged.verdict {
            Ok(warnings) if format == DiagnosticsFormat::Json => {
                let refused = self.strict && warnings.count() > 0;
                context.diagnose(!refused, &warnings.findings(&judged.file, self.strict));
                u8::from(refused)
            }
            Ok(warnings) => {
                plan::print_warnings(context.ui, &warnings.text);
                context.remark(&warnings.remarks, format);
                if self.strict && warnings.count() > 0 {
                    return context.failure(&warnings.refusal());
                }
                context.ui.output_markup("[bold][green]Job validation successful[reset]");
                0
            }
            Err(errors) => {
                if format == DiagnosticsFormat::Text {
                    context.ui.error_markup("[bold][red]Job validation errors:[reset]");
                }
                context.refuse(refused(errors, &judged.file), format)
            }
        }
    }
}

/// A job file and the verdict about it.
struct Judged {
    file: JobFile,
    /// The servers were not asked, or did not respond.
    offline: bool,
    /// The warnings, or the errors.
    verdict: Result<Warnings, Refusal>,
}

/// The warnings about a valid job.
struct Warnings {
    /// Those of servers, in one text.
    text: String,
    /// Those about settings without effect.
    remarks: Vec<Finding>,
}

impl Warnings {
    fn items(&self) -> Vec<String> {
        warning_items(&self.text).map(str::to_string).collect()
    }

    fn count(&self) -> usize {
        self.items().len().saturating_add(self.remarks.len())
    }

    /// All of them with their places, as errors if warnings are errors.
    fn findings(&self, file: &JobFile, strict: bool) -> Vec<Finding> {
        let severity = if strict { Severity::Error } else { Severity::Warning };
        let mut out = file.findings(&self.items(), severity);
        out.extend(self.remarks.iter().map(|remark| Finding { severity, ..remark.clone() }));
        out
    }

    /// The line that says why warnings are errors.
    fn refusal(&self) -> String {
        format!("The job is valid, but -strict treats its {} as errors", counted(self.count(), "warning", "warnings"))
    }
}

/// How many files have which verdict.
#[derive(Default)]
struct Counts {
    valid: usize,
    warned: usize,
    invalid: usize,
}

impl JobValidate {
    /// Validates one file. The state of `-snapshot` and its time are read once.
    fn judged(&self, path: &str, read: &mut Option<(State, i64)>, env: &Environment) -> Result<Judged, Refused> {
        let file = self.job.load(path, env)?;
        if self.snapshot.is_none() {
            let client = self.general.for_job(&file.job).client(env).map_err(|e| e.with_exit_code(255))?;
            if let Some(verdict) = ask(&client, &file.job) {
                let verdict = verdict.map(|text| Warnings { text, remarks: remarks::of(&file, None, env.now) });
                return Ok(Judged { file, offline: false, verdict });
            }
        }
        if let (Some(snapshot), None) = (&self.snapshot, &read) {
            let snapshot = self.reading.load(snapshot, env)?;
            let now = snapshot.now(env.now);
            *read = Some((snapshot.state, now));
        }
        let state = read.as_ref().map(|(state, _)| state);
        let now = read.as_ref().map_or(env.now, |(_, now)| *now);
        let nothing = State::new();
        let options = self.general.convert_options(&file.job, env, state.unwrap_or(&nothing));
        let verdict = verdict(file.job.clone(), &options, state).map(|Accepted { warnings, job: admitted }| {
            let destination = state.map(|state| Destination { state, admitted: &admitted });
            Warnings { text: warnings, remarks: remarks::of(&file, destination.as_ref(), now) }
        });
        Ok(Judged { file, offline: true, verdict })
    }

    /// Validates several files, those in directories included, and prints a summary.
    fn run_many(&self, context: &mut Context<'_, '_>) -> u8 {
        let paths = match expanded(&self.args, self.job.json, context.env) {
            Ok(paths) => paths,
            Err(e) => return context.report(&e),
        };
        let text = self.job.diagnostics == DiagnosticsFormat::Text;
        let (mut state, mut counts, mut findings) = (None, Counts::default(), Vec::new());
        let mut noted = false;
        for path in &paths {
            let judged = self.judged(path, &mut state, context.env);
            if text && !noted && judged.as_ref().is_ok_and(|j| j.offline) {
                noted = true;
                context.ui.output_markup(&format!("[bold][yellow]{NOT_ASKED}[reset]\n"));
            }
            if text {
                context.ui.output_markup(&format!("[bold]==> {path}[reset]"));
            }
            let refused = match judged {
                Ok(Judged { file, verdict: Ok(warnings), .. }) => {
                    let refused = self.strict && warnings.count() > 0;
                    let counted = match warnings.count() {
                        0 => &mut counts.valid,
                        _ if refused => &mut counts.invalid,
                        _ => &mut counts.warned,
                    };
                    *counted += 1;
                    if text {
                        plan::print_warnings(context.ui, &warnings.text);
                        context.remark(&warnings.remarks, self.job.diagnostics);
                    }
                    if text && refused {
                        context.failure(&format!("{}\n", warnings.refusal()));
                    } else if text {
                        context.ui.output_markup("[green]The job is valid.[reset]\n");
                    }
                    findings.extend(warnings.findings(&file, self.strict));
                    continue;
                }
                Ok(Judged { file, verdict: Err(errors), .. }) => refused(errors, &file),
                Err(refused) => refused,
            };
            counts.invalid += 1;
            if text {
                // Both streams may be the same terminal.
                context.ui.flush();
                context.refuse(refused, DiagnosticsFormat::Text);
                context.ui.output("");
            } else {
                findings.extend(refused.findings());
            }
        }
        if text {
            context.ui.output_markup(&counts.summary(paths.len()));
        } else {
            context.diagnose(counts.invalid == 0, &findings);
        }
        u8::from(counts.invalid > 0)
    }
}

impl Counts {
    /// The line about all files, in the colour of the worst verdict.
    fn summary(&self, files: usize) -> String {
        let tag = match self {
            Counts { invalid: 1.., .. } => "[red]",
            Counts { warned: 1.., .. } => "[yellow]",
            Counts { .. } => "[green]",
        };
        let files = counted(files, "job file", "job files");
        let Counts { valid, warned, invalid } = self;
        format!("[bold]{tag}{files}: {valid} valid, {warned} valid with warnings, {invalid} invalid[reset]")
    }
}

/// The verdict of the servers; `None` if they do not respond for any reason.
fn ask(client: &Client, job: &api::Job) -> Option<Result<String, Refusal>> {
    let namespace = job.namespace.as_deref().filter(|n| !n.is_empty());
    let (answer, _) = block_on(client.validate_job(namespace, job)).ok()?.ok()?;
    if answer.error.is_empty() {
        return Some(Ok(answer.warnings));
    }
    Some(Err(Refusal { text: answer.error, items: answer.validation_errors }))
}

/// The refusal of the job, with the places of the errors in its file.
fn refused(errors: Refusal, file: &JobFile) -> Refused {
    let findings = file.findings(&errors.items, Severity::Error);
    Refused { error: CommandError::new(errors.text), findings }
}
