//! `lsp`: the language server of job files (`docs/guide/editors.md`). [`fetched`]: the file that holds a running cluster.

mod fetched;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use encamp_acl::policy::{PolicyError, Rules};
#[cfg(feature = "agent")]
use encamp_agent::config;
use encamp_hcl::hcl1::Pos;
use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::explain::parse_error;
use encamp_jobspec::parse::{ParseOptions, parse_free};
use encamp_lsp::{OtherFile, OtherProblem, Planned, Summary, Surroundings, plan, serve};
use encamp_model::{api, driver_options};
use encamp_state::State;
use parking_lot::Mutex;
use serde::de::DeserializeOwned;

use super::cluster::{SnapshotFlags, cache_directory};
use super::context::clock;
use super::job_file::VariableFlags;
use super::namespace::change;
use super::prelude::*;
use super::spec_file::SpecError;
use super::volume::spec;
use fetched::{FetchedFile, remove_abandoned};

/// Serve editors with the language of job files
///
/// Speaks the Language Server Protocol on standard input and output: an editor starts it. It reports the problems that
/// job validate finds while a file is written, offers corrections, completes names and values, describes fields, and shows
/// above each job what a plan would do.
///
/// Names of the cluster and plans come from the snapshot file of -snapshot, or from the cluster that the environment, a
/// saved context or -address selects. Without any of these, the language server works from the files alone.
#[derive(Debug, Clone, clap::Parser)]
pub struct Lsp {
    /// Cluster snapshot file or server backup to complete names from and to plan on
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    /// Use standard input and output, which is the default: some editors add this flag
    #[arg(long)]
    pub stdio: bool,
    /// Answer one question about the cluster, which standard input has, and end
    #[arg(long, hide = true)]
    pub(crate) answer_one: bool,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) variables: VariableFlags,
    #[command(flatten)]
    pub(crate) general: GeneralFlags,
}

impl Run for Lsp {
    const META: Meta = Meta::new("lsp")
        .exit_status(&[
            (0, "The editor has ended the session."),
            (1, "The editor broke the protocol, or went away within a session."),
        ])
        .offline_examples(&[
            ("Serve an editor, from the files alone", "encamp lsp < /dev/null"),
            (
                "Serve an editor, with names and plans of a snapshot",
                "encamp lsp -snapshot fixtures/demo/cluster.json < /dev/null",
            ),
        ]);

    fn run(self, context: &mut Context<'_, '_>) -> u8 {
        let fetched = Fetched::default();
        let process = Process { flags: self, env: context.env.clone(), fetched };
        if process.flags.answer_one {
            return context.attempt(|context| process.answer_one(context));
        }
        remove_abandoned(&process.cache());
        let (connection, threads) = lsp_server::Connection::stdio();
        let process = Arc::new(process);
        let served = serve(connection, process.clone());
        // A thread that still reads the cluster keeps its file: the next server removes it.
        if let Some(mut fetched) = process.fetched.try_lock() {
            *fetched = None;
        }
        match served {
            Ok(()) => {
                // The client has closed the streams, or ends the process.
                let _ = threads.join();
                0
            }
            Err(e) => context.failure(&e.to_string()),
        }
    }
}

/// The process of the command.
struct Process {
    flags: Lsp,
    env: Environment,
    fetched: Fetched,
}

/// The file that holds a running cluster, once it was read.
type Fetched = Mutex<Option<FetchedFile>>;

/// A question about the cluster. The state of a large cluster takes hundreds of megabytes, so a process of its own reads
/// it, answers one question and ends.
#[derive(serde::Serialize, serde::Deserialize)]
enum Question {
    /// What the server keeps of the cluster.
    Summary,
    /// What a plan of a job says.
    Plan(Box<api::Job>),
}

impl Process {
    /// Whether a cluster was selected, by flags, variables or a saved context.
    fn selects_cluster(&self) -> bool {
        let address = self.flags.general.address.as_deref().is_some_and(|a| !a.is_empty());
        address || self.env.selects_cluster || self.env.var("NOMAD_ADDR").is_some()
    }

    /// Answers the question of standard input on standard output.
    fn answer_one(&self, context: &mut Context<'_, '_>) -> CommandResult<u8> {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("Error reading the question")?;
        let question: Question = serde_json::from_str(&text).context("Error reading the question")?;
        let file = self.flags.snapshot.as_deref().unwrap_or_default();
        let snapshot = self.flags.reading.load_few(file, &self.env)?;
        let now = snapshot.now(clock());
        let state = &snapshot.state;
        let answer = match question {
            Question::Summary => serde_json::to_string(&Summary::of(state, now)),
            Question::Plan(job) => {
                let options = self.flags.general.convert_options(&job, &self.env, state);
                serde_json::to_string(&plan(&job, &options, state, now))
            }
        };
        context.ui.output(&answer.context("Error writing the answer")?);
        Ok(0)
    }

    /// The answer of a process of its own to a question about a snapshot file.
    fn ask<T: DeserializeOwned>(&self, question: &Question, file: &Path) -> Result<T, String> {
        let wrong = |e: serde_json::Error| format!("Error asking about the cluster: {e}");
        let question = serde_json::to_vec(question).map_err(wrong)?;
        let mut arguments = vec!["lsp".to_owned(), "-answer-one".to_owned()];
        arguments.push(format!("-snapshot={}", file.display()));
        arguments.extend(self.flags.reading.ignore_unknown_tables.then(|| "-ignore-unknown-tables".to_owned()));
        arguments.extend(self.of_connection());
        let answer = self.child(&arguments, &question)?;
        serde_json::from_slice(&answer).map_err(wrong)
    }

    /// What another process of this program prints; what it prints on standard error if it fails.
    fn child(&self, arguments: &[String], input: &[u8]) -> Result<Vec<u8>, String> {
        let failed = |e: std::io::Error| format!("The command cannot be started: {e}");
        let mut child = self.command().map_err(failed)?.args(arguments).spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A process that ends before it has read everything says why.
            let _ = stdin.write_all(input);
        }
        let ran = child.wait_with_output().map_err(failed)?;
        match ran.status.success() {
            true => Ok(ran.stdout),
            false => Err(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
        }
    }

    /// A process of this program with the environment of this one.
    fn command(&self) -> std::io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.env_clear().envs(&self.env.vars).current_dir(&self.env.directory);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Ok(command)
    }

    /// The file to read the cluster from. A running cluster is written to one first, if `again` or if it was not yet.
    fn file(&self, again: bool) -> Result<Option<PathBuf>, String> {
        if let Some(file) = &self.flags.snapshot {
            return Ok(Some(self.env.directory.join(file)));
        }
        if !self.selects_cluster() {
            return Ok(None);
        }
        let mut fetched = self.fetched.lock();
        if let (Some(file), false) = (fetched.as_ref(), again) {
            return Ok(Some(file.path().to_path_buf()));
        }
        let directory = self.cache();
        let former = fetched.take();
        let has_former = former.is_some();
        let file = match former {
            Some(file) => file,
            None => {
                FetchedFile::take(&directory).map_err(|e| format!("Error creating {}: {e}", directory.display()))?
            }
        };
        let path = file.path().to_path_buf();
        let mut arguments = ["snapshot", "fetch", "-allow-partial", "-out"].map(str::to_owned).to_vec();
        arguments.push(path.display().to_string());
        arguments.extend(self.of_connection().into_iter().filter(|flag| !flag.starts_with("-namespace=")));
        let ran = self.child(&arguments, &[]);
        // What was read before stays where the cluster cannot be read again.
        if ran.is_ok() || has_former {
            *fetched = Some(file);
        }
        ran.map(|_| Some(path))
    }

    /// The directory of the file that holds a running cluster.
    fn cache(&self) -> PathBuf {
        cache_directory(&self.env).unwrap_or_else(std::env::temp_dir)
    }

    /// The flags that select the cluster, as another command takes them.
    fn of_connection(&self) -> Vec<String> {
        let general = &self.flags.general;
        let given = [
            ("-context", &general.context),
            ("-address", &general.address),
            ("-region", &general.region),
            ("-namespace", &general.namespace),
            ("-ca-cert", &general.ca_cert),
            ("-ca-path", &general.ca_path),
            ("-client-cert", &general.client_cert),
            ("-client-key", &general.client_key),
            ("-tls-server-name", &general.tls_server_name),
        ];
        let mut out: Vec<String> =
            given.iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value.as_ref()?))).collect();
        out.extend(general.tls_skip_verify.then(|| "-tls-skip-verify".to_owned()));
        out
    }

    /// The flags that a command about a job file gets.
    fn repeated(&self) -> Vec<String> {
        let flags = &self.flags;
        let mut out: Vec<String> = flags.snapshot.iter().map(|file| format!("-snapshot={file}")).collect();
        out.extend(flags.reading.ignore_unknown_tables.then(|| "-ignore-unknown-tables".to_owned()));
        out.extend(self.of_connection());
        out.extend(flags.variables.var.iter().map(|v| format!("-var={v}")));
        out.extend(flags.variables.var_file.iter().map(|f| format!("-var-file={f}")));
        out.extend((!flags.variables.hcl2_strict).then(|| "-hcl2-strict=false".to_owned()));
        out
    }
}

impl Surroundings for Process {
    fn load(&self) -> Result<Option<Summary>, String> {
        let Some(file) = self.file(true)? else { return Ok(None) };
        self.ask(&Question::Summary, &file).map(Some)
    }

    fn plan(&self, job: &api::Job) -> Result<Planned, String> {
        let file = self.file(false)?.ok_or("there is no cluster")?;
        self.ask(&Question::Plan(Box::new(job.clone())), &file)
    }

    fn parse_options(&self, name: &str, directory: &Path) -> ParseOptions {
        let env = &self.env;
        ParseOptions { working_dir: directory.to_path_buf(), ..self.flags.variables.options(name, env) }
    }

    fn convert_options(&self, job: &api::Job, region: Option<&str>) -> ConvertOptions {
        let options = self.flags.general.convert_options(job, &self.env, &State::new());
        ConvertOptions { region: region.unwrap_or("global").into(), ..options }
    }

    fn driver_options(&self, driver: &str) -> Vec<&'static str> {
        driver_options::options(driver)
    }

    fn drivers(&self) -> &'static [&'static str] {
        driver_options::DRIVERS
    }

    fn check(&self, file: OtherFile, path: &Path, text: &str) -> Vec<OtherProblem> {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        match file {
            OtherFile::AgentConfiguration => configuration(path, text),
            OtherFile::Policy => match Rules::parse(text) {
                Ok(_) => Vec::new(),
                Err(PolicyError::Syntax(e)) => vec![problem(Some(e.pos), &e.message)],
                Err(e) => vec![problem(None, &e.to_string())],
            },
            OtherFile::Variables => match parse_free(text.as_bytes(), &name) {
                Ok(_) => Vec::new(),
                Err(e) => of_parser(&e),
            },
            OtherFile::Volume => match spec::parse(text.as_bytes(), &name) {
                Ok(_) => Vec::new(),
                Err(e) => vec![with_position(e.message(), &name)],
            },
            OtherFile::Namespace => match change::hcl(text.as_bytes(), &name) {
                Ok(_) => Vec::new(),
                Err(SpecError::Hcl(e)) => of_parser(&e),
                Err(e) => vec![problem(None, &e.to_string())],
            },
        }
    }

    fn run(&self, command: &[&str], path: &Path) -> String {
        let ran = self.command().and_then(|mut started| {
            started.args(command).arg("-no-color").args(self.repeated()).arg(path).stdin(Stdio::null()).output()
        });
        match ran {
            Ok(ran) => {
                let mut text = String::from_utf8_lossy(&ran.stdout).into_owned();
                text.push_str(&String::from_utf8_lossy(&ran.stderr));
                text
            }
            Err(e) => format!("The command cannot be started: {e}"),
        }
    }

    fn now(&self) -> i64 {
        clock()
    }
}

fn problem(place: Option<Pos>, message: &str) -> OtherProblem {
    OtherProblem { place: place.map(|p| (p.line, p.column)), message: message.to_owned(), warning: false }
}

fn of_parser(error: &encamp_jobspec::parse::ParseError) -> Vec<OtherProblem> {
    let problem = |f: encamp_jobspec::explain::Finding| OtherProblem {
        place: f.place.map(|p| (p.range.start_line, p.range.start_column)),
        message: f.message,
        warning: false,
    };
    parse_error(error).into_iter().map(problem).collect()
}

/// A message that names line and column behind the file.
fn with_position(message: &str, name: &str) -> OtherProblem {
    let place = message.split_once(&format!("{name}:")).and_then(|(_, rest)| {
        let mut numbers = rest.splitn(3, ':').map(|n| n.trim().parse().ok());
        Some((numbers.next()??, numbers.next()??))
    });
    OtherProblem { place, message: message.to_owned(), warning: false }
}

/// Nothing: only a build with the agent knows its configuration.
#[cfg(not(feature = "agent"))]
fn configuration(_: &Path, _: &str) -> Vec<OtherProblem> {
    Vec::new()
}

#[cfg(feature = "agent")]
fn configuration(path: &Path, text: &str) -> Vec<OtherProblem> {
    let loaded = match config::load_text(path, text) {
        Ok(loaded) => loaded,
        Err(e) => {
            return vec![match e.place() {
                Some((pos, message)) => problem(Some(pos), &message),
                None => problem(None, &e.to_string()),
            }];
        }
    };
    let warn = |text: &String| OtherProblem { place: None, message: text.clone(), warning: true };
    let mut out: Vec<OtherProblem> = loaded.warnings.iter().map(warn).collect();
    out.extend(config::validate(&loaded.config).iter().map(|finding| match finding {
        config::Finding::Warning(text) => warn(text),
        config::Finding::Error(e) => problem(None, &e.to_string()),
    }));
    out
}
