//! The table of all routes (`docs/spec/http-api.md §1.2, §5`): who may call what, how it is counted, who answers.
//!
//! A path belongs to the longest prefix in the table. Of the routes with that prefix, the first one whose pattern
//! matches the rest of the path decides the pattern, and the method decides between the routes with that pattern. The
//! routes of a method that a path does not have give 405 `Invalid method`, unless the table says otherwise.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::Method;

use crate::access::right::{
    Capability, Level, OperatorCapability, PluginLevel, PoolCapability, Right, VariableCapability,
};
use crate::api::{
    acl, agent, agent_host, allocs, autoscale, client, deployments, evals, events, exec, fs, gossip_keys, host_volumes,
    job_reads, job_writes, keyring, monitor, namespaces, nodes, operator, outside_api, pools, scaling, search,
    services, snapshots, status, system_gc, variables, volumes,
};
use crate::request::pattern;
use crate::routes::metric::Metric;
use crate::routes::metric::Metric::{List, NotCounted, Read, Write};
use crate::routes::route::{AnsweredBy, Handler, Methods, NamedIn, Route, handler};

const ANY: Methods = Methods::Any;
const GET: Methods = Methods::Only(&[Method::GET]);
const PUT: Methods = Methods::Only(&[Method::PUT]);
const POST: Methods = Methods::Only(&[Method::POST]);
const DELETE: Methods = Methods::Only(&[Method::DELETE]);
/// PUT and POST, which are interchangeable for most writes.
const WRITE: Methods = Methods::Only(&[Method::PUT, Method::POST]);

const AGENT: AnsweredBy = AnsweredBy::Agent;
const NODE: AnsweredBy = AnsweredBy::Node;
const ALLOC_NODE: AnsweredBy = AnsweredBy::NodeOfAlloc(NamedIn::Path);
const ACTION_NODE: AnsweredBy = AnsweredBy::NodeOfAlloc(NamedIn::Query("allocID"));
const SERVER: AnsweredBy = AnsweredBy::Server;
const LEADER: AnsweredBy = AnsweredBy::Leader;
const ONLY_LEADER: AnsweredBy = AnsweredBy::OnlyLeader;

const ANONYMOUS: Right = Right::Anonymous;
const MANAGEMENT: Right = Right::Management;
const AGENT_READ: Right = Right::Agent(Level::Read);
const AGENT_WRITE: Right = Right::Agent(Level::Write);
const NODE_READ: Right = Right::Node(Level::Read);
const NODE_WRITE: Right = Right::Node(Level::Write);
const OPERATOR_READ: Right = Right::Operator(Level::Read);
const OPERATOR_WRITE: Right = Right::Operator(Level::Write);
const POOL_READ: Right = Right::Pool(PoolCapability::Read);
const POOL_WRITE: Right = Right::Pool(PoolCapability::Write);
const POOL_DELETE: Right = Right::Pool(PoolCapability::Delete);
const PLUGIN_READ: Right = Right::Plugin(PluginLevel::Read);
const READ_JOB: Right = Right::Namespace(&[Capability::ReadJob]);
const LIST_AND_READ_JOBS: Right = Right::All(&[Right::Namespace(&[Capability::ListJobs]), READ_JOB]);
const LIST_POLICIES: Right = Right::OneOf(&[Right::Namespace(&[Capability::ListScalingPolicies]), LIST_AND_READ_JOBS]);
const READ_POLICY: Right = Right::OneOf(&[Right::Namespace(&[Capability::ReadScalingPolicy]), LIST_AND_READ_JOBS]);
const DISPATCH: Right = Right::Namespace(&[Capability::DispatchJob]);
const TAG: Right = Right::Namespace(&[Capability::SubmitJob, Capability::TagJobVersion]);
const ALLOC_EXEC: Right = Right::Namespace(&[Capability::AllocExec]);
const ALLOC_LIFECYCLE: Right = Right::Namespace(&[Capability::AllocLifecycle]);
const READ_FS: Right = Right::Namespace(&[Capability::ReadFs]);
const READ_LOGS: Right = Right::Namespace(&[Capability::ReadLogs, Capability::ReadFs]);
const READ_HOST_VOLUME: Right = Right::Namespace(&[Capability::HostVolumeRead]);
const DELETE_HOST_VOLUME: Right = Right::Namespace(&[Capability::HostVolumeDelete]);
const LIST_VOLUMES: Right = Right::Namespace(&[
    Capability::CsiListVolume,
    Capability::CsiReadVolume,
    Capability::CsiMountVolume,
    Capability::ListJobs,
]);
const READ_VOLUME: Right =
    Right::Namespace(&[Capability::CsiReadVolume, Capability::CsiMountVolume, Capability::ReadJob]);
const WRITE_VOLUME: Right = Right::All(&[Right::Namespace(&[Capability::CsiWriteVolume]), PLUGIN_READ]);
const MOUNT_VOLUME: Right = Right::All(&[Right::Namespace(&[Capability::CsiMountVolume]), PLUGIN_READ]);

const fn any_of(capabilities: &'static [Capability]) -> Right {
    Right::Namespace(capabilities)
}

const fn route(
    methods: Methods,
    prefix: &'static str,
    rest: &'static str,
    handler: Handler,
    by: AnsweredBy,
    right: Right,
    metric: Metric,
) -> Route {
    Route { methods, prefix, rest, handler, by, right, metric }
}

/// All routes. The routes of a prefix are in the order in which their patterns are tried.
#[rustfmt::skip]
pub(crate) static ROUTES: &[Route] = &[
    // Outside of the API (`docs/spec/http-api.md §1.2`).
    route(ANY, "/", "", handler!(outside_api::root), AGENT, ANONYMOUS, NotCounted),
    route(ANY, "/ui/", "{*path}", handler!(outside_api::ui), AGENT, ANONYMOUS, NotCounted),
    route(ANY, "/debug/pprof/", "{*path}", handler!(outside_api::pprof), AGENT, ANONYMOUS, NotCounted),
    route(ANY, "/v1/sentinel/", "{*path}", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/quotas", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/quota", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/quota/", "{*path}", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/quota-usages", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/quota-usage/", "{*path}", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/recommendation", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/recommendation/", "{*path}", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/recommendations", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/recommendations/", "{*path}", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/operator/license", "", handler!(outside_api::license), AGENT, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/operator/license", "", handler!(outside_api::enterprise), AGENT, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/operator/utilization", "", handler!(outside_api::enterprise), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/.well-known/jwks.json", "", handler!(keyring::jwks), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/.well-known/openid-configuration", "", handler!(keyring::openid), LEADER, ANONYMOUS, NotCounted),

    // Status, regions, agent (`docs/spec/http-api.md §5.1`).
    route(GET, "/v1/status/leader", "", handler!(status::leader), SERVER, ANONYMOUS, Read("status", "leader")),
    route(GET, "/v1/status/peers", "", handler!(status::peers), SERVER, ANONYMOUS, Read("status", "peers")),
    route(GET, "/v1/regions", "", handler!(status::regions), SERVER, ANONYMOUS, List("region", "list")),
    route(GET, "/v1/agent/self", "", handler!(agent::own), AGENT, AGENT_READ, NotCounted),
    route(GET, "/v1/agent/members", "", handler!(agent::members), SERVER, NODE_READ, NotCounted),
    route(GET, "/v1/agent/servers", "", handler!(agent::servers), AGENT, AGENT_READ, NotCounted),
    route(WRITE, "/v1/agent/servers", "", handler!(agent::set_servers), AGENT, AGENT_WRITE, NotCounted),
    route(ANY, "/v1/agent/servers", "", handler!(agent::no_servers_method), AGENT, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/agent/join", "", handler!(agent::join), AGENT, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/agent/force-leave", "", handler!(agent::force_leave), AGENT, AGENT_WRITE, NotCounted),
    route(GET, "/v1/agent/health", "", handler!(agent::health), AGENT, ANONYMOUS, NotCounted),
    route(GET, "/v1/agent/host", "", handler!(agent_host::host), NODE, AGENT_READ, NotCounted),
    route(GET, "/v1/agent/schedulers", "", handler!(agent::schedulers), AGENT, AGENT_READ, NotCounted),
    route(GET, "/v1/agent/schedulers/config", "", handler!(agent::scheduler_config), AGENT, AGENT_READ, NotCounted),
    route(WRITE, "/v1/agent/schedulers/config", "", handler!(agent::set_scheduler_config), AGENT, AGENT_WRITE,
        NotCounted),
    route(ANY, "/v1/agent/keyring/", "list", handler!(gossip_keys::list), AGENT, AGENT_WRITE, NotCounted),
    route(ANY, "/v1/agent/keyring/", "install", handler!(gossip_keys::install), AGENT, AGENT_WRITE, NotCounted),
    route(ANY, "/v1/agent/keyring/", "use", handler!(gossip_keys::use_key), AGENT, AGENT_WRITE, NotCounted),
    route(ANY, "/v1/agent/keyring/", "remove", handler!(gossip_keys::remove), AGENT, AGENT_WRITE, NotCounted),
    route(ANY, "/v1/agent/keyring/", "{*name}", handler!(gossip_keys::unknown), AGENT, AGENT_WRITE, NotCounted),
    route(WRITE, "/v1/agent/reload", "", handler!(agent::reload), AGENT, AGENT_WRITE, NotCounted),
    route(GET, "/v1/agent/monitor", "", handler!(monitor::monitor), NODE, AGENT_READ, NotCounted),
    route(GET, "/v1/agent/monitor/export", "", handler!(monitor::export), NODE, AGENT_READ, NotCounted),
    route(ANY, "/v1/agent/pprof/", "{*name}", handler!(agent::pprof), NODE, AGENT_WRITE, NotCounted),
    route(GET, "/v1/metrics", "", handler!(agent::metrics), AGENT, ANONYMOUS, NotCounted),

    // Jobs (`docs/spec/http-api.md §5.2, §5.3`).
    route(GET, "/v1/jobs", "", handler!(job_reads::list), LEADER, any_of(&[Capability::ListJobs]), List("job", "list")),
    route(WRITE, "/v1/jobs", "", handler!(job_writes::register), LEADER, any_of(&[Capability::SubmitJob, Capability::RegisterJob]),
        Write("job", "register")),
    route(WRITE, "/v1/jobs/parse", "", handler!(job_writes::parse), LEADER, any_of(&[Capability::ParseJob, Capability::SubmitJob]),
        NotCounted),
    route(GET, "/v1/jobs/statuses", "", handler!(job_reads::statuses), LEADER, READ_JOB, List("job", "statuses")),
    route(POST, "/v1/jobs/statuses", "", handler!(job_reads::named_statuses), LEADER, READ_JOB, List("job", "statuses")),
    route(WRITE, "/v1/validate/job", "", handler!(job_writes::validate), LEADER, READ_JOB, Write("job", "validate")),
    route(WRITE, "/v1/job/", "{*id}/evaluate", handler!(job_writes::evaluate, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::EvaluateJob]), Write("job", "evaluate")),
    route(GET, "/v1/job/", "{*id}/allocations", handler!(job_reads::allocations, id), LEADER, READ_JOB,
        List("job", "allocations")),
    route(GET, "/v1/job/", "{*id}/evaluations", handler!(job_reads::evaluations, id), LEADER, READ_JOB,
        List("job", "evaluations")),
    route(WRITE, "/v1/job/", "{*id}/periodic/force", handler!(job_writes::force_periodic, id), LEADER,
        any_of(&[Capability::DispatchJob, Capability::SubmitJob, Capability::ForcePeriodicJob]), Write("periodic", "force")),
    route(WRITE, "/v1/job/", "{*id}/plan", handler!(job_writes::plan, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::PlanJob]), Write("job", "plan")),
    route(GET, "/v1/job/", "{*id}/summary", handler!(job_reads::summary, id), LEADER, READ_JOB,
        Read("job_summary", "get_job_summary")),
    route(WRITE, "/v1/job/", "{*id}/dispatch", handler!(job_writes::dispatch, id), LEADER, DISPATCH,
        Write("job", "dispatch")),
    route(WRITE, "/v1/job/", "{*id}/dispatch/payload", handler!(job_writes::dispatch_payload, id), LEADER, DISPATCH,
        Write("job", "dispatch")),
    route(GET, "/v1/job/", "{*id}/versions", handler!(job_reads::versions, id), LEADER, READ_JOB,
        Read("job", "get_job_versions")),
    route(WRITE, "/v1/job/", "{*id}/revert", handler!(job_writes::revert, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::RevertJob]), Write("job", "revert")),
    route(GET, "/v1/job/", "{*id}/deployments", handler!(job_reads::deployments, id), LEADER, READ_JOB,
        List("job", "deployments")),
    route(GET, "/v1/job/", "{*id}/deployment", handler!(job_reads::deployment, id), LEADER, READ_JOB,
        Read("job", "latest_deployment")),
    route(WRITE, "/v1/job/", "{*id}/stable", handler!(job_writes::stable, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::StableJob]), Write("job", "stable")),
    route(GET, "/v1/job/", "{*id}/scale", handler!(job_reads::scale_status, id), LEADER,
        any_of(&[Capability::ReadJob, Capability::ReadJobScaling]), Read("job", "scale_status")),
    route(WRITE, "/v1/job/", "{*id}/scale", handler!(job_writes::scale, id), LEADER,
        any_of(&[Capability::ScaleJob, Capability::SubmitJob]), Write("job", "scale")),
    route(GET, "/v1/job/", "{*id}/services", handler!(job_reads::services, id), LEADER, READ_JOB,
        Read("job", "get_service_registrations")),
    route(GET, "/v1/job/", "{*id}/submission", handler!(job_reads::submission, id), LEADER, READ_JOB,
        Read("job", "get_job_submission")),
    route(GET, "/v1/job/", "{*id}/actions", handler!(job_reads::actions, id), LEADER, READ_JOB, Read("job", "get_actions")),
    // An action runs where the allocation is.
    route(GET, "/v1/job/", "{*id}/action", handler!(exec::action, id), ACTION_NODE, ALLOC_EXEC, NotCounted),
    route(WRITE, "/v1/job/", "{id}/versions/{name}/tag", handler!(job_writes::tag, id), LEADER, TAG,
        Write("job", "tag_version")),
    route(DELETE, "/v1/job/", "{id}/versions/{name}/tag", handler!(job_writes::untag, id), LEADER, TAG,
        Write("job", "tag_version")),
    route(ANY, "/v1/job/", "{*id}/tag", handler!(job_writes::no_tag), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/job/", "{*id}", handler!(job_reads::one, id), LEADER, READ_JOB, Read("job", "get_job")),
    route(WRITE, "/v1/job/", "{*id}", handler!(job_writes::update, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::RegisterJob]), Write("job", "register")),
    route(DELETE, "/v1/job/", "{*id}", handler!(job_writes::deregister, id), LEADER,
        any_of(&[Capability::SubmitJob, Capability::PurgeJob, Capability::DeregisterJob]), Write("job", "deregister")),

    // Allocations (`docs/spec/http-api.md §5.4`).
    route(GET, "/v1/allocations", "", handler!(allocs::list), LEADER, READ_JOB, List("alloc", "list")),
    route(GET, "/v1/allocation/", "{id}", handler!(allocs::one, id), LEADER, READ_JOB, Read("alloc", "get_alloc")),
    route(WRITE, "/v1/allocation/", "{id}/stop", handler!(allocs::stop, id), LEADER, ALLOC_LIFECYCLE,
        Write("alloc", "stop")),
    route(GET, "/v1/allocation/", "{id}/services", handler!(allocs::services, id), LEADER, READ_JOB,
        Read("alloc", "get_service_registrations")),
    route(GET, "/v1/allocation/", "{id}/checks", handler!(allocs::checks, id), LEADER, READ_JOB, NotCounted),
    route(ANY, "/v1/allocation/", "{*path}", handler!(allocs::nothing), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/client/allocation/", "{id}/stats", handler!(client::alloc_stats, id), ALLOC_NODE, READ_JOB, NotCounted),
    route(GET, "/v1/client/allocation/", "{id}/checks", handler!(allocs::checks, id), ALLOC_NODE, READ_JOB, NotCounted),
    route(WRITE, "/v1/client/allocation/", "{id}/restart", handler!(client::restart, id), ALLOC_NODE, ALLOC_LIFECYCLE,
        NotCounted),
    route(WRITE, "/v1/client/allocation/", "{id}/signal", handler!(client::send_signal, id), ALLOC_NODE, ALLOC_LIFECYCLE,
        NotCounted),
    route(ANY, "/v1/client/allocation/", "{id}/gc", handler!(client::collect, id), ALLOC_NODE,
        any_of(&[Capability::SubmitJob, Capability::GcAllocation]), NotCounted),
    route(GET, "/v1/client/allocation/", "{id}/pause", handler!(client::pause_state), AGENT, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/client/allocation/", "{id}/pause", handler!(client::pause), AGENT, ANONYMOUS, NotCounted),
    route(GET, "/v1/client/allocation/", "{id}/snapshot", handler!(client::snapshot, id), AGENT, ANONYMOUS, NotCounted),
    route(ANY, "/v1/client/allocation/", "{id}/exec", handler!(exec::exec, id), ALLOC_NODE, ALLOC_EXEC, NotCounted),
    route(ANY, "/v1/client/allocation/", "{*path}", handler!(allocs::nothing), AGENT, ANONYMOUS, NotCounted),

    // The node agent: figures, metadata, files (`docs/spec/http-api.md §5.5`).
    route(ANY, "/v1/client/stats", "", handler!(client::stats), NODE, NODE_READ, NotCounted),
    route(ANY, "/v1/client/gc", "", handler!(client::gc), NODE, NODE_WRITE, NotCounted),
    route(GET, "/v1/client/metadata", "", handler!(client::metadata), NODE, NODE_READ, NotCounted),
    route(POST, "/v1/client/metadata", "", handler!(client::set_metadata), NODE, NODE_WRITE, NotCounted),
    route(GET, "/v1/client/identity", "", handler!(client::identity), NODE, NODE_READ, NotCounted),
    route(WRITE, "/v1/client/identity/renew", "", handler!(client::identity_renew), NODE, NODE_WRITE, NotCounted),
    route(ANY, "/v1/client/fs/", "ls", handler!(fs::list), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "ls/{*id}", handler!(fs::list), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "stat", handler!(fs::stat), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "stat/{*id}", handler!(fs::stat), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "stream", handler!(fs::follow), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "stream/{*id}", handler!(fs::follow), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "logs", handler!(fs::logs), ALLOC_NODE, READ_LOGS, NotCounted),
    route(ANY, "/v1/client/fs/", "logs/{*id}", handler!(fs::logs), ALLOC_NODE, READ_LOGS, NotCounted),
    route(ANY, "/v1/client/fs/", "cat", handler!(fs::cat), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "cat/{*id}", handler!(fs::cat), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "readat", handler!(fs::read_at), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "readat/{*id}", handler!(fs::read_at), ALLOC_NODE, READ_FS, NotCounted),
    route(ANY, "/v1/client/fs/", "{*path}", handler!(fs::nothing), AGENT, ANONYMOUS, NotCounted),

    // Evaluations (`docs/spec/http-api.md §5.6`).
    route(GET, "/v1/evaluations", "", handler!(evals::list), LEADER, READ_JOB, List("eval", "list")),
    route(DELETE, "/v1/evaluations", "", handler!(evals::delete), LEADER, MANAGEMENT, Write("eval", "delete")),
    route(GET, "/v1/evaluations/count", "", handler!(evals::count), LEADER, READ_JOB, List("eval", "count")),
    route(GET, "/v1/evaluation/", "{*id}/allocations", handler!(evals::allocations, id), LEADER, READ_JOB,
        List("eval", "allocations")),
    route(GET, "/v1/evaluation/", "{*id}", handler!(evals::one), LEADER, READ_JOB, Read("eval", "get_eval")),

    // Deployments (`docs/spec/http-api.md §5.7`).
    route(GET, "/v1/deployments", "", handler!(deployments::list), LEADER, READ_JOB, List("deployment", "list")),
    route(GET, "/v1/deployment/", "{*id}", handler!(deployments::one), LEADER, READ_JOB,
        Read("deployment", "get_deployment")),
    route(GET, "/v1/deployment/allocations/", "{*id}", handler!(deployments::allocations), LEADER, READ_JOB,
        List("deployment", "allocations")),
    route(WRITE, "/v1/deployment/pause/", "{*id}", handler!(deployments::pause), LEADER,
        any_of(&[Capability::SubmitJob, Capability::PauseDeployment]), Write("deployment", "pause")),
    route(WRITE, "/v1/deployment/promote/", "{*id}", handler!(deployments::promote), LEADER,
        any_of(&[Capability::SubmitJob, Capability::PromoteDeployment]), Write("deployment", "promote")),
    route(WRITE, "/v1/deployment/fail/", "{*id}", handler!(deployments::fail), LEADER,
        any_of(&[Capability::SubmitJob, Capability::FailDeployment]), Write("deployment", "fail")),
    route(WRITE, "/v1/deployment/unblock/", "{*id}", handler!(deployments::unblock), LEADER,
        any_of(&[Capability::SubmitJob, Capability::UnblockDeployment]), Write("deployment", "unblock")),
    route(WRITE, "/v1/deployment/allocation-health/", "{*id}", handler!(deployments::health), LEADER,
        any_of(&[Capability::SubmitJob, Capability::SetAllocHealthDeployment]), Write("deployment", "set_alloc_health")),

    // Nodes and pools (`docs/spec/http-api.md §5.8`).
    route(GET, "/v1/nodes", "", handler!(nodes::list), LEADER, NODE_READ, List("client", "list")),
    route(WRITE, "/v1/node/", "{*id}/evaluate", handler!(nodes::evaluate, id), LEADER, NODE_WRITE,
        Write("client", "evaluate")),
    route(GET, "/v1/node/", "{*id}/allocations", handler!(nodes::allocations, id), LEADER, NODE_READ,
        List("client", "get_allocs")),
    route(WRITE, "/v1/node/", "{*id}/drain", handler!(nodes::drain, id), LEADER, NODE_WRITE,
        Write("client", "update_drain")),
    route(WRITE, "/v1/node/", "{*id}/eligibility", handler!(nodes::eligibility, id), LEADER, NODE_WRITE,
        Write("client", "update_eligibility")),
    route(WRITE, "/v1/node/", "{*id}/identity/revoke", handler!(nodes::revoke_identity, id), LEADER, NODE_WRITE,
        Write("client", "revoke_identity")),
    route(WRITE, "/v1/node/", "{*id}/purge", handler!(nodes::purge, id), LEADER, NODE_WRITE,
        Write("client", "deregister")),
    route(GET, "/v1/node/", "{*id}", handler!(nodes::read, id), LEADER, NODE_READ, Read("client", "get_node")),
    route(GET, "/v1/node/pools", "", handler!(pools::list), LEADER, Right::Rows(&POOL_READ), List("node_pool", "list")),
    route(WRITE, "/v1/node/pools", "", handler!(pools::write), LEADER, POOL_WRITE,
        Write("node_pool", "upsert_node_pools")),
    route(GET, "/v1/node/pool/", "{*name}/nodes", handler!(pools::nodes_of, id), LEADER,
        Right::All(&[POOL_READ, NODE_READ]), List("node_pool", "list_nodes")),
    route(GET, "/v1/node/pool/", "{*name}/jobs", handler!(pools::jobs_of, id), LEADER, POOL_READ,
        List("node_pool", "list_jobs")),
    route(GET, "/v1/node/pool/", "{*name}", handler!(pools::one), LEADER, POOL_READ,
        Read("node_pool", "get_node_pool")),
    route(WRITE, "/v1/node/pool/", "{*name}", handler!(pools::write), LEADER, POOL_WRITE,
        Write("node_pool", "upsert_node_pools")),
    route(DELETE, "/v1/node/pool/", "{*name}", handler!(pools::delete), LEADER, POOL_DELETE,
        Write("node_pool", "delete_node_pools")),

    // Namespaces (`docs/spec/http-api.md §5.9`).
    route(GET, "/v1/namespaces", "", handler!(namespaces::list), LEADER, Right::Rows(&Right::AnyInNamespace),
        List("namespace", "list_namespace")),
    route(WRITE, "/v1/namespace", "", handler!(namespaces::write), LEADER, MANAGEMENT,
        Write("namespace", "upsert_namespaces")),
    route(ANY, "/v1/namespace/", "", handler!(namespaces::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/namespace/", "{*name}", handler!(namespaces::one), LEADER, Right::AnyInNamespace,
        Read("namespace", "get_namespace")),
    route(WRITE, "/v1/namespace/", "{*name}", handler!(namespaces::write), LEADER, MANAGEMENT,
        Write("namespace", "upsert_namespaces")),
    route(DELETE, "/v1/namespace/", "{*name}", handler!(namespaces::delete), LEADER, MANAGEMENT,
        Write("namespace", "delete_namespaces")),

    // Variables (`docs/spec/http-api.md §5.10`).
    route(GET, "/v1/vars", "", handler!(variables::list), LEADER, Right::Rows(&Right::Variable(VariableCapability::List)),
        List("variables", "list")),
    route(ANY, "/v1/var/", "", handler!(variables::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/var/", "{*path}", handler!(variables::read), LEADER, Right::Variable(VariableCapability::Read),
        Read("variables", "read")),
    route(WRITE, "/v1/var/", "{*path}", handler!(variables::write, id), LEADER, Right::Variable(VariableCapability::Write),
        Write("variables", "apply")),
    route(DELETE, "/v1/var/", "{*path}", handler!(variables::delete, id), LEADER, Right::Variable(VariableCapability::Destroy),
        Write("variables", "apply")),
    route(ANY, "/v1/var/", "{*path}", handler!(variables::no_method), LEADER, ANONYMOUS, NotCounted),

    // Services (`docs/spec/http-api.md §5.11`).
    route(GET, "/v1/services", "", handler!(services::list), LEADER, Right::Services, List("service_registration", "list")),
    route(ANY, "/v1/service/", "", handler!(services::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/service/", "{name}", handler!(services::registrations), LEADER, Right::Services,
        Read("service_registration", "get_service")),
    route(DELETE, "/v1/service/", "{name}/{id}", handler!(services::delete), LEADER,
        any_of(&[Capability::SubmitJob, Capability::DeleteServiceRegistration]), Write("service_registration", "delete_id")),
    route(ANY, "/v1/service/", "{*path}", handler!(services::nothing), LEADER, ANONYMOUS, NotCounted),

    // Scaling policies (`docs/spec/http-api.md §5.12`), and the autoscaler (`docs/spec/cluster-scaling.md §11, §13`).
    route(GET, "/v1/scaling/policies", "", handler!(scaling::list), LEADER,
        LIST_POLICIES, List("scaling", "list_policies")),
    route(GET, "/v1/scaling/policy/", "{*id}", handler!(scaling::one), LEADER,
        READ_POLICY, Read("scaling", "get_policy")),
    route(GET, "/v1/autoscale/pools", "", handler!(autoscale::list), ONLY_LEADER, OPERATOR_READ,
        List("autoscale", "list_pools")),
    route(ANY, "/v1/autoscale/pools", "", handler!(autoscale::no_pool_method), ONLY_LEADER, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/autoscale/pool/", "{*name}/failsafe", handler!(autoscale::failsafe, id), ONLY_LEADER,
        OPERATOR_WRITE, Write("autoscale", "set_failsafe")),
    route(ANY, "/v1/autoscale/pool/", "{*name}/failsafe", handler!(autoscale::no_pool_method), ONLY_LEADER, ANONYMOUS,
        NotCounted),
    route(GET, "/v1/autoscale/pool/", "{*name}", handler!(autoscale::one), ONLY_LEADER, OPERATOR_READ,
        Read("autoscale", "get_pool")),
    route(ANY, "/v1/autoscale/pool/", "{*name}", handler!(autoscale::no_pool_method), ONLY_LEADER, ANONYMOUS,
        NotCounted),
    route(GET, "/v1/autoscale/groups", "", handler!(autoscale::groups), ONLY_LEADER, OPERATOR_READ, NotCounted),
    route(ANY, "/v1/autoscale/groups", "", handler!(autoscale::no_group_method), ONLY_LEADER, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/autoscale/group/", "{*name}/failsafe", handler!(autoscale::group_failsafe, id), ONLY_LEADER,
        OPERATOR_WRITE, NotCounted),
    route(GET, "/v1/autoscale/group/", "{*name}/failsafe", handler!(autoscale::group), ONLY_LEADER, OPERATOR_READ,
        NotCounted),
    route(ANY, "/v1/autoscale/group/", "{*name}/failsafe", handler!(autoscale::no_group_method), ONLY_LEADER,
        ANONYMOUS, NotCounted),
    route(GET, "/v1/autoscale/group/", "{*name}", handler!(autoscale::group), ONLY_LEADER, OPERATOR_READ, NotCounted),
    route(ANY, "/v1/autoscale/group/", "{*name}", handler!(autoscale::no_group_method), ONLY_LEADER, ANONYMOUS,
        NotCounted),

    // Search (`docs/spec/http-api.md §5.13`).
    route(WRITE, "/v1/search", "", handler!(search::prefix), LEADER, Right::Rows(&Right::AnyInNamespace),
        List("search", "prefix_search")),
    route(WRITE, "/v1/search/fuzzy", "", handler!(search::fuzzy), LEADER, Right::Rows(&Right::AnyInNamespace),
        List("search", "fuzzy_search")),

    // Volumes and plugins (`docs/spec/http-api.md §5.14`).
    route(GET, "/v1/volumes", "", handler!(volumes::list), LEADER, LIST_VOLUMES, List("volume", "list")),
    route(WRITE, "/v1/volumes", "", handler!(volumes::register), LEADER, WRITE_VOLUME, Write("volume", "register")),
    route(GET, "/v1/volumes/external", "", handler!(volumes::external), LEADER, LIST_VOLUMES, NotCounted),
    route(WRITE, "/v1/volumes/external", "", handler!(volumes::external_write), LEADER, WRITE_VOLUME, NotCounted),
    route(DELETE, "/v1/volumes/external", "", handler!(volumes::external_write), LEADER, WRITE_VOLUME, NotCounted),
    route(GET, "/v1/volumes/snapshot", "", handler!(volumes::snapshots), LEADER, LIST_VOLUMES, NotCounted),
    route(WRITE, "/v1/volumes/snapshot", "", handler!(volumes::create_snapshots), LEADER, WRITE_VOLUME, NotCounted),
    route(DELETE, "/v1/volumes/snapshot", "", handler!(volumes::delete_snapshot), LEADER, WRITE_VOLUME, NotCounted),
    route(GET, "/v1/volumes/claims", "", handler!(host_volumes::claims), LEADER, READ_HOST_VOLUME,
        List("host_volume", "list_claims")),
    route(DELETE, "/v1/volumes/claim/", "{*id}", handler!(host_volumes::claim), LEADER, DELETE_HOST_VOLUME,
        Write("host_volume", "delete_claim")),
    route(ANY, "/v1/volume/host/", "", handler!(host_volumes::nothing), LEADER, ANONYMOUS, NotCounted),
    route(WRITE, "/v1/volume/host/", "create", handler!(host_volumes::create), LEADER,
        any_of(&[Capability::HostVolumeCreate]), Write("host_volume", "create")),
    route(GET, "/v1/volume/host/", "create", handler!(host_volumes::read), LEADER, Right::Rows(&READ_HOST_VOLUME),
        Read("host_volume", "get")),
    route(DELETE, "/v1/volume/host/", "create", handler!(host_volumes::delete), LEADER, DELETE_HOST_VOLUME,
        Write("host_volume", "delete")),
    route(WRITE, "/v1/volume/host/", "register", handler!(host_volumes::register), LEADER,
        any_of(&[Capability::HostVolumeRegister]), Write("host_volume", "register")),
    route(GET, "/v1/volume/host/", "register", handler!(host_volumes::read), LEADER, Right::Rows(&READ_HOST_VOLUME),
        Read("host_volume", "get")),
    route(DELETE, "/v1/volume/host/", "register", handler!(host_volumes::delete), LEADER, DELETE_HOST_VOLUME,
        Write("host_volume", "delete")),
    route(GET, "/v1/volume/host/", "{*id}", handler!(host_volumes::read), LEADER, Right::Rows(&READ_HOST_VOLUME),
        Read("host_volume", "get")),
    route(DELETE, "/v1/volume/host/", "{*id}", handler!(host_volumes::delete), LEADER, DELETE_HOST_VOLUME,
        Write("host_volume", "delete")),
    route(WRITE, "/v1/volume/host/", "{*id}", handler!(host_volumes::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/volume/csi/", "{id}", handler!(volumes::read), LEADER, READ_VOLUME, Read("volume", "get")),
    route(PUT, "/v1/volume/csi/", "{id}", handler!(volumes::register), LEADER, WRITE_VOLUME,
        Write("volume", "register")),
    route(DELETE, "/v1/volume/csi/", "{id}", handler!(volumes::deregister), LEADER, WRITE_VOLUME,
        Write("volume", "deregister")),
    route(GET, "/v1/volume/csi/", "{id}/", handler!(volumes::read), LEADER, READ_VOLUME, Read("volume", "get")),
    route(PUT, "/v1/volume/csi/", "{id}/", handler!(volumes::register), LEADER, WRITE_VOLUME,
        Write("volume", "register")),
    route(DELETE, "/v1/volume/csi/", "{id}/", handler!(volumes::deregister), LEADER, WRITE_VOLUME,
        Write("volume", "deregister")),
    route(PUT, "/v1/volume/csi/", "{id}/create", handler!(volumes::create), LEADER, WRITE_VOLUME,
        Write("volume", "create")),
    route(DELETE, "/v1/volume/csi/", "{id}/delete", handler!(volumes::delete), LEADER, WRITE_VOLUME,
        Write("volume", "delete")),
    route(DELETE, "/v1/volume/csi/", "{id}/detach", handler!(volumes::detach), LEADER, MOUNT_VOLUME,
        Write("volume", "unpublish")),
    route(ANY, "/v1/volume/csi/", "{*path}", handler!(volumes::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/plugins", "", handler!(volumes::plugins), LEADER, Right::Plugin(PluginLevel::List), List("plugin", "list")),
    route(GET, "/v1/plugin/csi/", "{*id}", handler!(volumes::plugin), LEADER, PLUGIN_READ, Read("plugin", "get")),

    // Operator, system, events (`docs/spec/http-api.md §5.15, §6.6`).
    route(GET, "/v1/operator/scheduler/configuration", "", handler!(operator::scheduler), LEADER, OPERATOR_READ,
        Read("operator", "scheduler_get_configuration")),
    route(WRITE, "/v1/operator/scheduler/configuration", "", handler!(operator::set_scheduler), LEADER, OPERATOR_WRITE,
        Write("operator", "scheduler_set_configuration")),
    route(GET, "/v1/operator/raft/", "configuration", handler!(operator::raft_configuration), LEADER, MANAGEMENT,
        Read("operator", "raft_get_configuration")),
    route(ANY, "/v1/operator/raft/", "configuration", handler!(operator::no_raft_method), LEADER, ANONYMOUS,
        NotCounted),
    route(DELETE, "/v1/operator/raft/", "peer", handler!(operator::raft_peer), LEADER, MANAGEMENT,
        Write("operator", "raft_remove_peer_by_id")),
    route(WRITE, "/v1/operator/raft/", "transfer-leadership", handler!(operator::raft_transfer), LEADER, MANAGEMENT,
        Write("operator", "transfer_leadership")),
    route(ANY, "/v1/operator/raft/", "peer", handler!(operator::nothing), LEADER, ANONYMOUS, NotCounted),
    route(ANY, "/v1/operator/raft/", "transfer-leadership", handler!(operator::nothing), LEADER, ANONYMOUS,
        NotCounted),
    route(ANY, "/v1/operator/raft/", "{*name}", handler!(operator::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/operator/autopilot/configuration", "", handler!(operator::autopilot), LEADER, OPERATOR_READ,
        Read("operator", "autopilot_get_configuration")),
    route(PUT, "/v1/operator/autopilot/configuration", "", handler!(operator::set_autopilot), LEADER, OPERATOR_WRITE,
        Write("operator", "autopilot_set_configuration")),
    route(ANY, "/v1/operator/autopilot/configuration", "", handler!(operator::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/operator/autopilot/health", "", handler!(operator::autopilot_health), LEADER, OPERATOR_READ,
        Read("operator", "server_health")),
    route(ANY, "/v1/operator/autopilot/health", "", handler!(operator::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/operator/keyring/", "keys", handler!(keyring::list), LEADER,
        Right::OperatorCapability(OperatorCapability::KeyringRead), List("keyring", "list")),
    route(WRITE, "/v1/operator/keyring/", "rotate", handler!(keyring::rotate), LEADER,
        Right::OperatorCapability(OperatorCapability::KeyringRotate), Write("keyring", "rotate")),
    route(DELETE, "/v1/operator/keyring/", "key/{*id}", handler!(keyring::delete), LEADER,
        Right::OperatorCapability(OperatorCapability::KeyringDelete), Write("keyring", "delete")),
    // Every other path of the keyring has no method.
    route(Methods::Only(&[]), "/v1/operator/keyring/", "{*path}", handler!(operator::nothing), LEADER, ANONYMOUS,
        NotCounted),
    route(GET, "/v1/operator/snapshot", "", handler!(snapshots::save), LEADER,
        Right::OperatorCapability(OperatorCapability::SnapshotSave), NotCounted),
    route(WRITE, "/v1/operator/snapshot", "", handler!(snapshots::restore), LEADER, MANAGEMENT, NotCounted),
    route(GET, "/v1/operator/upgrade-check/", "vault-workload-identity", handler!(operator::upgrade_check), LEADER,
        OPERATOR_READ, NotCounted),
    route(ANY, "/v1/operator/upgrade-check/", "{*path}", handler!(operator::no_upgrade_check), LEADER, ANONYMOUS,
        NotCounted),
    route(PUT, "/v1/system/gc", "", handler!(system_gc::force), LEADER, MANAGEMENT, Write("system", "garbage_collect")),
    route(GET, "/v1/system/gc/plan", "", handler!(system_gc::plan), LEADER, MANAGEMENT, Read("system", "gc_plan")),
    route(GET, "/v1/system/gc/explain", "", handler!(system_gc::explain), LEADER, MANAGEMENT, Read("system", "gc_explain")),
    route(PUT, "/v1/system/reconcile/summaries", "", handler!(operator::reconcile), LEADER, MANAGEMENT,
        Write("system", "reconcile_job_summaries")),
    route(GET, "/v1/event/stream", "", handler!(events::follow), LEADER, Right::Topics, NotCounted),

    // Access control (`docs/spec/http-api.md §5.16`). Policies and roles of the caller are visible without a right.
    route(WRITE, "/v1/acl/bootstrap", "", handler!(acl::tokens::bootstrap), LEADER, ANONYMOUS,
        Write("acl", "bootstrap")),
    route(GET, "/v1/acl/policies", "", handler!(acl::policies::list), LEADER, Right::Rows(&MANAGEMENT),
        List("acl", "list_policies")),
    route(ANY, "/v1/acl/policy/", "", handler!(acl::policies::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/policy/", "self", handler!(acl::policies::own_list), LEADER, Right::Rows(&MANAGEMENT),
        List("acl", "get_claim_policies")),
    route(GET, "/v1/acl/policy/", "{*name}", handler!(acl::policies::one), LEADER, Right::Rows(&MANAGEMENT),
        Read("acl", "get_policy")),
    route(WRITE, "/v1/acl/policy/", "{*name}", handler!(acl::policies::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_policies")),
    route(DELETE, "/v1/acl/policy/", "{*name}", handler!(acl::policies::delete), LEADER, MANAGEMENT,
        Write("acl", "delete_policies")),
    route(GET, "/v1/acl/tokens", "", handler!(acl::tokens::list), LEADER, MANAGEMENT, List("acl", "list_tokens")),
    route(WRITE, "/v1/acl/token", "", handler!(acl::tokens::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_tokens")),
    route(ANY, "/v1/acl/token/", "", handler!(acl::tokens::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/token/", "self", handler!(acl::tokens::own), LEADER, ANONYMOUS, Read("acl", "whoami")),
    route(WRITE, "/v1/acl/token/", "onetime", handler!(acl::tokens::one_time), LEADER, ANONYMOUS,
        Write("acl", "upsert_one_time_token")),
    route(WRITE, "/v1/acl/token/", "onetime/exchange", handler!(acl::tokens::exchange), LEADER, ANONYMOUS,
        Write("acl", "exchange_one_time_token")),
    route(GET, "/v1/acl/token/", "{*accessor}", handler!(acl::tokens::one), LEADER, MANAGEMENT,
        Read("acl", "get_token")),
    route(WRITE, "/v1/acl/token/", "{*accessor}", handler!(acl::tokens::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_tokens")),
    route(DELETE, "/v1/acl/token/", "{*accessor}", handler!(acl::tokens::delete), LEADER, MANAGEMENT,
        Write("acl", "delete_tokens")),
    route(GET, "/v1/acl/access", "", handler!(acl::access), LEADER, Right::Rows(&MANAGEMENT), Read("acl", "access")),
    route(GET, "/v1/acl/roles", "", handler!(acl::roles::list), LEADER, Right::Rows(&MANAGEMENT),
        List("acl", "list_roles")),
    route(WRITE, "/v1/acl/role", "", handler!(acl::roles::write), LEADER, MANAGEMENT, Write("acl", "upsert_roles")),
    route(ANY, "/v1/acl/role/", "", handler!(acl::roles::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/role/", "name/{name}", handler!(acl::roles::one_by_name, id), LEADER,
        Right::Rows(&MANAGEMENT), Read("acl", "get_role_by_name")),
    route(GET, "/v1/acl/role/", "{id}", handler!(acl::roles::one, id), LEADER, Right::Rows(&MANAGEMENT),
        Read("acl", "get_role_by_id")),
    route(WRITE, "/v1/acl/role/", "{id}", handler!(acl::roles::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_roles")),
    route(DELETE, "/v1/acl/role/", "{id}", handler!(acl::roles::delete), LEADER, MANAGEMENT,
        Write("acl", "delete_roles_by_id")),
    route(ANY, "/v1/acl/role/", "{*path}", handler!(acl::roles::nothing), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/auth-methods", "", handler!(acl::auth_methods::list), LEADER, ANONYMOUS,
        List("acl", "list_auth_methods")),
    route(WRITE, "/v1/acl/auth-method", "", handler!(acl::auth_methods::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_auth_methods")),
    route(ANY, "/v1/acl/auth-method/", "", handler!(acl::auth_methods::unnamed), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/auth-method/", "{*name}", handler!(acl::auth_methods::one), LEADER, MANAGEMENT,
        Read("acl", "get_auth_method")),
    route(WRITE, "/v1/acl/auth-method/", "{*name}", handler!(acl::auth_methods::write), LEADER, MANAGEMENT,
        Write("acl", "upsert_auth_methods")),
    route(DELETE, "/v1/acl/auth-method/", "{*name}", handler!(acl::auth_methods::delete), LEADER, MANAGEMENT,
        Write("acl", "delete_auth_methods")),
    route(GET, "/v1/acl/binding-rules", "", handler!(acl::auth_methods::list_rules), LEADER, MANAGEMENT,
        List("acl", "list_binding_rules")),
    route(WRITE, "/v1/acl/binding-rule", "", handler!(acl::auth_methods::write_rule), LEADER, MANAGEMENT,
        Write("acl", "upsert_binding_rules")),
    route(ANY, "/v1/acl/binding-rule/", "", handler!(acl::auth_methods::unnamed_rule), LEADER, ANONYMOUS, NotCounted),
    route(GET, "/v1/acl/binding-rule/", "{*id}", handler!(acl::auth_methods::one_rule), LEADER, MANAGEMENT,
        Read("acl", "get_binding_rule")),
    route(WRITE, "/v1/acl/binding-rule/", "{*id}", handler!(acl::auth_methods::write_rule), LEADER, MANAGEMENT,
        Write("acl", "upsert_binding_rules")),
    route(DELETE, "/v1/acl/binding-rule/", "{*id}", handler!(acl::auth_methods::delete_rule), LEADER, MANAGEMENT,
        Write("acl", "delete_binding_rules")),
    route(WRITE, "/v1/acl/oidc/auth-url", "", handler!(acl::login::auth_url), LEADER, ANONYMOUS,
        Write("acl", "oidc_auth_url")),
    route(WRITE, "/v1/acl/oidc/complete-auth", "", handler!(acl::login::complete_auth), LEADER, ANONYMOUS,
        Write("acl", "oidc_complete_auth")),
    route(WRITE, "/v1/acl/login", "", handler!(acl::login::login), LEADER, ANONYMOUS, Write("acl", "login")),
    route(WRITE, "/v1/acl/identity/client-introduction-token", "", handler!(acl::introduce), LEADER, NODE_WRITE,
        Write("acl", "create_client_introduction_token")),
];

/// What a path and a method lead to.
#[derive(Debug)]
pub(crate) enum Found {
    /// A route.
    Route(Matched),
    /// A path that does not have the method; the first route of the path.
    OtherMethod(&'static Route),
    /// The same path with a slash at its end.
    AddSlash,
    /// Nothing.
    Nothing,
}

impl Found {
    /// The agents that can answer; `None` for paths that lead nowhere.
    pub(crate) fn answered_by(&self) -> Option<AnsweredBy> {
        match self {
            Found::Route(matched) => Some(matched.route.by),
            Found::OtherMethod(route) => Some(route.by),
            Found::AddSlash | Found::Nothing => None,
        }
    }
}

/// A route, and the parameters of a path that it matches.
#[derive(Debug)]
pub(crate) struct Matched {
    /// The route.
    pub(crate) route: &'static Route,
    /// The values of the parameters, in their order.
    pub(crate) parameters: Vec<String>,
}

/// What a path without its rest leads to.
enum Place {
    /// These routes, in the order of the table.
    Routes(Vec<&'static Route>),
    AddSlash,
}

/// The prefixes of all routes, each once.
#[cfg(test)]
pub(crate) fn prefixes() -> impl Iterator<Item = &'static str> {
    ROUTES.iter().map(|route| route.prefix).collect::<std::collections::BTreeSet<_>>().into_iter()
}

/// The places by path.
fn places() -> Result<matchit::Router<Place>, matchit::InsertError> {
    let mut by_prefix: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
    for route in ROUTES {
        by_prefix.entry(route.prefix).or_default().push(route);
    }
    let mut places = matchit::Router::new();
    for (prefix, routes) in &by_prefix {
        // The root is no prefix of everything.
        if let Some(path) = prefix.strip_suffix('/').filter(|path| !path.is_empty()) {
            places.insert(format!("{prefix}{{*rest}}"), Place::Routes(routes.clone()))?;
            if !by_prefix.contains_key(path) {
                places.insert(path, Place::AddSlash)?;
            }
        }
        places.insert(*prefix, Place::Routes(routes.clone()))?;
    }
    Ok(places)
}

/// Finds the route of a decoded, clean path.
pub(crate) fn find(method: &Method, path: &str) -> Found {
    static PLACES: LazyLock<matchit::Router<Place>> = LazyLock::new(|| places().unwrap_or_default());
    let routes = match PLACES.at(path).map(|found| found.value) {
        Ok(Place::Routes(routes)) => routes,
        Ok(Place::AddSlash) => return Found::AddSlash,
        Err(_) => return Found::Nothing,
    };
    let matched = routes.iter().find_map(|route| {
        let rest = path.get(route.prefix.len()..)?;
        Some((*route, pattern::parameters(route.rest, rest)?))
    });
    let Some((first, parameters)) = matched else { return Found::Nothing };
    match routes.iter().find(|route| route.rest == first.rest && route.methods.hold(method)) {
        Some(route) => Found::Route(Matched { route, parameters: parameters.into_iter().map(String::from).collect() }),
        None => Found::OtherMethod(first),
    }
}

/// Paths that answer other sites, and the methods they may use (`docs/spec/http-api.md §1.3`).
const CORS: [(&str, &[&str]); 8] = [
    ("/v1/client/fs/", &["HEAD", "GET"]),
    ("/v1/client/stats", &["HEAD", "GET"]),
    ("/v1/client/allocation/", &["HEAD", "GET"]),
    ("/v1/client/metadata", &["HEAD", "GET"]),
    ("/v1/client/identity", &["HEAD", "GET"]),
    ("/v1/client/identity/renew", &["HEAD", "GET"]),
    ("/v1/vars", &["HEAD", "GET"]),
    ("/v1/var/", &["HEAD", "GET", "PUT", "DELETE"]),
];

/// The methods other sites may use on a path; none if they may not.
pub(crate) fn cors(path: &str) -> Option<&'static [&'static str]> {
    let fits = |pattern: &str| if pattern.ends_with('/') { path.starts_with(pattern) } else { path == pattern };
    CORS.iter().find(|(pattern, _)| fits(pattern)).map(|(_, methods)| *methods)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The routes as a list for readers.
    fn listed() -> String {
        let mut out = String::from("# method path | right | metric | answered by\n");
        for r in ROUTES {
            let methods = match r.methods {
                Methods::Any => "ANY".to_string(),
                Methods::Only([]) => "NONE".to_string(),
                Methods::Only(methods) => methods.iter().map(Method::as_str).collect::<Vec<_>>().join("|"),
            };
            let by = match r.by {
                AnsweredBy::Agent => "agent",
                AnsweredBy::Node => "agent of the node",
                AnsweredBy::NodeOfAlloc(_) => "agent of the allocation's node",
                AnsweredBy::Server => "server",
                AnsweredBy::Leader => "leader",
                AnsweredBy::OnlyLeader => "leader, never stale",
            };
            out += &format!("{methods} {}{} | {} | {} | {by}\n", r.prefix, r.rest, r.right, r.metric);
        }
        out
    }

    #[test]
    fn routes_have_the_listed_rights_and_metrics() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/routes/routes.txt");
        if std::env::var_os("ENCAMP_UPDATE").is_some() {
            std::fs::write(file, listed()).expect("written");
        }
        let (have, want) = (listed(), std::fs::read_to_string(file).expect("a list"));
        let differs = have.lines().zip(want.lines()).find(|(have, want)| have != want);
        assert_eq!(differs, None, "ENCAMP_UPDATE=1 writes the list again");
        assert_eq!(have.lines().count(), want.lines().count());
    }

    #[test]
    fn every_route_is_found_by_its_path() {
        assert!(places().is_ok());
        for route in ROUTES {
            let Methods::Only(methods) = route.methods else { continue };
            let path = format!("{}{}", route.prefix, route.rest.replace("{*", "").replace(['{', '}'], ""));
            for method in methods {
                let found = match find(method, &path) {
                    Found::Route(matched) => Some(matched.route),
                    _ => None,
                };
                let is_it =
                    found.is_some_and(|f| std::ptr::eq(f, route) || f.methods.hold(method) && f.rest == route.rest);
                assert!(is_it, "{method} {path}: {found:?}");
            }
        }
    }

    fn of(method: Method, path: &str) -> String {
        match find(&method, path) {
            Found::Route(m) => format!("{}{} {:?} {}", m.route.prefix, m.route.rest, m.parameters, m.route.metric),
            Found::OtherMethod(_) => "405".into(),
            Found::AddSlash => "slash".into(),
            Found::Nothing => "404".into(),
        }
    }

    #[test]
    fn the_longest_prefix_and_the_end_of_the_path_decide() {
        for (method, path, want) in [
            (Method::GET, "/v1/jobs", "/v1/jobs [] job.list list"),
            (Method::GET, "/v1/jobs/", "404"),
            (Method::HEAD, "/v1/jobs", "405"),
            (Method::POST, "/v1/jobs/statuses", "/v1/jobs/statuses [] job.statuses list"),
            (Method::GET, "/v1/job", "slash"),
            (Method::GET, "/v1/job/", "/v1/job/{*id} [\"\"] job.get_job read"),
            (Method::GET, "/v1/job/cron/periodic-17", "/v1/job/{*id} [\"cron/periodic-17\"] job.get_job read"),
            (Method::GET, "/v1/job/plan", "/v1/job/{*id} [\"plan\"] job.get_job read"),
            (Method::PUT, "/v1/job/a/b/plan", "/v1/job/{*id}/plan [\"a/b\"] job.plan write"),
            (Method::GET, "/v1/job/a/plan", "405"),
            (Method::GET, "/v1/job/a/evaluations", "/v1/job/{*id}/evaluations [\"a\"] job.evaluations list"),
            (Method::PUT, "/v1/job/a/dispatch/payload", "/v1/job/{*id}/dispatch/payload [\"a\"] job.dispatch write"),
            (Method::PUT, "/v1/job/a/periodic/force", "/v1/job/{*id}/periodic/force [\"a\"] periodic.force write"),
            (
                Method::DELETE,
                "/v1/job/a/versions/x/tag",
                "/v1/job/{id}/versions/{name}/tag [\"a\", \"x\"] job.tag_version write",
            ),
            (Method::GET, "/v1/job/a/versions/x/tag", "405"),
            (Method::PUT, "/v1/job/a/b/versions/x/tag", "/v1/job/{*id}/tag [\"a/b/versions/x\"] -"),
            (Method::GET, "/v1/job/a/action", "/v1/job/{*id}/action [\"a\"] -"),
            (
                Method::GET,
                "/v1/deployment/allocations/x",
                "/v1/deployment/allocations/{*id} [\"x\"] deployment.allocations list",
            ),
            (Method::GET, "/v1/deployment/x", "/v1/deployment/{*id} [\"x\"] deployment.get_deployment read"),
            (Method::GET, "/v1/deployment/pause", "slash"),
            (Method::GET, "/v1/node/pool", "slash"),
            (Method::PUT, "/v1/node/pool/x", "/v1/node/pool/{*name} [\"x\"] node_pool.upsert_node_pools write"),
            (Method::GET, "/v1/node/poolx", "/v1/node/{*id} [\"poolx\"] client.get_node read"),
            (Method::GET, "/v1/node/pools/x", "/v1/node/{*id} [\"pools/x\"] client.get_node read"),
            (Method::PUT, "/v1/node/x/drain", "/v1/node/{*id}/drain [\"x\"] client.update_drain write"),
            (Method::GET, "/v1/allocation/a/b", "/v1/allocation/{*path} [\"a/b\"] -"),
            (Method::GET, "/v1/volume/host/create", "/v1/volume/host/create [] host_volume.get read"),
            (Method::PUT, "/v1/volume/host/create", "/v1/volume/host/create [] host_volume.create write"),
            (Method::PUT, "/v1/volume/csi/a/", "/v1/volume/csi/{id}/ [\"a\"] volume.register write"),
            (Method::POST, "/v1/volume/csi/a/create", "405"),
            (Method::PUT, "/v1/var/a/b", "/v1/var/{*path} [\"a/b\"] variables.apply write"),
            (
                Method::DELETE,
                "/v1/service/a/b",
                "/v1/service/{name}/{id} [\"a\", \"b\"] service_registration.delete_id write",
            ),
            (Method::PUT, "/v1/service/a", "405"),
            (Method::PUT, "/v1/system/gc", "/v1/system/gc [] system.garbage_collect write"),
            (Method::POST, "/v1/system/gc", "405"),
            (Method::GET, "/v1/client/stats", "/v1/client/stats [] -"),
            (Method::GET, "/", "/ [] -"),
            (Method::GET, "/ui", "slash"),
            (Method::GET, "/ui/a/b", "/ui/{*path} [\"a/b\"] -"),
            (Method::GET, "/v1", "404"),
            (Method::GET, "/x", "404"),
        ] {
            assert_eq!(of(method.clone(), path), want, "{method} {path}");
        }
        assert_eq!(of(Method::GET, &"/a".repeat(9000)), "404");
    }
}
