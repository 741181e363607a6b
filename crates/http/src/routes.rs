//! All routes. Patterns that end in a slash match everything below them (`docs/spec/http-api.md §1.2`).

use std::collections::HashMap;
use std::sync::OnceLock;

use super::route::{Handler, Route};
use super::{
    acl_off, agent, allocs, autoscale, client, deployments, evals, events, fs, host, host_volumes, jobs, keyring,
    monitor, namespaces, nodes, operator, plain, pools, scaling, search, services, snapshots, status, variables,
    volumes,
};

/// The tables of all modules.
const TABLES: &[&[Route]] = &[
    plain::ROUTES,
    status::ROUTES,
    agent::ROUTES,
    jobs::ROUTES,
    evals::ROUTES,
    allocs::ROUTES,
    deployments::ROUTES,
    scaling::ROUTES,
    autoscale::ROUTES,
    monitor::ROUTES,
    nodes::ROUTES,
    pools::ROUTES,
    namespaces::ROUTES,
    operator::ROUTES,
    search::ROUTES,
    services::ROUTES,
    events::ROUTES,
    client::ROUTES,
    fs::ROUTES,
    volumes::ROUTES,
    host_volumes::ROUTES,
    variables::ROUTES,
    host::ROUTES,
    keyring::ROUTES,
    snapshots::ROUTES,
    acl_off::ROUTES,
];

/// The handler of a pattern.
pub fn handler(pattern: &str) -> Option<Handler> {
    static ALL: OnceLock<HashMap<&'static str, Handler>> = OnceLock::new();
    ALL.get_or_init(|| TABLES.iter().copied().flatten().copied().collect()).get(pattern).copied()
}

/// All patterns.
#[cfg(test)]
pub(crate) fn patterns() -> impl Iterator<Item = &'static str> {
    TABLES.iter().copied().flatten().map(|(pattern, _)| *pattern)
}

/// Length of the longest pattern.
pub fn longest() -> usize {
    static LONGEST: OnceLock<usize> = OnceLock::new();
    *LONGEST.get_or_init(|| TABLES.iter().copied().flatten().map(|(pattern, _)| pattern.len()).max().unwrap_or(0))
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
