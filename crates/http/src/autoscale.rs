//! Worker pools that size themselves (`docs/spec/cluster-scaling.md §11`). The routes are ours, not the reference's.
//! They exist where an agent scales worker pools; only the leader knows what they tell.

use std::sync::Arc;

use serde::Deserialize;

use super::access::{Level, Need};
use super::app::Autoscaling;
use super::error::Error;
use super::request::Request;
use super::response::Response;
use super::route::{Outcome, Route, route};
use encamp_model::json::or_default;

/// The routes.
pub const ROUTES: &[Route] = &[route!("/v1/autoscale/pools", list), route!("/v1/autoscale/pool/", one)];

/// What everything below these paths is about. Only the leader answers it, whatever a read says about stale data.
pub(crate) const PREFIX: &str = "/v1/autoscale/";

/// What a request to enter or leave failsafe mode says.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
struct FailsafeRequest {
    #[serde(deserialize_with = "or_default")]
    enable: Option<bool>,
}

/// The autoscaler of this agent.
fn autoscaling(request: &Request) -> Option<Arc<dyn Autoscaling>> {
    request.app().autoscaling().cloned()
}

/// The answer where there is none: as for any path that does not exist.
fn nothing() -> Outcome {
    Ok(Response::empty().status(404))
}

/// The index that answers tell: that of the last change of the state.
fn index(request: &Request) -> Result<u64, Error> {
    Ok(request.server()?.snapshot().state().index)
}

async fn list(request: Request) -> Outcome {
    let Some(autoscaling) = autoscaling(&request) else { return nothing() };
    request.only_get()?;
    request.read_options()?;
    request.need(&Need::Operator(Level::Read))?;
    request.server()?.wait_ready().await?;
    Ok(Response::json(&autoscaling.pools())?.meta(&request.meta(index(&request)?)))
}

async fn one(request: Request) -> Outcome {
    let Some(autoscaling) = autoscaling(&request) else { return nothing() };
    let rest = request.rest().to_string();
    if let Some(pool) = rest.strip_suffix("/failsafe").filter(|p| !p.is_empty()) {
        return failsafe(request, &*autoscaling, pool).await;
    }
    request.only_get()?;
    request.read_options()?;
    request.need(&Need::Operator(Level::Read))?;
    request.server()?.wait_ready().await?;
    let meta = request.meta(index(&request)?);
    match autoscaling.pools().into_iter().find(|p| p.pool == rest) {
        Some(pool) => Ok(Response::json(&pool)?.meta(&meta)),
        None => Err(Error::not_found(UNKNOWN_POOL).with(meta)),
    }
}

/// What is said of a pool that does not exist.
pub const UNKNOWN_POOL: &str = "worker pool not found";

async fn failsafe(mut request: Request, autoscaling: &dyn Autoscaling, pool: &str) -> Outcome {
    request.only_write()?;
    request.check_region()?;
    request.need(&Need::Operator(Level::Write))?;
    let body: FailsafeRequest = request.json().await?;
    let enable = body.enable.ok_or_else(|| Error::bad("Enable must be true or false"))?;
    request.server()?.wait_ready().await?;
    let status = autoscaling.set_failsafe(pool, enable, &request.accessor()).await?;
    Ok(Response::json(&status)?.index(index(&request)?))
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::super::app::Pending;
    use super::super::testing::TestServer;
    use super::*;
    use encamp_autoscale::status::PoolStatus;
    use serde_json::{Value, json};

    /// One pool.
    struct OnePool(Mutex<PoolStatus>);

    impl Autoscaling for OnePool {
        fn pools(&self) -> Vec<PoolStatus> {
            vec![self.0.lock().expect("the pool").clone()]
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
    async fn the_routes_exist_where_pools_are_scaled() {
        let t = TestServer::start().await;
        for (method, path, body) in [
            ("GET", "/v1/autoscale/pools", None),
            ("GET", "/v1/autoscale/pool/web", None),
            ("PUT", "/v1/autoscale/pool/web/failsafe", Some("{\"Enable\":true}")),
            ("DELETE", "/v1/autoscale/pools", None),
        ] {
            assert_eq!(t.send(method, path, &[], body).await.told(), (404, String::new()), "{method} {path}");
        }
        let pool = PoolStatus { pool: "web".into(), nodes: 3, ..PoolStatus::default() };
        t.app.autoscaling_by(Arc::new(OnePool(Mutex::new(pool))));
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
        let told =
            ["Pool", "Nodes", "Min", "Max", "Metric", "Utilization", "MaxAllowed", "Direction", "ScaleInRequests"];
        let told = told.into_iter().chain(["ScaleOutRequests", "CooldownLeft", "Failsafe", "LastDecision"]);
        assert!(told.clone().all(|k| keys.iter().any(|have| have == k)), "{keys:?}");
        let unknown = t.get("/v1/autoscale/pool/db").await;
        assert_eq!(unknown.told(), (404, UNKNOWN_POOL.into()));
        assert!(unknown.header("x-nomad-index").is_some());
        assert_eq!(t.put("/v1/autoscale/pools", json!({})).await.told(), (405, "Invalid method".into()));

        let on = t.put("/v1/autoscale/pool/web/failsafe", json!({"Enable": true})).await;
        assert_eq!((on.status, on.json()["Failsafe"].clone()), (200, json!(true)));
        assert!(on.header("x-nomad-index").is_some());
        assert_eq!(t.get("/v1/autoscale/pool/web").await.json()["Failsafe"], true);
        let path = "/v1/autoscale/pool/db/failsafe";
        assert_eq!(t.put(path, json!({"Enable": true})).await.told(), (404, UNKNOWN_POOL.into()));
        assert_eq!(t.put(path, json!({})).await.told(), (400, "Enable must be true or false".into()));
        assert_eq!(t.send("PUT", path, &[], None).await.told(), (400, "Request body is empty".into()));
        assert_eq!(t.get(path).await.told(), (405, "Invalid method".into()));
        assert_eq!(t.get("/v1/autoscale/pools?region=x").await.told(), (500, "No path to region".into()));
        t.stop().await;
    }
}
