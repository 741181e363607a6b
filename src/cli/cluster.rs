//! The cluster a command works on: a snapshot file, or a running cluster read over its HTTP API.

use std::io::Write;
use std::path::PathBuf;

use super::context::Environment;
use super::general::GeneralFlags;
use super::render::styled::one_line;
use encamp_api::Client;
use encamp_model::api as model;
use encamp_snapshot::live::cache::Cache;
use encamp_snapshot::live::{self, Detail, Fetched, Options, Report};
use encamp_snapshot::{ClusterSnapshot, archive};
use encamp_state::State;

/// Requests at the same time if nothing else is said.
const CONCURRENCY: usize = 16;

/// Flags that say where the state comes from.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ClusterFlags {
    /// Cluster snapshot file or server backup to work on, instead of the running cluster at the address
    #[arg(long, value_name = "file")]
    pub snapshot: Option<String>,
    #[command(flatten)]
    pub(crate) reading: SnapshotFlags,
    #[command(flatten)]
    pub(crate) fetch: FetchFlags,
}

/// Flags about reading the file that `-snapshot` names.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct SnapshotFlags {
    /// Leave out tables of a server backup that this version does not know, instead of refusing the backup
    #[arg(long)]
    pub ignore_unknown_tables: bool,
}

impl SnapshotFlags {
    /// Reads a snapshot file or a server backup.
    pub fn load(&self, file: &str, env: &Environment) -> Result<ClusterSnapshot, String> {
        let options = archive::Options { lenient: self.ignore_unknown_tables };
        encamp_snapshot::load(&env.directory.join(file), options).map_err(|e| format!("Error reading snapshot: {e}"))
    }
}

/// Flags about reading a running cluster.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct FetchFlags {
    /// Go on without what the token may not read or the cluster does not answer, and say what is missing
    #[arg(long)]
    pub allow_partial: bool,
    /// Read everything again, whatever an earlier run left in the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Requests at the same time. Default: 16
    #[arg(long, value_name = "n")]
    pub concurrency: Option<u16>,
}

/// A cluster's state.
pub struct Cluster {
    /// The state, and what is incomplete about it.
    pub snapshot: ClusterSnapshot,
    /// How it was read, if it is a running one.
    pub report: Option<Report>,
}

impl Cluster {
    /// The state; what is to be said about it: what it lacks, and how it was read if that is asked for or worth
    /// knowing; and what "now" is for it, Unix nanoseconds.
    pub fn into_state(self, verbose: bool, env: &Environment) -> (State, Vec<String>, i64) {
        let now = self.snapshot.now(env.now);
        let mut notes = self.snapshot.notes;
        let told = |r: &Report| verbose || env.stderr_is_terminal || r.unsettled > 0 || !r.missing.is_empty();
        notes.extend(self.report.filter(told).map(|r| r.summary()));
        (self.snapshot.state, notes, now)
    }
}

impl ClusterFlags {
    /// Reads the state: the file if one is given, else so much of the running cluster.
    pub fn load(&self, general: &GeneralFlags, detail: Detail, env: &Environment) -> Result<Cluster, String> {
        if let Some(file) = &self.snapshot {
            return Ok(Cluster { snapshot: self.reading.load(file, env)?, report: None });
        }
        let client = general.client(env)?;
        cluster(self.fetch.fetch(&client, detail, env)?)
    }
}

/// The state of a running cluster, with notes about what could not be read.
fn cluster(fetched: Fetched) -> Result<Cluster, String> {
    let mut snapshot = encamp_snapshot::file::into_state(fetched.file)
        .map_err(|e| format!("Error reading the cluster: its answers do not fit together: {e}"))?;
    let missing = fetched.report.missing.iter().map(|m| format!("Partial data: {m}"));
    snapshot.notes.splice(0..0, missing);
    Ok(Cluster { snapshot, report: Some(fetched.report) })
}

impl FetchFlags {
    /// Reads everything: the file if one is given, else the running cluster.
    pub fn load(
        &self,
        file: Option<&str>,
        reading: &SnapshotFlags,
        general: &GeneralFlags,
        env: &Environment,
    ) -> Result<ClusterSnapshot, String> {
        match file {
            Some(file) => reading.load(file, env),
            None => Ok(cluster(self.fetch(&general.client(env)?, Detail::Everything, env)?)?.snapshot),
        }
    }

    /// Reads a running cluster, from the cache what did not change.
    pub fn fetch(&self, client: &Client, detail: Detail, env: &Environment) -> Result<Fetched, String> {
        let cache = if self.no_cache { None } else { cache(client, env) };
        let known = cache.as_ref().map(Cache::load).unwrap_or_default();
        let options = Options {
            detail,
            concurrency: self.concurrency.map_or(CONCURRENCY, |n| usize::from(n.max(1))),
            allow_partial: self.allow_partial,
            now: env.now,
        };
        let progress = env.terminal.counter();
        let fetched = block_on(live::fetch(client, &options, known, &progress))?;
        drop(progress);
        let mut fetched = fetched.map_err(|e| format!("Error reading the cluster: {e}"))?;
        if let Some(cache) = cache {
            // Without a cache the next run only takes longer.
            let _ = cache.store(std::mem::take(&mut fetched.collected), fetched.file.index);
        }
        Ok(fetched)
    }
}

impl GeneralFlags {
    /// A client for the cluster of the flags and the environment.
    pub fn client(&self, env: &Environment) -> Result<Client, String> {
        let client = Client::new(self.api_config(env)).map_err(|e| format!("Error initializing client: {e}"))?;
        let terminal = env.terminal.clone();
        Ok(client.noting(move |line| {
            // Nothing is left to do when standard error is gone.
            let _ = terminal.suspend(|| writeln!(std::io::stderr(), "{}", one_line(line)));
        }))
    }

    /// The same flags for requests about a job: the region it names goes before that of the flag.
    pub fn for_job(&self, job: &model::Job) -> GeneralFlags {
        let named = job.region.clone().filter(|r| !r.is_empty());
        GeneralFlags { region: named.or_else(|| self.region.clone()), ..self.clone() }
    }

    fn api_config(&self, env: &Environment) -> encamp_api::Config {
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
        config.token = given(&self.token).map(encamp_api::Secret::new).or(config.token);
        config
    }
}

/// Runs something that waits for the network.
pub fn block_on<F: Future>(future: F) -> Result<F::Output, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|e| format!("Error starting the network runtime: {e}"))?.block_on(future))
}

/// `ENCAMP_CACHE_DIR`, or the usual place of the user's caches.
fn cache(client: &Client, env: &Environment) -> Option<Cache> {
    let own = env.var("ENCAMP_CACHE_DIR").map(PathBuf::from);
    let usual = || {
        env.var("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| Some(PathBuf::from(env.var("HOME")?).join(".cache")))
    };
    let folder = own.or_else(|| Some(usual()?.join("encamp")))?;
    Some(Cache::new(&folder, client.address(), client.config().region.as_deref()))
}
