//! The table of all routes (`docs/spec/http-api.md §1.2, §5`), by area.
//!
//! A path belongs to the longest prefix in the table. Of the routes with that prefix, the first one whose pattern
//! matches the rest of the path decides the pattern, and the method decides between the routes with that pattern. The
//! routes of a method that a path does not have give 405 `Invalid method`, unless the table says otherwise.

use super::route::Route;
use super::{
    acl, allocations, deployments, evaluations, jobs, namespaces, node_agent, nodes, operator, outside_api, scaling,
    search, services, status_and_agent, variables, volumes,
};

/// All routes, area by area. The routes of a prefix are in one area.
pub(crate) fn routes() -> impl Iterator<Item = &'static Route> {
    let areas = [
        outside_api::ROUTES,
        status_and_agent::ROUTES,
        jobs::ROUTES,
        allocations::ROUTES,
        node_agent::ROUTES,
        evaluations::ROUTES,
        deployments::ROUTES,
        nodes::ROUTES,
        namespaces::ROUTES,
        variables::ROUTES,
        services::ROUTES,
        scaling::ROUTES,
        search::ROUTES,
        volumes::ROUTES,
        operator::ROUTES,
        acl::ROUTES,
    ];
    areas.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use axum::http::Method;

    use super::*;
    use crate::request::answered_by::AnsweredBy;
    use crate::routes::route::Methods;

    /// The routes as a list for readers.
    fn listed() -> String {
        let mut out = String::from("# method path | right | metric | answered by\n");
        for r in routes() {
            let methods = match r.methods {
                Methods::Any => "ANY".to_string(),
                Methods::Only([]) => "NONE".to_string(),
                Methods::Only(methods) => methods.iter().map(Method::as_str).collect::<Vec<_>>().join("|"),
            };
            let by = match r.answered_by {
                AnsweredBy::Agent => "agent",
                AnsweredBy::Node => "agent of the node",
                AnsweredBy::NodeOfAlloc(_) => "agent of the allocation's node",
                AnsweredBy::Server => "server",
                AnsweredBy::Leader => "leader",
                AnsweredBy::OnlyLeader => "leader, never stale",
            };
            out += &format!("{methods} {} | {} | {} | {by}\n", r.path, r.permission.right(), r.metric);
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
}
