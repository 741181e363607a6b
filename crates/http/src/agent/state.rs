//! The interface between the HTTP API and its agent.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::access::remote::Answers;
use crate::agent::auth_limit::AuthLimit;
use crate::agent::local_client::{ByteStream, LocalClient};
use crate::api::acl::login::Logins;
use crate::api::gossip_keys::{KeysFailure, KeysReport};
use crate::error::Error;
use crate::request::forward::Forward;
use crate::request::node_forward::NodeConnections;
use crate::serve::bodies::Budget;
use encamp_audit::AuditLog;
use encamp_autoscale::jobs::GroupId;
use encamp_autoscale::jobs::status::GroupStatus;
use encamp_autoscale::status::PoolStatus;
use encamp_model::KeyChange;
use encamp_server::Server;
use encamp_server::leadership::peers::KnownServer;
use encamp_telemetry::Metrics;

/// A pending answer of something behind a trait.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Groups of names and texts, as `agent/self` shows them.
pub type AgentStats = BTreeMap<String, BTreeMap<String, String>>;

/// Settings of the interface.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// The agent's region.
    pub region: String,
    /// The agent's datacenter.
    pub datacenter: String,
    /// The agent's name, without the region.
    pub name: String,
    /// `enable_debug`.
    pub debug: bool,
    /// `acl.enabled`.
    pub acl_enabled: bool,
    /// The agent was started with `-dev`.
    pub dev: bool,
    /// The API version that clients see.
    pub version: String,
}

impl Default for HttpSettings {
    fn default() -> HttpSettings {
        HttpSettings {
            region: "global".into(),
            datacenter: "dc1".into(),
            name: "node-1".into(),
            debug: false,
            acl_enabled: false,
            dev: false,
            version: API_VERSION.into(),
        }
    }
}

/// The version of the API we are compatible with.
pub const API_VERSION: &str = "2.0.5";

/// Where old messages are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogSource {
    /// In the agent's log file.
    File,
    /// In the journal of the system.
    Journal {
        /// The unit that wrote them.
        unit: String,
        /// How old they are at most.
        since: Duration,
        /// Go on with new ones.
        follow: bool,
    },
}

/// The subject of a profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProfileKind {
    /// The command line of the agent.
    CommandLine,
    /// Which threads use the processors.
    Processor,
    /// Which threads there are.
    Threads,
    /// The mappings of its memory.
    Memory,
}

/// A profile of the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// Its content type.
    pub content_type: &'static str,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Requests to the agent itself.
pub trait AgentControl: Send + Sync {
    /// The effective configuration as `agent/self` shows it; without secrets.
    fn config(&self) -> Value;

    /// Figures besides those of server and client: `runtime`.
    fn stats(&self) -> AgentStats;

    /// Reads the configuration again, as SIGHUP does.
    fn reload(&self) -> Pending<'_, Result<(), Error>>;

    /// Messages of this level and above from now on; `None` for a level that does not exist.
    fn watch_logs(&self, level: &str, json: bool, location: bool) -> Option<Box<dyn LogWatch>>;

    /// Messages of the past, as they stand where they are kept.
    fn export_logs(&self, from: LogSource) -> Pending<'_, Result<ByteStream, Error>>;

    /// A profile; processor time is measured for as long as `length`. `text`: in words instead of the form of the
    /// tools.
    fn profile(&self, kind: ProfileKind, length: Duration, text: bool) -> Pending<'_, Result<Profile, Error>>;
}

/// The servers of the cluster, as the server of this agent knows them.
pub trait Membership: Send + Sync {
    /// All that were heard of, by name.
    fn members(&self) -> Vec<KnownServer>;

    /// Whether what they tell each other is encrypted.
    fn encrypted(&self) -> bool;

    /// Joins servers at those addresses; gives how many answered, and what went wrong with the others.
    fn join(&self, addresses: Vec<String>) -> Pending<'_, (usize, Vec<String>)>;

    /// A server that does not answer has left for good; `prune`: it is forgotten.
    fn force_leave(&self, name: String, prune: bool) -> Pending<'_, ()>;

    /// The keys that encrypt gossip on all servers that are alive, after a change of them if there is one.
    fn gossip_keys(&self, change: Option<KeyChange>) -> Pending<'_, Result<KeysReport, KeysFailure>>;
}

/// The worker pools that the leader scales (`docs/spec/cluster-scaling.md §11`).
pub trait Autoscaling: Send + Sync {
    /// All pools by name, as they are now. Empty where this server does not lead.
    fn pools(&self) -> Vec<PoolStatus>;

    /// The job groups that are scaled, by namespace, job and group; empty where this server does not lead, none where
    /// job groups are not scaled at all (`docs/spec/cluster-scaling.md §13`).
    fn groups(&self) -> Option<Vec<GroupStatus>>;

    /// Enters or leaves the failsafe mode of a job group and gives the group. The error of an unknown group is 404.
    fn set_group_failsafe<'a>(
        &'a self,
        group: &'a GroupId,
        enable: bool,
        who: &'a str,
    ) -> Pending<'a, Result<GroupStatus, Error>>;

    /// Enters or leaves the failsafe mode of a pool and gives the pool; `who` asks for it. The error of an unknown pool
    /// is 404.
    fn set_failsafe<'a>(&'a self, pool: &'a str, enable: bool, who: &'a str) -> Pending<'a, Result<PoolStatus, Error>>;
}

/// Messages as they come.
pub trait LogWatch: Send {
    /// The next line, without a newline; `None` at the end.
    fn next(&mut self) -> Pending<'_, Option<String>>;
}

struct App {
    settings: HttpSettings,
    server: Option<Server>,
    client: Option<Arc<dyn LocalClient>>,
    agent: Arc<dyn AgentControl>,
    metrics: Metrics,
    started: i64,
    forward: OnceLock<Arc<dyn Forward>>,
    nodes: OnceLock<Arc<dyn NodeConnections>>,
    membership: OnceLock<Arc<dyn Membership>>,
    autoscaling: OnceLock<Arc<dyn Autoscaling>>,
    audit: OnceLock<Arc<AuditLog>>,
    bodies: Budget,
    remote_answers: Answers,
    auth_limit: Mutex<AuthLimit>,
    logins: Logins,
}

/// Memory for bodies of requests: of all, and of one address.
const BODIES: (usize, usize) = (256 << 20, 192 << 20);

/// Everything that handlers use. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<App>);

impl fmt::Debug for AppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AppState").field(&self.0.settings).finish()
    }
}

impl AppState {
    /// The state of an agent that runs a server, a client, or both.
    pub fn new(
        settings: HttpSettings,
        server: Option<Server>,
        client: Option<Arc<dyn LocalClient>>,
        agent: Arc<dyn AgentControl>,
        metrics: Metrics,
    ) -> AppState {
        let started = encamp_host::ids::now();
        let (forward, membership, autoscaling) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let bodies = Budget::new(BODIES.0, BODIES.1);
        AppState(Arc::new(App {
            settings,
            server,
            client,
            agent,
            metrics,
            started,
            forward,
            nodes: OnceLock::new(),
            membership,
            autoscaling,
            audit: OnceLock::new(),
            bodies,
            remote_answers: Answers::default(),
            auth_limit: Mutex::default(),
            logins: Logins::default(),
        }))
    }

    /// The settings.
    pub fn settings(&self) -> &HttpSettings {
        &self.0.settings
    }

    /// The server of this agent.
    pub fn server(&self) -> Option<&Server> {
        self.0.server.as_ref()
    }

    /// The client of this agent.
    pub fn client(&self) -> Option<&Arc<dyn LocalClient>> {
        self.0.client.as_ref()
    }

    /// The agent itself.
    pub fn agent(&self) -> &Arc<dyn AgentControl> {
        &self.0.agent
    }

    /// The connections to other servers; an agent that is a cluster of its own has none.
    pub fn forward(&self) -> Option<&Arc<dyn Forward>> {
        self.0.forward.get()
    }

    /// Sets what reaches other servers, once.
    pub fn forward_by(&self, forward: Arc<dyn Forward>) {
        let _ = self.0.forward.set(forward);
    }

    /// The connections of nodes to the servers; an agent without a server has none.
    pub fn nodes(&self) -> Option<&Arc<dyn NodeConnections>> {
        self.0.nodes.get()
    }

    /// Sets what reaches the agents of nodes, once.
    pub fn nodes_by(&self, nodes: Arc<dyn NodeConnections>) {
        let _ = self.0.nodes.set(nodes);
    }

    /// The servers that know each other; a server without such an order is alone.
    pub fn membership(&self) -> Option<&Arc<dyn Membership>> {
        self.0.membership.get()
    }

    /// Sets who knows the other servers, once.
    pub fn members_by(&self, membership: Arc<dyn Membership>) {
        let _ = self.0.membership.set(membership);
    }

    /// The worker pools, where this agent scales them.
    pub fn autoscaling(&self) -> Option<&Arc<dyn Autoscaling>> {
        self.0.autoscaling.get()
    }

    /// Sets who scales worker pools, once.
    pub fn autoscaling_by(&self, autoscaling: Arc<dyn Autoscaling>) {
        let _ = self.0.autoscaling.set(autoscaling);
    }

    /// The audit log, if there is one.
    pub fn audit(&self) -> Option<&Arc<AuditLog>> {
        self.0.audit.get()
    }

    /// Sets the audit log, once.
    pub fn audited_by(&self, log: Arc<AuditLog>) {
        let _ = self.0.audit.set(log);
    }

    /// When the interface was made, in Unix nanoseconds.
    pub fn started(&self) -> i64 {
        self.0.started
    }

    /// How fast addresses may guess tokens.
    pub(crate) fn auth_limit(&self) -> &Mutex<AuthLimit> {
        &self.0.auth_limit
    }

    /// What logins with identities of other systems keep.
    pub(crate) fn logins(&self) -> &Logins {
        &self.0.logins
    }

    /// What servers said about tokens, on an agent that is none.
    pub(crate) fn remote_answers(&self) -> &Answers {
        &self.0.remote_answers
    }

    /// Memory for bodies of requests.
    pub fn bodies(&self) -> &Budget {
        &self.0.bodies
    }

    /// Metrics.
    pub fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }
}
