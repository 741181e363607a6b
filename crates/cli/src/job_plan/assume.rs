//! Namespaces and node pools that a plan assumes to exist: `-assume-namespace`, `-assume-pool` (`docs/spec/cli.md
//! §7.9`).

use serde_json::{Value, json};

use encamp_jobspec::admission::ServerContext;
use encamp_model::{Namespace, NodePool, api, quoted};
use encamp_plan::server_context;
use encamp_state::State;

/// The flags about what is assumed to exist.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct AssumeFlags {
    /// If the namespace of the job does not exist, plan as if it did
    #[arg(long)]
    pub assume_namespace: bool,
    /// If the node pool of the job does not exist, plan as if it did, without nodes
    #[arg(long)]
    pub assume_pool: bool,
}

/// What does not exist, and is assumed to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Assumed {
    namespace: Option<String>,
    pool: Option<String>,
}

impl AssumeFlags {
    pub(super) fn any(&self) -> bool {
        self.assume_namespace || self.assume_pool
    }

    /// The settings of admission in a cluster, with what the plan of this job assumes.
    pub(super) fn context(&self, state: &State, job: &api::Job, namespace: &str) -> (ServerContext, Assumed) {
        let mut server = server_context(state);
        let mut assumed = Assumed::default();
        if self.assume_namespace && !server.namespaces.iter().any(|n| n.name == namespace) {
            server.namespaces.push(Namespace { name: namespace.into(), ..Namespace::default() });
            assumed.namespace = Some(namespace.into());
        }
        let pool = job.node_pool.as_deref().filter(|pool| !pool.is_empty());
        if let Some(pool) = pool.filter(|pool| self.assume_pool && !server.node_pools.iter().any(|p| p.name == *pool)) {
            server.node_pools.push(NodePool { name: pool.into(), ..NodePool::default() });
            assumed.pool = Some(pool.into());
        }
        (server, assumed)
    }
}

impl Assumed {
    /// The end of the sentence about the plan; empty if nothing is assumed.
    pub(super) fn text(&self) -> Option<String> {
        let namespace = self.namespace.as_deref().map(|name| format!("the namespace {}", quoted(name)));
        let pool = self.pool.as_deref().map(|name| format!("the node pool {} (which has no nodes)", quoted(name)));
        let parts: Vec<String> = namespace.into_iter().chain(pool).collect();
        (!parts.is_empty()).then(|| format!("as if {} existed", parts.join(" and ")))
    }

    /// The note about it.
    pub(super) fn note(&self) -> Option<String> {
        Some(format!("The plan is made {}; servers would refuse the job as it is.", self.text()?))
    }

    /// The JSON of a plan, with the member `Assumed` if anything is assumed.
    pub(super) fn beside(&self, mut plan: Value) -> Value {
        let mut out = serde_json::Map::new();
        out.extend(self.namespace.iter().map(|name| ("Namespace".to_string(), json!(name))));
        out.extend(self.pool.iter().map(|name| ("NodePool".to_string(), json!(name))));
        if let (Value::Object(members), false) = (&mut plan, out.is_empty()) {
            members.insert("Assumed".into(), Value::Object(out));
        }
        plan
    }
}
