//! `lsp`: the language server of job files (`docs/guide/editors.md`).

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use encamp_acl::policy::{PolicyError, Rules};
#[cfg(feature = "agent")]
use encamp_agent::config;
use encamp_hcl::hcl1::Pos;
use encamp_jobspec::convert::ConvertOptions;
use encamp_jobspec::explain::parse_error;
use encamp_jobspec::parse::{ParseOptions, parse_free};
use encamp_lsp::{Loaded, OtherFile, OtherProblem, Surroundings, serve};
use encamp_model::{api, driver_options};
use encamp_snapshot::{archive, side_index};
use encamp_state::State;

use super::cluster::{ClusterFlags, FetchFlags, SnapshotFlags};
use super::context::clock;
use super::job_file::VariableFlags;
use super::namespace::change;
use super::prelude::*;
use super::snapshot_indexes;
use super::spec_file::SpecError;
use super::volume::spec;
use encamp_snapshot::live::Detail;

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
        let (connection, threads) = lsp_server::Connection::stdio();
        let process = Process { flags: self, env: context.env.clone() };
        let served = serve(connection, Arc::new(process));
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
}

impl Process {
    /// Whether a cluster was selected, by flags, variables or a saved context.
    fn selects_cluster(&self) -> bool {
        let address = self.flags.general.address.as_deref().is_some_and(|a| !a.is_empty());
        address || self.env.selects_cluster || self.env.var("NOMAD_ADDR").is_some()
    }

    /// The state of a snapshot file, as a part: few allocations are ever read.
    fn of_file(&self, file: &str) -> CommandResult<Loaded> {
        let options = archive::Options { lenient: self.flags.reading.ignore_unknown_tables };
        let path = self.env.directory.join(file);
        let snapshot = match snapshot_indexes::of(&self.env, true) {
            Some(indexes) => side_index::load(&path, options, &indexes).map(|loaded| {
                self.env.unwritten.add(loaded.unwritten);
                loaded.snapshot
            }),
            None => encamp_snapshot::load_deferred(&path, options, snapshot_indexes::unreadable),
        };
        let snapshot = snapshot.context("Error reading snapshot")?;
        self.env.unwritten.write();
        let now = snapshot.now(clock());
        Ok(Loaded { state: snapshot.state, now })
    }

    fn of_cluster(&self) -> CommandResult<Loaded> {
        let env = Environment { now: clock(), ..self.env.clone() };
        let flags =
            ClusterFlags { fetch: FetchFlags { allow_partial: true, ..Default::default() }, ..Default::default() };
        let cluster = flags.load(&self.flags.general, Detail::Everything, &env)?;
        let now = cluster.taken_at(&env);
        Ok(Loaded { state: cluster.snapshot.state, now })
    }

    /// The flags that a command about a job file gets.
    fn repeated(&self) -> Vec<String> {
        let (flags, general) = (&self.flags, &self.flags.general);
        let mut out = Vec::new();
        let given = [
            ("-snapshot", &flags.snapshot),
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
        out.extend(given.iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value.as_ref()?))));
        out.extend(general.tls_skip_verify.then(|| "-tls-skip-verify".to_owned()));
        out.extend(flags.variables.var.iter().map(|v| format!("-var={v}")));
        out.extend(flags.variables.var_file.iter().map(|f| format!("-var-file={f}")));
        out.extend((!flags.variables.hcl2_strict).then(|| "-hcl2-strict=false".to_owned()));
        out
    }
}

impl Surroundings for Process {
    fn load(&self) -> Result<Option<Loaded>, String> {
        let loaded = match &self.flags.snapshot {
            Some(file) => self.of_file(file),
            None if self.selects_cluster() => self.of_cluster(),
            None => return Ok(None),
        };
        loaded.map(Some).map_err(|e| e.message().to_owned())
    }

    fn parse_options(&self, name: &str, directory: &Path) -> ParseOptions {
        let env = &self.env;
        ParseOptions { working_dir: directory.to_path_buf(), ..self.flags.variables.options(name, env) }
    }

    fn convert_options(&self, job: &api::Job, state: Option<&State>) -> ConvertOptions {
        let nothing = State::new();
        self.flags.general.convert_options(job, &self.env, state.unwrap_or(&nothing))
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
        let Ok(program) = std::env::current_exe() else { return "The program cannot be found any more".into() };
        let ran = Command::new(program)
            .args(command)
            .arg("-no-color")
            .args(self.repeated())
            .arg(path)
            .env_clear()
            .envs(&self.env.vars)
            .current_dir(&self.env.directory)
            .stdin(Stdio::null())
            .output();
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
