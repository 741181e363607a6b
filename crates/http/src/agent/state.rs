//! The interface between the HTTP API and its agent.

use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

use axum::Router;
use parking_lot::Mutex;

use super::auth_limit::AuthLimit;
use super::autoscaling::Autoscaling;
use super::control::AgentControl;
use super::local_client::LocalClient;
use super::node_connections::NodeConnections;
use super::permission_cache::PermissionCache;
use super::servers::{Forward, Membership};
use crate::identity_providers::Logins;
use crate::serve::bodies::Budget;
use encamp_audit::AuditLog;
use encamp_server::Server;
use encamp_telemetry::Metrics;

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
    web_ui: OnceLock<Router>,
    bodies: Budget,
    remote_permissions: PermissionCache,
    auth_limit: Mutex<AuthLimit>,
    logins: Logins,
}

/// Memory for bodies of requests: of all, and of one address.
const BODIES: (usize, usize) = (256 << 20, 192 << 20);

/// Everything that handlers use. Clones share it.
#[derive(Clone)]
pub struct AppState(Arc<App>);

/// An [`AppState`] for what the state itself holds.
#[derive(Clone)]
pub struct WeakAppState(Weak<App>);

impl WeakAppState {
    /// The state, until the agent has stopped.
    pub fn upgrade(&self) -> Option<AppState> {
        self.0.upgrade().map(AppState)
    }
}

impl fmt::Debug for WeakAppState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WeakAppState")
    }
}

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
            web_ui: OnceLock::new(),
            bodies,
            remote_permissions: PermissionCache::default(),
            auth_limit: Mutex::default(),
            logins: Logins::default(),
        }))
    }

    /// A reference that does not keep the state.
    pub fn downgrade(&self) -> WeakAppState {
        WeakAppState(Arc::downgrade(&self.0))
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

    /// What answers the paths below `/ui/`; an agent whose web UI is disabled has none.
    pub fn web_ui(&self) -> Option<&Router> {
        self.0.web_ui.get()
    }

    /// Sets what answers the paths below `/ui/`, once.
    pub fn web_ui_by(&self, pages: Router) {
        let _ = self.0.web_ui.set(pages);
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
    pub(crate) fn remote_permissions(&self) -> &PermissionCache {
        &self.0.remote_permissions
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
