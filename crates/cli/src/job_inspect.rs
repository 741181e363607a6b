//! `job inspect`: prints a job as JSON (`docs/spec/cli.md §8.7`).

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use serde_json::Value;

use super::cluster::{SnapshotFlags, block_on};
use super::diagnostics::{DiagnosticsFormat, Refused};
use super::flags::parse_int;
use super::job_convert;
use super::job_file::VariableFlags;
use super::lookup::{self, LookupError};
use super::prelude::*;
use super::render::styled::one_line;
use super::render::{json, template};
use encamp_api::{ApiError, Client, Query};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::write::{Written, write};
use encamp_model::responses::JobListStub;
use encamp_model::{Job, JobSubmission, api, quoted};
use encamp_state::State;

/// Inspect a job
///
/// Prints a job as JSON. The argument is the job ID or a prefix of it. The job is read from the running cluster, or
/// from the snapshot file given with -snapshot.
///
/// With -hcl, the submitted job file is printed instead. If the servers store none, and with -snapshot, a job file is
/// generated from the job: it parses back to the same job, and values that may be omitted are marked "# default". A
/// warning names what HCL cannot express.
///
/// Without an argument, -json and -t print a list of all jobs.
///
/// With -file, the argument is a job file, which is printed with all defaults; no cluster is contacted.
#[derive(Debug, clap::Parser)]
pub struct JobInspect {
    /// Cluster snapshot file or server backup to read the job from
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    /// Print the submitted job file, or one that is generated from the job
    #[arg(long)]
    pub hcl: bool,
    /// With -hcl, also print the command that submitted the job, including variables, on standard error
    #[arg(long)]
    pub with_vars: bool,
    /// Treat the argument as an HCL job file, or - for standard input
    #[arg(long)]
    pub file: bool,
    /// Print this version of the job
    #[arg(long, value_name = "version", value_parser = parse_int)]
    pub version: Option<i64>,
    /// Print the job without the surrounding "Job" key
    #[arg(long)]
    pub json: bool,
    /// Format the job with this Go template
    #[arg(long = "t", value_name = "template")]
    pub template: Option<String>,
    #[command(flatten)]
    pub(crate) variables: VariableFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(
        value_name = "job",
        add = CompleteWith::IfFlag("file", &CompleteWith::JOB_FILES, &CompleteWith::Live(Objects::Jobs))
    )]
    pub(crate) args: Vec<String>,
}

/// What was submitted, and the namespace and ID of its job.
type Submitted = (JobSubmission, String, String);

/// The beginning of the messages about failed requests.
const FAILED: &str = "Error inspecting job";

impl Run for JobInspect {
    const META: Meta = Meta::new("job inspect")
        .alias("inspect", Listing::Alias)
        .paged()
        .exit_status(&[
            (0, "The command succeeded."),
            (1, "An error occurred."),
            (2, "With -hcl: HCL cannot express all of the job; a warning names the differences."),
        ])
        .examples(&[
            ("Print a job as JSON", "encamp job inspect web"),
            ("Print the job file that was submitted", "encamp job inspect -hcl web"),
            (
                "Print a job of a snapshot as a job file",
                "encamp job inspect -hcl \\
    -snapshot fixtures/demo/cluster.json api",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let name = match self.args.as_slice() {
            [name] => name,
            [] if self.lists() => return self.print_list(context),
            _ => return context.argument_error("This command takes one argument: <job>"),
        };
        if self.json && self.template.is_some() {
            return context.failure("Both json and template formatting are not allowed");
        }
        if self.hcl && self.json {
            return context.failure("can only use one of -hcl or -json");
        }
        if self.with_vars && !self.hcl {
            return context.failure("can only use -with-vars with -hcl");
        }
        if self.hcl {
            return self.print_job_file(name, context);
        }
        let job = if self.file {
            self.read_file(name, context.env)
        } else if self.snapshot.is_some() {
            self.find_in_snapshot(name, context.env).map_err(Refused::from)
        } else {
            self.ask(name, context.env).map(|(job, _)| job).map_err(Refused::from)
        };
        match job.and_then(|job| self.text(&job).map_err(Refused::from)) {
            Ok(text) => {
                context.ui.output(&text);
                0
            }
            Err(e) => context.refuse(e, DiagnosticsFormat::Text),
        }
    }
}

impl JobInspect {
    /// Whether a list of all jobs is requested: -json or -t without a job.
    fn lists(&self) -> bool {
        let one = self.hcl || self.file || self.snapshot.is_some() || self.version.is_some();
        (self.json || self.template.is_some()) && !one
    }

    /// Prints the list of jobs.
    fn print_list(&self, context: &mut Context<'_, '_>) -> u8 {
        let format = FormatFlags { json: self.json, template: self.template.clone() };
        context.attempt(|context| {
            format.wanted()?;
            let connection = Connection::new(&self.general, context.env)?;
            let rows = connection.wait(connection.client.rows::<Value>("/v1/jobs", &Query::default()));
            let (rows, _) = rows.context("Error querying jobs")?;
            format.print(context.ui, &Value::Array(rows), "[]*api.JobListStub")
        })
    }

    /// Reads the job of the running cluster; also returns a client for further requests.
    fn ask(&self, name: &str, env: &Environment) -> CommandResult<(api::Job, Client)> {
        let client = self.general.client(env)?;
        let job = block_on(async {
            let (namespace, id) = lookup::job(&client, name, &env.zone()).await?;
            let namespace = namespace.as_deref().or(client.config().namespace.as_deref()).unwrap_or("default");
            let Some(version) = self.version else {
                return Ok(client.job_as_stored(namespace, &id).await.context(FAILED)?.0);
            };
            let (versions, _) = client.job_versions_as_stored(namespace, &id).await.context(FAILED)?;
            let wanted = u64::try_from(version).ok();
            versions
                .into_iter()
                .find(|job| job.version.is_some() && job.version == wanted)
                .ok_or_else(|| missing(&id, version))
        })??;
        Ok((job, client))
    }

    /// Prints the submitted job file, or one that is generated from the job.
    fn print_job_file(&self, name: &str, context: &mut Context<'_, '_>) -> u8 {
        if self.file {
            return context.failure("-hcl prints the job file of a stored job, so it cannot be combined with -file");
        }
        context.attempt(|context| {
            if self.snapshot.is_some() {
                let job = self.find_in_snapshot(name, context.env)?;
                return print_written(job, "A snapshot does not contain submitted job files", context);
            }
            match self.submitted(name, context.env)? {
                (_, Some((submission, namespace, id))) => {
                    if self.with_vars {
                        context.ui.error_plain(&how_to_run(&submission, &namespace, &id));
                    }
                    context.ui.output(&submission.source);
                    Ok(0)
                }
                (job, None) => print_written(job, "The servers do not store a job file for this version", context),
            }
        })
    }

    /// The job of the running cluster and, if the servers store it, its submission with its namespace and ID.
    fn submitted(&self, name: &str, env: &Environment) -> CommandResult<(api::Job, Option<Submitted>)> {
        let (job, client) = self.ask(name, env)?;
        let id = job.id.clone().unwrap_or_default();
        let namespace = job.namespace.clone().unwrap_or_else(|| "default".into());
        match block_on(client.job_submission(&namespace, &id, job.version.unwrap_or(0)))? {
            Ok((submission, _)) => Ok((job, Some((submission, namespace, id)))),
            Err(ApiError::Status { status: 404, .. }) => Ok((job, None)),
            Err(e) => Err(e).context(FAILED),
        }
    }

    /// The command that reads a job for another one.
    fn of(snapshot: Option<&str>, general: &GeneralFlags) -> JobInspect {
        JobInspect {
            snapshot: snapshot.map(String::from),
            reading: SnapshotFlags::default(),
            hcl: true,
            with_vars: false,
            file: false,
            version: None,
            json: false,
            template: None,
            variables: VariableFlags { hcl2_strict: true, var: Vec::new(), var_file: Vec::new() },
            general: general.clone(),
            args: Vec::new(),
        }
    }

    fn text(&self, job: &api::Job) -> CommandResult<String> {
        const FAILED: &str = "Error formatting the data";
        let value = serde_json::to_value(job).context(FAILED)?;
        let text = match &self.template {
            Some(text) => template::render(text, &value, "*api.Job").map_err(CommandError::new),
            None if self.json => json::indented(&value).map_err(CommandError::new),
            None => json::indented(&BTreeMap::from([("Job", value)])).map_err(CommandError::new),
        };
        text.context(FAILED)
    }

    fn read_file(&self, path: &str, env: &Environment) -> Result<api::Job, Refused> {
        let mut job = self.variables.load(path, env)?.job;
        canonicalize(&mut job);
        Ok(job)
    }

    fn find_in_snapshot(&self, name: &str, env: &Environment) -> CommandResult<api::Job> {
        let file = self.snapshot.as_deref().unwrap_or_default();
        let cluster = self.reading.load(file, env)?;
        let found = find(&cluster.state, self.general.namespace(env).unwrap_or("default"), name.trim(), &env.zone())?;
        let job = match self.version {
            None => found,
            Some(version) => {
                let stored = u64::try_from(version).ok();
                let stored = stored.and_then(|v| cluster.state.job_version(&found.namespace, &found.id, v));
                stored.ok_or_else(|| missing(&found.id, version))?
            }
        };
        as_client_sees_it(job).context(FAILED)
    }
}

/// The job file of a registered job: the submitted one, with the variables it was submitted with as name=value, else one
/// that is generated from the job; a comment names what HCL cannot express.
///
/// # Errors
/// There is no such job, or no job file can be generated.
pub(super) fn job_file_of(
    name: &str,
    snapshot: Option<&str>,
    general: &GeneralFlags,
    env: &Environment,
) -> CommandResult<(String, Vec<String>)> {
    let inspect = JobInspect::of(snapshot, general);
    let job = match snapshot {
        Some(_) => inspect.find_in_snapshot(name, env)?,
        None => match inspect.submitted(name, env)? {
            (_, Some((submission, ..))) if submission.format == "hcl2" => {
                let variables = variables_of(&submission);
                return Ok((submission.source, variables));
            }
            (job, _) => job,
        },
    };
    let written = written(job)?;
    if written.lost.is_empty() {
        return Ok((written.text, Vec::new()));
    }
    let lost: Vec<String> = written.lost.iter().map(|path| format!("#   {}\n", one_line(path))).collect();
    let note = format!("# HCL cannot express all of the job. This file differs in:\n{}\n", lost.concat());
    Ok((note + &written.text, Vec::new()))
}

/// Prints a job file that is generated from the job, and the reason on standard error.
fn print_written(job: api::Job, why: &str, context: &mut Context<'_, '_>) -> CommandResult<u8> {
    let written = written(job)?;
    let note = format!("{why}. This job file is generated from the job; values marked \"# default\" may be omitted.");
    context.ui.warn(&note);
    Ok(job_convert::print(&written, context))
}

/// The job file that is generated from a job.
fn written(mut job: api::Job) -> CommandResult<Written> {
    canonicalize(&mut job);
    write(&job).map_err(|e| CommandError::new(format!("{FAILED}: no job file can be generated: {e}")))
}

fn missing(id: &str, version: i64) -> CommandError {
    CommandError::new(format!("{FAILED}: job {} with version {version} couldn't be found", quoted(id)))
}

/// The variables that a job was submitted with, as name=value: those of flags, then those of files.
fn variables_of(submission: &JobSubmission) -> Vec<String> {
    let lines = submission.variables.lines().map(str::trim).filter(|l| !l.is_empty()).map(str::to_string);
    submission.variable_flags.iter().map(|(name, value)| format!("{name}={value}")).chain(lines).collect()
}

/// The command that submitted the job.
fn how_to_run(submission: &JobSubmission, namespace: &str, id: &str) -> String {
    let variables: String = variables_of(submission).iter().map(|v| format!("-var {v} ")).collect();
    format!(
        "\nTo run this job as originally submitted:\n\n$ encamp job inspect -namespace {namespace} -hcl {id} |\n    \
         encamp job run -namespace {namespace} {variables}{id}\n"
    )
}

/// The job whose ID is the prefix, or the only one whose ID starts with it; `*` searches all namespaces.
pub(super) fn find<'a>(
    state: &'a State,
    namespace: &str,
    prefix: &str,
    zone: &TimeZone,
) -> Result<&'a Job, LookupError> {
    let jobs = state.jobs().map(|entry| entry.current.as_ref());
    let mut found: Vec<&Job> =
        jobs.filter(|job| (namespace == "*" || job.namespace == namespace) && job.id.starts_with(prefix)).collect();
    found.sort_by_key(|job| &job.id);
    let stubs: Vec<JobListStub> = found.iter().map(|job| job.stub(None, false)).collect();
    let chosen = lookup::choose(&stubs, prefix, namespace == "*", zone)?;
    let same = |job: &&&Job| chosen.is_some_and(|c| c.id == job.id && c.namespace == job.namespace);
    found.iter().find(same).copied().ok_or_else(|| lookup::not_found("", prefix))
}

/// A stored job in the form of the API.
fn as_client_sees_it(job: &Job) -> serde_json::Result<api::Job> {
    let mut value: Value = serde_json::to_value(job)?;
    if let Some(members) = value.as_object_mut() {
        members.insert("Payload".into(), serde_json::to_value(job.uncompressed_payload())?);
    }
    serde_json::from_value(value)
}
