//! Autoscaling of worker pools and job groups (`docs/spec/cluster-scaling.md §11`, `§13`). Nomad does not have these
//! routes. They exist where an agent runs the autoscaler; only the leader can answer them.

use std::sync::Arc;

use serde::Deserialize;

use crate::agent::autoscaling::Autoscaling;
use crate::error::Error;
use crate::request::Request;
use crate::request::response::{Outcome, Response};
use crate::serve::http1::Origin;
use encamp_autoscale::jobs::status::GroupStatus;
use encamp_model::json::or_default;

/// A request to enter or leave failsafe mode.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct FailsafeRequest {
    #[serde(deserialize_with = "or_default")]
    enable: Option<bool>,
    /// The operator, as named by the caller.
    #[serde(deserialize_with = "or_default")]
    operator: String,
}

/// Longest name of an operator, in bytes.
const LONGEST_OPERATOR: usize = 128;

impl FailsafeRequest {
    /// Checks a request: whether failsafe mode is entered, and who asks for it. That is the operator that the body
    /// names, else the interface; and the address, which is known unless another agent has passed the request on
    /// (`docs/spec/cluster-scaling.md §7`).
    async fn read(request: &mut Request) -> Result<(bool, String), Error> {
        request.check_region()?;
        request.authorize()?;
        let body: FailsafeRequest = request.json().await?;
        let enable = body.enable.ok_or_else(|| Error::bad("Enable must be true or false"))?;
        let operator = body.operator.trim();
        if operator.len() > LONGEST_OPERATOR || operator.chars().any(char::is_control) {
            let text = format!("Operator must have {LONGEST_OPERATOR} bytes at most and no control characters");
            return Err(Error::bad(text));
        }
        let operator = if operator.is_empty() { "HTTP API" } else { operator };
        let address = request.origin().or_else(|| request.peer().map(|p| Origin::Address(p.ip())));
        request.server()?.wait_ready().await?;
        Ok((enable, address.map_or(operator.to_string(), |address| format!("{operator} from {address}"))))
    }
}

/// The autoscaler of this agent.
fn autoscaling(request: &Request) -> Option<Arc<dyn Autoscaling>> {
    request.app().autoscaling().cloned()
}

/// A method that the paths of pools do not have.
pub(crate) async fn no_pool_method(request: Request) -> Outcome {
    if autoscaling(&request).is_none() { nothing() } else { Err(Error::method()) }
}

/// A method that the paths of job groups do not have.
pub(crate) async fn no_group_method(request: Request) -> Outcome {
    if scaled_groups(&request).is_none() { nothing() } else { Err(Error::method()) }
}

/// The answer where there is none: as for any path that does not exist.
fn nothing() -> Outcome {
    Ok(Response::empty().status(404))
}

/// The index that answers tell: that of the last change of the state.
fn index(request: &Request) -> Result<u64, Error> {
    Ok(request.server()?.snapshot().state().index)
}

pub(crate) async fn list(request: Request) -> Outcome {
    let Some(autoscaling) = autoscaling(&request) else { return nothing() };
    request.read_options()?;
    request.authorize()?;
    request.server()?.wait_ready().await?;
    Ok(Response::json(&autoscaling.pools())?.meta(&request.meta(index(&request)?)))
}

pub(crate) async fn one(request: Request) -> Outcome {
    let Some(autoscaling) = autoscaling(&request) else { return nothing() };
    request.read_options()?;
    request.authorize()?;
    request.server()?.wait_ready().await?;
    let meta = request.meta(index(&request)?);
    match autoscaling.pools().into_iter().find(|p| p.pool == request.rest()) {
        Some(pool) => Ok(Response::json(&pool)?.meta(&meta)),
        None => Err(Error::not_found(UNKNOWN_POOL).with(meta)),
    }
}

/// The error text for a pool that does not exist.
pub const UNKNOWN_POOL: &str = "worker pool not found";

pub(crate) async fn failsafe(mut request: Request, pool: String) -> Outcome {
    let Some(autoscaling) = autoscaling(&request) else { return nothing() };
    let (enable, who) = FailsafeRequest::read(&mut request).await?;
    let status = autoscaling.set_failsafe(&pool, enable, &who).await?;
    Ok(Response::json(&status)?.index(index(&request)?))
}

/// The error text for a job group that does not exist, or is not configured for scaling.
pub const UNKNOWN_GROUP: &str = "job group not found";
/// The error where a job's ID or a group's name holds a slash, and two groups are called the same.
const AMBIGUOUS_GROUP: &str = "more than one job group has that name";

/// The autoscaler of this agent, if it scales job groups, and the groups.
fn scaled_groups(request: &Request) -> Option<(Arc<dyn Autoscaling>, Vec<GroupStatus>)> {
    let autoscaling = autoscaling(request)?;
    let groups = autoscaling.groups()?;
    Some((autoscaling, groups))
}

pub(crate) async fn groups(request: Request) -> Outcome {
    let Some((_, mut groups)) = scaled_groups(&request) else { return nothing() };
    let options = request.read_options()?;
    request.authorize()?;
    request.server()?.wait_ready().await?;
    groups.retain(|g| options.in_namespace(&g.namespace));
    Ok(Response::json(&groups)?.meta(&request.meta(index(&request)?)))
}

/// The group `<job>/<group>` of a namespace. Both parts may hold slashes.
fn named(groups: Vec<GroupStatus>, namespace: &str, name: &str) -> Result<GroupStatus, Error> {
    let is = |g: &GroupStatus| {
        g.namespace == namespace && name.strip_prefix(&*g.job).and_then(|n| n.strip_prefix('/')) == Some(&*g.group)
    };
    let mut found = groups.into_iter().filter(is);
    match (found.next(), found.next()) {
        (Some(group), None) => Ok(group),
        (Some(_), Some(_)) => Err(Error::bad(AMBIGUOUS_GROUP)),
        (None, _) => Err(Error::not_found(UNKNOWN_GROUP)),
    }
}

pub(crate) async fn group_failsafe(mut request: Request, name: String) -> Outcome {
    let Some((autoscaling, groups)) = scaled_groups(&request) else { return nothing() };
    let (enable, who) = FailsafeRequest::read(&mut request).await?;
    let id = named(groups, &request.namespace(), &name)?.id();
    let status = autoscaling.set_group_failsafe(&id, enable, &who).await?;
    Ok(Response::json(&status)?.index(index(&request)?))
}

pub(crate) async fn group(request: Request) -> Outcome {
    let Some((_, groups)) = scaled_groups(&request) else { return nothing() };
    request.read_options()?;
    request.authorize()?;
    request.server()?.wait_ready().await?;
    let meta = request.meta(index(&request)?);
    match named(groups, &request.namespace(), request.rest()) {
        Ok(group) => Ok(Response::json(&group)?.meta(&meta)),
        Err(e) => Err(e.with(meta)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::agent::pending::Pending;
    use crate::tests::server::TestServer;
    use encamp_autoscale::jobs::GroupId;
    use encamp_autoscale::status::PoolStatus;
    use serde_json::{Value, json};

    /// One pool, and job groups if those are scaled.
    struct OnePool(Mutex<PoolStatus>, Option<Mutex<Vec<GroupStatus>>>);

    impl Autoscaling for OnePool {
        fn pools(&self) -> Vec<PoolStatus> {
            vec![self.0.lock().expect("the pool").clone()]
        }

        fn groups(&self) -> Option<Vec<GroupStatus>> {
            self.1.as_ref().map(|groups| groups.lock().expect("the groups").clone())
        }

        fn set_group_failsafe<'a>(
            &'a self,
            id: &'a GroupId,
            on: bool,
            who: &'a str,
        ) -> Pending<'a, Result<GroupStatus, Error>> {
            Box::pin(async move {
                let mut groups = self.1.as_ref().expect("they are scaled").lock().expect("the groups");
                let found = groups.iter_mut().find(|g| g.id() == *id).ok_or_else(|| Error::not_found(UNKNOWN_GROUP))?;
                (found.failsafe, found.failsafe_admin) = (on, who.to_string());
                Ok(found.clone())
            })
        }

        fn set_failsafe<'a>(&'a self, pool: &'a str, on: bool, who: &'a str) -> Pending<'a, Result<PoolStatus, Error>> {
            Box::pin(async move {
                let mut status = self.0.lock().expect("the pool");
                if status.pool != pool {
                    return Err(Error::not_found(UNKNOWN_POOL));
                }
                (status.failsafe, status.failsafe_admin) = (on, who.to_string());
                Ok(status.clone())
            })
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn job_groups_are_named_with_their_namespace() {
        let t = TestServer::start().await;
        let one = |namespace: &str, job: &str, group: &str| GroupStatus {
            namespace: namespace.into(),
            job: job.into(),
            group: group.into(),
            ..GroupStatus::default()
        };
        let all =
            [("default", "web", "front"), ("default", "a/b", "c"), ("default", "a", "b/c"), ("dev", "web", "front")];
        let all = all.map(|(namespace, job, group)| one(namespace, job, group)).to_vec();
        t.app.autoscaling_by(Arc::new(OnePool(Mutex::default(), Some(Mutex::new(all)))));
        for (query, want) in [("", 3), ("?namespace=dev", 1), ("?namespace=*", 4), ("?namespace=none", 0)] {
            let list = t.get(&format!("/v1/autoscale/groups{query}")).await;
            assert_eq!((list.status, list.json().as_array().map(Vec::len)), (200, Some(want)), "{query}");
            assert!(list.header("x-nomad-index").is_some());
        }
        assert_eq!(t.put("/v1/autoscale/groups", json!({})).await.status_and_text(), (405, "Invalid method".into()));
        let web = "/v1/autoscale/group/web/front";
        assert_eq!(t.get(web).await.json()["JobID"], "web");
        for path in
            ["/v1/autoscale/group/web", "/v1/autoscale/group/web/back", "/v1/autoscale/group/web/front/failsafe"]
        {
            assert_eq!(t.get(path).await.status_and_text(), (404, UNKNOWN_GROUP.into()), "{path}");
        }
        assert_eq!(t.get("/v1/autoscale/group/a/b/c").await.status_and_text(), (400, AMBIGUOUS_GROUP.into()));

        let on =
            t.put(&format!("{web}/failsafe?namespace=dev"), json!({"Enable": true, "Operator": "ann@laptop"})).await;
        let failsafe = (on.status, on.json()["Failsafe"].clone(), on.json()["FailsafeAdmin"].clone());
        assert_eq!(failsafe, (200, json!(true), json!("ann@laptop from 127.0.0.1")));
        let failsafe = async |query: &str| t.get(&format!("{web}{query}")).await.json()["Failsafe"].clone();
        assert_eq!((failsafe("?namespace=dev").await, failsafe("").await), (json!(true), json!(false)));
        let path = "/v1/autoscale/group/web/back/failsafe";
        assert_eq!(t.put(path, json!({"Enable": true})).await.status_and_text(), (404, UNKNOWN_GROUP.into()));
        assert_eq!(t.put(path, json!({})).await.status_and_text(), (400, "Enable must be true or false".into()));
        let ambiguous = t.put("/v1/autoscale/group/a/b/c/failsafe", json!({"Enable": true})).await;
        assert_eq!(ambiguous.status_and_text(), (400, AMBIGUOUS_GROUP.into()));
        t.stop().await;
    }

    /// Has the agent of a test scale the pool `web`.
    fn scale_one_pool(t: &TestServer) {
        let pool = PoolStatus { pool: "web".into(), nodes: 3, ..PoolStatus::default() };
        t.app.autoscaling_by(Arc::new(OnePool(Mutex::new(pool), None)));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_routes_exist_where_pools_are_scaled() {
        let t = TestServer::start().await;
        for (method, path, body) in [
            ("GET", "/v1/autoscale/pools", None),
            ("GET", "/v1/autoscale/pool/web", None),
            ("PUT", "/v1/autoscale/pool/web/failsafe", Some("{\"Enable\":true}")),
            ("DELETE", "/v1/autoscale/pools", None),
        ] {
            let answer = t.send(method, path, &[], body).await;
            assert_eq!(answer.status_and_text(), (404, String::new()), "{method} {path}");
        }
        scale_one_pool(&t);
        for path in ["/v1/autoscale/groups", "/v1/autoscale/group/web/front", "/v1/autoscale/group/web/front/failsafe"]
        {
            assert_eq!(t.get(path).await.status_and_text(), (404, String::new()), "{path}: job groups are not scaled");
        }
        let list = t.get("/v1/autoscale/pools").await;
        assert_eq!(
            (list.status, list.json()[0]["Pool"].clone(), list.json()[0]["Nodes"].clone()),
            (200, json!("web"), json!(3))
        );
        for header in ["x-nomad-index", "x-nomad-lastcontact", "x-nomad-knownleader"] {
            assert!(list.header(header).is_some(), "{header}");
        }
        let keys: Vec<String> = match t.get("/v1/autoscale/pool/web").await.json() {
            Value::Object(map) => map.keys().cloned().collect(),
            other => panic!("{other}"),
        };
        let shown =
            ["Pool", "Nodes", "Min", "Max", "Metric", "Utilization", "MaxAllowed", "Direction", "ScaleInRequests"];
        let shown = shown.into_iter().chain(["ScaleOutRequests", "CooldownLeft", "Failsafe", "LastDecision"]);
        assert!(shown.clone().all(|k| keys.iter().any(|have| have == k)), "{keys:?}");
        let unknown = t.get("/v1/autoscale/pool/db").await;
        assert_eq!(unknown.status_and_text(), (404, UNKNOWN_POOL.into()));
        assert!(unknown.header("x-nomad-index").is_some());
        assert_eq!(t.put("/v1/autoscale/pools", json!({})).await.status_and_text(), (405, "Invalid method".into()));
        t.stop().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn operators_set_the_failsafe_mode_of_a_pool() {
        let t = TestServer::start().await;
        scale_one_pool(&t);
        let on = t.put("/v1/autoscale/pool/web/failsafe", json!({"Enable": true})).await;
        assert_eq!((on.status, on.json()["Failsafe"].clone()), (200, json!(true)));
        assert_eq!(on.json()["FailsafeAdmin"], "HTTP API from 127.0.0.1");
        assert!(on.header("x-nomad-index").is_some());
        assert_eq!(t.get("/v1/autoscale/pool/web").await.json()["Failsafe"], true);
        for (operator, want) in [
            (json!("ann@laptop"), Ok("ann@laptop from 127.0.0.1")),
            (json!(" "), Ok("HTTP API from 127.0.0.1")),
            (json!(null), Ok("HTTP API from 127.0.0.1")),
            (json!("a\nb"), Err("Operator must have 128 bytes at most and no control characters")),
            (json!("a".repeat(129)), Err("Operator must have 128 bytes at most and no control characters")),
        ] {
            let body = json!({"Enable": false, "Operator": operator});
            let answer = t.put("/v1/autoscale/pool/web/failsafe", body).await;
            match want {
                Ok(want) => assert_eq!(answer.json()["FailsafeAdmin"], want),
                Err(want) => assert_eq!(answer.status_and_text(), (400, want.into())),
            }
        }
        let path = "/v1/autoscale/pool/db/failsafe";
        assert_eq!(t.put(path, json!({"Enable": true})).await.status_and_text(), (404, UNKNOWN_POOL.into()));
        assert_eq!(t.put(path, json!({})).await.status_and_text(), (400, "Enable must be true or false".into()));
        assert_eq!(t.send("PUT", path, &[], None).await.status_and_text(), (400, "Request body is empty".into()));
        assert_eq!(t.get(path).await.status_and_text(), (405, "Invalid method".into()));
        assert_eq!(t.get("/v1/autoscale/pools?region=x").await.status_and_text(), (500, "No path to region".into()));
        t.stop().await;
    }
}
