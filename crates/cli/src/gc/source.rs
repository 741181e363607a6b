//! The state whose garbage is explained: servers that decide themselves, servers that only show their state, a snapshot
//! file, or a server backup.

use std::path::Path;
use std::sync::Arc;

use encamp_api::types::{AgentConfig, AgentSelf};
use encamp_api::{Client, Query};
use encamp_model::duration::parse_duration;
use encamp_model::gc::{GcExplained, GcKind, GcPlan};
use encamp_model::*;
use encamp_server::leadership::gc::decide::View;
use encamp_server::leadership::gc::verdict::Thresholds;
use encamp_server::leadership::gc::{explain, plan};
use encamp_server::settings::{AclSettings, GcSettings};
use encamp_snapshot::live::Detail;
use encamp_snapshot::{ClusterSnapshot, SnapshotError, archive};
use encamp_state::StateStore;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use super::super::cluster::{ClusterFlags, block_on};
use super::super::context::Environment;
use super::super::error::{CommandError, CommandResult, ErrorContext};
use super::super::file_state::own_backup;
use super::super::general::GeneralFlags;
use super::super::render::json;
use super::when::When;

/// A run of garbage collection.
#[derive(Debug, Clone, Copy)]
pub struct Request {
    /// All periodic runs, each once, instead of a forced run.
    pub periodic: bool,
    /// How many objects are listed.
    pub objects: usize,
    /// The time of the run.
    pub when: When,
}

/// What was found, and what a reader should know about it.
#[derive(Debug)]
pub struct Found<T> {
    /// The result.
    pub result: T,
    /// Where the state was read.
    pub source: String,
    /// What the source does not show.
    pub notes: Vec<String>,
}

/// The JSON output.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Output<'a, T> {
    schema_version: u32,
    source: &'a str,
    notes: &'a [String],
    #[serde(flatten)]
    result: &'a T,
}

/// A result with what a reader should know about it, as JSON.
pub(super) fn json_of<T: Serialize>(result: &T, source: &str, notes: &[String]) -> CommandResult<String> {
    json::indented(&Output { schema_version: 1, source, notes, result }).map_err(CommandError::new)
}

/// The state of a source that does not decide itself.
struct State {
    store: StateStore,
    visible: Vec<GcKind>,
    gc: GcSettings,
    acl: AclSettings,
    source: String,
    notes: Vec<String>,
    /// The time of the state, in Unix nanoseconds.
    now: i64,
}

const DEFAULTS: &str = "Thresholds are the defaults: the source does not show the configuration of the servers.";
const NO_EVALUATIONS: &str =
    "Evaluations are not visible in this source: allocations are decided as if their evaluations had ended before.";

/// What a run would do.
pub fn plan_of(
    flags: &ClusterFlags,
    general: &GeneralFlags,
    env: &Environment,
    request: Request,
) -> CommandResult<Found<GcPlan>> {
    let ask = |client: &Client| {
        let query = request.when.parameter(Query::default());
        let query = if request.periodic { query.with("periodic", "true") } else { query };
        let query = query.with("objects", request.objects.to_string());
        block_on(client.garbage_collection_plan(query))
    };
    if let Some(found) = from_servers(flags, general, env, ask, "Error planning garbage collection")? {
        return Ok(found);
    }
    let state = State::read(flags, general, env)?;
    let result = plan::plan(&state.view(!request.periodic, request.when), request.objects);
    Ok(Found { result, source: state.source, notes: state.notes })
}

/// When an object is deleted, and what keeps it.
pub fn explanation_of(
    flags: &ClusterFlags,
    general: &GeneralFlags,
    env: &Environment,
    id: &str,
    when: When,
) -> CommandResult<Found<GcExplained>> {
    let ask = |client: &Client| block_on(client.garbage_collection_explained(id, when.parameter(Query::default())));
    if let Some(found) = from_servers(flags, general, env, ask, "Error explaining garbage collection")? {
        return Ok(found);
    }
    let state = State::read(flags, general, env)?;
    let result = explain::explain(&state.view(false, when), &state.gc, general.namespace(env).unwrap_or_default(), id);
    Ok(Found { result, source: state.source, notes: state.notes })
}

/// Asks servers that decide themselves; `None` if there is a file, or the servers do not know the request.
fn from_servers<T>(
    flags: &ClusterFlags,
    general: &GeneralFlags,
    env: &Environment,
    ask: impl FnOnce(&Client) -> CommandResult<Result<(T, encamp_api::Meta), encamp_api::ApiError>>,
    what: &str,
) -> CommandResult<Option<Found<T>>> {
    if flags.snapshot.is_some() {
        return Ok(None);
    }
    let client = general.client(env)?;
    match ask(&client)? {
        Ok((result, _)) => Ok(Some(Found { result, source: client.address().to_string(), notes: Vec::new() })),
        Err(e) if e.is_not_found() => Ok(None),
        Err(e) => Err(e).context(what),
    }
}

impl State {
    fn read(flags: &ClusterFlags, general: &GeneralFlags, env: &Environment) -> CommandResult<State> {
        match &flags.snapshot {
            Some(file) => {
                let options = archive::Options { lenient: flags.reading.ignore_unknown_tables };
                let path = env.directory.join(file);
                let loaded = encamp_snapshot::load_with_rest(&path, options);
                if matches!(loaded, Err(SnapshotError::Archive { .. }))
                    && let Some(state) = State::of_own_backup(&path, file, env)
                {
                    return Ok(state);
                }
                let (snapshot, rest) = loaded.context("Error reading snapshot")?;
                let mut state = State::of_snapshot(snapshot, env);
                if let Some(rest) = rest {
                    state.add(rest);
                } else {
                    state.notes.push(NO_EVALUATIONS.into());
                }
                state.notes.push(DEFAULTS.into());
                Ok(state)
            }
            None => State::of_api(flags, general, env),
        }
    }

    /// A backup of encamp's own servers, whose records have another format; `None` if it is none.
    fn of_own_backup(path: &Path, name: &str, env: &Environment) -> Option<State> {
        let (store, taken_at) = own_backup(path)?;
        let mut notes = vec![DEFAULTS.to_string()];
        if let Some(nanos) = taken_at {
            let time = Time::from_unix_nanos(nanos);
            notes.insert(0, format!("The backup was taken at {time}: ages are evaluated as of then."));
        }
        let enabled = store.acl_tokens().next().is_some();
        Some(State {
            acl: AclSettings { enabled, ..AclSettings::default() },
            store,
            visible: GcKind::ALL.to_vec(),
            gc: GcSettings::default(),
            source: name.to_string(),
            notes,
            now: taken_at.unwrap_or(env.now),
        })
    }

    fn of_snapshot(snapshot: ClusterSnapshot, env: &Environment) -> State {
        let now = snapshot.now(env.now);
        State {
            store: StateStore::of_state(snapshot.state),
            visible: vec![GcKind::Allocation, GcKind::Job, GcKind::Deployment, GcKind::Node],
            gc: GcSettings::default(),
            acl: AclSettings::default(),
            source: snapshot.source,
            notes: snapshot.notes,
            now,
        }
    }

    /// Adds the records of a server backup that a snapshot does not hold.
    fn add(&mut self, rest: archive::Rest) {
        self.visible.extend([GcKind::Evaluation, GcKind::LocalToken, GcKind::GlobalToken, GcKind::RootKey]);
        rest.evaluations.into_iter().for_each(|e| self.store.put_eval(Arc::new(e)));
        rest.variables.into_iter().for_each(|v| self.store.put_variable(Arc::new(v)));
        for meta in rest.root_keys {
            self.store.put_root_key(Arc::new(WrappedRootKey { meta, ..WrappedRootKey::default() }));
        }
        self.add_tokens(rest.acl_tokens);
    }

    /// Adds tokens. There are some exactly where access control is enabled.
    fn add_tokens(&mut self, tokens: Vec<AclToken>) {
        self.acl.enabled = !tokens.is_empty();
        if tokens.iter().any(|t| t.global && t.expiration_time.is_some()) {
            self.notes.push("Global tokens are decided as in the authoritative region.".into());
        }
        tokens.into_iter().for_each(|t| self.store.put_acl_token(Arc::new(t)));
    }

    /// Reads the lists of servers that do not decide themselves. They show neither one-time tokens nor what needs a
    /// root key.
    fn of_api(flags: &ClusterFlags, general: &GeneralFlags, env: &Environment) -> CommandResult<State> {
        let cluster = flags.load(general, Detail::Everything, env)?;
        let mut state = State::of_snapshot(cluster.snapshot, env);
        let client = general.client(env)?;
        let everywhere = Query { namespace: Some("*".into()), ..Query::default() };
        let evals = block_on(client.get::<Option<Vec<Evaluation>>>("/v1/evaluations", &everywhere))?;
        let (evals, _) = evals.context("Error querying evaluations")?;
        evals.unwrap_or_default().into_iter().for_each(|e| state.store.put_eval(Arc::new(e)));
        state.visible.push(GcKind::Evaluation);
        // Without access control, or without the right to list them, tokens stay invisible.
        if let Ok((tokens, _)) = block_on(client.get::<Option<Vec<AclToken>>>("/v1/acl/tokens", &Query::default()))? {
            state.add_tokens(tokens.unwrap_or_default());
            state.visible.extend([GcKind::LocalToken, GcKind::GlobalToken]);
        }
        match block_on(client.get::<AgentSelf<IgnoredAny>>("/v1/agent/self", &Query::default()))? {
            Ok((AgentSelf { config: AgentConfig { server: Some(server), .. }, .. }, _)) => state.configure(&server),
            _ => state.notes.push(DEFAULTS.into()),
        }
        Ok(state)
    }

    /// Takes the thresholds of a server's configuration over.
    fn configure(&mut self, server: &Map<String, Value>) {
        // By name, so that a setting that cannot be read leaves the others as they are.
        let set = |name: &str, setting: &mut i64| {
            if let Ok(nanos) = parse_duration(server.get(name).and_then(Value::as_str).unwrap_or_default()) {
                *setting = nanos;
            }
        };
        set("EvalGCThreshold", &mut self.gc.eval_threshold);
        set("BatchEvalGCThreshold", &mut self.gc.batch_eval_threshold);
        set("JobGCThreshold", &mut self.gc.job_threshold);
        set("JobGCInterval", &mut self.gc.job_interval);
        set("DeploymentGCThreshold", &mut self.gc.deployment_threshold);
        set("NodeGCThreshold", &mut self.gc.node_threshold);
        set("CSIPluginGCThreshold", &mut self.gc.csi_plugin_threshold);
        set("CSIVolumeClaimGCThreshold", &mut self.gc.csi_claim_threshold);
        set("CSIVolumeClaimGCInterval", &mut self.gc.csi_claim_interval);
        set("ACLTokenGCThreshold", &mut self.acl.gc_threshold);
        set("RootKeyGCInterval", &mut self.gc.key_interval);
        set("RootKeyGCThreshold", &mut self.gc.key_threshold);
        set("RootKeyRotationThreshold", &mut self.gc.key_rotation);
        self.notes.push("Thresholds are those of the contacted agent.".into());
    }

    fn view(&self, forced: bool, when: When) -> View<'_> {
        let configured = Thresholds::configured(&self.gc, &self.acl);
        let thresholds = if forced { configured.forced() } else { configured };
        View { store: &self.store, visible: &self.visible, thresholds, now: when.nanos(self.now) }
    }
}
