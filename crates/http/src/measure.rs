//! The endpoint names of requests in metrics (`docs/spec/server.md §24`): `nomad.<endpoint>.<call>` is the duration,
//! `nomad.rpc.<endpoint>.<kind>` the number of requests.

use std::time::Duration;

use axum::http::Method;

use encamp_telemetry::Metrics;

/// The kind of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Reads one object.
    Read,
    /// Reads many.
    List,
    /// Changes something.
    Write,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::List => "list",
            Kind::Write => "write",
        }
    }
}

/// One call of an endpoint: the endpoint, the call, what it does.
pub type Endpoint = (&'static str, &'static str, Kind);

use Kind::{List, Read, Write};

/// Notes that an endpoint answered.
pub fn record(metrics: &Metrics, (group, call, kind): Endpoint, took: Duration) {
    metrics.count(&format!("nomad.rpc.{group}.{}", kind.word()), 1, &[]);
    metrics.time(&format!("nomad.{group}.{call}"), took, &[]);
}

/// The endpoint of a decoded path; none for paths that agents answer without a server.
pub fn endpoint(method: &Method, path: &str) -> Option<Endpoint> {
    let verb = Verb::of(method)?;
    let rest = path.strip_prefix("/v1/")?;
    let found = |endpoints: &[(Verb, Endpoint)]| endpoints.iter().find(|(v, _)| *v == verb).map(|(_, e)| *e);
    if let Some((_, endpoints)) = EXACT.iter().find(|(p, _)| *p == rest) {
        return found(endpoints);
    }
    let (_, below, suffixes) = BELOW.iter().find(|(prefix, _, _)| rest.starts_with(prefix))?;
    match suffixes.iter().find(|(suffix, _)| rest.ends_with(suffix)) {
        Some((_, endpoints)) => found(endpoints),
        None => found(below),
    }
}

/// The kind of access of a method to endpoints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verb {
    Get,
    Put,
    Delete,
}

use Verb::{Delete, Get, Put};

impl Verb {
    fn of(method: &Method) -> Option<Verb> {
        Some(match *method {
            Method::GET => Get,
            Method::PUT | Method::POST => Put,
            Method::DELETE => Delete,
            _ => return None,
        })
    }
}

type Calls = &'static [(Verb, Endpoint)];

/// A prefix of paths, the calls of the object itself, and those of suffixes.
type Below = (&'static str, Calls, &'static [(&'static str, Calls)]);

/// Exact paths.
const EXACT: &[(&str, Calls)] = &[
    ("jobs", &[(Get, ("job", "list", List)), (Put, ("job", "register", Write))]),
    ("jobs/statuses", &[(Get, ("job", "statuses", List)), (Put, ("job", "statuses", List))]),
    ("validate/job", &[(Put, ("job", "validate", Write))]),
    ("allocations", &[(Get, ("alloc", "list", List))]),
    ("evaluations", &[(Get, ("eval", "list", List)), (Delete, ("eval", "delete", Write))]),
    ("evaluations/count", &[(Get, ("eval", "count", List))]),
    ("deployments", &[(Get, ("deployment", "list", List))]),
    ("nodes", &[(Get, ("client", "list", List))]),
    ("node/pools", &[(Get, ("node_pool", "list", List)), (Put, ("node_pool", "upsert_node_pools", Write))]),
    ("namespaces", &[(Get, ("namespace", "list_namespace", List))]),
    ("namespace", &[(Put, ("namespace", "upsert_namespaces", Write))]),
    ("vars", &[(Get, ("variables", "list", List))]),
    ("services", &[(Get, ("service_registration", "list", List))]),
    ("scaling/policies", &[(Get, ("scaling", "list_policies", List))]),
    ("autoscale/pools", &[(Get, ("autoscale", "list_pools", List))]),
    ("search", &[(Put, ("search", "prefix_search", List))]),
    ("search/fuzzy", &[(Put, ("search", "fuzzy_search", List))]),
    ("volumes", &[(Get, ("volume", "list", List)), (Put, ("volume", "register", Write))]),
    ("volumes/claims", &[(Get, ("host_volume", "list_claims", List))]),
    ("plugins", &[(Get, ("plugin", "list", List))]),
    ("regions", &[(Get, ("region", "list", List))]),
    ("status/leader", &[(Get, ("status", "leader", Read))]),
    ("status/peers", &[(Get, ("status", "peers", Read))]),
    (
        "operator/scheduler/configuration",
        &[
            (Get, ("operator", "scheduler_get_configuration", Read)),
            (Put, ("operator", "scheduler_set_configuration", Write)),
        ],
    ),
    ("operator/raft/configuration", &[(Get, ("operator", "raft_get_configuration", Read))]),
    ("operator/raft/peer", &[(Delete, ("operator", "raft_remove_peer_by_id", Write))]),
    ("operator/raft/transfer-leadership", &[(Put, ("operator", "transfer_leadership", Write))]),
    (
        "operator/autopilot/configuration",
        &[
            (Get, ("operator", "autopilot_get_configuration", Read)),
            (Put, ("operator", "autopilot_set_configuration", Write)),
        ],
    ),
    ("operator/autopilot/health", &[(Get, ("operator", "server_health", Read))]),
    ("operator/keyring/keys", &[(Get, ("keyring", "list", List))]),
    ("operator/keyring/rotate", &[(Put, ("keyring", "rotate", Write))]),
    ("system/gc", &[(Put, ("system", "garbage_collect", Write))]),
    ("system/reconcile/summaries", &[(Put, ("system", "reconcile_job_summaries", Write))]),
    ("acl/identity/client-introduction-token", &[(Put, ("acl", "create_client_introduction_token", Write))]),
];

/// Prefixes of paths: the calls of the object itself, and those of suffixes. The first prefix that fits decides, and
/// the first suffix.
const BELOW: &[Below] = &[
    (
        "job/",
        &[(Get, ("job", "get_job", Read)), (Put, ("job", "register", Write)), (Delete, ("job", "deregister", Write))],
        &[
            ("/evaluate", &[(Put, ("job", "evaluate", Write))]),
            ("/allocations", &[(Get, ("job", "allocations", List))]),
            ("/evaluations", &[(Get, ("job", "evaluations", List))]),
            ("/periodic/force", &[(Put, ("periodic", "force", Write))]),
            ("/plan", &[(Put, ("job", "plan", Write))]),
            ("/summary", &[(Get, ("job_summary", "get_job_summary", Read))]),
            ("/dispatch", &[(Put, ("job", "dispatch", Write))]),
            ("/dispatch/payload", &[(Put, ("job", "dispatch", Write))]),
            ("/versions", &[(Get, ("job", "get_job_versions", Read))]),
            ("/revert", &[(Put, ("job", "revert", Write))]),
            ("/deployments", &[(Get, ("job", "deployments", List))]),
            ("/deployment", &[(Get, ("job", "latest_deployment", Read))]),
            ("/stable", &[(Put, ("job", "stable", Write))]),
            ("/scale", &[(Get, ("job", "scale_status", Read)), (Put, ("job", "scale", Write))]),
            ("/services", &[(Get, ("job", "get_service_registrations", Read))]),
            ("/submission", &[(Get, ("job", "get_job_submission", Read))]),
            ("/actions", &[(Get, ("job", "get_actions", Read))]),
            ("/action", &[]),
            ("/tag", &[(Put, ("job", "tag_version", Write)), (Delete, ("job", "tag_version", Write))]),
        ],
    ),
    (
        "allocation/",
        &[(Get, ("alloc", "get_alloc", Read))],
        &[
            ("/stop", &[(Put, ("alloc", "stop", Write))]),
            ("/services", &[(Get, ("alloc", "get_service_registrations", Read))]),
            ("/checks", &[]),
        ],
    ),
    ("evaluation/", &[(Get, ("eval", "get_eval", Read))], &[("/allocations", &[(Get, ("eval", "allocations", List))])]),
    ("deployment/allocations/", &[(Get, ("deployment", "allocations", List))], &[]),
    ("deployment/pause/", &[(Put, ("deployment", "pause", Write))], &[]),
    ("deployment/promote/", &[(Put, ("deployment", "promote", Write))], &[]),
    ("deployment/fail/", &[(Put, ("deployment", "fail", Write))], &[]),
    ("deployment/unblock/", &[(Put, ("deployment", "unblock", Write))], &[]),
    ("deployment/allocation-health/", &[(Put, ("deployment", "set_alloc_health", Write))], &[]),
    ("deployment/", &[(Get, ("deployment", "get_deployment", Read))], &[]),
    (
        "node/pool/",
        &[
            (Get, ("node_pool", "get_node_pool", Read)),
            (Put, ("node_pool", "upsert_node_pools", Write)),
            (Delete, ("node_pool", "delete_node_pools", Write)),
        ],
        &[
            ("/nodes", &[(Get, ("node_pool", "list_nodes", List))]),
            ("/jobs", &[(Get, ("node_pool", "list_jobs", List))]),
        ],
    ),
    (
        "node/",
        &[(Get, ("client", "get_node", Read))],
        &[
            ("/evaluate", &[(Put, ("client", "evaluate", Write))]),
            ("/allocations", &[(Get, ("client", "get_allocs", List))]),
            ("/drain", &[(Put, ("client", "update_drain", Write))]),
            ("/eligibility", &[(Put, ("client", "update_eligibility", Write))]),
            ("/purge", &[(Put, ("client", "deregister", Write))]),
        ],
    ),
    (
        "namespace/",
        &[
            (Get, ("namespace", "get_namespace", Read)),
            (Put, ("namespace", "upsert_namespaces", Write)),
            (Delete, ("namespace", "delete_namespaces", Write)),
        ],
        &[],
    ),
    (
        "var/",
        &[
            (Get, ("variables", "read", Read)),
            (Put, ("variables", "apply", Write)),
            (Delete, ("variables", "apply", Write)),
        ],
        &[],
    ),
    (
        "service/",
        &[(Get, ("service_registration", "get_service", Read)), (Delete, ("service_registration", "delete_id", Write))],
        &[],
    ),
    ("scaling/policy/", &[(Get, ("scaling", "get_policy", Read))], &[]),
    (
        "autoscale/pool/",
        &[(Get, ("autoscale", "get_pool", Read))],
        &[("/failsafe", &[(Put, ("autoscale", "set_failsafe", Write))])],
    ),
    ("volume/host/create", &[(Put, ("host_volume", "create", Write))], &[]),
    ("volume/host/register", &[(Put, ("host_volume", "register", Write))], &[]),
    ("volume/host/", &[(Get, ("host_volume", "get", Read)), (Delete, ("host_volume", "delete", Write))], &[]),
    ("volumes/claim/", &[(Delete, ("host_volume", "delete_claim", Write))], &[]),
    (
        "volume/csi/",
        &[
            (Get, ("volume", "get", Read)),
            (Put, ("volume", "register", Write)),
            (Delete, ("volume", "deregister", Write)),
        ],
        &[
            ("/create", &[(Put, ("volume", "create", Write))]),
            ("/delete", &[(Delete, ("volume", "delete", Write))]),
            ("/detach", &[(Delete, ("volume", "unpublish", Write))]),
        ],
    ),
    ("plugin/csi/", &[(Get, ("plugin", "get", Read))], &[]),
    ("operator/keyring/key/", &[(Delete, ("keyring", "delete", Write))], &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_have_the_names_that_dashboards_know() {
        let of = |method: Method, path: &str| endpoint(&method, path).map(|(g, c, k)| format!("{g}.{c} {}", k.word()));
        for (method, path, want) in [
            (Method::PUT, "/v1/jobs", Some("job.register write")),
            (Method::POST, "/v1/jobs/statuses", Some("job.statuses list")),
            (Method::GET, "/v1/job/cron/periodic-17", Some("job.get_job read")),
            (Method::GET, "/v1/job/a/evaluations", Some("job.evaluations list")),
            (Method::PUT, "/v1/job/a/evaluate", Some("job.evaluate write")),
            (Method::PUT, "/v1/job/a/dispatch/payload", Some("job.dispatch write")),
            (Method::DELETE, "/v1/job/a/versions/x/tag", Some("job.tag_version write")),
            (Method::GET, "/v1/job/a/action", None),
            (Method::PUT, "/v1/job/a/periodic/force", Some("periodic.force write")),
            (Method::DELETE, "/v1/evaluations", Some("eval.delete write")),
            (Method::GET, "/v1/deployment/allocations/x", Some("deployment.allocations list")),
            (Method::GET, "/v1/deployment/x", Some("deployment.get_deployment read")),
            (Method::PUT, "/v1/node/pool/x", Some("node_pool.upsert_node_pools write")),
            (Method::PUT, "/v1/node/x/drain", Some("client.update_drain write")),
            (Method::PUT, "/v1/autoscale/pool/a/failsafe", Some("autoscale.set_failsafe write")),
            (Method::PUT, "/v1/var/a/b", Some("variables.apply write")),
            (Method::GET, "/v1/volume/host/x", Some("host_volume.get read")),
            (Method::PUT, "/v1/volume/host/create", Some("host_volume.create write")),
            (Method::PUT, "/v1/system/gc", Some("system.garbage_collect write")),
            (Method::GET, "/v1/system/gc", None),
            (Method::GET, "/v1/client/stats", None),
            (Method::GET, "/v1/agent/self", None),
            (Method::HEAD, "/v1/jobs", None),
            (Method::GET, "/ui/", None),
        ] {
            assert_eq!(of(method.clone(), path).as_deref(), want, "{method} {path}");
        }
    }

    #[test]
    fn a_call_is_counted_and_timed() {
        let metrics = Metrics::default();
        let found = endpoint(&Method::PUT, "/v1/jobs").expect("an endpoint");
        record(&metrics, found, Duration::from_millis(5));
        let text = metrics.prometheus().expect("kept");
        assert!(text.contains("\nnomad_nomad_rpc_job_write 1\n"), "{text}");
        assert!(text.contains("\nnomad_nomad_job_register_sum 5\n"), "{text}");
    }
}
