//! The cluster that a command reads: a snapshot file, or a running cluster over its HTTP API.

use std::io::Write;
use std::path::PathBuf;

use super::completion::values::CompleteWith;
use super::connection::{Connection, block_on_boxed};
use super::context::{Environment, clock};
use super::error::{CommandError, CommandResult, ErrorContext};
use super::general::GeneralFlags;
use super::render::styled::one_line;
use super::snapshot_indexes;
use encamp_api::Client;
use encamp_model::api as model;
use encamp_snapshot::live::cache::Cache;
use encamp_snapshot::live::{self, Collected, Detail, FetchError, Fetched, Options, Report};
use encamp_snapshot::{ClusterSnapshot, archive, side_index};
use encamp_state::State;

/// The default number of concurrent requests.
const CONCURRENCY: usize = 16;

/// The flags that select the source of the state.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ClusterFlags {
    /// Cluster snapshot file or server backup to read instead of the running cluster
    #[arg(long, value_name = "file", add = CompleteWith::ANY_FILE)]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// Flags for reading the file that `-snapshot` names.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SnapshotFlags {
    /// Skip unknown tables of a server backup instead of rejecting the backup
    #[arg(long)]
    pub ignore_unknown_tables: bool,
}

impl SnapshotFlags {
    /// Reads a snapshot file or a server backup.
    pub fn load(&self, file: &str, env: &Environment) -> CommandResult<ClusterSnapshot> {
        let options = archive::Options { lenient: self.ignore_unknown_tables };
        let snapshot = encamp_snapshot::load(&env.directory.join(file), options).context("Error reading snapshot")?;
        Ok(kept(snapshot))
    }

    /// The same for commands that read few allocations.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn load_few(&self, file: &str, env: &Environment) -> CommandResult<ClusterSnapshot> {
        self.load_part(file, false, true, env)
    }

    /// The same for commands that read a part of the state: from the side index of the file, if there is one. Else it is
    /// written when the command has printed everything. `few`: of the allocations, the command reads few.
    fn load_part(&self, file: &str, no_cache: bool, few: bool, env: &Environment) -> CommandResult<ClusterSnapshot> {
        let options = archive::Options { lenient: self.ignore_unknown_tables };
        let path = env.directory.join(file);
        let snapshot = match snapshot_indexes::of(env, few).filter(|_| !no_cache) {
            Some(indexes) => side_index::load(&path, options, &indexes).map(|loaded| {
                env.unwritten.add(loaded.unwritten);
                loaded.snapshot
            }),
            None if few => encamp_snapshot::load_deferred(&path, options, snapshot_indexes::unreadable),
            None => encamp_snapshot::load(&path, options),
        };
        Ok(kept(snapshot.context("Error reading snapshot")?))
    }
}

/// The process ends with the command: freeing a large state row by row would only delay that.
fn kept(snapshot: ClusterSnapshot) -> ClusterSnapshot {
    std::mem::forget(snapshot.state.clone());
    snapshot
}

/// Flags for reading a running cluster.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FetchFlags {
    /// Continue without data that the token may not read or the cluster does not return, and report what is missing
    #[arg(long)]
    pub allow_partial: bool,
    /// Do not use the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Number of concurrent requests. Default: 16
    #[arg(long, value_name = "n")]
    pub concurrency: Option<u16>,
}

/// The flag for the time of an evaluation.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TimeFlags {
    /// Evaluate the state as of this time, in RFC 3339: 2026-11-27T08:00:00Z. Default: the time at which the snapshot was
    /// taken, or now for a running cluster
    #[arg(long, value_name = "time")]
    pub at: Option<String>,
}

impl TimeFlags {
    /// The time of the flag, Unix nanoseconds.
    ///
    /// # Errors
    /// The value is not a time.
    pub fn read(&self) -> CommandResult<Option<i64>> {
        self.at.as_deref().map(|text| time_of_flag("at", text)).transpose()
    }
}

/// The value of a flag for a time, Unix nanoseconds.
///
/// # Errors
/// It is not a time.
pub(super) fn time_of_flag(flag: &str, text: &str) -> CommandResult<i64> {
    let time = encamp_model::Time::parse(text).ok().and_then(encamp_model::Time::unix_nanos);
    let example = "it has to be a time in RFC 3339, such as 2026-11-27T08:00:00Z";
    time.ok_or_else(|| CommandError::new(format!("Invalid value {text:?} for -{flag}: {example}")))
}

/// A cluster's state.
pub struct Cluster {
    /// The state, and the parts of it that are incomplete.
    pub snapshot: ClusterSnapshot,
    /// How the state was read, for a running cluster.
    pub report: Option<Report>,
    /// The time as of which it is evaluated instead of its own, Unix nanoseconds.
    pub at: Option<i64>,
}

impl Cluster {
    /// The time at which the state was read or saved, Unix nanoseconds.
    pub fn taken_at(&self, env: &Environment) -> i64 {
        self.snapshot.now(env.now)
    }

    /// The same state, evaluated as of the time of the flag.
    ///
    /// # Errors
    /// The value of the flag is not a time.
    pub fn as_of(self, time: &TimeFlags) -> CommandResult<Cluster> {
        Ok(Cluster { at: time.read()?, ..self })
    }

    /// The state; notes about what is missing and, if requested or noteworthy, how it was read; and the time of the
    /// evaluation, Unix nanoseconds.
    pub fn into_state(self, verbose: bool, env: &Environment) -> (State, Vec<String>, i64) {
        let now = self.at.unwrap_or_else(|| self.snapshot.now(env.now));
        let mut notes = self.snapshot.notes;
        let is_shown = |r: &Report| verbose || env.stderr_is_terminal || r.unsettled > 0 || !r.missing.is_empty();
        notes.extend(self.report.filter(is_shown).map(|r| r.summary()));
        (self.snapshot.state, notes, now)
    }
}

impl ClusterFlags {
    /// Reads the state: the file if one is given, otherwise the required part of the running cluster.
    pub fn load(&self, general: &GeneralFlags, detail: Detail, env: &Environment) -> CommandResult<Cluster> {
        if let Some(file) = &self.snapshot {
            let few = matches!(detail, Detail::Jobs(_));
            return Ok(Cluster {
                snapshot: self.reading.load_part(file, self.fetch.no_cache, few, env)?,
                report: None,
                at: None,
            });
        }
        let client = general.client(env)?;
        cluster(self.fetch.fetch(&client, detail, env)?)
    }
}

/// The state of a running cluster, with notes about what could not be read.
fn cluster(fetched: Fetched) -> CommandResult<Cluster> {
    let mut snapshot = encamp_snapshot::file::into_state(fetched.file)
        .map_err(CommandError::new)
        .context("Error reading the cluster: its responses are inconsistent")?;
    let missing = fetched.report.missing.iter().map(|m| format!("Partial data: {m}"));
    snapshot.notes.splice(0..0, missing);
    Ok(Cluster { snapshot, report: Some(fetched.report), at: None })
}

impl FetchFlags {
    /// Reads the full state: the file if one is given, otherwise the running cluster.
    pub fn load(
        &self,
        file: Option<&str>,
        reading: &SnapshotFlags,
        general: &GeneralFlags,
        env: &Environment,
    ) -> CommandResult<ClusterSnapshot> {
        match file {
            Some(file) => reading.load(file, env),
            None => Ok(cluster(self.fetch(&general.client(env)?, Detail::Everything, env)?)?.snapshot),
        }
    }

    /// Reads a running cluster; unchanged objects come from the cache.
    pub fn fetch(&self, client: &Client, detail: Detail, env: &Environment) -> CommandResult<Fetched> {
        let cached = self.cached(client, env);
        let (progress, options) = (env.terminal.counter(), self.options(detail, env.now));
        let fetched = block_on(live::fetch(client, &options, cached.known(), &progress))?;
        drop(progress);
        cached.store(fetched)
    }

    /// The same as of now over a connection, for commands that read the cluster several times.
    pub fn fetch_over(&self, connection: &Connection, env: &Environment) -> CommandResult<Cluster> {
        let cached = self.cached(&connection.client, env);
        let (progress, options) = (env.terminal.counter(), self.options(Detail::Everything, clock()));
        let fetched = connection.wait(live::fetch(&connection.client, &options, cached.known(), &progress));
        drop(progress);
        cluster(cached.store(fetched)?)
    }

    fn cached(&self, client: &Client, env: &Environment) -> Cached {
        Cached(if self.no_cache { None } else { cache(client, env) })
    }

    fn options(&self, detail: Detail, now: i64) -> Options {
        let concurrency = self.concurrency.map_or(CONCURRENCY, |n| usize::from(n.max(1)));
        Options { detail, concurrency, allow_partial: self.allow_partial, now }
    }
}

/// The cache that a fetch begins with and fills.
struct Cached(Option<Cache>);

impl Cached {
    fn known(&self) -> (Collected, u64) {
        self.0.as_ref().map(Cache::load).unwrap_or_default()
    }

    fn store(self, fetched: Result<Fetched, FetchError>) -> CommandResult<Fetched> {
        let mut fetched = fetched.context("Error reading the cluster")?;
        if let Some(cache) = self.0 {
            // Without a cache, the next run only takes longer.
            let _ = cache.store(std::mem::take(&mut fetched.collected), fetched.file.index);
        }
        Ok(fetched)
    }
}

impl GeneralFlags {
    /// Creates a client for the cluster that the flags and the environment select.
    pub fn client(&self, env: &Environment) -> CommandResult<Client> {
        if let Some(why) = &env.context_error {
            return Err(CommandError::new(why));
        }
        let mut config = self.api_config(env);
        if let (None, Some(command)) = (&config.token, &env.token_command) {
            config.token = Some(command.run(env)?);
        }
        let client = Client::new(config).context("Error initializing client")?;
        let terminal = env.terminal.clone();
        Ok(client.noting(move |line| {
            // Nothing can be done if standard error is closed.
            let _ = terminal.suspend(|| writeln!(std::io::stderr(), "{}", one_line(line)));
        }))
    }

    /// The same flags for requests about a job: a region in the job takes precedence over the flag.
    pub fn for_job(&self, job: &model::Job) -> GeneralFlags {
        let named = job.region.clone().filter(|r| !r.is_empty());
        GeneralFlags { region: named.or_else(|| self.region.clone()), ..self.clone() }
    }

    /// The settings of the connection that the flags and the environment select.
    pub(super) fn api_config(&self, env: &Environment) -> encamp_api::Config {
        let given = |flag: &Option<String>| flag.clone().filter(|v| !v.is_empty());
        let path = |flag: &Option<String>| given(flag).map(|p| env.directory.join(p));
        let mut config = encamp_api::Config::from_env(|name| env.var(name));
        let tls = &mut config.tls;
        tls.ca_cert = path(&self.ca_cert).or(tls.ca_cert.take());
        tls.ca_path = path(&self.ca_path).or(tls.ca_path.take());
        tls.client_cert = path(&self.client_cert).or(tls.client_cert.take());
        tls.client_key = path(&self.client_key).or(tls.client_key.take());
        tls.server_name = given(&self.tls_server_name).or(tls.server_name.take());
        tls.skip_verify |= self.tls_skip_verify || self.insecure;
        config.address = given(&self.address).unwrap_or(config.address);
        config.region = given(&self.region).or(config.region);
        config.namespace = given(&self.namespace).or(config.namespace);
        config.token = given(&self.token).map(encamp_model::SecretString::new).or(config.token);
        config
    }
}

/// Runs a future that uses the network.
pub fn block_on<F: Future>(future: F) -> CommandResult<F::Output> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(block_on_boxed(&runtime.context("Error starting the network runtime")?, Box::pin(future)))
}

/// `ENCAMP_CACHE_DIR`, or `encamp` in the standard location of the user's caches; `None` if there is none.
pub(super) fn cache_directory(env: &Environment) -> Option<PathBuf> {
    let own = env.var("ENCAMP_CACHE_DIR").map(PathBuf::from);
    let usual = || {
        env.var("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(env.var("HOME")?).join(".cache")))
    };
    own.or_else(|| Some(usual()?.join("encamp")))
}

/// The cache of snapshots of a cluster.
fn cache(client: &Client, env: &Environment) -> Option<Cache> {
    let folder = cache_directory(env)?;
    Some(Cache::new(&folder, client.address(), client.config().region.as_deref()))
}
