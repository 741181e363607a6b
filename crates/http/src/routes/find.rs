//! Finds the route of a path and a method.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::http::Method;

use super::route::Route;
use super::table::routes;
use crate::request::answered_by::AnsweredBy;
use crate::request::pattern;

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
            Found::Route(matched) => Some(matched.route.answered_by),
            Found::OtherMethod(route) => Some(route.answered_by),
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
    routes().map(|route| route.path.prefix()).collect::<std::collections::BTreeSet<_>>().into_iter()
}

/// The places by path.
fn places() -> Result<matchit::Router<Place>, matchit::InsertError> {
    let mut by_prefix: BTreeMap<&'static str, Vec<&'static Route>> = BTreeMap::new();
    for route in routes() {
        by_prefix.entry(route.path.prefix()).or_default().push(route);
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
    let candidates = match PLACES.at(path).map(|found| found.value) {
        Ok(Place::Routes(candidates)) => candidates,
        Ok(Place::AddSlash) => return Found::AddSlash,
        Err(_) => return Found::Nothing,
    };
    let matched = candidates.iter().find_map(|route| {
        let rest = path.get(route.path.prefix().len()..)?;
        Some((*route, pattern::parameters(route.path.rest(), rest)?))
    });
    let Some((first, parameters)) = matched else { return Found::Nothing };
    match candidates.iter().find(|route| route.path.rest() == first.path.rest() && route.methods.hold(method)) {
        Some(route) => Found::Route(Matched { route, parameters: parameters.into_iter().map(String::from).collect() }),
        None => Found::OtherMethod(first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::route::Methods;

    #[test]
    fn every_route_is_found_by_its_path() {
        assert!(places().is_ok());
        for route in routes() {
            let Methods::Only(methods) = route.methods else { continue };
            let path =
                format!("{}{}", route.path.prefix(), route.path.rest().replace("{*", "").replace(['{', '}'], ""));
            for method in methods {
                let found = match find(method, &path) {
                    Found::Route(matched) => Some(matched.route),
                    _ => None,
                };
                let is_it = found.is_some_and(|f| {
                    std::ptr::eq(f, route) || f.methods.hold(method) && f.path.rest() == route.path.rest()
                });
                assert!(is_it, "{method} {path}: {found:?}");
            }
        }
    }

    fn of(method: Method, path: &str) -> String {
        match find(&method, path) {
            Found::Route(m) => format!("{} {:?} {}", m.route.path, m.parameters, m.route.metric),
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
