//! `job diff`: how two jobs differ (`docs/spec/cli.md §8.13`).

use std::sync::Arc;

use serde_json::json;

use super::cluster::{ClusterFlags, block_on};
use super::diagnostics::Refused;
use super::job_file::{HCL_ENDINGS, JSON_ENDINGS, JobFile, JobFileFlags};
use super::lookup;
use super::prelude::*;
use super::render::diff;
use encamp_jobspec::admission::{ServerContext, check_offline};
use encamp_jobspec::canonicalize::canonicalize;
use encamp_jobspec::convert::to_server;
use encamp_jobspec::diff::diff_jobs;
use encamp_model::{DiffType, Job, quoted};
use encamp_plan::capacity::subject;
use encamp_plan::server_context;
use encamp_plan::what_if::find;
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// Compare two jobs
///
/// Compares two jobs as the servers store them and prints the differences. Each job is a job file, - for standard input,
/// or the ID of a registered job, followed by @VERSION for a version other than the current one. With a job file alone,
/// the registered job of the same ID is compared with the file.
///
/// A job file whose name ends in .json is read as JSON, one whose name ends in .hcl or .nomad as HCL. Other job files, and
/// standard input, are HCL unless -json is given.
///
/// Registered jobs are read from the running cluster, or from the snapshot file or server backup given with -snapshot.
/// Two job files are compared without a cluster, unless -snapshot is given.
#[derive(Debug, clap::Parser)]
pub struct JobDiff {
    #[command(flatten)]
    pub(crate) job: JobFileFlags,
    #[command(flatten)]
    pub(crate) cluster: ClusterFlags,
    /// Show the contents of added and deleted groups and tasks
    #[arg(long)]
    pub verbose: bool,
    /// Print the differences as JSON. (-json is about job files)
    #[arg(long)]
    pub json_output: bool,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
    #[arg(
        value_name = "<job> [<job>]",
        add = CompleteWith::InTurn(&[CompleteWith::JOB_FILES, CompleteWith::JOB_FILES])
    )]
    pub(crate) args: Vec<String>,
}

/// A job as it is given on the command line.
enum Given {
    File(Box<JobFile>),
    Registered {
        id: String,
        version: Option<u64>,
    },
    /// The registered job of this namespace and ID, which may not be there.
    OfFile((String, String)),
}

/// A job to compare, and what it is called; `None`: there is no such job.
struct Side {
    name: String,
    job: Option<Arc<Job>>,
}

impl Side {
    fn registered(job: Arc<Job>) -> Side {
        Side { name: format!("job {} version {}", quoted(&job.id), job.version), job: Some(job) }
    }
}

/// An error about a job that was not found says how its argument was read.
fn read_as(error: CommandError, id: &str, version: Option<u64>) -> CommandError {
    match version {
        None => error,
        Some(version) => {
            let argument = format!("{id}@{version}");
            error.with_hint(format!("{} means version {version} of job {}", quoted(&argument), quoted(id)))
        }
    }
}

impl Run for JobDiff {
    const META: Meta = Meta::new("job diff")
        .usage_exit(255)
        .paged()
        .exit_status(&[(0, "The jobs are the same."), (1, "The jobs differ."), (255, "An error occurred.")])
        .offline_examples(&[
            (
                "Compare a job file with the registered job",
                "encamp job diff -snapshot fixtures/demo/cluster.json \\
    fixtures/demo/api-destructive.hcl",
            ),
            (
                "Compare two job files",
                "encamp job diff fixtures/demo/api-inplace.hcl \\
    fixtures/demo/api-destructive.hcl",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        if !(1..=2).contains(&self.args.len()) {
            return context.usage_error("This command takes one or two arguments: <job> [<job>]");
        }
        if self.args.iter().filter(|arg| *arg == "-").count() > 1 {
            return context.usage_error("Only one of the jobs can be read from standard input");
        }
        let (old, new) = match self.sides(context.env) {
            Ok(sides) => sides,
            Err(e) => return context.refuse(e, self.job.diagnostics),
        };
        context.attempt(|context| {
            let diff = diff_jobs(old.job.as_deref(), new.job.as_deref(), true).context("Error comparing the jobs")?;
            let same = diff.r#type == DiffType::None;
            if self.json_output {
                context.print_json(&json!({"SchemaVersion": 1, "Old": old.name, "New": new.name, "Diff": diff}))?;
            } else if same {
                context.ui.output("The jobs are the same.");
            } else {
                context.ui.output_markup(&format!("[bold]{} => {}[reset]\n", old.name, new.name));
                let text = context.ui.markup(diff::job(&diff, self.verbose).trim());
                context.ui.output(&text);
            }
            Ok(u8::from(!same))
        })
    }
}

impl JobDiff {
    /// The two jobs, in the form in which servers store them.
    fn sides(&self, env: &Environment) -> Result<(Side, Side), Refused> {
        let mut given = self.args.iter().map(|arg| self.given(arg, env)).collect::<Result<Vec<_>, _>>()?;
        if let [Given::File(file)] = given.as_slice() {
            let registered = of_file(file, &self.general.for_job(&file.job), env);
            given.insert(0, Given::OfFile(registered));
        }
        let [old, new] = given.as_slice() else {
            let line = format!("{} is no job file; give the job to compare it with", quoted(&self.args.concat()));
            return Err(CommandError::new(line).into());
        };
        if let (Given::File(old), Given::File(new), None) = (old, new, &self.cluster.snapshot) {
            return Ok((offline(old, &self.general, env)?, offline(new, &self.general, env)?));
        }
        let general = [old, new].into_iter().find_map(|g| match g {
            Given::File(file) => Some(self.general.for_job(&file.job)),
            Given::Registered { .. } | Given::OfFile(_) => None,
        });
        let general = general.unwrap_or_else(|| self.general.clone());
        let (old_key, new_key) = (self.key(old, &general, env)?, self.key(new, &general, env)?);
        let detail = Detail::Jobs(vec![old_key.clone(), new_key.clone()]);
        let (state, _, now) = self.cluster.load(&general, detail, env)?.into_state(false, env);
        let side = |given, key| self.side(given, key, &state, (&general, now), env);
        Ok((side(old, &old_key)?, side(new, &new_key)?))
    }

    /// What an argument names.
    fn given(&self, arg: &str, env: &Environment) -> Result<Given, Refused> {
        if let Some(json) = self.file_is_json(arg, env) {
            let mut flags = JobFileFlags { json, ..self.job.clone() };
            let beside_hcl = self.args.iter().any(|other| self.file_is_json(other, env) == Some(false));
            if json && beside_hcl {
                // The variables are those of the other file.
                (flags.variables.var, flags.variables.var_file) = (Vec::new(), Vec::new());
            }
            return Ok(Given::File(Box::new(flags.load(arg, env)?)));
        }
        let version = arg.rsplit_once('@').and_then(|(id, version)| Some((id, version.parse().ok()?)));
        Ok(match version {
            Some((id, version)) => Given::Registered { id: id.to_string(), version: Some(version) },
            None => Given::Registered { id: arg.to_string(), version: None },
        })
    }

    /// Whether a job file is JSON. `None`: the argument names no file. The name of a job file is one also where there is
    /// no such file.
    fn file_is_json(&self, arg: &str, env: &Environment) -> Option<bool> {
        let named = |endings: &[&str]| endings.iter().any(|ending| arg.ends_with(ending));
        match (named(JSON_ENDINGS), named(HCL_ENDINGS)) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => (arg == "-" || env.directory.join(arg).is_file()).then_some(self.job.json),
        }
    }

    /// Namespace and ID of a job; on a running cluster, a registered job may be given by a prefix of its ID.
    fn key(&self, given: &Given, general: &GeneralFlags, env: &Environment) -> CommandResult<(String, String)> {
        let default = || general.namespace(env).unwrap_or("default").to_string();
        match given {
            Given::File(file) => Ok(of_file(file, general, env)),
            Given::OfFile(key) => Ok(key.clone()),
            Given::Registered { id, .. } if self.cluster.snapshot.is_some() => Ok((default(), id.clone())),
            Given::Registered { id, version } => {
                let client = general.client(env)?;
                let found = block_on(lookup::job(&client, id, &env.zone()))?;
                let (namespace, id) = found.map_err(|e| read_as(e.into(), id, *version))?;
                Ok((namespace.unwrap_or_else(default), id))
            }
        }
    }

    fn side(
        &self,
        given: &Given,
        (namespace, id): &(String, String),
        state: &State,
        (general, now): (&GeneralFlags, i64),
        env: &Environment,
    ) -> Result<Side, Refused> {
        match given {
            Given::File(file) => {
                let options = general.convert_options(&file.job, env, state);
                let job = subject(state, &file.job, &options, &server_context(state), now);
                let job = job.map_err(|e| file.refused(&e))?;
                Ok(Side { name: file.path().to_string(), job: Some(job) })
            }
            Given::OfFile(_) => Ok(match state.job(namespace, id) {
                Some(job) => Side::registered(job.clone()),
                None => Side { name: format!("job {} (not registered)", quoted(id)), job: None },
            }),
            Given::Registered { version, .. } => {
                let found = find::job(state, id, namespace);
                let current = found.map_err(|e| read_as(CommandError::new(format!("{id}: {e}")), id, *version))?;
                let job = match version {
                    None => current,
                    Some(version) if *version == current.version => current,
                    Some(version) => self.version(&current, *version, state, general, env)?,
                };
                Ok(Side::registered(job))
            }
        }
    }

    /// An older version of a registered job.
    fn version(
        &self,
        job: &Job,
        version: u64,
        state: &State,
        general: &GeneralFlags,
        env: &Environment,
    ) -> CommandResult<Arc<Job>> {
        let (namespace, id) = (job.namespace.as_str(), job.id.as_str());
        let none = || {
            CommandError::new(format!("Job {} has no version {version} (any more)", quoted(id)))
                .with_hint(format!("Its current version is {}", job.version))
        };
        if self.cluster.snapshot.is_some() {
            return state.job_version(namespace, id, version).cloned().ok_or_else(none);
        }
        let client = general.client(env)?;
        let read = block_on(client.job_versions_as_stored(namespace, id))?;
        let (versions, _) = read.context("Error reading the versions of the job")?;
        let found = versions.into_iter().find(|job| job.version == Some(version)).ok_or_else(none)?;
        let options = general.convert_options(&found, env, state);
        to_server(&found, &options).map(Arc::new).map_err(CommandError::new)
    }
}

/// Namespace and ID of the job in a file.
fn of_file(file: &JobFile, general: &GeneralFlags, env: &Environment) -> (String, String) {
    (general.namespace_of(&file.job, env).to_string(), file.job.id.clone().unwrap_or_default())
}

/// The job of a file, without what servers add to it.
fn offline(file: &JobFile, general: &GeneralFlags, env: &Environment) -> CommandResult<Side> {
    let mut job = file.job.clone();
    canonicalize(&mut job);
    let options = general.convert_options(&job, env, &State::new());
    let job = to_server(&job, &options).map_err(CommandError::new)?;
    // A job that servers would refuse can still be compared.
    let job = Some(Arc::new(check_offline(job, &ServerContext::default()).job));
    Ok(Side { name: file.path().to_string(), job })
}
