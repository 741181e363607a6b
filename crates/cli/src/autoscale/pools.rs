//! Worker pools of a running cluster or a snapshot, and their evaluation without any action.

use std::collections::BTreeMap;

use super::state;
use crate::cluster::{ClusterFlags, TimeFlags};
use crate::connection::Connection;
use crate::context::Environment;
use crate::error::{CommandError, CommandResult};
use crate::general::GeneralFlags;
use encamp_api::members::{self, ServerAddress};
use encamp_autoscale::cycle::{Evaluation, Input, evaluate};
use encamp_autoscale::protection::{Protection, ServerMember};
use encamp_autoscale::provider::{ProviderError, ScalingGroup};
use encamp_autoscale::record::{Record, ResourceType};
use encamp_autoscale::registry::{Fallbacks, NodeProblem, Pool, Registry};
use encamp_autoscale::view::JobCache;
use encamp_model::quoted;
use encamp_snapshot::live::Detail;
use encamp_state::State;

/// The note that is printed when only a snapshot is known.
const NO_RECORDS: &str =
    "A snapshot contains no Variables: request counts start at 0, and no cooldown or failsafe mode is assumed";
/// The note that is printed when the servers are not known.
const NO_SERVERS: &str = "The nodes that run servers of the cluster are not known: an autoscaler would not remove them";

/// A cluster with its pools.
pub(super) struct Pools {
    /// The cluster.
    pub state: State,
    /// The cached facts about its jobs.
    jobs: JobCache,
    /// Its pools.
    pub registry: Registry,
    /// The state objects by pool, or the error for those that cannot be read.
    pub records: BTreeMap<String, CommandResult<Record>>,
    /// The reasons why nodes are protected from removal. The allocation of the autoscaler is not known here.
    protection: Protection,
    /// Notes about the result.
    pub notes: Vec<String>,
    /// The time of the evaluation, Unix nanoseconds.
    pub now: i64,
}

impl Pools {
    /// Reads the snapshot of the flags, or else the running cluster with its Variables.
    pub(super) fn load(
        flags: &ClusterFlags,
        time: &TimeFlags,
        general: &GeneralFlags,
        env: &Environment,
    ) -> CommandResult<Pools> {
        let cluster = flags.load(general, Detail::Everything, env).map_err(CommandError::new)?.as_of(time)?;
        let (state, mut notes, now) = cluster.into_state(false, env);
        let mut registry = Registry::default();
        registry.update(&state, &Fallbacks::new());
        let mut records: BTreeMap<String, CommandResult<Record>> = BTreeMap::new();
        let mut protection = Protection::default();
        if flags.snapshot.is_some() {
            notes.extend([NO_RECORDS.into(), NO_SERVERS.into()]);
            for pool in registry.pools().keys() {
                records.insert(pool.clone(), Ok(Record::new(ResourceType::WorkerPool, pool)));
            }
        } else {
            let c = Connection::new(general, env).map_err(CommandError::new)?;
            match servers(&c) {
                Ok(members) => protection.servers.members = members,
                Err(e) => notes.push(format!("{NO_SERVERS}. Their list could not be read: {e}")),
            }
            let client = state::client(&c)?;
            let fallbacks = state::fallbacks(&c, &client, &registry.named_alone())?;
            registry.update(&state, &fallbacks);
            for pool in registry.pools().keys() {
                records.insert(pool.clone(), state::read(&c, &client, pool).map(|stored| stored.record));
            }
        }
        Ok(Pools { state, jobs: JobCache::default(), registry, records, protection, notes, now })
    }

    /// Returns the pool of that name, or all pools.
    pub(super) fn chosen(&self, name: Option<&str>) -> CommandResult<Vec<&Pool>> {
        let pools = self.registry.pools();
        match name {
            None => Ok(pools.values().collect()),
            Some(name) => pools.get(name).map(|p| vec![p]).ok_or_else(|| unknown(name, pools.keys())),
        }
    }

    /// Evaluates a pool once. `group`: its scaling group as read from its provider, if any.
    pub(super) fn evaluate(
        &self,
        pool: &Pool,
        record: &Record,
        group: Option<&Result<ScalingGroup, ProviderError>>,
    ) -> Evaluation {
        evaluate(&Input {
            state: &self.state,
            jobs: &self.jobs,
            pool,
            record,
            group: group.map(Result::as_ref),
            protection: &self.protection,
            now: self.now,
        })
    }

    /// The configuration problems of a pool, one line each; for `None`, those of nodes that name no pool.
    pub(super) fn problems(&self, pool: Option<&str>) -> Vec<String> {
        let of_pool = |p: &&NodeProblem| p.pool.as_deref() == pool;
        let nodes = self.registry.problems().iter().filter(of_pool);
        let nodes = nodes.flat_map(|p| p.problems.iter().map(|what| self.node_problem(&p.node_id, what)));
        let disagreements = pool.and_then(|name| self.registry.pools().get(name)).into_iter().flat_map(|p| {
            p.disagreements.iter().map(|d| {
                let ((counts, value), (other, theirs)) = (&d.counts, &d.other);
                let (counts, other) = (self.node(counts), self.node(other));
                format!(
                    "{}: {} on node {counts}, which counts, but {} on node {other}",
                    d.key,
                    quoted(value),
                    quoted(theirs)
                )
            })
        });
        nodes.chain(disagreements).collect()
    }

    /// The problems of pools that are only named by nodes with invalid configurations, and of nodes that name no pool.
    pub(super) fn stray_problems(&self) -> Vec<String> {
        let known = |p: &NodeProblem| p.pool.as_ref().is_some_and(|name| self.registry.pools().contains_key(name));
        let stray = self.registry.problems().iter().filter(|p| !known(p));
        stray.flat_map(|p| p.problems.iter().map(|what| self.node_problem(&p.node_id, what))).collect()
    }

    fn node_problem(&self, id: &str, problem: &str) -> String {
        format!("node {}: {problem}", self.node(id))
    }

    /// The name and short ID of a node.
    pub(super) fn node(&self, id: &str) -> String {
        let name = self.state.node(id).map_or("", |e| e.node.name.as_str());
        format!("{name} ({})", encamp_model::short_id(id))
    }
}

/// The servers of the cluster.
fn servers(c: &Connection) -> CommandResult<Vec<ServerMember>> {
    let (answer, _) = c.wait(c.client.agent_members())?;
    let server = |s: &ServerAddress| ServerMember::new(&s.name, &s.region, s.addresses.iter().map(String::as_str));
    Ok(members::servers(&answer)?.iter().map(server).collect())
}

/// The error for a pool that does not exist.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> CommandError {
    let known: Vec<&str> = known.map(String::as_str).collect();
    CommandError::new(match known.as_slice() {
        [] => format!("There is no worker pool {}: no ready node is configured for scaling", quoted(name)),
        _ => format!("There is no worker pool {}; there are {}", quoted(name), known.join(", ")),
    })
}
