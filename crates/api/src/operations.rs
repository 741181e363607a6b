//! Endpoints for operating a cluster: allocations, nodes, pools, namespaces, servers, the agent (`docs/spec/http-api.md
//! §5`).
//!
//! Objects that are also printed as JSON or with a template are read as [`Value`]s or [`Received`], so that no member is
//! lost.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::Method;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::client::{Call, Client, Meta, Query, path};
use super::error::ApiError;
use super::received::Received;
use super::types::*;
use encamp_model::gc::{GcExplained, GcPlan, GcReport};
use encamp_model::requests::{AllocSignalRequest, DrainSpec, NodeDrainRequest, NodeEligibilityRequest, SearchRequest};
use encamp_model::responses::{AllocFileInfo, SearchResponse};
use encamp_model::stats::{AllocResourceUsage, HostStats};
use encamp_model::{
    AllocListStub, KeyChange, NodeEligibility, RootKey, SchedulerConfiguration, ServiceRegistration, format_duration,
};

type Answer<T> = Result<(T, Meta), ApiError>;

impl Client {
    /// Allocations of the client's namespace whose ID starts so.
    pub async fn allocations_with_prefix(&self, prefix: &str) -> Answer<Vec<AllocListStub>> {
        let query = Query::default().with("prefix", prefix);
        let (rows, meta) = self.get::<Option<Vec<_>>>("/v1/allocations", &query).await?;
        Ok((rows.unwrap_or_default(), meta))
    }

    /// One allocation with its job.
    pub async fn allocation_value(&self, namespace: &str, id: &str) -> Answer<Value> {
        self.get(&path("/v1/allocation/", id, ""), &in_namespace(namespace)).await
    }

    /// The latest results of an allocation's service checks, by check ID.
    pub async fn allocation_checks(
        &self,
        namespace: Option<&str>,
        id: &str,
    ) -> Answer<BTreeMap<String, Received<AllocCheck>>> {
        let query = in_namespace(namespace.unwrap_or_default());
        self.get(&path("/v1/client/allocation/", id, "/checks"), &query).await
    }

    /// The resource usage of an allocation.
    pub async fn allocation_stats(&self, id: &str) -> Answer<AllocResourceUsage> {
        self.get(&path("/v1/client/allocation/", id, "/stats"), &Query::default()).await
    }

    /// Sends a signal to a task of an allocation, or to all.
    pub async fn signal_allocation(&self, namespace: &str, id: &str, task: &str, signal: &str) -> Answer<Value> {
        let body = AllocSignalRequest { task: task.into(), signal: signal.into() };
        self.put(&path("/v1/client/allocation/", id, "/signal"), &in_namespace(namespace), &body).await
    }

    /// The schedule state of a task of an allocation; the open edition refuses the request.
    pub async fn allocation_pause(&self, namespace: &str, id: &str, task: &str) -> Answer<String> {
        let query = in_namespace(namespace).with("task", task);
        self.get(&path("/v1/client/allocation/", id, "/pause"), &query).await
    }

    /// Changes the schedule state of a task of an allocation; the open edition refuses the request.
    pub async fn pause_allocation(&self, namespace: &str, id: &str, task: &str, state: &str) -> Answer<Value> {
        let body = json!({ "Task": task, "ScheduleState": state });
        self.put(&path("/v1/client/allocation/", id, "/pause"), &in_namespace(namespace), &body).await
    }

    /// The files of a directory of an allocation.
    pub async fn list_files(&self, namespace: &str, id: &str, folder: &str) -> Answer<Vec<AllocFileInfo>> {
        let query = in_namespace(namespace).with("path", folder);
        let (files, meta) = self.get::<Option<Vec<_>>>(&path("/v1/client/fs/ls/", id, ""), &query).await?;
        Ok((files.unwrap_or_default(), meta))
    }

    /// A file or directory of an allocation.
    pub async fn stat_file(&self, namespace: &str, id: &str, file: &str) -> Answer<AllocFileInfo> {
        self.get(&path("/v1/client/fs/stat/", id, ""), &in_namespace(namespace).with("path", file)).await
    }

    /// Nodes whose ID starts so, as list entries.
    pub async fn nodes_with_prefix<T: DeserializeOwned>(&self, prefix: &str) -> Answer<Vec<T>> {
        self.rows("/v1/nodes", &Query::default().with("prefix", prefix)).await
    }

    /// One node, with all members that the server sent.
    pub async fn node_as_sent(&self, id: &str) -> Answer<Received<encamp_model::Node>> {
        self.get(&path("/v1/node/", id, ""), &Query::default()).await
    }

    /// The same, when it is newer than the index.
    pub async fn node_after(&self, id: &str, index: u64) -> Answer<encamp_model::Node> {
        self.get(&path("/v1/node/", id, ""), &Query { index: Some(index), ..Query::default() }).await
    }

    /// The allocations of a node, when they are newer than the index.
    pub async fn node_allocations_after(&self, id: &str, index: u64) -> Answer<Vec<encamp_model::Allocation>> {
        let query = Query { index: Some(index), ..Query::default() };
        let (list, meta) = self.get::<Option<Vec<_>>>(&path("/v1/node/", id, "/allocations"), &query).await?;
        Ok((list.unwrap_or_default(), meta))
    }

    /// The resource usage of a node.
    pub async fn node_stats(&self, id: &str) -> Answer<HostStats> {
        self.get("/v1/client/stats", &Query::default().with("node_id", id)).await
    }

    /// Begins to drain a node, or ends it. `eligible`: it takes allocations again afterwards.
    pub async fn drain_node(
        &self,
        id: &str,
        spec: Option<DrainSpec>,
        eligible: bool,
        meta: &BTreeMap<String, String>,
    ) -> Answer<DrainResponse> {
        let body =
            NodeDrainRequest { node_id: id.into(), drain_spec: spec, mark_eligible: eligible, meta: meta.clone() };
        self.put(&path("/v1/node/", id, "/drain"), &Query::default(), &body).await
    }

    /// Says whether a node takes new allocations.
    pub async fn set_node_eligibility(&self, id: &str, eligible: bool) -> Answer<Value> {
        let eligibility = if eligible { NodeEligibility::Eligible } else { NodeEligibility::Ineligible };
        let body = NodeEligibilityRequest { node_id: id.into(), eligibility };
        self.put(&path("/v1/node/", id, "/eligibility"), &Query::default(), &body).await
    }

    /// Removes a node.
    pub async fn purge_node(&self, id: &str) -> Answer<Value> {
        self.put(&path("/v1/node/", id, "/purge"), &Query::default(), &json!({})).await
    }

    /// Revokes the identity of a node.
    pub async fn revoke_node_identity(&self, id: &str) -> Answer<Value> {
        self.put(&path("/v1/node/", id, "/identity/revoke"), &Query::default(), &json!({})).await
    }

    /// Metadata of a node (the contacted agent's for an empty ID): combined, dynamic (set at run time) and static.
    pub async fn node_meta(&self, id: &str) -> Answer<Received<NodeMeta>> {
        self.get("/v1/client/metadata", &of_node(id)).await
    }

    /// Changes metadata of a node; null removes a key.
    pub async fn set_node_meta(&self, id: &str, meta: &Value) -> Answer<Value> {
        let (query, body) = (of_node(id), json!({"NodeID": id, "Meta": meta}));
        self.write(Call { method: Method::POST, path: "/v1/client/metadata", query: &query, body: Some(&body) }).await
    }

    /// The claims of a node's identity.
    pub async fn node_identity(&self, id: &str) -> Answer<Received<NodeIdentity>> {
        self.get("/v1/client/identity", &of_node(id)).await
    }

    /// A token that introduces a node to the servers. `ttl` in nanoseconds, 0 for the default.
    pub async fn introduce_node(&self, name: &str, pool: &str, ttl: i64) -> Answer<Received<IntroductionToken>> {
        let body = json!({"NodeName": name, "NodePool": pool, "TTL": format_duration(ttl)});
        self.put("/v1/acl/identity/client-introduction-token", &Query::default(), &body).await
    }

    /// Has a node ask for a new identity.
    pub async fn renew_node_identity(&self, id: &str) -> Answer<Value> {
        self.put("/v1/client/identity/renew", &of_node(id), &json!({"NodeID": id})).await
    }

    /// Writes a node pool.
    pub async fn put_node_pool(&self, pool: &Value) -> Answer<Value> {
        self.put("/v1/node/pools", &Query::default(), pool).await
    }

    /// Jobs (`jobs`) or nodes (`nodes`) of a node pool.
    pub async fn node_pool_members<T: DeserializeOwned>(
        &self,
        name: &str,
        what: &str,
        query: &Query,
    ) -> Answer<Vec<T>> {
        self.rows(&path("/v1/node/pool/", name, &format!("/{what}")), query).await
    }

    /// Writes a namespace.
    pub async fn put_namespace(&self, namespace: &Value) -> Answer<Value> {
        self.put("/v1/namespace", &Query::default(), namespace).await
    }

    /// Searches all kinds of objects for a prefix.
    pub async fn search(&self, prefix: &str) -> Answer<SearchResponse> {
        let body = SearchRequest { prefix: prefix.into(), context: "all".into(), ..SearchRequest::default() };
        self.put("/v1/search", &Query::default(), &body).await
    }

    /// The agent that answers: `config`, `member`, `stats`.
    pub async fn agent_self(&self) -> Answer<Value> {
        self.get("/v1/agent/self", &Query::default()).await
    }

    /// The servers that the agent knows of. `T` has the members that the caller reads, such as [`AgentMembers`].
    pub async fn agent_members<T: DeserializeOwned>(&self) -> Answer<T> {
        self.get("/v1/agent/members", &Query::default()).await
    }

    /// The RPC address of a region's leader.
    pub async fn leader(&self, region: &str) -> Answer<String> {
        self.get("/v1/status/leader", &Query::default().with("region", region)).await
    }

    /// RPC addresses of the cluster's servers.
    pub async fn servers_of_cluster(&self) -> Answer<Vec<String>> {
        self.get("/v1/status/peers", &Query::default()).await
    }

    /// The servers that the agent's node knows of.
    pub async fn agent_servers(&self) -> Answer<Vec<String>> {
        self.get("/v1/agent/servers", &Query::default()).await
    }

    /// Tells the agent's node its servers.
    pub async fn set_agent_servers(&self, addresses: &[String]) -> Answer<Value> {
        self.put("/v1/agent/servers", &addressed(addresses), &Value::Null).await
    }

    /// Has the agent join other servers: how many it joined, or what went wrong.
    pub async fn join(&self, addresses: &[String]) -> Answer<JoinResponse> {
        self.put("/v1/agent/join", &addressed(addresses), &Value::Null).await
    }

    /// Takes a server that failed out of the list of members.
    pub async fn force_leave(&self, name: &str, prune: bool) -> Answer<Value> {
        let mut query = Query::default().with("node", name);
        if prune {
            query = query.with("prune", "true");
        }
        self.put("/v1/agent/force-leave", &query, &Value::Null).await
    }

    /// The scheduler configuration.
    pub async fn scheduler_configuration_value(&self) -> Answer<Value> {
        self.get("/v1/operator/scheduler/configuration", &Query::default()).await
    }

    /// Writes the scheduler configuration if it still has that index. Whether it was written.
    pub async fn set_scheduler_configuration(&self, config: &SchedulerConfiguration, index: u64) -> Answer<bool> {
        let query = Query::default().with("cas", index.to_string());
        let (answer, meta): (Updated, _) = self.put("/v1/operator/scheduler/configuration", &query, config).await?;
        Ok((answer.updated, meta))
    }

    /// The Raft peers.
    pub async fn raft_configuration(&self, stale: bool) -> Answer<RaftConfiguration> {
        self.get("/v1/operator/raft/configuration", &Query { stale, ..Query::default() }).await
    }

    /// Removes a server from the Raft peers.
    pub async fn remove_raft_peer(&self, id: &str) -> Answer<Value> {
        self.delete("/v1/operator/raft/peer", &Query::default().with("id", id)).await
    }

    /// Makes another server the leader; named by `id` or `address`.
    pub async fn transfer_leadership(&self, by: &'static str, value: &str) -> Answer<Value> {
        self.put("/v1/operator/raft/transfer-leadership", &Query::default().with(by, value), &Value::Null).await
    }

    /// How failed servers are dealt with.
    pub async fn autopilot_configuration(&self) -> Answer<Value> {
        self.get("/v1/operator/autopilot/configuration", &Query::default()).await
    }

    /// Writes that, if it still has the index. Whether it was written.
    pub async fn set_autopilot_configuration(&self, config: &impl Serialize, index: u64) -> Answer<bool> {
        let query = Query::default().with("cas", index.to_string());
        self.put("/v1/operator/autopilot/configuration", &query, config).await
    }

    /// The keys that encrypt gossip.
    pub async fn gossip_keys(&self) -> Answer<GossipKeys> {
        self.get("/v1/agent/keyring/list", &Query::default()).await
    }

    /// Changes the keys that encrypt gossip, on all servers.
    pub async fn change_gossip_keys(&self, change: &KeyChange) -> Answer<GossipKeys> {
        let (KeyChange::Install(key) | KeyChange::Use(key) | KeyChange::Remove(key)) = change;
        let path = format!("/v1/agent/keyring/{}", change.name());
        self.put(&path, &Query::default(), &json!({ "Key": key.expose() })).await
    }

    /// The keys that encrypt variables and sign identities.
    pub async fn root_keys(&self) -> Answer<Vec<RootKey>> {
        let (keys, meta) = self.get::<Option<Vec<_>>>("/v1/operator/keyring/keys", &Query::default()).await?;
        Ok((keys.unwrap_or_default(), meta))
    }

    /// Makes a new key. `publish_time` (Unix nanoseconds): it is used from then on.
    pub async fn rotate_root_key(&self, full: bool, publish_time: i64) -> Answer<RootKey> {
        let mut query = Query::default();
        if full {
            query = query.with("full", "true");
        }
        if publish_time > 0 {
            query = query.with("publish_time", publish_time.to_string());
        }
        let (answer, meta): (KeyResponse, _) = self.put("/v1/operator/keyring/rotate", &query, &Value::Null).await?;
        Ok((answer.key, meta))
    }

    /// Deletes a key.
    pub async fn remove_root_key(&self, id: &str, force: bool) -> Answer<Value> {
        let query = Query::default().with("force", force.to_string());
        self.delete(&path("/v1/operator/keyring/key/", id, ""), &query).await
    }

    /// Garbage collection at once.
    pub async fn collect_garbage(&self) -> Answer<Value> {
        self.put("/v1/system/gc", &Query::default(), &Value::Null).await
    }

    /// Garbage collection at once; answers at the end of the run, after at most `wait`. Servers that do not know this
    /// answer at once, without a report.
    pub async fn collect_garbage_and_wait(&self, wait: Duration) -> Answer<Option<GcReport>> {
        let nanos = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
        let query = Query::default().with("wait", format_duration(nanos));
        let query = Query { answer_after: Some(wait), ..query };
        self.put("/v1/system/gc", &query, &Value::Null).await
    }

    /// What a run of garbage collection would do. `parameters` select the run and its time.
    pub async fn garbage_collection_plan(&self, parameters: Query) -> Answer<GcPlan> {
        self.get("/v1/system/gc/plan", &parameters).await
    }

    /// When an object is deleted, and what keeps it.
    pub async fn garbage_collection_explained(&self, id: &str, parameters: Query) -> Answer<GcExplained> {
        self.get("/v1/system/gc/explain", &parameters.with("id", id)).await
    }

    /// Counts the summaries of jobs again.
    pub async fn reconcile_summaries(&self) -> Answer<Value> {
        self.put("/v1/system/reconcile/summaries", &Query::default(), &Value::Null).await
    }

    /// Services by namespace.
    pub async fn services(&self) -> Answer<Vec<Received<NamespaceServices>>> {
        self.rows("/v1/services", &Query::default()).await
    }

    /// Where a service runs.
    pub async fn service(&self, name: &str, query: &Query) -> Answer<Vec<Received<ServiceRegistration>>> {
        self.rows(&path("/v1/service/", name, ""), query).await
    }

    /// Takes back a registration of a service.
    pub async fn delete_service(&self, name: &str, id: &str) -> Answer<Value> {
        let base = path("/v1/service/", name, "/");
        self.delete(&path(&base, id, ""), &Query::default()).await
    }
}

/// A query in a namespace; the client's own for an empty one.
fn in_namespace(namespace: &str) -> Query {
    Query { namespace: Some(namespace.to_string()).filter(|n| !n.is_empty()), ..Query::default() }
}

fn of_node(id: &str) -> Query {
    if id.is_empty() { Query::default() } else { Query::default().with("node_id", id) }
}

fn addressed(addresses: &[String]) -> Query {
    addresses.iter().fold(Query::default(), |query, address| query.with("address", address))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct Updated {
    updated: bool,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct KeyResponse {
    key: RootKey,
}
